//! Does the drive cache reads, and how much? After Kim and Kim (PLOS ONE, 2020), "Use of HMB as a read cache", Figure
//! 4.
//!
//! The paper issues one request of `s` bytes twice, for increasing `s`: the second is slower once `s` does not fit.
//! Here the `s` bytes are read in small chunks, one at a time, because in a large request misses hide behind the
//! transfer; and each size uses a region that was not read before, instead of a 512 MB fill before each.

use sim::Time;

use crate::measure::bench::{Bench, SLOT, Stop, reads};
use crate::measure::retention::{Again, Range, Retention, Trial, search};
use crate::place::MEMORY;
use crate::report::{Curve, Estimate, Finding, Verdict};
use crate::stats::{Threshold, bootstrap_median, median};

/// Chunk sizes to try, in pages: a cache that holds only whole flash pages never hits on smaller chunks.
const CHUNK_PAGES: [u64; 5] = [1, 2, 4, 8, 16];
/// Minimum and maximum number of chunks read twice before the comparison is decided.
const PAIRS: (usize, usize) = (32, 160);
/// Minimum relative time saved by the second read of a cached chunk.
const SAVES: f64 = 0.05;
/// Idle time between the first and second read if the second is not immediately faster: a cache in flash must first be
/// written, which a controller does when idle. (Assumed: several program times, plus the millisecond or so until a
/// controller detects idleness.)
const SETTLES: Time = Time::from_ms(5);
/// Idle time before a bad measurement is repeated, times the number of bad measurements.
const REST: Time = Time::from_ms(2);
/// Minimum difference between the fractions of fast and of slow reads below the threshold.
const APART: f64 = 0.6;

/// Latencies of the first and second read of each chunk, in microseconds.
struct Pairs {
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Pairs {
    /// Returns the time of the second read relative to the first.
    fn part(&self) -> f64 {
        median(&mut self.second.clone()) / median(&mut self.first.clone())
    }

    /// Returns the relative time saved by each second read.
    fn saved(&self) -> Vec<f64> {
        self.first.iter().zip(&self.second).map(|(first, second)| (first - second) / first).collect()
    }
}

/// Finds the read cache.
///
/// # Errors
/// If the target fails or the allowance is exhausted.
pub fn find(bench: &mut Bench<'_>, max: u64) -> Result<Finding, Stop> {
    bench.begin("read_cache");
    let mut unclear = false;
    for pages in CHUNK_PAGES {
        let chunk = pages * bench.page();
        let (pairs, at_once) = read_twice(bench, chunk, Time::ZERO)?;
        if at_once == Verdict::Supported && pairs.part() < MEMORY {
            return measure(bench, (chunk, Time::ZERO), &pairs, max);
        }
        // Not from memory. The data may be on their way to a cache in flash, and that traffic may itself cause delays.
        let (settled, verdict) = read_twice(bench, chunk, SETTLES)?;
        match (verdict, at_once) {
            (Verdict::Supported, _) => return measure(bench, (chunk, SETTLES), &settled, max),
            (_, Verdict::Supported) => return measure(bench, (chunk, Time::ZERO), &pairs, max),
            (Verdict::Refuted, Verdict::Refuted) => {}
            _ => unclear = true,
        }
    }
    let largest = (CHUNK_PAGES[CHUNK_PAGES.len() - 1] * bench.page()) >> 10;
    Ok(if unclear {
        let text = format!("noise hides whether second reads in chunks of up to {largest} KiB are faster");
        Finding::new("read_cache", Verdict::Inconclusive, text)
    } else {
        let text = format!("second reads in chunks of up to {largest} KiB are not faster");
        Finding::new("read_cache", Verdict::Refuted, text)
    })
}

/// Reads chunks twice, with `settles` idle time in between, until the comparison of the times is decided.
fn read_twice(bench: &mut Bench<'_>, chunk: u64, settles: Time) -> Result<(Pairs, Verdict), Stop> {
    let mut pairs = Pairs { first: Vec::new(), second: Vec::new() };
    loop {
        for _ in 0..PAIRS.0 {
            // A read of the other half loads the map entry, so that the first read does not wait for it.
            let at = bench.fresh(chunk * 2);
            let requests = reads([at + chunk, at, at].into_iter(), chunk);
            let (first, second) = requests.split_at(if settles > Time::ZERO { 2 } else { 3 });
            let mut times = bench.run(chunk as f64, first, 1)?;
            if !second.is_empty() {
                bench.wait(settles)?;
                times.extend(bench.run(chunk as f64, second, 1)?);
            }
            pairs.first.push(times[1]);
            pairs.second.push(times[2]);
        }
        let (low, high) = bootstrap_median(&pairs.saved(), bench.confidence, &mut bench.rng);
        let verdict = match () {
            () if low > SAVES => Verdict::Supported,
            () if high < SAVES => Verdict::Refuted,
            () => Verdict::Inconclusive,
        };
        if verdict != Verdict::Inconclusive || pairs.first.len() >= PAIRS.1 {
            return Ok((pairs, verdict));
        }
    }
}

/// Returns the fraction of `bytes` that is fast when read a second time in chunks.
fn read_again(
    bench: &mut Bench<'_>,
    trial: Trial,
    (chunk, settles): (u64, Time),
    threshold: &Threshold,
) -> Result<f64, Stop> {
    let Trial { size: bytes, again: order, bad } = trial;
    bench.wait(REST * u64::from(bad))?;
    let at = bench.fresh(bytes);
    let mut requests = reads((0..bytes / chunk).map(|i| at + i * chunk), chunk);
    bench.run(bytes as f64, &requests, 1)?;
    if settles > Time::ZERO {
        bench.wait(settles)?;
    }
    if order == Again::Opposite {
        requests.reverse();
    }
    let again = bench.run(bytes as f64, &requests, 1)?;
    Ok(threshold.fast_part(again.into_iter()))
}

fn measure(bench: &mut Bench<'_>, (chunk, settles): (u64, Time), pairs: &Pairs, max: u64) -> Result<Finding, Stop> {
    let threshold = Threshold::between(&pairs.second, &pairs.first);
    let (cold, hit) = (median(&mut pairs.first.clone()), median(&mut pairs.second.clone()));
    let times = format!("chunks of {} KiB take {cold:.1} us on first read and {hit:.1} us on second read", chunk >> 10);
    let mut finding = Finding::new("read_cache", Verdict::Supported, times.clone());
    finding.numbers.extend([("first_us", cold), ("again_us", hit), ("piece_bytes", chunk as f64)]);
    if threshold.index() < APART {
        finding.verdict = Verdict::Inconclusive;
        finding.evidence = format!("{times}, but single reads cannot be told apart: noise hides the size of the cache");
        return Ok(finding);
    }
    let range = Range { step: chunk, max: max.min(SLOT).min(bench.capacity() / 4), tolerance: 1.0 / 48.0 };
    let (confidence, mut rng) = (bench.confidence, bench.rng.clone());
    let retention =
        search(range, confidence, &mut rng, &mut |trial| read_again(bench, trial, (chunk, settles), &threshold))?;
    bench.rng = rng;
    let steady = retention.is_steady(chunk);
    let Retention { kept, lost, mut points, .. } = retention;
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    finding.curve = Some(Curve {
        x: "bytes read, then read again",
        y: "part read fast again",
        points,
        knee: lost.map(|_| kept as f64),
    });
    match lost {
        _ if kept == 0 => {
            finding.verdict = Verdict::Inconclusive;
            finding.evidence = format!("{times}, but not reliably");
        }
        Some(_) if !steady => {
            finding.evidence = format!("{times}; other users share the cache: it retains at least {} KiB", kept >> 10);
        }
        Some(lost) => {
            finding.size = Some(Estimate { value: kept as f64, low: kept as f64, high: lost as f64, unit: "B" });
            finding.evidence = format!("{times}; {} KiB are retained, {} KiB are not", kept >> 10, lost >> 10);
        }
        None => finding.evidence = format!("{times}; {} KiB are retained, the largest size tried", kept >> 10),
    }
    Ok(finding)
}
