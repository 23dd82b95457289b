//! The optimal cost, by dynamic programming over all memory contents.

use crate::costs::Weights;

/// Maximum number of pages, since all pairs of page sets are enumerated.
const PAGES_MAX: u32 = 8;

/// Returns the minimum cost of any schedule for `trace` that starts with an empty memory.
///
/// Proceeds forwards over the requests and keeps, for every pair (pages in SRAM, pages in buffers), the minimum cost of
/// reaching it. Before each request, any sequence of loads, moves and discards may change the pair; these are relaxed
/// to a fixed point. Then only the pairs in which the page can be read remain. Time: requests times pairs, of which
/// there are sum(C(pages, <= frames)) * sum(C(pages, <= buffers)).
///
/// # Panics
/// If the trace contains a page beyond `pages`, `pages` exceeds 8, or `buffers` is zero.
pub fn optimum(pages: u32, trace: &[u32], frames: u32, buffers: u32, weights: &Weights) -> u64 {
    assert!(pages <= PAGES_MAX, "found {pages} pages, expected at most {PAGES_MAX}");
    assert!(buffers > 0, "a memory without a buffer cannot load");
    let sets = 1usize << pages;
    let state = |sram: usize, held: usize| sram * sets + held;
    let fits = |set: usize, places: u32| set.count_ones() <= places;
    let mut costs = vec![u64::MAX; sets * sets];
    costs[state(0, 0)] = 0;
    for &page in trace {
        assert!(page < pages, "page {page}, expected less than {pages}");
        settle(&mut costs, sets, weights, |sram, held| fits(sram, frames) && fits(held, buffers));
        let asked = 1 << page;
        for sram in 0..sets {
            for held in 0..sets {
                let cost = &mut costs[state(sram, held)];
                let read = match (sram & asked != 0, held & asked != 0) {
                    (true, true) => weights.sram_read.min(weights.buffer_read),
                    (true, false) => weights.sram_read,
                    (false, true) => weights.buffer_read,
                    (false, false) => u64::MAX,
                };
                *cost = cost.saturating_add(read);
            }
        }
    }
    costs.into_iter().min().expect("there is a state")
}

/// Lowers the cost of every state to the minimum at which it can be reached from the others.
fn settle(costs: &mut [u64], sets: usize, weights: &Weights, fits: impl Fn(usize, usize) -> bool) {
    let mut changed = true;
    while changed {
        changed = false;
        for sram in 0..sets {
            for held in 0..sets {
                let cost = costs[sram * sets + held];
                if cost == u64::MAX {
                    continue;
                }
                let mut reach = |sram: usize, held: usize, cost: u64| {
                    let known = &mut costs[sram * sets + held];
                    if fits(sram, held) && cost < *known {
                        *known = cost;
                        changed = true;
                    }
                };
                let mut bit = 1;
                while bit < sets {
                    if held & bit == 0 {
                        reach(sram, held | bit, cost + weights.load);
                    } else {
                        reach(sram, held & !bit, cost);
                        reach(sram | bit, held, cost + weights.moved);
                    }
                    reach(sram & !bit, held, cost);
                    bit <<= 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: Weights = Weights { load: 29_330, moved: 12_860, buffer_read: 220, sram_read: 40 };

    #[test]
    fn small_cases_match_manual_results() {
        // One page: load it; move it if it is read more than 12860 / 180 = 71.4 times.
        let reads = |n: usize| optimum(1, &vec![0; n], 1, 1, &WEIGHTS);
        assert_eq!(reads(71), 29_330 + 71 * 220);
        assert_eq!(reads(72), 29_330 + 12_860 + 72 * 40);
        // Two alternating pages, one frame and one buffer: both stay, one of them after a move.
        assert_eq!(optimum(2, &[0, 1, 0, 1], 1, 1, &WEIGHTS), 2 * 29_330 + 12_860 + 2 * 220 + 2 * 40);
        // Without SRAM each alternation is a load.
        assert_eq!(optimum(2, &[0, 1, 0, 1], 0, 1, &WEIGHTS), 4 * 29_330 + 4 * 220);
        assert_eq!(optimum(2, &[], 1, 1, &WEIGHTS), 0);
    }

    #[test]
    fn loading_ahead_can_be_better_than_loading_on_demand() {
        // Page 1 is worth an SRAM frame, but it can only get there before page 0 occupies the only buffer.
        let trace: Vec<u32> = [0, 1, 0].into_iter().chain([1; 1000]).collect();
        assert_eq!(optimum(2, &trace, 1, 1, &WEIGHTS), 2 * 29_330 + 12_860 + 2 * 220 + 1001 * 40);
    }

    #[test]
    fn the_copy_in_a_buffer_outlives_the_one_in_sram() {
        // Long alternating runs: both pages are copied into the only frame, and neither is loaded twice.
        let trace: Vec<u32> = [vec![0; 500], vec![1; 500], vec![0; 3]].concat();
        assert_eq!(optimum(2, &trace, 1, 2, &WEIGHTS), 2 * (29_330 + 12_860) + 1000 * 40 + 3 * 220);
    }
}
