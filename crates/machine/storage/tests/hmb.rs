//! The presets with a Host Memory Buffer: the capacity of the map in it, and the effects of switching it and of a
//! reset.

use media::{Op, Request};
use nand::PayloadKind;
use sim::{Streams, Time};
use storage::{Completion, Machine};
use system::System;
use system::parts::Parts;

fn machine(preset: &str, sets: &[(&str, &str)]) -> (Machine, u64) {
    let system = System::load(preset, sets).unwrap_or_else(|error| panic!("{error}"));
    let parts = Parts::new(&system, PayloadKind::None).unwrap_or_else(|error| panic!("{error}"));
    let machine = Machine::erased(&parts, &Streams::new(1)).expect("parts that fit together");
    (machine, parts.user_bytes)
}

/// Reads the beginning of each of `sections` parts of the drive in turn. An erased drive looks up its map like a full
/// one, but has no data to fetch.
fn pass(machine: &mut Machine, bytes: u64, sections: u64) {
    let mut ends: Vec<Completion> = Vec::new();
    for section in 0..sections {
        let offset = section * (bytes / 512) / sections * 512;
        machine.submit(machine.now(), 0, 0, Request::new(Op::Read, offset, 512));
        while ends.is_empty() {
            machine.advance(Time::MAX, &mut ends);
        }
        ends.clear();
    }
}

/// Returns the map cache misses in the second of two passes.
fn misses(preset: &str, size: &str, sections: u64) -> u64 {
    let (mut machine, bytes) = machine(preset, &[("device.hmb.size", size)]);
    pass(&mut machine, bytes, sections);
    let before = machine.ftl().stats().map_misses;
    pass(&mut machine, bytes, sections);
    machine.ftl().stats().map_misses - before
}

#[test]
fn the_map_in_host_memory_ends_where_its_size_says() {
    for preset in ["hmb-a", "hmb-c"] {
        for (size, knee) in [("8MiB", 2000), ("16MiB", 4000), ("32MiB", 8000), ("64MiB", 16000)] {
            // The paper's counts are multiples of 100, so the first count above capacity is within one step of the
            // paper's.
            let found = [knee - 200, knee].map(|sections| misses(preset, size, sections));
            assert_eq!(found, [0, knee], "{preset} with {size}, at and two steps before {knee} sections");
        }
    }
    // Units of 512 KiB: 124, and the controller's own 96 pages.
    assert_eq!([200, 300].map(|sections| misses("hmb-b", "64MiB", sections)), [0, 300]);
}

#[test]
fn it_is_switched_off_and_on_while_the_drive_works() {
    let (mut machine, bytes) = machine("hmb-a", &[]);
    pass(&mut machine, bytes, 100);
    assert_eq!(machine.host_memory_bytes(), 64 << 20);
    assert!(!machine.switch_host_memory(machine.now(), true), "it is on");
    assert!(machine.switch_host_memory(machine.now(), false));
    assert!(!machine.switch_host_memory(machine.now(), true), "a command is in progress");
    pass(&mut machine, bytes, 100);
    assert_eq!((machine.host_memory_bytes(), machine.ftl().uses_host_memory()), (0, false));
    let hits = machine.ftl().stats().map_host_hits;
    pass(&mut machine, bytes, 100);
    assert_eq!(machine.ftl().stats().map_host_hits, hits, "nothing is there");
    assert!(machine.switch_host_memory(machine.now(), true));
    pass(&mut machine, bytes, 100);
    pass(&mut machine, bytes, 100);
    assert_eq!(machine.host_memory_bytes(), 64 << 20);
    assert!(machine.ftl().stats().map_host_hits > hits, "it is used again");
}

#[test]
fn a_reset_leaves_what_the_driver_returns() {
    for keep in [true, false] {
        let (mut machine, bytes) = machine("hmb-a", &[]);
        pass(&mut machine, bytes, 1000);
        let loss = machine.reset_controller(keep);
        assert_eq!(loss, ftl::HostMemoryLoss::default(), "nothing was written");
        let before = machine.ftl().stats().map_misses;
        pass(&mut machine, bytes, 1000);
        // The controller's own three units survive in any case.
        let missed = machine.ftl().stats().map_misses - before;
        assert_eq!(missed, if keep { 0 } else { 997 });
    }
}

#[test]
fn what_is_lost_with_host_memory_is_read_again_from_all_dies_at_once() {
    // The controller does not hold changes back.
    let (mut machine, _) = machine("hmb-a", &[("ftl.map_cache.updates", "0")]);
    let mut ends: Vec<Completion> = Vec::new();
    // Each write changes another page of the map. A flush brings the data to flash, but not the map.
    let writes = (0..512u64).map(|i| Request::new(Op::Write, i << 22, 4096));
    for request in writes.chain([Request::flush()]) {
        machine.submit(machine.now(), 0, 0, request);
        while ends.is_empty() {
            machine.advance(Time::MAX, &mut ends);
        }
        ends.clear();
    }
    let before = machine.now();
    let loss = machine.reset_controller(false);
    assert_eq!(loss.dirty_units, 0, "the map alone is in host memory");
    assert!(loss.entries > 0 && loss.pages_read > 0, "{loss:?}");
    let (dies, busiest) = (16, loss.pages_of_busiest_die);
    assert!(busiest * dies >= loss.pages_read && busiest <= loss.pages_read, "{loss:?}");
    assert_eq!(loss.time(Time::from_us(65)), Time::from_us(65) * busiest);
    // Meanwhile the drive serves no requests. An array read takes 65 us plus its command cycles.
    let passed = machine.now() - before;
    assert!(passed >= loss.time(Time::from_us(65)) && passed <= loss.time(Time::from_us(67)), "{passed}");
}

#[test]
fn what_the_host_cannot_lend_is_done_without() {
    for (sets, bytes) in [
        (&[("host.hmb.limit", "4MiB")][..], 0),
        (&[("host.hmb.limit", "0B")], 0),
        (&[("host.hmb.limit", "32MiB")], 32 << 20),
        (&[("device.hmb.max_descriptors", "4")], 16 << 20),
        (&[("device.hmb.max_descriptors", "4"), ("host.hmb.contiguous", "1MiB")], 0),
        (&[("device.hmb.min_descriptor", "2MiB"), ("host.hmb.contiguous", "1MiB")], 0),
        (&[("device.hmb.size", "0B")], 0),
    ] {
        assert_eq!(machine("hmb-a", sets).0.host_memory_bytes(), bytes, "{sets:?}");
    }
}
