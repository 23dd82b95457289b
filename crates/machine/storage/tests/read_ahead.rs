//! Read-ahead: what sequential readers gain, what it does not change, and what it costs the others.

#[path = "support/play.rs"]
mod play;

use play::{options, play, requests, system};
use serde_json::Value;
use sim::Time;
use storage::prepare::Preparation;
use storage::record::Direction;
use storage::run::run as run_jobs;
use storage::summary::summary;
use workload::Workload;

const OFF: (&str, &str) = ("device.read_ahead.size", "0B");
const ON: (&str, &str) = ("device.read_ahead.size", "4MiB");

/// Runs `job` on a filled drive and returns the mean latency in microseconds, the requests per second, and the summary.
fn run(preset: &str, sets: &[(&str, &str)], job: &str) -> (f64, f64, Value) {
    let system = system(preset, sets);
    let outcome = play(&system, job, &options(Preparation::Filled));
    let (ios, mean) = requests(&outcome);
    (mean * 1e6, ios as f64 / outcome.end.secs_f64(), summary(&system, &outcome))
}

const SEQUENTIAL: &str = "rw=read\nbs=4k\niodepth=1\nnumber_ios=20000";
const RANDOM: &str = "rw=randread\nbs=4k\niodepth=1\nnumber_ios=2000\nnorandommap";

#[test]
fn sequential_reads_find_their_data_in_the_controller() {
    let (random, ..) = run("nvme-client-tlc", &[OFF], RANDOM);
    let (off, ..) = run("nvme-client-tlc", &[OFF], SEQUENTIAL);
    let (on, _, all) = run("nvme-client-tlc", &[ON], SEQUENTIAL);
    assert!((off / random - 1.0).abs() < 0.05, "without it {off} us in sequence, {random} us at random");
    assert!(on < 0.3 * off, "{on} us with it, {off} us without");
    let of = |key: &str| all["nandram"]["read_ahead"][key].as_u64().expect("a counter");
    let (hits, late, pages) = (of("hits"), of("late_hits"), of("pages"));
    // All but the first reads, and each page (four reads) once.
    assert!(hits + late >= 19_990 && hits > 20 * late, "{hits} hits, {late} late");
    assert!((4_990..5_300).contains(&pages), "{pages} pages");
}

#[test]
fn random_reads_are_as_without_it() {
    let (off, off_rate, _) = run("nvme-client-tlc", &[OFF], RANDOM);
    let (on, on_rate, all) = run("nvme-client-tlc", &[ON], RANDOM);
    assert_eq!((off, off_rate), (on, on_rate));
    assert_eq!(all["nandram"]["read_ahead"]["pages"], 0);
}

#[test]
fn streams_beyond_the_limit_are_not_read_ahead() {
    let job = |streams: u32| format!("rw=read\nbs=4k\niodepth=1\nnumjobs={streams}\noffset_increment=1g\nsize=8m");
    let mean = |streams: u32| run("nvme-client-tlc", &[ON, ("device.read_ahead.streams", "4")], &job(streams)).0;
    let (one, four, eight) = (mean(1), mean(4), mean(8));
    assert!(four < 1.7 * one, "{four} us with four streams, {one} us with one");
    assert!(eight > 1.7 * four, "{eight} us with eight streams, {four} us with four");
}

#[test]
fn large_reads_at_depth_are_no_slower() {
    let job = "rw=read\nbs=128k\niodepth=16\nnumber_ios=4000";
    let rate = |set| run("nvme-client-tlc", &[set], job).1;
    let (off, on) = (rate(OFF), rate(ON));
    assert!(on > 0.97 * off, "{on} reads a second with it, {off} without");
}

#[test]
fn reads_of_overwritten_data_return_the_latest() {
    // Each sector is checked: reads return the latest data.
    let job = "rw=rw\nbs=4k\niodepth=4\nnumjobs=2\nsize=4m\nloops=6\nverify=crc32c\ndo_verify=0";
    let (.., all) = run("nvme-client-tlc", &[ON], job);
    assert!(all["nandram"]["read_ahead"]["hits"].as_u64().is_some_and(|hits| hits > 0), "{all}");
}

/// Returns the mean latency in microseconds of the second job, which reads what the first one wrote.
fn of_zones(set: (&str, &str), rw: &str) -> f64 {
    let system = system("wd-zn540", &[set]);
    let jobs = format!(
        "[global]\nsize=64m\nnorandommap\n[write]\nrw=write\nbs=128k\n[read]\nstonewall\nrw={rw}\nbs=4k\niodepth=1\nnumber_ios=4000\n"
    );
    let workload = Workload::parse_fio("zones.fio", &jobs).unwrap_or_else(|error| panic!("{error}"));
    let outcome = run_jobs(&system, &workload, &options(Preparation::Erased), &mut |_| true).expect("a run");
    outcome.recorder.totals(1, Direction::Read, Time::ZERO).latencies.total.mean_ns() / 1e3
}

#[test]
fn zoned_drives_read_ahead_as_others_do() {
    let (random, off) = (of_zones(OFF, "randread"), of_zones(OFF, "read"));
    assert!((off / random - 1.0).abs() < 0.05, "{off} us in sequence, {random} us at random");
    // As measured: 10.4 to 10.8 us.
    let on = of_zones(("device.read_ahead.size", "4MiB"), "read");
    assert!((10.0..12.0).contains(&on), "{on} us");
}
