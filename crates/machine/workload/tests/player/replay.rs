//! Replay of traces: time, order, flushes, addresses.

use std::fs;
use std::path::{Path, PathBuf};

use media::{Op, Request};
use sim::{Streams, Time};
use workload::trace::Format;
use workload::{Beyond, Error, Options, Player, Replay, Workload};

use crate::harness::{Done, depth, play, play_workload};

const MIB: u64 = 1 << 20;

/// Creates a trace file for this test.
fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).expect("the test's folder can be written");
    path
}

fn replay(name: &str, text: &str, options: &Options) -> Result<Vec<Done>, Error> {
    let workload = Workload::open(&file(name, text), None)?;
    play_workload(&workload, options, 1)
}

fn message(result: Result<Vec<Done>, Error>, name: &str) -> String {
    let folder = format!("{}/", env!("CARGO_TARGET_TMPDIR"));
    match result {
        Ok(done) => panic!("{name}: {} requests and no error", done.len()),
        Err(error) => error.to_string().replace(&folder, ""),
    }
}

/// MQSim's format: time in ns, device, first sector, sectors, 1 for a read.
const FIVE: &str = "5000 0 0 8 1\n5000 0 8 8 0\n205000 0 16 8 1\n210000 0 24 8 1\n211000 0 32 8 0\n";

fn times(done: &[Done]) -> Vec<(u64, u64)> {
    done.iter().map(|d| (d.io.due.ns(), d.issued.ns())).collect()
}

#[test]
fn open_loop_follows_the_timestamps() {
    let done = replay("open.mqsim", FIVE, &Options::new(MIB)).expect("valid");
    assert_eq!(times(&done), [(0, 0), (0, 0), (200_000, 200_000), (205_000, 205_000), (206_000, 206_000)]);
    assert_eq!(depth(&done), 3);
    assert_eq!(done[1].io.request, Request::new(Op::Write, 4096, 4096));
    assert!(done.iter().all(|d| d.io.measured && !d.io.verify));
}

#[test]
fn a_scale_multiplies_time() {
    let options = Options { replay: Replay::Scaled(0.5), ..Options::new(MIB) };
    let done = replay("scaled.mqsim", FIVE, &options).expect("valid");
    assert_eq!(times(&done).last(), Some(&(103_000, 103_000)));
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = Options { replay: Replay::Scaled(factor), ..Options::new(MIB) };
        let text = message(replay("scaled.mqsim", FIVE, &options), "scaled");
        assert_eq!(text, format!("time scale: found {factor}, expected a factor above 0"));
    }
    let options = Options { replay: Replay::Scaled(1e14), ..Options::new(MIB) };
    let text = message(replay("late.mqsim", FIVE, &options), "late");
    assert_eq!(text, "late.mqsim:3: found a request due 231481 days after the first, expected at most 213 days");
}

#[test]
fn closed_loop_keeps_the_depth_and_the_order() {
    let options = Options { replay: Replay::ClosedLoop { depth: 2 }, ..Options::new(MIB) };
    let done = replay("closed.mqsim", FIVE, &options).expect("valid");
    assert_eq!(times(&done), [(0, 0), (0, 0), (100_000, 100_000), (100_000, 100_000), (200_000, 200_000)]);
    assert!(done.iter().enumerate().all(|(i, d)| d.io.request.offset == i as u64 * 4096));
    let options = Options { replay: Replay::ClosedLoop { depth: 0 }, ..Options::new(MIB) };
    let text = message(replay("closed.mqsim", FIVE, &options), "depth");
    assert_eq!(text, "closed-loop depth: found 0, expected at least 1");
}

#[test]
fn addresses_beyond_the_drive_are_errors_or_wrap() {
    let text = "0 0 0 8 1\n1000 0 2044 8 0\n2000 0 4100 16 1\n";
    let found = message(replay("beyond.mqsim", text, &Options::new(MIB)), "beyond");
    assert_eq!(
        found,
        "beyond.mqsim:3: found a request that ends at byte 2107392, expected at most the drive's 1048576 bytes; \
         --wrap takes such addresses modulo the drive's size"
    );
    let options = Options { beyond: Beyond::Wrap, ..Options::new(MIB) };
    let done = replay("beyond.mqsim", text, &options).expect("wrapped");
    // The second would cross the end; the third is 4 sectors past twice the capacity.
    assert_eq!(done.iter().map(|d| d.io.request.offset).collect::<Vec<_>>(), [0, MIB - 4096, 2048]);
    let large = "0 0 0 4096 1\n";
    assert!(
        message(replay("large.mqsim", large, &options), "large").starts_with("large.mqsim:1: found a request that")
    );
}

#[test]
fn devices_are_laid_out_one_after_another() {
    let text = "7,100,4096,R,0.0\n3,0,2097152,W,0.0\n7,0,4096,R,0.0\n9,8,4096,R,0.0\n";
    let workload = Workload::open(&file("three.spc", text), None).expect("valid");
    let done = play_workload(&workload, &Options::new(8 * MIB), 1).expect("fits");
    // Device 7 appears first and ends within 1 MiB; device 3 takes 2 MiB.
    let offsets: Vec<u64> = done.iter().map(|d| d.io.request.offset).collect();
    assert_eq!(offsets, [51200, MIB, 0, 3 * MIB + 4096]);
    assert!(
        workload.notes()[0]
            .ends_with("3 devices are laid out one after another, from \"7\" at byte 0 to \"9\" at byte 3145728")
    );
    let found = message(play_workload(&workload, &Options::new(3 * MIB), 1), "three");
    assert_eq!(
        found,
        "three.spc:4: found a request that ends at byte 3153920 of \"9\", expected at most the drive's 3145728 bytes; \
         --wrap takes such addresses modulo the drive's size"
    );
}

#[test]
fn mqsim_device_numbers_are_ignored() {
    let workload = Workload::open(&file("numbers.mqsim", "0 7 100 8 1\n0 3 8 8 0\n"), None).expect("valid");
    let done = play_workload(&workload, &Options::new(MIB), 1).expect("fits");
    assert_eq!(done.iter().map(|d| d.io.request.offset).collect::<Vec<_>>(), [51200, 4096]);
    assert!(workload.notes().is_empty());
}

/// Two files; a write of 24 bytes, an fdatasync while it is outstanding, and concurrent reads.
const SYNCS: &str = "fio version 3 iolog\n0 wal add\n0 db add\n0 wal open\n0 db open\n\
    10 wal write 1000 24\n20 db read 8192 4096\n30 wal datasync 0 0\n40 wal write 1024 4096\n50 db sync 0 0\n60 db read 0 100\n";

#[test]
fn open_loop_flushes_wait_for_the_writes_before_them() {
    let done = replay("syncs.iolog", SYNCS, &Options::new(8 * MIB)).expect("valid");
    let found: Vec<(Op, u64, u64, u64, u64)> = done
        .iter()
        .map(|d| (d.io.request.op, d.io.request.offset, d.io.request.bytes, d.io.due.ns() / 1000, d.issued.ns() / 1000))
        .collect();
    // The first record, whether file action or request, is at 0; the drive takes 100 us per request.
    let start = found[0].4;
    let at = |us: u64| us - 10 + start;
    assert_eq!(
        found,
        [
            (Op::Write, 512, 512, at(10), at(10)),
            (Op::Read, MIB + 8192, 4096, at(20), at(20)),
            (Op::Write, 1024, 4096, at(40), at(40)),
            (Op::Read, MIB, 512, at(60), at(60)),
            // Each is due at its timestamp and issued once the writes before it are complete.
            (Op::Flush, 0, 0, at(30), at(110)),
            (Op::Flush, 0, 0, at(50), at(140)),
        ]
    );
}

#[test]
fn closed_loop_flushes_delay_later_requests() {
    let options = Options { replay: Replay::ClosedLoop { depth: 8 }, ..Options::new(8 * MIB) };
    let done = replay("closed.iolog", SYNCS, &options).expect("valid");
    let found: Vec<(Op, u64)> = done.iter().map(|d| (d.io.request.op, d.issued.ns() / 1000)).collect();
    let (r, w, f) = (Op::Read, Op::Write, Op::Flush);
    assert_eq!(found, [(w, 0), (r, 0), (f, 100), (w, 200), (f, 300), (r, 400)]);
}

#[test]
fn version_2_keeps_its_waits_and_issues_one_at_a_time() {
    let text = "fio version 2 iolog\na add\na open\na read 0 4096\na write 4096 4096\na wait 500 0\na read 0 4096\na sync 0 0\na trim 100 2000\na close\n";
    let done = replay("two.iolog", text, &Options::new(MIB)).expect("valid");
    let found: Vec<(Op, u64)> = done.iter().map(|d| (d.io.request.op, d.issued.ns() / 1000)).collect();
    assert_eq!(found, [(Op::Read, 0), (Op::Write, 100), (Op::Read, 500), (Op::Flush, 600), (Op::Trim, 700)]);
    // A trim is narrowed to whole sectors.
    assert_eq!(done[4].io.request, Request::new(Op::Trim, 512, 1536));
    let options = Options { replay: Replay::ClosedLoop { depth: 2 }, ..Options::new(MIB) };
    let done = replay("two.iolog", text, &options).expect("valid");
    let found: Vec<u64> = done.iter().map(|d| d.issued.ns() / 1000).collect();
    assert_eq!(found, [0, 0, 100, 100, 200]);
}

#[test]
fn a_job_file_replays_an_iolog_along_with_its_jobs() {
    file("job.iolog", SYNCS);
    let text = "[fill]\nrw=write\nbs=64k\nsize=128k\n[replay]\nstonewall\nread_iolog=job.iolog\niodepth=1\n";
    let path = file("replay.fio", text);
    let workload = Workload::open(&path, None).expect("valid");
    assert_eq!(
        workload.jobs().iter().map(|j| (j.name.as_str(), j.group)).collect::<Vec<_>>(),
        [("fill", 0), ("replay", 1)]
    );
    let done = play_workload(&workload, &Options::new(8 * MIB), 1).expect("fits");
    let replayed: Vec<Done> = done.iter().filter(|d| d.io.job == 1).copied().collect();
    assert_eq!((replayed.len(), depth(&replayed)), (6, 1));
    assert!(replayed.iter().all(|d| d.issued >= Time::from_us(200) && d.io.due <= d.issued));
}

#[test]
fn progress_counts_requests() {
    let workload = Workload::open(&file("progress.mqsim", FIVE), None).expect("valid");
    let mut player = Player::new(&workload, &Options::new(MIB), &Streams::new(1)).expect("fits");
    assert_eq!((player.progress().completed, player.progress().total), (0, Some(5)));
    let done = play(&mut player, |_| Time::from_us(100)).expect("valid");
    assert_eq!((done.len(), player.progress().completed, player.progress().fraction), (5, 5, 1.0));
}

#[test]
fn job_files_and_traces_are_distinguished() {
    let jobs = file("looks-like-a-job", "; comment\n\n[a]\nsize=4k\n");
    assert_eq!(Workload::open(&jobs, None).expect("a job file").jobs()[0].name, "a");
    let broken = file("broken.mqsim", "0 0 0 8 1\n0 0 0 x 1\n");
    let error = Workload::open(&broken, Some(Format::Mqsim)).expect_err("the second line");
    assert!(error.to_string().contains("broken.mqsim:2:"), "{error}");
    let missing = Workload::open(Path::new("no/such.fio"), None).expect_err("missing");
    assert_eq!(missing.to_string(), "no/such.fio: No such file or directory (os error 2)");
    let binary = file("binary.fio", "");
    fs::write(&binary, b"[a]\n# \xff\n").expect("written");
    let error = Workload::open(&binary, None).expect_err("not text");
    assert!(error.to_string().ends_with("binary.fio:2: found bytes that are not UTF-8, expected text"), "{error}");
}
