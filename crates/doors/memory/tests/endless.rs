//! Endless loops of writes, syncs and drops: a sync fails only if live data do not fit, whatever the capacity, the share
//! of dirty segments and the number of live tokens.

#[path = "support/endless.rs"]
mod support;

use std::collections::BTreeMap;

use memory::Shape;
use sim::{Rng, Streams};
use support::Endless;

/// A loop: each step writes some segments at random, syncs, and drops all but the newest tokens.
#[derive(Clone, Copy, Debug)]
struct Loop {
    capacity: u64,
    /// Pages with data.
    pages: u32,
    /// Share of their segments that each step writes.
    share: f64,
    tokens: usize,
    of_format_1: bool,
}

/// The results of a loop.
#[derive(Debug, Default)]
struct Outcome {
    refusals: u64,
    /// Bytes programmed per byte written, from the second half of the loop.
    amplification: f64,
    /// Of these, those of the table and those of collection.
    overhead: [f64; 2],
    /// The largest share of the space that live data took.
    occupancy: f64,
    gathered: u64,
    taken: f64,
}

impl Loop {
    fn shape(&self) -> Shape {
        let shape = Shape::of(self.capacity, 2 * self.capacity, 64).expect("sizes that work");
        if self.of_format_1 { shape.of_format_1() } else { shape }
    }

    fn draw(&self, rng: &mut Rng) -> BTreeMap<u32, u32> {
        let segments = u64::from(self.pages) * 16;
        let mut dirty = BTreeMap::new();
        if self.share >= 1.0 {
            dirty.extend((1..=self.pages).map(|page| (page, 0xffff)));
        } else {
            for _ in 0..((segments as f64 * self.share) as u64).max(1) {
                let at = rng.below(segments);
                *dirty.entry((at / 16) as u32 + 1).or_insert(0) |= 1 << (at % 16);
            }
        }
        dirty
    }

    /// Runs until `done` returns true, given the number of steps and the share of version entries taken.
    fn run(&self, seed: u64, done: impl Fn(u64, f64) -> bool) -> Outcome {
        let shape = self.shape();
        let mut rng = Streams::new(seed).stream("test.endless");
        let mut endless = Endless::new(shape);
        for first in (1..=self.pages).step_by(64) {
            let dirty = (first..=self.pages.min(first + 63)).map(|page| (page, 0xffff)).collect();
            endless.write(&dirty).expect("the data fit");
        }
        endless.sync();
        let (mut outcome, mut before) = (Outcome::default(), None);
        let mut halves = 0;
        for step in 1.. {
            while endless.write(&self.draw(&mut rng)).is_err() {
                outcome.refusals += 1;
                // Live data do not fit: keep less, or give up what was not synced.
                match endless.tokens.len() {
                    0 | 1 if rng.chance(0.5) || endless.tokens.is_empty() => break,
                    1 => endless.rollback(),
                    _ => endless.drop_oldest(),
                }
            }
            let stats = endless.nvmm.stats();
            outcome.occupancy = outcome.occupancy.max(stats.needed as f64 / stats.capacity as f64);
            endless.sync();
            while endless.tokens.len() > self.tokens {
                endless.drop_oldest();
            }
            let stats = endless.nvmm.stats();
            outcome.taken = stats.taken_versions as f64 / f64::from(shape.versions);
            // The table's pages are stored twice.
            let [_, map, copied] = stats.programs;
            let programs = [2 * map, copied];
            if done(2 * step, 2.0 * outcome.taken) && halves == 0 {
                (before, halves) = (Some((programs, endless.dirty)), 1);
            }
            if done(step, outcome.taken) {
                outcome.gathered = stats.gathered;
                let (programs_before, dirty_before) = before.expect("half of the loop came first");
                let dirty = ((endless.dirty - dirty_before) as f64).max(1.0);
                for (at, programs) in programs.iter().enumerate() {
                    outcome.overhead[at] = (programs - programs_before[at]) as f64 / dirty;
                }
                outcome.amplification = 1.0 + outcome.overhead.iter().sum::<f64>();
                break;
            }
        }
        endless.check();
        if self.tokens > 0 {
            endless.rollback();
            endless.check();
        }
        outcome
    }
}

const MIB: u64 = 1 << 20;

fn pages(bytes: u64) -> u32 {
    (bytes >> 16) as u32
}

/// Loops over all sizes, shares and numbers of tokens. Each refusal is checked where it occurs (`Endless::write_alone`).
#[test]
fn a_sync_fails_only_if_live_data_do_not_fit() {
    let count = std::env::var("LOOPS").ok().and_then(|n| n.parse().ok()).unwrap_or(24);
    let (mut refusals, mut gathered) = (0, 0);
    for seed in 0..count {
        let mut rng = Streams::new(seed).stream("test.loops");
        let mut pick = |from: &[f64]| from[rng.below(from.len() as u64) as usize];
        let capacity = (pick(&[8.0, 16.0, 32.0, 64.0, 128.0, 512.0, 4096.0]) as u64) * MIB;
        let drawn = Loop {
            capacity,
            pages: (f64::from(pages(capacity)) * pick(&[0.25, 0.5, 0.75, 1.0])) as u32,
            share: pick(&[0.001, 0.01, 0.05, 0.3, 1.0]),
            tokens: pick(&[0.0, 1.0, 2.0, 4.0, 8.0]) as usize,
            of_format_1: pick(&[0.0, 0.0, 1.0]) > 0.0,
        };
        let step = (f64::from(drawn.pages) * 16.0 * drawn.share).max(1.0);
        let steps = (150_000.0 / step).clamp(12.0, 1_000.0) as u64;
        let began = std::time::Instant::now();
        let outcome = drawn.run(seed, |step, _| step >= steps);
        eprintln!("{seed}: {drawn:?}: {steps} steps, {outcome:.2?}, {:.1?}", began.elapsed());
        (refusals, gathered) = (refusals + outcome.refusals, gathered + outcome.gathered);
    }
    // Fewer loops need not meet either.
    assert!(count < 24 || refusals > 0 && gathered > 0, "{refusals} refusals, {gathered} pages merged");
}

/// The plainest use: write, sync, drop.
#[test]
fn write_sync_drop_goes_on_for_ever() {
    let steps = std::env::var("STEPS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    for of_format_1 in [false, true] {
        for (capacity, share) in [8, 32, 128].into_iter().flat_map(|mib| [(mib * MIB, 0.05), (mib * MIB, 0.3)]) {
            let drawn = Loop { capacity, pages: pages(capacity / 2), share, tokens: 1, of_format_1 };
            let outcome = drawn.run(1, |step, _| step >= steps);
            eprintln!("{drawn:?}: {outcome:.2?}");
            assert_eq!(outcome.refusals, 0, "{drawn:?}");
        }
    }
}

/// Collection costs little as long as half of the space is free.
#[test]
fn a_sync_writes_at_most_1_2_times_the_dirty_data_while_live_data_fill_half_of_the_space() {
    // `used` is a share of the capacity, which is half of the space; older versions come on top.
    for (used, share, steps) in [(0.93, 0.05, 150), (0.78, 0.3, 30)] {
        let all = f64::from(pages(128 * MIB));
        let drawn = Loop { capacity: 128 * MIB, pages: (all * used) as u32, share, tokens: 1, of_format_1: false };
        let outcome = drawn.run(1, |step, _| step >= steps);
        eprintln!("{drawn:?}: {outcome:.3?}");
        assert!((0.48..0.52).contains(&outcome.occupancy), "{outcome:?}");
        assert!(outcome.amplification <= 1.2, "{outcome:?}");
    }
}

/// Larger memories, until as many version entries were taken as there are, `TIMES` times: none can have been left unused.
#[test]
fn every_version_entry_is_taken_again_and_again() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<f64>().ok());
    let (times, mib) = (number("TIMES").unwrap_or(1.0), number("CAPACITY_MIB").unwrap_or(64.0) as u64);
    for share in [0.05, 0.3] {
        let drawn = Loop { capacity: mib * MIB, pages: pages(mib * MIB / 2), share, tokens: 1, of_format_1: false };
        let began = std::time::Instant::now();
        let outcome = drawn.run(1, |_, taken| taken >= times);
        eprintln!("{drawn:?}: {outcome:.2?}, {:.0?}", began.elapsed());
        assert_eq!(outcome.refusals, 0, "{drawn:?}");
    }
}
