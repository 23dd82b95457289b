//! A whole machine must lose no data: random histories of requests through host, link, controller and flash, with
//! failures, power cuts at any event, controller resets, and host memory that is lost, returned, or switched off and
//! on. An oracle decides which values may be read.

#[path = "support/draw.rs"]
mod draw;
#[path = "support/world.rs"]
mod world;

use std::sync::Mutex;

use draw::{draw, pick};
use sim::Streams;
use world::{Counts, World};

fn history(seed: u64, injected: ftl::InjectedFault) -> Counts {
    let mut rng = Streams::new(seed).stream("test.machine");
    let drawn = draw(&mut rng);
    let mut world = World::new(&drawn, seed, injected);
    for life in 0..1 + rng.below(3) {
        let busy = pick(&mut rng, &[0.02, 0.1, 0.3]);
        world.hold_overwrites(seed * 8 + life);
        for _ in 0..300 + rng.below(1500) {
            world.step(busy);
        }
        if rng.chance(0.2) {
            world.drain();
        }
        // A machine that uses host memory has more data to lose, so it is reset more often.
        let resets = if drawn.parts.ftl.host_memory.is_some() { 1 + rng.below(3) } else { u64::from(rng.chance(0.2)) };
        for _ in 0..resets {
            world.reset(rng.chance(0.4));
            for _ in 0..rng.below(300) {
                world.step(busy);
            }
        }
        world.power_cut(seed * 8 + life);
    }
    for _ in 0..200 {
        world.step(0.1);
    }
    world.drain();
    world.count();
    world.counts
}

/// The panic hook belongs to the whole process: a test that replaces it, or needs its output, must run alone.
static HOOK: Mutex<()> = Mutex::new(());

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// Describes the settings of a history's machine.
fn describe(seed: u64) -> String {
    let drawn = draw(&mut Streams::new(seed).stream("test.machine"));
    let sets: Vec<String> = drawn.sets.iter().map(|(key, value)| format!("{key}={value}")).collect();
    sets.join(" ")
}

/// Returns true if some drawn machines have a host that lends memory. Only PCIe hosts do.
fn host_lends() -> bool {
    std::env::var("LINK").is_err() || std::env::var("LINK").is_ok_and(|link| link == "pcie")
}

/// Runs `HISTORIES` histories, starting at number `HISTORY`.
#[test]
fn histories_of_whole_machines_lose_nothing() {
    let _alone = HOOK.lock();
    let (first, count) = (number("HISTORY", 0), number("HISTORIES", 2000));
    let mut sum = Counts::default();
    for seed in first..first + count {
        if count == 1 {
            // Print the settings first, in case the history never ends.
            eprintln!("{}", describe(seed));
        }
        let outcome = std::panic::catch_unwind(|| history(seed, ftl::InjectedFault::None));
        let counts = match outcome {
            Ok(counts) => counts,
            Err(cause) => {
                eprintln!("history {seed} failed (run it alone: HISTORY={seed} HISTORIES=1): {}", describe(seed));
                std::panic::resume_unwind(cause);
            }
        };
        sum.cuts += counts.cuts;
        sum.busy_cuts += counts.busy_cuts;
        sum.torn_pages += counts.torn_pages;
        sum.torn_blocks += counts.torn_blocks;
        sum.requests += counts.requests;
        sum.sectors_read += counts.sectors_read;
        sum.unreadable += counts.unreadable;
        sum.no_space += counts.no_space;
        sum.given_up += counts.given_up;
        sum.erases += counts.erases;
        sum.failures += counts.failures;
        sum.map_reads += counts.map_reads;
        sum.losses += counts.losses;
        sum.lost_units += counts.lost_units;
        sum.found_entries += counts.found_entries;
        sum.returns += counts.returns;
        sum.switches += counts.switches;
        sum.held += counts.held;
        sum.ahead += counts.ahead;
        sum.late += counts.late;
    }
    println!("{sum:?}");
    // Histories without events of each kind prove nothing.
    if count >= 500 {
        assert!(sum.busy_cuts * 2 > sum.cuts, "{sum:?}");
        let flash = [
            sum.torn_pages,
            sum.torn_blocks,
            sum.unreadable,
            sum.erases,
            sum.failures,
            sum.map_reads,
            sum.ahead,
            sum.held,
        ];
        assert!(flash.iter().all(|n| *n * 20 > count), "{sum:?}");
        let host_memory = [sum.losses, sum.lost_units, sum.found_entries, sum.returns, sum.switches];
        assert!(!host_lends() || host_memory.iter().all(|n| *n * 20 > count), "{sum:?}");
    }
}

/// Units of two to eight pages, on planes and at page numbers of every shape.
#[test]
fn histories_of_units_larger_than_a_page_lose_nothing() {
    let _alone = HOOK.lock();
    let (first, count) = (number("HISTORY", 0), number("HISTORIES", 200));
    let (mut sum, mut planes, mut pages) = (Counts::default(), 0, 0);
    for seed in first..first + count {
        let mut rng = Streams::new(seed).stream("test.spanning");
        let drawn = draw::draw_spanning(&mut rng);
        let span = drawn.parts.nand.span;
        (planes, pages) = (planes + u64::from(span.planes > 1), pages + u64::from(span.pages > 1));
        let counts = std::panic::catch_unwind(|| {
            let mut world = World::new(&drawn, seed, ftl::InjectedFault::None);
            for life in 0..2 {
                (0..800).for_each(|_| world.step(0.1));
                world.power_cut(seed * 8 + life);
            }
            (0..200).for_each(|_| world.step(0.1));
            world.drain();
            world.count();
            world.counts
        });
        let counts = counts.unwrap_or_else(|cause| {
            eprintln!("history {seed} failed (run it alone: HISTORY={seed} HISTORIES=1): {:?}", drawn.sets);
            std::panic::resume_unwind(cause)
        });
        sum.busy_cuts += counts.busy_cuts;
        sum.sectors_read += counts.sectors_read;
        sum.erases += counts.erases;
        sum.map_reads += counts.map_reads;
    }
    // Histories without events of each kind prove nothing.
    let seen = [sum.busy_cuts, sum.erases, sum.map_reads, planes, pages];
    assert!(count < 100 || seen.iter().all(|n| *n * 10 > count), "{sum:?}, {planes} {pages}");
    assert!(sum.sectors_read > 1000, "{sum:?}");
}

/// Runs the same histories with a fault injected into the translation layer. They must detect it.
#[test]
fn planted_bugs_are_caught() {
    let _alone = HOOK.lock();
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut faults = vec![ftl::InjectedFault::JournalSkipped, ftl::InjectedFault::CopyNotRepointed];
    faults.extend(host_lends().then_some(ftl::InjectedFault::HostMapForgotten));
    let caught: Vec<Option<u64>> = faults
        .into_iter()
        .map(|injected| (0..300).find(|seed| std::panic::catch_unwind(|| history(*seed, injected)).is_err()))
        .collect();
    std::panic::set_hook(quiet);
    assert!(caught.iter().all(Option::is_some), "planted bugs went unnoticed in 300 histories: {caught:?}");
}
