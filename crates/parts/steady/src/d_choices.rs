//! d-choices collection: the mean-field fixed point, exactly, for blocks of any size.
//!
//! Let `c[i]` be the fraction of closed blocks with at most `i` valid units. The best of `d` drawn at random has at
//! most `i` with probability `1 - (1 - c[i])^d`. Blocks enter the set "at most `i`" as others leave it:
//!
//! ```text
//! (c[i+1] - c[i]) * (i + 1) = K * (1 - (1 - c[i])^d),   i = 0..b-1;   c[b] = 1
//! ```
//!
//! For a given `K` this is solved downwards from `c[b] = 1`, one monotone scalar equation at a time. A larger `K` or a
//! smaller `c[i+1]` makes `c[i]` smaller, so all of `c` falls and the occupancy rises with `K`, and exactly one `K`
//! yields the requested occupancy. A bracketed secant method finds it between moving nothing (`K = rho`) and collecting
//! at random (`d = 1`: `K = rho / (1 - rho)`).
//!
//! Source: Van Houdt, SIGMETRICS 2013, as the fixed point of the mean-field limit. In that limit, draws with and
//! without replacement are equivalent.
//!
//! Large blocks: replacing a larger block by a smaller one causes an error of order `1 / b`, but no interpolation is
//! needed here. The limit `b -> inf` for a fixed `d` is *not* that of FIFO: there a block's valid fraction is
//! `exp(-age)`, so the emptiest of `d` is the oldest of `d`, which is the oldest of all only as `d -> inf`. The
//! fraction `s(t)` of blocks older than `t` then solves `s' = -K * (1 - (1 - s)^d)`, `s(0) = 1`, and `K` is determined
//! by the mean of `exp(-t)`.

use crate::victims::Victims;

/// Returns the victims of d-choices collection at `occupancy`.
pub(super) fn victims(occupancy: f64, units_per_block: u32, choices: u32) -> Victims {
    let mut at_most = vec![0.0; units_per_block as usize];
    let turnover = turnover(occupancy, choices, &mut at_most);
    let mut valid = Vec::with_capacity(at_most.len() + 1);
    let mut below = 0.0;
    for p in at_most.into_iter().chain([1.0]) {
        // Rounding may leave two equal fractions in the wrong order.
        valid.push((p - below).max(0.0));
        below = p.max(below);
    }
    Victims { turnover, valid }
}

/// Returns `K` for `occupancy`; sets `at_most[i]` to the fraction of victims with at most `i` valid units, `i < b`.
fn turnover(occupancy: f64, choices: u32, at_most: &mut [f64]) -> f64 {
    let (mut low, mut high) = (occupancy, occupancy / (1.0 - occupancy));
    let (mut at_low, mut at_high) =
        (excess(low, occupancy, choices, at_most), excess(high, occupancy, choices, at_most));
    if at_high <= 0.0 {
        return high; // Random collection, up to rounding.
    }
    if at_low >= 0.0 {
        excess(low, occupancy, choices, at_most);
        return low; // Victims are empty, up to rounding.
    }
    // Regula falsi. An end that stays twice has its value halved (the Illinois rule), so that both ends converge.
    let mut stayed = 0;
    for _ in 0..200 {
        let middle = (low * at_high - high * at_low) / (at_high - at_low);
        let at_middle = excess(middle, occupancy, choices, at_most);
        if at_middle.abs() <= 1e-13 * occupancy || high - low <= 4.0 * f64::EPSILON * high {
            return middle;
        }
        if at_middle < 0.0 {
            (low, at_low) = (middle, at_middle);
            at_high *= if stayed == 1 { 0.5 } else { 1.0 };
            stayed = 1;
        } else {
            (high, at_high) = (middle, at_middle);
            at_low *= if stayed == -1 { 0.5 } else { 1.0 };
            stayed = -1;
        }
    }
    panic!("no turnover found for occupancy {occupancy}, {choices} choices, {} units per block", at_most.len());
}

/// Returns the excess of the occupancy that results from `turnover` over the requested one. Fills `at_most`.
fn excess(turnover: f64, occupancy: f64, choices: u32, at_most: &mut [f64]) -> f64 {
    let b = at_most.len() as f64;
    let mut c = 1.0;
    let mut sum = 0.0;
    for (i, at_most) in at_most.iter_mut().enumerate().rev() {
        (c, *at_most) = step_down(c, turnover / (i + 1) as f64, choices);
        sum += *at_most;
    }
    turnover * sum / b - occupancy
}

/// Returns the `c` for which `c + rate * (1 - (1 - c)^d)` is `target`, and `1 - (1 - c)^d` at that point.
fn step_down(target: f64, rate: f64, choices: u32) -> (f64, f64) {
    if target < 1e-290 {
        return (0.0, 0.0); // Before subnormals make this slow.
    }
    // The left side is concave and increasing, so Newton's method started below the root increases to it without
    // overshooting. One step from the target, clipped, gives a close starting point from below.
    let lowest = target / (1.0 + rate * f64::from(choices));
    let mut c = target;
    for _ in 0..200 {
        let (before, best) = best_of(c, choices);
        let slope = 1.0 + rate * f64::from(choices) * (1.0 - before);
        let next = (c + (target - c - rate * best) / slope).max(lowest);
        let moved = (next - c).abs();
        c = next;
        if moved <= 2.0 * f64::EPSILON * c {
            break;
        }
    }
    (c, best_of(c, choices).1)
}

/// Returns `1 - (1 - c)^(d - 1)` and `1 - (1 - c)^d`, without cancellation for small `c`.
fn best_of(c: f64, choices: u32) -> (f64, f64) {
    // With a(n) = 1 - (1 - c)^n: a(2 n) = a(n) (2 - a(n)) and a(n + 1) = a(n) + c (1 - a(n)).
    let exponent = choices - 1;
    let mut a = 0.0;
    for bit in (0..u32::BITS - exponent.leading_zeros()).rev() {
        a *= 2.0 - a;
        if exponent >> bit & 1 == 1 {
            a += c * (1.0 - a);
        }
    }
    (a, a + c * (1.0 - a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, solve};

    #[test]
    fn best_of_is_its_definition() {
        for c in [0.0, 1e-3, 0.3, 1.0] {
            for d in [1, 2, 3, 7, 10, 64] {
                let (before, best) = best_of(c, d);
                assert!((before - (1.0 - libm::pow(1.0 - c, f64::from(d - 1)))).abs() < 1e-14);
                assert!((best - (1.0 - libm::pow(1.0 - c, f64::from(d)))).abs() < 1e-14);
            }
        }
        assert!((best_of(1e-30, 10).1 / 1e-29 - 1.0).abs() < 1e-12, "no cancellation");
    }

    #[test]
    fn one_choice_is_random_collection() {
        for rho in [0.1, 0.5, 0.9, 0.99] {
            let steady = solve(Policy::DChoices(1), rho, 128).unwrap();
            assert!((steady.write_amplification * (1.0 - rho) - 1.0).abs() < 1e-9);
            assert!(
                steady.valid.iter().zip(&steady.victim).all(|(a, b)| (a - b).abs() < 1e-9),
                "a victim is any block"
            );
        }
    }

    #[test]
    fn many_choices_are_greedy() {
        for rho in [0.3, 0.78125, 0.934_579] {
            let greedy = solve(Policy::Greedy, rho, 64).unwrap().write_amplification;
            let found = solve(Policy::DChoices(u32::MAX), rho, 64).unwrap().write_amplification;
            assert!((found / greedy - 1.0).abs() < 1e-6, "{rho}: {found} against {greedy}");
        }
    }

    /// Second method for the fixed point: integrate the drift of the whole distribution until it is stationary.
    #[test]
    fn the_drift_converges_to_the_fixed_point() {
        let (b, rho, d) = (16usize, 0.8, 3);
        // All blocks start full or empty; the drift conserves occupancy.
        let mut x = vec![0.0; b + 1];
        (x[b], x[0]) = (rho, 1.0 - rho);
        let step = 0.002;
        for _ in 0..20_000 {
            let mut c = 0.0f64;
            let (mut below, mut victim, mut victim_mean) = (0.0, vec![0.0; b + 1], 0.0);
            for i in 0..=b {
                c += x[i];
                let at_most = 1.0 - libm::pow((1.0 - c).max(0.0), f64::from(d));
                victim[i] = at_most - below;
                victim_mean += i as f64 * victim[i];
                below = at_most;
            }
            // Collections per block and unit of time: the host's rho * b units divided by the room that each makes.
            let k = rho * b as f64 / (b as f64 - victim_mean);
            let old = x.clone();
            for i in 0..=b {
                let arrive = if i < b { (i + 1) as f64 * old[i + 1] } else { k };
                x[i] += step * (arrive - i as f64 * old[i] - k * victim[i]);
            }
        }
        let steady = solve(Policy::DChoices(d as u32), rho, b as u32).unwrap();
        for (i, (found, expected)) in steady.valid.iter().zip(&x).enumerate() {
            assert!((found - expected).abs() < 1e-9, "{i}: {found} against {expected}");
        }
    }

    /// Returns the write amplification for `b -> inf`, from the differential equation in the module documentation
    /// (classical Runge-Kutta, with the occupancy as second unknown), with `K` by bisection.
    fn limit(occupancy: f64, choices: i32) -> f64 {
        let (mut low, mut high) = (occupancy, occupancy / (1.0 - occupancy));
        for _ in 0..50 {
            let k = 0.5 * (low + high);
            let slope = |s: f64| -k * (1.0 - (1.0 - s).powi(choices));
            // Mean of exp(-t) over the blocks: 1 - integral of exp(-t) s(t), by parts.
            let (step, mut s, mut integral, mut t) = (1e-3 / k, 1.0f64, 0.0, 0.0);
            while s > 1e-14 {
                let k1 = slope(s);
                let k2 = slope(s + 0.5 * step * k1);
                let k3 = slope(s + 0.5 * step * k2);
                let k4 = slope(s + step * k3);
                let middle = s + 0.5 * step * k2;
                let next = s + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
                let weight = |x: f64| libm::exp(-x);
                integral +=
                    step / 6.0 * (weight(t) * s + 4.0 * weight(t + 0.5 * step) * middle + weight(t + step) * next);
                (s, t) = (next, t + step);
            }
            *(if 1.0 - integral < occupancy { &mut low } else { &mut high }) = k;
        }
        low / occupancy
    }

    #[test]
    fn large_blocks_tend_to_the_oldest_of_d() {
        for (rho, d) in [(1.0 / 1.07, 10), (1.0 / 1.28, 3)] {
            let limit = limit(rho, d);
            let gap = |b| 1.0 - solve(Policy::DChoices(d as u32), rho, b).unwrap().write_amplification / limit;
            assert!(gap(65_536).abs() < 1e-3, "{rho}, {d}: {}", gap(65_536));
            let ratio = gap(4096) / gap(8192);
            assert!((ratio - 2.0).abs() < 0.05, "first order in 1 / b: {ratio}");
        }
    }
}
