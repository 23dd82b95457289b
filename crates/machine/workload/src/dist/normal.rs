//! Normal distribution of addresses.

use sim::Rng;

/// Draws blocks from a normal distribution over the region; values outside the region are drawn again.
///
/// The deviation is the standard deviation as a percentage of the region, as in fio's manual. (fio itself adds uniform
/// draws of that width.)
#[derive(Clone, Debug, PartialEq)]
pub struct Normal {
    blocks: f64,
    center: f64,
    sigma: f64,
}

impl Normal {
    /// Creates a distribution over `blocks` blocks with a standard deviation of `deviation` percent of the region and
    /// its peak at the fraction `center` of the region.
    ///
    /// # Panics
    /// If the deviation is not positive or the center is outside the region.
    pub fn new(blocks: u64, deviation: f64, center: f64) -> Normal {
        assert!(deviation > 0.0 && deviation <= 100.0, "a deviation of {deviation} %");
        assert!((0.0..=1.0).contains(&center), "a center at {center}");
        let blocks = blocks as f64;
        Normal { blocks, center: center * blocks, sigma: deviation / 100.0 * blocks }
    }

    /// Draws a block.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let at = libm::floor(self.center + self.sigma * standard(rng));
            if at >= 0.0 && at < self.blocks {
                return at as u64;
            }
        }
    }
}

/// Returns a standard normal draw by Marsaglia's polar method. The square root is exact in IEEE 754 and the logarithm
/// is `libm`'s, so all machines draw the same values.
fn standard(rng: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * rng.unit() - 1.0, 2.0 * rng.unit() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * libm::log(square) / square).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Streams;

    /// Returns the probability of a value below `z` under the normal distribution.
    fn below(z: f64) -> f64 {
        0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
    }

    #[test]
    fn shares_match_the_truncated_normal_distribution() {
        for (deviation, center) in [(5.0, 0.5), (20.0, 0.5), (20.0, 0.0), (80.0, 0.9)] {
            let mut rng = Streams::new(2).stream("normal");
            let normal = Normal::new(1000, deviation, center);
            let draws: Vec<u64> = (0..100_000).map(|_| normal.draw(&mut rng)).collect();
            let share = |x: f64| below((x - center) / (deviation / 100.0));
            let whole = share(1.0) - share(0.0);
            for cut in [100u64, 300, 450, 500, 550, 800] {
                let found = draws.iter().filter(|block| **block < cut).count() as f64 / 1e5;
                let expected = (share(cut as f64 / 1000.0) - share(0.0)) / whole;
                let sigma = (expected * (1.0 - expected) / 1e5).sqrt();
                assert!((found - expected).abs() < 4.0 * sigma + 1e-5, "{deviation}, {center}, {cut}: {found}");
            }
        }
    }
}
