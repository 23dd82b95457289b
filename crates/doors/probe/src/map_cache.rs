//! How much of the map is at hand, and in which units? After Kim and Kim (PLOS ONE, 2020), Use of HMB as a mapping table
//! cache, Figure 9.
//!
//! There, a block is read of each of `d` sections of the drive, for ever larger `d`. Read once, nothing is seen: an
//! entry must be read again to be at hand. So the sections are read twice, and the second time is measured; at another
//! block than the first, so that kept data do not look like a kept entry. What one unit of the map covers is seen in a
//! walk: the first read in each is slow.

use sim::Time;

use crate::bench::{Bench, Stop, reads};
use crate::held::{Again, Held, Range, Trial, search};
use crate::report::{Curve, Estimate, Finding, Point, Verdict};
use crate::stats::{Threshold, median, wilson};

/// The walks: a step, and how many. Together they see units that cover 32 KiB to 1 GiB.
const WALKS: [(u64, u64); 2] = [(16 << 10, 4096), (1 << 20, 4096)];
/// Walks of a step at most, if what is seen is not clear.
const WALKS_AGAIN: u32 = 4;
/// Idle time before what was bad is tried again, as many times as it was bad.
const REST: Time = Time::from_ms(2);
/// Sections that are visited at once the first time, if they are many times as many.
const WARM_DEPTH: u32 = 8;
/// Visits of as many sections spread over the drive as are at hand side by side, before fewer are looked for; and the part
/// that is fast then, if it is no matter where they are.
const SPREAD_TRIES: u32 = 3;
const SPREAD_KEPT: f64 = 0.6;
/// Part that a read which waits for the map takes longer at least.
const LONGER: f64 = 0.15;
/// Bytes of a map's entry for a page of 4 KiB, as nearly all drives have them (and the paper takes for granted).
pub const ENTRY_BYTES: u64 = 4;

/// What a walk saw.
struct Walk {
    /// Bytes that a unit covers.
    covers: u64,
    slow: Vec<f64>,
    fast: Vec<f64>,
    curve: Vec<Point>,
}

/// Finds the mapping cache: its size in units and bytes, and what a unit covers.
///
/// `at_hand` is the time, in microseconds, of a read that did not wait for the map in another state of the drive: where
/// none does now, reads may be equal because all of them wait.
///
/// # Errors
/// If the target fails or the allowance is used up.
pub fn find(bench: &mut Bench<'_>, at_hand: Option<f64>) -> Result<Vec<Finding>, Stop> {
    bench.begin("mapping_cache");
    let mut clear = true;
    for (step, count) in WALKS {
        let count = count.min(bench.capacity() / step);
        let (mut nothing, mut unclear) = (0, 0);
        for _ in 0..WALKS_AGAIN {
            match walk(bench, step, count)? {
                Seen::Units(walk) => return measure(bench, &walk),
                Seen::Nothing(each) if at_hand.is_some_and(|at_hand| each > at_hand * (1.0 + LONGER)) => {
                    let text =
                        format!("every read takes {each:.1} us, as those did that waited for the map: none is at hand");
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
        let text = "no read of a walk over the drive waits longer in steps of any size: all of the map is at hand";
        Finding::new("mapping_cache", Verdict::Refuted, text.to_owned())
    } else {
        let text = "some reads of a walk over the drive wait longer, but not in steps of one size".to_owned();
        Finding::new("mapping_cache", Verdict::Inconclusive, text)
    }])
}

enum Seen {
    Units(Walk),
    /// Reads are slower at no period; half of them take no longer than this.
    Nothing(f64),
    Unclear,
}

/// Reads a block every `step` bytes, `count` times, from a multiple of all that, and looks for a period in what is slow.
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
        // Most that begin a unit are slow. With half the true size only every second is.
        let bound = libm::sqrt(median(&mut slow.clone()) * median(&mut fast.clone()));
        if bound > middle * libm::sqrt(1.0 + LONGER) && part(&slow, bound).0 > 0.6 && part(&fast, bound).1 < 0.4 {
            return Ok(Seen::Units(Walk { covers: every * step, slow, fast, curve }));
        }
        none &= slow.len() < 16 || part(&slow, middle * (1.0 + LONGER)).1 < 0.75;
        every *= 2;
    }
    Ok(if none { Seen::Nothing(middle) } else { Seen::Unclear })
}

/// Where sections are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    /// Side by side, a unit each.
    Together,
    /// As far apart as the drive has room for, as the paper's are.
    Spread,
}

/// Part of `sections` that is fast when they are visited a second time. They begin at units of `covers` bytes.
fn visit(bench: &mut Bench<'_>, trial: Trial, covers: u64, lie: Lie, threshold: &Threshold) -> Result<f64, Stop> {
    let Trial { size: sections, again: order, bad } = trial;
    bench.wait(REST * u64::from(bad))?;
    let (all, block) = (bench.capacity() / covers, bench.block());
    let from = bench.rng.below(all);
    let apart = if lie == Lie::Spread { all / sections } else { 1 };
    // Two blocks of each unit, a quarter of it apart.
    let quarter = covers / 4 / block * block;
    let visits = |within: u64| reads((0..sections).map(|i| (from + i * apart) % all * covers + within), block);
    // Several at once, so that strangers have less time to come between.
    let depth = if sections >= 16 * u64::from(WARM_DEPTH) { WARM_DEPTH } else { 1 };
    bench.run(sections as f64, &visits(0), depth)?;
    let mut second = visits(quarter);
    if order == Again::Opposite {
        second.reverse();
    }
    let again = bench.run(sections as f64, &second, 1)?;
    Ok(threshold.fast_part(again.into_iter()))
}

/// Of `kept` sections that are at hand side by side, as many as are if they are spread over the drive. Fewer, if a cache
/// makes way in larger pieces than its units, or has few places for each.
fn spread(bench: &mut Bench<'_>, kept: u64, covers: u64, threshold: &Threshold) -> Result<u64, Stop> {
    let range = Range { step: 1, max: kept, tolerance: 1.0 / 50.0 };
    let measure = |bench: &mut Bench<'_>, trial| visit(bench, trial, covers, Lie::Spread, threshold);
    for bad in 0..SPREAD_TRIES {
        if measure(bench, Trial { size: kept, again: Again::Same, bad })? >= SPREAD_KEPT {
            return Ok(kept);
        }
    }
    let (confidence, mut rng) = (bench.confidence, bench.rng.clone());
    let held = search(range, confidence, &mut rng, &mut |trial| measure(bench, trial))?;
    bench.rng = rng;
    Ok(held.kept)
}

fn measure(bench: &mut Bench<'_>, walk: &Walk) -> Result<Vec<Finding>, Stop> {
    let covers = walk.covers;
    let threshold = Threshold::between(&walk.fast, &walk.slow);
    let (wait, at_hand) = (median(&mut walk.slow.clone()), median(&mut walk.fast.clone()));
    let unit_bytes = covers / 4096 * ENTRY_BYTES;
    let mut unit = Finding::new(
        "mapping_unit",
        Verdict::Supported,
        format!("the first read in every {} KiB takes {wait:.1} us, the others {at_hand:.1} us", covers >> 10),
    );
    let exactly = covers as f64;
    unit.size = Some(Estimate { value: exactly, low: exactly, high: exactly, unit: "B covered" });
    unit.numbers.extend([("wait_us", wait), ("at_hand_us", at_hand), ("unit_bytes_assumed", unit_bytes as f64)]);
    unit.curve = Some(Curve {
        x: "bytes walked",
        y: "latency, us",
        points: walk.curve.iter().copied().take(512).collect(),
        knee: Some(exactly),
    });
    let all = bench.capacity() / covers;
    let range = Range { step: 1, max: all, tolerance: 1.0 / 200.0 };
    let (confidence, mut rng) = (bench.confidence, bench.rng.clone());
    let held =
        search(range, confidence, &mut rng, &mut |trial| visit(bench, trial, covers, Lie::Together, &threshold))?;
    bench.rng = rng;
    let steady = held.is_steady(1);
    let Held { kept, lost, mut points, .. } = held;
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let mut finding = Finding::new("mapping_cache", Verdict::Supported, String::new());
    finding.numbers.extend([
        ("wait_us", wait),
        ("at_hand_us", at_hand),
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
        Some(_) if !steady => {
            finding.evidence = format!("others use it too: the entries of {kept} sections are at hand at least");
        }
        Some(lost) => {
            finding.size = Some(Estimate { value: kept as f64, low: kept as f64, high: lost as f64, unit: "sections" });
            finding.evidence = format!(
                "the entries of {kept} sections are at hand, of {lost} they are not: a reach of {} MiB",
                (kept * covers) >> 20
            );
            if all >= 2 * kept {
                let spread = spread(bench, kept, covers, &threshold)?;
                finding.numbers.insert("spread_sections", spread as f64);
                if spread * 2 <= kept {
                    finding.evidence += &format!(
                        "; of sections spread over the drive {spread}: it makes way in pieces of about {} units",
                        kept.div_ceil(spread.max(1))
                    );
                }
            }
        }
        None => {
            finding.verdict = Verdict::Refuted;
            finding.evidence =
                format!("once read, the entries of all {all} units of the drive are at hand: no part is left out");
        }
    }
    Ok(vec![unit, finding])
}
