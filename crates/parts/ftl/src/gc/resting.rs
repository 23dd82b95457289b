//! Blocks that rest before they are collected, on a drive that caches a part of its map.
//!
//! Under random writes most units in a block of host data are pages of the map, and these are written again soon. Greedy
//! collection would take the block before that, and copy pages that are about to be superseded. With a rest, few are
//! left. A block rests until as many blocks were filled after it as three times all pages of the map would fill: of pages
//! that are written again at random, a twentieth is still valid then (assumed). The rest takes at most a quarter of the
//! spare blocks.

use std::collections::VecDeque;

use crate::Ftl;
use crate::config::Config;
use crate::layout::Layout;
use crate::sizes;
use crate::space::blocks::Use;

/// Returns the number of blocks of a parallel unit that rest.
pub(crate) fn resting_blocks(config: &Config, layout: &Layout) -> usize {
    let block = u64::from(layout.parallel_units) * u64::from(layout.data_units);
    let map = u64::from(sizes::map_units(config));
    // A map that fills a small part of a block is superseded before the block is full. The quarter is calibrated: resting
    // gained nothing on `ufs2` at 1/64 of its size (an eighth), and it misled the probe on small drives.
    if !sizes::caches_part_of_map(config) || 4 * map < block {
        return 0;
    }
    let data = sizes::all_units(config).div_ceil(block);
    let spare = u64::from(layout.blocks).saturating_sub(data + u64::from(config.collection.start) + 1);
    (3 * map).div_ceil(block).min(spare / 4) as usize
}

/// The blocks of a parallel unit that were filled last with host data and the map, the oldest first.
#[derive(Default)]
pub(crate) struct Resting {
    blocks: VecDeque<u32>,
}

impl Ftl {
    /// Lets `block` of `pu` rest, which is full, and ends the rest of the oldest one if too many do.
    pub(crate) fn rest(&mut self, pu: u32, block: u32) {
        if self.gc.rest == 0 {
            return;
        }
        let resting = &mut self.gc.units[pu as usize].resting.blocks;
        resting.push_back(block);
        if resting.len() > self.gc.rest {
            self.end_rest(pu);
        }
    }

    /// Keeps `block`, which was closed, from being collected if it rests.
    pub(crate) fn withhold_resting(&mut self, pu: u32, block: u32) {
        if self.gc.units[pu as usize].resting.blocks.contains(&block) {
            self.space.blocks.withhold(block);
        }
    }

    /// Ends the rest of the block of `pu` that was filled first. Returns false if none rests.
    pub(super) fn end_rest(&mut self, pu: u32) -> bool {
        let Some(block) = self.gc.units[pu as usize].resting.blocks.pop_front() else { return false };
        // It may have been collected regardless, or still be written.
        if self.space.blocks.usage(block) == Use::Closed && !self.is_slc(block) {
            self.space.blocks.set_usage(block, Use::Closed);
        }
        true
    }
}
