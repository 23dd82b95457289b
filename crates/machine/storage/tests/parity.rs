//! Parity across dies in a whole machine: its cost, its benefit and the time to rebuild.

#[path = "support/closed_loop.rs"]
mod closed_loop;
#[path = "support/plain.rs"]
mod plain;

use closed_loop::fly;
use media::{Op, Request, Status};
use nand::PayloadKind;
use plain::PLAIN;
use sim::{Streams, Time};
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

/// Four dies of two planes: a stripe of three programs and their parity forms one row of a superblock.
const SMALL: [(&str, &str); 10] = [
    ("flash.channels", "2"),
    ("flash.chips", "1"),
    ("flash.dies", "2"),
    ("flash.blocks", "64"),
    ("flash.pages", "48"),
    ("ftl.gc.start", "3"),
    ("ftl.capacity", "auto"),
    ("ftl.over_provisioning", "0.4"),
    ("ftl.slc_cache.size", "0B"),
    ("device.write_cache.size", "2MiB"),
];
const PARITY: (&str, &str) = ("ftl.parity.stripe", "3");
/// Mapping units of the three data programs of a stripe.
const STRIPE_UNITS: u64 = 3 * 2 * 4;

fn system(sets: &[(&str, &str)]) -> System {
    let all: Vec<(&str, &str)> = PLAIN.iter().chain(&SMALL).chain(sets).copied().collect();
    System::load("nvme-client-tlc", &all).unwrap_or_else(|error| panic!("{error}"))
}

fn drive_with(payload: PayloadKind, sets: &[(&str, &str)], preparation: Preparation) -> (Machine, u64) {
    let system = system(sets);
    let parts = Parts::new(&system, payload).expect("parts");
    let streams = Streams::new(1);
    let (store, _) = prepare(&system, &parts, preparation, &streams, None).expect("a prepared drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    (Machine::new(&parts, ftl, nand), u64::from(parts.ftl.user_units))
}

fn drive(sets: &[(&str, &str)], preparation: Preparation) -> (Machine, u64) {
    drive_with(PayloadKind::None, sets, preparation)
}

/// Writes half of the drive sequentially and returns the bytes per second.
fn sequential(machine: &mut Machine, units: u64) -> f64 {
    let (start, count, mut next) = (machine.now(), units / 2 / 32, 0);
    let flown = fly(machine, 16, count as u32, || {
        next += 32;
        Request::new(Op::Write, (next - 32) * 4096, 32 * 4096)
    });
    flown.bytes as f64 / (flown.end - start).secs_f64()
}

/// Reads random single units below `units`, one after another. Returns the status and the time in microseconds of each.
fn reads(machine: &mut Machine, units: u64, count: u32) -> Vec<(Status, f64)> {
    let mut rng = Streams::new(7).stream("test.reads");
    let mut ends = Vec::new();
    for io in 0..count {
        let now = machine.now();
        machine.submit(now, io, 0, Request::new(Op::Read, rng.below(units) * 4096, 4096));
        let mut completions = Vec::new();
        while completions.is_empty() {
            assert!(machine.advance(Time::MAX, &mut completions), "a read never ends");
        }
        ends.extend(completions.iter().map(|end| (end.status, (end.at - now).us_f64())));
    }
    ends
}

fn lost(ends: &[(Status, f64)]) -> usize {
    ends.iter().filter(|(status, _)| *status != Status::Ok).count()
}

fn percentile(ends: &[(Status, f64)], part: f64) -> f64 {
    let mut times: Vec<f64> = ends.iter().map(|(_, time)| *time).collect();
    times.sort_by(f64::total_cmp);
    times[(part * (times.len() - 1) as f64) as usize]
}

#[test]
fn parity_takes_its_share_of_programs_capacity_and_bandwidth() {
    let (mut without, all) = drive(&[], Preparation::Erased);
    let bandwidth = sequential(&mut without, all);
    for (stripe, data) in [("1", 1), ("2", 2), ("3", 3)] {
        let (mut with, units) = drive(&[("ftl.parity.stripe", stripe)], Preparation::Erased);
        let left = f64::from(data) / f64::from(data + 1);
        assert!((units as f64 / all as f64 / left - 1.0).abs() < 0.001, "{units} of {all} units");
        let ratio = sequential(&mut with, units) / bandwidth;
        let stats = with.ftl().stats();
        let share = stats.parity_programs as f64 / stats.programs as f64;
        println!("stripe of {data} + 1: {share:.4} of programs, bandwidth {ratio:.3} of that without");
        assert!((share * f64::from(data + 1) - 1.0).abs() < 0.01, "{share} of programs are parity");
        assert!((ratio / left - 1.0).abs() < 0.05, "sequential writes at {ratio} of the bandwidth without");
    }
}

#[test]
fn a_drive_without_parity_is_the_drive_that_it_was() {
    let off = system(&[("ftl.parity.stripe", "off"), ("flash.failures.die", "none")]);
    assert_eq!(off.content_hash(), system(&[]).content_hash());
    assert_ne!(off.content_hash(), system(&[PARITY]).content_hash());
    let (machine, _) = drive(&[], Preparation::Filled);
    let stats = machine.ftl().stats();
    assert_eq!((stats.parity_programs, stats.programmed_parity, stats.rebuilt), (0, 0, 0));
}

#[test]
fn a_dead_die_costs_data_only_without_parity() {
    let die = ("flash.failures.die", "1");
    let (mut without, units) = drive(&[die], Preparation::Filled);
    let gone = lost(&reads(&mut without, units, 2000));
    assert!((400..600).contains(&gone), "{gone} of 2000 reads: a fourth of the data is on that die");
    let (mut with, units) = drive(&[die, PARITY], Preparation::Filled);
    // The last stripe may be incomplete.
    let ends = reads(&mut with, units / STRIPE_UNITS * STRIPE_UNITS, 2000);
    let stats = with.ftl().stats();
    println!("{gone} of 2000 reads lost without parity; with it {} lost, {} rebuilt", lost(&ends), stats.rebuilt);
    assert_eq!((lost(&ends), stats.rebuild_failures), (0, 0));
    assert!(stats.rebuilt > 500 && stats.rebuild_reads == 3 * stats.rebuilt, "{stats:?}");
}

/// All data written and read back is checked sector by sector.
#[test]
fn what_is_rebuilt_is_what_was_written() {
    let sets = [PARITY, ("flash.failures.read", "0.02"), ("flash.blocks", "24")];
    let (mut machine, units) = drive_with(PayloadKind::Stamp, &sets, Preparation::Erased);
    let whole = units * 4096 / 131_072 * 131_072;
    let mut next = 0;
    fly(&mut machine, 16, (whole / 131_072) as u32, || {
        next += 131_072;
        Request::new(Op::Write, next - 131_072, 131_072)
    });
    fly(&mut machine, 1, 1, Request::flush);
    let ends = reads(&mut machine, whole / 4096, 8000);
    let stats = machine.ftl().stats();
    println!("{} rebuilt, {} lost of 8000 reads", stats.rebuilt, lost(&ends));
    assert!(stats.rebuilt > 100 && stats.relocated > 100, "{stats:?}");
    assert_eq!(lost(&ends) as u64, stats.rebuild_failures);
    assert!(machine.checker().expect("stamps are checked").checked >= 7000 * 8);
}

#[test]
fn rebuilding_lengthens_the_tail_of_reads() {
    let time = |sets: &[(&str, &str)]| {
        let (mut machine, units) = drive(sets, Preparation::Filled);
        let ends = reads(&mut machine, units / STRIPE_UNITS * STRIPE_UNITS, 4000);
        (percentile(&ends, 0.5), percentile(&ends, 0.99))
    };
    let failing = ("flash.failures.read", "0.05");
    let (clean, fails, rebuilds) = (time(&[PARITY]), time(&[failing]), time(&[failing, PARITY]));
    println!("p50 and p99 in us: {clean:?} clean, {fails:?} failing, {rebuilds:?} failing and rebuilt");
    assert!((rebuilds.0 / clean.0 - 1.0).abs() < 0.1, "half of the reads need none");
    // The other pages are read in parallel, each in 50 us plus its transfer.
    assert!(rebuilds.1 > fails.1 + 45.0 && rebuilds.1 > 3.0 * clean.1, "{clean:?} {fails:?} {rebuilds:?}");
}

#[test]
fn two_failures_in_a_stripe_are_uncorrectable() {
    let sets = [PARITY, ("flash.failures.die", "0"), ("flash.failures.read", "0.3")];
    let (mut machine, units) = drive(&sets, Preparation::Filled);
    let ends = reads(&mut machine, units / STRIPE_UNITS * STRIPE_UNITS, 1000);
    let stats = machine.ftl().stats();
    assert!(ends.iter().all(|(status, _)| matches!(status, Status::Ok | Status::Uncorrectable)));
    // A read of the dead die is lost if one of the three other reads fails, with probability 1 - 0.7^3. A read of
    // another die fails with probability 0.3, and is then lost because its stripe includes the dead die.
    let expected = 1000.0 * (0.25 * (1.0 - 0.7f64.powi(3)) + 0.75 * 0.3);
    let found = lost(&ends) as f64;
    println!("{found} of 1000 reads lost, {expected:.0} expected; {} rebuilt", stats.rebuilt);
    assert!((found / expected - 1.0).abs() < 0.15, "{found} of 1000 reads lost, {expected} expected");
    assert!(stats.rebuild_failures >= 300 && stats.rebuilt > 50, "{stats:?}");
}

#[test]
fn steady_writes_amplify_as_theory_says_with_their_parity() {
    let found = |sets: &[(&str, &str)]| {
        let all: Vec<(&str, &str)> =
            [("flash.blocks", "160"), ("ftl.over_provisioning", "0.2")].iter().chain(sets).copied().collect();
        let system = system(&all);
        let parts = Parts::new(&system, PayloadKind::None).expect("parts");
        let streams = Streams::new(1);
        let (store, prepared) = prepare(&system, &parts, Preparation::Steady, &streams, None).expect("a steady drive");
        let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
        let mut machine = Machine::new(&parts, ftl, nand);
        let units = u64::from(parts.ftl.user_units);
        let mut rng = streams.stream("test.writes");
        fly(&mut machine, 64, (units / 5) as u32, || Request::new(Op::Write, rng.below(units) * 4096, 4096));
        let stats = machine.ftl().stats();
        let (with, without) = (stats.write_amplification(), stats.write_amplification_without_parity());
        (prepared.write_amplification.expect("theory"), with.expect("writes"), without.expect("writes"))
    };
    let (theory, off, _) = found(&[]);
    let (with_parity, on, without) = found(&[PARITY]);
    println!(
        "theory {theory:.3}, measured {off:.3}; with parity {with_parity:.3}, {on:.3} and {without:.3} without it"
    );
    assert!((off / theory - 1.0).abs() < 0.05, "{off} measured, {theory} by theory");
    assert!((on / with_parity - 1.0).abs() < 0.05, "{on} measured, {with_parity} by theory");
    assert!((on / without / (4.0 / 3.0) - 1.0).abs() < 0.01, "{on} with parity, {without} without");
}

/// Random writes with a dead die: it is retired block by block, and only reads of stripes that were open may fail.
#[test]
fn a_steady_drive_goes_on_with_a_dead_die() {
    let sets = [PARITY, ("flash.failures.die", "2"), ("ftl.over_provisioning", "0.8")];
    let (mut machine, units) = drive(&sets, Preparation::Steady);
    let mut rng = Streams::new(3).stream("test.writes");
    fly(&mut machine, 16, units as u32, || Request::new(Op::Write, rng.below(units) * 4096, 4096));
    let ends = reads(&mut machine, units, 2000);
    let stats = machine.ftl().stats();
    println!("{} of 2000 reads lost, {} units lost, {} reads rebuilt", lost(&ends), stats.lost_units, stats.rebuilt);
    assert!(!machine.ftl().is_read_only());
    // Two superblocks were open, each with a stripe of 24 units, eight of them on the dead die.
    assert!(stats.lost_units <= 16, "{} units were lost", stats.lost_units);
    assert!(lost(&ends) < 5, "{} of 2000 reads", lost(&ends));
    assert!(stats.rebuilt > 100 && stats.failures > 0, "{stats:?}");
}

#[test]
fn stripes_that_do_not_fit_are_refused() {
    let refused = |sets: &[(&str, &str)]| {
        let all: Vec<(&str, &str)> = SMALL.iter().chain(sets).copied().collect();
        System::load("nvme-client-tlc", &all).expect_err("a conflict").to_string()
    };
    for (sets, expected) in [
        (&[PARITY, ("ftl.group", "die")][..], "expected only where it is \"drive\""),
        (&[("ftl.parity.stripe", "4")], "less than the 4 dies"),
        (&[PARITY, ("ftl.multi_plane", "false")], "ftl.multi_plane true"),
        (&[("ftl.parity.stripe", "2"), ("flash.pages", "32")], "a divisor of the 128 programs"),
        (&[("flash.failures.die", "4")], "less than the 4 dies"),
    ] {
        let line = refused(sets);
        assert!(line.contains(expected) && line.lines().count() == 1, "{line}");
    }
}
