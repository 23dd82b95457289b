//! Pareto distribution (80/20 rule) over ranks.

use sim::Rng;

/// Draws rank `k` of `0..ranks` such that the first fraction `x` of the ranks gets the fraction `x^(1/p)` of the draws,
/// where `p = ln h / ln(1 - h)`: fio's `pareto:h`. `h = 0.2` sends 80 % of the requests to 20 % of the blocks, and 64 %
/// to 4 % (the self-similar distribution of Gray et al., "Quickly generating billion-record synthetic databases",
/// SIGMOD 1994).
#[derive(Clone, Debug, PartialEq)]
pub struct Pareto {
    ranks: u64,
    power: f64,
}

impl Pareto {
    /// Creates a distribution over `ranks` ranks.
    ///
    /// # Panics
    /// If `ranks` is zero, or `h` is not between 0 and 1.
    pub fn new(ranks: u64, h: f64) -> Pareto {
        assert!(ranks > 0 && h > 0.0 && h < 1.0, "Pareto over {ranks} ranks with h {h}");
        Pareto { ranks, power: libm::log(h) / libm::log1p(-h) }
    }

    /// Draws a rank from 0 on; rank 0 is the most popular if `h` is below one half.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let share = libm::pow(rng.unit(), self.power);
        ((share * self.ranks as f64) as u64).min(self.ranks - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Streams;

    #[test]
    fn shares_follow_the_power_law() {
        for h in [0.1, 0.2, 0.35, 0.5, 0.7] {
            let mut rng = Streams::new(9).stream("pareto");
            let pareto = Pareto::new(1_000_000, h);
            let draws: Vec<u64> = (0..100_000).map(|_| pareto.draw(&mut rng)).collect();
            for share in [0.01, 0.04, 0.2, 0.5, 0.9] {
                let found = draws.iter().filter(|rank| **rank < (share * 1e6) as u64).count() as f64 / 1e5;
                let power: f64 = h.ln() / (1.0 - h).ln();
                let expected: f64 = f64::powf(share, 1.0 / power);
                let sigma = (expected * (1.0 - expected) / 1e5).sqrt();
                assert!((found - expected).abs() < 4.0 * sigma + 1e-5, "h {h}, first {share}: {found}, {expected}");
            }
        }
    }
}
