//! Runs of one job on drives of one kind: some on each that go on until their measures are known, and a long one.

use storage::reached::{End, Reached};
use storage::record::Direction;
use storage::run::{Length, Rule, RunOptions, Until, run};
use system::System;
use workload::Workload;

use crate::jobs::{Drive, Job};

/// Half the width of the intervals, and the limit of each run.
pub const WIDTH: f64 = 0.05;
pub const REQUESTS: u64 = 1_000_000;
/// Number of runs on each drive, with requests of their own.
pub const PER_DRIVE: u64 = 10;
/// Length of a drive's long run in lengths of the longest run that it judges, and its limits in requests. A shorter one can end
/// before the drive is steady.
pub const LONGER: u64 = 10;
pub const LONG_MIN: u64 = 1_000_000;
pub const LONG_MAX: u64 = 10_000_000;
/// Width of a long run's intervals, far below those that it judges.
const LONG_WIDTH: f64 = 1e-4;
/// The requests of a long run have this seed and the drive's, added.
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
    /// Whether the drive moved data that were read often.
    moved: bool,
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
    // A run of constant times reaches the width; the others end at their limit.
    let long = |of: Seeds, longest: u64| -> Vec<(String, f64)> {
        let play = |requests| played(&system, job, of, Until { width: LONG_WIDTH, requests });
        let runs = lengths(job, longest).into_iter().map(play).filter(|run| !(job.placed && run.moved));
        let values = runs.map(|run| run.measures().map(|(name, value, ..)| (name, value)).collect::<Vec<_>>());
        values.into_iter().find(|values| !values.is_empty()).unwrap_or_default()
    };
    let (mut runs, mut held): (Vec<Run>, Vec<(String, Held)>) = (Vec::new(), Vec::new());
    // Where the seed places the hot data, each seed needs a long run of its own.
    let on_drive = if job.placed { 1 } else { PER_DRIVE };
    for drive in (1..=seeds).step_by(on_drive as usize) {
        let of = |seed| Seeds { drive, requests: (!job.placed).then_some(seed) };
        let until = Until { width: WIDTH, requests: REQUESTS };
        let found: Vec<Run> = (drive..drive + on_drive).map(|seed| played(&system, job, of(seed), until)).collect();
        let longest = found.iter().map(|run| run.requests).max().unwrap_or_default();
        for (name, value) in long(of(LONG_SEED + drive), longest) {
            let all = found.iter().flat_map(|run| run.measures().filter(|(of, ..)| *of == name));
            for (_, _, low, high) in all.filter(|(.., high)| high.is_finite()) {
                let found = Held { held: u32::from(low <= value && value <= high), all: 1 };
                match held.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, held)) => held.add(found),
                    None => held.push((name.clone(), found)),
                }
            }
        }
        runs.extend(found);
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

/// Returns the lengths of a long run to try, in order, until one has values. Longer ones find the end of the warm-up. Where the
/// hot data have a place, the long run ends before the drive moves them: shorter ones do.
fn lengths(job: &Job, longest: u64) -> Vec<u64> {
    let first = LONGER * longest;
    if job.placed {
        return vec![first, first / 2, first / 4];
    }
    let first = first.clamp(LONG_MIN, LONG_MAX);
    std::iter::successors(Some(first), |length| (*length < LONG_MAX).then_some(2 * length)).collect()
}

/// Seeds of a run: the drive's, and that of its requests, if it is another.
#[derive(Clone, Copy)]
struct Seeds {
    drive: u64,
    requests: Option<u64>,
}

fn played(system: &System, job: &Job, seeds: Seeds, until: Until) -> Run {
    let own = seeds.requests.map_or(String::new(), |seed| format!("randseed={seed}\n"));
    let text = format!("[job]\nioengine=libaio\nnorandommap\n{own}{}\n", job.keys);
    let workload = Workload::parse_fio(job.name, &text).unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions {
        seed: seeds.drive,
        preparation: Some(job.preparation),
        length: Length::Until(until, Rule::Always),
        ..RunOptions::default()
    };
    let outcome =
        run(system, &workload, &options, &mut |_| true).unwrap_or_else(|error| panic!("{}: {error}", job.name));
    let moved = outcome.whole_run().ftl.refreshed > 0;
    let reached = outcome.reached.expect("the run goes on until its measures are known");
    Run { reached, requests: outcome.requests, moved }
}
