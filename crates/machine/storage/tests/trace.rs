//! The parts of every request's latency must add up to it, on every drive, and agree with the busy time of the parts.

#[path = "support/presets.rs"]
mod presets;

use presets::{drives, shrunk};
use sim::Time;
use storage::prepare::Preparation;
use storage::run::requests::RequestRow;
use storage::run::{Outcome, RunOptions, run, run_logged};
use storage::summary::summary;
use storage::trace::Part;
use system::System;
use workload::{ContinueOnError, Workload};

fn parsed(job: &str) -> Workload {
    Workload::parse_fio("job.fio", job).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a job file with the log of every request.
fn logged(system: &System, job: &str, options: &RunOptions) -> (Outcome, Vec<RequestRow>) {
    let mut rows = Vec::new();
    let mut sink = |portion: &[RequestRow]| {
        rows.extend_from_slice(portion);
        true
    };
    let outcome = run_logged(system, &parsed(job), options, Some(&mut sink), &mut |_| true).expect("a run");
    (outcome, rows)
}

fn prepared(preparation: Preparation) -> RunOptions {
    RunOptions { preparation: Some(preparation), ..RunOptions::default() }
}

fn sum(rows: &[RequestRow], part: Part) -> Time {
    rows.iter().map(|row| row.parts[part as usize]).fold(Time::ZERO, |sum, time| sum + time)
}

/// Asserts that the parts of every request add up to its latency.
fn assert_tiled(what: &str, outcome: &Outcome, rows: &[RequestRow]) {
    assert_eq!(rows.len() as u64, outcome.requests, "{what}");
    for row in rows {
        let parts = row.parts.iter().fold(Time::ZERO, |sum, part| sum + *part);
        assert_eq!(parts, row.latency(), "{what}: {row:?}");
    }
}

/// Reads, writes, trims and flushes of several sizes, at a depth that fills queues, and arrivals at their own times.
const MIXED: &str = "[global]
bssplit=512/10:4k/40:16k/20:64k/20:1m/10
number_ios=600
[mixed]
rw=randrw
iodepth=16
fsync=20
[trims]
rw=randtrim
bs=64k
number_ios=40
[arrivals]
rw=randread
rate_iops=4000
rate_process=poisson
[sequential]
rw=write
iodepth=4
";

#[test]
fn the_parts_of_a_request_add_up_to_its_latency_on_every_drive() {
    for preset in drives() {
        let system = shrunk(preset, &[("device.write_cache.size", "2MiB")]);
        for preparation in [Preparation::Filled, Preparation::Steady] {
            let (outcome, rows) = logged(&system, MIXED, &prepared(preparation));
            assert_tiled(preset, &outcome, &rows);
        }
    }
}

#[test]
fn the_parts_add_up_on_zones_and_when_requests_fail() {
    let zoned = System::load("wd-zn540", &[]).expect("a preset");
    let job = "[log]\nrw=write\nbs=128k\niodepth=4\nnumber_ios=400\n[reads]\nrw=randread\nbs=16k\niodepth=8\n\
               number_ios=400\n[misplaced]\nrw=randwrite\nbs=16k\nnumber_ios=50\noffset=20g\ncontinue_on_error=all\n";
    let (outcome, rows) = logged(&zoned, job, &prepared(Preparation::Erased));
    assert_tiled("wd-zn540", &outcome, &rows);
    assert!(rows.iter().any(|row| !row.status.is_ok()), "a write away from the write pointer is refused");

    let failing = shrunk("nvme-client-tlc", &[("flash.failures.read", "0.05"), ("device.write_cache.size", "2MiB")]);
    let all = ContinueOnError::NAMES.iter().find(|(name, _)| *name == "all").expect("a value of the key").1;
    let options = RunOptions { continue_on_error: all, ..prepared(Preparation::Filled) };
    let (outcome, rows) = logged(&failing, MIXED, &options);
    assert_tiled("failing reads", &outcome, &rows);
    assert!(rows.iter().any(|row| !row.status.is_ok()), "reads fail");
}

#[test]
fn recording_does_not_change_the_results() {
    for preset in ["nvme-client-tlc", "samsung-980-pro-1tb", "sata-mlc", "hmb-a", "ufs2", "ddrssd", "drambus"] {
        let system = shrunk(preset, &[("device.write_cache.size", "2MiB")]);
        let options = prepared(Preparation::Steady);
        let plain = run(&system, &parsed(MIXED), &options, &mut |_| true).expect("a run");
        let (traced, _) = logged(&system, MIXED, &options);
        assert_eq!(summary(&system, &plain), summary(&system, &traced), "{preset}");
    }
}

/// Without splitting and copies, each flash read belongs to one request, and all its time to that request's parts.
#[test]
fn array_and_channel_parts_add_up_to_the_busy_time_of_dies_and_channels() {
    for (preset, depth) in [("nvme-client-tlc", 1), ("nvme-client-tlc", 32), ("mqsim-ideal-map", 16), ("sata-mlc", 8)] {
        let system = shrunk(preset, &[]);
        let job = format!("[reads]\nrw=randread\nbs=4k\niodepth={depth}\nnumber_ios=3000\n");
        let (outcome, rows) = logged(&system, &job, &prepared(Preparation::Filled));
        let nand = outcome.machine.nand();
        let now = outcome.machine.now();
        let dies = nand.config().geometry.all_dies() as u16;
        for die in 0..dies {
            let own: Vec<RequestRow> = rows.iter().filter(|row| row.die == Some(die)).copied().collect();
            assert_eq!(sum(&own, Part::Array), nand.die_stats(now, die).busy(), "{preset}: die {die}");
        }
        for channel in 0..nand.config().geometry.channels {
            let of = |row: &&RequestRow| row.die.map(|die| nand.config().geometry.channel_of(die)) == Some(channel);
            let own: Vec<RequestRow> = rows.iter().filter(of).copied().collect();
            let busy = nand.channel_stats(now, channel).busy;
            assert_eq!(sum(&own, Part::Channel), busy, "{preset}: channel {channel}");
        }
    }
}

/// Returns the time that the timeline shows as busy on the rows of the link.
fn shown_on_link(outcome: &Outcome) -> Time {
    let mut text = Vec::new();
    outcome.machine.timeline().expect("a timeline").write(&mut text).expect("a vector takes all");
    let timeline: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let rows = outcome.machine.host_interface().tracks();
    let on_link = |event: &&serde_json::Value| {
        event["ph"] == "X"
            && event["tid"].as_u64().is_some_and(|row| rows.get(row as usize).is_some_and(|(part, _)| part == "link"))
    };
    let spans = timeline["traceEvents"].as_array().expect("events").iter().filter(on_link);
    spans
        .map(|span| Time::from_secs_f64(span["dur"].as_f64().expect("a duration") / 1e6))
        .fold(Time::ZERO, |a, b| a + b)
}

/// All that the timeline shows on an NVMe drive's link is data of requests, at any depth. (On UFS the response of a read
/// crosses the link while its data is written to memory, which is one piece of its time.)
#[test]
fn link_parts_add_up_to_what_the_timeline_shows() {
    for (preset, rw, depth) in
        [("nvme-client-tlc", "randread", 32), ("nvme-client-tlc", "randwrite", 8), ("mqsim-ideal-map", "randread", 16)]
    {
        let system = shrunk(preset, &[]);
        let job = format!("[a]\nrw={rw}\nbs=4k\niodepth={depth}\nnumber_ios=500\n");
        let options = RunOptions { timeline: Some(100_000), ..prepared(Preparation::Filled) };
        let (outcome, rows) = logged(&system, &job, &options);
        assert_eq!(outcome.machine.timeline().expect("a timeline").left_out(), 0);
        assert_eq!(sum(&rows, Part::Link), shown_on_link(&outcome), "{preset}: {rw}");
    }
}

#[test]
fn parts_have_names_of_their_own() {
    let mut names: Vec<&str> = Part::ALL.iter().map(|part| part.name()).collect();
    assert!(!names.contains(&"other"));
    assert!(Part::ALL.iter().enumerate().all(|(at, part)| *part as usize == at));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Part::ALL.len());
}

/// The parts that a request meets say what it waited for.
#[test]
fn time_goes_where_a_drive_is_slow() {
    let share = |preset: &str, sets: &[(&str, &str)], job: &str, part: Part| {
        let system = shrunk(preset, sets);
        let (_, rows) = logged(&system, job, &prepared(Preparation::Steady));
        let all = rows.iter().fold(Time::ZERO, |sum, row| sum + row.latency());
        sum(&rows, part).us_f64() / all.us_f64()
    };
    let deep = "[a]\nrw=randread\nbs=4k\niodepth=128\nnumber_ios=3000\n";
    assert!(share("nvme-client-tlc", &[("flash.read", "500us")], deep, Part::DieWait) > 0.5);
    assert!(share("nvme-client-tlc", &[("flash.rate", "10MT/s")], deep, Part::ChannelWait) > 0.2);
    let one = "[a]\nrw=randread\nbs=4k\nnumber_ios=500\n";
    assert!(share("nvme-client-tlc", &[("flash.read", "500us")], one, Part::Array) > 0.9);
    assert!(share("nvme-client-tlc", &[("device.firmware.read", "1ms")], one, Part::Firmware) > 0.9);
    assert!(share("nvme-client-tlc", &[("host.submit", "1ms")], one, Part::Host) > 0.9);
    let large = "[a]\nrw=read\nbs=1m\niodepth=1\nnumber_ios=100\n";
    assert!(share("nvme-client-tlc", &[("link.lanes", "1"), ("link.generation", "1")], large, Part::Link) > 0.6);
    let writes = "[a]\nrw=randwrite\nbs=4k\niodepth=64\nnumber_ios=3000\n";
    assert!(share("nvme-client-tlc", &[("device.write_cache.size", "2MiB")], writes, Part::Buffer) > 0.3);
    let synced = "[a]\nrw=randwrite\nbs=4k\nsync=1\nnumber_ios=500\n";
    assert!(share("nvme-client-tlc", &[], synced, Part::Program) > 0.5);
    assert!(share("mqsim-default", &[], one, Part::Map) > 0.2);
    assert!(share("nvme-client-tlc", &[("host.queue_depth", "2")], deep, Part::Queue) > 0.5);
    assert!(share("ddrssd", &[], "[a]\nrw=randread\nbs=4k\niodepth=16\nnumber_ios=500\n", Part::Buffer) > 0.5);
}
