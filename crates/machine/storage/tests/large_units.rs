//! Mapping units larger than a page, on drives of up to 256 TB; programs of many small units; two passes.

#[path = "support/closed_loop.rs"]
mod closed_loop;

use std::time::Instant;

use closed_loop::fly;
use media::{Op, Request, Status};
use nand::{PageSpan, PayloadKind};
use sim::{Streams, Time};
use storage::prepare::{Preparation, prepare};
use storage::{Completion, Machine};
use system::System;
use system::parts::Parts;

const KIB: u64 = 1024;

/// QLC dies of four planes with pages of 16 KiB, on a drive of eight dies.
const SMALL: [(&str, &str); 12] = [
    ("flash.channels", "4"),
    ("flash.chips", "2"),
    ("flash.dies", "1"),
    ("flash.planes", "4"),
    ("flash.blocks", "40"),
    ("flash.pages", "48"),
    ("flash.page", "16KiB"),
    ("flash.cell", "qlc"),
    ("ftl.over_provisioning", "0.4"),
    ("ftl.slc_cache.size", "0B"),
    ("device.write_cache.size", "4MiB"),
    ("device.power_loss_protection", "true"),
];

fn system(base: &[(&str, &str)], sets: &[(&str, &str)]) -> System {
    let all = [base, sets].concat();
    System::from_toml("drive", "title = \"drive\"", &all).unwrap_or_else(|error| panic!("{error}"))
}

fn machine(system: &System, preparation: Preparation) -> Machine {
    let parts = Parts::new(system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let (store, _) = prepare(system, &parts, preparation, &streams, None).expect("a prepared drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    Machine::new(&parts, ftl, nand)
}

/// Random requests of `bytes` bytes. Returns the machine, the mean response time, and requests per second.
fn random(sets: &[(&str, &str)], op: Op, bytes: u64, depth: u32, count: u32) -> (Machine, f64, f64) {
    let system = system(&SMALL, sets);
    let mut machine = machine(&system, if op == Op::Read { Preparation::Filled } else { Preparation::Steady });
    let (mut rng, places) = (Streams::new(7).stream("test.random"), system.user_bytes / bytes);
    let start = machine.now();
    let flown = fly(&mut machine, depth, count, || Request::new(op, rng.below(places) * bytes, bytes));
    let mean = flown.each.iter().map(|(_, time)| time.us_f64()).sum::<f64>() / f64::from(count);
    (machine, mean, f64::from(count) / (flown.end - start).secs_f64())
}

#[test]
fn a_small_read_takes_as_long_from_a_large_unit_as_from_a_small_one() {
    let mean = |unit: &str, bytes| random(&[("ftl.unit", unit)], Op::Read, bytes, 1, 300).1;
    for unit in ["32KiB", "64KiB"] {
        assert!((mean(unit, 4 * KIB) - mean("16KiB", 4 * KIB)).abs() < 0.5, "{unit}: one page of one plane is read");
    }
    let (whole, part) = (mean("64KiB", 64 * KIB), mean("64KiB", 4 * KIB));
    assert!((10.0..60.0).contains(&(whole - part)), "planes sense at once, data leaves in turn: {whole} {part}");
    // Two planes of two pages each: the second page number is sensed after the first.
    let rows = [("ftl.unit", "64KiB"), ("flash.planes", "2")];
    let (whole, part) = (random(&rows, Op::Read, 64 * KIB, 1, 300).1, random(&rows, Op::Read, 4 * KIB, 1, 300).1);
    assert!(whole - part > 150.0, "{whole} {part}");
    assert!((part - mean("16KiB", 4 * KIB)).abs() < 0.5);
}

#[test]
fn independent_planes_of_a_unit_read_at_once() {
    let rate = |independent| {
        random(&[("ftl.unit", "64KiB"), ("flash.independent_reads", independent)], Op::Read, 4 * KIB, 64, 6000).2
    };
    assert!(rate("true") > 1.7 * rate("false"), "{} {}", rate("true"), rate("false"));
}

#[test]
fn a_write_of_a_part_reads_and_programs_the_unit() {
    let rate = |unit: &str| {
        let (machine, _, rate) = random(&[("ftl.unit", unit)], Op::Write, 4 * KIB, 32, 4000);
        (machine.ftl().stats(), rate)
    };
    let (small, large) = (rate("4KiB"), rate("64KiB"));
    assert_eq!(small.0.fill_reads, 0);
    assert!(large.0.fill_reads > 3000, "{} of 4,000 writes found the rest of their unit in flash", large.0.fill_reads);
    let per_byte = |stats: &ftl::Stats, unit: u64| (stats.programmed_host * unit) as f64 / stats.host_bytes as f64;
    let (one, sixteen) = (per_byte(&small.0, 4 * KIB), per_byte(&large.0, 64 * KIB));
    assert!((0.6..1.1).contains(&one) && (13.0..16.5).contains(&sixteen), "{one} {sixteen}");
    assert!(small.1 > 8.0 * large.1, "{} {}", small.1, large.1);
    let whole = random(&[("ftl.unit", "64KiB")], Op::Write, 64 * KIB, 32, 1000).0.ftl().stats();
    assert_eq!(whole.fill_reads, 0, "whole units need no read");
}

#[test]
fn a_unit_of_64_kib_takes_writes_of_whole_kib() {
    let status = |unit, offset, bytes| {
        let system = system(&SMALL, &[("ftl.unit", unit)]);
        let (mut machine, mut ends) = (machine(&system, Preparation::Filled), Vec::<Completion>::new());
        machine.submit(machine.now(), 0, 0, Request::new(Op::Write, offset, bytes));
        while ends.is_empty() {
            machine.advance(Time::MAX, &mut ends);
        }
        ends[0].status
    };
    assert_eq!(status("64KiB", KIB, KIB), Status::Ok);
    assert_eq!(status("64KiB", 0, 512), Status::Refused(media::Refusal::InvalidField));
    assert_eq!(status("64KiB", 512, KIB), Status::Refused(media::Refusal::InvalidField));
    assert_eq!(status("32KiB", 512, 512), Status::Ok);
}

#[test]
fn programs_of_many_small_units_are_collected() {
    let many = [("ftl.unit", "512B"), ("flash.cell", "tlc")];
    let (machine, _, _) = random(&many, Op::Write, 512, 32, 60_000);
    let stats = machine.ftl().stats();
    assert!(stats.copy_reads > 100 && stats.erases > 0, "{stats:?}");
    // A page has 32 units, and collection reads two pages of a program at once.
    assert!(stats.programmed_copy <= 64 * stats.copy_reads + 64, "{stats:?}");
}

#[test]
fn two_passes_halve_the_rate_of_writes_that_the_channels_limit() {
    let rate = |programming| {
        let sets = [("flash.programming", programming), ("flash.rate", "100MT/s"), ("flash.program", "100us")];
        random(&sets, Op::Write, 64 * KIB, 16, 2000).2
    };
    let (one, two) = (rate("one-pass"), rate("two-pass"));
    assert!((1.5..2.1).contains(&(one / two)), "{one} {two}");
}

#[test]
fn a_span_is_the_units_over_the_pages() {
    let span = |sets: &[(&str, &str)]| system(&SMALL, sets).span();
    assert_eq!(span(&[]), PageSpan::ONE);
    assert_eq!(span(&[("ftl.unit", "64KiB")]), PageSpan { planes: 4, pages: 1 });
    let alone = [("ftl.unit", "32KiB"), ("ftl.multi_plane", "false")];
    assert_eq!(span(&alone), PageSpan { planes: 1, pages: 2 }, "single-plane programs");
    let small = [("ftl.unit", "64KiB"), ("flash.page", "4KiB")];
    assert_eq!(span(&small), PageSpan { planes: 4, pages: 4 });
}

/// Returns the resident bytes of this process; `None` outside Linux.
fn resident() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    pages.split(' ').nth(1)?.parse::<u64>().ok().map(|pages| pages * 4096)
}

#[test]
fn a_steady_drive_of_61_and_of_256_tb_costs_what_is_touched() {
    const LARGE: [(&str, &str); 8] = [
        ("flash.channels", "16"),
        ("flash.planes", "4"),
        ("flash.blocks", "1380"),
        ("flash.pages", "2816"),
        ("flash.page", "16KiB"),
        ("flash.cell", "qlc"),
        ("ftl.slc_cache.size", "0B"),
        ("device.dram", "32GiB"),
    ];
    for (terabytes, chips, dies, unit) in [(60.0, "4", "4", "32KiB"), (243.0, "8", "8", "64KiB")] {
        let sets = [("flash.chips", chips), ("flash.dies", dies), ("ftl.unit", unit)];
        let system = system(&LARGE, &sets);
        assert!(system.user_bytes as f64 > terabytes * 1e12, "{} bytes", system.user_bytes);
        let (before, from) = (resident(), Instant::now());
        let mut machine = machine(&system, Preparation::Steady);
        let (mut rng, places) = (Streams::new(1).stream("test.random"), system.user_bytes / 4096);
        fly(&mut machine, 16, 2000, || Request::new(Op::Read, rng.below(places) * 4096, 4096));
        println!("{terabytes} TB: {:?}", from.elapsed());
        if let (Some(before), Some(after)) = (before, resident()) {
            let taken = after.saturating_sub(before) / 1_000_000;
            assert!(taken < 1000, "{taken} MB of a steady drive of {terabytes} TB");
            println!("{taken} MB");
        }
        assert_eq!(machine.ftl().stats().read_misses, 2000, "every read found data in flash");
    }
}
