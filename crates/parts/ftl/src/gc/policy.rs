//! Collection policies, and the losses by which `quiet-greedy` decides. `victim.rs` has the choice of each.

use crate::config::{Config, Policy};
use crate::layout::Layout;

impl Policy {
    /// Returns the policy whose steady state [`crate::laid::aged`] computes from theory, and true if it only
    /// approximates this one. `choices` is the number of blocks that [`Policy::DChoices`] draws.
    pub(crate) fn theory(self, choices: u32) -> (steady::Policy, bool) {
        match self {
            Policy::Greedy => (steady::Policy::Greedy, false),
            Policy::Fifo => (steady::Policy::Fifo, false),
            Policy::DChoices => (steady::Policy::DChoices(choices), false),
            Policy::CostBenefit | Policy::QuietGreedy => (steady::Policy::Greedy, true),
        }
    }
}

/// When each block last lost a unit to a host write; empty unless the policy spares blocks while the host overwrites them.
/// Kawaguchi et al. (1995) weigh blocks by the time since their last loss. Here it decides only whether a block is *quiet*.
pub(crate) struct Losses {
    /// Number of the drive's next program when each block last lost a unit; 0 if it did not.
    last: Vec<u64>,
    /// Programs after which a block is quiet.
    quiet: u64,
}

impl Losses {
    /// Creates the state in which no block has lost a unit.
    pub(super) fn new(config: &Config, layout: &Layout) -> Losses {
        let blocks = if config.collection.policy == Policy::QuietGreedy { layout.all_blocks() } else { 0 };
        let programs = f64::from(layout.block_programs) * f64::from(layout.parallel_units);
        Losses { last: vec![0; blocks as usize], quiet: (config.collection.quiet * programs) as u64 }
    }

    /// Records that `block` loses a unit before program `next`.
    #[inline]
    pub(super) fn note(&mut self, block: u32, next: u64) {
        if let Some(last) = self.last.get_mut(block as usize) {
            *last = next;
        }
    }

    /// Returns true if `block` has lost no unit lately; `next` is the drive's next program.
    pub(super) fn is_quiet(&self, block: u32, next: u64) -> bool {
        next - self.last[block as usize] >= self.quiet
    }
}
