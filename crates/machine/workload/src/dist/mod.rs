//! Which block of a region comes next: fio's `random_distribution`, a few hundred instructions a draw at most.
//!
//! No table grows with the drive, but for a bit a block where requests of mixed sizes visit each block once
//! ([`FreeMap`]). Ranked distributions (Zipf, Pareto, normal) give the popularity of *ranks*; which block has
//! which rank is a seeded permutation, so that hot blocks lie scattered over the region, as they do under fio's hash.
//! Unlike a hash the permutation gives each block exactly one rank, so that frequencies are the distribution's own.

mod free_map;
mod normal;
mod pareto;
mod zipf;
mod zoned;

use sim::Rng;

pub use free_map::FreeMap;
pub use normal::Normal;
pub use pareto::Pareto;
use sim::{Pass, Permutation};
pub use zipf::Zipf;
pub use zoned::{Extent, Zone, Zoned};

/// A distribution as a job file names it, before the number of blocks is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Every block alike.
    Random,
    /// The block of rank `k` (from 1) in proportion to `k^-theta`.
    Zipf {
        /// The exponent, 0 or more.
        theta: f64,
        /// Where the most popular block lies, as a share of the region; anywhere if not given.
        center: Option<f64>,
    },
    /// A share `h` of the requests goes to a share `1 - h` of the blocks, and so on within them (or the other way
    /// round: `h` and `1 - h` name the same skew).
    Pareto {
        /// The skew, between 0 and 1.
        h: f64,
        /// Where the most popular block lies, as a share of the region; anywhere if not given.
        center: Option<f64>,
    },
    /// A bell over the ranks, cut off at the region's ends.
    Normal {
        /// Standard deviation in percent of the region.
        deviation: f64,
        /// Where the most popular block lies, as a share of the region; anywhere if not given.
        center: Option<f64>,
    },
    /// Parts of the region, each with its share of the requests.
    Zoned(Vec<Zone>),
}

/// Draws block numbers of a region.
#[derive(Clone, Debug)]
pub enum Sampler {
    /// Every block exactly once a pass.
    Pass(Pass),
    /// Every block alike, at any time.
    Uniform(u64),
    /// See [`Distribution::Zipf`].
    Zipf(Ranked<Zipf>),
    /// See [`Distribution::Pareto`].
    Pareto(Ranked<Pareto>),
    /// See [`Distribution::Normal`].
    Normal(Ranked<Normal>),
    /// Every block once a pass, in requests that are cut where it is not free.
    Free(FreeMap),
    /// See [`Distribution::Zoned`].
    Zoned(Zoned),
}

impl Sampler {
    /// A sampler of `blocks` blocks of `unit` bytes. `map` asks for each block once a pass, which only
    /// [`Distribution::Random`] can give (fio too drops its random map for the others).
    ///
    /// # Errors
    /// What is wrong with the distribution for this region: found and expected.
    ///
    /// # Panics
    /// If there are no blocks.
    pub fn new(
        distribution: &Distribution,
        blocks: u64,
        unit: u64,
        map: bool,
        rng: &mut Rng,
    ) -> Result<Sampler, String> {
        assert!(blocks > 0, "a region has at least one block");
        Ok(match distribution {
            Distribution::Random if map => Sampler::Pass(Pass::new(blocks, rng)),
            Distribution::Random => Sampler::Uniform(blocks),
            Distribution::Zipf { theta, center } => {
                Sampler::Zipf(Ranked::new(Zipf::new(blocks, *theta), blocks, 0, *center, rng))
            }
            Distribution::Pareto { h, center } => {
                Sampler::Pareto(Ranked::new(Pareto::new(blocks, *h), blocks, 0, *center, rng))
            }
            Distribution::Normal { deviation, center } => {
                Sampler::Normal(Ranked::new(Normal::new(blocks, *deviation, 0.5), blocks, blocks / 2, *center, rng))
            }
            Distribution::Zoned(zones) => Sampler::Zoned(Zoned::new(zones, blocks, unit)?),
        })
    }

    /// Begins a pass; the other distributions go on.
    pub fn restart(&mut self, rng: &mut Rng) {
        match self {
            Sampler::Pass(pass) => *pass = Pass::new(pass.len(), rng),
            Sampler::Free(map) => map.clear(),
            _ => {}
        }
    }

    /// The next block.
    #[inline(always)]
    pub fn draw(&mut self, rng: &mut Rng) -> u64 {
        match self {
            Sampler::Pass(pass) => pass.draw(rng),
            Sampler::Uniform(blocks) => rng.below(*blocks),
            _ => self.draw_skewed(rng),
        }
    }

    /// Kept out of the way of what most jobs do, which is short.
    #[inline(never)]
    fn draw_skewed(&mut self, rng: &mut Rng) -> u64 {
        match self {
            Sampler::Pass(_) | Sampler::Uniform(_) => unreachable!("drawn before"),
            Sampler::Zipf(ranked) => ranked.place(ranked.ranks.draw(rng)),
            Sampler::Pareto(ranked) => ranked.place(ranked.ranks.draw(rng)),
            Sampler::Normal(ranked) => ranked.place(ranked.ranks.draw(rng)),
            Sampler::Free(map) => map.draw(rng),
            Sampler::Zoned(zoned) => zoned.draw(rng),
        }
    }
}

/// A distribution of ranks and the blocks that hold them.
#[derive(Clone, Debug)]
pub struct Ranked<D> {
    ranks: D,
    scatter: Permutation,
    // Added to a block, modulo the blocks: brings the most popular rank to where it was asked to be.
    shift: u64,
}

impl<D> Ranked<D> {
    fn new(ranks: D, blocks: u64, top: u64, center: Option<f64>, rng: &mut Rng) -> Ranked<D> {
        let scatter = Permutation::new(blocks, rng);
        let shift = center.map_or(0, |center| {
            assert!((0.0..=1.0).contains(&center), "the center {center} lies outside the region");
            let wanted = ((center * blocks as f64) as u64).min(blocks - 1);
            (wanted + blocks - scatter.at(top)) % blocks
        });
        Ranked { ranks, scatter, shift }
    }

    #[inline]
    fn place(&self, rank: u64) -> u64 {
        let block = self.scatter.at(rank) + self.shift;
        if block >= self.scatter.len() { block - self.scatter.len() } else { block }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Streams;

    #[test]
    fn a_ranked_distribution_keeps_its_frequencies_and_scatters_its_blocks() {
        let mut rng = Streams::new(5).stream("ranked");
        let zipf = Distribution::Zipf { theta: 1.0, center: Some(0.25) };
        let mut sampler = Sampler::new(&zipf, 400, 4096, true, &mut rng).expect("valid");
        let mut counts = [0u32; 400];
        for _ in 0..100_000 {
            counts[sampler.draw(&mut rng) as usize] += 1;
        }
        let most = (0..400).max_by_key(|block| counts[*block]).expect("blocks");
        assert_eq!(most, 100, "rank 0 lies at the center that was asked for");
        // Harmonic number of 400 is 6.57: rank 0 has 15.2 %, and its neighbours are cold blocks as a rule.
        assert!((14_700..15_700).contains(&counts[100]), "{}", counts[100]);
        assert!(counts[99] + counts[101] < 4_000);
        let mut sorted = counts;
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        assert!((7_200..8_000).contains(&sorted[1]), "{}", sorted[1]);
    }

    #[test]
    fn normal_scatters_its_hot_blocks_around_no_center() {
        let mut rng = Streams::new(5).stream("normal");
        let normal = Distribution::Normal { deviation: 5.0, center: Some(0.25) };
        let mut sampler = Sampler::new(&normal, 400, 4096, true, &mut rng).expect("valid");
        let mut counts = [0u32; 400];
        for _ in 0..100_000 {
            counts[sampler.draw(&mut rng) as usize] += 1;
        }
        // The bell's 20 blocks a deviation: the top has 1.99 % of the draws, four deviations away there are none.
        let around = |block: usize| counts[block - 3..=block + 3].iter().filter(|count| **count > 1_000).count();
        assert!((1_800..2_200).contains(&counts[100]), "{}", counts[100]);
        assert!(around(100) <= 3, "hot blocks lie scattered: {:?}", &counts[97..=103]);
        assert!(counts.iter().filter(|count| **count == 0).count() > 200);
    }

    #[test]
    fn a_pareto_draw_lands_in_the_region_and_skews() {
        let mut rng = Streams::new(5).stream("pareto");
        let pareto = Distribution::Pareto { h: 0.2, center: None };
        let mut sampler = Sampler::new(&pareto, 1000, 4096, false, &mut rng).expect("valid");
        let mut counts = vec![0u32; 1000];
        for _ in 0..100_000 {
            counts[sampler.draw(&mut rng) as usize] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hottest: u32 = counts[..200].iter().sum();
        assert!((79_000..81_500).contains(&hottest), "80 % of requests go to 20 % of blocks: {hottest}");
    }
}
