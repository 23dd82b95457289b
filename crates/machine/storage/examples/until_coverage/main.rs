//! How often the 95 % intervals of runs that go on until their measures are known hold the value of a long run.
//!
//! `until_coverage [SEEDS [DRIVE...]]`: ten jobs on each drive, a scaled copy, with `SEEDS` seeds (40), a multiple of ten. Prints
//! `docs/until-coverage.md` (`make until-coverage`). Fails if fewer than 93 % of all intervals, or fewer than 80 % of those
//! of one measure of one job, hold the value.

mod cell;
mod jobs;

use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cell::{Cell, Held, LONG_MAX, LONG_MIN, LONGER, PER_DRIVE, REQUESTS, WIDTH, measure};
use jobs::{DRIVES, Drive, JOBS, Job};

/// Minimum part of all intervals, and of those of a cell, that hold the long run's value.
const ALL_MIN: f64 = 0.93;
const CELL_MIN: f64 = 0.80;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let seeds: u64 = arguments.next().map_or(40, |seeds| seeds.parse().expect("a number of seeds"));
    let only: Vec<String> = arguments.collect();
    let drives: Vec<&Drive> =
        DRIVES.iter().filter(|drive| only.is_empty() || only.iter().any(|o| o == drive.0)).collect();
    let cells = measured(&drives, seeds);
    let mut rows = String::new();
    let mut all = Held::default();
    let mut low = Vec::new();
    for (drive, job, cell) in &cells {
        rows += &row(drive, job, cell, seeds);
        for (name, held) in &cell.held {
            all.add(*held);
            if held.part() < CELL_MIN {
                low.push(format!("{} at 1/{}, {}: {name}: {}", drive.0, drive.1, job.name, held.text()));
            }
        }
    }
    let below = match low.as_slice() {
        [] => String::new(),
        cells => format!(" Below {:.0} %: {}.", 100.0 * CELL_MIN, cells.join("; ")),
    };
    let summary = format!("{} of {} intervals hold it: {:.1} %.{below}", all.held, all.all, 100.0 * all.part());
    print!(
        include_str!("page.md"),
        seeds = seeds,
        per_drive = PER_DRIVE,
        drives = seeds / PER_DRIVE,
        width = 100.0 * WIDTH,
        requests = REQUESTS / 1_000_000,
        longer = LONGER,
        long_min = LONG_MIN / 1_000_000,
        long_max = LONG_MAX / 1_000_000,
        summary = summary,
        rows = rows
    );
    for cell in &low {
        eprintln!("until_coverage: {cell}");
    }
    eprintln!("until_coverage: {summary}");
    if low.is_empty() && all.part() >= ALL_MIN { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures every job on every drive, on as many threads as there are cores.
fn measured<'a>(drives: &[&'a Drive], seeds: u64) -> Vec<(&'a Drive, &'static Job, Cell)> {
    let work: Vec<(&Drive, &Job)> = drives.iter().flat_map(|drive| JOBS.iter().map(|job| (*drive, job))).collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((drive, job)) = work.get(at) else { break };
                    let cell = measure(drive, job, seeds);
                    eprint!("{at}: {}", row(drive, job, &cell, seeds));
                    found.lock().expect("no thread panicked").push((at, *drive, *job, cell));
                }
            });
        }
    });
    let mut found = found.into_inner().expect("no thread panicked");
    found.sort_by_key(|(at, ..)| *at);
    found.into_iter().map(|(_, drive, job, cell)| (drive, job, cell)).collect()
}

fn row(drive: &Drive, job: &Job, cell: &Cell, seeds: u64) -> String {
    let measures = ["read iops", "read p50_ns", "read p99_ns", "write iops", "write p50_ns", "write p99_ns"];
    let cells: String = measures
        .iter()
        .map(|name| match cell.held.iter().find(|(known, _)| known == name) {
            Some((_, held)) => format!(" {} |", held.text()),
            None => " |".to_owned(),
        })
        .collect();
    let cycles = cell.cycles.map_or(String::new(), |cycles| format!("{cycles:.0}"));
    format!(
        "| `{}` 1/{} | {} | {} of {seeds} | {} | {cycles} |{cells}\n",
        drive.0,
        drive.1,
        job.name,
        cell.reached,
        cell.requests / 1000
    )
}
