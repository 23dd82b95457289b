//! Flash space: blocks, parallel units with their write points, and erases.

pub(crate) mod blocks;
pub(crate) mod dynamic;
pub(crate) mod erase;
pub(crate) mod erase_queue;
pub(crate) mod host_room;
pub(crate) mod parallel_unit;
pub(crate) mod tight;
mod turns;
