//! Garbage collection: victims, copies, folding of SLC blocks, refresh, wear leveling, and its pace.

pub(crate) mod batch;
pub(crate) mod collection;
pub(crate) mod copy;
pub(crate) mod fold;
pub(crate) mod pacing;
pub(crate) mod pending;
pub(crate) mod policy;
pub(crate) mod refresh;
pub(crate) mod resting;
pub(crate) mod scan_order;
pub(crate) mod share;
pub(crate) mod short;
pub(crate) mod victim;
pub(crate) mod victims;

#[cfg(test)]
mod tests;

use sim::{Dense, Rng, Streams};

use crate::config::Config;
use crate::layout::Layout;
use batch::FoldBatch;
use collection::Collection;
use pacing::Pace;
use pending::Purpose;
use policy::Losses;
use refresh::Refresh;
use scan_order::ScanOrder;
use short::ShortUnits;

/// Garbage collection of all parallel units.
pub(crate) struct Collector {
    units: Dense<Collection>,
    pub(crate) short: ShortUnits,
    pace: Pace,
    order: ScanOrder,
    pub(crate) batch: FoldBatch,
    losses: Losses,
    pub(crate) refresh: Refresh,
    /// Number of blocks of each parallel unit that rest.
    rest: usize,
    /// Copies of some parallel unit wait for the map.
    waits: bool,
    /// Random numbers for the choice of victims.
    rng: Rng,
}

impl Collector {
    /// Creates a collector that has nothing to collect; a parallel unit has at most `quota` units in flight.
    pub(crate) fn new(config: &Config, layout: &Layout, quota: u32, streams: &Streams) -> Collector {
        let batch = FoldBatch::new(config);
        let background = if batch.is_on() { Purpose::Batch } else { Purpose::Collection };
        let unit = |_| Collection::new(quota, layout.data_units, background);
        Collector {
            units: Dense::new((0..layout.parallel_units).map(unit).collect()),
            short: ShortUnits::default(),
            pace: Pace::new(config, layout),
            order: ScanOrder::new(config, layout),
            batch,
            losses: Losses::new(config, layout),
            refresh: Refresh::new(config, layout),
            rest: resting::resting_blocks(config, layout),
            waits: false,
            rng: streams.stream("ftl.collection"),
        }
    }

    /// Returns true while the drive is idle and collection works ahead.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.pace.is_idle()
    }

    /// Returns the state of collection in `pu`.
    #[inline]
    pub(crate) fn unit(&self, pu: u32) -> &Collection {
        &self.units[pu as usize]
    }

    /// Makes `block` of `pu` be collected regardless of the policy.
    pub(crate) fn force(&mut self, pu: u32, block: u32) {
        self.units[pu as usize].forced.push(block);
    }

    /// Records that `unit` of `block`, a victim of `pu`, is no longer valid; `left` units of the block still are.
    #[inline]
    pub(crate) fn shrank(&mut self, pu: u32, (block, unit): (u32, u32), left: u32) {
        let collection = &mut self.units[pu as usize];
        if unit >= collection.stop.unit {
            // It may belong to the program.
            collection.stop.valid = 0;
        }
        collection.victims.shrank(block, left);
    }

    /// Ends `copies` units in flight in `pu`.
    #[inline]
    pub(crate) fn end_copies(&mut self, pu: u32, copies: u32) {
        self.units[pu as usize].in_flight -= copies;
    }

    /// Counts `copies` units in flight in `pu` as in flight in `other`, where they are programmed.
    #[inline]
    pub(crate) fn move_copies(&mut self, pu: u32, other: u32, copies: u32) {
        self.units[pu as usize].in_flight -= copies;
        self.units[other as usize].in_flight += copies;
    }

    /// Records that `pu` opened a free block: it may be short of space, and there may be a block to collect again.
    #[inline]
    pub(crate) fn opened(&mut self, pu: u32, block: u32) {
        self.refresh.opened(block);
        self.units[pu as usize].barren = false;
        self.short.report(pu);
    }

    /// Records that `block` of `pu` was erased, which ends its emergency.
    pub(crate) fn erased(&mut self, pu: u32, block: u32) {
        let unit = &mut self.units[pu as usize];
        unit.victims.remove(block);
        (unit.emergency, unit.reckless) = (false, false);
    }

    /// Lets copies of `pu` use even the room kept for a program failure, until a block is erased.
    pub(crate) fn use_all_room(&mut self, pu: u32) {
        self.units[pu as usize].reckless = true;
        self.short.add(pu);
    }
}
