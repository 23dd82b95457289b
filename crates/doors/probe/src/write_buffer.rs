//! Are writes acknowledged before they are in flash, how much of them, and what does a flush do? After Kim and Kim (PLOS
//! ONE, 2020), Use of HMB as a write buffer, Figure 7.
//!
//! There, `s` bytes are written into a buffer that is full, then into one that a flush has emptied, for ever larger `s`,
//! with 512 MB before each. Here one burst shows the whole curve: of many small writes into an empty buffer, those are
//! acknowledged at the speed of the link that find room, the others at the speed of flash.
//!
//! The burst is repeated, and of each of its writes the earliest acknowledgement taken: whatever disturbs makes it later.

use media::{Op, Request};
use sim::Time;

use crate::bench::{Bench, Stop};
use crate::burst::{Burst, Full};
use crate::options::Options;
use crate::parallel::{latencies, latencies_bytes};
use crate::report::{Curve, Estimate, Finding, Point, Verdict};
use crate::stats::quantile;

/// Writes, each followed by a flush, whose times are taken.
const SINGLES: usize = 16;
/// Writes under way in a burst.
const DEPTH: u32 = 32;
/// The smallest burst.
const BURST_MIN: u64 = 512 << 10;
/// Writes while the size is sought are this large at least: smaller ones are slowed by the host.
const PIECE_MIN: u64 = 16 << 10;
/// Bursts of which the earliest acknowledgements are taken: while its size is sought, and of each size of writes.
const BURSTS: (usize, usize) = (3, 8);
/// Writes of a burst, as many pages each, of which the finest is taken that a coarser one bears out: where the drive maps
/// more than a page, smaller writes first read what they complete.
const PIECES: [u64; 3] = [1, 2, 4];
/// Idle time before a burst: for what collects garbage to come to rest.
const REST: Time = Time::from_ms(5);
/// Difference of the two halves of the bursts, as a part of the size, at which it is still called a size.
const SURE: f64 = 0.12;
/// Most of a burst that may have left for flash by the time that its size is said.
const LEFT: f64 = 0.4;
/// Single writes are this much faster than a burst at the most, if the burst found room.
const FASTER_ALONE: f64 = 1.1;
/// A flush after a burst that finds this much more than the size: less had left by then than was reckoned, if it is nearer to
/// what came than to the size.
const FOUND_MORE: f64 = 1.1;
/// A write that takes so many times as long as an idle flush, and so many microseconds more, has waited for flash.
const WAITED: (f64, f64) = (5.0, 100.0);

/// Times of single writes and flushes, in microseconds.
struct Singles {
    write: f64,
    flush_after_write: f64,
    flush_idle: f64,
    /// What the flush waits for, at the least: a program. A write of several pages need not read what it completes.
    program: f64,
}

impl Singles {
    /// A flush has work to do after a write that was acknowledged: it was not in flash, and could have been lost.
    fn is_volatile(&self) -> bool {
        self.program > 2.0 * self.write && self.program > 2.0 * self.flush_idle
    }

    /// It was not acknowledged before it was in flash.
    fn waited(&self) -> bool {
        !self.is_volatile() && self.write > WAITED.0 * self.flush_idle + WAITED.1
    }
}

/// Most bytes that [`find`] writes to a target of so many bytes in such blocks: single writes, bursts that double up to
/// twice the largest buffer looked for, and then bursts of at most that size.
pub(crate) fn write_bytes_max(capacity: u64, block: u64, options: &Options) -> u64 {
    let most = burst_max(options.write_buffer_max, capacity).max(BURST_MIN);
    let doubled: u64 = std::iter::successors(Some(BURST_MIN), |bytes| Some(bytes * 2)).take_while(|b| *b <= most).sum();
    let page = block.max(4096);
    // Several sizes of writes are tried only where bursts are short.
    SINGLES as u64 * PIECES.iter().sum::<u64>() * page
        + latencies_bytes(page)
        + BURSTS.0 as u64 * doubled
        + BURSTS.1 as u64 * most.max(1024 * page)
}

/// The largest burst.
fn burst_max(max: u64, capacity: u64) -> u64 {
    (2 * max).min(capacity / 4)
}

/// Finds the write buffer, and what a flush does.
///
/// # Errors
/// If the target fails or the allowance is used up.
pub fn find(bench: &mut Bench<'_>, options: &Options) -> Result<Vec<Finding>, Stop> {
    bench.begin("write_buffer");
    let before = bench.written_bytes();
    let singles = singles(bench)?;
    let mut buffer = buffer(bench, &singles, options.write_buffer_max)?;
    let [alone, many] = latencies(bench, Op::Write)?;
    buffer.numbers.extend([("random_write_us", alone), ("random_write_us_32", many)]);
    let most = write_bytes_max(bench.capacity(), bench.block(), options);
    assert!(bench.written_bytes() - before <= most, "more was written than is announced: {most} bytes");
    let mut flush = Finding::new(
        "flush",
        if singles.is_volatile() { Verdict::Supported } else { Verdict::Refuted },
        format!(
            "a flush takes {:.1} us after a write of {:.1} us, and {:.1} us after none: {}",
            singles.flush_after_write,
            singles.write,
            singles.flush_idle,
            if singles.is_volatile() {
                "what is acknowledged is not yet in flash, and lost with the power"
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
    for pages in &PIECES[1..] {
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
        // Together: if the write's end is noticed late, the program goes on meanwhile, and the flush is the shorter for it.
        both.push(times[2] + times[3]);
    }
    let (write, flush_idle) = (quantile(&mut write, 0.25), quantile(&mut idle, 0.0));
    // Others have something to flush too, now and then: a few are enough, if they are not much slower than the best.
    let (least, few) = (quantile(&mut both, 0.0), quantile(&mut both, 0.15));
    let flush_after_write = (if few < 1.6 * least { few } else { least } - write).max(0.0);
    Ok(Singles { write, flush_after_write, flush_idle, program: flush_after_write - flush_idle })
}

/// Writes `bytes` in `piece`s into an empty buffer, several times: when each was acknowledged at the earliest, of all
/// times, of the even and of the odd ones. And how long a flush takes after one, in microseconds.
fn bursts(bench: &mut Bench<'_>, bytes: u64, piece: u64, times: usize) -> Result<([Burst; 3], f64), Stop> {
    let (mut earliest, mut flushes) = ([const { Vec::new() }; 3], Vec::new());
    for time in 0..times {
        let at = bench.rng.below(bench.capacity() / bytes) * bytes;
        bench.run(0.0, &[Request::flush()], 1)?;
        bench.wait(REST)?;
        let writes: Vec<Request> = (0..bytes / piece).map(|i| Request::new(Op::Write, at + i * piece, piece)).collect();
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
    Ok((earliest.map(|acknowledged| Burst { piece, acknowledged }), quantile(&mut flushes, 0.25)))
}

/// A size of the buffer, from writes of one size.
struct Sized {
    piece: u64,
    /// Of all bursts, of the even and of the odd ones.
    bytes: [f64; 3],
    /// Part of what was written that had left by then.
    left: f64,
    /// What a flush after the burst found, by its time and the rate at which flash takes in: the buffer was full.
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
        return Ok(Finding::new("write_buffer", Verdict::Refuted, format!("{times}: it was in flash before")));
    }
    if !singles.is_volatile() && singles.flush_idle > WAITED.1 {
        // A write that takes less than any flush does was not in flash before.
        let is_there = singles.write * WAITED.0 < singles.flush_idle;
        let verdict = if is_there { Verdict::Supported } else { Verdict::Inconclusive };
        let text = format!("{times}, but so does one after none: others have something to flush all the time");
        let mut finding = Finding::new("write_buffer", verdict, text);
        finding.numbers.insert("write_us", singles.write);
        return Ok(finding);
    }
    let program = if singles.is_volatile() { singles.program } else { f64::INFINITY };
    let most = burst_max(max, bench.capacity());
    let mut bytes = BURST_MIN;
    let seen = loop {
        let piece = (bytes / 128).next_power_of_two().max(PIECE_MIN).max(bench.page());
        let ([burst, ..], _) = bursts(bench, bytes, piece, BURSTS.0)?;
        // Less than half of it in the buffer: then the rest says how fast flash is.
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
            finding.evidence = format!("{times}, and bursts are no faster at their start: there may be none");
            return Ok(finding);
        }
        finding.evidence =
            format!("{times}; flash keeps up with a burst of {} MiB: how large it is cannot be seen", bytes >> 20);
        return Ok(finding);
    };
    finding.numbers.extend([
        ("start_bytes_per_s", seen.rate_before(knee) * seen.piece as f64 * 1e6),
        ("end_bytes_per_s", seen.rate_at_end() * seen.piece as f64 * 1e6),
    ]);
    if seen.rate_before(knee) * seen.piece as f64 * singles.write * FASTER_ALONE < bench.page() as f64 {
        finding.evidence = format!(
            "{times}; bursts are slower from their start, so that others hold room: how large it is cannot be seen"
        );
        return Ok(finding);
    }
    let sizes = sizes(bench, seen.piece * knee as u64, bytes, program, singles)?;
    let most = sizes.iter().map(|size| size.bytes[0]).fold(0.0, f64::max);
    let Some(size) = sizes.into_iter().find(|size| size.bytes[0] + size.piece as f64 >= most) else {
        finding.evidence = format!("{times}; flash nearly keeps up with bursts: how large it is cannot be seen");
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
            "{times}; {:.0} KiB of a burst find room, but by what a flush finds after it not as much had left for flash by \
             then as this presumes: between {:.0} and {:.0} KiB",
            value / 1024.0,
            low / 1024.0,
            came.max(high) / 1024.0
        );
    } else if high - low <= (SURE * value).max(size.piece as f64) && size.left < LEFT {
        let half = size.piece as f64 / 2.0;
        finding.size = Some(Estimate { value, low: low - half, high: high + half, unit: "B" });
        finding.evidence = format!("{times}; of a burst {:.0} KiB find room", value / 1024.0);
    } else {
        finding.evidence = format!(
            "{times}; between {:.0} and {:.0} KiB of a burst find room, of which {:.0} % more had left for flash by then",
            low / 1024.0,
            high / 1024.0,
            100.0 * size.left
        );
    }
    Ok(finding)
}

/// Sizes from bursts of about four times `about`: fine pieces and a long enough end.
fn sizes(bench: &mut Bench<'_>, about: u64, most: u64, program: f64, singles: &Singles) -> Result<Vec<Sized>, Stop> {
    let bytes = (about * 4).next_power_of_two().max(64 * bench.page()).min(most);
    let fine = (bytes / 256).next_power_of_two().max(bench.page());
    let mut sizes: Vec<Sized> = Vec::new();
    for pages in PIECES {
        let piece = pages * bench.page();
        if piece < fine && pages != PIECES[PIECES.len() - 1] {
            continue;
        }
        let piece = piece.max(fine);
        let (all, flush) = bursts(bench, bytes.max(64 * piece), piece, BURSTS.1)?;
        let known = all.each_ref().map(|burst| burst.full(program));
        let bytes = known.map(|full| full.map(|full| full.writes * piece as f64));
        if let ([Some(of_all), Some(even), Some(odd)], [Some(Full { left, .. }), ..]) = (bytes, known) {
            let points = all[0].acknowledged.iter().enumerate();
            let curve = points.map(|(k, at)| Point { x: ((k + 1) as u64 * piece) as f64, y: *at }).collect();
            let flushed = all[0].rate_at_end() * piece as f64 * (flush - singles.flush_idle);
            sizes.push(Sized { piece, bytes: [of_all, even, odd], left, flushed, curve });
        }
    }
    Ok(sizes)
}
