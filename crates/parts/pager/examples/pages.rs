//! Serves requests of a page trace, repeated as necessary, and prints the counts and costs: `pages POLICY REQUESTS
//! [FRAMES] [TRACE]`. The trace always has 300,000 requests, so that the difference between two runs is the cost of the
//! additional requests served. The default trace is djpeg, compiled for ARM at -O2.

use pager::policy::{Arc, Clock, Fifo, Lru, Min, PmXip, Policy, Reading, RentOrBuy, S3Fifo, TwoQ, count};
use pager::sweep::{StackDistances, thresholds};
use pager::{Costs, Counts, Numbering, Weights, future};
use workload::pages::{Options, Reader};

const REQUESTS: usize = 300_000;
const DJPEG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../python/nandram/traces/xip/djpeg-arm-O2.pages.zst");

/// Repeats the trace of a file. Returns the number of distinct pages and the requests.
fn trace(file: &str) -> Result<(u32, Vec<u32>), String> {
    let mut reader = Reader::open(file.as_ref(), &Options::default()).map_err(|error| error.to_string())?;
    let (mut numbering, mut chunk, mut once) = (Numbering::new(), Vec::new(), Vec::new());
    loop {
        reader.next_chunk(&mut chunk).map_err(|error| error.to_string())?;
        if chunk.is_empty() {
            break;
        }
        numbering.number_all(&chunk, &mut once);
    }
    if once.is_empty() {
        return Err(format!("{file}: found no request"));
    }
    Ok((numbering.pages(), once.iter().copied().cycle().take(REQUESTS).collect()))
}

/// Keeps the pass of each policy in a separate function.
fn pass<P: Policy<Request = u32>>(policy: P, pages: u32, trace: &[u32]) -> Counts {
    count(policy, pages, trace)
}

fn main() -> Result<(), String> {
    let usage = "pages POLICY REQUESTS [FRAMES] [TRACE], at most 300000 requests";
    let mut arguments = std::env::args().skip(1);
    let policy = arguments.next().ok_or(usage)?;
    let requests: usize = arguments.next().and_then(|n| n.parse().ok()).filter(|&n| n <= REQUESTS).ok_or(usage)?;
    let frames: u32 = arguments.next().map_or(Some(4), |n| n.parse().ok().filter(|&n| n > 0)).ok_or(usage)?;
    let (pages, whole) = trace(&arguments.next().unwrap_or_else(|| DJPEG.to_owned()))?;
    let trace = &whole[..requests];
    let counts = match policy.as_str() {
        "lru" => pass(Lru::new(frames), pages, trace),
        "fifo" => pass(Fifo::new(frames), pages, trace),
        "clock" => pass(Clock::new(frames), pages, trace),
        "2q" => pass(TwoQ::new(frames), pages, trace),
        "arc" => pass(Arc::new(frames), pages, trace),
        "s3-fifo" => pass(S3Fifo::new(frames), pages, trace),
        "pm-xip" => pass(PmXip::new(frames, 2, 8, 4, Reading::FIGURE_5), pages, trace),
        "rent-or-buy" => pass(RentOrBuy::new(frames, 2, &Weights::time(&Costs::ONENAND_2006)), pages, trace),
        "min" => count(Min::new(frames), pages, &future::foresee(pages, trace)),
        "stack" => {
            let mut distances = StackDistances::new(pages);
            for &page in trace {
                distances.request(page);
            }
            Counts::conventional(requests as u64, distances.misses()[frames.min(pages) as usize])
        }
        // Computes all 1025 thresholds of the longest window of the paper's sweep; prints the middle one.
        "thresholds" => thresholds(pages, trace, frames, 2, 1024, Reading::FIGURE_5)[512],
        other => return Err(format!("unknown policy `{other}`: {usage}")),
    };
    let cost = Costs::ONENAND_2006.total(&counts);
    println!("{policy}, {frames} frames, {requests} requests: {counts:?}, {}, {}", cost.time, cost.energy);
    Ok(())
}
