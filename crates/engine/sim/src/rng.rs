//! Named random streams: each part draws from its own, so that adding a part does not change the others' draws.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// The random streams of a run, all derived from one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// Creates the streams of `seed`.
    pub const fn new(seed: u64) -> Streams {
        Streams { seed }
    }

    /// Returns the seed.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the stream called `name` (`"nand.errors"`, `"workload.job0"`), with the same draws for the same seed and
    /// name on any machine.
    pub fn stream(&self, name: &str) -> Rng {
        // FNV-1a. Any fixed hash would do, but `DefaultHasher` may change between Rust releases.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Rng(Xoshiro256PlusPlus::seed_from_u64(hash ^ self.seed))
    }
}

/// A random stream: xoshiro256++ (Blackman and Vigna, 2021).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Returns 64 uniform bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns 32 uniform bits.
    #[inline]
    pub fn half(&mut self) -> u32 {
        (self.bits() >> 32) as u32
    }

    /// Returns a uniform draw from `0..n` (Lemire's multiply and reject, which is unbiased).
    ///
    /// # Panics
    /// Panics in debug builds if `n` is zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0, "a draw from an empty range");
        let mut product = u128::from(self.bits()) * u128::from(n);
        if (product as u64) < n {
            let floor = n.wrapping_neg() % n;
            while (product as u64) < floor {
                product = u128::from(self.bits()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// Returns a uniform draw from `[0, 1)` with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns true with probability `p`. Draws nothing if `p` is at most 0 or at least 1.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && (p >= 1.0 || self.unit() < p)
    }

    /// Returns a standard normal draw (Marsaglia's polar method). Meant for setup, not for hot paths.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let s = x * x + y * y;
            if s > 0.0 && s < 1.0 {
                return x * libm::sqrt(-2.0 * libm::log(s) / s);
            }
        }
    }
}

/// Lets the distributions of the `rand` crates draw from these streams.
impl RngCore for Rng {
    #[inline]
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
    #[inline]
    fn fill_bytes(&mut self, dst: &mut [u8]) {
        self.0.fill_bytes(dst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_fixed_by_seed_and_name() {
        // Pinned: these draws are part of the promise "same seed, same bytes" across releases.
        let mut a = Streams::new(1).stream("a");
        let first = a.bits();
        assert_eq!(first, Streams::new(1).stream("a").bits());
        assert_ne!(first, Streams::new(1).stream("b").bits());
        assert_ne!(first, Streams::new(2).stream("a").bits());
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = Streams::new(7).stream("below");
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[rng.below(6) as usize] += 1;
        }
        assert!(counts.iter().all(|c| (9_500..10_500).contains(c)), "{counts:?}");
    }

    /// A quarter of the 2^64 numbers drawn from would make every third result twice as frequent.
    #[test]
    fn a_range_that_does_not_divide_all_numbers_is_uniform() {
        let mut rng = Streams::new(8).stream("below");
        let mut counts = [0u32; 3];
        for _ in 0..30_000 {
            counts[(rng.below(3 << 62) % 3) as usize] += 1;
        }
        assert!(counts.iter().all(|c| (9_500..10_500).contains(c)), "{counts:?}");
    }

    #[test]
    fn the_first_draws_of_a_stream_are_pinned() {
        let mut rng = Streams::new(1).stream("nand.errors");
        assert_eq!([rng.bits(), rng.bits()], [530_480_553_332_631_224, 3_727_012_001_063_662_765]);
    }

    #[test]
    fn a_draw_equal_to_the_probability_fails() {
        let rng = Streams::new(3).stream("chance");
        let draw = rng.clone().unit();
        assert!(!rng.clone().chance(draw) && rng.clone().chance(draw + f64::EPSILON));
        let mut certain = rng.clone();
        assert!(certain.chance(1.0) && !certain.chance(0.0));
        assert_eq!(certain, rng, "certain outcomes draw nothing");
    }

    #[test]
    fn normal_draws_have_their_moments() {
        let mut rng = Streams::new(5).stream("normal");
        let draws: Vec<f64> = (0..20_000).map(|_| rng.normal()).collect();
        let moment = |power: i32| draws.iter().map(|x| x.powi(power)).sum::<f64>() / draws.len() as f64;
        // Four standard deviations of each mean: of 1, 2, 15 and 96, over 20,000 draws.
        for (power, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            let off: f64 = moment(power) - expected;
            assert!(off.abs() < 4.0 * (variance / 20_000.0_f64).sqrt(), "moment {power} is off by {off}");
        }
    }
}
