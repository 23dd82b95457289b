//! Are writes acknowledged before they are in flash, how many, and what does a flush do? After Kim and Kim (PLOS ONE,
//! 2020), "Use of HMB as a write buffer", Figure 7.
//!
//! The paper writes `s` bytes into a full buffer, then into one emptied by a flush, for increasing `s`, with 512 MB of
//! writes before each. Here one burst shows the whole curve: of many small writes into an empty buffer, those that fit
//! are acknowledged at link speed and the others at flash speed.
//!
//! The burst is repeated, and the earliest acknowledgment of each write is used, since disturbances can only delay it.

use media::{Op, Request};
use sim::Time;

use crate::measure::bench::{Bench, Stop};
use crate::measure::burst::{Burst, Full};
use crate::measure::parallel::{latencies, latencies_bytes};
use crate::options::Options;
use crate::report::{Curve, Estimate, Finding, Point, Verdict};
use crate::stats::quantile;

/// Number of single writes that are measured, each followed by a flush.
const SINGLES: usize = 16;
/// Queue depth of a burst.
const DEPTH: u32 = 32;
/// Bytes of the smallest burst.
const BURST_MIN: u64 = 512 << 10;
/// Minimum write size while the buffer size is searched: smaller writes are limited by the host.
const CHUNK_MIN: u64 = 16 << 10;
/// Number of repetitions of a burst: during the search for the buffer size, and then for each write size.
const BURSTS: (usize, usize) = (3, 8);
/// Write sizes of a burst, in pages. The result is that of the smallest size which a larger one confirms: if the
/// drive's mapping unit exceeds a page, smaller writes cause read-modify-write.
const CHUNK_PAGES: [u64; 3] = [1, 2, 4];
/// Idle time before a burst, for garbage collection to finish.
const REST: Time = Time::from_ms(5);
/// Maximum relative difference between the results of the two halves of the bursts at which a size is reported.
const SURE: f64 = 0.12;
/// Maximum fraction of a burst that may have left for flash for a size to be reported.
const LEFT: f64 = 0.4;
/// Maximum ratio of the throughput of single writes to that of a burst whose writes found room.
const FASTER_ALONE: f64 = 1.1;
/// Minimum ratio of the data found by a flush after the burst to the size at which the estimate of the data that had
/// left for flash is distrusted, provided the flush result is closer to the total than to the size.
const FOUND_MORE: f64 = 1.1;
/// A write that takes at least this many times as long as an idle flush, and this many microseconds longer, has waited
/// for flash.
const WAITED: (f64, f64) = (5.0, 100.0);

/// Latencies of single writes and flushes, in microseconds.
struct Singles {
    write: f64,
    flush_after_write: f64,
    flush_idle: f64,
    /// Minimum time the flush waits for: one program. Writes of several pages avoid read-modify-write.
    program: f64,
}

impl Singles {
    /// Returns whether a flush has work to do after an acknowledged write: the data were not in flash and could have
    /// been lost.
    fn is_volatile(&self) -> bool {
        self.program > 2.0 * self.write && self.program > 2.0 * self.flush_idle
    }

    /// Returns whether writes are acknowledged only once they are in flash.
    fn waited(&self) -> bool {
        !self.is_volatile() && self.write > WAITED.0 * self.flush_idle + WAITED.1
    }
}

/// Returns the maximum number of bytes that [`find`] writes to a target with this capacity and block size: single
/// writes, bursts that double up to twice the largest buffer searched for, and then bursts of at most that size.
pub(crate) fn write_bytes_max(capacity: u64, block: u64, options: &Options) -> u64 {
    let most = burst_max(options.write_buffer_max, capacity).max(BURST_MIN);
    let doubled: u64 = std::iter::successors(Some(BURST_MIN), |bytes| Some(bytes * 2)).take_while(|b| *b <= most).sum();
    let page = block.max(4096);
    // Several write sizes are tried only with short bursts.
    SINGLES as u64 * CHUNK_PAGES.iter().sum::<u64>() * page
        + latencies_bytes(page)
        + BURSTS.0 as u64 * doubled
        + BURSTS.1 as u64 * most.max(1024 * page)
}

/// Returns the size of the largest burst.
fn burst_max(max: u64, capacity: u64) -> u64 {
    (2 * max).min(capacity / 4)
}

/// Finds the write buffer and the effect of a flush.
///
/// # Errors
/// If the target fails or the allowance is exhausted.
pub fn find(bench: &mut Bench<'_>, options: &Options) -> Result<Vec<Finding>, Stop> {
    bench.begin("write_buffer");
    let before = bench.written_bytes();
    let singles = singles(bench)?;
    let mut buffer = buffer(bench, &singles, options.write_buffer_max)?;
    let [alone, many] = latencies(bench, Op::Write)?;
    buffer.numbers.extend([("random_write_us", alone), ("random_write_us_32", many)]);
    let most = write_bytes_max(bench.capacity(), bench.block(), options);
    assert!(bench.written_bytes() - before <= most, "wrote more than the announced {most} bytes");
    let mut flush = Finding::new(
        "flush",
        if singles.is_volatile() { Verdict::Supported } else { Verdict::Refuted },
        format!(
            "a flush takes {:.1} us after a write of {:.1} us, and {:.1} us without one: {}",
            singles.flush_after_write,
            singles.write,
            singles.flush_idle,
            if singles.is_volatile() {
                "acknowledged data are not yet in flash and are lost on power failure"
            } else {
                "it finds nothing to do"
            }
        ),
    );
    flush.numbers.extend([
        ("write_us", singles.write),
        ("flush_after_write_us", singles.flush_after_write),
        ("flush_idle_us", singles.flush_idle),
    ]);
    Ok(vec![buffer, flush])
}

fn singles(bench: &mut Bench<'_>) -> Result<Singles, Stop> {
    let mut singles = singles_of(bench, bench.page())?;
    for pages in &CHUNK_PAGES[1..] {
        singles.program = singles.program.min(singles_of(bench, pages * bench.page())?.program);
    }
    Ok(singles)
}

fn singles_of(bench: &mut Bench<'_>, bytes: u64) -> Result<Singles, Stop> {
    let (mut write, mut both, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SINGLES {
        let at = bench.fresh(bytes);
        let requests = [Request::flush(), Request::flush(), Request::new(Op::Write, at, bytes), Request::flush()];
        let times = bench.run(bytes as f64, &requests, 1)?;
        idle.push(times[1]);
        write.push(times[2]);
        // The sum, because if the end of the write is noticed late, the program proceeds meanwhile and shortens the
        // flush.
        both.push(times[2] + times[3]);
    }
    let (write, flush_idle) = (quantile(&mut write, 0.25), quantile(&mut idle, 0.0));
    // Occasionally, other users have data to flush too; a few fast samples suffice if they are close to the minimum.
    let (least, few) = (quantile(&mut both, 0.0), quantile(&mut both, 0.15));
    let flush_after_write = (if few < 1.6 * least { few } else { least } - write).max(0.0);
    Ok(Singles { write, flush_after_write, flush_idle, program: flush_after_write - flush_idle })
}

/// Writes `bytes` in chunks into an empty buffer, `times` times. Returns the earliest acknowledgment of each write
/// over all, the even and the odd repetitions, and the duration of the flush after a burst in microseconds.
fn bursts(bench: &mut Bench<'_>, bytes: u64, chunk: u64, times: usize) -> Result<([Burst; 3], f64), Stop> {
    let (mut earliest, mut flushes) = ([const { Vec::new() }; 3], Vec::new());
    for time in 0..times {
        let at = bench.rng.below(bench.capacity() / bytes) * bytes;
        bench.run(0.0, &[Request::flush()], 1)?;
        bench.wait(REST)?;
        let writes: Vec<Request> = (0..bytes / chunk).map(|i| Request::new(Op::Write, at + i * chunk, chunk)).collect();
        let (_, timed) = bench.run_timed(bytes as f64, &writes, DEPTH)?;
        let mut acknowledged: Vec<f64> = timed.iter().map(|timed| timed.ended.us_f64()).collect();
        acknowledged.sort_by(f64::total_cmp);
        flushes.extend(bench.run(0.0, &[Request::flush()], 1)?);
        for of in [0, 1 + time % 2] {
            let earliest = &mut earliest[of];
            if earliest.is_empty() {
                earliest.clone_from(&acknowledged);
            }
            earliest.iter_mut().zip(&acknowledged).for_each(|(earliest, at)| *earliest = earliest.min(*at));
        }
    }
    Ok((earliest.map(|acknowledged| Burst { chunk, acknowledged }), quantile(&mut flushes, 0.25)))
}

/// A buffer size, derived from writes of one size.
struct Sized {
    chunk: u64,
    /// Sizes from all, the even and the odd bursts.
    bytes: [f64; 3],
    /// Fraction of the written data that had already left for flash.
    left: f64,
    /// Bytes that the flush after the burst wrote, from its duration and the flash write rate: the buffer was full.
    flushed: f64,
    curve: Vec<Point>,
}

fn buffer(bench: &mut Bench<'_>, singles: &Singles, max: u64) -> Result<Finding, Stop> {
    let times = format!(
        "a write of {} KiB is acknowledged after {:.1} us, and a flush after it takes {:.1} us",
        bench.page() >> 10,
        singles.write,
        singles.flush_after_write
    );
    if singles.waited() {
        return Ok(Finding::new("write_buffer", Verdict::Refuted, format!("{times}: the write was already in flash")));
    }
    if !singles.is_volatile() && singles.flush_idle > WAITED.1 {
        // A write that takes less time than any flush was acknowledged before it was in flash.
        let is_there = singles.write * WAITED.0 < singles.flush_idle;
        let verdict = if is_there { Verdict::Supported } else { Verdict::Inconclusive };
        let text = format!("{times}, but so does a flush without a write: other programs keep having data to flush");
        let mut finding = Finding::new("write_buffer", verdict, text);
        finding.numbers.insert("write_us", singles.write);
        return Ok(finding);
    }
    let program = if singles.is_volatile() { singles.program } else { f64::INFINITY };
    let most = burst_max(max, bench.capacity());
    let mut bytes = BURST_MIN;
    let seen = loop {
        let chunk = (bytes / 128).next_power_of_two().max(CHUNK_MIN).max(bench.page());
        let ([burst, ..], _) = bursts(bench, bytes, chunk, BURSTS.0)?;
        // If the buffer holds less than half of the burst, the rest shows the speed of flash.
        let knee = burst.knee(program).filter(|knee| *knee <= burst.count() / 2);
        if knee.is_some() || bytes * 2 > most {
            break knee.map(|knee| (knee, burst));
        }
        bytes *= 2;
    };
    let mut finding = Finding::new("write_buffer", Verdict::Supported, times.clone());
    finding.numbers.insert("write_us", singles.write);
    let Some((knee, seen)) = seen else {
        if !singles.is_volatile() {
            finding.verdict = Verdict::Inconclusive;
            finding.evidence = format!("{times}, and bursts are no faster at their start: there may be no buffer");
            return Ok(finding);
        }
        finding.evidence = format!(
            "{times}; flash keeps up with a burst of {} MiB: the size of the buffer cannot be determined",
            bytes >> 20
        );
        return Ok(finding);
    };
    finding.numbers.extend([
        ("start_bytes_per_s", seen.rate_before(knee) * seen.chunk as f64 * 1e6),
        ("end_bytes_per_s", seen.rate_at_end() * seen.chunk as f64 * 1e6),
    ]);
    if seen.rate_before(knee) * seen.chunk as f64 * singles.write * FASTER_ALONE < bench.page() as f64 {
        finding.evidence = format!(
            "{times}; bursts are slower from their start, because other programs occupy the buffer: its size cannot be determined"
        );
        return Ok(finding);
    }
    let sizes = sizes(bench, seen.chunk * knee as u64, bytes, program, singles)?;
    let most = sizes.iter().map(|size| size.bytes[0]).fold(0.0, f64::max);
    let Some(size) = sizes.into_iter().find(|size| size.bytes[0] + size.chunk as f64 >= most) else {
        finding.evidence =
            format!("{times}; flash nearly keeps up with bursts: the size of the buffer cannot be determined");
        return Ok(finding);
    };
    finding.numbers.extend([("left_part", size.left), ("flushed_bytes", size.flushed)]);
    let [value, even, odd] = size.bytes;
    let (low, high) = (even.min(odd).min(value), even.max(odd).max(value));
    finding.curve = Some(Curve {
        x: "bytes acknowledged",
        y: "since the burst's start, us",
        points: size.curve,
        knee: Some(value),
    });
    let came = value / (1.0 - size.left);
    if came.min(size.flushed) > FOUND_MORE * value && size.flushed > libm::sqrt(value * came) {
        finding.evidence = format!(
            "{times}; {:.0} KiB of a burst find room, but the flush after it shows that less had left for flash by then than \
             this presumes: between {:.0} and {:.0} KiB",
            value / 1024.0,
            low / 1024.0,
            came.max(high) / 1024.0
        );
    } else if high - low <= (SURE * value).max(size.chunk as f64) && size.left < LEFT {
        let half = size.chunk as f64 / 2.0;
        finding.size = Some(Estimate { value, low: low - half, high: high + half, unit: "B" });
        finding.evidence = format!("{times}; {:.0} KiB of a burst find room", value / 1024.0);
    } else {
        finding.evidence = format!(
            "{times}; between {:.0} and {:.0} KiB of a burst find room, while {:.0} % had left for flash by then",
            low / 1024.0,
            high / 1024.0,
            100.0 * size.left
        );
    }
    Ok(finding)
}

/// Determines sizes from bursts of about four times `about`: small chunks, and an end that is long enough.
fn sizes(bench: &mut Bench<'_>, about: u64, most: u64, program: f64, singles: &Singles) -> Result<Vec<Sized>, Stop> {
    let bytes = (about * 4).next_power_of_two().max(64 * bench.page()).min(most);
    let fine = (bytes / 256).next_power_of_two().max(bench.page());
    let mut sizes: Vec<Sized> = Vec::new();
    for pages in CHUNK_PAGES {
        let chunk = pages * bench.page();
        if chunk < fine && pages != CHUNK_PAGES[CHUNK_PAGES.len() - 1] {
            continue;
        }
        let chunk = chunk.max(fine);
        let (all, flush) = bursts(bench, bytes.max(64 * chunk), chunk, BURSTS.1)?;
        let known = all.each_ref().map(|burst| burst.full(program));
        let bytes = known.map(|full| full.map(|full| full.writes * chunk as f64));
        if let ([Some(of_all), Some(even), Some(odd)], [Some(Full { left, .. }), ..]) = (bytes, known) {
            let points = all[0].acknowledged.iter().enumerate();
            let curve = points.map(|(k, at)| Point { x: ((k + 1) as u64 * chunk) as f64, y: *at }).collect();
            let flushed = all[0].rate_at_end() * chunk as f64 * (flush - singles.flush_idle);
            sizes.push(Sized { chunk, bytes: [of_all, even, odd], left, flushed, curve });
        }
    }
    Ok(sizes)
}
