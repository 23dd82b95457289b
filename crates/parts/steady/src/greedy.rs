//! Greedy collection, exactly, for blocks of any size.
//!
//! In the limit of many blocks, the smallest valid count in the store is stationary at a threshold `j`, so all victims
//! come from there. Blocks flow down through all counts above `j` at the same rate, that of collection; hence `valid[i]
//! = K / i` above the threshold. Most blocks that arrive at `j` are collected immediately, but collection need not keep
//! up at `j` exactly: a fraction `theta` of the arriving blocks stays until an overwrite takes it to `j - 1`, where it
//! is the emptiest of all and collected immediately. State `j` then has the partial mass `theta * K / j`, and the
//! victims are a mixture of `j` and `j - 1` with mean `v = j - theta`. The condition that the fractions of closed
//! blocks sum to one is
//!
//! ```text
//! rho * b * (1/b + 1/(b-1) + ... + 1/(j+1) + theta/j) = b - j + theta
//! ```
//!
//! The left side minus the right side is linear in `theta` between whole counts, decreases from zero at `v = b` while
//! `j > rho * b`, and increases after: one root with `v < b`. If there is no root (`rho * (1/1 + ... + 1/b) < 1`),
//! blocks become empty by themselves faster than they are needed: victims are empty and nothing is ever moved.
//!
//! Sources: Robinson, ACM SIGOPS OSR 30(4), 1996; Bux and Iliadis, Performance Evaluation 67(11), 2010; Desnoyers,
//! ACM TOS 10(2), 2014; as the limit of many choices: Van Houdt, SIGMETRICS 2013. For large blocks the equation
//! becomes `rho * ln(b / v) = 1 - v / b`, FIFO's.

use crate::victims::Victims;

/// Returns the victims of greedy collection at `occupancy`.
pub(super) fn victims(occupancy: f64, units_per_block: u32) -> Victims {
    let b = units_per_block as usize;
    let mut valid = vec![0.0; b + 1];
    let live = occupancy * b as f64;

    // Left side minus right side of the equation above, at theta = 0.
    let mut balance = 0.0;
    for j in (1..=b).rev() {
        let slope = (live - j as f64) / j as f64;
        if slope > 0.0 && balance + slope >= 0.0 {
            let theta = -balance / slope;
            assert!((0.0..=1.0).contains(&theta), "the threshold is within the step that crosses it: {theta}");
            valid[j] = 1.0 - theta;
            valid[j - 1] = theta;
            return Victims { turnover: live / ((b - j) as f64 + theta), valid };
        }
        balance += slope;
    }
    valid[0] = 1.0;
    Victims { turnover: occupancy, valid }
}

#[cfg(test)]
mod tests {
    use crate::{Policy, solve};

    #[test]
    fn above_the_threshold_block_fractions_are_inversely_proportional_to_valid_units() {
        let steady = solve(Policy::Greedy, 1.0 / 1.125, 256).unwrap();
        let threshold = steady.victim_valid.ceil() as usize;
        let k = steady.turnover();
        for i in threshold + 1..=256 {
            assert!((steady.valid[i] * i as f64 / k - 1.0).abs() < 1e-12);
        }
        let theta = steady.victim[threshold - 1];
        assert!(theta > 0.0 && theta < 1.0, "this one has a partial threshold: {theta}");
        assert!((steady.valid[threshold] * threshold as f64 / k - theta).abs() < 1e-12);
        assert!(steady.valid[..threshold].iter().all(|&p| p < 1e-12));
    }

    #[test]
    fn two_units_per_block_match_a_manual_calculation() {
        // b = 2, rho = 0.8: at j = 1 the balance is rho - 1 = -0.2 and the slope 2 rho - 1 = 0.6: theta = 1/3, v = 2/3.
        let steady = solve(Policy::Greedy, 0.8, 2).unwrap();
        assert!((steady.victim_valid - 2.0 / 3.0).abs() < 1e-12);
        assert!((steady.write_amplification - 1.5).abs() < 1e-12);
        // K = 1.2: half of K is full, a third of K has one valid unit.
        assert!((steady.valid[2] - 0.6).abs() < 1e-12 && (steady.valid[1] - 0.4).abs() < 1e-12);
    }

    #[test]
    fn a_nearly_empty_store_moves_no_units() {
        // rho (1 + 1/2 + 1/3 + 1/4) = 0.625 < 1.
        let steady = solve(Policy::Greedy, 0.3, 4).unwrap();
        assert_eq!((steady.write_amplification, steady.victim_valid), (1.0, 0.0));
        assert!((steady.valid[0] - 0.375).abs() < 1e-12);
    }
}
