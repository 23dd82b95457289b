//! Flash space: blocks, parallel units with their write points, and erases.

pub(crate) mod blocks;
pub(crate) mod dynamic;
pub(crate) mod erase;
pub(crate) mod parallel_unit;
pub(crate) mod tight;
pub(crate) mod turns;
