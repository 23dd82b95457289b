//! Background refresh: rewrites the data of a block that is old, or was read often, before its errors accumulate.
//!
//! A block is due at its limit, and is rewritten in idle time. A block that exceeds its limit by a quarter ([`URGENT`])
//! is also rewritten while the host is active, two programs at a time. Reads are counted per physical block, in RAM:
//! the counts restart at zero after a power cut, as in products that do not save them. The time of a block's first
//! program is in its spare area.

use media::PageAddr;
use sim::Time;

use crate::config::Config;
use crate::layout::Layout;
use crate::space::blocks::Use;
use crate::{Actions, Ftl};

/// The excess over a limit, as one part in this many, at which a block is rewritten even while the host is active.
/// Assumed: a margin that a second's reads do not use up.
const URGENT: u32 = 4;
/// A second in picoseconds.
const SECOND: u64 = 1_000_000_000_000;

/// A block that has reached its limit.
#[derive(Clone, Copy)]
struct Due {
    block: u32,
    urgent: bool,
}

/// Read counts and ages of blocks.
#[derive(Default)]
pub(crate) struct Refresh {
    config: crate::config::Refresh,
    /// Reads since the erase, per block of each plane of each die; empty if reads are not counted.
    reads: Vec<u32>,
    /// Age of the drive in seconds when each block was first programmed; empty if ages do not matter.
    written_s: Vec<u32>,
    due: Vec<Due>,
    /// A block became urgent since the last check.
    pressing: bool,
    /// Age of the drive in seconds, now and when block ages were last checked.
    clock_s: u32,
    looked_s: Option<u32>,
    planes: u32,
    blocks: u32,
}

impl Refresh {
    pub(crate) fn new(config: &Config, layout: &Layout) -> Refresh {
        let (g, limits) = (&config.geometry, config.refresh);
        let physical = (g.all_dies() * g.planes * g.blocks) as usize;
        Refresh {
            config: limits,
            reads: vec![0; if limits.reads.is_some() { physical } else { 0 }],
            written_s: vec![0; if limits.age_s.is_some() { layout.all_blocks() as usize } else { 0 }],
            clock_s: limits.drive_age_s,
            planes: g.planes,
            blocks: g.blocks,
            ..Refresh::default()
        }
    }

    /// Returns true if refresh is configured.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.config.reads.is_some() || self.config.age_s.is_some()
    }

    /// Records the age of the drive at which `block` was first programmed, as found by a mount.
    pub(crate) fn found(&mut self, block: u32, written_s: u32) {
        if let Some(oldest) = self.written_s.get_mut(block as usize) {
            *oldest = if *oldest == 0 { written_s } else { written_s.min(*oldest) };
        }
    }

    /// Records the time at which `block` is opened.
    #[inline]
    pub(crate) fn opened(&mut self, block: u32) {
        if let Some(written_s) = self.written_s.get_mut(block as usize) {
            *written_s = self.clock_s;
        }
    }

    /// Counts a read of `page` of `block`.
    #[inline]
    pub(crate) fn read(&mut self, block: u32, page: PageAddr) {
        if !self.reads.is_empty() {
            self.count(block, page);
        }
    }

    fn count(&mut self, block: u32, page: PageAddr) {
        let Some(limit) = self.config.reads else { return };
        for plane in page.planes.iter() {
            let at = ((u32::from(page.die) * self.planes + plane) * self.blocks + page.block) as usize;
            self.reads[at] = self.reads[at].saturating_add(1);
            if self.reads[at] >= limit {
                self.add(block, self.reads[at] >= limit.saturating_add(limit / URGENT));
            }
        }
    }

    fn add(&mut self, block: u32, urgent: bool) {
        match self.due.iter_mut().find(|due| due.block == block) {
            Some(due) => {
                self.pressing |= urgent && !due.urgent;
                due.urgent |= urgent;
            }
            None => {
                self.pressing |= urgent;
                self.due.push(Due { block, urgent });
            }
        }
    }

    /// Returns true if `block` should be rewritten even while the host is active.
    pub(crate) fn is_urgent(&self, block: u32) -> bool {
        self.due.iter().any(|due| due.block == block && due.urgent)
    }

    /// Removes `block`, which is erased, from the due blocks.
    pub(crate) fn forget(&mut self, block: u32) {
        self.due.retain(|due| due.block != block);
    }
}

impl Ftl {
    /// Resets the read counts of the erased `block`, and removes it from the due blocks.
    pub(crate) fn refresh_erased(&mut self, block: u32) {
        if !self.gc.refresh.is_on() {
            return;
        }
        self.gc.refresh.forget(block);
        if self.gc.refresh.reads.is_empty() {
            return;
        }
        for position in 0..self.layout.per_row {
            let at = self.layout.block_at(block, position);
            for plane in at.planes.iter() {
                let (planes, blocks) = (self.gc.refresh.planes, self.gc.refresh.blocks);
                self.gc.refresh.reads[((u32::from(at.die) * planes + plane) * blocks + at.block) as usize] = 0;
            }
        }
    }

    /// Looks for blocks that became due, on a command or at the start of idle time.
    pub(crate) fn look_at_refresh(&mut self, now: Time, out: &mut Actions) {
        self.gc.refresh.clock_s = self.gc.refresh.config.drive_age_s.saturating_add((now.ps() / SECOND) as u32);
        let later = self.gc.refresh.looked_s != Some(self.gc.refresh.clock_s);
        if !self.gc.refresh.written_s.is_empty() && (later || self.gc.pace.is_idle()) {
            self.gc.refresh.looked_s = Some(self.gc.refresh.clock_s);
            self.find_old();
        }
        if !self.gc.pace.is_idle() && !self.gc.refresh.due.is_empty() {
            self.requests.activity.plan_idle();
        }
        if std::mem::take(&mut self.gc.refresh.pressing) {
            for pu in 0..self.layout.parallel_units {
                let here = |due: &Due| due.urgent && self.layout.pu_of(due.block) == pu;
                if self.gc.refresh.due.iter().any(here) {
                    self.collect(pu, out);
                }
            }
        }
    }

    fn find_old(&mut self) {
        let (Some(limit), clock) = (self.gc.refresh.config.age_s, self.gc.refresh.clock_s) else { return };
        for block in 0..self.layout.all_blocks() {
            let age = clock.saturating_sub(self.gc.refresh.written_s[block as usize]);
            if age >= limit && self.space.blocks.usage(block) == Use::Closed {
                self.gc.refresh.add(block, age >= limit.saturating_add(limit / URGENT));
            }
        }
    }

    /// Returns the block of `pu` to rewrite next, if there is one and its data fits elsewhere: only `urgent` ones, or
    /// in idle time any that is due.
    pub(crate) fn next_refreshed(&self, pu: u32, urgent: bool) -> Option<u32> {
        let mut due = self
            .gc
            .refresh
            .due
            .iter()
            .filter(|due| due.urgent || (self.gc.pace.is_idle() && !urgent))
            .map(|due| due.block);
        due.find(|block| {
            self.layout.pu_of(*block) == pu
                && self.space.blocks.usage(*block) == Use::Closed
                && self.space.parallel_units[pu as usize].free().len() > crate::space::parallel_unit::RESERVE
                && self.fits(pu, *block)
        })
    }
}

#[cfg(test)]
mod tests {
    use media::{PageAddr, PlaneMask};

    use super::{Refresh, URGENT};

    #[test]
    fn a_block_is_due_with_the_read_that_reaches_its_limit() {
        let limit = 2 * URGENT;
        let config = crate::config::Refresh { reads: Some(limit), age_s: None, drive_age_s: 0 };
        let mut refresh = Refresh { config, reads: vec![0; 4], planes: 1, blocks: 4, ..Refresh::default() };
        let page = PageAddr { die: 0, planes: PlaneMask::one(0), block: 2, page: 0 };
        for read in 1..limit + 4 {
            refresh.read(2, page);
            assert_eq!(refresh.due.iter().any(|due| due.block == 2), read >= limit, "read {read}");
            assert_eq!(refresh.is_urgent(2), read >= limit + 2, "read {read}");
        }
        assert_eq!((refresh.due.len(), &refresh.reads[..]), (1, &[0, 0, limit + 3, 0][..]));
    }

    #[test]
    fn a_block_is_as_old_as_its_oldest_program() {
        let mut refresh = Refresh { written_s: vec![0; 2], ..Refresh::default() };
        for written_s in [70, 50, 60] {
            refresh.found(1, written_s);
        }
        assert_eq!(refresh.written_s, [0, 50]);
    }

    #[test]
    fn only_a_block_beyond_its_limit_is_urgent() {
        let mut refresh = Refresh::default();
        refresh.add(1, true);
        assert!(std::mem::take(&mut refresh.pressing));
        refresh.add(2, false);
        assert!(!refresh.pressing);
        assert_eq!([1, 2, 3].map(|block| refresh.is_urgent(block)), [true, false, false]);
        refresh.add(2, true);
        assert!(std::mem::take(&mut refresh.pressing), "the block became urgent");
        refresh.add(2, true);
        assert!(!refresh.pressing, "the block was urgent before");
        refresh.forget(2);
        assert_eq!([1, 2].map(|block| refresh.is_urgent(block)), [true, false]);
    }
}
