//! Background refresh: data that is old, or in a frequently read block, is rewritten before it is lost.

#[path = "support/plain.rs"]
mod plain;

use media::{Op, Request, Status};
use nand::PayloadKind;
use plain::PLAIN;
use sim::{Streams, Time};
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

/// A drive of small blocks after 3000 cycles, without a read cache.
const WORN: [(&str, &str); 14] = [
    ("flash.channels", "2"),
    ("flash.chips", "1"),
    ("flash.blocks", "24"),
    ("flash.pages", "48"),
    ("ftl.group", "plane"),
    ("ftl.gc.start", "3"),
    ("ftl.capacity", "auto"),
    ("ftl.over_provisioning", "0.6"),
    ("ftl.slc_cache.size", "0B"),
    ("device.read_cache.size", "0B"),
    ("flash.errors.model", "power-law"),
    ("flash.cycles", "3000"),
    ("flash.errors.wear", "0.0001"),
    ("flash.errors.retention", "0"),
];

struct Read {
    lost: usize,
    retries_a_read: f64,
    refreshed: u64,
}

/// Reads the units that `hot` returns, one after another, with a pause after every `busy` reads. Returns figures for
/// the last quarter.
fn read(sets: &[(&str, &str)], count: u32, busy: u32, pause: Time, hot: impl Fn(u32, u64) -> u64) -> Read {
    let all: Vec<(&str, &str)> = PLAIN.iter().chain(&WORN).chain(sets).copied().collect();
    let system = System::load("nvme-client-tlc", &all).unwrap_or_else(|error| panic!("{error}"));
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let (store, _) = prepare(&system, &parts, Preparation::Filled, &streams, None).expect("a prepared drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    let mut machine = Machine::new(&parts, ftl, nand);
    let units = u64::from(parts.ftl.user_units);
    let (mut lost, mut before) = (0, (0, 0));
    let mut completions = Vec::new();
    for number in 0..count {
        if number == count / 4 * 3 {
            before = sensed(&machine);
        }
        if number % busy == busy - 1 {
            let until = machine.now() + pause;
            while machine.next_event().is_some_and(|at| at <= until) {
                machine.advance(until, &mut completions);
            }
        }
        machine.submit(machine.now(), 0, 0, Request::new(Op::Read, hot(number, units) * 4096, 4096));
        while completions.is_empty() {
            assert!(machine.advance(Time::MAX, &mut completions));
        }
        lost += completions.drain(..).filter(|end| end.status != Status::Ok).count();
    }
    let (reads, retries) = sensed(&machine);
    let (reads, retries) = (reads - before.0, retries - before.1);
    let refreshed = machine.ftl().stats().refreshed;
    Read { lost, retries_a_read: retries as f64 / (reads - retries) as f64, refreshed }
}

/// Returns the array reads of all dies, and the number of those that were retries.
fn sensed(machine: &Machine) -> (u64, u64) {
    let nand = machine.nand();
    let dies = nand.store().geometry().all_dies() as u16;
    let stats = (0..dies).map(|die| nand.die_stats(machine.now(), die));
    stats.fold((0, 0), |(reads, retries), die| (reads + die.reads, retries + die.retries))
}

/// Every read of a block adds 1e-5 to its bit error rate; up to 4e-3 are corrected without a retry.
const DISTURBED: (&str, &str) = ("flash.errors.disturb", "0.00001");

#[test]
fn a_block_that_is_read_often_is_rewritten_beside_the_reads() {
    let one = |_, _| 7;
    let without = read(&[DISTURBED], 12_000, u32::MAX, Time::ZERO, one);
    let with = read(&[DISTURBED, ("ftl.refresh.reads", "240")], 12_000, u32::MAX, Time::ZERO, one);
    println!("{} lost, {} retries a read without", without.lost, without.retries_a_read);
    println!("{} lost, {} retries a read with, {} refreshed", with.lost, with.retries_a_read, with.refreshed);
    assert!(without.lost > 0 && without.retries_a_read > 1.0 && without.refreshed == 0);
    assert!(with.lost == 0 && with.retries_a_read < 0.01, "{} lost, {}", with.lost, with.retries_a_read);
    // At most one per 300 reads (the limit plus a quarter). Copying alongside reads takes a while.
    assert!((8..=40).contains(&with.refreshed), "{} blocks were refreshed", with.refreshed);
}

#[test]
fn a_pause_rewrites_what_has_reached_its_limit() {
    let one = |_, _| 7;
    let with = |pause| read(&[DISTURBED, ("ftl.refresh.reads", "240")], 12_000, 30, pause, one);
    let (busy, idle) = (with(Time::from_us(10)).refreshed, with(Time::from_ms(60)).refreshed);
    println!("{busy} blocks refreshed without idle time, {idle} with it");
    // One per 240 reads, not one per 300.
    assert!((45..=52).contains(&idle) && idle > busy + 5, "{busy} {idle}");
}

#[test]
fn old_data_is_rewritten() {
    let old = [("flash.age", "1y"), ("flash.errors.retention", "0.0003")];
    let young: Vec<(&str, &str)> = old.iter().chain(&[("ftl.refresh.age", "180d")]).copied().collect();
    let spread = |number: u32, units: u64| u64::from(number) * 37 % units;
    let pause = Time::from_ms(2000);
    let (without, with) = (read(&old, 4000, 1000, pause, spread), read(&young, 4000, 1000, pause, spread));
    println!(
        "{} retries a read without, {} with, {} refreshed",
        without.retries_a_read, with.retries_a_read, with.refreshed
    );
    assert!(without.retries_a_read > 0.5 && without.refreshed == 0, "{}", without.retries_a_read);
    assert!(with.retries_a_read < 0.01 && with.refreshed > 0, "{}", with.retries_a_read);
}
