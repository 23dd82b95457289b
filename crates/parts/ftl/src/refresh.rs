//! Background refresh: the data of a block that is old, or was read often, is rewritten before its errors add up.
//!
//! A block is due at its limit: idle time rewrites it. One that is a quarter beyond its limit ([`URGENT`]) is rewritten
//! beside the host's requests too, two programs at a time. Reads are counted for each physical block, in RAM: after a
//! power cut counting begins anew, as in products that do not save it. The time of a block's first program is in its
//! spare area.

use media::PageAddr;
use sim::Time;

use crate::blocks::Use;
use crate::config::Config;
use crate::layout::Layout;
use crate::{Actions, Ftl};

/// The quarter of a limit by which a block may exceed it before it is rewritten beside the host's requests. Assumed: a
/// margin that a second's reads do not use up.
const URGENT: u32 = 4;
/// A second in picoseconds.
const SECOND: u64 = 1_000_000_000_000;

/// A block that has reached its limit.
#[derive(Clone, Copy)]
struct Due {
    block: u32,
    urgent: bool,
}

/// Reads and ages of blocks.
#[derive(Default)]
pub(crate) struct Refresh {
    config: crate::config::Refresh,
    /// Reads since the erase, of each plane of each die its blocks; empty where they are not counted.
    reads: Vec<u32>,
    /// The drive's age in seconds when a block was first programmed; empty where ages do not matter.
    written_s: Vec<u32>,
    due: Vec<Due>,
    /// Some urgent block became due since it was looked at.
    pressing: bool,
    /// The drive's age in seconds, and when ages were last looked at.
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

    /// True if anything is ever refreshed.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.config.reads.is_some() || self.config.age_s.is_some()
    }

    /// A mount found `block` programmed at this age of the drive.
    pub(crate) fn found(&mut self, block: u32, written_s: u32) {
        if let Some(oldest) = self.written_s.get_mut(block as usize) {
            *oldest = if *oldest == 0 { written_s } else { written_s.min(*oldest) };
        }
    }

    /// `block` is opened.
    #[inline]
    pub(crate) fn opened(&mut self, block: u32) {
        if let Some(written_s) = self.written_s.get_mut(block as usize) {
            *written_s = self.clock_s;
        }
    }

    /// `page` of `block` is read.
    #[inline]
    pub(crate) fn read(&mut self, block: u32, page: PageAddr) {
        if !self.reads.is_empty() {
            self.count(block, page);
        }
    }

    #[inline(never)]
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

    /// True if `block` is to be rewritten beside the host's requests.
    pub(crate) fn is_urgent(&self, block: u32) -> bool {
        self.due.iter().any(|due| due.block == block && due.urgent)
    }

    /// `block`, which is not due any more, is erased.
    pub(crate) fn forget(&mut self, block: u32) {
        self.due.retain(|due| due.block != block);
    }
}

impl Ftl {
    /// `block` is erased: none of it was read, and nothing of it is old.
    pub(crate) fn refresh_erased(&mut self, block: u32) {
        if !self.refresh.is_on() {
            return;
        }
        self.refresh.forget(block);
        if self.refresh.reads.is_empty() {
            return;
        }
        for position in 0..self.layout.per_row {
            let at = self.layout.block_at(block, position);
            for plane in at.planes.iter() {
                let (planes, blocks) = (self.refresh.planes, self.refresh.blocks);
                self.refresh.reads[((u32::from(at.die) * planes + plane) * blocks + at.block) as usize] = 0;
            }
        }
    }

    /// A command came, or a pause: looks for what became due.
    pub(crate) fn look_at_refresh(&mut self, now: Time, out: &mut Actions) {
        self.refresh.clock_s = self.refresh.config.drive_age_s.saturating_add((now.ps() / SECOND) as u32);
        let later = self.refresh.looked_s != Some(self.refresh.clock_s);
        if !self.refresh.written_s.is_empty() && (later || self.idle) {
            self.refresh.looked_s = Some(self.refresh.clock_s);
            self.find_old();
        }
        self.idle_due |= !self.idle && !self.refresh.due.is_empty();
        if std::mem::take(&mut self.refresh.pressing) {
            for pu in 0..self.layout.parallel_units {
                let here = |due: &Due| due.urgent && self.layout.pu_of(due.block) == pu;
                if self.refresh.due.iter().any(here) {
                    self.collect(pu, out);
                }
            }
        }
    }

    fn find_old(&mut self) {
        let (Some(limit), clock) = (self.refresh.config.age_s, self.refresh.clock_s) else { return };
        for block in 0..self.layout.all_blocks() {
            let age = clock.saturating_sub(self.refresh.written_s[block as usize]);
            if age >= limit && self.blocks.usage(block) == Use::Closed {
                self.refresh.add(block, age >= limit.saturating_add(limit / URGENT));
            }
        }
    }

    /// The block of `pu` to be rewritten next, if there is one and its data fits elsewhere; of the `urgent` ones alone,
    /// or of all that are due while nothing else is to be done.
    pub(crate) fn next_refreshed(&self, pu: u32, urgent: bool) -> Option<u32> {
        let mut due = self.refresh.due.iter().filter(|due| due.urgent || (self.idle && !urgent)).map(|due| due.block);
        due.find(|block| {
            self.layout.pu_of(*block) == pu
                && self.blocks.usage(*block) == Use::Closed
                && self.parallel_units[pu as usize].free.len() > crate::parallel_unit::RESERVE
                && self.fits(pu, *block)
        })
    }
}
