//! Pacing of garbage collection: balances host programs and copies.
//!
//! Each parallel unit has a *level*, its free space in mapping units: free blocks, the rest of its open blocks, and the
//! space gained from its victims so far. A victim with `valid` units to copy contributes its whole block in proportion
//! to the copies issued, so that the copies of a victim are spread evenly over the host programs that its space will
//! serve, wherever in the block its valid units are.
//!
//! Below the *target* the parallel unit collects, with as many copies in flight as its shortage requires. Host writes
//! may take it below the target by the *slack*; then they wait for copies. A write thus waits for the copies that its
//! own space costs, not for those of a whole block.
//!
//! At the lower end of the slack a parallel unit has `start` + 1 blocks' worth of space. At most one block of that is
//! left in the block open for copies, and one is the gain from the current victim. Two blocks are therefore free when
//! the host needs one, as [`RESERVE`](crate::space::parallel_unit::RESERVE) requires, if `start` is at least [`START_MIN`].
//!
//! If no victim is being collected there is nothing to wait for, and the host uses the remaining space. A parallel unit
//! that is short by more than the slack when it begins a victim recovers over that victim and the following ones, using
//! at most half of the space that they give back. On a drive that caches a part of its map, the [share](super::share) of
//! host writes takes the place of this.

use crate::config::Config;
use crate::gc::collection::GcScan;
use crate::layout::Layout;
use crate::sizes;
use crate::space::parallel_unit::RESERVE;
use crate::space::placement;
use crate::{Actions, Ftl};

/// The free space of a parallel unit that collection maintains, in units.
pub(crate) struct Pace {
    /// Free space while the host writes.
    target: i64,
    /// Free space at which a parallel unit is not short at present: more than `target` in idle time.
    level: i64,
    /// With more free blocks than this a parallel unit is not short, regardless of its other space.
    blocks: usize,
    /// Host writes may take a parallel unit this far below its target.
    pub(super) slack: i64,
    /// Units beyond the slack at which host writes get the least share of gained space; 0 if the whole map is cached, and
    /// they have the allowance of the victim.
    pub(super) depth: i64,
    /// The drive is idle, and collection works ahead.
    idle: bool,
}

impl Pace {
    /// Creates the pace of `config` while the host is active.
    pub(crate) fn new(config: &Config, layout: &Layout) -> Pace {
        let target = target_units(config) as i64;
        let (slack, depth) = (slack(config, layout), depth(config, layout));
        let mut pace = Pace { target, level: target, blocks: 0, slack, depth, idle: false };
        pace.set_idle(false, config, layout);
        pace
    }

    /// Begins or ends idle time, in which `collection.ahead` blocks more are kept free.
    fn set_idle(&mut self, idle: bool, config: &Config, layout: &Layout) {
        let ahead = if idle { config.collection.ahead } else { 0 };
        self.idle = idle;
        self.level = self.target + i64::from(ahead) * i64::from(layout.data_units);
        self.blocks = (config.collection.start + 2 + ahead + placement::write_points(config).div_ceil(2)) as usize;
    }

    /// Returns true while the drive is idle.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.idle
    }
}

/// Minimum `start` that guarantees the host a free block.
pub(crate) const START_MIN: u32 = 3;

/// Returns the free space in units below which a parallel unit of `config` collects.
pub(crate) fn target_units(config: &Config) -> u64 {
    let layout = Layout::new(config);
    // The blocks open for other handles than the next one to open a block are half full on average.
    let placed = u64::from(placement::write_points(config).div_ceil(2));
    (u64::from(config.collection.start) + 1 + placed) * u64::from(layout.data_units) + slack(config, &layout) as u64
}

/// Returns an upper bound on the units programmed before `units` more host units are, while a drive of `config` is
/// overwritten under greedy collection: the host units, the copies that their space costs if every closed block has the
/// average number of valid units, and the copies already in flight. Returns `u64::MAX` if there is no spare space.
pub fn programmed_before(config: &Config, units: u64) -> u64 {
    let layout = Layout::new(config);
    let placed = placement::write_points(config);
    let held = u64::from(config.slc.map_or(0, |slc| slc.blocks) + config.collection.start + 1 + placed);
    let closed =
        u64::from(layout.blocks).saturating_sub(held) * u64::from(layout.parallel_units) * u64::from(layout.data_units);
    let spare = closed.saturating_sub(crate::sizes::all_units(config));
    if spare == 0 {
        return u64::MAX;
    }
    let data = (units * closed).div_ceil(spare)
        + u64::from(layout.parallel_units) * u64::from(crate::sizes::quota(config, &layout));
    // Parity is programmed in addition.
    (data * u64::from(layout.block_units)).div_ceil(u64::from(layout.data_units))
}

/// Returns the units by which host writes may take a parallel unit below its target.
pub(crate) fn slack(config: &Config, layout: &Layout) -> i64 {
    i64::from(config.collection.slack.unwrap_or(layout.block_units / 8).max(2 * layout.program_units))
}

/// Returns the units beyond the slack at which host writes get the least share of gained space; 0 if the whole map is
/// cached.
pub(crate) fn depth(config: &Config, layout: &Layout) -> i64 {
    if !sizes::caches_part_of_map(config) {
        return 0;
    }
    // Below the target are the blocks that host writes leave to collection, the one that they open, and one by which the
    // space of a parallel unit falls and rises from victim to victim (calibrated: without it that space ran out).
    let blocks = (config.collection.start + 1).saturating_sub(RESERVE as u32 + 2).max(1);
    i64::from(blocks) * i64::from(layout.data_units)
}

impl Ftl {
    /// Returns the units by which `pu` is short of its goal; zero or negative if it is not.
    #[inline]
    pub(crate) fn shortage(&self, pu: u32) -> i64 {
        // Enough free blocks, the usual case of a drive that is not full.
        if self.space.parallel_units[pu as usize].free().len() > self.gc.pace.blocks && self.space.blocks.is_whole() {
            return 0;
        }
        self.gc.pace.level - self.level(pu)
    }

    /// Begins idle time: collection works ahead.
    pub(crate) fn begin_idle(&mut self) {
        self.gc.pace.set_idle(true, &self.config, &self.layout);
        self.requests.activity.begin_idle();
    }

    /// Returns true if `pu` is short only of the space that idle time collects ahead.
    pub(crate) fn is_only_ahead(&self, pu: u32) -> bool {
        self.gc.pace.idle && self.level(pu) >= self.gc.pace.target && !self.lacks_room(pu)
    }

    /// Returns the number of free blocks beyond which no parallel unit is short.
    #[inline]
    pub(crate) fn enough(&self) -> usize {
        self.gc.pace.blocks
    }

    /// Returns the number of free blocks that are never lent to the SLC cache: with them a parallel unit is not short.
    #[inline]
    pub(crate) fn kept_free(&self) -> usize {
        self.config.collection.start as usize + 2
    }

    /// Returns the free space of `pu` in units.
    #[inline]
    fn level(&self, pu: u32) -> i64 {
        if !self.space.blocks.is_whole() {
            // No more free blocks than matter.
            return self.level_with_holes(pu, self.enough() + 1);
        }
        let left = self.space.parallel_units[pu as usize].units_left(&self.layout);
        (left + self.gc.units[pu as usize].victims.gained(&self.space.blocks)) as i64
    }

    /// Returns all free space of `pu` in units.
    pub(crate) fn free_units(&self, pu: u32) -> i64 {
        if self.space.blocks.is_whole() { self.level(pu) } else { self.level_with_holes(pu, usize::MAX) }
    }

    /// Like [`level`](Self::level), for drives with unusable planes; counts at most `most` free blocks.
    fn level_with_holes(&self, pu: u32, most: usize) -> i64 {
        let l = &self.space.parallel_units[pu as usize];
        let collection = &self.gc.units[pu as usize];
        let of_block = |block: u32| self.capacity(block, self.layout.block_programs);
        let mut level: i64 = l.free().iter().take(most).map(|block| of_block(*block)).sum();
        for open in l.open_blocks() {
            level += self.capacity(open.block, open.end - open.next);
        }
        for victim in collection.victims.iter().filter(|victim| !victim.slc) {
            let capacity = of_block(victim.block) as u64;
            level += victim.given_back(capacity, self.space.blocks.valid(victim.block)) as i64;
        }
        level
    }

    /// Returns the capacity of `block` in units, without a search if every plane is usable.
    #[inline]
    fn capacity_of(&self, block: u32) -> i64 {
        if self.space.blocks.is_whole() {
            i64::from(self.layout.data_units)
        } else {
            self.capacity(block, self.layout.block_programs)
        }
    }

    /// Returns true if the host must wait for copies before it programs in `pu`.
    #[inline]
    pub(crate) fn host_waits(&self, pu: u32) -> bool {
        self.is_copying(pu) && !self.space.host_room.is_unpaced() && self.exceeds_allowance(pu)
    }

    /// Returns true if one more host program would exceed the allowed shortage of `pu`. The limit is between the slack
    /// and the shortage at the time its victim was chosen plus one program, depending on the progress of the victim.
    #[inline]
    fn exceeds_allowance(&self, pu: u32) -> bool {
        let program = i64::from(self.layout.program_units);
        let short_by = self.shortage(pu) + program;
        short_by > self.gc.pace.slack && self.exceeds_beyond_slack(pu, short_by, program)
    }

    /// Implements [`exceeds_allowance`](Self::exceeds_allowance) for a parallel unit that is short by more than the slack.
    fn exceeds_beyond_slack(&self, pu: u32, short_by: i64, program: i64) -> bool {
        let collection = &self.gc.units[pu as usize];
        if self.gc.pace.depth != 0 {
            return !collection.share.allows(program);
        }
        short_by > self.gc.pace.slack.max(collection.short_by + program) || short_by > self.allowance(pu)
    }

    /// Returns the units by which `pu` may be short before the host waits.
    fn allowance(&self, pu: u32) -> i64 {
        let collection = &self.gc.units[pu as usize];
        if collection.short_by <= self.gc.pace.slack {
            return self.gc.pace.slack;
        }
        let Some(victim) = collection.victims.iter().rev().find(|victim| !victim.slc) else {
            return self.gc.pace.slack;
        };
        let capacity = self.capacity_of(victim.block);
        let gain = (capacity - i64::from(victim.valid)).max(0);
        // One program may begin at once; it is made up as well, so that no shortage beyond the slack lasts.
        let short_by = collection.short_by + i64::from(self.layout.program_units);
        let made_up = (short_by - self.gc.pace.slack).min(gain / 2);
        let left = i64::from(self.space.blocks.valid(victim.block).min(victim.valid));
        short_by - (made_up - made_up * left / i64::from(victim.valid.max(1)))
    }

    /// Returns the number of copies that a parallel unit may have in flight while it collects `scan`: as many as its
    /// shortage requires, at most its `quota`.
    #[inline]
    pub(crate) fn copies_allowed(&self, quota: u32, scan: GcScan, shortage: i64) -> u32 {
        let gain = (self.capacity_of(scan.block) - i64::from(scan.valid)).max(1);
        let copies = (shortage.max(0) as u64 * u64::from(scan.valid) / gain as u64) as i64;
        let least = i64::from(2 * self.layout.program_units);
        copies.clamp(least, i64::from(self.most_copies(quota)).max(least)) as u32
    }

    /// Returns the room in units that collection needs before it begins a batch of reads, within a limit of `copies` in
    /// flight; `None` if pages are read one by one.
    #[inline]
    pub(crate) fn batch_room(&self, copies: u32) -> Option<u32> {
        if self.gc.order.is_page_by_page() {
            return None;
        }
        Some((self.gc.order.batch_reads() * self.layout.read_units).min(copies / 2))
    }

    /// Continues collection as required after the host took room in `pu`.
    #[inline]
    pub(crate) fn pace(&mut self, pu: u32, out: &mut Actions) {
        let l = &self.space.parallel_units[pu as usize];
        let collection = &self.gc.units[pu as usize];
        if (collection.scan.is_some() || !collection.barren) && l.free().len() <= self.enough() {
            self.collect_on(pu, out);
        }
    }

    /// Skips the turn of `pu`, where the host waits for copies, until that may have changed. Not done with an SLC
    /// cache, whose blocks may have room meanwhile, or with unusable planes, where the level also depends on other
    /// parallel units.
    #[inline]
    pub(crate) fn leave_turns(&mut self, pu: u32) {
        if self.config.slc.is_none() && self.space.blocks.is_whole() {
            self.space.host_room.suspend(pu);
        }
    }

    /// Returns the numbers of programs issued and victims begun: while the host waits for copies, the room in a
    /// parallel unit depends only on these.
    #[inline]
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.stats.programs, self.stats.victims)
    }

    /// Resumes host writes if they waited for collection in `pu` and it has progressed since `before`.
    #[inline(always)]
    pub(crate) fn release_host(&mut self, pu: u32, before: (u64, u64)) {
        if !self.space.host_room.is_paced() {
            return self.space.host_room.rejoin(pu);
        }
        // The share of the host also changes where units of a victim are superseded.
        let same = self.progress() == before
            && self.gc.pace.depth == 0
            && self.is_copying(pu)
            && self.space.host_room.leaves_out(pu);
        debug_assert!(!same || self.host_waits(pu));
        if !same {
            self.resume_host(pu);
        }
    }

    /// Resumes host writes if they need not wait for copies in `pu`.
    fn resume_host(&mut self, pu: u32) {
        if !self.host_waits(pu) {
            self.space.host_room.rejoin(pu);
            self.space.host_room.resume();
        }
    }

    /// Returns true if copies of `pu` are in flight or will follow.
    #[inline]
    pub(crate) fn is_copying(&self, pu: u32) -> bool {
        self.gc.unit(pu).is_copying()
    }

    /// Ends idle time when a command arrives: collection no longer works ahead.
    pub(crate) fn end_idle(&mut self) {
        self.gc.pace.set_idle(false, &self.config, &self.layout);
        self.requests.activity.plan_idle();
        self.space.host_room.rejoin_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Collection, Isolation, Placement, Policy};
    use crate::gc::victim::tests;

    #[test]
    fn the_blocks_that_are_never_lent_are_the_target_where_the_slack_is_a_block() {
        let mut ftl = tests::drive(Policy::Greedy, &[]);
        let block = ftl.layout.data_units;
        ftl.config.collection.slack = Some(block);
        assert_eq!(ftl.kept_free() as u64 * u64::from(block), target_units(&ftl.config));
    }

    #[test]
    fn a_parallel_unit_at_its_target_lacks_only_what_idle_time_collects_ahead() {
        let mut ftl = tests::drive(Policy::Greedy, &[5]);
        for (beyond, idle, only_ahead) in [(-1, true, true), (0, true, true), (1, true, false), (0, false, false)] {
            ftl.gc.pace.idle = idle;
            ftl.gc.pace.target = ftl.level(0) + beyond;
            assert_eq!(ftl.is_only_ahead(0), only_ahead, "the target is {beyond} units beyond the level");
        }
    }

    /// Up to a slack of two blocks; with this slack, one free block less would not suffice.
    #[test]
    fn with_more_than_enough_free_blocks_no_parallel_unit_is_short() {
        let plain = tests::config(Policy::Greedy);
        let slack = Some(2 * Layout::new(&plain).data_units);
        for handles in 1..=16 {
            for isolation in [Isolation::Initial, Isolation::Persistent] {
                let placement = (handles > 1).then_some(Placement { handles, isolation });
                for (idle, ahead) in [(false, 5), (true, 0), (true, 5)] {
                    let collection = Collection { slack, ahead, ..plain.collection };
                    let config = Config { placement, collection, ..plain.clone() };
                    let layout = Layout::new(&config);
                    let mut pace = Pace::new(&config, &layout);
                    pace.set_idle(idle, &config, &layout);
                    let free = (pace.blocks as i64 + 1) * i64::from(layout.data_units);
                    assert_eq!(free, pace.level, "{handles} handles, {isolation:?}, idle: {idle}, {ahead} ahead");
                }
            }
        }
    }
}
