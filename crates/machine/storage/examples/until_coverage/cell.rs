//! Runs of one job on one drive: a long one, and one per seed that goes on until its measures are known.

use storage::reached::{End, Reached};
use storage::record::Direction;
use storage::run::{Length, Rule, RunOptions, Until, run};
use system::System;
use workload::Workload;

use crate::jobs::{Drive, Job};

/// Half the width of the intervals, the limit of each run, and the length of the long run.
pub const WIDTH: f64 = 0.05;
pub const REQUESTS: u64 = 1_000_000;
pub const LONG: u64 = 5_000_000;
/// Seed of the long run.
const LONG_SEED: u64 = 1_000_003;

/// Intervals that hold the long run's value, and all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    pub held: u32,
    pub all: u32,
}

impl Held {
    pub fn add(&mut self, other: Held) {
        (self.held, self.all) = (self.held + other.held, self.all + other.all);
    }

    pub fn part(&self) -> f64 {
        f64::from(self.held) / f64::from(self.all)
    }

    pub fn text(&self) -> String {
        format!("{} of {}", self.held, self.all)
    }
}

/// Results of one job on one drive.
pub struct Cell {
    /// By direction and measure.
    pub held: Vec<(String, Held)>,
    /// Runs that reached the width.
    pub reached: u32,
    /// Medians over the seeds.
    pub requests: u64,
    pub cycles: Option<f64>,
}

struct Run {
    reached: Reached,
    requests: u64,
}

impl Run {
    fn measures(&self) -> impl Iterator<Item = (String, f64, f64, f64)> {
        self.reached.known.measures.iter().map(|(direction, interval)| {
            let of = if *direction == Direction::Read { "read" } else { "write" };
            (format!("{of} {}", interval.measure.name()), interval.value, interval.low, interval.high)
        })
    }
}

pub fn measure(drive: &Drive, job: &Job, seeds: u64) -> Cell {
    let system =
        System::load(drive.0, &[("scale", &format!("1/{}", drive.1))]).unwrap_or_else(|error| panic!("{error}"));
    let play = |seed: u64, until: Until| played(&system, job, seed, until);
    // No interval is this narrow, so that the run ends at its limit.
    let long = |seed, requests| -> Vec<(String, f64)> {
        let run = play(seed, Until { width: 1e-9, requests });
        run.measures().map(|(name, value, ..)| (name, value)).collect()
    };
    let common = if job.placed { Vec::new() } else { long(LONG_SEED, LONG) };
    let (mut runs, mut held): (Vec<Run>, Vec<(String, Held)>) = (Vec::new(), Vec::new());
    for seed in 1..=seeds {
        let run = play(seed, Until { width: WIDTH, requests: REQUESTS });
        let own = if job.placed { long(seed, 10 * run.requests) } else { Vec::new() };
        for (name, value) in common.iter().chain(&own) {
            let Some((_, _, low, high)) = run.measures().find(|(of, ..)| of == name) else { continue };
            if high.is_finite() {
                let found = Held { held: u32::from(low <= *value && *value <= high), all: 1 };
                match held.iter_mut().find(|(known, _)| known == name) {
                    Some((_, held)) => held.add(found),
                    None => held.push((name.clone(), found)),
                }
            }
        }
        runs.push(run);
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    Cell {
        held,
        reached: runs.iter().filter(|run| run.reached.end == End::Intervals).count() as u32,
        requests: median(runs.iter().map(|run| run.requests as f64).collect()).unwrap_or_default() as u64,
        cycles: median(runs.iter().filter_map(|run| run.reached.known.cycles).collect()),
    }
}

fn played(system: &System, job: &Job, seed: u64, until: Until) -> Run {
    let text = format!("[job]\nioengine=libaio\nnorandommap\n{}\n", job.keys);
    let workload = Workload::parse_fio(job.name, &text).unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions {
        seed,
        preparation: Some(job.preparation),
        length: Length::Until(until, Rule::Always),
        ..RunOptions::default()
    };
    let outcome =
        run(system, &workload, &options, &mut |_| true).unwrap_or_else(|error| panic!("{}: {error}", job.name));
    Run { requests: outcome.requests, reached: outcome.reached.expect("the run goes on until its measures are known") }
}
