//! A whole drive with zones: its data, its times, and power cuts.

use media::{Op, Request, Status};
use nand::PayloadKind;
use sim::{Streams, Time};
use storage::prepare::{Preparation, prepare};
use storage::run::{self, RunOptions};
use storage::{Completion, Machine};
use system::System;
use system::parts::Parts;
use workload::trace::{Columns, Format};
use workload::{Replay, Workload};
use zones::ZoneState;

const KIB: u64 = 1024;
/// Bytes of a zone, of which 6 MiB can be written: 96 programs of 64 KiB.
const ZONE: u64 = 8 * KIB * KIB;
const CAPACITY: u64 = 6 * KIB * KIB;

/// Creates the parts of a drive of four dies, whose zones are spread over all four.
fn parts(sets: &[(&str, &str)]) -> Parts {
    Parts::new(&system(sets), PayloadKind::Stamp).expect("parts")
}

fn system(sets: &[(&str, &str)]) -> System {
    let mut all = vec![
        ("flash.channels", "2"),
        ("flash.chips", "2"),
        ("flash.dies", "1"),
        ("flash.planes", "4"),
        ("flash.blocks", "60"),
        ("flash.pages", "48"),
        ("flash.page", "16KiB"),
        ("flash.program", "600us"),
        ("flash.erase", "3ms"),
        ("ftl.unit", "4KiB"),
        ("ftl.slc_cache.size", "0B"),
        ("device.namespace", "zoned"),
        ("device.zones.size", "8MiB"),
        ("device.zones.capacity", "6MiB"),
        ("device.zones.count", "16"),
        ("device.zones.open", "3"),
        ("device.zones.active", "4"),
        ("device.power_loss_protection", "true"),
        ("device.write_cache.size", "2MiB"),
        ("host.max_transfer", "128KiB"),
    ];
    all.extend(sets);
    System::from_toml("zoned", "title = \"a drive with zones\"", &all).expect("a drive")
}

struct Host {
    machine: Machine,
    parts: Parts,
    io: u32,
}

impl Host {
    fn new(sets: &[(&str, &str)]) -> Host {
        let parts = parts(sets);
        Host { machine: Machine::erased(&parts, &Streams::new(1)).expect("a machine"), parts, io: 0 }
    }

    fn submit(&mut self, op: Op, offset: u64, bytes: u64) -> u32 {
        let now = self.machine.now();
        self.io += 1;
        self.machine.submit(now, self.io, 0, Request::new(op, offset, bytes));
        self.io
    }

    fn complete(&mut self) -> Vec<Completion> {
        let mut ends = Vec::new();
        self.machine.advance(Time::MAX, &mut ends);
        ends
    }

    /// Performs one request. Returns its status and response time.
    fn perform(&mut self, op: Op, offset: u64, bytes: u64) -> (Status, Time) {
        let begin = self.machine.now();
        self.submit(op, offset, bytes);
        let end = self.complete()[0];
        (end.status, end.at - begin)
    }

    /// Performs a request that is refused. Returns status code type and status code.
    fn refused(&mut self, op: Op, offset: u64, bytes: u64) -> (u8, u8) {
        let (status, _) = self.perform(op, offset, bytes);
        let Status::Refused(refusal) = status else { panic!("{op:?} at {offset} ended with {status:?}") };
        refusal.code()
    }

    fn ok(&mut self, op: Op, offset: u64, bytes: u64) -> Time {
        let (status, time) = self.perform(op, offset, bytes);
        assert_eq!(status, Status::Ok, "{op:?} of {bytes} bytes at {offset}");
        time
    }

    /// Lets the drive end what is in progress.
    fn settle(&mut self) {
        while self.machine.next_event().is_some() {
            self.complete();
        }
    }

    /// Writes the first `bytes` of a zone, a command of 64 KiB after the other.
    fn fill(&mut self, zone: u64, bytes: u64) {
        for at in (0..bytes).step_by(64 << 10) {
            self.ok(Op::Write, zone * ZONE + at, (64 * KIB).min(bytes - at));
        }
    }

    /// Reads the first `bytes` of a zone, which the machine compares with what was written. Returns the sectors compared.
    fn read(&mut self, zone: u64, bytes: u64) -> u64 {
        let before = self.machine.checker().expect("payload is kept").checked;
        for at in (0..bytes).step_by(64 << 10) {
            self.ok(Op::Read, zone * ZONE + at, (64 * KIB).min(bytes - at));
        }
        self.machine.checker().expect("payload is kept").checked - before
    }

    fn state(&self, zone: u32) -> (ZoneState, u64) {
        let zones = self.machine.ftl().zoned().expect("a drive with zones").zones();
        (zones.state(zone), zones.written(zone) * 4 * KIB)
    }
}

#[test]
fn a_zone_is_written_appended_read_reset_and_written_again() {
    let mut host = Host::new(&[]);
    for round in 0..3 {
        host.fill(2, CAPACITY / 2);
        for _ in 0..16 {
            host.ok(Op::Append, 2 * ZONE, 12 * KIB);
        }
        let written = CAPACITY / 2 + 16 * 12 * KIB;
        assert_eq!(host.state(2), (ZoneState::ImplicitlyOpen, written));
        assert_eq!(host.read(2, ZONE), ZONE / 512, "round {round}: zeros after the write pointer, too");
        host.ok(Op::ZoneReset, 2 * ZONE, ZONE);
        assert_eq!(host.state(2), (ZoneState::Empty, 0));
        assert_eq!(host.read(2, ZONE), ZONE / 512, "zeros only");
    }
    assert_eq!(host.machine.ftl().stats().programmed_copy, 0, "the drive collects nothing");
}

#[test]
fn commands_that_a_zone_does_not_permit_are_refused_with_its_status() {
    let mut host = Host::new(&[]);
    assert_eq!(host.refused(Op::Write, 4 * KIB, 4 * KIB), (1, 0xbc), "not at the write pointer");
    host.ok(Op::ZoneFinish, 0, ZONE);
    assert_eq!(host.refused(Op::Append, 0, 4 * KIB), (1, 0xb9), "full");
    for zone in 1..5 {
        host.ok(Op::Write, zone * ZONE, 4 * KIB);
    }
    assert_eq!(host.refused(Op::Write, 5 * ZONE, 4 * KIB), (1, 0xbd), "too many active zones");
    assert_eq!(host.refused(Op::Write, ZONE + 4608, 512), (0, 2), "half a block");
    host.ok(Op::ZoneReset, 0, 16 * ZONE);
    host.ok(Op::Write, 5 * ZONE, 4 * KIB);
}

#[test]
fn appends_to_one_zone_overlap_and_each_has_its_own_place() {
    let mut host = Host::new(&[]);
    let ios: Vec<u32> = (0..32).map(|_| host.submit(Op::Append, 7 * ZONE, 16 * KIB)).collect();
    let mut ended = Vec::new();
    while ended.len() < ios.len() {
        ended.extend(host.complete());
    }
    assert!(ended.iter().all(|end| end.status == Status::Ok));
    assert_eq!(host.state(7).1, 32 * 16 * KIB);
    assert_eq!(host.read(7, 32 * 16 * KIB), 32 * 32);
}

#[test]
fn finishing_takes_as_long_as_its_filler() {
    let time = |share: u64| {
        let mut host = Host::new(&[]);
        host.fill(0, CAPACITY * share / 8);
        host.settle();
        let time = host.ok(Op::ZoneFinish, 0, ZONE);
        assert_eq!(host.state(0).0, ZoneState::Full);
        time.secs_f64()
    };
    // 96 programs of 64 KiB on four dies: 24 rows of 600 us, without transfers.
    let whole = time(0);
    assert!((24.0 * 600e-6..24.0 * 800e-6).contains(&whole), "{whole}");
    for eighths in [2, 4, 6] {
        let expected = whole * (8 - eighths) as f64 / 8.0;
        let found = time(eighths);
        assert!((found / expected - 1.0).abs() < 0.1, "{eighths} eighths: {found} s, expected {expected}");
    }
}

#[test]
fn resetting_takes_controller_time_by_what_was_written_and_erases_after_that() {
    let sets = [("device.zones.reset_time", "1ms"), ("device.zones.reset_written", "8ms")];
    for (eighths, ms) in [(8, 9.0), (4, 5.0), (0, 1.0)] {
        let mut host = Host::new(&sets);
        host.fill(0, CAPACITY * eighths / 8);
        let time = host.ok(Op::ZoneReset, 0, ZONE).secs_f64() * 1e3;
        assert!((ms..ms + 0.05).contains(&time), "{eighths} eighths: {time} ms");
        host.settle();
        // One block on each of four dies, if anything had been programmed, besides the log's.
        assert_eq!(host.machine.ftl().stats().erases, if eighths == 0 { 0 } else { 4 });
    }
}

#[test]
fn commands_delay_a_reset_that_yields_to_them() {
    let sets = [("device.zones.reset_time", "2ms"), ("device.zones.yields", "5us")];
    let mut host = Host::new(&sets);
    host.fill(0, 64 * KIB);
    let begin = host.machine.now();
    let reset = host.submit(Op::ZoneReset, 0, ZONE);
    let mut appends = 0;
    host.submit(Op::Append, ZONE, 4 * KIB);
    let end = loop {
        let ends = host.complete();
        if let Some(end) = ends.iter().find(|end| end.io == reset) {
            break end.at;
        }
        appends += 1;
        host.submit(Op::Append, ZONE, 4 * KIB);
    };
    let delay = (end - begin).secs_f64() - 2e-3;
    let expected = f64::from(appends) * 5e-6;
    assert!(appends > 100 && (delay / expected - 1.0).abs() < 0.05, "{appends} appends, {delay} s of delay");
}

#[test]
fn a_protected_buffer_keeps_what_was_acknowledged_in_a_power_cut() {
    let mut host = Host::new(&[]);
    host.fill(1, 300 * KIB);
    host.ok(Op::Append, 3 * ZONE, 20 * KIB);
    host.ok(Op::ZoneFinish, 4 * ZONE, ZONE);
    host.submit(Op::ZoneFinish, 5 * ZONE, ZONE);
    let cut = host.machine.power_cut(&host.parts, &Streams::new(2)).expect("the same parts");
    assert!(cut.complete && cut.mount.pages_read > 0);
    assert_eq!(host.state(1), (ZoneState::Closed, 300 * KIB));
    assert_eq!(host.state(3), (ZoneState::Closed, 20 * KIB));
    assert_eq!(host.state(4), (ZoneState::Full, 0));
    host.read(1, 300 * KIB);
    // Writing goes on at the recovered pointer, in the middle of a program.
    host.ok(Op::Write, ZONE + 300 * KIB, 64 * KIB);
    host.ok(Op::Append, 3 * ZONE, 64 * KIB);
    assert_eq!(host.state(3).1, 84 * KIB);
    host.read(3, 84 * KIB);
}

#[test]
fn zones_that_are_laid_out_are_full_until_they_are_reset() {
    let (parts, streams) = (parts(&[("flash.bad_blocks", "0.02")]), Streams::new(1));
    let system = system(&[("flash.bad_blocks", "0.02")]);
    let (store, prepared) = prepare(&system, &parts, Preparation::Filled, &streams, None).expect("full zones");
    assert_eq!(prepared.preparation, Preparation::Filled);
    let (nand, ftl, mount) = parts.mount(store, &streams).expect("it mounts");
    assert_eq!(mount.pages_read, 16 * 96, "a drive reads the spare area of every page");
    let mut host = Host { machine: Machine::new(&parts, ftl, nand), parts, io: 0 };
    assert!((0..16).all(|zone| host.state(zone) == (ZoneState::Full, CAPACITY)));
    host.read(7, CAPACITY);
    let stats = host.machine.ftl().stats();
    assert_eq!((stats.read_misses, stats.read_unwritten), (CAPACITY / 4096, 0), "reads find data in flash");
    assert_eq!(host.refused(Op::Write, 3 * ZONE, 4 * KIB), (1, 0xb9), "full");
    host.ok(Op::ZoneReset, 3 * ZONE, ZONE);
    host.fill(3, CAPACITY / 2);
    host.read(3, ZONE);
    host.settle();
    host.machine.power_cut(&host.parts, &Streams::new(2)).expect("the same parts");
    assert_eq!(host.state(3), (ZoneState::Closed, CAPACITY / 2), "a reset zone no longer follows the rule");
    assert!((4..16).all(|zone| host.state(zone) == (ZoneState::Full, CAPACITY)), "the others do");
    host.ok(Op::ZoneReset, 0, 16 * ZONE);
    (0..16).for_each(|zone| host.fill(zone, CAPACITY));
    (0..16).for_each(|zone| assert_eq!(host.read(zone, CAPACITY), CAPACITY / 512));
}

#[test]
fn zones_have_no_state_that_random_writes_leave() {
    let (parts, system) = (parts(&[]), system(&[]));
    for preparation in [Preparation::Overwritten, Preparation::Steady, Preparation::Rested] {
        let error = prepare(&system, &parts, preparation, &Streams::new(1), None).map(|_| ()).expect_err("zones");
        let expected = format!("prepared as {preparation}, expected none or fill: zones have no steady state");
        assert!(error.to_string().ends_with(&expected), "{error}");
    }
}

/// Runs a job file.
fn play(jobs: &str, preparation: Option<Preparation>) -> run::Outcome {
    let workload = Workload::parse_fio("job.fio", jobs).unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions { preparation, payload: PayloadKind::Stamp, ..RunOptions::default() };
    run::run(&system(&[]), &workload, &options, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn zones_under_a_job_that_reads_are_full_and_those_under_one_that_writes_empty() {
    let jobs =
        "[w]\nrw=write\nbs=64k\noffset=8m\nsize=6m\n[r]\nrw=randread\nbs=4k\noffset=32m\nsize=6m\nnumber_ios=500\n";
    let outcome = play(jobs, None);
    assert!(outcome.failed.is_empty(), "{:?}", outcome.failed);
    let stats = outcome.machine.ftl().stats();
    assert_eq!((stats.read_misses, stats.read_unwritten), (500, 0));
    let zones = outcome.machine.ftl().zoned().expect("a drive with zones").zones();
    assert_eq!(zones.written(1) * 4 * KIB, CAPACITY, "the job wrote its zone");
    let note =
        "prepared by default as fill: the workload reads what it has not written; zones that jobs write begin empty";
    assert!(outcome.notes.iter().any(|found| found.text() == note), "{:?}", outcome.notes);
    let none = play(jobs, Some(Preparation::Erased));
    assert_eq!(none.machine.ftl().stats().read_unwritten, 500);
    assert_eq!(play(jobs, Some(Preparation::Filled)).machine.ftl().stats().read_unwritten, 0);
}

#[test]
fn no_zone_is_filled_where_all_are_written() {
    let outcome = play("[w]\nrw=write\nbs=64k\nsize=6m\n[r]\nrw=read\nbs=4k\nsize=128m\nnumber_ios=10\n", None);
    assert_eq!(outcome.prepared.preparation, Preparation::Filled, "the reader's other zones are filled");
    let mixed =
        play("[m]\nrw=read\nbs=4k\nsize=6m\nnumber_ios=9\n[w]\nrw=write\nbs=64k\nsize=128m\nnumber_ios=9\n", None);
    assert_eq!(mixed.prepared.preparation, Preparation::Erased);
    assert!(mixed.notes.iter().all(|note| !note.text().starts_with("prepared")), "{:?}", mixed.notes);
}

/// Runs a table of requests in the order of its rows, one at a time.
fn replay(system: &System, rows: &str) -> Result<run::Outcome, run::RunError> {
    let path = std::env::temp_dir().join(format!("nandram-zones-{}-{}.csv", std::process::id(), rows.len()));
    std::fs::write(&path, rows).expect("a temporary file");
    let columns: Columns = "op=0,offset=1,bytes=2".parse().expect("columns");
    let workload = Workload::open(&path, Some(Format::Columns(columns)))?;
    let replay = Replay::ClosedLoop { depth: 1 };
    let options = RunOptions {
        preparation: Some(Preparation::Erased),
        payload: PayloadKind::Stamp,
        replay,
        ..RunOptions::default()
    };
    let outcome = run::run(system, &workload, &options, &mut |_| true);
    std::fs::remove_file(&path).expect("it was written");
    outcome
}

#[test]
fn a_table_of_requests_uses_zones_where_the_drive_has_them() {
    let rows = "append,0,65536\nappend,0,65536\nread,0,131072\nzone-finish,0,8388608\nzone-reset,0,8388608\nread,0,131072\n\
                zone-open,8388608,8388608\nwrite,8388608,4096\nzone-close,8388608,8388608\nzone-reset,0,134217728\n";
    let outcome = replay(&system(&[]), rows).unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.failed.is_empty(), "{:?}", outcome.failed);
    let zones = outcome.machine.ftl().zoned().expect("a drive with zones").zones();
    assert!((0..16).all(|zone| zones.state(zone) == ZoneState::Empty));
    let error = replay(&System::load("nvme-client-tlc", &[]).expect("a preset"), "write,0,4096\nappend,0,4096\n");
    let error = error.map(|_| ()).expect_err("a drive without zones").to_string();
    assert!(
        error.ends_with(": found an operation on zones, expected none: device.namespace is conventional"),
        "{error}"
    );
    assert!(error.contains(".csv:2"), "{error}");
}

#[test]
fn a_drive_with_zones_has_no_other_mechanisms_of_a_translation_layer() {
    let message = |sets: &[(&str, &str)]| {
        let sets =
            [&[("device.namespace", "zoned"), ("device.zones.size", "64MiB"), ("ftl.slc_cache.size", "0B")], sets]
                .concat();
        System::from_toml("zoned", "title = \"zoned\"", &sets).expect_err("they exclude each other").to_string()
    };
    let found = message(&[("ftl.parity.stripe", "8")]);
    assert!(found.contains("ftl.parity.stripe is") && found.contains("device.namespace is"), "{found}");
    let found = message(&[("device.zones.capacity", "65MiB")]);
    assert!(found.contains("device.zones.capacity is \"65MiB\", expected at most device.zones.size"), "{found}");
    let found = message(&[("device.zones.count", "9999999")]);
    assert!(found.contains("device.zones.count is 9999999, expected"), "{found}");
}
