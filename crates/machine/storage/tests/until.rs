//! Runs that go on until the intervals of their measures are narrow.

#[path = "support/play.rs"]
#[allow(dead_code, reason = "these runs have their own options")]
mod play;

use play::{options, system};
use storage::notes::Kind;
use storage::prepare::Preparation;
use storage::reached::{End, Reached};
use storage::run::{Length, Outcome, Rule, RunError, RunOptions, Until, run};
use storage::summary::summary;
use system::System;
use workload::Workload;

const SMALL: [(&str, &str); 5] = [
    ("flash.channels", "2"),
    ("flash.blocks", "128"),
    ("flash.pages", "64"),
    ("ftl.gc.start", "4"),
    ("device.write_cache.size", "1MiB"),
];
/// A few requests, which see no collection.
const WRITES: &str = "rw=randwrite\nbs=4k\niodepth=8\nnumber_ios=100\nnorandommap";
const READS: &str = "rw=randread\nbs=4k\niodepth=8\nnumber_ios=100\nnorandommap";

fn drive() -> System {
    system("mqsim-ideal-map", &SMALL)
}

fn until(width: f64, requests: u64, rule: Rule, preparation: Preparation) -> RunOptions {
    RunOptions { length: Length::Until(Until { width, requests }, rule), ..options(preparation) }
}

fn try_play(system: &System, job: &str, options: &RunOptions) -> Result<Outcome, RunError> {
    let workload = Workload::parse_fio("job.fio", &format!("[a]\n{job}\n")).expect("a job");
    run(system, &workload, options, &mut |_| true)
}

fn reached(outcome: &Outcome) -> &Reached {
    outcome.reached.as_ref().expect("the run goes on until its measures are known")
}

#[test]
fn a_short_job_goes_on_over_ten_collection_cycles() {
    let drive = drive();
    let short = try_play(&drive, WRITES, &options(Preparation::Steady)).expect("a run");
    assert_eq!((short.requests, short.reached.is_none()), (100, true));
    let outcome = try_play(&drive, WRITES, &until(0.2, 10_000_000, Rule::Always, Preparation::Steady)).expect("a run");
    let found = reached(&outcome);
    assert_eq!((found.end, found.known.lacking), (End::Intervals, None));
    assert!(found.known.cycles.is_some_and(|cycles| cycles >= 10.0), "{:?}", found.known.cycles);
    assert_eq!(found.known.measures.len(), 3, "reads have no measures");
    assert!(found.known.measures.iter().all(|(_, interval)| interval.width() <= 0.2));
    // The table shows the value of the interval.
    let all = summary(&drive, &outcome);
    let table = all["jobs"][0]["write"]["iops"].as_f64().expect("a rate");
    let (value, low, high) =
        (&found.known.measures[0].1.value, &found.known.measures[0].1.low, &found.known.measures[0].1.high);
    assert!((table / value - 1.0).abs() < 0.002 && low < value && value < high, "{table} beside {value}");
    assert!(all["nandram"]["notes"].as_array().expect("notes").iter().any(|note| note["kind"] == "until"));
    assert_eq!(all["nandram"]["until"]["ended_by"], "intervals");
    // The same seed, the same bytes.
    let again = try_play(&drive, WRITES, &until(0.2, 10_000_000, Rule::Always, Preparation::Steady)).expect("a run");
    assert_eq!(summary(&drive, &again), all);
}

#[test]
fn a_limit_ends_the_run_and_says_what_it_reached() {
    let outcome = try_play(&drive(), READS, &until(0.001, 5000, Rule::Always, Preparation::Filled)).expect("a run");
    assert_eq!((reached(&outcome).end, outcome.requests), (End::Requests, 5000));
    let note = outcome.notes.iter().find(|note| note.kind() == Kind::NotReached).expect("a note");
    assert!(note.text().starts_with("until 0.1 %: not reached within 5,000 requests"), "{}", note.text());
}

#[test]
fn a_drive_that_fills_is_not_known() {
    let options = until(0.5, 20_000, Rule::Always, Preparation::Erased);
    let outcome = try_play(&drive(), WRITES, &options).expect("a run");
    assert_eq!(reached(&outcome).known.lacking, Some("the drive is not steady"));
    assert_eq!(reached(&outcome).end, End::Requests);
}

#[test]
fn jobs_with_a_length_keep_it_by_default() {
    let unsized_only = |job: &str| {
        let outcome = try_play(&drive(), job, &until(0.05, 3000, Rule::Unsized, Preparation::Filled)).expect("a run");
        (outcome.requests, outcome.reached.is_some())
    };
    assert_eq!(unsized_only(READS), (100, false));
    assert_eq!(unsized_only("rw=randread\nbs=4k\niodepth=8"), (3000, true));
    assert!(!unsized_only("rw=randread\nbs=4k\nruntime=1ms").1);
}

#[test]
fn jobs_that_end_by_themselves_are_refused() {
    for (job, found) in [
        ("rw=write\nverify=crc32c\nsize=1m", "a job that verifies"),
        ("rw=randread\nlatency_target=1ms\nlatency_window=10ms\nsize=1m", "a job with latency_target"),
        ("rw=randread\nsize=1m\n[b]\nstonewall\nrw=randread\nsize=1m", "jobs that run one after another"),
    ] {
        let always = try_play(&drive(), job, &until(0.5, 3000, Rule::Always, Preparation::Filled));
        let message = always.err().map(|error| error.to_string());
        assert_eq!(
            message.as_deref(),
            Some(&*format!("until: found {found}, expected jobs without an end of their own"))
        );
        let possible = try_play(&drive(), job, &until(0.5, 3000, Rule::WherePossible, Preparation::Filled));
        assert!(possible.is_ok_and(|outcome| outcome.reached.is_none()), "{job}");
    }
}

#[test]
fn an_interrupted_run_returns_what_it_has() {
    let workload =
        Workload::parse_fio("job.fio", "[a]\nrw=randread\nbs=4k\niodepth=8\nnumber_ios=100000").expect("a job");
    let stop_at = |partial| {
        let options = RunOptions { partial, ..options(Preparation::Filled) };
        run(&drive(), &workload, &options, &mut |progress| progress.done < 20_000)
    };
    assert!(matches!(stop_at(false), Err(RunError::Interrupted)));
    let outcome = stop_at(true).expect("a part of the run");
    assert!((20_000..50_000).contains(&outcome.requests), "{}", outcome.requests);
    assert!(outcome.notes.iter().any(|note| note.kind() == Kind::Interrupted));
}
