//! Zipf's law over ranks.

use sim::Rng;

/// Draws rank `k` of `0..ranks` with probability proportional to `(k + 1)^-theta`, exactly, for any exponent and any
/// number of ranks.
///
/// Uses rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
/// distributions", ACM TOMACS 6(3), 1996), which needs no sum over the ranks and about 1.1 attempts per draw. fio sums
/// the first ten million terms and inverts an approximation (Gray et al., SIGMOD 1994) that does not allow an exponent
/// of 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Zipf {
    ranks: f64,
    theta: f64,
    area_first: f64,
    area_last: f64,
    accept: f64,
}

impl Zipf {
    /// Creates a distribution over `ranks` ranks.
    ///
    /// # Panics
    /// If `ranks` is zero, or the exponent is negative or not finite.
    pub fn new(ranks: u64, theta: f64) -> Zipf {
        assert!(ranks > 0 && theta >= 0.0 && theta.is_finite(), "Zipf over {ranks} ranks with exponent {theta}");
        let ranks = ranks as f64;
        let area_first = area(1.5, theta) - 1.0;
        let area_last = area(ranks + 0.5, theta);
        let accept = 2.0 - inverse_area(area(2.5, theta) - height(2.0, theta), theta);
        Zipf { ranks, theta, area_first, area_last, accept }
    }

    /// Draws a rank from 0 on; rank 0 is the most popular.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.area_last + rng.unit() * (self.area_first - self.area_last);
            let x = inverse_area(u, self.theta);
            let k = libm::floor(x + 0.5).clamp(1.0, self.ranks);
            if k - x <= self.accept || u >= area(k + 0.5, self.theta) - height(k, self.theta) {
                return k as u64 - 1;
            }
        }
    }
}

/// Returns `x^-theta`.
fn height(x: f64, theta: f64) -> f64 {
    libm::exp(-theta * libm::log(x))
}

/// Returns the integral of the height from 1 to `x`, in a form that is also valid for an exponent of 1.
fn area(x: f64, theta: f64) -> f64 {
    let log = libm::log(x);
    let t = (1.0 - theta) * log;
    // (e^t - 1) / t, whose limit at 0 is 1.
    let ratio = if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + t / 2.0 };
    log * ratio
}

/// Returns the `x` whose area is `u`.
fn inverse_area(u: f64, theta: f64) -> f64 {
    // Rounding may take t slightly below -1, where the logarithm is undefined.
    let t = (u * (1.0 - theta)).max(-1.0);
    let ratio = if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - t / 2.0 };
    libm::exp(ratio * u)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Streams;

    #[test]
    fn frequencies_match_zipf() {
        const RANKS: usize = 1000;
        const DRAWS: u32 = 400_000;
        for theta in [0.0, 0.5, 0.99, 1.0, 1.2, 2.5] {
            let mut rng = Streams::new(3).stream("zipf");
            let zipf = Zipf::new(RANKS as u64, theta);
            let mut counts = vec![0u32; RANKS];
            for _ in 0..DRAWS {
                counts[zipf.draw(&mut rng) as usize] += 1;
            }
            let total: f64 = (1..=RANKS).map(|k| (k as f64).powf(-theta)).sum();
            // Pool ranks until 50 draws are expected, so that the chi-squared approximation is valid.
            let (mut chi, mut cells, mut expected, mut found) = (0.0, 0u32, 0.0, 0.0);
            for (rank, count) in counts.iter().enumerate() {
                expected += f64::from(DRAWS) * ((rank + 1) as f64).powf(-theta) / total;
                found += f64::from(*count);
                if expected >= 50.0 {
                    chi += (found - expected) * (found - expected) / expected;
                    cells += 1;
                    (expected, found) = (0.0, 0.0);
                }
            }
            let freedom = f64::from(cells - 1);
            assert!(chi < freedom + 4.0 * (2.0 * freedom).sqrt(), "theta {theta}: {chi} of {freedom}");
        }
    }

    #[test]
    fn huge_ranges_are_drawn_without_a_sum() {
        // 64 TiB in 512-byte blocks. P(rank 0) = 1 / (H(n)), with H(n) = ln n + 0.5772.
        let ranks = 1u64 << 37;
        let mut rng = Streams::new(4).stream("huge");
        let zipf = Zipf::new(ranks, 1.0);
        let first = (0..200_000).filter(|_| zipf.draw(&mut rng) == 0).count();
        let expected = 200_000.0 / ((ranks as f64).ln() + 0.577_215_66);
        assert!((first as f64 - expected).abs() < 4.0 * expected.sqrt(), "{first} against {expected}");
    }

    #[test]
    fn a_single_rank_is_always_drawn() {
        let mut rng = Streams::new(4).stream("one");
        assert!((0..100).all(|_| Zipf::new(1, 1.2).draw(&mut rng) == 0));
    }
}
