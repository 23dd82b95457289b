//! Rent or buy: compared with a slow implementation of the same rules, its guarantee, and its benefit.

mod common;

use common::audit;
use pager::policy::{Lru, PmXip, Reading, RentOrBuy, count, serve};
use pager::synthetic::LOCALITIES;
use pager::{Costs, Counts, Policy, Weights};
use sim::{Rng, Streams};

fn time() -> Weights {
    Weights::time(&Costs::ONENAND_2006)
}

/// One memory under one price; lists are unordered, and ages follow from the times of last requests.
#[derive(Clone)]
struct Side {
    price: u64,
    frames: usize,
    buffers: usize,
    sram: Vec<usize>,
    held: Vec<usize>,
    rent: Vec<u64>,
}

fn oldest(places: &[usize], last: &[u64]) -> usize {
    *places.iter().min_by_key(|&&page| last[page]).unwrap()
}

impl Side {
    /// Returns the cost of a request beyond a read from SRAM; `last` holds the times of the previous requests.
    fn request(&mut self, page: usize, last: &[u64], weights: &Weights) -> u64 {
        if self.sram.contains(&page) {
            return 0;
        }
        let full = self.sram.len() == self.frames;
        let idle = last[page] > 0 && (!full || last[page] > last[oldest(&self.sram, last)]);
        let slower = weights.buffer_read - weights.sram_read;
        if !idle {
            self.rent[page] = 0;
        }
        let found = self.held.contains(&page);
        if found {
            self.rent[page] += slower;
        } else {
            if idle {
                self.rent[page] += weights.load;
            }
            if self.held.len() == self.buffers {
                let victim = oldest(&self.held, last);
                self.held.retain(|&other| other != victim);
            }
            self.held.push(page);
        }
        let loaded = if found { 0 } else { weights.load };
        if full && self.rent[page] < self.price {
            return loaded + slower;
        }
        self.rent[page] = 0;
        if full {
            let victim = oldest(&self.sram, last);
            self.sram.retain(|&other| other != victim);
        }
        self.held.retain(|&other| other != page);
        self.sram.push(page);
        // A page found in a buffer is read there and then moved.
        loaded + weights.moved + if found { slower } else { 0 }
    }
}

/// Returns the counts and the number of changes of leader.
fn slow(trace: &[u32], pages: u32, frames: usize, buffers: usize, prices: &[u64]) -> (Counts, u64) {
    let weights = time();
    let side = |price: u64| Side {
        price: price * weights.load,
        frames,
        buffers,
        sram: Vec::new(),
        held: Vec::new(),
        rent: vec![0; pages as usize],
    };
    let mut sides: Vec<Side> = prices.iter().map(|&price| side(price)).collect();
    let (mut sram, mut held): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut last = vec![0u64; pages as usize];
    let (mut leader, mut changes, mut counts) = (0, 0, Counts::default());
    let mut ahead = vec![0u64; prices.len()];
    for (now, &page) in (1..).zip(trace) {
        let page = page as usize;
        let costs: Vec<u64> = sides.iter_mut().map(|side| side.request(page, &last, &weights)).collect();
        for (ahead, cost) in ahead.iter_mut().zip(&costs) {
            *ahead = (*ahead + costs[leader]).saturating_sub(*cost);
        }
        let most = *ahead.iter().max().unwrap();
        if most > 2 * frames as u64 * (weights.load + weights.moved) {
            leader = ahead.iter().position(|&lead| lead == most).unwrap();
            ahead.fill(0);
            changes += 1;
        }
        let wanted = &sides[leader].sram;
        if sram.contains(&page) {
            counts.sram_reads += 1;
        } else {
            let found = held.contains(&page);
            if !found {
                counts.flash_to_buffer += 1;
                if held.len() == buffers {
                    let victim = oldest(&held, &last);
                    held.retain(|&other| other != victim);
                }
                held.push(page);
            }
            if wanted.contains(&page) {
                if sram.len() == frames {
                    let strangers: Vec<usize> = sram.iter().copied().filter(|page| !wanted.contains(page)).collect();
                    let victim = oldest(&strangers, &last);
                    sram.retain(|&other| other != victim);
                }
                held.retain(|&other| other != page);
                sram.push(page);
                counts.buffer_to_sram += 1;
            }
            if found || !wanted.contains(&page) { counts.buffer_reads += 1 } else { counts.sram_reads += 1 }
        }
        last[page] = now;
    }
    (counts, changes)
}

/// Generates a trace with phases, which provoke changes of leader.
fn phases(rng: &mut Rng, requests: usize) -> (u32, Vec<u32>) {
    let pages = 4 + rng.below(12) as u32;
    let mut trace = Vec::new();
    while trace.len() < requests {
        let set = 2 + rng.below(u64::from(pages) - 1) as u32;
        let (first, random) = (rng.below(u64::from(pages)) as u32, rng.chance(0.5));
        for step in 0..40 + rng.below(400) as u32 {
            let page = (first + if random { rng.below(u64::from(set)) as u32 } else { step % set }) % pages;
            trace.extend(std::iter::repeat_n(page, 1 + rng.below(3) as usize));
        }
    }
    trace.truncate(requests);
    (pages, trace)
}

#[test]
fn the_policy_follows_its_rules() {
    let mut rng = Streams::new(21).stream("traces");
    let mut changed = 0;
    for round in 0..3_000 {
        let (pages, trace) = phases(&mut rng, if round % 100 == 0 { 20_000 } else { 200 });
        let (frames, buffers) = (1 + rng.below(5) as u32, 1 + rng.below(3) as u32);
        let mut policy = RentOrBuy::new(frames, buffers, &time());
        policy.grow(pages);
        let mut counts = Counts::default();
        serve(&mut policy, &trace, &mut counts);
        let (expected, changes) = slow(&trace, pages, frames as usize, buffers as usize, &[0, 1, 3, 9]);
        assert_eq!((counts, policy.changes()), (expected, changes), "round {round}, {frames} frames");
        changed += changes;
        if trace.len() < 1_000 {
            let audited = audit(RentOrBuy::new(frames, buffers, &time()), pages, &trace, frames, buffers);
            assert_eq!(audited, counts, "round {round}");
        }
    }
    assert!(changed > 300, "found {changed} changes of leader, expected more than 300");
}

#[test]
fn at_price_zero_the_policy_is_lru() {
    let mut rng = Streams::new(22).stream("traces");
    for _ in 0..200 {
        let (pages, trace) = phases(&mut rng, 500);
        let frames = 1 + rng.below(8) as u32;
        let free = RentOrBuy::with_prices(frames, 2, &time(), [0]);
        assert_eq!(count(free, pages, &trace), count(Lru::new(frames), pages, &trace));
    }
}

#[test]
fn the_guarantee_holds_against_every_price() {
    let weights = time();
    let Weights { load, moved, .. } = weights;
    let mut rng = Streams::new(23).stream("traces");
    for _ in 0..400 {
        let (pages, trace) = phases(&mut rng, 6_000);
        let (frames, buffers) = (1 + rng.below(6), 1 + rng.below(3));
        let mut policy = RentOrBuy::new(frames as u32, buffers as u32, &time());
        policy.grow(pages);
        let mut counts = Counts::default();
        serve(&mut policy, &trace, &mut counts);
        let (lead, refill) = (2 * frames * (load + moved), frames * (3 * load + moved) + buffers * load);
        let slack = (policy.changes() + 1) * (lead + refill + load + moved);
        for price in [0, 1, 3, 9] {
            let alone = RentOrBuy::with_prices(frames as u32, buffers as u32, &time(), [price]);
            let alone = weights.total(&count(alone, pages, &trace));
            let ours = weights.total(&counts);
            assert!(ours <= alone + slack, "{ours} > {alone} + {slack}, price {price}");
        }
    }
}

#[test]
fn the_policy_gains_like_pm_xip_and_never_loses_to_lru() {
    let weights = time();
    let (mut ours_at_4, mut paper_at_4) = (0.0, 0.0);
    for (name, locality) in LOCALITIES {
        let trace = locality.trace(100_000, &mut Streams::new(1).stream(name));
        for frames in [2, 4, 8, 16, 32, 64] {
            let cost = |counts: Counts| weights.total(&counts) as f64;
            let lru = cost(count(Lru::new(frames), locality.pages, &trace));
            let paper = cost(count(PmXip::new(frames, 2, 8, 4, Reading::FIGURE_5), locality.pages, &trace));
            let ours = cost(count(RentOrBuy::new(frames, 2, &time()), locality.pages, &trace));
            assert!(ours <= 1.05 * lru.min(paper), "{name}, {frames} KB: {:.3} of the better", ours / lru.min(paper));
            if frames == 4 {
                ours_at_4 += ours / lru;
                paper_at_4 += paper / lru;
            }
        }
    }
    assert!(ours_at_4 < 0.9 * paper_at_4, "at 4 KB: {ours_at_4:.3} against {paper_at_4:.3}");
}
