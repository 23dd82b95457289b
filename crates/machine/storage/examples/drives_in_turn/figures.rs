//! Figures of a run.

use serde_json::{Map, Value, json};
use sim::{Histogram, Time};
use storage::counters::Counters;

use crate::target::Target;

/// Percentiles that are printed.
const PERCENTILES: [f64; 12] = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.9];

/// Returns the figures of a target that was measured for a time: rates per second, response times in microseconds.
/// Writes and programmed units are those of one drive.
pub fn figures(target: &Target, measured: Time, writers: u64) -> Value {
    let (seconds, drives) = (measured.secs_f64(), target.drives.len() as f64);
    let (mut programmed, mut host, mut busy) = (0, 0, 0.0);
    for drive in &target.drives {
        let now = Counters::read(&drive.machine, drive.machine.now(), 0).since(drive.begin.as_ref());
        programmed += now.ftl.programmed();
        host += now.ftl.programmed_host;
        busy += now.dies.iter().map(|die| die.busy().secs_f64()).sum::<f64>() / now.dies.len() as f64;
    }
    let writes: u64 = target.jobs[1..].iter().map(|job| job.times.count()).sum();
    json!({
        "writers": writers,
        "reader": times(&target.jobs[0].times, seconds),
        "writer": times(&target.jobs[1].times, seconds),
        "writes": writes as f64 / seconds / drives,
        "programmed": programmed as f64 / seconds / drives,
        "write_amplification": programmed as f64 / host as f64,
        "dies_busy": busy / drives / seconds,
    })
}

/// Returns the rate of a job's requests, and the mean and percentiles of their response times.
fn times(times: &Histogram, seconds: f64) -> Value {
    let of = |percent: f64| (percent.to_string(), json!(times.percentile_ns(percent) as f64 / 1e3));
    json!({
        "rate": times.count() as f64 / seconds,
        "mean": times.mean_ns() / 1e3,
        "percentiles": PERCENTILES.map(of).into_iter().collect::<Map<String, Value>>(),
    })
}
