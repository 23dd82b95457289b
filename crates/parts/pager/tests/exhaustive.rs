//! Every trace of up to 8 requests over 4 pages, with 2 frames of SRAM: the paper's policies match their
//! straightforward implementations, no policy beats the optimum, the optimum matches a search through all schedules,
//! and the bound never exceeds it.

mod common;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use common::audit;
use common::obvious::{figure_5, lru, min};
use pager::bound::{lower_bound, optimum};
use pager::policy::{Arc, Clock, Fifo, Lru, Min, PmXip, Reading, RentOrBuy, S3Fifo, TwoQ};
use pager::{Costs, Counts, Weights, future};

const PAGES: u32 = 4;
const FRAMES: u32 = 2;

/// Windows and thresholds of PM-XIP that traces of 8 requests can distinguish.
const WINDOWS: [(u32, u32); 10] = [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (4, 2), (5, 1), (6, 3), (8, 2), (8, 4)];

/// Calls `each` with every trace of 1 to `longest` requests; with `canonical`, only those whose pages first appear in
/// ascending order, which represent all others up to renaming.
fn traces(longest: usize, canonical: bool, each: &mut impl FnMut(&[u32])) {
    fn extend(trace: &mut Vec<u32>, longest: usize, canonical: bool, each: &mut impl FnMut(&[u32])) {
        let seen = trace.iter().max().map_or(0, |page| page + 1);
        for page in 0..if canonical { PAGES.min(seen + 1) } else { PAGES } {
            trace.push(page);
            each(trace);
            if trace.len() < longest {
                extend(trace, longest, canonical, each);
            }
            trace.pop();
        }
    }
    extend(&mut Vec::new(), longest, canonical, each);
}

/// Returns the minimum cost of any schedule by Dijkstra's algorithm, one operation at a time. A state consists of the
/// number of requests served and the pages in SRAM and in buffers.
fn search(trace: &[u32], frames: u32, buffers: u32, weights: &Weights) -> u64 {
    let mut done = vec![[[false; 1 << PAGES]; 1 << PAGES]; trace.len() + 1];
    let mut open = BinaryHeap::from([Reverse((0u64, 0usize, 0u8, 0u8))]);
    while let Some(Reverse((cost, served, sram, held))) = open.pop() {
        if std::mem::replace(&mut done[served][usize::from(sram)][usize::from(held)], true) {
            continue;
        }
        if served == trace.len() {
            return cost;
        }
        let mut next = |more: u64, served: usize, sram: u8, held: u8| {
            let fits = sram.count_ones() <= frames && held.count_ones() <= buffers;
            if fits && !done[served][usize::from(sram)][usize::from(held)] {
                open.push(Reverse((cost + more, served, sram, held)));
            }
        };
        let asked = 1u8 << trace[served];
        if sram & asked != 0 {
            next(weights.sram_read, served + 1, sram, held);
        }
        if held & asked != 0 {
            next(weights.buffer_read, served + 1, sram, held);
        }
        for bit in (0..PAGES).map(|page| 1u8 << page) {
            next(0, served, sram & !bit, held);
            next(0, served, sram, held & !bit);
            next(weights.load, served, sram, held | bit);
            if held & bit != 0 {
                next(weights.moved, served, sram | bit, held);
            }
        }
    }
    unreachable!("every trace can be served")
}

/// Returns the weights of the paper, and others under which each operation matters as much as a load.
fn weights() -> [Weights; 3] {
    [
        Weights::time(&Costs::ONENAND_2006),
        Weights { load: 10, moved: 3, buffer_read: 3, sram_read: 1 },
        Weights { load: 5, moved: 7, buffer_read: 4, sram_read: 0 },
    ]
}

#[test]
fn the_optimum_matches_a_search_through_all_schedules() {
    let mut compared = 0;
    traces(8, true, &mut |trace| {
        for weights in weights() {
            let buffers = 1 + compared % 2;
            let optimum = optimum(PAGES, trace, FRAMES, buffers, &weights);
            assert_eq!(optimum, search(trace, FRAMES, buffers, &weights), "{trace:?}, {buffers} buffers, {weights:?}");
            compared += 1;
        }
    });
    // Partitions of up to 8 elements into at most 4 parts, for three weights.
    assert_eq!(compared, 3 * (1 + 2 + 5 + 15 + 51 + 187 + 715 + 2795));
}

#[test]
fn the_bound_is_close_below_the_optimum() {
    let (mut traces_seen, mut met) = (0, 0);
    traces(8, true, &mut |trace| {
        for weights in weights() {
            for buffers in [1, 2] {
                let optimum = optimum(PAGES, trace, FRAMES, buffers, &weights);
                let bound = lower_bound(PAGES, trace, FRAMES, buffers, &weights, optimum, 40);
                assert!(bound <= optimum, "{bound} > {optimum}: {trace:?}, {buffers} buffers, {weights:?}");
                traces_seen += 1;
                met += u32::from(bound as f64 >= 0.95 * optimum as f64);
            }
        }
    });
    assert!(met * 10 > traces_seen * 9, "within 5 % of the optimum on {met} of {traces_seen}");
}

#[test]
fn no_policy_beats_the_optimum_and_no_conventional_one_beats_min() {
    let weights = Weights::time(&Costs::ONENAND_2006);
    traces(8, false, &mut |trace| {
        let conventional = [
            audit(Lru::new(FRAMES), PAGES, trace, FRAMES, 1),
            audit(Fifo::new(FRAMES), PAGES, trace, FRAMES, 1),
            audit(Clock::new(FRAMES), PAGES, trace, FRAMES, 1),
            audit(TwoQ::new(FRAMES), PAGES, trace, FRAMES, 1),
            audit(Arc::new(FRAMES), PAGES, trace, FRAMES, 1),
            audit(S3Fifo::new(FRAMES), PAGES, trace, FRAMES, 1),
        ];
        let min = audit(Min::new(FRAMES), PAGES, &future::foresee(PAGES, trace), FRAMES, 1);
        for counts in conventional {
            assert!(min.flash_to_buffer <= counts.flash_to_buffer, "{trace:?}: {min:?}, {counts:?}");
            assert_eq!(counts, Counts::conventional(trace.len() as u64, counts.flash_to_buffer));
        }
        // The slow checks are invariant under renaming, so one trace of each shape suffices.
        let named = trace.iter().try_fold(0, |named, &page| (page <= named).then_some(named.max(page + 1)));
        if named.is_none() {
            return;
        }
        for buffers in [1, 2] {
            let optimum = optimum(PAGES, trace, FRAMES, buffers, &weights);
            let mut served = vec![min];
            served.extend(conventional);
            served.push(audit(RentOrBuy::new(FRAMES, buffers, &weights), PAGES, trace, FRAMES, buffers));
            for reading in Reading::all() {
                for (window, threshold) in [(2, 0), (3, 1), (8, 4)] {
                    let policy = PmXip::new(FRAMES, buffers, window, threshold, reading);
                    served.push(audit(policy, PAGES, trace, FRAMES, buffers));
                }
            }
            for counts in served {
                assert!(weights.total(&counts) >= optimum, "{trace:?}, {buffers} buffers: {counts:?} beats {optimum}");
            }
        }
    });
}

#[test]
fn lru_min_and_pm_xip_match_straightforward_implementations() {
    let (mut all, mut shapes) = (0, 0);
    traces(8, false, &mut |trace| {
        all += 1;
        let conventional = |misses| Counts::conventional(trace.len() as u64, misses);
        let frames = FRAMES as usize;
        assert_eq!(audit(Lru::new(FRAMES), PAGES, trace, FRAMES, 1), conventional(lru(trace, frames)), "{trace:?}");
        let foreseen = future::foresee(PAGES, trace);
        assert_eq!(audit(Min::new(FRAMES), PAGES, &foreseen, FRAMES, 1), conventional(min(trace, frames)), "{trace:?}");
    });
    traces(8, true, &mut |trace| {
        shapes += 1;
        for (buffers, (window, threshold)) in [1, 2].into_iter().flat_map(|b| WINDOWS.map(|each| (b, each))) {
            for reading in Reading::all() {
                let policy = PmXip::new(FRAMES, buffers, window, threshold, reading);
                assert_eq!(
                    audit(policy, PAGES, trace, FRAMES, buffers),
                    figure_5(trace, 2, buffers as usize, window as usize, threshold as usize, reading),
                    "{buffers} buffers, PM-XIP({window},{threshold}), {reading:?}, {trace:?}"
                );
            }
        }
    });
    assert_eq!((all, shapes), ((1..=8).map(|length| 4u32.pow(length)).sum(), 1 + 2 + 5 + 15 + 51 + 187 + 715 + 2795));
}
