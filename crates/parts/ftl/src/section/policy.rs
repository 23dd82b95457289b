//! Collection policies by their words. `gc/policy.rs` has the theory of each, `gc/victim.rs` its choice.

use keys::words;

words! {
    /// Policy by which garbage collection chooses a victim among the closed blocks of a parallel unit.
    Policy {
        /// The block with the fewest valid units.
        Greedy = "greedy",
        /// The block with the greatest (1 - u) / 2u x age (Rosenblum and Ousterhout, 1992; Kawaguchi et al., 1995).
        CostBenefit = "cost-benefit",
        /// The block with the fewest valid units among those that have lost none to host writes for a while, if its
        /// collection pays. Blocks that the host overwrites are left to empty themselves.
        QuietGreedy = "quiet-greedy",
        /// The block closed longest ago.
        Fifo = "fifo",
        /// The block with the fewest valid units among some drawn at random (Van Houdt, SIGMETRICS 2013).
        DChoices = "d-choices",
    }
}
