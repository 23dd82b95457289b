//! The SLC cache over time: folding follows the host's writes and pauses, and the dynamic part grows with the unused
//! capacity of the drive.

#[path = "support/closed_loop.rs"]
mod closed_loop;
#[path = "support/eight_dies.rs"]
mod eight_dies;

use closed_loop::fly;
use eight_dies::drive;
use media::{Op, Request};
use nand::PayloadKind;
use sim::{Streams, Time};
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

const UNIT: u64 = 4096;
/// Units of a superblock, and of one in SLC mode.
const BLOCK: u64 = 12_288;
const SLC_BLOCK: u64 = BLOCK / 3;
/// Maximum number of copies in flight: two programs of eight units for each of eight dies.
const IN_FLIGHT: u64 = 128;

fn machine(system: &System, preparation: Preparation) -> (Machine, u64) {
    let parts = Parts::new(system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let (store, _) = prepare(system, &parts, preparation, &streams, None).expect("a prepared drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    (Machine::new(&parts, ftl, nand), u64::from(parts.ftl.user_units))
}

/// Lets the drive idle until `until`.
fn rest_until(machine: &mut Machine, until: Time) {
    let mut none = Vec::new();
    while machine.next_event().is_some_and(|at| at <= until) {
        machine.advance(until, &mut none);
    }
    assert!(none.is_empty());
}

fn rest(machine: &mut Machine, pause: Time) {
    rest_until(machine, machine.now() + pause);
}

/// Submits `count` requests, one every `gap`.
fn trickle(machine: &mut Machine, gap: Time, count: u32, mut draw: impl FnMut() -> Request) {
    let begin = machine.now();
    let mut ended = Vec::new();
    for number in 0..count {
        let at = begin + gap * u64::from(number);
        rest_until(machine, at);
        machine.submit(at, 0, 0, draw());
        while ended.is_empty() {
            assert!(machine.advance(Time::MAX, &mut ended));
        }
        ended.clear();
    }
}

fn copies(machine: &Machine) -> u64 {
    machine.ftl().stats().programmed_copy
}

/// Returns the copies that `count` random writes of eight units, one every `gap`, cause after `before` such writes, and the
/// copies required by write amplification: one to fold each unit, and the rest to collect its space.
fn light_load(preparation: Preparation, gap: Time, before: u32, count: u32) -> (f64, f64) {
    let system = drive(&[("ftl.over_provisioning", "0.3"), ("ftl.slc_cache.size", "96MiB")]);
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let (_, prepared) = prepare(&system, &parts, preparation, &Streams::new(1), None).expect("a prepared drive");
    let (mut machine, units) = machine(&system, preparation);
    let mut rng = Streams::new(2).stream("test.writes");
    let mut draw = || Request::new(Op::Write, rng.below(units - 8) * UNIT, 8 * UNIT);
    trickle(&mut machine, gap, before, &mut draw);
    let copied_before = copies(&machine);
    trickle(&mut machine, gap, count, &mut draw);
    let (copied, called_for) = (
        (copies(&machine) - copied_before) as f64,
        8.0 * f64::from(count) * prepared.write_amplification.expect("theory"),
    );
    println!("{preparation}, {gap}: {copied} copied, {called_for} called for");
    (copied, called_for)
}

#[test]
fn a_light_load_copies_what_it_calls_for() {
    // A write every 5 ms leaves no idle time. The first ones replace the old data in the SLC cache, of which few units are
    // folded.
    let (copied, called_for) = light_load(Preparation::Steady, Time::from_ms(5), 4000, 400);
    assert!(copied > 0.5 * called_for && copied < 1.2 * called_for, "{copied} {called_for}");
    // A write every 50 ms does, but a rested drive has no other work.
    let (copied, called_for) = light_load(Preparation::Rested, Time::from_ms(50), 0, 1600);
    assert!(copied > 2.0 * SLC_BLOCK as f64 && copied < 1.2 * called_for, "{copied} {called_for}");
    // In such pauses, a drive that was busy folds its full cache and collects space ahead.
    let (copied, called_for) = light_load(Preparation::Steady, Time::from_ms(50), 0, 400);
    assert!(copied > 3.0 * called_for, "{copied} {called_for}");
}

#[test]
fn folding_ends_where_a_request_comes() {
    let system = drive(&[("ftl.over_provisioning", "0.3"), ("ftl.slc_cache.size", "96MiB")]);
    let (mut machine, units) = machine(&system, Preparation::Filled);
    let mut next = 0;
    fly(&mut machine, 16, (7 * SLC_BLOCK / 64) as u32, || {
        next += 32 * UNIT;
        Request::new(Op::Write, next - 32 * UNIT, 32 * UNIT)
    });
    let before = copies(&machine);
    rest(&mut machine, Time::from_ms(60));
    let idle = copies(&machine);
    assert!(idle > before + 4 * IN_FLIGHT, "{} units were folded in a pause", idle - before);
    // Copies in flight finish; the rest of the cache stays in place.
    let mut rng = Streams::new(2).stream("test.reads");
    trickle(&mut machine, Time::from_ms(2), 100, || Request::new(Op::Read, rng.below(units) * UNIT, UNIT));
    let after = copies(&machine);
    println!("{} units folded in a pause, {} once requests came", idle - before, after - idle);
    assert!(after - idle <= IN_FLIGHT, "{} units were folded beside requests", after - idle);
    rest(&mut machine, Time::from_ms(5000));
    assert!(copies(&machine) >= before + 3 * SLC_BLOCK, "the next pause folds the rest");
}

#[test]
fn idle_time_leaves_what_is_to_be_kept() {
    let filled = |keep: &str| {
        let sets = [("ftl.over_provisioning", "0.3"), ("ftl.slc_cache.size", "96MiB"), ("ftl.slc_cache.keep", keep)];
        let (mut machine, _) = machine(&drive(&sets), Preparation::Filled);
        burst(&mut machine, 0, 4 * SLC_BLOCK);
        rest(&mut machine, Time::from_ms(5000));
        copies(&machine)
    };
    // Four of six blocks are full; three of them stay.
    let (all, half) = (filled("0"), filled("50%"));
    assert_eq!((all, half), (4 * SLC_BLOCK, SLC_BLOCK));
}

/// With `ftl.slc_cache.fold = 0` a full cache is left alone while the host writes; the writes go to other blocks.
#[test]
fn a_full_cache_may_wait_for_a_pause() {
    let copied = |fold: &str| {
        let sets = [("ftl.over_provisioning", "0.3"), ("ftl.slc_cache.size", "96MiB"), ("ftl.slc_cache.fold", fold)];
        let (mut machine, _) = machine(&drive(&sets), Preparation::Filled);
        burst(&mut machine, 0, 8 * SLC_BLOCK);
        let beside = copies(&machine);
        rest(&mut machine, Time::from_ms(5000));
        (beside, copies(&machine) - beside)
    };
    assert_eq!(copied("0"), (0, 6 * SLC_BLOCK), "units folded beside writes, and in the pause");
    let (beside, _) = copied("2");
    assert!(beside > 0, "{beside} units folded beside writes");
}

/// In batches, folding stands still until free blocks run short; then writes wait until a batch is read.
#[test]
fn a_batch_of_folding_holds_up_writes() {
    const BATCH: u64 = 4096;
    let measure = |batch: &str| {
        let sets = [
            ("ftl.over_provisioning", "0.3"),
            ("ftl.slc_cache.size", "96MiB"),
            ("ftl.slc_cache.fold", "1"),
            ("ftl.slc_cache.batch", batch),
            ("device.write_cache.size", "1MiB"),
        ];
        let (mut machine, units) = machine(&drive(&sets), Preparation::Filled);
        burst(&mut machine, 0, 5 * SLC_BLOCK);
        let before = copies(&machine);
        let mut rng = Streams::new(2).stream("test.writes");
        let flown = fly(&mut machine, 16, 4_000, || Request::new(Op::Write, rng.below(units - 8) * UNIT, 8 * UNIT));
        (flown.silence, copies(&machine) - before, flown.each)
    };
    let (alongside, batches) = (measure("0B"), measure("16MiB"));
    // Eight dies program eight units each in half a millisecond.
    let pause = Time::from_us(500) * (BATCH / 64);
    println!("{} and {} without a completion, for {pause} a batch", alongside.0, batches.0);
    assert!(alongside.0 < pause / 4 && batches.0 > pause / 2, "{} and {} without a completion", alongside.0, batches.0);
    let held = batches.2.iter().filter(|(_, time)| *time > pause / 2).count() as u64;
    let expected = batches.1 / BATCH * 16;
    assert!((expected / 2..expected * 2).contains(&held), "{held} writes waited for {} units to be folded", batches.1);
}

/// Writes `units` sequentially from `first`, 32 at a time. Returns the units per second in windows of 1024 units.
fn burst(machine: &mut Machine, first: u64, units: u64) -> Vec<f64> {
    let mut next = first * UNIT;
    let windows = units / 1024;
    (0..windows)
        .map(|_| {
            let begin = machine.now();
            let flown = fly(machine, 16, 32, || {
                next += 32 * UNIT;
                Request::new(Op::Write, next - 32 * UNIT, 32 * UNIT)
            });
            1024.0 / (flown.end - begin).secs_f64()
        })
        .collect()
}

/// Returns the units that a burst writes at full speed to a drive filled to `fill`, and the number of unused units.
fn knee(sets: &[(&str, &str)], fill: f64, most: u64) -> (u64, u64) {
    let sets: Vec<(&str, &str)> = [("ftl.over_provisioning", "0.3")].iter().chain(sets).copied().collect();
    let (mut machine, units) = machine(&drive(&sets), Preparation::Erased);
    let used = (units as f64 * fill) as u64 / 1024 * 1024;
    burst(&mut machine, 0, used);
    rest(&mut machine, Time::from_ms(20_000));
    let rates = burst(&mut machine, used, most.min(units - used));
    // The median of the first few windows. The very first is faster still, because it fits in the write cache.
    let mut first = rates[1..6].to_vec();
    first.sort_by(f64::total_cmp);
    let at = rates.iter().position(|rate| *rate < 0.7 * first[2]).unwrap_or(rates.len());
    (at as u64 * 1024, units - used)
}

/// The dynamic part holds a third of the unused capacity in whole blocks, up to its configured size.
#[test]
fn a_dynamic_cache_shrinks_as_the_drive_fills() {
    let mut last = u64::MAX;
    for fill in [0.0, 0.25, 0.5, 0.75, 0.95] {
        let (found, unused) = knee(&[("ftl.slc_cache.dynamic", "100GB")], fill, 300_000);
        let expected = unused / BLOCK * SLC_BLOCK;
        println!("{fill}: {found} units at full speed, {expected} expected");
        assert!(found.abs_diff(expected) <= SLC_BLOCK + 2048, "{fill}: {found} units at full speed, not {expected}");
        assert!(found < last, "{fill}: {found} units after {last}");
        last = found;
    }
}

#[test]
fn a_dynamic_cache_is_no_larger_than_it_may_be() {
    let sets = [("ftl.slc_cache.size", "32MiB"), ("ftl.slc_cache.dynamic", "64MiB")];
    for (fill, blocks) in [(0.0, 6), (0.5, 6), (0.95, 4)] {
        let (found, _) = knee(&sets, fill, 40_000);
        let expected = blocks * SLC_BLOCK;
        println!("{fill}: {found} units at full speed, {expected} expected");
        assert!(found.abs_diff(expected) <= 2 * SLC_BLOCK + 2048, "{fill}: {found} units at full speed");
    }
}

#[test]
fn a_pause_gives_lent_blocks_back() {
    let sets = [("ftl.over_provisioning", "0.3"), ("ftl.slc_cache.dynamic", "128MiB")];
    let (mut machine, _) = machine(&drive(&sets), Preparation::Erased);
    let first = burst(&mut machine, 0, 7 * SLC_BLOCK);
    let lent = machine.ftl().pages().dynamic_slc_units();
    assert!((7 * SLC_BLOCK..=8 * SLC_BLOCK).contains(&lent), "{lent} units in SLC mode");
    rest(&mut machine, Time::from_ms(60_000));
    assert!(
        machine.ftl().pages().dynamic_slc_units() <= SLC_BLOCK,
        "{} units",
        machine.ftl().pages().dynamic_slc_units()
    );
    // The second burst has its full size again, and a mount after a power cut finds each block's mode.
    let second = burst(&mut machine, 7 * SLC_BLOCK, 7 * SLC_BLOCK);
    let slowest = second.iter().copied().fold(f64::MAX, f64::min);
    let mean = first.iter().sum::<f64>() / first.len() as f64;
    assert!(slowest > 0.7 * mean, "{slowest} of {mean} units a second in the second burst");
    let before = machine.ftl().pages().dynamic_slc_units();
    let system = drive(&sets);
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    machine.power_cut(&parts, &Streams::new(1)).expect("it mounts again");
    let found = machine.ftl().pages().dynamic_slc_units();
    assert!(found <= before && found + SLC_BLOCK >= before, "{found} units in SLC mode after a cut, {before} before");
    rest(&mut machine, Time::from_ms(1));
    burst(&mut machine, 0, SLC_BLOCK);
}
