//! A random order of `0..n` in constant memory.

use crate::Rng;

/// A bijection of `0..n`, drawn at random: a Feistel network over the next even number of bits, walked along its cycle
/// until it lands below `n` (Black and Rogaway, 2002).
#[derive(Clone, Debug)]
pub struct Permutation {
    n: u64,
    half_bits: u32,
    mask: u64,
    keys: [u64; 4],
}

impl Permutation {
    /// A permutation of `0..n`.
    pub fn new(n: u64, rng: &mut Rng) -> Permutation {
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        let half_bits = bits.div_ceil(2).max(1);
        let keys = std::array::from_fn(|_| rng.bits() | 1);
        Permutation { n, half_bits, mask: (1 << half_bits) - 1, keys }
    }

    /// Where `i` goes.
    ///
    /// # Panics
    /// In debug builds, if `i` is not below `n`.
    #[inline]
    pub fn at(&self, i: u64) -> u64 {
        debug_assert!(i < self.n);
        let mut x = i;
        loop {
            x = self.encrypt(x);
            if x < self.n {
                return x;
            }
        }
    }

    #[inline]
    fn encrypt(&self, x: u64) -> u64 {
        let (mut left, mut right) = (x >> self.half_bits, x & self.mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ mixed >> 29).wrapping_mul(key);
            (left, right) = (right, left ^ (mixed >> 32 & self.mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Streams;

    #[test]
    fn every_number_comes_once() {
        let mut rng = Streams::new(3).stream("permutation");
        for n in [1, 2, 3, 5, 64, 1000, 4097] {
            let p = Permutation::new(n, &mut rng);
            let mut seen = vec![false; n as usize];
            for i in 0..n {
                assert!(!std::mem::replace(&mut seen[p.at(i) as usize], true), "n {n}, i {i}");
            }
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        let p = Permutation::new(1 << 20, &mut Streams::new(4).stream("permutation"));
        let mean: f64 = (0..4096).map(|i| p.at(i).abs_diff(p.at(i + 1)) as f64).sum::<f64>() / 4096.0;
        // Of two uniform draws the distance is a third of the range.
        assert!((mean / (f64::from(1 << 20) / 3.0) - 1.0).abs() < 0.05, "{mean}");
    }
}
