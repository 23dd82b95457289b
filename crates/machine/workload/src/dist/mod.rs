//! Address distributions within a region: fio's `random_distribution`. A draw takes at most a few hundred instructions.
//!
//! No table grows with the drive, except for one bit per block where requests of mixed sizes visit each block once
//! ([`FreeMap`]). Ranked distributions (Zipf, Pareto, normal) give the popularity of *ranks*. A seeded permutation maps
//! blocks to ranks, so that hot blocks are scattered over the region, as with fio's hash. Unlike a hash, a permutation
//! gives each block exactly one rank, so frequencies match the distribution exactly.

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

/// A distribution as specified in a job file, independent of the number of blocks.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// All blocks with equal probability.
    Random,
    /// The block of rank `k` (from 1) with probability proportional to `k^-theta`.
    Zipf {
        /// Exponent, 0 or more.
        theta: f64,
        /// Position of the most popular block, as a fraction of the region; random if `None`.
        center: Option<f64>,
    },
    /// A fraction `h` of the requests goes to a fraction `1 - h` of the blocks, recursively (`h` and `1 - h` describe
    /// the same skew).
    Pareto {
        /// Skew, between 0 and 1.
        h: f64,
        /// Position of the most popular block, as a fraction of the region; random if `None`.
        center: Option<f64>,
    },
    /// A normal distribution over the ranks, truncated to the region.
    Normal {
        /// Standard deviation as a percentage of the region.
        deviation: f64,
        /// Position of the most popular block, as a fraction of the region; random if `None`.
        center: Option<f64>,
    },
    /// Zones of the region, each with its share of the requests.
    Zoned(Vec<Zone>),
}

/// Draws block numbers within a region.
#[derive(Clone, Debug)]
pub enum Sampler {
    /// Every block exactly once per pass.
    Pass(Pass),
    /// Independent uniform draws.
    Uniform(u64),
    /// See [`Distribution::Zipf`].
    Zipf(Ranked<Zipf>),
    /// See [`Distribution::Pareto`].
    Pareto(Ranked<Pareto>),
    /// See [`Distribution::Normal`].
    Normal(Ranked<Normal>),
    /// Every block once per pass, with requests truncated at blocks that are not free.
    Free(FreeMap),
    /// See [`Distribution::Zoned`].
    Zoned(Zoned),
}

impl Sampler {
    /// Creates a sampler of `blocks` blocks of `unit` bytes. `map` requests each block once per pass, which only
    /// applies to [`Distribution::Random`] (fio, too, ignores its random map for the others).
    ///
    /// # Errors
    /// A message with what was found and expected, if the distribution does not fit the region.
    ///
    /// # Panics
    /// If `blocks` is zero.
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

    /// Starts a new pass. Has no effect on distributions without passes.
    pub fn restart(&mut self, rng: &mut Rng) {
        match self {
            Sampler::Pass(pass) => *pass = Pass::new(pass.len(), rng),
            Sampler::Free(map) => map.clear(),
            _ => {}
        }
    }

    /// Draws the next block.
    #[inline]
    pub fn draw(&mut self, rng: &mut Rng) -> u64 {
        match self {
            Sampler::Pass(pass) => pass.draw(rng),
            Sampler::Uniform(blocks) => rng.below(*blocks),
            _ => self.draw_skewed(rng),
        }
    }

    /// Draws from all other distributions. Separate from [`Self::draw`] to keep the common case short.
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

/// A distribution of ranks, with the mapping from ranks to blocks.
#[derive(Clone, Debug)]
pub struct Ranked<D> {
    ranks: D,
    scatter: Permutation,
    // Offset added to a block, modulo the number of blocks, to put the most popular rank at the requested center.
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
    fn ranked_distributions_keep_frequencies_and_scatter_blocks() {
        let mut rng = Streams::new(5).stream("ranked");
        let zipf = Distribution::Zipf { theta: 1.0, center: Some(0.25) };
        let mut sampler = Sampler::new(&zipf, 400, 4096, true, &mut rng).expect("valid");
        let mut counts = [0u32; 400];
        for _ in 0..100_000 {
            counts[sampler.draw(&mut rng) as usize] += 1;
        }
        let most = (0..400).max_by_key(|block| counts[*block]).expect("blocks");
        assert_eq!(most, 100, "rank 0 is at the requested center");
        // The harmonic number of 400 is 6.57: rank 0 has 15.2 %, and its neighbors are usually cold blocks.
        assert!((14_700..15_700).contains(&counts[100]), "{}", counts[100]);
        assert!(counts[99] + counts[101] < 4_000);
        let mut sorted = counts;
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        assert!((7_200..8_000).contains(&sorted[1]), "{}", sorted[1]);
    }

    #[test]
    fn normal_without_center_scatters_hot_blocks() {
        let mut rng = Streams::new(5).stream("normal");
        let normal = Distribution::Normal { deviation: 5.0, center: Some(0.25) };
        let mut sampler = Sampler::new(&normal, 400, 4096, true, &mut rng).expect("valid");
        let mut counts = [0u32; 400];
        for _ in 0..100_000 {
            counts[sampler.draw(&mut rng) as usize] += 1;
        }
        // The standard deviation is 20 blocks: the top has 1.99 % of the draws, and four deviations away there are
        // none.
        let around = |block: usize| counts[block - 3..=block + 3].iter().filter(|count| **count > 1_000).count();
        assert!((1_800..2_200).contains(&counts[100]), "{}", counts[100]);
        assert!(around(100) <= 3, "hot blocks are scattered: {:?}", &counts[97..=103]);
        assert!(counts.iter().filter(|count| **count == 0).count() > 200);
    }

    #[test]
    fn pareto_draws_stay_in_the_region_and_are_skewed() {
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
