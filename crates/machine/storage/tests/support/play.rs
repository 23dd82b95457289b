//! Runs fio jobs on presets with changed keys.

use sim::Time;
use storage::prepare::Preparation;
use storage::record::Direction;
use storage::run::{Outcome, RunOptions, WarmUp, run};
use system::System;
use workload::Workload;

/// Loads a preset with changes, or defaults with changes if the name is empty.
pub fn system(preset: &str, sets: &[(&str, &str)]) -> System {
    match preset {
        "" => System::from_toml("drive", "title = \"drive\"", sets),
        preset => System::load(preset, sets),
    }
    .unwrap_or_else(|error| panic!("{error}"))
}

/// Runs one fio job given by its keys.
pub fn play(system: &System, job: &str, options: &RunOptions) -> Outcome {
    let workload = Workload::parse_fio("job.fio", &format!("[job]\n{job}\n")).unwrap_or_else(|e| panic!("{e}"));
    run(system, &workload, options, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns options that cut nothing off.
pub fn options(preparation: Preparation) -> RunOptions {
    RunOptions { preparation: Some(preparation), warm_up: WarmUp::Keep, ..RunOptions::default() }
}

/// Returns the number of requests that ended and their mean latency in seconds.
pub fn requests(outcome: &Outcome) -> (u64, f64) {
    let (mut ios, mut sum) = (0, 0.0);
    for job in 0..outcome.jobs.len() {
        for direction in Direction::ALL {
            let totals = outcome.recorder.totals(job, direction, Time::ZERO);
            ios += totals.ios;
            sum += totals.latencies.total.mean_ns() / 1e9 * totals.ios as f64;
        }
    }
    (ios, sum / ios as f64)
}
