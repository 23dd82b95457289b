//! Memory use: unwritten space must cost nothing, and memory must not grow with the length of a run.

#[path = "support/closed_loop.rs"]
mod closed_loop;

use closed_loop::fly;
use media::{Op, Request, Status};
use nand::PayloadKind;
use storage::Machine;
use storage::fast::Fast;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

use sim::Streams;

/// Returns the resident bytes of this process (Linux).
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    pages.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).expect("resident pages") * 4096
}

const MB: u64 = 1_000_000;

/// All checks are in one test, because parallel tests would allocate memory in between.
#[test]
fn memory_is_what_is_written() {
    if !std::path::Path::new("/proc/self/statm").exists() {
        return;
    }
    a_drive_of_16_tb_opens_in_little();
    a_steady_drive_of_1_tb_costs_what_is_touched();
    overwriting_takes_no_more();
    machines_take_no_more("1ms");
    machines_take_no_more("never");
}

fn a_drive_of_16_tb_opens_in_little() {
    let sets = [
        ("flash.channels", "16"),
        ("flash.chips", "4"),
        ("flash.dies", "4"),
        ("flash.planes", "4"),
        ("flash.cell", "qlc"),
        ("flash.pages", "4096"),
        ("flash.blocks", "260"),
        ("ftl.unit", "16KiB"),
        ("device.dram", "8GiB"),
        ("ftl.slc_cache.size", "0B"),
    ];
    let system = System::from_toml("drive", "title = \"drive\"", &sets).expect("a drive");
    assert!(system.user_bytes > 16_000_000_000_000, "{} bytes", system.user_bytes);
    let before = resident();
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let mut machine = Machine::erased(&parts, &Streams::new(1)).expect("a machine");
    let opened = resident().saturating_sub(before);
    assert!(opened < 400 * MB, "{} MB of a drive that holds nothing", opened / MB);
    // 64 MB of scattered writes cost their pages of the tables.
    let mut at = 0;
    fly(&mut machine, 8, 1024, || {
        at += system.user_bytes / 1025 / 65536 * 65536;
        Request::new(Op::Write, at, 65536)
    });
    let written = resident().saturating_sub(before);
    assert!(written < 900 * MB, "{} MB after 64 MB were written", written / MB);
    println!("16 TB: {} MB opened, {} MB with 64 MB in 1024 places", opened / MB, written / MB);
}

fn a_steady_drive_of_1_tb_costs_what_is_touched() {
    let system = System::load("nvme-client-tlc", &[]).expect("a preset");
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let streams = Streams::new(4);
    let before = resident();
    let (store, _) = prepare(&system, &parts, Preparation::Steady, &streams, None).expect("a steady drive");
    let (nand, ftl, mount) = parts.mount(store, &streams).expect("it mounts");
    assert_eq!(mount.mapped_units, u64::from(parts.ftl.user_units));
    let mut machine = Machine::new(&parts, ftl, nand);
    let mut rng = streams.stream("test.overwrite");
    let units = u64::from(parts.ftl.user_units);
    fly(&mut machine, 32, 100_000, || Request::new(Op::Write, rng.below(units) * 4096, 4096));
    let taken = resident().saturating_sub(before);
    println!("1 TB in steady state and 100,000 writes: {} MB", taken / MB);
    assert!(taken < 400 * MB, "{} MB of a steady drive of 1 TB after 100,000 writes", taken / MB);
}

fn steady() -> (System, Parts) {
    let sets = [
        ("flash.channels", "2"),
        ("flash.chips", "1"),
        ("flash.dies", "1"),
        ("flash.planes", "2"),
        ("flash.blocks", "128"),
        ("flash.pages", "64"),
        ("ftl.over_provisioning", "0.28"),
        ("ftl.gc.start", "3"),
        ("device.write_cache.size", "1MiB"),
        ("host.max_transfer", "128KiB"),
    ];
    let system = System::from_toml("drive", "title = \"drive\"", &sets).expect("a drive");
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    (system, parts)
}

fn overwriting_takes_no_more() {
    let ((system, parts), streams) = (steady(), Streams::new(2));
    let (store, _) = prepare(&system, &parts, Preparation::Steady, &streams, None).expect("a steady drive");
    let (nand, mut ftl, _) = parts.mount(store, &streams).expect("it mounts");
    let mut store = nand.into_store();
    let mut fast = Fast::new(&mut ftl, &mut store);
    let mut rng = streams.stream("test.overwrite");
    let units = u64::from(parts.ftl.user_units);
    let mut write = |count: u32| {
        for _ in 0..count {
            let status = fast.request(Request::new(Op::Write, rng.below(units) * 4096, 4096));
            assert_eq!(status, Status::Ok);
        }
        resident()
    };
    let (before, after) = (write(200_000), write(1_000_000));
    let grown = after.saturating_sub(before);
    println!("a million steady writes: {grown} bytes more");
    assert!(grown < 2 * MB, "{grown} bytes more after a million writes");
}

fn machines_take_no_more(idle: &str) {
    let ((mut system, _), streams) = (steady(), Streams::new(3));
    system.caches.write.idle = (idle != "never").then(|| sim::Time::from_ms(1));
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let (store, _) = prepare(&system, &parts, Preparation::Steady, &streams, None).expect("a steady drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    let mut machine = Machine::new(&parts, ftl, nand);
    let mut rng = streams.stream("test.overwrite");
    let units = u64::from(parts.ftl.user_units);
    let mut write = |count: u32| {
        // Runs in batches, because the driver of the test keeps a record of each request until the end of a batch.
        for _ in 0..count / 10_000 {
            fly(&mut machine, 16, 10_000, || Request::new(Op::Write, rng.below(units) * 4096, 4096));
        }
        resident()
    };
    let (before, after) = (write(50_000), write(200_000));
    let grown = after.saturating_sub(before);
    println!("200,000 writes of a whole machine, idle {idle}: {grown} bytes more");
    assert!(grown < 2 * MB, "{grown} bytes more after 200,000 writes, device.write_cache.idle {idle}");
}
