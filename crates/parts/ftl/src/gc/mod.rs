//! Garbage collection: victims, copies, folding of SLC blocks, refresh, wear leveling, and its pace.

pub(crate) mod copy;
pub(crate) mod fold;
pub(crate) mod pacing;
pub(crate) mod refresh;
pub(crate) mod short;
pub(crate) mod victim;
