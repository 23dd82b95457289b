//! Is what was read kept, and how much? After Kim and Kim (PLOS ONE, 2020), Use of HMB as a read cache, Figure 4.
//!
//! There, one request of `s` bytes is made twice, for ever larger `s`: the second is slower once `s` does not fit. Here
//! the `s` bytes are read page by page, one at a time, since in a large request what is missing hides behind what is
//! sent; and each size has a place of its own that was not read before, instead of a fill of 512 MB before each.

use sim::Time;

use crate::bench::{Bench, SLOT, Stop, reads};
use crate::held::{Again, Held, Range, Trial, search};
use crate::place::MEMORY;
use crate::report::{Curve, Estimate, Finding, Verdict};
use crate::stats::{Threshold, bootstrap_median, median};

/// Pieces that are tried, in pages: a cache that keeps only whole pages of flash keeps nothing of smaller ones.
const PIECES: [u64; 5] = [1, 2, 4, 8, 16];
/// Pieces read twice before it is said whether the second time is faster; at least, and at most.
const PAIRS: (usize, usize) = (32, 160);
/// Part of the time that the second reading saves at least where something is kept.
const SAVES: f64 = 0.05;
/// Idle time between the first reading and the second, where the second is not faster at once: a cache in flash has to be
/// written before, and a controller does that when it has time. (Assumed: some programs, and the millisecond or so that idle
/// time takes to be known as such.)
const SETTLES: Time = Time::from_ms(5);
/// Idle time before what was bad is tried again, as many times as it was bad.
const REST: Time = Time::from_ms(2);
/// Least difference of the parts of fast and slow readings below the threshold.
const APART: f64 = 0.6;

/// Latencies of a piece's first and second reading, in microseconds.
struct Pairs {
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Pairs {
    /// Part of the first time that the second takes.
    fn part(&self) -> f64 {
        median(&mut self.second.clone()) / median(&mut self.first.clone())
    }

    /// Part of the first time that the second saves.
    fn saved(&self) -> Vec<f64> {
        self.first.iter().zip(&self.second).map(|(first, second)| (first - second) / first).collect()
    }
}

/// Finds the read cache.
///
/// # Errors
/// If the target fails or the allowance is used up.
pub fn find(bench: &mut Bench<'_>, max: u64) -> Result<Finding, Stop> {
    bench.begin("read_cache");
    let mut unclear = false;
    for pages in PIECES {
        let piece = pages * bench.page();
        let (pairs, at_once) = read_twice(bench, piece, Time::ZERO)?;
        if at_once == Verdict::Supported && pairs.part() < MEMORY {
            return measure(bench, (piece, Time::ZERO), &pairs, max);
        }
        // Not from memory. What is written to flash to be read from there may be on its way, and in the way.
        let (settled, verdict) = read_twice(bench, piece, SETTLES)?;
        match (verdict, at_once) {
            (Verdict::Supported, _) => return measure(bench, (piece, SETTLES), &settled, max),
            (_, Verdict::Supported) => return measure(bench, (piece, Time::ZERO), &pairs, max),
            (Verdict::Refuted, Verdict::Refuted) => {}
            _ => unclear = true,
        }
    }
    let largest = (PIECES[PIECES.len() - 1] * bench.page()) >> 10;
    Ok(if unclear {
        let text =
            format!("whether pieces of up to {largest} KiB are read faster the second time is lost in the noise");
        Finding::new("read_cache", Verdict::Inconclusive, text)
    } else {
        let text = format!("pieces of up to {largest} KiB that were just read are not read faster the second time");
        Finding::new("read_cache", Verdict::Refuted, text)
    })
}

/// Reads pieces twice, with `settles` between, until it is clear whether the second time is faster.
fn read_twice(bench: &mut Bench<'_>, piece: u64, settles: Time) -> Result<(Pairs, Verdict), Stop> {
    let mut pairs = Pairs { first: Vec::new(), second: Vec::new() };
    loop {
        for _ in 0..PAIRS.0 {
            // The other half has the map's entry at hand, so that the first reading does not wait for it.
            let at = bench.fresh(piece * 2);
            let requests = reads([at + piece, at, at].into_iter(), piece);
            let (first, second) = requests.split_at(if settles > Time::ZERO { 2 } else { 3 });
            let mut times = bench.run(piece as f64, first, 1)?;
            if !second.is_empty() {
                bench.wait(settles)?;
                times.extend(bench.run(piece as f64, second, 1)?);
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

/// Part of `bytes` that is fast when they are read in `piece`s a second time.
fn read_again(
    bench: &mut Bench<'_>,
    trial: Trial,
    (piece, settles): (u64, Time),
    threshold: &Threshold,
) -> Result<f64, Stop> {
    let Trial { size: bytes, again: order, bad } = trial;
    bench.wait(REST * u64::from(bad))?;
    let at = bench.fresh(bytes);
    let mut requests = reads((0..bytes / piece).map(|i| at + i * piece), piece);
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

fn measure(bench: &mut Bench<'_>, (piece, settles): (u64, Time), pairs: &Pairs, max: u64) -> Result<Finding, Stop> {
    let threshold = Threshold::between(&pairs.second, &pairs.first);
    let (cold, hit) = (median(&mut pairs.first.clone()), median(&mut pairs.second.clone()));
    let times = format!("pieces of {} KiB take {cold:.1} us the first time and {hit:.1} us the second", piece >> 10);
    let mut finding = Finding::new("read_cache", Verdict::Supported, times.clone());
    finding.numbers.extend([("first_us", cold), ("again_us", hit), ("piece_bytes", piece as f64)]);
    if threshold.index() < APART {
        finding.verdict = Verdict::Inconclusive;
        finding.evidence = format!("{times}, but single readings do not tell: how much is kept is lost in the noise");
        return Ok(finding);
    }
    let range = Range { step: piece, max: max.min(SLOT).min(bench.capacity() / 4), tolerance: 1.0 / 48.0 };
    let (confidence, mut rng) = (bench.confidence, bench.rng.clone());
    let held =
        search(range, confidence, &mut rng, &mut |trial| read_again(bench, trial, (piece, settles), &threshold))?;
    bench.rng = rng;
    let steady = held.is_steady(piece);
    let Held { kept, lost, mut points, .. } = held;
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
            finding.evidence = format!("{times}; others use it too: {} KiB are kept at least", kept >> 10);
        }
        Some(lost) => {
            finding.size = Some(Estimate { value: kept as f64, low: kept as f64, high: lost as f64, unit: "B" });
            finding.evidence = format!("{times}; {} KiB are kept, {} KiB are not", kept >> 10, lost >> 10);
        }
        None => finding.evidence = format!("{times}; {} KiB are kept, and no more were tried", kept >> 10),
    }
    Ok(finding)
}
