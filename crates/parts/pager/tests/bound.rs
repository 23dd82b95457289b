//! The bound on traces whose optimum is out of reach, or known from elsewhere.

use pager::bound::lower_bound;
use pager::policy::{Min, PmXip, Reading, RentOrBuy, count};
use pager::synthetic::LOCALITIES;
use pager::{Costs, Counts, Weights, future};
use sim::Streams;

#[test]
fn no_policy_is_below_the_bound() {
    let weights = Weights::time(&Costs::ONENAND_2006);
    for (name, locality) in LOCALITIES {
        let pages = locality.pages;
        let trace = locality.trace(4_000, &mut Streams::new(31).stream(name));
        for (frames, buffers) in [(1, 1), (4, 2), (16, 3)] {
            let served = [
                count(Min::new(frames), pages, &future::foresee(pages, &trace)),
                count(PmXip::new(frames, buffers, 8, 4, Reading::FIGURE_5), pages, &trace),
                count(RentOrBuy::new(frames, buffers, &weights), pages, &trace),
            ];
            let least = served.iter().map(|counts| weights.total(counts)).min().unwrap();
            let bound = lower_bound(pages, &trace, frames, buffers, &weights, least, 60);
            assert!(bound <= least, "{name}, {frames} frames: bound {bound} above {least}");
            // At least what every schedule pays for its first loads and its reads.
            let seen = (0..pages).filter(|page| trace.contains(page)).count() as u64;
            let first = Counts { flash_to_buffer: seen, sram_reads: trace.len() as u64, ..Counts::default() };
            assert!(bound >= weights.total(&first), "{name}, {frames} frames: bound {bound}");
        }
    }
}

#[test]
fn without_sram_the_bound_reaches_min() {
    // Buffers without SRAM are conventional memory, for which MIN is optimal and the relaxation has no gap.
    let weights = Weights { load: 1_000_000, moved: 1, buffer_read: 10_000, sram_read: 10_000 };
    for (name, locality) in LOCALITIES {
        let trace = locality.trace(1_500, &mut Streams::new(32).stream(name));
        for buffers in [2, 5] {
            let misses = count(Min::new(buffers), locality.pages, &future::foresee(locality.pages, &trace));
            let min = misses.flash_to_buffer * weights.load + trace.len() as u64 * weights.buffer_read;
            let bound = lower_bound(locality.pages, &trace, 0, buffers, &weights, min, 400);
            assert!(bound <= min, "{name}, {buffers} buffers: bound {bound} above {min}");
            assert!(bound as f64 > 0.97 * min as f64, "{name}, {buffers} buffers: bound {bound}, optimum {min}");
        }
    }
}
