//! Measures the accuracy of the probe on randomly drawn drives.
//!
//! `accuracy DRIVES SEED... [--each]` prints a table per seed; with `--each` also every wrong finding.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use probe::{Options, Place, Report, probe};

#[path = "../tests/support/drawn.rs"]
mod drawn;
use drawn::{Drive, Judged};

const INTRODUCTION: &str = "# How often the probe is right

The drives are drawn at random (`crates/doors/probe/tests/support/drawn.rs`); the probe does not know their parameters. They have 2 to
8 GiB, written once or in steady state; 2 to 32 dies with one to four planes, reads of 40 to 90 us, programs of 0.3 ms and more;
mapping units of 4 to 16 KiB; no read cache or one of 16 KiB to 4 MiB; no write buffer or one of 16 KiB to 4 MiB; and a mapping
cache for the whole map or for 4 to 1024 units. In some drives one of these is in host memory. Flash accepts at most a third of
the link's bandwidth: if it kept up, a buffer would never fill, and the probe would report that. Completions are noticed late,
with a standard deviation of 1 to 8 us, and up to 1 % of them much later (0.1 to 3 ms on average). Half of the drives pause every 2
to 20 ms for 20 to 500 us. On three of ten, another program writes every 4 to 40 ms, so that a full drive collects garbage
meanwhile. A third of the drives' own read caches are in SLC flash, whose pages are read in 0.35 to 0.6 of the normal time; the
other two thirds are in SRAM or DRAM of the controller, which cannot be distinguished from outside.

A size is right within 10 % or one page of the drive's map, whichever is more. The tests were developed on other seeds, with one
exception: waiting for copies in flash was fixed with these seeds in sight. (Seed 3001, evaluated once, afterwards: presence 99.9 %,
sizes 96.4 %, wrong 0.1 %.) Written by `make probe-accuracy`.
";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let each = arguments.iter().any(|argument| argument == "--each");
    let numbers: Vec<u64> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let [drives, seeds @ ..] = &numbers[..] else { panic!("expected: accuracy DRIVES SEED...") };
    print!("{INTRODUCTION}");
    for seed in seeds {
        let all = probe_all(*drives, *seed);
        table(*drives, *seed, &all);
        if each {
            for (number, report) in all.iter().enumerate() {
                explain(&Drive::draw(*seed, number as u64), number, report);
            }
        }
    }
}

/// The reports of all drives in order.
fn probe_all(drives: u64, seed: u64) -> Vec<Report> {
    let (next, done) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= drives {
                        return;
                    }
                    let options = Options { keep_samples: false, seed: number, ..Options::default() };
                    let mut target = Drive::draw(seed, number).target();
                    let report = probe(&mut target, &options, &mut |_| true).expect("a simulated drive does not fail");
                    done.lock().expect("no thread panicked").push((number, report));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panicked");
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, report)| report).collect()
}

fn table(drives: u64, seed: u64, reports: &[Report]) {
    println!("\n## Seed {seed}, {drives} drives\n");
    let mut totals = [0u64; 5];
    println!("| structure | truth | found, size right | size open | size wrong | found absent | left open |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (at, what) in ["read_cache", "write_buffer", "mapping_cache"].into_iter().enumerate() {
        for there in [true, false] {
            let mut counts = [0u64; 5];
            for (number, report) in reports.iter().enumerate() {
                let truth = &Drive::draw(seed, number as u64).truths[at];
                assert_eq!(truth.about, what);
                if truth.size.is_some() == there {
                    let column = match (truth.judge(report), there) {
                        (Judged::Right, true) => 0,
                        (Judged::Unsized, _) => 1,
                        (Judged::WrongSize, _) => 2,
                        (Judged::Wrong, true) | (Judged::Right, false) => 3,
                        (Judged::Wrong, false) => 2,
                        (Judged::Open, _) => 4,
                    };
                    counts[column] += 1;
                }
            }
            let [right, without, wrong, absent, open] = counts;
            let truth = if there { "present" } else { "absent" };
            println!("| {what} | {truth} | {right} | {without} | {wrong} | {absent} | {open} |");
            let sum = if there {
                [right + without + wrong, right, wrong + absent, right + without + wrong + absent + open]
            } else {
                [absent, 0, wrong + without, 0]
            };
            let all = right + without + wrong + absent + open;
            totals = [totals[0] + all, totals[1] + sum[0], totals[2] + sum[3], totals[3] + sum[1], totals[4] + sum[2]];
        }
    }
    let [all, presence, there, sized, wrong] = totals;
    let part = |of: u64, all: u64| format!("{of} of {all} ({:.1} %)", 100.0 * of as f64 / all.max(1) as f64);
    println!("\n- Presence was right in {}.", part(presence, all));
    println!("- Sizes of present structures were right in {}.", part(sized, there));
    println!("- Findings were wrong in {}.", part(wrong, all));
    places(drives, seed, reports);
    let written: Vec<u64> = reports.iter().map(|report| report.spent.written_bytes >> 20).collect();
    let mean = written.iter().sum::<u64>() / written.len().max(1) as u64;
    println!("- A probe wrote {mean} MiB on average, {} MiB at most.", written.iter().max().unwrap_or(&0));
}

/// Prints the places that were found, by actual place.
fn places(drives: u64, seed: u64, reports: &[Report]) {
    const PLACES: [Option<Place>; 5] =
        [Some(Place::HostMemory), Some(Place::Controller), Some(Place::Memory), Some(Place::Slc), None];
    println!("\n| actual place | found in host memory | controller | memory | flash (SLC) | left open |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let (mut right, mut wrong, mut open) = (0, 0, 0);
    for (name, place) in ["host memory", "controller", "memory", "flash (SLC)"].into_iter().zip(PLACES) {
        let mut counts = [0u64; 5];
        for number in 0..drives {
            for truth in Drive::draw(seed, number).truths.iter().filter(|truth| truth.place == place) {
                if let Some(reported) = truth.reported_place(&reports[number as usize]) {
                    counts[PLACES.iter().position(|each| *each == reported).expect("all places")] += 1;
                    match reported {
                        None => open += 1,
                        _ if reported == place => right += 1,
                        _ => wrong += 1,
                    }
                }
            }
        }
        let [host, controller, memory, slc, none] = counts;
        println!("| {name} | {host} | {controller} | {memory} | {slc} | {none} |");
    }
    println!("\n- Places were right in {right}, wrong in {wrong}, left open in {open}.");
}

fn explain(drive: &Drive, number: usize, report: &Report) {
    for truth in &drive.truths {
        let judged = truth.judge(report);
        let place = truth
            .reported_place(report)
            .flatten()
            .filter(|reported| truth.place.is_some_and(|place| place != *reported));
        if judged != Judged::Right || place.is_some() {
            println!("{number}: {judged:?} {place:?} {truth:?}");
            for finding in report.findings.iter().filter(|finding| finding.about == truth.about) {
                println!("    {:?} {:?} {}", finding.verdict, finding.size, finding.evidence);
                println!("    {:?}", finding.numbers);
            }
            println!("    {}", drive.text.replace('\n', " "));
        }
    }
}
