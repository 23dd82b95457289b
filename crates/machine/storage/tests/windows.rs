//! The figures of a run cover one window: those of jobs, translation layer, energy and utilization. Also tests which
//! part is cut off, and sums over groups and over time.

#[path = "support/play.rs"]
mod play;

use play::{options, play, requests, system};
use sim::Time;
use storage::counters::Counters;
use storage::prepare::Preparation;
use storage::record::Direction;
use storage::run::{Outcome, RunError, RunOptions, WarmUp, run};
use storage::series::intervals;
use storage::summary::summary;
use system::presets;
use workload::{ContinueOnError, Workload};

const SMALL: [(&str, &str); 5] = [
    ("flash.channels", "2"),
    ("flash.blocks", "128"),
    ("flash.pages", "64"),
    ("ftl.gc.start", "4"),
    ("device.write_cache.size", "1MiB"),
];

/// Runs `job` on a small drive under random writes, over many intervals.
fn worn(job: &str, options: &RunOptions) -> (system::System, Outcome) {
    let system = system("mqsim-ideal-map", &SMALL);
    let outcome = play(&system, job, options);
    (system, outcome)
}

const WRITES: &str = "rw=randwrite\nbs=4k\niodepth=8\nnumber_ios=60000\nnorandommap";

fn written(outcome: &Outcome) -> u64 {
    let measured = outcome.measured();
    (0..outcome.jobs.len()).map(|job| measured.totals(job, Direction::Write).bytes).sum()
}

#[test]
fn figures_beside_a_table_cover_its_window() {
    let cut = Time::from_ms(1000);
    let steady = RunOptions { warm_up: WarmUp::Cut(cut), ..options(Preparation::Steady) };
    let (system, outcome) = worn(WRITES, &steady);
    let whole = outcome.whole_run();
    let window = outcome.window();
    // The host's units are those of the table, except for requests in progress at the cut.
    let units = written(&outcome) / 4096;
    assert!(window.ftl.host_units.abs_diff(units) <= 8, "{} units, {units} in the table", window.ftl.host_units);
    assert!(whole.ftl.host_units > units + 100, "the whole run has {}, the window {units}", whole.ftl.host_units);
    assert!(window.requests.abs_diff(units) <= 8);
    let all = summary(&system, &outcome);
    let inside = &all["nandram"];
    let span = inside["window"]["span_s"].as_f64().expect("a span");
    let runtime = all["jobs"][0]["write"]["runtime"].as_f64().expect("a runtime") / 1000.0;
    // Counters are read when the first request after the cut ends; the jobs' time begins at the cut.
    let late = inside["window"]["from_s"].as_f64().expect("a start") - cut.secs_f64();
    assert!(late >= 0.0, "counters are read before the cut");
    assert!((span + late - runtime).abs() < 0.002, "{span} s, begun {late} s after the cut, beside {runtime} s");
    let joules = |of: &serde_json::Value| of["energy_j"]["total"].as_f64().expect("energy");
    assert!(joules(inside) < joules(&inside["whole_run"]));
    for (name, busy) in inside["busy"].as_object().expect("parts") {
        let busy = busy.as_f64().expect("a part");
        assert!((0.0..=1.0 + 1e-9).contains(&busy), "{name} was busy for {busy} of the window");
    }
    let dies: u64 = window.dies.iter().map(|die| die.erases).sum();
    assert!(dies.abs_diff(window.ftl.erases) <= 64, "{dies} erases of dies, {} of the layer", window.ftl.erases);
}

#[test]
fn a_cut_in_an_interval_is_exact() {
    // 133 ms is in the middle of an interval for a run of this length.
    let exact = RunOptions { warm_up: WarmUp::Cut(Time::from_us(133_137)), ..options(Preparation::Steady) };
    let (_, cut) = worn(WRITES, &exact);
    let (_, whole) = worn(WRITES, &options(Preparation::Steady));
    let measured = cut.measured();
    let before = cut.before.as_ref().expect("a warm-up").0.totals(0, Direction::Write, Time::ZERO);
    let (after, all) = (measured.totals(0, Direction::Write), whole.measured().totals(0, Direction::Write));
    assert_eq!((before.ios + after.ios, all.ios), (60_000, requests(&whole).0));
    assert!(before.ios > 0);
    assert_eq!(measured.runtime(&[0]), cut.end - Time::from_us(133_137));
}

#[test]
fn a_warm_up_longer_than_the_run_is_an_error() {
    let system = system("mqsim-ideal-map", &SMALL);
    let workload = Workload::parse_fio("job.fio", "[job]\nrw=randread\nnumber_ios=100\n").expect("a job");
    let options = RunOptions { warm_up: WarmUp::Cut(Time::from_s(5)), ..RunOptions::default() };
    let Err(error) = run(&system, &workload, &options, &mut |_| true) else { panic!("it was run") };
    assert!(matches!(error, RunError::WarmUp { .. }), "{error}");
    assert!(error.to_string().starts_with("warm_up: found 5s, expected less than the run's "), "{error}");
}

#[test]
fn a_detected_warm_up_begins_every_figure() {
    // The drive is empty at first, and write amplification rises when collection begins.
    let (_, outcome) = worn(WRITES, &RunOptions { warm_up: WarmUp::Detect, ..RunOptions::default() });
    if let Some(least) = outcome.run_at_least {
        assert!(outcome.warm_up == Time::ZERO && outcome.begin.is_none(), "a run that is too short is not cut");
        assert!(least > outcome.end, "{least} is not longer than {}", outcome.end);
    }
    let (_, outcome) = worn(WRITES, &RunOptions { warm_up: WarmUp::Detect, ..options(Preparation::Steady) });
    assert_eq!(outcome.begin.is_some(), outcome.warm_up > Time::ZERO);
    assert!(outcome.window().ftl.host_units.abs_diff(written(&outcome) / 4096) <= 8);
}

#[test]
fn a_ramp_begins_every_figure() {
    let job = "rw=randwrite\nbs=4k\niodepth=4\nramp_time=400ms\nruntime=600ms\ntime_based\nnorandommap";
    let (_, outcome) = worn(job, &options(Preparation::Steady));
    let units = written(&outcome) / 4096;
    let window = outcome.window();
    assert!(outcome.whole_run().ftl.host_units > units + 100);
    // A request issued during the ramp does not count, even if it ends later.
    assert!(window.ftl.host_units.abs_diff(units) <= 8, "{} units, {units} in the table", window.ftl.host_units);
}

const THREE: &str = "[global]\nbs=4k\nnorandommap\n[writes]\nrw=randwrite\nnumjobs=3\nnumber_ios=4000\n\
    [mixed]\nrw=randrw\nnumber_ios=3000\n[alone]\nstonewall\nrw=randread\nnumber_ios=500\n[last]\nstonewall\nrw=read\nnumjobs=2\n\
    number_ios=300\n";

#[test]
fn totals_of_a_group_are_the_sums_of_its_jobs() {
    let system = system("mqsim-ideal-map", &SMALL);
    let workload = Workload::parse_fio("job.fio", THREE).expect("jobs");
    let outcome = run(&system, &workload, &options(Preparation::Filled), &mut |_| true).expect("a run");
    let all = summary(&system, &outcome);
    let groups = all["nandram"]["groups"].as_array().expect("groups");
    let of = |group: &serde_json::Value| (group["jobname"].clone(), group["jobs"].clone());
    let expected = [
        (serde_json::json!("writes"), serde_json::json!([0, 1, 2])),
        (serde_json::json!("last"), serde_json::json!([5, 6])),
        (serde_json::Value::Null, serde_json::json!([0, 1, 2, 3])),
    ];
    assert_eq!(groups.iter().map(of).collect::<Vec<_>>(), expected);
    for group in groups {
        for direction in ["read", "write", "trim", "sync"] {
            for key in ["total_ios", "io_bytes"] {
                let sum: u64 = (group["jobs"].as_array().expect("jobs").iter())
                    .map(|job| all["jobs"][job.as_u64().expect("a number") as usize][direction][key].as_u64())
                    .map(Option::unwrap_or_default)
                    .sum();
                assert_eq!(group[direction][key].as_u64().unwrap_or_default(), sum, "{direction} {key}");
            }
            let latencies = &group[direction]["lat_ns"];
            assert_eq!(latencies["N"], group[direction]["total_ios"]);
            let most = group["jobs"].as_array().expect("jobs").iter().map(|job| {
                all["jobs"][job.as_u64().expect("a number") as usize][direction]["lat_ns"]["max"].as_u64().unwrap_or(0)
            });
            assert_eq!(latencies["max"].as_u64().unwrap_or(0), most.max().unwrap_or(0));
        }
    }
}

#[test]
fn a_job_that_ends_in_the_warm_up_is_reported_whole() {
    let system = system("mqsim-ideal-map", &SMALL);
    let jobs = "[global]\nbs=4k\nrw=randread\nnorandommap\n[short]\nnumber_ios=50\n[long]\nnumber_ios=20000\n";
    let workload = Workload::parse_fio("job.fio", jobs).expect("jobs");
    for warm_up in [Time::from_ms(100), Time::from_us(100_001)] {
        let cut = RunOptions { warm_up: WarmUp::Cut(warm_up), ..options(Preparation::Filled) };
        let outcome = run(&system, &workload, &cut, &mut |_| true).expect("a run");
        let all = summary(&system, &outcome);
        assert_eq!(all["jobs"][0]["read"]["total_ios"], 50);
        assert!(all["jobs"][0]["read"]["iops"].as_f64().expect("a rate") > 100.0);
        assert!(all["jobs"][1]["read"]["total_ios"].as_u64().expect("a count") < 20_000);
        assert_eq!(all["nandram"]["warm_up"]["jobs_inside"], serde_json::json!(["short"]));
    }
}

fn check_series(outcome: &Outcome) {
    let series = intervals(outcome);
    let whole = outcome.whole_run();
    let sum = |of: fn(&Counters) -> u64| series.iter().map(|i| of(&i.counters)).sum::<u64>();
    assert_eq!(sum(|c| c.ftl.host_units), whole.ftl.host_units);
    assert_eq!(sum(|c| c.ftl.programmed_copy), whole.ftl.programmed_copy);
    assert_eq!(sum(|c| c.ftl.erases), whole.ftl.erases);
    assert_eq!(sum(|c| c.requests), whole.requests);
    let energy = series.iter().fold(sim::Energy::ZERO, |sum, i| sum + i.counters.energy.total());
    assert_eq!(energy, whole.energy.total());
    for (a, b) in series.iter().zip(&series[1..]) {
        assert_eq!(a.to, b.from, "intervals follow one another");
    }
    assert_eq!(series.last().map(|i| i.to), Some(outcome.end));
    assert!(series.len() <= 128, "a series is bounded: {}", series.len());
    assert!(outcome.marks.len() <= 64);
}

#[test]
fn series_add_up_to_the_totals() {
    for warm_up in [WarmUp::Keep, WarmUp::Cut(Time::from_us(31_415)), WarmUp::Detect] {
        let (_, outcome) = worn(WRITES, &RunOptions { warm_up, ..options(Preparation::Steady) });
        check_series(&outcome);
        let ios = |r: &storage::record::Recorder| r.points().iter().map(|p| p.ios).sum::<u64>();
        let before = outcome.before.as_ref().map_or(0, |(recorder, _)| ios(recorder));
        assert_eq!(before + ios(&outcome.recorder), outcome.requests);
    }
    // With pauses longer than an interval.
    let (_, outcome) =
        worn("rw=randwrite\nbs=4k\nrate_iops=100\nnumber_ios=40\nnorandommap", &options(Preparation::Filled));
    check_series(&outcome);
}

#[test]
fn counters_can_be_read_midway_on_every_drive() {
    let jobs = "[job]\nrw=randrw\nbs=4k\niodepth=4\nnumber_ios=3000\nnorandommap\nsize=64m\n";
    let workload = Workload::parse_fio("job.fio", jobs).expect("a job");
    let mut tried = 0;
    for (name, _) in presets() {
        let system = system(name, &[]);
        let kinds = (system.memory.kind, system.link.kind);
        let other = kinds.0 != system::memory::MainMemory::None || kinds.1 == system::LinkType::OneNand;
        // Zones are not written at random.
        if other || system.has_zones() {
            continue;
        }
        let outcome =
            run(&system, &workload, &RunOptions::default(), &mut |_| true).unwrap_or_else(|e| panic!("{name}: {e}"));
        for interval in intervals(&outcome) {
            let (counters, span) = (interval.counters, interval.to - interval.from);
            for busy in &counters.busy {
                assert!(*busy <= counters.at, "{name}: busy for {busy} of {} ({span})", counters.at);
            }
        }
        check_series(&outcome);
        tried += 1;
    }
    assert!(tried > 5, "{tried} presets");
}

#[test]
fn failed_requests_are_no_throughput() {
    let sets = [SMALL.as_slice(), &[("flash.failures.program", "0.4")]].concat();
    let all = ContinueOnError::NAMES.iter().find(|(name, _)| *name == "all").expect("one of fio's names").1;
    let outcome = play(
        &system("mqsim-ideal-map", &sets),
        WRITES,
        &RunOptions { warm_up: WarmUp::Keep, continue_on_error: all, ..options(Preparation::Erased) },
    );
    assert!(outcome.machine.ftl().is_read_only(), "the drive was meant to end");
    let totals = outcome.measured().totals(0, Direction::Write);
    assert!(totals.errors > 1000, "{} requests failed", totals.errors);
    assert_eq!(totals.ios + totals.errors, outcome.requests);
    assert_eq!(totals.bytes, totals.ios * 4096);
    let all = summary(&system("mqsim-ideal-map", &sets), &outcome);
    let (job, write) = (&all["jobs"][0], &all["jobs"][0]["write"]);
    assert_eq!(write["total_ios"], totals.ios);
    assert_eq!(job["total_err"], totals.errors);
    // Rates count what succeeded alone, over the time until the last request ended.
    let rate = |name: &str| write[name].as_f64().expect("a rate");
    let seconds = outcome.end.secs_f64();
    for (found, expected) in
        [(rate("iops"), totals.ios as f64 / seconds), (rate("bw_bytes"), totals.bytes as f64 / seconds)]
    {
        assert!((found / expected - 1.0).abs() < 0.01, "{found} per second, {expected} without the failed requests");
    }
}

#[test]
fn the_first_error_ends_its_job() {
    let sets = [SMALL.as_slice(), &[("flash.failures.program", "0.4")]].concat();
    let system = system("mqsim-ideal-map", &sets);
    let outcome = play(&system, WRITES, &RunOptions { warm_up: WarmUp::Keep, ..options(Preparation::Erased) });
    let [failed] = outcome.failed.as_slice() else { panic!("{:?}", outcome.failed) };
    let (errors, all) = (outcome.measured().totals(0, Direction::Write).errors, summary(&system, &outcome));
    // The outstanding requests fail too.
    assert!((1..=64).contains(&errors) && failed.at <= outcome.end, "{errors} requests failed");
    assert_eq!(all["jobs"][0]["error"], 28);
    assert_eq!(all["nandram"]["failed_jobs"][0]["error"], 28);
    assert_eq!(all["nandram"]["failed_jobs"][0]["time_s"], failed.at.secs_f64());
}
