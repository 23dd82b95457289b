//! The standard jobs and their measurement.

use sim::Time;
use storage::notes::Kind;
use storage::prepare::Preparation;
use storage::record::Direction;
use storage::run::{Measured as Window, RunOptions, WarmUp, run};
use storage::summary::summary;
use system::System;
use workload::Workload;

/// A job: its name on the page and its fio keys.
pub struct Job {
    pub name: &'static str,
    pub rw: &'static str,
    pub depth: u32,
    /// Bytes per request.
    pub bytes: u64,
    /// Further keys.
    pub more: &'static str,
    pub preparation: Preparation,
}

const SMALL: u64 = 4 << 10;
const LARGE: u64 = 128 << 10;

const fn job(name: &'static str, rw: &'static str, bytes: u64, depth: u32) -> Job {
    Job { name, rw, depth, bytes, more: "", preparation: Preparation::Filled }
}

/// The ten jobs of the page.
pub const JOBS: [Job; 10] = [
    job("sequential read", "read", LARGE, 32),
    job("sequential write", "write", LARGE, 32),
    job("random read, depth 1", "randread", SMALL, 1),
    job("random read, depth 32", "randread", SMALL, 32),
    job("random write, depth 1", "randwrite", SMALL, 1),
    job("random write, depth 32", "randwrite", SMALL, 32),
    Job { more: "rwmixread=70\n", ..job("70 % reads, depth 32", "randrw", SMALL, 32) },
    Job { more: "fsync=1\n", ..job("write and fsync", "randwrite", SMALL, 1) },
    job("trim", "randtrim", LARGE, 1),
    Job { preparation: Preparation::Steady, ..job("steady writes, depth 64", "randwrite", SMALL, 64) },
];

/// Returns the bytes per request of `job`: steady writes have at least the size of a mapping unit, as data sheets have them.
fn bytes(system: &System, job: &Job) -> u64 {
    if job.preparation == Preparation::Steady { job.bytes.max(system.ftl.unit) } else { job.bytes }
}

/// The curves of the page, over [`DEPTHS`].
pub const CURVES: [Job; 2] = [job("random reads", "randread", SMALL, 0), job("random writes", "randwrite", SMALL, 0)];
pub const DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// Results of a job.
#[derive(Clone, Copy)]
pub struct Measured {
    /// Requests per second, without flushes.
    pub iops: f64,
    pub bytes_s: f64,
    /// Median, 99th and 99.9th percentile of response times in nanoseconds: of flushes if the job has any, else of all
    /// requests.
    pub tails: [u64; 3],
    /// False if a job that begins in steady state leaves the drive with more or less headroom than it found.
    pub steady: bool,
}

/// Plays `job` at `depth` for `requests` requests, or more if a write cache would absorb most of them or returns room
/// in batches, of which the measured part must contain many.
pub fn measure(system: &System, job: &Job, depth: u32, requests: u64) -> Measured {
    let cache = &system.caches.write;
    let fills = if cache.resume > 0.0 { 250 } else { 3 };
    let cached = if job.rw.contains("write") { fills * cache.size / job.bytes } else { 0 };
    let requests = requests.max(cached);
    let Job { name, rw, more, .. } = job;
    let bytes = bytes(system, job);
    let text = format!(
        "[job]\nrw={rw}\nbs={bytes}\niodepth={depth}\nnumber_ios={requests}\nnorandommap\nioengine=libaio\n{more}"
    );
    let workload = Workload::parse_fio(name, &text).unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions { preparation: Some(job.preparation), warm_up: WarmUp::Keep, ..RunOptions::default() };
    let outcome = run(system, &workload, &options, &mut |_| true)
        .unwrap_or_else(|error| panic!("{}, {name}: {error}", system.title));
    // Rates are those of the second half of the run, without its end, where fewer requests are outstanding. By then the
    // write cache and the pending map changes have filled.
    let part = |fraction: f64| Time::from_ps((outcome.end.ps() as f64 * fraction) as u64);
    let points = outcome.recorder.points();
    let ends = || points.iter().map(|point| point.at);
    let from = ends().find(|at| *at >= part(0.5)).expect("a window in the middle");
    let to = ends().take_while(|at| *at <= part(0.9)).last().filter(|to| *to > from).unwrap_or(Time::MAX);
    let seconds = (to.min(outcome.end) - from).secs_f64();
    let measured = Window { warm_up: from, ..outcome.measured() };
    let (mut ios, mut bytes, mut latencies) = (0, 0, None);
    for direction in [Direction::Read, Direction::Write, Direction::Trim] {
        let counted = outcome.recorder.job_points(0, direction).into_iter().filter(|p| p.at > from && p.at <= to);
        (ios, bytes) = counted.fold((ios, bytes), |(ios, bytes), p| (ios + p.ios, bytes + p.bytes));
        let totals = measured.totals(0, direction);
        assert_eq!(totals.errors, 0, "{}, {name}", system.title);
        if totals.ios > 0 && latencies.is_none() {
            latencies = Some(totals.latencies.total);
        }
    }
    let steady = job.preparation != Preparation::Steady || {
        let notes = &summary(system, &outcome)["nandram"]["notes"];
        notes.as_array().expect("a summary has notes").iter().all(|note| note["kind"] != Kind::NotSteady.name())
    };
    let syncs = measured.totals(0, Direction::Sync);
    let latencies = if syncs.ios > 0 { Some(syncs.latencies.total) } else { latencies }.expect("requests ended");
    Measured {
        iops: ios as f64 / seconds,
        bytes_s: bytes as f64 / seconds,
        tails: [50.0, 99.0, 99.9].map(|percent| latencies.percentile_ns(percent)),
        steady,
    }
}

/// Returns the depths at which `rates`, requests per second for each of [`DEPTHS`], are more than 2 % below those of a
/// smaller depth.
pub fn falls(rates: &[f64]) -> Vec<u32> {
    let best = |upto: usize| rates[..upto].iter().copied().fold(0.0, f64::max);
    (1..rates.len()).filter(|at| rates[*at] < 0.98 * best(*at)).map(|at| DEPTHS[at]).collect()
}
