//! Sustained random writes: collection is paced, so that no write waits until a whole block is collected.

#[path = "support/closed_loop.rs"]
mod closed_loop;
#[path = "support/eight_dies.rs"]
mod eight_dies;

use closed_loop::{Flown, fly};
use eight_dies::drive;
use media::{Op, Request};
use nand::{DieStats, PayloadKind};
use sim::{Streams, Time};
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

const DEPTH: u32 = 64;
const DIES: u32 = 4;
const PROGRAM_US: f64 = 500.0;
const READ_US: f64 = 50.0;
const ERASE_US: f64 = 3500.0;
const BLOCK_PAGES: f64 = 1152.0;

/// Shares of a window in which the dies' arrays programmed and sensed.
struct Budget {
    programming: f64,
    sensing: f64,
}

impl Budget {
    fn of(earlier: &[DieStats], later: &[DieStats], span: Time) -> Budget {
        let spent: Vec<DieStats> = later.iter().zip(earlier).map(|(later, earlier)| later.since(earlier)).collect();
        let part = |time: fn(&DieStats) -> Time| {
            spent.iter().map(|die| time(die).secs_f64()).sum::<f64>() / span.secs_f64() / spent.len() as f64
        };
        Budget { programming: part(|die| die.programming), sensing: part(|die| die.reading) }
    }
}

/// Returns the writes per second that program bandwidth over write amplification allows, in programs of `units`.
fn allowed_iops(units: f64, amplification: f64) -> f64 {
    f64::from(DIES) * units / amplification / (PROGRAM_US * 1e-6)
}

/// Creates a drive of four dies with the blocks of `nvme-client-tlc`.
fn superblocks(sets: &[(&str, &str)]) -> System {
    let blocks = [("flash.channels", "2"), ("flash.pages", "1152"), ("ftl.over_provisioning", "0.2")];
    drive(&[&blocks[..], sets].concat())
}

fn dies(machine: &Machine) -> Vec<DieStats> {
    (0..DIES as u16).map(|die| machine.nand().die_stats(machine.now(), die)).collect()
}

/// Overwrites a drive at random from steady state. Returns the measurements, the write amplification and the dies'
/// time.
fn write(system: &System, parts: &Parts, count: u32) -> (Flown, f64, Budget) {
    let streams = Streams::new(1);
    let (store, _) = prepare(system, parts, Preparation::Steady, &streams, None).expect("a steady drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    let mut machine = Machine::new(parts, ftl, nand);
    let mut rng = streams.stream("test.writes");
    let units = u64::from(parts.ftl.user_units);
    let mut draw = || Request::new(Op::Write, rng.below(units) * 4096, 4096);
    // Fill the caches.
    fly(&mut machine, DEPTH, 20_000, &mut draw);
    let before = machine.ftl().stats();
    let (begin, dies_before) = (machine.now(), dies(&machine));
    let mut flown = fly(&mut machine, DEPTH, count, &mut draw);
    flown.end -= begin;
    let now = machine.ftl().stats();
    let host = (now.programmed_host - before.programmed_host) as f64;
    let copies = (now.programmed_copy - before.programmed_copy) as f64;
    let budget = Budget::of(&dies_before, &dies(&machine), flown.end);
    (flown, 1.0 + copies / host, budget)
}

fn at(flown: &Flown, part: f64) -> Time {
    let mut times: Vec<Time> = flown.each.iter().map(|(_, time)| *time).collect();
    times.sort();
    times[(part * (times.len() - 1) as f64) as usize]
}

#[test]
fn collection_never_stops_the_host_whatever_group_and_policy() {
    for group in ["drive", "die", "plane"] {
        for &policy in ftl::config::Policy::WORDS {
            let system = superblocks(&[("ftl.group", group), ("ftl.gc.policy", policy), ("ftl.gc.batch", "32")]);
            let parts = Parts::new(&system, PayloadKind::None).expect("parts");
            let (flown, amplification, budget) = write(&system, &parts, 150_000);
            let name = format!("{group}, {policy}");
            assert!(amplification > 3.0, "{name}: write amplification {amplification}: hardly anything is collected");
            assert!(flown.silence < Time::from_ms(10), "{name}: no write ended for {}", flown.silence);
            assert!(at(&flown, 0.999) < Time::from_ms(50), "{name}: p99.9 is {}", at(&flown, 0.999));
            let units = if group == "plane" { 4.0 } else { 8.0 };
            let allowed = allowed_iops(units, amplification);
            let found = flown.each.len() as f64 / flown.end.secs_f64();
            assert!(found > 0.9 * allowed, "{name}: {found} IOPS, programs allow {allowed}");
            let senses = budget.sensing / budget.programming * PROGRAM_US / READ_US;
            assert!((0.97..1.03).contains(&senses), "{name}: {senses} pages are sensed for each program");
            let transfer = units * 4096.0 / 1400.0;
            if policy == "greedy" {
                // The write waits for all queued data, and possibly for an erase and the operations queued at each die.
                let programmed = ftl::programmed_before(&parts.ftl, u64::from(DEPTH) + units as u64) as f64;
                let bound_us = programmed / units / f64::from(DIES) * (PROGRAM_US + READ_US + transfer)
                    + ERASE_US
                    + 2.0 * (PROGRAM_US + transfer);
                let longest = at(&flown, 1.0).us_f64();
                assert!(longest < bound_us, "{name}: a write took {longest} us, {bound_us} us at most are expected");
                assert!(longest > bound_us / 8.0, "{name}: a bound of {bound_us} us says nothing of {longest} us");
            }
        }
    }
}

/// Copies change the map too: where its cache holds a part, pages of the map are then written as well as host data.
#[test]
fn collection_never_stops_the_host_of_a_drive_that_caches_a_part_of_its_map() {
    let lent = [("device.hmb.size", "2MiB"), ("device.hmb.use", "map"), ("ftl.map_cache.size", "16KiB")];
    // An eighth of the map, and a quarter.
    let parts: [&[(&str, &str)]; 5] = [
        &[("ftl.map_cache.size", "1MiB")],
        &[("ftl.map_cache.size", "2MiB")],
        &[("ftl.map_cache.size", "1MiB"), ("ftl.map_cache.grain", "entry")],
        &[("ftl.map_cache.size", "2MiB"), ("ftl.map_cache.grain", "entry")],
        &lent,
    ];
    for group in ["drive", "die"] {
        for part in parts {
            let system = superblocks(&[&[("ftl.group", group), ("ftl.gc.batch", "32")], part].concat());
            let parts = Parts::new(&system, PayloadKind::None).expect("parts");
            let (flown, amplification, _) = write(&system, &parts, 60_000);
            assert!(amplification > 2.0, "{group}, {part:?}: hardly anything is collected: {amplification}");
            assert!(flown.silence < Time::from_ms(50), "{group}, {part:?}: no write ended for {}", flown.silence);
        }
    }
}

/// Where the pages of the map would fill a third of a superblock, a block that holds many is collected only after most
/// were superseded.
#[test]
fn blocks_of_a_large_map_rest_before_they_are_collected() {
    let lent = [("device.hmb.size", "1MiB"), ("device.hmb.use", "map"), ("ftl.map_cache.size", "16KiB")];
    for part in [&[("ftl.map_cache.size", "1MiB")][..], &lent] {
        let large = [("flash.blocks", "400"), ("ftl.over_provisioning", "0.12"), ("ftl.group", "drive")];
        let system = drive(&[&large[..], part].concat());
        let parts = Parts::new(&system, PayloadKind::None).expect("parts");
        let (flown, amplification, _) = write(&system, &parts, 60_000);
        // 8.6 and 11.6 without a rest.
        assert!(amplification < 7.5, "{part:?}: write amplification {amplification}");
        assert!(flown.silence < Time::from_ms(50), "{part:?}: no write ended for {}", flown.silence);
    }
}

/// A drive of which most programmed units are pages of the map is laid out with blocks full of superseded ones, and as short
/// of space as it is in the long run.
#[test]
fn the_first_writes_of_a_steady_drive_with_a_large_map_do_not_pause() {
    let lent = [("device.hmb.size", "1MiB"), ("device.hmb.use", "map"), ("ftl.map_cache.size", "16KiB")];
    let with_slc = [("ftl.map_cache.size", "1MiB"), ("ftl.slc_cache.size", "600MB")];
    for part in [&lent[..], &with_slc] {
        let large = [("flash.blocks", "800"), ("ftl.over_provisioning", "0.08"), ("ftl.group", "drive")];
        let system = drive(&[&large[..], part].concat());
        let parts = Parts::new(&system, PayloadKind::None).expect("parts");
        let streams = Streams::new(1);
        let (store, prepared) = prepare(&system, &parts, Preparation::Steady, &streams, None).expect("a steady drive");
        let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
        let mut machine = Machine::new(&parts, ftl, nand);
        let mut rng = streams.stream("test.writes");
        let units = u64::from(parts.ftl.user_units);
        let mut draw = || Request::new(Op::Write, rng.below(units) * 4096, 4096);
        let (mut before, mut found) = (machine.ftl().stats(), Vec::new());
        // 0.3 % of a drive-write each.
        for _ in 0..2 {
            let flown = fly(&mut machine, DEPTH, 25_000, &mut draw);
            assert!(flown.silence < Time::from_ms(50), "{part:?}: no write ended for {}", flown.silence);
            assert!(at(&flown, 0.999) < Time::from_ms(150), "{part:?}: p99.9 is {}", at(&flown, 0.999));
            let now = machine.ftl().stats();
            found.push(now.since(&before).write_amplification().expect("it was written to"));
            before = now;
        }
        let expected = prepared.write_amplification.expect("theory has one");
        for found in found {
            assert!(
                (found / expected - 1.0).abs() < 0.2,
                "{part:?}: write amplification {found}, laid out for {expected}"
            );
        }
    }
}

/// With little spare space, the last operation in progress is at times an access to host memory, while copies wait for the
/// map and the map waits for the space that copies give.
#[test]
fn the_end_of_an_access_to_host_memory_wakes_copies() {
    let little = [("flash.blocks", "400"), ("ftl.over_provisioning", "0.07"), ("ftl.group", "drive")];
    let lent = [("device.hmb.size", "1MiB"), ("device.hmb.use", "map"), ("ftl.map_cache.size", "16KiB")];
    let system = drive(&[little, lent].concat());
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let (flown, amplification, _) = write(&system, &parts, 40_000);
    assert_eq!(flown.each.len(), 40_000);
    assert!(amplification > 5.0, "write amplification {amplification}: there is space enough");
}

/// If pages are read one by one, each program waits for two transfers through its die's cache register.
#[test]
fn batches_save_turns_between_reading_and_programming() {
    let share = |batch: &str| {
        let system = superblocks(&[("ftl.gc.batch", batch)]);
        let parts = Parts::new(&system, PayloadKind::None).expect("parts");
        let (flown, amplification, _) = write(&system, &parts, 60_000);
        flown.each.len() as f64 / flown.end.secs_f64() / allowed_iops(8.0, amplification)
    };
    let (single, sixteen, thirty_two) = (share("1"), share("16"), share("32"));
    // For each program a die senses a page, erases its share of a block, and transfers 32 KiB twice.
    let expected = PROGRAM_US / (PROGRAM_US + READ_US + ERASE_US / BLOCK_PAGES + 2.0 * 23.4);
    assert!((single - expected).abs() < 0.02, "page by page {single}, {expected} expected");
    assert!(single + 0.03 < sixteen && sixteen < thirty_two, "{single}, {sixteen}, {thirty_two}");
}
