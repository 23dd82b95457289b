//! Results of a run in the words of serving: TTFT, TPOT, hits by tier, wear of the flash tier, energy per token.

pub mod summary;
pub mod tally;
