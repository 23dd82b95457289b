//! How many reads the drive works on at once, and in which pieces its data lie on its dies.

use media::{Op, Request};

use crate::bench::{Bench, SLOT, Stop, reads};
use crate::report::{Curve, Estimate, Finding, Point, Verdict};
use crate::stats::{bootstrap_median, median};

/// Reads of one measurement.
const READS: u64 = 512;
/// Part of the most reads a second that is counted as having reached it.
const REACHED: f64 = 0.9;
/// Measurements of each depth.
const ROUNDS: usize = 3;

/// Depths at which latencies are kept for a model of the drive, and requests at each.
const DEPTHS: [(u32, usize); 2] = [(1, 256), (32, 2048)];

/// Bytes that [`latencies`] writes.
pub(crate) fn latencies_bytes(page: u64) -> u64 {
    DEPTHS.iter().map(|(_, count)| *count as u64 * page).sum()
}

/// Part of the latencies of single requests that is left out, the slowest: they waited for the host, or for collection.
const SLOWEST: f64 = 1.0 / 32.0;

/// Mean latency of reading or writing pages at random, one and 32 at a time, in microseconds. Of 32 by Little's law, from the
/// time that all of them take; of one without the slowest. Writes begin with an empty buffer.
///
/// # Errors
/// If the target fails or the allowance is used up.
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

/// Reads pages at random, more and more at once, in random order of the depths.
///
/// # Errors
/// If the target fails or the allowance is used up.
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
    let text = format!("{best:.0} reads a second with {knee:.0} under way, {times:.1} times as many as with one");
    let mut finding = Finding::new("parallelism", verdict, text);
    finding.size = Some(Estimate { value: times, low: times * REACHED, high: times / REACHED, unit: "reads at once" });
    let [alone, many] = latencies(bench, Op::Read)?;
    finding.numbers.extend([("read_us", alone), ("read_us_32", many), ("reads_per_s_max", best)]);
    finding.curve = Some(Curve { x: "reads under way", y: "reads a second", points, knee: Some(knee) });
    Ok(finding)
}

/// Pairs of reads at each distance.
const PAIRS: usize = 12;
/// A pair takes this part of a single read longer where one waits for the other.
const WAITS: f64 = 0.35;
/// Bytes from a read to one that only brings its entry of the map: two bits, so that it is in the same MiB.
const WARM: u64 = 768 << 10;
/// The longest piece looked for.
const STRIPE_MAX: u64 = 2 << 20;

/// Reads two pages at once, further and further apart: as long as both are on one die, one waits for the other.
///
/// # Errors
/// If the target fails or the allowance is used up.
pub fn stripe(bench: &mut Bench<'_>) -> Result<Finding, Stop> {
    bench.begin("stripe");
    let page = bench.page();
    let mut points = Vec::new();
    let mut waits = |bench: &mut Bench<'_>, apart: u64| -> Result<Verdict, Stop> {
        let mut longer = Vec::new();
        for _ in 0..PAIRS {
            // Multiples of 3 MiB, so that pieces of three planes begin there too; the entries of the map at hand, by reads
            // elsewhere in the same MiB.
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
            let text = format!("two reads wait for one another if they are in the same {} KiB", other >> 10);
            let mut finding = Finding::new("stripe", Verdict::Supported, text);
            let value = other as f64;
            finding.size = Some(Estimate { value, low: same as f64, high: value, unit: "B" });
            finding
        }
        _ => {
            let text = "two reads wait for one another at no distance, at any, or now and then: no pieces are seen";
            Finding::new("stripe", Verdict::Inconclusive, text.to_owned())
        }
    };
    finding.curve = curve;
    Ok(finding)
}
