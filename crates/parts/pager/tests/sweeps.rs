//! A single pass over many configurations matches one pass for each, for any chunks and any number of threads.

use std::num::NonZero;

use pager::policy::{Comparison, Lru, Min, PmXip, Reading, RentOrBuy, Window, count, serve};
use pager::sweep::{StackDistances, parallel, thresholds, windows};
use pager::synthetic::{LOCALITIES, locality};
use pager::{Costs, Counts, Policy, Weights, future};
use sim::Streams;

#[test]
fn stack_distances_are_lru_at_every_size() {
    for (name, locality) in LOCALITIES {
        let trace = locality.trace(6_000, &mut Streams::new(5).stream(name));
        let mut distances = StackDistances::new(0);
        for (i, chunk) in trace.chunks(1_700).enumerate() {
            // Grow irregularly: sometimes beyond the pages seen so far, sometimes just enough.
            distances.grow(chunk.iter().max().unwrap() + 1 + 7 * i as u32);
            for &page in chunk {
                distances.request(page);
            }
        }
        let misses = distances.misses();
        assert_eq!((misses[0], distances.requests()), (6_000, 6_000));
        for frames in 1..misses.len() as u32 {
            let lru = count(Lru::new(frames), locality.pages, &trace);
            assert_eq!(lru, Counts::conventional(6_000, misses[frames as usize]), "{name}, {frames} frames");
        }
    }
}

#[test]
fn stack_distances_survive_a_long_trace_of_few_pages() {
    let mut distances = StackDistances::new(3);
    for i in 0..100_000u32 {
        distances.request(i % 3);
    }
    assert_eq!(distances.misses(), [100_000, 100_000, 100_000, 3]);
}

#[test]
fn a_pass_over_all_thresholds_matches_separate_passes() {
    let mut rng = Streams::new(6).stream("sweeps");
    for round in 0..60 {
        let (name, locality) = LOCALITIES[round % LOCALITIES.len()];
        let trace = locality.trace(700, &mut rng);
        let frames = 1 + rng.below(6) as u32;
        let buffers = 1 + rng.below(3) as u32;
        // Some windows need more than one or two words of thresholds.
        let window = 1 + rng.below(if round % 10 == 0 { 140 } else { 12 }) as u32;
        for reading in Reading::all() {
            let all = thresholds(locality.pages, &trace, frames, buffers, window, reading);
            assert_eq!(all.len(), window as usize + 1);
            for (threshold, &counts) in (0..).zip(&all) {
                let alone = count(PmXip::new(frames, buffers, window, threshold, reading), locality.pages, &trace);
                assert_eq!(counts, alone, "{name}, {frames} frames, PM-XIP({window},{threshold}), {reading:?}");
            }
            if reading.comparison == Comparison::Above {
                assert_eq!(all[window as usize].buffer_to_sram, 0);
            }
        }
    }
}

#[test]
fn a_sweep_is_the_same_on_any_number_of_threads() {
    let jpeg = locality("jpeg").unwrap();
    let trace = jpeg.trace(3_000, &mut Streams::new(8).stream("jpeg"));
    let sweep = |threads| {
        windows(jpeg.pages, &trace, &[4, 8], 2, &[8, 2, 32], Reading::FIGURE_5, NonZero::new(threads).unwrap())
    };
    let points = sweep(1);
    assert_eq!(points.len(), 2 * (3 + 9 + 33));
    assert!(points.is_sorted_by_key(|point| (point.frames, point.window, point.threshold)));
    assert_eq!(points, sweep(2));
    assert_eq!(points, sweep(7));
    let point = points.iter().find(|point| (point.frames, point.window, point.threshold) == (8, 8, 4)).unwrap();
    assert_eq!(point.counts, count(PmXip::new(8, 2, 8, 4, Reading::FIGURE_5), jpeg.pages, &trace));
    assert_eq!(parallel(100, NonZero::new(5).unwrap(), |job| 3 * job), (0..100).map(|job| 3 * job).collect::<Vec<_>>());
}

/// Checks that a policy that serves a trace in chunks, growing as pages appear, has the same counts as on the whole
/// trace.
fn chunked<P: Policy + Clone>(whole: P, requests: &[P::Request], page: impl Fn(P::Request) -> u32, pages: u32) {
    let mut policy = whole.clone();
    let mut counts = Counts::default();
    for chunk in requests.chunks(777) {
        policy.grow(chunk.iter().map(|&request| page(request) + 1).max().unwrap());
        serve(&mut policy, chunk, &mut counts);
    }
    assert_eq!(counts, count(whole, pages, requests));
}

#[test]
fn chunked_traces_give_the_same_counts() {
    let jpeg = locality("jpeg").unwrap();
    let trace = jpeg.trace(10_000, &mut Streams::new(9).stream("jpeg"));
    let reading = Reading { window: Window::WithCurrent, ..Reading::FIGURE_5 };
    chunked(Lru::new(6), &trace, |page| page, jpeg.pages);
    chunked(PmXip::new(6, 2, 8, 4, reading), &trace, |page| page, jpeg.pages);
    chunked(RentOrBuy::new(6, 2, &Weights::time(&Costs::ONENAND_2006)), &trace, |page| page, jpeg.pages);
    let foreseen = future::foresee(jpeg.pages, &trace);
    chunked(Min::new(6), &foreseen, |seen| seen.page, jpeg.pages);
}
