//! Serves the first requests of a seeded trace of djpeg's size (148 pages) and prints what it took:
//! `pages POLICY REQUESTS [FRAMES]`. The trace is always made whole (300,000 requests), so that the difference of two
//! runs is what their requests cost.

use pager::policy::{Arc, Clock, Fifo, Lru, Min, PmXip, Policy, Reading, RentOrBuy, S3Fifo, TwoQ, count};
use pager::sweep::{StackDistances, thresholds};
use pager::synthetic::locality;
use pager::{Costs, Counts, Weights, future};
use sim::Streams;

const REQUESTS: usize = 300_000;

/// Keeps a policy's pass in a function of its own, as a caller would have it.
#[inline(never)]
fn pass<P: Policy<Request = u32>>(policy: P, pages: u32, trace: &[u32]) -> Counts {
    count(policy, pages, trace)
}

fn main() -> Result<(), String> {
    let usage = "pages POLICY REQUESTS [FRAMES], at most 300000 requests";
    let mut arguments = std::env::args().skip(1);
    let policy = arguments.next().ok_or(usage)?;
    let requests: usize = arguments.next().and_then(|n| n.parse().ok()).filter(|&n| n <= REQUESTS).ok_or(usage)?;
    let frames: u32 = arguments.next().map_or(Some(4), |n| n.parse().ok().filter(|&n| n > 0)).ok_or(usage)?;
    let jpeg = locality("jpeg").ok_or("no locality called jpeg")?;
    let whole = jpeg.trace(REQUESTS, &mut Streams::new(1).stream("jpeg"));
    let (pages, trace) = (jpeg.pages, &whole[..requests]);
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
        // All 1025 thresholds of the longest window of the paper's sweep; printed is the middle one.
        "thresholds" => thresholds(pages, trace, frames, 2, 1024, Reading::FIGURE_5)[512],
        other => return Err(format!("unknown policy `{other}`: {usage}")),
    };
    let cost = Costs::ONENAND_2006.total(&counts);
    println!("{policy}, {frames} frames, {requests} requests: {counts:?}, {}, {}", cost.time, cost.energy);
    Ok(())
}
