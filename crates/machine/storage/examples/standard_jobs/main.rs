//! Runs ten standard jobs on each drive preset, compares the results with figures stated for products of its class, and
//! prints `docs/standard-jobs.md` (`make standard-jobs`). Fails if a figure outside its class or a falling curve has no
//! line in `reasons.toml`, or if a line there has no such figure.

mod before;
mod bursts;
mod classes;
mod jobs;
#[path = "../../tests/support/presets.rs"]
#[allow(dead_code, reason = "shrinking them is the tests'")]
mod presets;
mod reasons;

use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use before::Before;
use classes::{CLASSES, Class, MARGIN, class_of};
use ftl::section::Group;
use jobs::{CURVES, DEPTHS, JOBS, Job, Measured, falls, measure};
use presets::drives;
use reasons::{Reason, Reasons};
use storage::prepare::Preparation;
use system::System;

/// Number of requests of a job, of a point of a curve, and of a sequential job.
const REQUESTS: u64 = 20_000;
const POINT: u64 = 8_000;
const SEQUENTIAL: u64 = 3_000;

/// Footnotes in order of appearance, the reasons used, and figures without a reason.
#[derive(Default)]
struct Notes {
    texts: Vec<String>,
    used: Vec<(String, String)>,
    missing: Vec<String>,
}

impl Notes {
    /// Returns the footnote mark for `preset` and the job or curve `of`, if `reasons` explains it.
    fn mark(&mut self, reasons: &[Reason], preset: &str, of: &str, found: &str) -> String {
        let Some(Reason { why, .. }) = reasons::find(reasons, preset, of) else {
            self.missing.push(format!("{preset}, {of}: {found}, and reasons.toml does not say why"));
            return " [?]".to_owned();
        };
        self.used.push((preset.to_owned(), of.to_owned()));
        let number = self.texts.iter().position(|text| text == why).unwrap_or_else(|| {
            self.texts.push(why.clone());
            self.texts.len() - 1
        });
        format!(" [{}]", number + 1)
    }

    /// Lists reasons for figures that need none.
    fn unused(&self, reasons: &Reasons) -> Vec<String> {
        let used = |pair: &(&str, &str)| self.used.iter().any(|(preset, of)| (preset.as_str(), of.as_str()) == *pair);
        let pairs = reasons.pairs().filter(|pair| !used(pair));
        pairs.map(|(preset, of)| format!("{preset}, {of}: reasons.toml explains what is as it should be")).collect()
    }
}

fn is_sequential(job: &Job) -> bool {
    !job.rw.starts_with("rand")
}

/// Formats a number with three significant digits.
fn number(value: f64) -> String {
    match value {
        v if v >= 100_000.0 => format!("{:.0}k", v / 1e3),
        v if v >= 10_000.0 => format!("{:.1}k", v / 1e3),
        v if v >= 1_000.0 => format!("{:.2}k", v / 1e3),
        v => format!("{v:.0}"),
    }
}

fn time(ns: u64) -> String {
    match ns as f64 {
        ns if ns >= 1e6 => format!("{:.3} ms", ns / 1e6),
        ns if ns >= 1e5 => format!("{:.0} us", ns / 1e3),
        ns => format!("{:.1} us", ns / 1e3),
    }
}

/// The figures of a drive.
struct Figures {
    preset: &'static str,
    title: String,
    jobs: Vec<Measured>,
    /// Requests per second of each curve, by [`DEPTHS`].
    curves: Vec<Vec<f64>>,
}

fn figures(preset: &'static str) -> Figures {
    let system = System::load(preset, &[]).unwrap_or_else(|error| panic!("{error}"));
    let requests = |job: &Job| match job.preparation {
        Preparation::Steady => steady_requests(&system),
        _ if is_sequential(job) => SEQUENTIAL,
        _ => REQUESTS,
    };
    let jobs: Vec<Measured> = JOBS.iter().map(|job| measure(&system, job, job.depth, requests(job))).collect();
    let rate = |job, depth: &u32| measure(&system, job, *depth, POINT).iops;
    let curves: Vec<Vec<f64>> =
        CURVES.iter().map(|job| DEPTHS.iter().map(|depth| rate(job, depth)).collect()).collect();
    Figures { preset, title: system.title.clone(), jobs, curves }
}

/// Returns the number of requests that write two superblocks: the host may run ahead of collection by an eighth of one
/// (`ftl::pacing`), and by the free space of the SLC cache.
fn steady_requests(system: &System) -> u64 {
    let g = system.geometry();
    let block = u64::from(g.pages * g.units_per_page() * g.planes);
    let dies = if system.ftl.group == Group::Drive { u64::from(g.all_dies()) } else { 1 };
    (2 * block * dies).clamp(60_000, 1_000_000)
}

/// Measures all drives, on as many threads as there are cores. Returns the figures in the order of `drives`.
fn all_figures(drives: &[&'static str]) -> Vec<Figures> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                while let Some(preset) = drives.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let figures = figures(preset);
                    found.lock().expect("no thread panicked").push(figures);
                }
            });
        }
    });
    let mut found = found.into_inner().expect("no thread panicked");
    found.sort_by_key(|figures| drives.iter().position(|preset| *preset == figures.preset));
    found
}

/// Formats a row of the page.
fn row(preset: &str, job: &Job, found: Measured, before: &Before, (reasons, notes): (&Reasons, &mut Notes)) -> String {
    let sequential = is_sequential(job);
    let value = if sequential { found.bytes_s / 1e6 } else { found.iops };
    let mut reached = if value == 0.0 {
        "too short to tell".to_owned()
    } else if sequential {
        format!("{value:.0} MB/s")
    } else {
        number(value)
    };
    let stated = class_of(preset).stated.iter().find(|(name, ..)| *name == job.name);
    let range = stated.map_or(String::new(), |(_, low, high)| match sequential {
        true if low == high => format!("{low:.0} MB/s"),
        true => format!("{low:.0} to {high:.0} MB/s"),
        false if low == high => number(*low),
        false => format!("{} to {}", number(*low), number(*high)),
    });
    if stated.is_some_and(|(_, low, high)| value < low / MARGIN || value > high * MARGIN) {
        let of = format!("{reached}, stated {range}");
        reached += &notes.mark(&reasons.outlier, preset, job.name, &of);
    }
    if !found.steady {
        reached += " (not steady)";
    }
    let [median, p99, p999] = found.tails.map(time);
    let before = before.of(preset, job.name);
    format!("| {} | {reached} | {range} | {before} | {median} | {p99} | {p999} |\n", job.name)
}

fn curve(preset: &str, job: &Job, rates: &[f64], reasons: &Reasons, notes: &mut Notes) -> String {
    let cells: String = rates.iter().map(|rate| format!(" {} |", number(*rate))).collect();
    let falling = falls(rates);
    let mark = if falling.is_empty() {
        String::new()
    } else {
        notes.mark(&reasons.fall, preset, job.name, &format!("falls at {falling:?}:{cells}"))
    };
    format!("| `{preset}`{mark} |{cells}\n")
}

fn main() -> ExitCode {
    let only: Vec<String> = std::env::args().skip(1).collect();
    let (mut notes, mut sections, mut curves) = (Notes::default(), String::new(), CURVES.map(|_| String::new()));
    let mut drives = drives();
    drives.retain(|preset| only.is_empty() || only.iter().any(|name| name == preset));
    let figures = all_figures(&drives);
    let (reasons, before) = (Reasons::read(), Before::read());
    for Figures { preset, title, jobs, curves: rates } in figures {
        sections += &format!("\n### `{preset}`\n\n{title}.\n\n");
        sections += "| job | reached | data sheets | before | median | 99 % | 99.9 % |\n";
        sections += "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
        for (job, found) in JOBS.iter().zip(jobs) {
            sections += &row(preset, job, found, &before, (&reasons, &mut notes));
        }
        for ((job, rows), rates) in CURVES.iter().zip(&mut curves).zip(&rates) {
            *rows += &curve(preset, job, rates, &reasons, &mut notes);
        }
    }
    let names = |class: &Class| class.presets.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let classes: String = CLASSES.iter().map(|class| format!("* {}: {}.\n", names(class), class.source)).collect();
    let texts: String = notes.texts.iter().enumerate().map(|(n, text)| format!("{}. {text}\n", n + 1)).collect();
    let [reads, writes] = curves;
    print!(
        include_str!("page.md"),
        sections = sections,
        bursts = bursts::rows(&drives),
        reads = reads,
        writes = writes,
        classes = classes,
        notes = texts
    );
    let unused = if only.is_empty() { notes.unused(&reasons) } else { Vec::new() };
    for fault in notes.missing.iter().chain(&unused) {
        eprintln!("standard_jobs: {fault}");
    }
    if notes.missing.is_empty() && unused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
