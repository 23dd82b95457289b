//! Presets fitted to a measured drive must stay within the error of the fit.

#[path = "support/closed_loop.rs"]
mod closed_loop;

use closed_loop::fly;
use media::{Op, Request};
use nand::PayloadKind;
use sim::Streams;
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use system::System;
use system::parts::Parts;

/// Random 4 KiB reads of a Samsung 980 PRO of 1 TB on PCIe 3.0 by four io_uring jobs: total queue depth and reads per
/// second (stonet-research/icpe24_io_scheduler_study_artifact, MIT).
const READS_4KIB: [(u32, f64); 9] = [
    (4, 59_042.0),
    (8, 115_908.0),
    (16, 217_728.0),
    (32, 378_208.0),
    (64, 573_509.0),
    (128, 730_759.0),
    (256, 780_809.0),
    (512, 779_099.0),
    (1024, 778_853.0),
];

/// Reads of one job by size and depth, at depths where its core is no limit.
const READS_BY_SIZE: [(u64, u32, f64); 8] = [
    (8192, 1, 8_676.0),
    (8192, 256, 297_606.0),
    (16384, 1, 7_835.0),
    (16384, 128, 134_971.0),
    (32768, 1, 6_676.0),
    (32768, 128, 63_509.0),
    (65536, 1, 6_468.0),
    (65536, 128, 32_350.0),
];

/// Returns the reads per second of the preset with all its dies but few pages.
fn rate(bytes: u64, depth: u32, count: u32) -> f64 {
    let small = [
        ("flash.blocks", "24"),
        ("flash.pages", "18"),
        ("ftl.gc.start", "3"),
        ("ftl.capacity", "auto"),
        ("ftl.over_provisioning", "0.4"),
        ("ftl.slc_cache.size", "0B"),
    ];
    let system = System::load("samsung-980-pro-1tb", &small).unwrap_or_else(|error| panic!("{error}"));
    let parts = Parts::new(&system, PayloadKind::None).expect("parts");
    let streams = Streams::new(1);
    let (store, _) = prepare(&system, &parts, Preparation::Steady, &streams, None).expect("a prepared drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    let mut machine = Machine::new(&parts, ftl, nand);
    let mut rng = streams.stream("test.reads");
    let places = u64::from(parts.ftl.user_units) * 4096 / bytes;
    let flown = fly(&mut machine, depth, count, || Request::new(Op::Read, rng.below(places) * bytes, bytes));
    f64::from(count) / flown.end.secs_f64()
}

fn median(mut errors: Vec<f64>) -> f64 {
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

#[test]
fn the_980_pro_reads_as_often_as_measured() {
    let errors: Vec<f64> = READS_4KIB
        .iter()
        .map(|&(depth, measured)| {
            let error = rate(4096, depth, 30 * depth + 3000) / measured - 1.0;
            println!("4 KiB, {depth} outstanding: {:+.1} %", error * 100.0);
            assert!(error.abs() < 0.22, "{depth} outstanding: {error}");
            error.abs()
        })
        .collect();
    assert!(median(errors) < 0.05);
    let errors: Vec<f64> = READS_BY_SIZE
        .iter()
        .map(|&(bytes, depth, measured)| {
            let error = rate(bytes, depth, 20 * depth + 1000) / measured - 1.0;
            println!("{bytes} bytes, {depth} outstanding: {:+.1} %", error * 100.0);
            assert!(error.abs() < 0.15, "{bytes} bytes, {depth} outstanding: {error}");
            error.abs()
        })
        .collect();
    assert!(median(errors) < 0.08);
}
