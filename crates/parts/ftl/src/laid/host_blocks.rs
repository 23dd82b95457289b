//! The blocks that host writes fill on a drive that caches a part of its map, in the steady state of uniform random
//! overwrites.
//!
//! A unit that gets a new address changes an entry of the map, and most changes cost a write of a page of the map, which
//! goes to the same blocks as host data. These blocks [rest](crate::gc::resting) before they are collected, if there is room.
//!
//! # Model
//! All amounts are per unit of host data; `h` is the host's share of what is programmed in these blocks, and `M` the size
//! of the map in blocks of the parallel unit.
//!
//! - `m` units of the map are programmed, so that `h = 1 / (1 + m)`.
//! - A page of the map is written again at random: of the pages written `t` blocks ago, `exp(-(1 - h) t / M)` are still
//!   valid. Host data is hardly superseded in so short a time.
//! - A block is collected when it has rested, half a block later on average, or, where collection chooses among a few random
//!   blocks, when it is drawn. It then holds the host data, and a remainder `e` of the map. Other victims have a fraction
//!   `v` of valid units. As many blocks are filled by copies as others are collected, so that `c = (1 + e / h) / (1 - v)`
//!   units are copied.
//! - The write, the copy out of the block that rested, and `v c` further copies change an entry each: `m = q (2 + v c)`,
//!   where a change costs `q` writes of map pages.
//! - The space that victims give back serves all of this: host data, map and copies. The host's [share](crate::gc::share)
//!   in it is `1 / (1 + m + c)`, which determines how far the parallel unit is short of space.

use crate::config::{Config, Policy};
use crate::gc::{pacing, resting, share};
use crate::layout::Layout;
use crate::sizes;

/// The blocks of one parallel unit that host writes fill, on a drive that caches a part of its map.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostBlocks {
    /// Number of blocks that rest.
    pub(super) resting: u32,
    /// Size of the map in blocks.
    map: f64,
    /// Writes of map pages per change of an entry.
    writes: f64,
    /// Space in blocks over which the share of the host falls to its minimum.
    depth: f64,
    /// Share of the host in what is programmed.
    share: f64,
    /// Copies per unit of host data.
    copies: f64,
    /// Number of all blocks, nearly all of which are closed, and of closed ones that collection draws to choose from; `None`
    /// if it finds the best one.
    drawn: Option<(f64, f64)>,
    /// Number of blocks that have rested and are not drawn yet.
    waiting: f64,
}

impl HostBlocks {
    /// Creates the blocks of a parallel unit before the first [`update`](Self::update); `None` if the whole map is cached, host
    /// writes share their blocks with copies, or these blocks neither rest nor wait.
    pub(super) fn new(config: &Config, layout: &Layout) -> Option<HostBlocks> {
        if !sizes::caches_part_of_map(config) || !config.collection.separate || config.placement.is_some() {
            return None;
        }
        let resting = resting::resting_blocks(config, layout) as u32;
        let waits = config.collection.policy == Policy::DChoices;
        if resting == 0 && !waits {
            return None;
        }
        let block = f64::from(layout.data_units);
        Some(HostBlocks {
            resting,
            map: f64::from(sizes::map_units(config)) / f64::from(layout.parallel_units) / block,
            writes: map_writes(config),
            depth: pacing::depth(config, layout) as f64 / block,
            share: 0.5,
            copies: 0.0,
            drawn: waits.then(|| (f64::from(layout.blocks), f64::from(config.collection.choices))),
            waiting: 0.0,
        })
    }

    /// Updates the share of the host and the copies for victims of which the fraction `victim` is valid. Returns the
    /// change of the share; repeated calls converge.
    pub(super) fn update(&mut self, victim: f64) -> f64 {
        let rested = f64::from(self.resting) + 0.5 + self.waiting;
        let map = self.map_since(rested + 1.0) - self.map_since(rested);
        self.copies = (1.0 + map / self.share) / (1.0 - victim);
        let share = 1.0 / (1.0 + self.writes * (2.0 + victim * self.copies));
        let change = (share.max(share::LEAST) - self.share) / 2.0;
        self.share += change;
        if let Some((blocks, choices)) = self.drawn {
            // A block that has rested is the best among the drawn ones. As many are taken as the host fills.
            let victims = 1.0 / (1.0 + self.copies * self.share);
            self.waiting = blocks * (1.0 - (1.0 - victims).powf(1.0 / choices));
        }
        change
    }

    /// Returns the units programmed per unit of host data.
    pub(super) fn write_amplification(&self) -> f64 {
        1.0 / self.share + self.copies
    }

    /// Returns the valid map in the space that was programmed last, `blocks` blocks; in blocks.
    fn map_since(&self, blocks: f64) -> f64 {
        self.map * (1.0 - (-(1.0 - self.share) * blocks / self.map).exp())
    }

    /// Returns the space in blocks by which a parallel unit is short while the host writes, beyond the slack of pacing.
    pub(super) fn shortage(&self) -> f64 {
        self.depth * share::depth_of((1.0 / self.write_amplification()).max(share::LEAST))
    }

    /// Returns the number of blocks that have rested and are not being collected yet, while a fraction `open` of the open
    /// block is programmed.
    pub(super) fn rested(&self, open: f64) -> u32 {
        u32::from(open < 0.5) + self.waiting.round() as u32
    }

    /// Returns the average number of full blocks, and the average number of blocks' worth of valid units in all blocks.
    pub(super) fn mean(&self) -> (f64, f64) {
        let full = f64::from(self.resting) + 0.5 + self.waiting;
        (full, self.share * (full + 0.5) + self.map_since(full + 0.5))
    }

    /// Returns the contents of the open block, of which a fraction `open` is programmed, and of `full` blocks filled before
    /// it, the newest first. Blocks have `units` units each, and the whole map of the parallel unit `map`.
    pub(super) fn contents(&self, open: f64, full: u32, units: u32, map: u32) -> Vec<Contents> {
        let (mut age, mut before) = (0.0, 0);
        let mut next = |part: f64| {
            age += part;
            let since = (self.map_since(age) / self.map * f64::from(map)).round() as u32;
            let (capacity, map) = ((part * f64::from(units)).round() as u32, since - before);
            before = since;
            let map = map.min(capacity);
            let data = (self.share * part * f64::from(units)).round() as u32;
            Contents { map, data: data.min(capacity - map) }
        };
        std::iter::once(open).chain((0..full).map(|_| 1.0)).map(&mut next).collect()
    }
}

/// Valid units of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    pub(super) map: u32,
    pub(super) data: u32,
}

/// Returns the number of writes of map pages per changed entry under uniform random changes.
fn map_writes(config: &Config) -> f64 {
    let Some(cache) = config.map_cache else { return 0.0 };
    let units = f64::from(sizes::map_units(config));
    // A page that is written takes with it all of its changes that wait: those of the time in which so many are made as
    // the controller holds.
    let changes_per_write = |waiting: u32| 1.0 + f64::from(waiting) / units;
    let part = |cached: f64| (1.0 - cached / units).max(0.0);
    if let Some(entries) = cache.entries {
        return part(f64::from(entries) / f64::from(sizes::map_entries(config))) / changes_per_write(entries);
    }
    // A frame in host memory is replaced as a whole. Between two of its replacements each of its pages is used as often as
    // that of a frame of one page would be.
    let away = config.host_memory.map_or(0, |memory| memory.map_frames);
    let of_frame = f64::from(cache.frame_units);
    let misses = part(f64::from(cache.frames)) * part(f64::from(away) * of_frame).powf(1.0 / of_frame);
    misses / changes_per_write(cache.updates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(resting: u32, map: f64, writes: f64) -> HostBlocks {
        HostBlocks { resting, map, writes, depth: 2.0, share: 0.5, copies: 0.0, drawn: None, waiting: 0.0 }
    }

    /// A drive whose map fills 1.2 blocks and is cached to a small part.
    fn settled() -> HostBlocks {
        let mut blocks = blocks(4, 1.2, 0.9);
        (0..40).for_each(|_| {
            blocks.update(0.88);
        });
        blocks
    }

    #[test]
    fn the_share_of_the_host_is_consistent_with_the_copies() {
        let mut blocks = settled();
        assert!(blocks.update(0.88).abs() < 1e-9, "it converges");
        let map = blocks.writes * (2.0 + 0.88 * blocks.copies);
        assert!((blocks.share * (1.0 + map) - 1.0).abs() < 1e-6);
        assert!((blocks.write_amplification() - (1.0 + map + blocks.copies)).abs() < 1e-3);
        // At least each write, its copy out of the block that rested, and the copies of the data.
        assert!(blocks.copies > 1.0 / (1.0 - 0.88) && blocks.share < 0.2, "{blocks:?}");
        assert!((0.125..2.0).contains(&blocks.shortage()), "{}", blocks.shortage());
    }

    #[test]
    fn blocks_wait_until_they_are_among_those_that_are_drawn() {
        let waiting = |choices: f64| {
            let mut blocks = HostBlocks { drawn: Some((256.0, choices)), ..blocks(0, 0.12, 0.12) };
            (0..60).for_each(|_| {
                blocks.update(0.9);
            });
            let found = 1.0 - (1.0 - blocks.waiting / 256.0).powf(choices);
            let filled = 1.0 / blocks.share / blocks.write_amplification();
            assert!((found - filled).abs() < 1e-3, "as many are found as filled: {blocks:?}");
            assert_eq!(blocks.rested(0.9), blocks.waiting.round() as u32);
            blocks.waiting
        };
        assert!(waiting(11.0) > 2.0 && waiting(200.0) < 0.5);
    }

    #[test]
    fn older_blocks_hold_less_of_the_map_and_together_they_hold_nearly_all() {
        let blocks = settled();
        let contents = blocks.contents(0.3, 5, 1000, 1200);
        assert_eq!(contents.len(), 6);
        assert!(contents[1..].is_sorted_by(|newer, older| newer.map > older.map), "{contents:?}");
        let sum = |of: fn(&Contents) -> u32| contents.iter().map(of).sum::<u32>();
        assert!((1150..=1200).contains(&sum(|of| of.map)), "{contents:?}");
        let data = blocks.share * 5.3 * 1000.0;
        assert!((f64::from(sum(|of| of.data)) - data).abs() < 6.0, "{contents:?}");
        assert!(contents.iter().all(|of| of.map + of.data <= 1000));
    }

    #[test]
    fn without_a_steady_state_the_host_keeps_its_least_share() {
        // Copies of map pages cause more writes of the map than they give space.
        let mut blocks = blocks(1, 9.0, 1.0);
        (0..60).for_each(|_| {
            blocks.update(0.97);
        });
        assert!((blocks.share - share::LEAST).abs() < 1e-6, "{blocks:?}");
        assert!((blocks.shortage() - 2.0 * share::depth_of(share::LEAST)).abs() < 1e-6);
    }
}
