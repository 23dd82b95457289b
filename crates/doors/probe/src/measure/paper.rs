//! The three tests of Kim and Kim (PLOS ONE, 2020), step by step as their text describes them (Figures 4, 7 and 9), with
//! their sizes. Each size is measured once, after 512 MB of other requests, and the knee is a sudden rise of the curve.
//!
//! The mapping test reads each section once in the text, which shows no knee: an entry must be used again to hit. Here
//! each section's entry is first used by a read of the page next to the section's beginning, so that the measured read
//! finds the entry, and not its data, in a cache.

use media::{Op, Request};

use crate::measure::bench::{Bench, Stop, reads};
use crate::options::{Options, Test};
use crate::report::{Curve, Estimate, Finding, Point, Verdict};
use crate::stats::median;

/// Bytes read or written before each size, "to completely fill" a cache.
const FILL: u64 = 512 << 20;
/// Bytes of a request of the fill. (The paper does not state it.)
const FILL_REQUEST: u64 = 1 << 20;
/// Points on either side of a rise: the median before it is compared with the least after it, so that single slow
/// requests are no rise.
const AROUND: usize = 3;
/// Minimum rise beyond what the points before it lead to expect. (The paper compares curves by eye.)
const SUDDEN: f64 = 1.2;
/// Minimum relative time saved by a second read of cached data.
const SAVES: f64 = 0.05;
/// Minimum relative increase of the latency of a read that waits for the map.
const LONGER: f64 = 0.15;

/// The values of a parameter: lowest, highest, step.
#[derive(Clone, Copy)]
struct Steps(u64, u64, u64);

/// Returns the values that a test varies: sizes in bytes, or numbers of sections.
fn values(test: Test, options: &Options, capacity: u64, block: u64) -> Vec<u64> {
    let every = u64::from(options.method.every());
    let Steps(low, high, step) = match test {
        Test::ReadCache => Steps(8 << 10, 2048 << 10, 2 << 10),
        Test::WriteBuffer => Steps(64 << 10, 2048 << 10, 2 << 10),
        _ => Steps(100, 20_000, 100),
    };
    let all = (low..=high).step_by((step * every) as usize);
    match test {
        // Each section has a page of its own next to its beginning.
        Test::MappingCache => all.filter(|count| capacity / count >= 2 * block.max(4096)).collect(),
        _ => all.filter(|size| size.is_multiple_of(block) && *size <= capacity / 2).collect(),
    }
}

/// Returns the bytes that a test reads or writes in one state of the host memory buffer.
pub(crate) fn bytes(test: Test, options: &Options, capacity: u64, block: u64) -> u64 {
    let each = |value: u64| match test {
        Test::MappingCache => 2 * value * block,
        _ => fill_bytes(capacity) + 2 * value,
    };
    values(test, options, capacity, block).into_iter().map(each).sum()
}

/// Returns the bytes of a fill, which is in the second half of the target.
fn fill_bytes(capacity: u64) -> u64 {
    FILL.min(capacity / 2) / FILL_REQUEST * FILL_REQUEST
}

/// Reads or writes what fills a cache with other data.
fn fill(bench: &mut Bench<'_>, op: Op) -> Result<(), Stop> {
    let from = (bench.capacity() - fill_bytes(bench.capacity())) / FILL_REQUEST * FILL_REQUEST;
    let requests = (0..fill_bytes(bench.capacity()) / FILL_REQUEST)
        .map(|i| Request::new(op, from + i * FILL_REQUEST, FILL_REQUEST))
        .collect::<Vec<_>>();
    bench.run_unrecorded(&requests, 1)
}

/// A sudden rise of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rise {
    /// Index of the first point after it.
    at: usize,
    /// Time after it over the time that the points before it lead to expect.
    by: f64,
}

/// Returns the greatest sudden rise of a curve that otherwise rises steadily, if there is one.
fn sudden_rise(points: &[Point]) -> Option<Rise> {
    let mut slopes: Vec<f64> = points.windows(2).map(|two| (two[1].y - two[0].y) / (two[1].x - two[0].x)).collect();
    if slopes.len() < 4 {
        return None;
    }
    let slope = median(&mut slopes).max(0.0);
    let rise = |at: usize| {
        let before = &points[at.saturating_sub(AROUND)..at];
        let level = median(&mut before.iter().map(|point| point.y).collect::<Vec<_>>());
        let middle = before.iter().map(|point| point.x).sum::<f64>() / before.len() as f64;
        let after = &points[at..(at + AROUND).min(points.len())];
        after.iter().map(|point| point.y / (level + slope * (point.x - middle))).fold(f64::INFINITY, f64::min)
    };
    let inner = 2..points.len() - 1;
    let (best, by) = inner.clone().map(|at| (at, rise(at))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    // If the time rises in two steps, the comparison is clearest after both.
    let near = inner.filter(|at| at.abs_diff(best) < AROUND && rise(*at) >= SUDDEN);
    let step = |at: usize| points[at].y - points[at - 1].y;
    let at = near.max_by(|a, b| step(*a).total_cmp(&step(*b)))?;
    (by >= SUDDEN).then_some(Rise { at, by })
}

/// Describes a curve and its knee in a finding.
fn describe(finding: &mut Finding, points: Vec<Point>, (x, y): (&'static str, &'static str), unit: &'static str) {
    let rise = sudden_rise(&points);
    if let Some(Rise { at, by }) = rise {
        let (low, high) = (points[at - 1], points[at]);
        finding.verdict = Verdict::Supported;
        finding.size = Some(Estimate { value: low.x, low: low.x, high: high.x, unit });
        finding.numbers.extend([("before_us", low.y), ("after_us", high.y), ("rise", by)]);
    }
    finding.curve = Some(Curve { x, y, knee: rise.map(|rise| points[rise.at - 1].x), points });
}

fn text(finding: &Finding, what: &str, last: f64) -> String {
    match (&finding.size, finding.numbers.get("rise")) {
        (Some(size), Some(rise)) => format!(
            "{what} takes {rise:.2} times as long from {} KiB on as the sizes up to {} KiB lead to expect",
            size.high / 1024.0,
            size.low / 1024.0
        ),
        _ => format!("{what} takes suddenly longer at no size up to {} KiB", last / 1024.0),
    }
}

/// Measures the first and second request of each size; a flush precedes the second if they are writes.
fn twice(bench: &mut Bench<'_>, op: Op, sizes: &[u64]) -> Result<(Vec<Point>, Vec<Point>), Stop> {
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for &size in sizes {
        fill(bench, op)?;
        let request = Request::new(op, 0, size);
        let x = size as f64;
        first.push(Point { x, y: bench.run(x, &[request], 1)?[0] });
        if op == Op::Write {
            bench.run_unrecorded(&[Request::new(Op::Flush, 0, 0)], 1)?;
        }
        again.push(Point { x, y: bench.run(x, &[request], 1)?[0] });
    }
    Ok((first, again))
}

/// Returns a finding without a result, for a target on which no size can be tried.
fn too_small(about: &'static str) -> Finding {
    Finding::new(about, Verdict::Inconclusive, "the target is too small for the sizes of the paper".to_owned())
}

/// The test for a read cache (Figure 4).
pub(crate) fn read_cache(bench: &mut Bench<'_>, options: &Options) -> Result<Finding, Stop> {
    bench.begin("read_cache");
    let sizes = values(Test::ReadCache, options, bench.capacity(), bench.block());
    let Some(last) = sizes.last().map(|size| *size as f64) else { return Ok(too_small("read_cache")) };
    let (first, again) = twice(bench, Op::Read, &sizes)?;
    let saved = first.iter().zip(&again).map(|(first, again)| 1.0 - again.y / first.y);
    let saves = median(&mut saved.collect::<Vec<_>>()) > SAVES;
    let mut finding = Finding::new("read_cache", Verdict::Inconclusive, String::new());
    finding.numbers.extend([("first_us", first[0].y), ("again_us", again[0].y)]);
    let sooner = first[0].y * (1.0 - SAVES) > again[0].y;
    describe(&mut finding, again, ("bytes read, then read again", "time of the second read, us"), "B");
    if finding.verdict == Verdict::Inconclusive && !saves && !sooner {
        finding.verdict = Verdict::Refuted;
        finding.evidence = "second reads are not faster than first ones".to_owned();
    } else {
        finding.evidence = text(&finding, "the second read", last);
    }
    Ok(finding)
}

/// The test for a write buffer (Figure 7).
pub(crate) fn write_buffer(bench: &mut Bench<'_>, options: &Options) -> Result<Finding, Stop> {
    bench.begin("write_buffer");
    let sizes = values(Test::WriteBuffer, options, bench.capacity(), bench.block());
    let Some(last) = sizes.last().map(|size| *size as f64) else { return Ok(too_small("write_buffer")) };
    let (_, again) = twice(bench, Op::Write, &sizes)?;
    let mut finding = Finding::new("write_buffer", Verdict::Inconclusive, String::new());
    let axes = ("bytes written after a flush", "time of the write, us");
    describe(&mut finding, again, axes, "B");
    finding.evidence = text(&finding, "a write after a flush", last);
    Ok(finding)
}

/// The test for a cache of the mapping table (Figure 9). `cached_us`: see [`super::map_cache::find`].
pub(crate) fn mapping_cache(bench: &mut Bench<'_>, options: &Options, cached_us: Option<f64>) -> Result<Finding, Stop> {
    bench.begin("mapping_cache");
    let counts = values(Test::MappingCache, options, bench.capacity(), bench.block());
    let (capacity, block, page) = (bench.capacity(), bench.block(), bench.page());
    let mut points = Vec::new();
    for &count in &counts {
        let visits = |next: u64| {
            let begins = (0..count).map(move |i| (u128::from(capacity) * u128::from(i) / u128::from(count)) as u64);
            reads(begins.map(move |at| at / page * page + next), block)
        };
        bench.run_unrecorded(&visits(page), 1)?;
        let mut times = bench.run(count as f64, &visits(0), 1)?;
        points.push(Point { x: count as f64, y: median(&mut times) });
    }
    let Some(last) = points.last().copied() else { return Ok(too_small("mapping_cache")) };
    let mut finding = Finding::new("mapping_cache", Verdict::Inconclusive, String::new());
    let least = points.iter().map(|point| point.y).fold(f64::INFINITY, f64::min);
    finding.numbers.insert("least_us", least);
    describe(&mut finding, points, ("sections read, then read again", "median time of a read, us"), "sections");
    match (&finding.size, cached_us) {
        (Some(Estimate { low, high, .. }), _) => {
            let (before, after) = (finding.numbers["before_us"], finding.numbers["after_us"]);
            finding.evidence =
                format!("reads of {low} sections take {before:.1} us, those of {high} sections {after:.1} us");
            finding.numbers.insert("at_hand_us", before);
        }
        (None, Some(cached_us)) if least > cached_us * (1.0 + LONGER) => {
            finding.verdict = Verdict::Refuted;
            finding.evidence = format!(
                "reads take at least {least:.1} us at every number of sections up to {}, as long as those that wait for \
                 the map",
                last.x
            );
        }
        _ => finding.evidence = format!("reads take suddenly longer at no number of sections up to {}", last.x),
    }
    Ok(finding)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(y: impl Fn(f64) -> f64) -> Vec<Point> {
        (4..200).map(|i| Point { x: f64::from(i), y: y(f64::from(i)) }).collect()
    }

    #[test]
    fn a_line_has_no_sudden_rise_and_a_step_has() {
        assert_eq!(sudden_rise(&curve(|x| 5.0 + x / 2.0)), None);
        let step = curve(|x| 5.0 + x / 2.0 + if x > 90.0 { 30.0 } else { 0.0 });
        let rise = sudden_rise(&step).expect("a rise");
        assert_eq!(step[rise.at - 1].x, 90.0, "the last point before it");
        assert!((rise.by - 80.0 / 50.0).abs() < 0.05, "{rise:?}");
        let gradual = curve(|x| {
            if x > 91.0 {
                300.0
            } else if x > 90.0 {
                250.0
            } else {
                50.0
            }
        });
        assert_eq!(gradual[sudden_rise(&gradual).expect("a rise").at].x, 91.0, "at its larger step");
        let flat = curve(|x| if x > 90.0 { 145.0 } else { 78.0 });
        assert_eq!(flat[sudden_rise(&flat).expect("a rise").at].x, 91.0, "the first point after it");
    }

    #[test]
    fn single_slow_requests_and_steady_zigzags_are_no_rise() {
        assert_eq!(sudden_rise(&curve(|x| if x == 90.0 { 300.0 } else { 50.0 })), None);
        assert_eq!(sudden_rise(&curve(|x| if x % 2.0 == 0.0 { 7.0 } else { 74.0 })), None);
    }
}
