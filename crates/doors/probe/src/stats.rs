//! Robust statistics: medians, quantiles, confidence intervals of proportions, the bootstrap.

use sim::Rng;

/// Returns the `q` quantile of `values`, interpolated between neighbors. Sorts `values`.
///
/// # Panics
/// If `values` is empty or contains a NaN.
pub fn quantile(values: &mut [f64], q: f64) -> f64 {
    assert!(!values.is_empty(), "a quantile of nothing");
    values.sort_by(|a, b| a.partial_cmp(b).expect("a number"));
    let at = q * (values.len() - 1) as f64;
    let (low, part) = (at as usize, at - libm::floor(at));
    let high = (low + 1).min(values.len() - 1);
    values[low] + part * (values[high] - values[low])
}

/// Returns the median of `values`. Sorts `values`.
///
/// # Panics
/// If `values` is empty or contains a NaN.
pub fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

/// Returns the `p` quantile of the standard normal distribution (Acklam's rational approximation, relative error
/// 1.2e-9).
///
/// # Panics
/// If `p` is not strictly between 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0, "{p} is not between 0 and 1");
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] =
        [7.784_695_709_041_462e-3, 3.224_671_290_700_398e-1, 2.445_134_137_142_996, 3.754_408_661_907_416];
    let polynomial = |of: &[f64], x: f64| of.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |p: f64| {
        let q = libm::sqrt(-2.0 * libm::log(p));
        polynomial(&C, q) / (polynomial(&D, q) * q + 1.0)
    };
    if p < 0.02425 {
        tail(p)
    } else if p > 1.0 - 0.02425 {
        -tail(1.0 - p)
    } else {
        let q = p - 0.5;
        let r = q * q;
        polynomial(&A, r) * q / (polynomial(&B, r) * r + 1.0)
    }
}

/// Returns Wilson's score interval of a proportion, given `hits` of `trials` (Wilson, 1927).
///
/// # Panics
/// If `trials` is zero.
pub fn wilson(hits: u64, trials: u64, confidence: f64) -> (f64, f64) {
    assert!(trials > 0, "a proportion of nothing");
    let z = normal_quantile(0.5 + confidence / 2.0);
    let (n, p) = (trials as f64, hits as f64 / trials as f64);
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * libm::sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n));
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

/// Returns the percentile bootstrap interval of the median of `values` (Efron, 1979).
///
/// # Panics
/// If `values` is empty.
pub fn bootstrap_median(values: &[f64], confidence: f64, rng: &mut Rng) -> (f64, f64) {
    const RESAMPLES: usize = 400;
    let mut sample = values.to_vec();
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for value in &mut sample {
                *value = values[rng.below(values.len() as u64) as usize];
            }
            median(&mut sample)
        })
        .collect();
    let tail = (1.0 - confidence) / 2.0;
    (quantile(&mut medians, tail), quantile(&mut medians, 1.0 - tail))
}

/// The threshold that best separates two groups of latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// Latencies below this value count as fast.
    pub at: f64,
    /// Fraction of the fast group below the threshold.
    pub fast_below: f64,
    /// Fraction of the slow group below the threshold.
    pub slow_below: f64,
}

impl Threshold {
    /// Returns the threshold that maximizes the difference between the fractions of `fast` and `slow` below it
    /// (Youden's index).
    ///
    /// # Panics
    /// If a group is empty.
    pub fn between(fast: &[f64], slow: &[f64]) -> Threshold {
        assert!(!fast.is_empty() && !slow.is_empty(), "nothing to tell apart");
        let mut all: Vec<(f64, bool)> =
            fast.iter().map(|v| (*v, true)).chain(slow.iter().map(|v| (*v, false))).collect();
        all.sort_by(|a, b| a.0.partial_cmp(&b.0).expect("a number"));
        let (mut best, mut index) = (Threshold { at: all[0].0, fast_below: 0.0, slow_below: 0.0 }, -1.0);
        let (mut of_fast, mut of_slow) = (0.0, 0.0);
        for (i, (value, is_fast)) in all.iter().enumerate() {
            *(if *is_fast { &mut of_fast } else { &mut of_slow }) += 1.0;
            let (fast_below, slow_below) = (of_fast / fast.len() as f64, of_slow / slow.len() as f64);
            let after = all.get(i + 1).map_or(*value, |next| next.0);
            if fast_below - slow_below > index && after > *value {
                index = fast_below - slow_below;
                best = Threshold { at: libm::sqrt(value * after), fast_below, slow_below };
            }
        }
        best
    }

    /// Returns Youden's index: 1 if the groups do not overlap, 0 if they are alike.
    pub fn index(&self) -> f64 {
        self.fast_below - self.slow_below
    }

    /// Returns the fraction of `values` that is fast, corrected for the misclassified fraction of each group; 0 to 1.
    pub fn fast_part(&self, values: impl ExactSizeIterator<Item = f64>) -> f64 {
        let n = values.len() as f64;
        let below = values.filter(|value| *value < self.at).count() as f64 / n;
        ((below - self.slow_below) / self.index()).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Streams;

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(quantile(&mut [0.0, 10.0], 0.25), 2.5);
    }

    #[test]
    fn normal_quantiles_match_published_tables() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959_963_985), (0.995, 2.575_829_304), (0.01, -2.326_347_874)] {
            assert!((normal_quantile(p) - z).abs() < 1e-7, "{p}: {}", normal_quantile(p));
        }
    }

    #[test]
    fn wilson_has_its_coverage() {
        let mut rng = Streams::new(1).stream("wilson");
        let inside = (0..2000)
            .filter(|_| {
                let hits = (0..40).filter(|_| rng.chance(0.2)).count() as u64;
                let (low, high) = wilson(hits, 40, 0.95);
                low <= 0.2 && 0.2 <= high
            })
            .count();
        // For 4 to 12 hits of 40 the interval contains 0.2, which happens with probability 92.8 %.
        assert!((1810..=1900).contains(&inside), "{inside} of 2000");
    }

    #[test]
    fn the_bootstrap_has_about_its_coverage() {
        let mut rng = Streams::new(1).stream("bootstrap");
        let inside = (0..300)
            .filter(|_| {
                let values: Vec<f64> = (0..15).map(|_| rng.normal()).collect();
                let (low, high) = bootstrap_median(&values, 0.95, &mut rng);
                low <= 0.0 && 0.0 <= high
            })
            .count();
        assert!((270..=299).contains(&inside), "{inside} of 300");
    }

    #[test]
    fn a_threshold_separates_groups_and_quantifies_the_separation() {
        let clean = Threshold::between(&[1.0, 2.0], &[8.0, 9.0]);
        assert_eq!((clean.at, clean.index()), (4.0, 1.0));
        let alike = Threshold::between(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]);
        assert!(alike.index() <= 0.0);
        assert_eq!(clean.fast_part([1.0, 9.0, 9.0, 2.0].into_iter()), 0.5);
    }
}
