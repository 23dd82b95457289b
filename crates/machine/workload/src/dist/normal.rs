//! A bell over the addresses.

use sim::Rng;

/// Draws blocks from a normal distribution over the region; what falls outside is drawn again.
///
/// The deviation is the standard deviation in percent of the region, as fio's manual has it. (fio itself sums up uniform
/// draws of that width.)
#[derive(Clone, Debug, PartialEq)]
pub struct Normal {
    blocks: f64,
    center: f64,
    sigma: f64,
}

impl Normal {
    /// A bell with `deviation` percent of the region's `blocks` as its standard deviation, its top at `center` of it.
    ///
    /// # Panics
    /// If the deviation is not above 0 or the center does not lie in the region.
    pub fn new(blocks: u64, deviation: f64, center: f64) -> Normal {
        assert!(deviation > 0.0 && deviation <= 100.0, "a deviation of {deviation} %");
        assert!((0.0..=1.0).contains(&center), "a center at {center}");
        let blocks = blocks as f64;
        Normal { blocks, center: center * blocks, sigma: deviation / 100.0 * blocks }
    }

    /// A block.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let at = libm::floor(self.center + self.sigma * standard(rng));
            if at >= 0.0 && at < self.blocks {
                return at as u64;
            }
        }
    }
}

/// A standard normal draw by Marsaglia's polar method. The square root is exact in IEEE 754, the logarithm is `libm`'s,
/// so that every machine draws the same.
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

    /// The share of a normal distribution below `z`.
    fn below(z: f64) -> f64 {
        0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
    }

    #[test]
    fn shares_are_those_of_the_cut_off_bell() {
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
