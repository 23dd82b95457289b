//! A hostile guest: the drive answers with status codes, never with a panic, touches nothing outside guest memory, does
//! bounded work, and works again after a reset.

mod support;

use std::time::{Duration, Instant};

use support::hostile::attack;
use support::legal::HANDLES;
use support::{SMALL, ZONED, system};
use system::System;

/// Hostile steps of a guest.
const STEPS: u32 = 1500;

/// Number of seeds: `NANDRAM_HOSTILE_SEEDS`, or a few.
fn seeds() -> u64 {
    number("NANDRAM_HOSTILE_SEEDS").unwrap_or(40)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable}: found {text:?}")))
}

/// A drive with a small Host Memory Buffer.
fn with_host_memory(changes: &[(&str, &str)]) -> System {
    let sets = [
        ("flash.channels", "2"),
        ("flash.chips", "2"),
        ("flash.blocks", "40"),
        ("flash.pages", "64"),
        ("ftl.capacity", "204800000B"),
        ("device.hmb.size", "1MiB"),
        ("device.hmb.minimum", "64KiB"),
        ("ftl.map_cache.size", "4KiB"),
        ("device.max_commands", "8"),
    ];
    system("hmb-a", &[&sets[..], changes].concat())
}

/// A small drive with reclaim unit handles.
fn with_placement(isolation: &str, changes: &[(&str, &str)]) -> System {
    let handles = HANDLES.to_string();
    let sets = [
        ("ftl.placement.isolation", isolation),
        ("ftl.placement.handles", &handles),
        ("flash.blocks", "24"),
        ("flash.pages", "16"),
        ("ftl.over_provisioning", "1.0"),
        ("device.write_cache.size", "512KiB"),
    ];
    system("", &[&SMALL[..], &sets, changes].concat())
}

#[test]
fn any_bytes_from_a_guest_are_answered_with_status_codes() {
    let plain = system("", &SMALL);
    let written: u64 = (0..seeds()).map(|seed| attack(seed, STEPS, &plain).0).sum();
    assert!(written > seeds() << 12, "the guest wrote only {written} bytes, so it attacked little");
}

#[test]
fn any_bytes_are_answered_by_a_drive_with_host_memory() {
    let hmb = with_host_memory(&[]);
    let lent = (0..seeds()).filter(|seed| attack((1 << 32) + seed, STEPS, &hmb).1).count();
    assert!(lent > 0, "no guest ever lent its memory, so it attacked little");
}

/// A drive with zones, with a write cache that a power cut loses or keeps, and a conventional namespace of some bytes.
fn with_zones(protected: &str, conventional: &str) -> System {
    let sets = [
        ("host.max_transfer", "64KiB"),
        ("device.max_commands", "24"),
        ("device.power_loss_protection", protected),
        ("device.zones.conventional", conventional),
    ];
    system("", &[&ZONED[..], &sets].concat())
}

#[test]
fn any_bytes_are_answered_by_a_drive_with_zones() {
    for (protected, conventional) in [("false", "0B"), ("true", "2MiB")] {
        let zoned = with_zones(protected, conventional);
        let written: u64 = (0..seeds() / 2).map(|seed| attack((2 << 32) + seed, STEPS, &zoned).0).sum();
        assert!(written > seeds() << 12, "the guest wrote only {written} bytes, so it attacked little");
    }
}

#[test]
fn any_bytes_are_answered_by_a_drive_with_placement() {
    for (first, isolation) in [(2u64 << 32, "initial"), (3 << 32, "persistent")] {
        let placed = with_placement(isolation, &[]);
        let written: u64 = (0..seeds() / 2).map(|seed| attack(first + seed, STEPS, &placed).0).sum();
        assert!(written > seeds() << 11, "the guest wrote only {written} bytes, so it attacked little");
    }
}

/// Attacks drives of several kinds with one seed after another, for `NANDRAM_FUZZ_SECONDS` from seed
/// `NANDRAM_FUZZ_SEED` on. `make fuzz-controller` runs it.
#[test]
#[ignore = "runs for hours: make fuzz-controller"]
fn attacks_for_some_time() {
    let systems = [
        system("", &SMALL),
        with_host_memory(&[]),
        with_host_memory(&[("device.hmb.unit", "32KiB"), ("device.hmb.check", "0B")]),
        with_host_memory(&[
            ("device.hmb.use", r#"["map", "read-cache", "write-buffer"]"#),
            ("device.max_commands", "64"),
        ]),
        with_zones("false", "0B"),
        with_zones("true", "0B"),
        with_zones("false", "2MiB"),
        with_placement("initial", &[("flash.failures.program", "0.001")]),
        with_placement("persistent", &[("device.max_commands", "64")]),
    ];
    let kinds = systems.len() as u64;
    let limit = Duration::from_secs(number("NANDRAM_FUZZ_SECONDS").unwrap_or(60));
    let (begin, first) = (Instant::now(), number("NANDRAM_FUZZ_SEED").unwrap_or(1 << 33));
    let mut seed = first;
    while begin.elapsed() < limit {
        println!("seed {seed}");
        attack(seed, STEPS, &systems[(seed % kinds) as usize]);
        seed += 1;
    }
    println!("{} guests in {} s", seed - first, begin.elapsed().as_secs());
}
