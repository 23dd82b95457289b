//! A seeded permutation of any range, in constant memory.

use crate::Rng;

const ROUNDS: usize = 4;

/// The leading bits of the factors: fractions of the golden ratio and of the roots of 2, 3 and 7, all far from any
/// small ratio. A factor near a small ratio would leave neighbors in step.
const LEADS: [u64; ROUNDS] =
    [0x9e37_79b9_7f4a_7c15, 0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b, 0xa54f_f53a_5f1d_36f1];

/// A bijection of `0..len` that looks random.
///
/// The smallest power of two that contains the range is permuted by rounds, each of which multiplies by an odd number
/// and folds the upper half of the bits onto the lower; both are invertible. Values beyond the range are permuted again
/// until they are inside (cycle walking: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002),
/// which takes fewer than two rounds of permutation on average. This is not a cipher, but it is cheap, and neighbors
/// and passes look independent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    len: u64,
    mask: u64,
    fold: u32,
    start: u64,
    factors: [u64; ROUNDS],
    inverses: [u64; ROUNDS],
}

/// Returns the inverse of an odd number modulo 2^64 by Newton's iteration. Each step doubles the number of correct
/// bits; an odd number is its own inverse in the lowest three.
const fn inverse(odd: u64) -> u64 {
    let (mut inverse, mut step) = (odd, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

/// Draws the start and the factors of a permutation from `rng`.
fn draw(mask: u64, fold: u32, rng: &mut Rng) -> (u64, [u64; ROUNDS]) {
    let start = rng.bits();
    let half = mask >> fold;
    let factors = LEADS.map(|lead| {
        let lead = lead.checked_shr(mask.leading_zeros()).unwrap_or(0);
        ((lead & mask & !half) | (rng.bits() & half)) | 1
    });
    (start, factors)
}

impl Permutation {
    /// Creates one of the permutations of `0..len`, chosen by draws from `rng`.
    ///
    /// # Panics
    /// Panics if `len` is zero or more than 2^62.
    pub fn new(len: u64, rng: &mut Rng) -> Permutation {
        assert!(len > 0 && len <= 1 << 62, "{len} elements");
        let mask = len.next_power_of_two() - 1;
        let fold = mask.count_ones().div_ceil(2).max(1);
        let (start, factors) = draw(mask, fold, rng);
        Permutation { len, mask, fold, start, factors, inverses: factors.map(inverse) }
    }

    /// Changes to another permutation of the same range.
    pub fn rekey(&mut self, rng: &mut Rng) {
        (self.start, self.factors) = draw(self.mask, self.fold, rng);
        self.inverses = self.factors.map(inverse);
    }

    /// Returns the number of elements.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Returns the image of `index`.
    ///
    /// # Panics
    /// Panics if `index` is not below the length.
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
        assert!(index < self.len, "element {index} of {}", self.len);
        let mut value = index;
        loop {
            value = self.scramble(value);
            if value < self.len {
                return value;
            }
        }
    }

    /// Returns the index whose image is `value`, at the cost of four multiplications more than [`at`](Self::at).
    ///
    /// # Panics
    /// Panics if `value` is not below the length.
    #[inline]
    pub fn index_of(&self, value: u64) -> u64 {
        assert!(value < self.len, "element {value} of {}", self.len);
        let mut index = value;
        loop {
            index = self.unscramble(index);
            if index < self.len {
                return index;
            }
        }
    }

    /// Inverts [`scramble`](Self::scramble). The fold is its own inverse, because two folds shift all bits out.
    #[inline]
    fn unscramble(&self, value: u64) -> u64 {
        let mut value = value;
        for inverse in self.inverses.iter().rev() {
            value ^= value >> self.fold;
            value = value.wrapping_mul(*inverse) & self.mask;
        }
        value.wrapping_sub(self.start) & self.mask
    }

    /// Applies one permutation of the power of two that contains the range.
    #[inline]
    fn scramble(&self, index: u64) -> u64 {
        let mut value = index.wrapping_add(self.start);
        for factor in self.factors {
            value = value.wrapping_mul(factor) & self.mask;
            value ^= value >> self.fold;
        }
        value
    }
}

/// Walks a range in a seeded order, visiting each element exactly once per pass, and changes the order for the next
/// pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    permutation: Permutation,
    // Position in the power of two, so that no element needs a second round.
    index: u64,
}

impl Pass {
    /// Creates a pass over `0..len`.
    ///
    /// # Panics
    /// Panics if `len` is zero or more than 2^62.
    pub fn new(len: u64, rng: &mut Rng) -> Pass {
        Pass { permutation: Permutation::new(len, rng), index: 0 }
    }

    /// Returns the number of elements in a pass.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub const fn len(&self) -> u64 {
        self.permutation.len
    }

    /// Returns the next element. Draws from `rng` only at the start of a new pass.
    #[inline]
    pub fn draw(&mut self, rng: &mut Rng) -> u64 {
        loop {
            if self.index > self.permutation.mask {
                self.index = 0;
                self.permutation.rekey(rng);
            }
            let value = self.permutation.scramble(self.index);
            self.index += 1;
            if value < self.permutation.len {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Streams;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn each_pass_meets_every_element_once(len in 1u64..3000, seed: u64) {
            let mut rng = Streams::new(seed).stream("pass");
            let mut pass = Pass::new(len, &mut rng);
            for _ in 0..2 {
                let mut met = vec![false; len as usize];
                for _ in 0..len {
                    let value = pass.draw(&mut rng) as usize;
                    prop_assert!(!met[value]);
                    met[value] = true;
                }
            }
        }

        #[test]
        fn a_permutation_is_a_bijection(len in 1u64..3000, seed: u64) {
            let permutation = Permutation::new(len, &mut Streams::new(seed).stream("permutation"));
            let mut values: Vec<u64> = (0..len).map(|i| permutation.at(i)).collect();
            values.sort_unstable();
            prop_assert!(values.into_iter().eq(0..len));
        }

        #[test]
        fn an_index_is_found_again(len in 1u64..1 << 62, seed: u64, at: prop::sample::Index) {
            let permutation = Permutation::new(len, &mut Streams::new(seed).stream("permutation"));
            let index = at.index(len as usize) as u64;
            prop_assert_eq!(permutation.index_of(permutation.at(index)), index);
        }
    }

    /// Returns chi-squared of `counts` against a uniform distribution per degree of freedom: about 1 for random draws.
    fn flatness(counts: &[u64]) -> f64 {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        counts.iter().map(|c| (*c as f64 - expected).powi(2) / expected).sum::<f64>() / (counts.len() - 1) as f64
    }

    #[test]
    fn a_pass_looks_random() {
        for seed in 0..8 {
            // A 1 TiB drive in 4 KiB blocks, a small odd range, and a 512 GB drive.
            for len in [1u64 << 28, 1_000_003, 125_026_902] {
                let mut rng = Streams::new(seed).stream("looks");
                let mut pass = Pass::new(len, &mut rng);
                let draws: Vec<u64> = (0..100_000).map(|_| pass.draw(&mut rng)).collect();
                let cell = |value: u64| (u128::from(value) * 32 / u128::from(len)) as usize;
                let (mut single, mut residues, mut steps) = ([0u64; 32], [0u64; 32], [0u64; 32]);
                let mut pairs = vec![0u64; 32 * 32];
                for pair in draws.windows(2) {
                    single[cell(pair[0])] += 1;
                    residues[(pair[0] % 32) as usize] += 1;
                    steps[cell((pair[1] + len - pair[0]) % len)] += 1;
                    pairs[cell(pair[0]) * 32 + cell(pair[1])] += 1;
                }
                // With 31 and 1,023 degrees of freedom, random draws exceed these bounds about once in 10^4 tests.
                for counts in [single, residues, steps] {
                    assert!(flatness(&counts) < 2.2, "length {len}, seed {seed}: {}", flatness(&counts));
                }
                assert!((0.8..1.2).contains(&flatness(&pairs)), "seed {seed}: {}", flatness(&pairs));
            }
        }
    }

    #[test]
    fn the_smallest_ranges_work() {
        for len in 1..=4 {
            let mut rng = Streams::new(1).stream("small");
            let mut pass = Pass::new(len, &mut rng);
            let mut met: Vec<u64> = (0..len).map(|_| pass.draw(&mut rng)).collect();
            met.sort_unstable();
            assert!(met.into_iter().eq(0..len));
        }
    }

    #[test]
    fn the_largest_ranges_work() {
        let mut rng = Streams::new(1).stream("large");
        let mut pass = Pass::new(1 << 62, &mut rng);
        assert!((0..1000).all(|_| pass.draw(&mut rng) < 1 << 62));
    }
}
