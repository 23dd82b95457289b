//! Flash space: blocks, parallel units with their write points, and erases.

pub(crate) mod blocks;
pub(crate) mod dynamic;
pub(crate) mod erase;
pub(crate) mod erase_queue;
pub(crate) mod host_room;
pub(crate) mod parallel_unit;
pub(crate) mod placement;
mod reclaim_units;
pub(crate) mod stream;
pub(crate) mod tight;
mod turns;

use sim::Dense;

use crate::config::Config;
use crate::layout::Layout;
use blocks::Blocks;
use dynamic::Lent;
use erase_queue::EraseQueue;
use host_room::HostRoom;
use parallel_unit::ParallelUnit;
use placement::Placement;

/// The space of the flash: the state of every block, and where the next program goes.
pub(crate) struct Space {
    pub(crate) blocks: Blocks,
    pub(crate) parallel_units: Dense<ParallelUnit>,
    pub(crate) erase_queue: EraseQueue,
    pub(crate) host_room: HostRoom,
    pub(crate) lent: Lent,
    pub(crate) placement: Placement,
}

impl Space {
    /// Creates the space of flash whose blocks are still to be found.
    pub(crate) fn new(config: &Config, layout: &Layout) -> Space {
        Space {
            blocks: Blocks::new(layout),
            parallel_units: Dense::new((0..layout.parallel_units).map(|_| ParallelUnit::new(config)).collect()),
            erase_queue: EraseQueue::new(),
            host_room: HostRoom::new(layout.parallel_units),
            lent: Lent::new(config, layout),
            placement: Placement::new(config, layout),
        }
    }
}
