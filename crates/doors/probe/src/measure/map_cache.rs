//! How much of the mapping table is cached, and in which units? After Kim and Kim (PLOS ONE, 2020), "Use of HMB as a
//! mapping table cache", Figure 9.
//!
//! The paper reads one block in each of `d` sections of the drive, for increasing `d`. A single pass shows nothing,
//! since only a second access can hit a cached entry. The sections are therefore read twice and the second pass is
//! measured, at a different block than the first so that cached data are not mistaken for a cached entry. The number of
//! bytes that one unit of the map covers shows in a walk over the drive: the first read in each unit is slow.

use sim::Time;

use crate::measure::bench::{Bench, Stop, reads};
use crate::measure::retention::{Again, Range, Retention, Trial, search};
use crate::report::{Curve, Estimate, Finding, Point, Verdict};
use crate::stats::{Threshold, median, wilson};

/// The walks: step and number of reads. Together they detect units that cover 32 KiB to 1 GiB.
const WALKS: [(u64, u64); 2] = [(16 << 10, 4096), (1 << 20, 4096)];
/// Maximum number of walks per step if the result is unclear.
const WALKS_AGAIN: u32 = 4;
/// Idle time before a bad measurement is repeated, times the number of bad measurements.
const REST: Time = Time::from_ms(2);
/// Queue depth of the first pass if there are many times as many sections.
const WARM_DEPTH: u32 = 8;
/// Number of passes over spread sections, as many as are cached when adjacent, before the search for a smaller number
/// begins; and the fast fraction of a pass from which their location counts as irrelevant.
const SPREAD_TRIES: u32 = 3;
const SPREAD_KEPT: f64 = 0.6;
/// Minimum relative increase of the latency of a read that waits for the map.
const LONGER: f64 = 0.15;
/// Bytes of a map entry for a 4 KiB page, as in nearly all drives (the paper assumes the same).
pub const ENTRY_BYTES: u64 = 4;

/// The result of a walk that found units.
struct Walk {
    /// Bytes that a unit covers.
    covers: u64,
    slow: Vec<f64>,
    fast: Vec<f64>,
    curve: Vec<Point>,
}

/// Finds the mapping cache: its size in units and bytes, and the bytes that a unit covers.
///
/// `cached_us` is the latency, in microseconds, of a read that did not wait for the map in another state of the drive.
/// If no read is slower than others now, all of them may be waiting.
///
/// # Errors
/// If the target fails or the allowance is exhausted.
pub fn find(bench: &mut Bench<'_>, cached_us: Option<f64>) -> Result<Vec<Finding>, Stop> {
    bench.begin("mapping_cache");
    let mut clear = true;
    for (step, count) in WALKS {
        let count = count.min(bench.capacity() / step);
        let (mut nothing, mut unclear) = (0, 0);
        for _ in 0..WALKS_AGAIN {
            match walk(bench, step, count)? {
                Seen::Units(walk) => return measure(bench, &walk),
                Seen::Nothing(each) if cached_us.is_some_and(|cached_us| each > cached_us * (1.0 + LONGER)) => {
                    let text = format!(
                        "every read takes {each:.1} us, as long as reads that wait for the map: no entry is cached"
                    );
                    let mut finding = Finding::new("mapping_cache", Verdict::Refuted, text);
                    finding.numbers.insert("wait_us", each);
                    return Ok(vec![finding]);
                }
                Seen::Nothing(_) => {
                    nothing += 1;
                }
                Seen::Unclear => unclear += 1,
            }
            if nothing > unclear {
                break;
            }
        }
        clear &= nothing > unclear;
    }
    Ok(vec![if clear {
        let text = "reads of a walk over the drive are not periodically slower: the whole map is cached";
        Finding::new("mapping_cache", Verdict::Refuted, text.to_owned())
    } else {
        let text = "some reads of a walk over the drive wait longer, but without a clear period".to_owned();
        Finding::new("mapping_cache", Verdict::Inconclusive, text)
    }])
}

enum Seen {
    Units(Walk),
    /// No period has slower reads; this is the median latency.
    Nothing(f64),
    Unclear,
}

/// Reads a block every `step` bytes, `count` times, from an aligned start, and searches for a period of slow reads.
fn walk(bench: &mut Bench<'_>, step: u64, count: u64) -> Result<Seen, Stop> {
    let (span, block) = ((step * count).next_power_of_two(), bench.block());
    let from = bench.rng.below((bench.capacity() / span).max(1)) * span;
    let count = count.min((bench.capacity() - from) / step);
    let times = bench.run(step as f64, &reads((0..count).map(|i| from + i * step), block), 1)?;
    let curve = times.iter().enumerate().map(|(i, t)| Point { x: (i as u64 * step) as f64, y: *t }).collect();
    let middle = median(&mut times.clone());
    let (mut every, mut none) = (2, true);
    while every <= count / 4 {
        let at = |first: bool| {
            let chosen = times.iter().enumerate().filter(move |(i, _)| (*i as u64).is_multiple_of(every) == first);
            chosen.map(|(_, time)| *time).collect::<Vec<f64>>()
        };
        let (slow, fast) = (at(true), at(false));
        let part = |of: &[f64], bound: f64| {
            let above = of.iter().filter(|time| **time > bound).count() as u64;
            wilson(above, of.len() as u64, bench.confidence)
        };
        // Most first reads of a unit are slow. With half the true period only every second one is.
        let bound = libm::sqrt(median(&mut slow.clone()) * median(&mut fast.clone()));
        if bound > middle * libm::sqrt(1.0 + LONGER) && part(&slow, bound).0 > 0.6 && part(&fast, bound).1 < 0.4 {
            return Ok(Seen::Units(Walk { covers: every * step, slow, fast, curve }));
        }
        none &= slow.len() < 16 || part(&slow, middle * (1.0 + LONGER)).1 < 0.75;
        every *= 2;
    }
    Ok(if none { Seen::Nothing(middle) } else { Seen::Unclear })
}

/// The layout of the visited sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Adjacent, one per unit.
    Adjacent,
    /// As far apart as the drive permits, as in the paper.
    Spread,
}

/// Visits `sections` twice and returns the fast fraction of the second pass. Sections begin at multiples of `covers`
/// bytes.
fn visit(bench: &mut Bench<'_>, trial: Trial, covers: u64, layout: Layout, threshold: &Threshold) -> Result<f64, Stop> {
    let Trial { size: sections, again: order, bad } = trial;
    bench.wait(REST * u64::from(bad))?;
    let (all, block) = (bench.capacity() / covers, bench.block());
    // Two blocks in each unit, a quarter of the unit apart. Their place in the unit is another each time: on a small drive
    // a large read cache still has the blocks of former visits, and those of the walks, which began at the same places.
    let blocks = covers / block;
    let start = bench.rng.below(all * blocks);
    let (from, at) = (start / blocks, start % blocks);
    let apart = if layout == Layout::Spread { all / sections } else { 1 };
    let visits = |at: u64| reads((0..sections).map(|i| (from + i * apart) % all * covers + at % blocks * block), block);
    // Several at a time, to leave less time for foreign requests in between.
    let depth = if sections >= 16 * u64::from(WARM_DEPTH) { WARM_DEPTH } else { 1 };
    bench.run(sections as f64, &visits(at), depth)?;
    let mut second = visits(at + blocks / 4);
    if order == Again::Opposite {
        second.reverse();
    }
    let again = bench.run(sections as f64, &second, 1)?;
    Ok(threshold.fast_part(again.into_iter()))
}

/// Returns how many of `kept` sections, which are cached when adjacent, are cached when spread over the drive. The
/// number is smaller if the cache evicts larger groups than its units, or is set-associative.
fn spread(bench: &mut Bench<'_>, kept: u64, covers: u64, threshold: &Threshold) -> Result<u64, Stop> {
    let range = Range { step: 1, max: kept, tolerance: 1.0 / 50.0 };
    let measure = |bench: &mut Bench<'_>, trial| visit(bench, trial, covers, Layout::Spread, threshold);
    for bad in 0..SPREAD_TRIES {
        if measure(bench, Trial { size: kept, again: Again::Same, bad })? >= SPREAD_KEPT {
            return Ok(kept);
        }
    }
    let (confidence, mut rng) = (bench.confidence, bench.rng.clone());
    let retention = search(range, confidence, &mut rng, &mut |trial| measure(bench, trial))?;
    bench.rng = rng;
    Ok(retention.kept)
}

fn measure(bench: &mut Bench<'_>, walk: &Walk) -> Result<Vec<Finding>, Stop> {
    let covers = walk.covers;
    let threshold = Threshold::between(&walk.fast, &walk.slow);
    let (wait, cached_us) = (median(&mut walk.slow.clone()), median(&mut walk.fast.clone()));
    let unit_bytes = covers / 4096 * ENTRY_BYTES;
    let mut unit = Finding::new(
        "mapping_unit",
        Verdict::Supported,
        format!("the first read in every {} KiB takes {wait:.1} us, the others {cached_us:.1} us", covers >> 10),
    );
    let exactly = covers as f64;
    unit.size = Some(Estimate { value: exactly, low: exactly, high: exactly, unit: "B covered" });
    unit.numbers.extend([("wait_us", wait), ("at_hand_us", cached_us), ("unit_bytes_assumed", unit_bytes as f64)]);
    unit.curve = Some(Curve {
        x: "bytes walked",
        y: "latency, us",
        points: walk.curve.iter().copied().take(512).collect(),
        knee: Some(exactly),
    });
    let all = bench.capacity() / covers;
    let range = Range { step: 1, max: all, tolerance: 1.0 / 200.0 };
    let (confidence, mut rng) = (bench.confidence, bench.rng.clone());
    let retention =
        search(range, confidence, &mut rng, &mut |trial| visit(bench, trial, covers, Layout::Adjacent, &threshold))?;
    bench.rng = rng;
    let steady = retention.is_steady(1);
    let Retention { kept, lost, mut points, .. } = retention;
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let mut finding = Finding::new("mapping_cache", Verdict::Supported, String::new());
    finding.numbers.extend([
        ("wait_us", wait),
        ("at_hand_us", cached_us),
        ("covers_bytes", covers as f64),
        ("reach_bytes", (kept * covers) as f64),
        ("bytes_assumed", (kept * unit_bytes) as f64),
    ]);
    finding.curve = Some(Curve {
        x: "sections read, then read again",
        y: "part read fast again",
        points,
        knee: lost.map(|_| kept as f64),
    });
    match lost {
        Some(_) if kept == 0 => {
            finding.verdict = Verdict::Inconclusive;
            finding.evidence = "a walk shows units, but none is still cached when it is read again".to_owned();
        }
        Some(_) if !steady => {
            finding.evidence = format!("other users share the cache: it holds the entries of at least {kept} sections");
        }
        Some(lost) => {
            finding.size = Some(Estimate { value: kept as f64, low: kept as f64, high: lost as f64, unit: "sections" });
            finding.evidence = format!(
                "the entries of {kept} sections are cached, those of {lost} are not: a reach of {} MiB",
                (kept * covers) >> 20
            );
            if all >= 2 * kept {
                let spread = spread(bench, kept, covers, &threshold)?;
                finding.numbers.insert("spread_sections", spread as f64);
                if spread * 2 <= kept {
                    finding.evidence += &format!(
                        "; of sections spread over the drive, {spread} are: it evicts groups of about {} units",
                        kept.div_ceil(spread.max(1))
                    );
                }
            }
        }
        None => {
            finding.verdict = Verdict::Refuted;
            finding.evidence = format!(
                "once read, the entries of all {all} units of the drive are cached: the cache holds the whole map"
            );
        }
    }
    Ok(vec![unit, finding])
}
