//! A trace with long pauses is replayed on the steady drive that it would have left: a rested one.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use storage::prepare::Preparation;
use storage::run::{Outcome, RunOptions, run};
use system::System;
use workload::{Replay, Workload};

/// Writes a trace of `count` 4 KiB writes, one every `gap_ms`, in the format of MSR Cambridge.
fn trace(name: &str, count: u64, gap_ms: u64) -> PathBuf {
    let mut text = String::new();
    for number in 0..count {
        let (ticks, offset) = (128_166_372_000_000_000 + number * gap_ms * 10_000, number * 7919 % 4000 * 4096);
        writeln!(text, "{ticks},host,0,Write,{offset},4096,1000").expect("text");
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("a trace");
    path
}

fn replayed(path: &Path, replay: Replay) -> Outcome {
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/data/tiny.toml");
    let system = System::load(&tiny.to_string_lossy(), &[]).expect("a system");
    let workload = Workload::open(path, None).expect("a trace");
    let options = RunOptions { preparation: Some(Preparation::Steady), replay, ..RunOptions::default() };
    run(&system, &workload, &options, &mut |_| true).expect("a run")
}

#[test]
fn pauses_of_a_trace_decide_what_a_steady_drive_is() {
    let slow = trace("slow.csv", 200, 100);
    let fast = trace("fast.csv", 200, 1);
    let kind = |path, replay| replayed(path, replay).prepared.preparation;
    assert_eq!(kind(&slow, Replay::OpenLoop), Preparation::Rested);
    assert_eq!(kind(&fast, Replay::OpenLoop), Preparation::Steady);
    // Without its timestamps, or with compressed ones, the trace has no pauses.
    assert_eq!(kind(&slow, Replay::ClosedLoop { depth: 8 }), Preparation::Steady);
    assert_eq!(kind(&slow, Replay::Scaled(0.01)), Preparation::Steady);
    let outcome = replayed(&slow, Replay::OpenLoop);
    assert!(outcome.notes.iter().any(|note| note.text().contains("precondition: rested")), "{:?}", outcome.notes);
    let stats = outcome.machine.ftl().stats();
    assert!(stats.programmed_copy < 20 * stats.programmed_host, "{stats:?}");
}
