//! Distributions of lengths in tokens.

use sim::Rng;

/// Distribution of a length in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lengths {
    /// Always the same.
    Fixed(u64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Lognormal.
    LogNormal {
        /// The mean.
        mean: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

/// Returns an exponential draw with mean 1.
pub(super) fn exponential(rng: &mut Rng) -> f64 {
    -libm::log(1.0 - rng.unit())
}

impl Lengths {
    /// Draws a length, at least 1.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let tokens = match *self {
            Lengths::Fixed(tokens) => return tokens.max(1),
            Lengths::Exponential(mean) => mean * exponential(rng),
            Lengths::LogNormal { mean, sigma } => mean * libm::exp(sigma * rng.normal() - sigma * sigma / 2.0),
        };
        (tokens.round().min(1e9) as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_the_stated_mean() {
        let mut rng = sim::Streams::new(1).stream("lengths");
        for lengths in
            [Lengths::Fixed(500), Lengths::Exponential(500.0), Lengths::LogNormal { mean: 500.0, sigma: 0.8 }]
        {
            let mean = (0..200_000).map(|_| lengths.draw(&mut rng)).sum::<u64>() as f64 / 200_000.0;
            assert!((mean / 500.0 - 1.0).abs() < 0.01, "{lengths:?}: {mean}");
        }
    }
}
