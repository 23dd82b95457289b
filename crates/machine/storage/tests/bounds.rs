//! Checks of the whole machine against laws that hold for any system: Little's law, busy time within elapsed time, the
//! bounds of dies and channels, and conservation of requests and bytes. Also checks that the same seed gives the same
//! bytes.

#[path = "support/closed_loop.rs"]
mod closed_loop;
#[path = "support/play.rs"]
mod play;

use closed_loop::{Flown, fly};
use media::{Op, Request, Status};
use nand::PayloadKind;
use play::{options, play, requests, system};
use sim::{Rng, Streams, Time};
use storage::Machine;
use storage::prepare::{Preparation, prepare};
use storage::record::{Ended, Recorder};
use storage::run::Outcome;
use storage::summary::summary;
use storage::warm_up::{Steadiness, detect};
use system::System;
use system::parts::Parts;

/// A drive small enough to be prepared quickly.
const SMALL: [(&str, &str); 8] = [
    ("flash.channels", "2"),
    ("flash.chips", "2"),
    ("flash.dies", "1"),
    ("flash.blocks", "40"),
    ("flash.pages", "64"),
    ("ftl.over_provisioning", "0.4"),
    ("ftl.gc.start", "3"),
    ("host.max_transfer", "64KiB"),
];

fn small(preset: &str, more: &[(&'static str, &'static str)]) -> System {
    system(preset, &[&SMALL[..], more].concat())
}

/// Keeps a job running after one pass over its region.
const FOR_EVER: &str = "time_based\nruntime=100000";

/// Asserts that no part was busy for longer than the time that passed.
fn assert_within(outcome: &Outcome) {
    let end = outcome.machine.now().max(outcome.end);
    let (nand, g) = (outcome.machine.nand(), outcome.machine.nand().config().geometry);
    nand.assert_bounds(end);
    for die in 0..g.all_dies() as u16 {
        assert!(nand.die_stats(end, die).busy() <= end);
    }
    for channel in 0..g.channels {
        let stats = nand.channel_stats(end, channel);
        assert!(stats.data <= stats.busy && stats.busy <= end);
    }
    let used = outcome.machine.host_interface().utilization(end);
    assert!(used.iter().any(|u| u.part == "link") && used.iter().any(|u| u.part == "host"));
    assert!(used.iter().all(|u| u.busy <= end), "{used:?}");
}

#[test]
fn closed_loops_obey_littles_law() {
    let drives = [
        ("mqsim-ideal-map", small("mqsim-ideal-map", &[("device.write_cache.size", "1MiB")])),
        ("sata-mlc", small("sata-mlc", &[("ftl.capacity", "auto")])),
        ("nvme-client-tlc", small("nvme-client-tlc", &[("ftl.capacity", "auto"), ("ftl.slc_cache.size", "0B")])),
        ("ufs2", small("ufs2", &[("ftl.capacity", "auto")])),
        ("sata-ssd-southbridge", small("sata-ssd-southbridge", &[])),
        ("ddrssd", small("ddrssd", &[])),
        ("drambus", small("drambus", &[("ftl.capacity", "auto")])),
    ];
    for (name, system) in drives {
        for (rw, depth) in [("randread", 1), ("randread", 32), ("randwrite", 16), ("randrw", 24), ("read", 8)] {
            let job = format!("rw={rw}\nbs=4k\niodepth={depth}\nnumber_ios=100000\nnorandommap\n{FOR_EVER}");
            let outcome = play(&system, &job, &options(Preparation::Filled));
            let (ios, mean) = requests(&outcome);
            assert_eq!((ios, outcome.requests), (100_000, 100_000), "{name} {rw}");
            // The mean number outstanding is throughput times mean response time. The ramp-down at the end explains the
            // tolerance.
            let found = ios as f64 / outcome.end.secs_f64() * mean;
            let expected = f64::from(depth);
            assert!((found / expected - 1.0).abs() < 1e-3, "{name} {rw}: {found} outstanding, expected {expected}");
            assert_within(&outcome);
        }
    }
}

/// Creates a machine over a filled drive.
fn machine(system: &System, payload: PayloadKind) -> (Machine, Parts) {
    let (streams, parts) = (Streams::new(1), Parts::new(system, payload).expect("parts"));
    let (store, _) = prepare(system, &parts, Preparation::Filled, &streams, None).expect("a filled drive");
    let (nand, ftl, _) = parts.mount(store, &streams).expect("it mounts");
    (Machine::new(&parts, ftl, nand), parts)
}

fn mixed(parts: &Parts, seed: u64) -> impl FnMut() -> Request + use<> {
    let (mut rng, sectors): (Rng, u64) = (Streams::new(seed).stream("test.mixed"), parts.user_bytes / 512);
    move || {
        let (at, length) = (rng.below(sectors - 64), 1 + rng.below(64));
        match rng.below(20) {
            0 => Request::flush(),
            1 => Request::new(Op::Trim, at * 512, length * 512),
            n if n < 11 => Request::new(Op::Read, at * 512, length * 512),
            n => Request { fua: n == 12, ..Request::new(Op::Write, at * 512, length * 512) },
        }
    }
}

fn fly_mixed(system: &System, payload: PayloadKind, seed: u64) -> Flown {
    let (mut machine, parts) = machine(system, payload);
    let flown = fly(&mut machine, 48, 6000, mixed(&parts, seed));
    machine.nand().assert_bounds(machine.now());
    machine.host_interface().utilization(machine.now());
    flown
}

#[test]
fn every_request_ends_once_and_the_area_is_the_sum() {
    let nvme = ["mqsim-ideal-map", "mqsim-default", "nvme-client-tlc", "nvme-enterprise-tlc"];
    for preset in nvme.into_iter().chain(["sata-mlc", "ufs2", "drambus"]) {
        let flown = fly_mixed(&mixed_drive(preset), PayloadKind::Stamp, 7);
        assert_eq!(flown.each.len(), 6000, "{preset}");
        // Both are integer picoseconds, so they must be exactly equal.
        assert_eq!(flown.area, u128::from(flown.responses.ps()), "{preset}");
    }
}

fn mixed_drive(preset: &str) -> System {
    let more: &[(&str, &str)] = match preset {
        "mqsim-ideal-map" => &[("device.write_cache.size", "1MiB")],
        "mqsim-default" => &[("device.write_cache.size", "1MiB"), ("ftl.map_cache.size", "32KiB")],
        "nvme-client-tlc" => &[("ftl.capacity", "auto"), ("ftl.slc_cache.size", "1MiB")],
        _ => &[("ftl.capacity", "auto")],
    };
    small(preset, more)
}

#[test]
fn payload_changes_no_time() {
    for preset in ["mqsim-default", "sata-mlc", "nvme-client-tlc", "nvme-enterprise-tlc", "ufs2", "drambus"] {
        let system = mixed_drive(preset);
        let stamp = fly_mixed(&system, PayloadKind::Stamp, 3);
        let none = fly_mixed(&system, PayloadKind::None, 3);
        let first = stamp.each.iter().zip(&none.each).position(|(a, b)| a != b);
        assert_eq!(first, None, "{preset}: responses differ from request {first:?} on");
        assert_eq!(stamp.end, none.end, "{preset}");
    }
}

#[test]
fn bytes_are_conserved() {
    let system = small("mqsim-ideal-map", &[("device.write_cache.size", "1MiB"), ("ftl.unit", "4KiB")]);
    let (mut machine, parts) = machine(&system, PayloadKind::None);
    let units = parts.user_bytes / 4096;
    let mut rng = Streams::new(9).stream("test.reads");
    let reads = fly(&mut machine, 16, 5000, || Request::new(Op::Read, rng.below(units) * 4096, 4096));
    let moved = |machine: &Machine| {
        let all = (0..2).map(|channel| machine.nand().channel_stats(machine.now(), channel));
        all.fold((0, 0), |(out, into), stats| (out + stats.bytes_out, into + stats.bytes_in))
    };
    assert_eq!(reads.bytes, 5000 * 4096);
    assert_eq!(moved(&machine), (reads.bytes, 0), "each read leaves the flash once");
    // The link also carries commands and completions (64 and 16 bytes each) and some register accesses.
    let to_host = machine.host_interface().link(machine.now())[1].payload;
    assert!((reads.bytes..reads.bytes + 5000 * 100).contains(&to_host), "and crosses the link once: {to_host}");
    let before = machine.now();
    let writes = fly(&mut machine, 16, 5000, || Request::new(Op::Write, rng.below(units) * 4096, 4096));
    fly(&mut machine, 1, 1, Request::flush);
    assert!(machine.now() > before);
    let stats = machine.ftl().stats();
    assert_eq!(stats.host_units * 4096, writes.bytes);
    assert_eq!(stats.programmed_host + stats.overwritten_in_ram, stats.host_units, "flushed: all is in flash");
    let programmed = stats.programmed_host + stats.programmed_copy + stats.programmed_system + stats.programmed_padding;
    assert_eq!(moved(&machine).1, programmed * 4096, "what went into dies is what was programmed");
    let to_device = machine.host_interface().link(machine.now())[0].payload;
    assert!((writes.bytes..writes.bytes + 10_001 * 200).contains(&to_device), "{to_device}");
}

#[test]
fn saturated_dies_and_channels_reach_their_bounds() {
    let deep = [("device.max_commands", "1024"), ("host.queue_depth", "1024"), ("device.write_cache.size", "1MiB")];
    let job = format!("rw=randread\nbs=4k\niodepth=512\nnumber_ios=100000\nnorandommap\n{FOR_EVER}");
    let rate = |more: &[(&'static str, &'static str)]| {
        let outcome = play(&small("mqsim-ideal-map", &[&deep[..], more].concat()), &job, &options(Preparation::Filled));
        assert_within(&outcome);
        let (ios, _) = requests(&outcome);
        ios as f64 / outcome.end.secs_f64()
    };
    // Slow dies: with cache reads, an array never waits for its data to be transferred. Four dies, 1 ms per read.
    let dies = rate(&[("flash.read", "1ms"), ("flash.cache_read", "true"), ("flash.commands_first", "true")]);
    assert!((0.98..=1.0).contains(&(dies / 4000.0)), "{dies} reads a second of 4 dies of 1 ms");
    // A slow channel: 4 KiB at 10 MT/s and 290 ns of command cycles.
    let channels = rate(&[("flash.rate", "10MT/s"), ("flash.cache_read", "true"), ("flash.commands_first", "true")]);
    let bound = 2.0 / (4096.0 / 10e6 + 290e-9);
    assert!((0.98..=1.0).contains(&(channels / bound)), "{channels} reads a second, bound {bound}");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let system = mixed_drive("nvme-client-tlc");
    let job = "rw=randrw\nbs=4k\niodepth=16\nnumjobs=3\nnumber_ios=3000\nnorandommap\nrandom_distribution=zipf:1.1";
    let summary_of = |seed, payload| {
        let options = storage::run::RunOptions { seed, payload, ..options(Preparation::Filled) };
        let mut all = summary(&system, &play(&system, job, &options));
        let payload = all["nandram"].as_object_mut().expect("an object").remove("payload");
        (serde_json::to_string(&all).expect("JSON"), payload)
    };
    let (first, _) = summary_of(1, PayloadKind::None);
    assert_eq!(first, summary_of(1, PayloadKind::None).0);
    assert_ne!(first, summary_of(2, PayloadKind::None).0);
    let (stamped, payload) = summary_of(1, PayloadKind::Stamp);
    assert_eq!(first, stamped, "payload only changes its own section");
    assert!(payload.is_some_and(|p| p["sectors_checked"].as_u64() > Some(1000)));
}

/// Returns a recorder of ten requests per millisecond with these response times in microseconds.
fn recorded(responses: &[f64]) -> Recorder {
    let mut recorder = Recorder::new(1);
    for (i, response) in (10..).zip(responses) {
        let (at, response) = (Time::from_us(100 * i + 50), Time::from_ns((response * 1e3) as u64));
        let issued = at - response;
        let (op, bytes, status) = (Op::Read, 4096, Status::Ok);
        recorder.ended(&Ended { job: 0, op, bytes, status, due: issued, issued, submitted: issued, at });
    }
    recorder.finish();
    recorder
}

/// MSER over batch means after White (1997): returns the cut in the first half that minimizes the standard error of the
/// rest.
fn mser(means: &[f64]) -> usize {
    let statistic = |cut: usize| {
        let rest = &means[cut..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        rest.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
    };
    (0..means.len() / 2).min_by(|a, b| statistic(*a).total_cmp(&statistic(*b))).expect("batches")
}

#[test]
fn the_warm_up_is_what_mser_cuts() {
    let mut rng = Streams::new(4).stream("test.noise");
    let mut series = |transient: usize| -> Vec<f64> {
        (0..500).map(|i| 100.0 + 10.0 * rng.unit() + if i < transient { 300.0 } else { 0.0 }).collect()
    };
    for transient in [0, 50, 120, 200] {
        let responses = series(transient);
        let recorder = recorded(&responses);
        // The first request ends in the second window. The last window may be incomplete and is left out.
        let points = recorder.points();
        let busy: Vec<_> = points[..points.len() - 1].iter().filter(|p| p.ios > 0).collect();
        let windows: Vec<f64> = busy.iter().map(|p| p.mean_ns).collect();
        let cut = mser(&windows);
        let found = if cut == 0 { Time::ZERO } else { busy[cut - 1].at };
        assert_eq!(detect(&points), Steadiness::From(found), "{transient}");
        let end = Time::from_us(1000 + 100 * transient as u64);
        if transient > 0 {
            assert!(found >= end && found <= end + Time::from_ms(3), "a transient until {end} is cut at {found}");
        }
    }
    let few = detect(&recorded(&series(0)[..100]).points());
    assert!(matches!(few, Steadiness::TooShort(_)), "ten windows do not tell");
}
