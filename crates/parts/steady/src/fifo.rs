//! FIFO collection: the closed form.
//!
//! Every block lives for the same time `tau`, in units of the time in which the host writes as many units as it owns.
//! Each unit of a block survives to age `t` independently with probability `exp(-t)`; so a victim's valid count is
//! binomial with the fraction `beta = exp(-tau)`, and `WA = 1 / (1 - beta)` regardless of the block size. Ages are
//! uniform in `[0, tau]`; equating the mean of `exp(-t)` over them with the occupancy gives
//!
//! ```text
//! 1 - exp(-tau) = rho * tau      hence  tau = 1 / rho + W0(-exp(-1 / rho) / rho)
//! ```
//!
//! with `W0` the principal branch of Lambert's function, and `WA = 1 / (rho * tau)`.
//!
//! Sources: Menon, HPDC 1995 (as an implicit equation); Xiang and Kurkoski, ICNC 2012 (with Lambert's W); Desnoyers,
//! ACM TOS 10(2), 2014.

use sim::Rng;

use crate::victims::Victims;

/// Returns the victims of FIFO collection at `occupancy`.
pub(super) fn victims(occupancy: f64, units_per_block: u32) -> Victims {
    let life = life(occupancy);
    Victims { turnover: 1.0 / life, valid: survivors(units_per_block, life) }
}

/// Returns the distribution of the units still valid in a block of `units` at `age`.
pub(super) fn survivors(units: u32, age: f64) -> Vec<f64> {
    binomial(units, libm::exp(-age), -libm::expm1(-age))
}

/// Returns a block's lifetime `tau`: the positive root of `1 - exp(-tau) = occupancy * tau`.
fn life(occupancy: f64) -> f64 {
    // Concave, and negative right of the root: Newton's method from the right decreases to it without overshooting.
    let mut tau = 1.0 / occupancy;
    for _ in 0..200 {
        let excess = -libm::expm1(-tau) - occupancy * tau;
        let slope = libm::exp(-tau) - occupancy;
        let next = tau - excess / slope;
        if next >= tau || next <= 0.0 || !next.is_finite() {
            break; // Limited by rounding.
        }
        tau = next;
    }
    tau
}

/// Returns the binomial distribution of `n` trials that succeed with `p` and fail with `q = 1 - p`.
///
/// Uses the recurrence outwards from the mode, then normalizes: no factorials, and relative errors of about `n`
/// roundings.
fn binomial(n: u32, p: f64, q: f64) -> Vec<f64> {
    let n = n as usize;
    let mode = (((n + 1) as f64 * p) as usize).min(n);
    let mut pmf = vec![0.0; n + 1];
    pmf[mode] = 1.0;
    for i in mode..n {
        pmf[i + 1] = pmf[i] * ((n - i) as f64 * p) / ((i + 1) as f64 * q);
    }
    for i in (1..=mode).rev() {
        pmf[i - 1] = pmf[i] * (i as f64 * q) / ((n - i + 1) as f64 * p);
    }
    let sum: f64 = pmf.iter().sum();
    pmf.iter_mut().for_each(|x| *x /= sum);
    pmf
}

/// Draws the number of a block's `units` that are still valid at `age`: binomial, by inversion outwards from the mode,
/// in a number of steps of the order of the standard deviation.
pub(super) fn draw_survivors(units: u32, age: f64, rng: &mut Rng) -> u32 {
    let (p, q) = (libm::exp(-age), -libm::expm1(-age));
    let n = f64::from(units);
    let mode = ((n + 1.0) * p).min(n) as u32;
    let m = f64::from(mode);
    let ln_choose = libm::lgamma(n + 1.0) - libm::lgamma(m + 1.0) - libm::lgamma(n - m + 1.0);
    // Both p and q are positive: the age of a closed block is positive and finite.
    let at_mode = libm::exp(ln_choose - m * age + (n - m) * libm::log(q));

    let mut left = rng.unit() - at_mode;
    let (mut low, mut at_low, mut high, mut at_high) = (mode, at_mode, mode, at_mode);
    while left >= 0.0 && (low > 0 || high < units) {
        if high < units {
            at_high *= f64::from(units - high) * p / (f64::from(high + 1) * q);
            high += 1;
            left -= at_high;
            if left < 0.0 {
                return high;
            }
        }
        if low > 0 {
            at_low *= f64::from(low) * q / (f64::from(units - low + 1) * p);
            low -= 1;
            left -= at_low;
            if left < 0.0 {
                return low;
            }
        }
    }
    mode // Drawn directly, or because the rounded probabilities sum to slightly less than the draw.
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, mean, solve};

    /// Lambert's W on (-1/e, 0), principal branch, by bisection.
    fn lambert_w0(z: f64) -> f64 {
        let (mut low, mut high) = (-1.0f64, 0.0f64);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            *(if middle * libm::exp(middle) < z { &mut low } else { &mut high }) = middle;
        }
        low
    }

    #[test]
    fn the_lifetime_matches_lamberts_function() {
        for rho in [0.02f64, 0.1, 0.5, 0.769, 0.9, 0.95, 0.99] {
            let expected = 1.0 / rho + lambert_w0(-libm::exp(-1.0 / rho) / rho);
            assert!((life(rho) / expected - 1.0).abs() < 1e-9, "{rho}: {} against {expected}", life(rho));
        }
        // Near one: tau = 2 e + (2/3) e^2 + ... with e = 1 - rho.
        let e = 1e-6;
        assert!((life(1.0 - e) / (2.0 * e) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn the_published_value_is_reproduced() {
        // Xiang and Kurkoski's abstract: over-provisioning 0.3 gives 2.36.
        let wa = solve(Policy::Fifo, 1.0 / 1.3, 128).unwrap().write_amplification;
        assert!((wa - 2.36).abs() < 0.005, "{wa}");
    }

    #[test]
    fn closed_blocks_are_a_mixture_of_binomials_over_all_ages() {
        let (b, rho) = (48, 0.8);
        let steady = solve(Policy::Fifo, rho, b).unwrap();
        let slices = 4000;
        let mut mixture = vec![0.0; b as usize + 1];
        for slice in 0..slices {
            let p = libm::exp(-(f64::from(slice) + 0.5) / f64::from(slices) * life(rho));
            for (sum, x) in mixture.iter_mut().zip(binomial(b, p, 1.0 - p)) {
                *sum += x / f64::from(slices);
            }
        }
        for (i, (found, expected)) in steady.valid.iter().zip(&mixture).enumerate() {
            assert!((found - expected).abs() < 1e-6, "{i}: {found} against {expected}");
        }
    }

    #[test]
    fn survivors_are_binomial() {
        let mut rng = sim::Streams::new(3).stream("survivors");
        for (units, age) in [(1, 0.5), (20, 0.1), (256, 1e-9), (4096, 0.3), (65_536, 2.0)] {
            let draws = 20_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            let mean = f64::from(units) * libm::exp(-age);
            let variance = mean * -libm::expm1(-age);
            for _ in 0..draws {
                let deviation = f64::from(draw_survivors(units, age, &mut rng)) - mean;
                sum += deviation;
                squares += deviation * deviation;
            }
            let n = f64::from(draws);
            assert!((sum / n).abs() < 4.0 * libm::sqrt(variance / n) + 1e-3, "{units}, {age}: {}", sum / n);
            assert!((squares / n - variance).abs() < 0.05 * variance + 1e-3, "{units}, {age}: {}", squares / n);
        }
    }

    #[test]
    fn binomials_are_normalized_with_the_right_mean() {
        for (n, p) in [(1, 0.3), (64, 0.01), (256, 0.999), (65_536, 0.87)] {
            let pmf = binomial(n, p, 1.0 - p);
            assert!((mean(&pmf) / (f64::from(n) * p) - 1.0).abs() < 1e-10);
        }
    }
}
