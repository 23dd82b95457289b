//! Analytic preconditioning: lays out the closed blocks of an aged store from its steady state.

use sim::Rng;

use super::{Policy, Steady, SteadyError, fifo};

/// A closed block of an aged store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosedBlock {
    /// Number of valid units. All subsets of the block's units with this size are equally likely.
    pub valid: u32,
    /// Age since the block was closed, in units of the time in which the host writes as many units as it owns.
    ///
    /// FIFO: exact, evenly spaced. Other policies: the mean over blocks with that valid count, [`Steady::mean_age`].
    pub age: f64,
}

impl Steady {
    /// Lays out `blocks` closed blocks that together hold `live_units` valid units, from newest to oldest.
    ///
    /// FIFO needs this order: its next victim is the last. Greedy and d-choices depend only on valid counts, given
    /// which the ages of the blocks have no influence; their order here is that of the mean age.
    ///
    /// The counts of FIFO are drawn for each age. Those of the other policies are quantiles of the distribution, which
    /// is closer to the steady state than independent draws, because the counts of a running store fluctuate less than
    /// those (its total is fixed). The total is then met exactly by random single overwrites. The assignment of units
    /// is arbitrary; a caller deals a random permutation of the logical units and chooses the physical blocks.
    /// # Errors
    /// [`SteadyError::LayoutTotal`] if `live_units` differs from what `blocks` blocks hold at [`Steady::occupancy`] by
    /// more than one block and 1 %: take the occupancy from [`Pool::occupancy`](super::Pool::occupancy) for the same
    /// blocks.
    pub fn lay_out(&self, blocks: u64, live_units: u64, rng: &mut Rng) -> Result<Vec<ClosedBlock>, SteadyError> {
        let b = self.units_per_block;
        let expected = self.occupancy * blocks as f64 * f64::from(b);
        let possible = live_units <= blocks.saturating_mul(u64::from(b));
        if !possible || (live_units as f64 - expected).abs() > 0.01 * expected + f64::from(b) {
            return Err(SteadyError::LayoutTotal { blocks, found: live_units, expected });
        }
        let mut valid = match self.policy {
            Policy::Fifo => self.draw_by_age(blocks, rng),
            Policy::Greedy | Policy::DChoices(_) => self.quantiles(blocks, rng),
        };
        settle(&mut valid, live_units, b, rng);
        if self.policy == Policy::Fifo {
            let age = |position| self.fifo_age(position, blocks);
            return Ok((0..).zip(valid).map(|(position, valid)| ClosedBlock { valid, age: age(position) }).collect());
        }
        valid.sort_unstable_by(|a, b| b.cmp(a));
        let ages = self.mean_age();
        Ok(valid.into_iter().map(|valid| ClosedBlock { valid, age: ages[valid as usize] }).collect())
    }

    /// Returns the mean age of a closed block with `i` valid units, for `i` in `0..=units_per_block`, in units of the
    /// time in which the host writes as many units as it owns. Not for FIFO, where the age determines the valid count.
    ///
    /// A block that passes through `k` valid units stays there for `valid[k] / (K * P(V <= k))` on average, and where
    /// only the count matters, its past does not influence the rest; by memorylessness, a block found at `i` has spent
    /// a whole such stay there. The standard deviation around this mean is the root of the sum of the squared stays:
    /// about `sqrt(1/i - 1/b)`. Counts that hardly occur get the age of the next count that does.
    ///
    /// # Panics
    /// If the policy is FIFO.
    pub fn mean_age(&self) -> Vec<f64> {
        assert!(self.policy != Policy::Fifo, "FIFO's valid counts follow from age, not the reverse");
        let turnover = self.turnover();
        let mut at_most = self.victim.clone();
        for i in 1..at_most.len() {
            at_most[i] += at_most[i - 1];
        }
        let mut ages = vec![0.0; self.valid.len()];
        let mut age = 0.0;
        for i in (0..ages.len()).rev() {
            if at_most[i] > 1e-12 {
                age += self.valid[i] / (turnover * at_most[i]);
            }
            ages[i] = age;
        }
        ages
    }

    /// Returns the age of the FIFO block at `position` (0 is the newest) of `blocks`.
    fn fifo_age(&self, position: u64, blocks: u64) -> f64 {
        (position as f64 + 0.5) / blocks as f64 / self.turnover()
    }

    /// Draws a binomial valid count for each age, from the newest.
    fn draw_by_age(&self, blocks: u64, rng: &mut Rng) -> Vec<u32> {
        let draw = |position| fifo::draw_survivors(self.units_per_block, self.fifo_age(position, blocks), rng);
        (0..blocks).map(draw).collect()
    }

    /// Returns `blocks` evenly spaced quantiles of the valid counts, from the fullest, with a random phase.
    fn quantiles(&self, blocks: u64, rng: &mut Rng) -> Vec<u32> {
        let mut counts = Vec::with_capacity(blocks as usize);
        let phase = rng.unit();
        let mut cumulative = 0.0;
        for i in (0..=self.units_per_block).rev() {
            cumulative += self.valid[i as usize];
            while counts.len() < blocks as usize && counts.len() as f64 + phase < cumulative * blocks as f64 {
                counts.push(i);
            }
        }
        // Quantiles missed by rounding get the smallest valid count.
        let emptiest = self.valid.iter().position(|&p| p > 1e-12).expect("the distribution sums to 1") as u32;
        counts.resize(blocks as usize, emptiest);
        counts
    }
}

/// Overwrites random valid units, or restores random invalid ones, until `valid` sums to `live_units`.
fn settle(valid: &mut [u32], live_units: u64, units_per_block: u32, rng: &mut Rng) {
    let mut sum: u64 = valid.iter().map(|&v| u64::from(v)).sum();
    while sum != live_units {
        let block = &mut valid[rng.below(valid.len() as u64) as usize];
        let unit_is_valid = rng.below(u64::from(units_per_block)) < u64::from(*block);
        if sum > live_units && unit_is_valid {
            *block -= 1;
            sum -= 1;
        } else if sum < live_units && !unit_is_valid {
            *block += 1;
            sum += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve;
    use proptest::prelude::*;
    use sim::Streams;

    #[test]
    fn mean_ages_match_littles_law_and_pure_death() {
        // Above the threshold a greedy block only loses units: the mean age at i is 1/i + ... + 1/b.
        let greedy = solve(Policy::Greedy, 0.8, 100).unwrap();
        let expected: f64 = (80..=100).map(|k| 1.0 / f64::from(k)).sum();
        assert!((greedy.mean_age()[80] - expected).abs() < 1e-9);
        // Random collection: lifetimes are exponential, so the mean age equals the mean lifetime.
        let random = solve(Policy::DChoices(1), 0.8, 100).unwrap();
        let mean: f64 = random.mean_age().iter().zip(&random.valid).map(|(age, p)| age * p).sum();
        assert!((mean * random.turnover() - 1.0).abs() < 1e-6, "{mean}");
    }

    #[test]
    fn laid_out_blocks_follow_the_distribution() {
        let mut rng = Streams::new(1).stream("layout");
        for policy in [Policy::Greedy, Policy::Fifo, Policy::DChoices(10)] {
            let steady = solve(policy, 0.85, 64).unwrap();
            let (blocks, live) = (20_000u64, (0.85 * 64.0 * 20_000.0) as u64);
            let laid = steady.lay_out(blocks, live, &mut rng).unwrap();
            assert!(laid.is_sorted_by_key(|block| block.age));
            let (mut expected, mut worst) = (0.0, 0.0f64);
            for i in 0..=64 {
                expected += steady.valid[i];
                let found = laid.iter().filter(|block| block.valid as usize <= i).count() as f64 / blocks as f64;
                worst = worst.max((found - expected).abs());
            }
            assert!(worst < if policy == Policy::Fifo { 0.015 } else { 0.0005 }, "{policy:?}: {worst}");
        }
    }

    #[test]
    fn a_total_that_does_not_match_is_refused() {
        let mut rng = Streams::new(1).stream("layout");
        let steady = solve(Policy::Greedy, 0.5, 64).unwrap();
        let error = steady.lay_out(1000, 40_000, &mut rng).unwrap_err();
        let expected = "valid units in 1000 closed blocks: found 40000, expected 32000 (within one block and 1 %)";
        assert_eq!(error.to_string(), expected);
    }

    proptest! {
        #[test]
        fn totals_are_exact(policy in 0u8..3, rho in 0.05f64..0.98, b in 1u32..400, blocks in 1u64..300, seed: u64) {
            let policy = [Policy::Greedy, Policy::Fifo, Policy::DChoices(4)][policy as usize];
            let live = (rho * blocks as f64 * f64::from(b)) as u64;
            let mut rng = Streams::new(seed).stream("layout");
            let laid = solve(policy, rho, b).unwrap().lay_out(blocks, live, &mut rng).unwrap();
            prop_assert_eq!(laid.len() as u64, blocks);
            prop_assert_eq!(laid.iter().map(|block| u64::from(block.valid)).sum::<u64>(), live);
            prop_assert!(laid.iter().all(|block| block.valid <= b && block.age >= 0.0));
        }
    }
}
