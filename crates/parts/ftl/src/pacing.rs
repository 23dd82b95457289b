//! Pacing of garbage collection: host programs and copies are metered against each other.
//!
//! Each parallel unit has a *level*, its free space in mapping units: free blocks, the rest of its open blocks, and what its
//! victims have given back so far. A victim with `valid` units to copy gives back its whole block in proportion to the
//! copies that were issued, so that the valid units of a victim are spread evenly over the host programs that its space
//! will serve, wherever in the block they lie.
//!
//! Below the *target* the parallel unit collects, with as many copies in flight as its shortage calls for. The host may take the
//! parallel unit below the target by the *slack*; then it waits for copies. A write thus waits for the copies that its own space
//! costs, not for those of a whole block.
//!
//! At the lower end of the slack a parallel unit has `start` blocks and one more block's worth of space. Of it at most one block
//! is left in the block open for copies, and one is what the current victim has given back: so two blocks are free when
//! the host needs one, as [`RESERVE`](crate::parallel_unit::RESERVE) asks for, if `start` is at least [`START_MIN`].
//!
//! Where no victim is being collected there is nothing to wait for, and the host goes on into what is left. A parallel unit that
//! is short by more than the slack when it begins a victim makes up for it over that victim and the next ones, out of at
//! most half of what they give back.

use crate::config::Config;
use crate::layout::Layout;
use crate::parallel_unit::{GcScan, Stream};
use crate::{Actions, Ftl};

/// A block being collected, or collected and not yet erased.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Victim {
    pub(crate) block: u32,
    /// Valid units when it was chosen.
    pub(crate) valid: u32,
    /// A folded SLC block: its copies take room in the other blocks, and its erase gives none back there.
    pub(crate) slc: bool,
}

impl Victim {
    /// Units of the block's `capacity` that its copies have earned so far, with `left` valid units still in it.
    #[inline]
    fn given_back(&self, capacity: i64, left: u32) -> i64 {
        if left == 0 {
            return capacity;
        }
        capacity * i64::from(self.valid.saturating_sub(left)) / i64::from(self.valid)
    }
}

/// The least `start` with which the host always finds a free block.
pub(crate) const START_MIN: u32 = 3;

/// Free space in units below which a parallel unit of `config` collects.
pub(crate) fn target_units(config: &Config) -> u64 {
    let layout = Layout::new(config);
    (u64::from(config.collection.start) + 1) * u64::from(layout.data_units) + slack(config, &layout) as u64
}

/// Units that are programmed, at most, before `units` more of the host are, while a drive of `config` is overwritten under
/// greedy collection: themselves and the copies that their space costs, where every closed block is as full as all of
/// them are on average, and the copies that are in flight already. `u64::MAX` if nothing is spare.
pub fn programmed_before(config: &Config, units: u64) -> u64 {
    let layout = Layout::new(config);
    let held = u64::from(config.slc.map_or(0, |slc| slc.blocks) + config.collection.start + 1);
    let closed =
        u64::from(layout.blocks).saturating_sub(held) * u64::from(layout.parallel_units) * u64::from(layout.data_units);
    let spare = closed.saturating_sub(crate::all_units(config));
    if spare == 0 {
        return u64::MAX;
    }
    let data =
        (units * closed).div_ceil(spare) + u64::from(layout.parallel_units) * u64::from(crate::quota(config, &layout));
    // Parity is programmed with them.
    (data * u64::from(layout.block_units)).div_ceil(u64::from(layout.data_units))
}

/// Units by which the host may take a parallel unit below its target.
pub(crate) fn slack(config: &Config, layout: &Layout) -> i64 {
    i64::from(config.collection.slack.unwrap_or(layout.block_units / 8).max(2 * layout.program_units))
}

impl Ftl {
    /// Units by which `pu` is short of its target; at most zero where it is not.
    #[inline]
    pub(crate) fn shortage(&self, pu: u32) -> i64 {
        // More free blocks than the target asks for: the usual case of a drive that is not full.
        if self.parallel_units[pu as usize].free.len() > self.enough() && self.blocks.is_whole() {
            return 0;
        }
        let ahead = if self.idle { self.config.collection.ahead } else { 0 };
        i64::from(ahead) * i64::from(self.layout.data_units) + self.target - self.level(pu)
    }

    /// True if `pu` is short only of what idle time collects ahead.
    pub(crate) fn is_only_ahead(&self, pu: u32) -> bool {
        self.idle && self.level(pu) >= self.target && !self.lacks_room(pu)
    }

    /// Free blocks beyond which no parallel unit is short.
    #[inline]
    pub(crate) fn enough(&self) -> usize {
        (self.config.collection.start + 2 + if self.idle { self.config.collection.ahead } else { 0 }) as usize
    }

    /// Free blocks that are not lent to the SLC cache: with them a parallel unit is not short.
    #[inline]
    pub(crate) fn kept_free(&self) -> usize {
        self.config.collection.start as usize + 2
    }

    /// Free space of `pu` in units.
    #[inline]
    fn level(&self, pu: u32) -> i64 {
        if !self.blocks.is_whole() {
            return self.level_beside_holes(pu);
        }
        let l = &self.parallel_units[pu as usize];
        let block_units = i64::from(self.layout.data_units);
        let mut level = l.free.len() as i64 * block_units;
        for stream in [Stream::Host, Stream::Copy] {
            if let Some(open) = l.write_points[stream as usize] {
                level += i64::from(self.layout.data_after(open.end - open.next) * self.layout.program_units);
            }
        }
        for victim in l.victims.iter().filter(|victim| !victim.slc) {
            level += victim.given_back(block_units, self.blocks.valid(victim.block));
        }
        level
    }

    /// The same where planes are lost, counted as far as it matters.
    #[cold]
    fn level_beside_holes(&self, pu: u32) -> i64 {
        let l = &self.parallel_units[pu as usize];
        let of_block = |block: u32| self.capacity(block, self.layout.block_programs);
        let mut level: i64 = l.free.iter().take(self.enough() + 1).map(|block| of_block(*block)).sum();
        for open in [Stream::Host, Stream::Copy].iter().filter_map(|stream| l.write_points[*stream as usize]) {
            level += self.capacity(open.block, open.end - open.next);
        }
        for victim in l.victims.iter().filter(|victim| !victim.slc) {
            level += victim.given_back(of_block(victim.block), self.blocks.valid(victim.block));
        }
        level
    }

    /// Like [`capacity`](Self::capacity), without a search where no plane is lost.
    #[inline]
    fn capacity_of(&self, block: u32, programs: u32) -> i64 {
        if self.blocks.is_whole() {
            i64::from(self.layout.data_after(programs) * self.layout.program_units)
        } else {
            self.capacity(block, programs)
        }
    }

    /// True if the host must wait for copies before it programs in `pu`.
    #[inline]
    pub(crate) fn host_waits(&self, pu: u32) -> bool {
        self.is_copying(pu)
            && !self.unpaced
            && self.shortage(pu) + i64::from(self.layout.program_units) > self.allowance(pu)
    }

    /// Units by which `pu` may be short before the host waits.
    fn allowance(&self, pu: u32) -> i64 {
        let l = &self.parallel_units[pu as usize];
        if l.short_by <= self.slack {
            return self.slack;
        }
        let Some(victim) = l.victims.iter().rev().find(|victim| !victim.slc) else { return self.slack };
        let capacity = self.capacity_of(victim.block, self.layout.block_programs);
        let gain = (capacity - i64::from(victim.valid)).max(0);
        let made_up = (l.short_by - self.slack).min(gain / 2);
        let left = i64::from(self.blocks.valid(victim.block).min(victim.valid));
        let made_up = made_up - made_up * left / i64::from(victim.valid.max(1));
        l.short_by + i64::from(self.layout.program_units) - made_up
    }

    /// Copies that `pu` may have in flight while it collects `scan`: as many as its shortage calls for.
    #[inline]
    pub(crate) fn copies_allowed(&self, pu: u32, scan: GcScan, shortage: i64) -> u32 {
        let l = &self.parallel_units[pu as usize];
        let gain = (self.capacity_of(scan.block, self.layout.block_programs) - i64::from(scan.valid)).max(1);
        let copies = shortage.max(0) * i64::from(scan.valid) / gain;
        let least = i64::from(2 * self.layout.program_units);
        copies.clamp(least, i64::from(l.quota).max(least)) as u32
    }

    /// True if copies of `pu`, of which `copies` may be in flight, leave room for a whole batch of reads. Pages are read
    /// one by one where a batch is one page of each die.
    #[inline]
    pub(crate) fn takes_batch(&self, pu: u32, copies: u32) -> bool {
        let batch = self.config.collection.batch;
        let units = batch * self.layout.per_row * self.layout.program_units;
        batch == 1 || self.parallel_units[pu as usize].in_flight + units.min(copies / 2) <= copies
    }

    /// The host took room in `pu`: collection goes on by as much as that calls for.
    #[inline]
    pub(crate) fn pace(&mut self, pu: u32, out: &mut Actions) {
        let l = &self.parallel_units[pu as usize];
        if (l.scan.is_some() || !l.barren) && l.free.len() <= self.enough() {
            self.collect_on(pu, out);
        }
    }

    /// The host waits for copies in `pu`: its turn is passed over until that may have changed. An SLC block may have
    /// room meanwhile, and where planes are lost the level depends on more than what happens in the parallel unit.
    #[inline]
    pub(crate) fn leave_turns(&mut self, pu: u32) {
        if self.config.slc.is_none() && self.blocks.is_whole() {
            self.turns.suspend(pu);
        }
    }

    /// Programs issued and victims begun: while the host waits for copies, room in a parallel unit changes with these alone.
    #[inline]
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.stats.programs, self.stats.victims)
    }

    /// Collection in `pu` got on since `before`: the host goes on if it waited for that.
    #[inline]
    pub(crate) fn release_host(&mut self, pu: u32, before: (u64, u64)) {
        if !self.host_paced {
            return self.turns.rejoin(pu);
        }
        let same = self.progress() == before && self.is_copying(pu) && self.turns.waits(pu);
        debug_assert!(!same || self.host_waits(pu));
        if !same && !self.host_waits(pu) {
            self.turns.rejoin(pu);
            (self.host_paced, self.host_stalled, self.has_work) = (false, false, true);
        }
    }

    /// True if copies of `pu` are on their way, or to come.
    #[inline]
    fn is_copying(&self, pu: u32) -> bool {
        let l = &self.parallel_units[pu as usize];
        l.scan.is_some() || l.in_flight > 0
    }

    /// The host need not wait for copies any more, whatever parallel unit it waited in.
    #[cold]
    pub(crate) fn release_all(&mut self) {
        self.turns.rejoin_all();
        (self.host_paced, self.host_stalled) = (false, false);
    }

    /// A command came: collection no longer works ahead.
    #[cold]
    pub(crate) fn end_idle(&mut self) {
        (self.idle, self.idle_due) = (false, true);
        self.turns.rejoin_all();
    }
}
