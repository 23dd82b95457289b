//! How many reads the drive serves in parallel, and how its data are striped over dies.

use media::{Op, Request};

use crate::measure::bench::{Bench, SLOT, Stop, reads};
use crate::report::{Curve, Estimate, Finding, Point, Verdict};
use crate::stats::{bootstrap_median, median};

/// Reads per measurement.
const READS: u64 = 512;
/// Fraction of the maximum throughput that counts as reaching it.
const REACHED: f64 = 0.9;
/// Measurements per depth.
const ROUNDS: usize = 3;

/// Depths at which latencies are measured for a model of the drive, and the number of requests at each.
const DEPTHS: [(u32, usize); 2] = [(1, 256), (32, 2048)];

/// Returns the number of bytes that [`latencies`] writes.
pub(crate) fn latencies_bytes(page: u64) -> u64 {
    DEPTHS.iter().map(|(_, count)| *count as u64 * page).sum()
}

/// Fraction of slowest single requests that is discarded: they waited for the host or for garbage collection.
const SLOWEST: f64 = 1.0 / 32.0;

/// Measures the mean latency of random page reads or writes, one and 32 at a time, in microseconds. At depth 32 it is
/// derived from the elapsed time by Little's law; at depth 1 the slowest requests are discarded. Writes start with an
/// empty buffer.
///
/// # Errors
/// If the target fails or the allowance is exhausted.
pub(crate) fn latencies(bench: &mut Bench<'_>, op: Op) -> Result<[f64; 2], Stop> {
    let (page, mut found) = (bench.page(), [0.0; 2]);
    for (mean, (depth, count)) in found.iter_mut().zip(DEPTHS) {
        if op == Op::Write {
            bench.run(0.0, &[Request::flush()], 1)?;
        }
        let pages = bench.capacity() / page;
        let requests: Vec<Request> =
            (0..count).map(|_| Request::new(op, bench.rng.below(pages) * page, page)).collect();
        let (elapsed, timed) = bench.run_timed(f64::from(depth), &requests, depth)?;
        *mean = if depth == 1 {
            let mut each: Vec<f64> = timed.iter().map(|timed| timed.latency().us_f64()).collect();
            each.sort_by(f64::total_cmp);
            each.truncate(count - (count as f64 * SLOWEST) as usize);
            each.iter().sum::<f64>() / each.len() as f64
        } else {
            elapsed.us_f64() * f64::from(depth) / count as f64
        };
    }
    Ok(found)
}

/// Measures the throughput of random page reads at increasing depth; the depths are visited in random order.
///
/// # Errors
/// If the target fails or the allowance is exhausted.
pub fn find(bench: &mut Bench<'_>) -> Result<Finding, Stop> {
    bench.begin("parallelism");
    let (page, most) = (bench.page(), bench.target().facts().depth_max);
    let depths: Vec<u32> = (0..).map(|i| 1 << i).take_while(|depth| *depth <= most).collect();
    let mut rates = vec![Vec::new(); depths.len()];
    for _ in 0..ROUNDS {
        let mut order: Vec<usize> = (0..depths.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, bench.rng.below(i as u64 + 1) as usize);
        }
        for i in order {
            let pages = bench.capacity() / page;
            let at: Vec<u64> = (0..READS).map(|_| bench.rng.below(pages) * page).collect();
            let (elapsed, _) = bench.run_timed(f64::from(depths[i]), &reads(at.into_iter(), page), depths[i])?;
            rates[i].push(READS as f64 / elapsed.secs_f64());
        }
    }
    let points: Vec<Point> =
        depths.iter().zip(&mut rates).map(|(depth, rates)| Point { x: f64::from(*depth), y: median(rates) }).collect();
    let best = points.iter().map(|point| point.y).fold(0.0, f64::max);
    let knee = points.iter().find(|point| point.y >= REACHED * best).map_or(1.0, |point| point.x);
    let times = best / points[0].y;
    let verdict = if times > 1.5 { Verdict::Supported } else { Verdict::Refuted };
    let text = format!("{best:.0} reads per second at queue depth {knee:.0}, {times:.1} times as many as at depth 1");
    let mut finding = Finding::new("parallelism", verdict, text);
    finding.size = Some(Estimate { value: times, low: times * REACHED, high: times / REACHED, unit: "reads at once" });
    let [alone, many] = latencies(bench, Op::Read)?;
    finding.numbers.extend([("read_us", alone), ("read_us_32", many), ("reads_per_s_max", best)]);
    finding.curve = Some(Curve { x: "queue depth", y: "reads per second", points, knee: Some(knee) });
    Ok(finding)
}

/// Pairs of reads at each distance.
const PAIRS: usize = 12;
/// Minimum relative increase of a pair's time over a single read that shows that one waits for the other.
const WAITS: f64 = 0.35;
/// Offset of the read that only loads the map entry: two bits, so that it stays in the same MiB.
const WARM: u64 = 768 << 10;
/// The largest stripe searched for.
const STRIPE_MAX: u64 = 2 << 20;

/// Reads two pages at once at increasing distance: while both are on one die, one waits for the other.
///
/// # Errors
/// If the target fails or the allowance is exhausted.
pub fn stripe(bench: &mut Bench<'_>) -> Result<Finding, Stop> {
    bench.begin("stripe");
    let page = bench.page();
    let mut points = Vec::new();
    let mut waits = |bench: &mut Bench<'_>, apart: u64| -> Result<Verdict, Stop> {
        let mut longer = Vec::new();
        for _ in 0..PAIRS {
            // Multiples of 3 MiB, so that stripes over three planes begin there too. Reads elsewhere in the same MiB
            // load the map entries.
            let at = bench.fresh(SLOT) / (3 << 20) * (3 << 20);
            let elsewhere = if apart == WARM { WARM / 3 } else { WARM };
            let warm = [at, at + apart, at + 2 * STRIPE_MAX].map(|place| place ^ elsewhere);
            bench.run(0.0, &reads(warm.into_iter(), page), 1)?;
            let alone = bench.run(0.0, &reads([at + 2 * STRIPE_MAX + page * 64].into_iter(), page), 1)?[0];
            let (both, _) = bench.run_timed(apart as f64, &reads([at, at + apart].into_iter(), page), 2)?;
            longer.push(both.us_f64() / alone - 1.0);
        }
        let (low, high) = bootstrap_median(&longer, bench.confidence, &mut bench.rng);
        points.push(Point { x: apart as f64, y: median(&mut longer) });
        Ok(match () {
            () if low > WAITS => Verdict::Supported,
            () if high < WAITS => Verdict::Refuted,
            () => Verdict::Inconclusive,
        })
    };
    let (mut same, mut other) = (0, None);
    let mut apart = page;
    while apart <= STRIPE_MAX && other.is_none() {
        match waits(bench, apart)? {
            Verdict::Supported => same = apart,
            Verdict::Refuted => other = Some(apart),
            Verdict::Inconclusive => break,
        }
        apart *= 2;
    }
    let mut sure = other.is_some() && same > 0;
    if let Some(other) = other.as_mut().filter(|_| same > 0) {
        while sure && *other - same > page {
            let middle = same + (*other - same) / 2 / page * page;
            match waits(bench, middle)? {
                Verdict::Supported => same = middle,
                Verdict::Refuted => *other = middle,
                Verdict::Inconclusive => sure = false,
            }
        }
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let knee = other.filter(|_| sure).map(|other| other as f64);
    let curve = Some(Curve { x: "bytes apart", y: "time of both over that of one, less one", points, knee });
    let mut finding = match (other, sure) {
        (Some(other), true) => {
            let text = format!("two reads wait for one another within the same {} KiB", other >> 10);
            let mut finding = Finding::new("stripe", Verdict::Supported, text);
            let value = other as f64;
            finding.size = Some(Estimate { value, low: same as f64, high: value, unit: "B" });
            finding
        }
        _ => {
            let text = "two reads wait for one another at no distance, at every distance, or irregularly: no stripe is visible";
            Finding::new("stripe", Verdict::Inconclusive, text.to_owned())
        }
    };
    finding.curve = curve;
    Ok(finding)
}
