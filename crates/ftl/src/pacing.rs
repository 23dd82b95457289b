//! Pacing of garbage collection: host programs and copies are metered against each other.
//!
//! Each lane has a *level*, its free space in mapping units: free blocks, the rest of its open blocks, and what its
//! victims have given back so far. A victim with `valid` units to copy gives back its whole block in proportion to the
//! copies that were issued, so that the valid units of a victim are spread evenly over the host programs that its space
//! will serve, wherever in the block they lie.
//!
//! Below the *target* the lane collects, with as many copies in flight as its shortage calls for. The host may take the
//! lane below the target by the *slack*; then it waits for copies. A write thus waits for the copies that its own space
//! costs, not for those of a whole block.
//!
//! At the lower end of the slack a lane has `start` blocks and one more block's worth of space. Of it at most one block
//! is left in the block open for copies, and one is what the current victim has given back: so two blocks are free when
//! the host needs one, as [`RESERVE`](crate::lane::RESERVE) asks for, if `start` is at least [`START_MIN`].
//!
//! Where no victim is being collected there is nothing to wait for, and the host goes on into what is left. A lane that
//! is short by more than the slack when it begins a victim makes up for it over that victim and the next ones, out of at
//! most half of what they give back.

use crate::config::Config;
use crate::lane::{Job, Stream};
use crate::layout::Layout;
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

/// The least `start` with which the host always finds a free block.
pub(crate) const START_MIN: u32 = 3;

/// Free space in units below which a lane of `config` collects.
pub(crate) fn target_units(config: &Config) -> u64 {
    let layout = Layout::new(config);
    (u64::from(config.collection.start) + 1) * u64::from(layout.block_units) + slack(&layout) as u64
}

/// Units that are programmed, at most, before `units` more of the host are, while a drive of `config` is overwritten under
/// greedy collection: themselves and the copies that their space costs, where every closed block is as full as all of
/// them are on average, and the copies that are in flight already. `u64::MAX` if nothing is spare.
pub fn programmed_before(config: &Config, units: u64) -> u64 {
    let layout = Layout::new(config);
    let held = u64::from(config.slc.map_or(0, |slc| slc.blocks) + config.collection.start + 1);
    let closed =
        u64::from(layout.blocks).saturating_sub(held) * u64::from(layout.lanes) * u64::from(layout.block_units);
    let spare = closed.saturating_sub(crate::all_units(config));
    if spare == 0 {
        return u64::MAX;
    }
    (units * closed).div_ceil(spare) + u64::from(layout.lanes) * u64::from(crate::quota(config, &layout))
}

/// Units by which the host may take a lane below its target.
pub(crate) fn slack(layout: &Layout) -> i64 {
    i64::from((layout.block_units / 8).max(2 * layout.program_units))
}

impl Ftl {
    /// Units by which `lane` is short of its target; at most zero where it is not.
    #[inline]
    pub(crate) fn shortage(&self, lane: u32) -> i64 {
        // More free blocks than the target asks for: the usual case of a drive that is not full.
        if self.lanes[lane as usize].free.len() > self.enough() && self.blocks.is_whole() {
            return 0;
        }
        let ahead = if self.idle { self.config.collection.ahead } else { 0 };
        i64::from(ahead) * i64::from(self.layout.block_units) + self.target - self.level(lane)
    }

    /// Free blocks beyond which no lane is short.
    #[inline]
    pub(crate) fn enough(&self) -> usize {
        (self.config.collection.start + 2 + if self.idle { self.config.collection.ahead } else { 0 }) as usize
    }

    /// Free space of `lane` in units, counted as far as it matters.
    #[inline]
    fn level(&self, lane: u32) -> i64 {
        let l = &self.lanes[lane as usize];
        let mut level = if self.blocks.is_whole() {
            l.free.len() as i64 * i64::from(self.layout.block_units)
        } else {
            l.free.iter().take(self.enough() + 1).map(|block| self.capacity(*block, self.layout.block_programs)).sum()
        };
        for stream in [Stream::Host, Stream::Copy] {
            if let Some(open) = l.fronts[stream as usize] {
                level += self.capacity_of(open.block, open.end - open.next);
            }
        }
        for victim in l.victims.iter().filter(|victim| !victim.slc) {
            level += self.given_back(victim);
        }
        level
    }

    /// Units of a victim's block that its copies have earned so far.
    #[inline]
    fn given_back(&self, victim: &Victim) -> i64 {
        let capacity = self.capacity_of(victim.block, self.layout.block_programs);
        let left = self.blocks.valid(victim.block);
        if left == 0 {
            return capacity;
        }
        capacity * i64::from(victim.valid.saturating_sub(left)) / i64::from(victim.valid)
    }

    /// Like [`capacity`](Self::capacity), without a search where no plane is lost.
    #[inline]
    fn capacity_of(&self, block: u32, programs: u32) -> i64 {
        if self.blocks.is_whole() {
            i64::from(programs * self.layout.program_units)
        } else {
            self.capacity(block, programs)
        }
    }

    /// True if the host must wait for copies before it programs in `lane`.
    #[inline]
    pub(crate) fn host_waits(&self, lane: u32) -> bool {
        let l = &self.lanes[lane as usize];
        let copying = l.job.is_some() || l.in_flight > 0;
        copying && !self.unpaced && self.shortage(lane) + i64::from(self.layout.program_units) > self.allowance(lane)
    }

    /// Units by which `lane` may be short before the host waits.
    fn allowance(&self, lane: u32) -> i64 {
        let l = &self.lanes[lane as usize];
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

    /// Copies that `lane` may have in flight while it collects `job`: as many as its shortage calls for.
    #[inline]
    pub(crate) fn copies_allowed(&self, lane: u32, job: Job, shortage: i64) -> u32 {
        let l = &self.lanes[lane as usize];
        let gain = (self.capacity_of(job.block, self.layout.block_programs) - i64::from(job.valid)).max(1);
        let copies = shortage.max(0) * i64::from(job.valid) / gain;
        let least = i64::from(2 * self.layout.program_units);
        copies.clamp(least, i64::from(l.quota).max(least)) as u32
    }

    /// The host took room in `lane`: collection goes on by as much as that calls for.
    #[inline]
    pub(crate) fn pace(&mut self, lane: u32, out: &mut Actions) {
        let l = &self.lanes[lane as usize];
        if (l.job.is_some() || !l.barren) && l.free.len() <= self.enough() {
            self.collect_on(lane, out);
        }
    }

    /// Copies were issued in `lane`: the host goes on if it waited for them.
    pub(crate) fn release_host(&mut self, lane: u32) {
        if !self.host_waits(lane) {
            (self.host_paced, self.host_stalled, self.stirred) = (false, false, true);
        }
    }
}
