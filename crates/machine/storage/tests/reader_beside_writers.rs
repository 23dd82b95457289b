//! A reader alongside random writers on `samsung-980-pro-1tb`, compared with the measured drive.
//!
//! The measurements (stonet-research/icpe24_io_scheduler_study_artifact, MIT) treat eight drives as one target that
//! every fio job visits in turn, so each drive gets an eighth of each depth and rate. One writer of depth 128 saturated
//! its core: at depth 16 per drive, writes arrive at a fixed rate. At depth 128 per drive, they arrive as fast as the
//! drive accepts them.

use serde_json::Value;
use sim::Time;
use storage::prepare::Preparation;
use storage::run::{RunOptions, WarmUp, run};
use storage::summary::summary;
use system::System;
use workload::Workload;

/// Writes per second of one drive, and the reader's reads per second, median and 99th percentile in microseconds.
struct Figures {
    writes: f64,
    reads: f64,
    median_us: f64,
    p99_us: f64,
}

/// One writer of depth 128 over eight drives: depth 16 per drive.
const BESIDE_16: Figures = Figures { writes: 38_889.0, reads: 2_314.4, median_us: 73.2, p99_us: 1_974.3 };
/// Eight writers of depth 128 over eight drives: depth 128 per drive.
const BESIDE_128: Figures = Figures { writes: 131_181.0, reads: 763.4, median_us: 362.5, p99_us: 14_352.4 };

/// Runs a reader of depth 1 alongside `writer`, the fio keys of a random writer, for `seconds`; the first half is cut
/// off.
fn simulate(writer: &str, seconds: u64, sets: &[(&str, &str)]) -> Figures {
    let system = System::load("samsung-980-pro-1tb", sets).unwrap_or_else(|error| panic!("{error}"));
    let job = format!(
        "[global]\nbs=4k\ntime_based=1\nruntime={seconds}\n[reader]\nrw=randread\niodepth=1\n[writer]\nrw=randwrite\n{writer}\n"
    );
    let workload = Workload::parse_fio("reader-beside-writers", &job).expect("a job");
    let options = RunOptions {
        preparation: Some(Preparation::Steady),
        warm_up: WarmUp::Cut(Time::from_ms(500 * seconds)),
        ..RunOptions::default()
    };
    let outcome = run(&system, &workload, &options, &mut |_| true).expect("a run");
    let found: Value = serde_json::from_str(&format!("{:#}", summary(&system, &outcome))).expect("JSON");
    let figure = |path: &str| found.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path}"));
    let percentile = |name: &str| figure(&format!("/jobs/0/read/clat_ns/percentile/{name}")) / 1000.0;
    Figures {
        writes: figure("/jobs/1/write/iops"),
        reads: figure("/jobs/0/read/iops"),
        median_us: percentile("50.000000"),
        p99_us: percentile("99.000000"),
    }
}

/// Asserts that `found` is within `part` of `measured`.
fn within(what: &str, found: f64, measured: f64, part: f64) {
    let error = found / measured - 1.0;
    println!("{what} {found:.0}, measured {measured:.0}, {:+.0} %", error * 100.0);
    assert!(error.abs() <= part, "{what} {found}, measured {measured}");
}

/// Asserts that a 99th percentile is within a factor of two of the measured one.
fn p99_within(found: f64, measured: f64) {
    println!("p99 of the reads {found:.0} us, measured {measured:.0} us");
    assert!((0.5..=2.0).contains(&(found / measured)), "p99 {found} us, measured {measured} us");
}

#[test]
fn a_reader_waits_as_measured_beside_writers_at_a_rate() {
    let found = simulate("iodepth=16\nrate_iops=38889", 8, &[]);
    within("writes a second", found.writes, BESIDE_16.writes, 0.3);
    within("reads a second", found.reads, BESIDE_16.reads, 0.4);
    within("median of the reads", found.median_us, BESIDE_16.median_us, 0.4);
    p99_within(found.p99_us, BESIDE_16.p99_us);
}

#[test]
fn a_reader_waits_as_measured_beside_writers_without_a_limit() {
    let found = simulate("iodepth=128", 10, &[]);
    within("writes a second", found.writes, BESIDE_128.writes, 0.3);
    within("reads a second", found.reads, BESIDE_128.reads, 0.4);
    within("median of the reads", found.median_us, BESIDE_128.median_us, 0.4);
    p99_within(found.p99_us, BESIDE_128.p99_us);
}

/// Held reads cause the tail. Pauses while a batch gathers let half of the reads through undisturbed.
#[test]
fn held_reads_make_the_tail_and_batches_the_median() {
    let free = simulate("iodepth=128", 10, &[("device.write_cache.holds_reads", "false")]);
    assert!(free.p99_us < BESIDE_128.p99_us / 2.0, "reads that are not held have a p99 of {} us", free.p99_us);
    for (key, without) in [("device.write_cache.resume", "batches"), ("device.write_cache.gather", "a pause")] {
        let found = simulate("iodepth=128", 10, &[(key, "0")]);
        assert!(found.median_us > BESIDE_128.median_us * 1.4, "without {without} the median is {} us", found.median_us);
    }
}
