//! Folding: moves the data of SLC blocks to the other blocks, oldest block first.
//!
//! While the host is active, a parallel unit folds as much as the host has written to its SLC blocks. Its *SLC level*
//! is the sum of the free SLC blocks, the rest of the open one, and the space gained so far from the block being
//! folded; folding maintains it at `fold` blocks, continuously or in [batches](super::batch). In idle time the unit
//! continues to fold until only `keep` full blocks are left, and stops when a command arrives: copies in flight complete,
//! and the rest of the block waits for the next idle period.
//!
//! Sequential host data is striped over all dies, and folding preserves the order: background copies are programmed in
//! the order in which their reads were issued, although the dies and channels complete these reads out of order.
//!
//! Data folded in batches goes to the blocks of host data rather than to those of collection's copies, which are older:
//! what was written together dies together. Without batches it shares programs with these copies, since host data that
//! finds the SLC blocks full is written to its own blocks at the same time, and the two would break each other's stripes.

use std::collections::VecDeque;

use crate::buffer::slots::{List, NIL};
use crate::config::SlcCache;
use crate::gc::collection::GcScan;
use crate::space::parallel_unit::RESERVE;
use crate::{Actions, Ftl};

/// Number of a collection read whose data is programmed as soon as it arrives.
pub(crate) const UNORDERED: u64 = u64::MAX;

/// Reads for the background copies of a parallel unit, in order of issue.
#[derive(Default)]
pub(crate) struct ReadOrder {
    /// Number of the first read.
    first: u64,
    /// Slots of each completed read; `None` while the read is in progress.
    reads: VecDeque<Option<List>>,
}

impl ReadOrder {
    /// Adds a read and returns its number.
    pub(crate) fn issued(&mut self) -> u64 {
        self.reads.push_back(None);
        self.first + self.reads.len() as u64 - 1
    }

    /// Removes the first read.
    fn advance(&mut self) {
        self.reads.pop_front();
        self.first += 1;
    }
}

impl Ftl {
    /// Orders the copies of the completed background read `number` of `pu`, whose slots are the last `units` pending
    /// ones. They stay there if all earlier reads have completed, and are otherwise held until then.
    pub(crate) fn put_in_order(&mut self, pu: u32, number: u64, units: u32) {
        let collection = &mut self.gc.units[pu as usize];
        let order = &collection.background.order;
        if number != order.first {
            let at = (number - order.first) as usize;
            let slots = &mut collection.pending_mut(collection.background.purpose).slots;
            let mut held = List::new();
            for slot in slots.drain(slots.len() - units as usize..) {
                self.buffer.slots.append(&mut held, slot);
            }
            collection.background.order.reads[at] = Some(held);
            return;
        }
        collection.background.order.advance();
        while let Some(mut held) = collection.background.order.reads.front().copied().flatten() {
            collection.background.order.advance();
            let pending = collection.pending_mut(collection.background.purpose);
            while held.head != NIL {
                pending.slots.push_back(self.buffer.slots.remove_first(&mut held));
            }
            // Units may have been superseded while their slots were held.
            pending.superseded = true;
        }
    }

    /// Continues background work in `pu`, where collection has nothing to do: folds SLC blocks and refreshes data.
    #[inline]
    pub(crate) fn fold_on(&mut self, pu: u32, short: bool, out: &mut Actions) {
        if self.config.slc.is_some() || self.gc.refresh.is_on() {
            self.work_in_background(pu, short, out);
        }
    }

    fn work_in_background(&mut self, pu: u32, short: bool, out: &mut Actions) {
        let short = short && !self.is_only_ahead(pu);
        loop {
            let collection = &self.gc.units[pu as usize];
            let Some(scan) = collection.background.scan else {
                // Victims being collected free up room that is needed more.
                let waits = short && collection.victims.iter().any(|victim| !victim.slc);
                let next = if waits { None } else { self.next_in_background(pu, short) };
                let Some((block, refreshed)) = next else { return };
                self.stats.refreshed += u64::from(refreshed);
                self.gc.units[pu as usize].background.scan = Some(self.start_victim(pu, block, false));
                continue;
            };
            // A parallel unit that is short completes the scan it began, unless another victim will free up room: this
            // scan may hold the last.
            let waits = short && collection.victims.iter().any(|victim| !victim.slc && victim.block != scan.block);
            let waits = waits || !(short || self.goes_on(pu, scan));
            self.gc.units[pu as usize].background.waits = waits;
            if waits {
                return;
            }
            let copies = self.background_copies(pu, scan);
            if !self.read_victim(pu, scan, true, copies, out) {
                return;
            }
            self.gc.units[pu as usize].background.scan = None;
            if self.space.blocks.valid(scan.block) == 0 {
                self.emptied(scan.block);
            }
        }
    }

    /// Returns the block to empty next, and true if its data is refreshed rather than folded. The order of priority is
    /// an urgent refresh, an SLC block to fold, an optional refresh.
    fn next_in_background(&self, pu: u32, short: bool) -> Option<(u32, bool)> {
        let refreshed = |urgent| self.next_refreshed(pu, urgent).filter(|_| !short).map(|block| (block, true));
        let folded = || self.next_folded(pu).map(|block| (block, false));
        refreshed(true).or_else(folded).or_else(|| refreshed(false))
    }

    /// Returns the SLC block to fold next, if one is due and its data fits elsewhere.
    fn next_folded(&self, pu: u32) -> Option<u32> {
        let (slc, l) = (self.config.slc?, &self.space.parallel_units[pu as usize]);
        let idle = self.gc.pace.is_idle() && l.closed_slc().len() > slc.keep as usize;
        if idle || self.is_due_to_fold(pu, slc) { self.oldest_to_fold(pu) } else { None }
    }

    /// Returns the oldest closed SLC block, if its data fits elsewhere.
    fn oldest_to_fold(&self, pu: u32) -> Option<u32> {
        let l = &self.space.parallel_units[pu as usize];
        let block = l.closed_slc().front().copied()?;
        // Folding takes room in the other blocks without freeing any.
        (l.free().len() > RESERVE && self.fits(pu, block)).then_some(block)
    }

    /// Returns true if `pu` is folding a block, or could fold one.
    pub(super) fn folds(&self, pu: u32) -> bool {
        let scan = self.gc.units[pu as usize].background.scan;
        scan.is_some_and(|scan| self.is_slc(scan.block)) || self.oldest_to_fold(pu).is_some()
    }

    /// Returns true if folding in `pu` is due while the host is active.
    fn is_due_to_fold(&self, pu: u32, slc: SlcCache) -> bool {
        if slc.batch > 0 { self.gc.batch.is_in_progress() } else { self.slc_shortage(pu, slc) > 0 }
    }

    /// Returns true if `pu` has less free SLC space than folding maintains.
    pub(super) fn lacks_slc(&self, pu: u32) -> bool {
        self.config.slc.is_some_and(|slc| self.slc_shortage(pu, slc) > 0)
    }

    /// Returns true if `scan`, which was begun, is still due. A block without valid units costs nothing more, and is
    /// free space.
    fn goes_on(&self, pu: u32, scan: GcScan) -> bool {
        let due = || self.config.slc.is_some_and(|slc| self.is_due_to_fold(pu, slc));
        self.gc.pace.is_idle()
            || self.space.blocks.valid(scan.block) == 0
            || if self.is_slc(scan.block) { due() } else { self.gc.refresh.is_urgent(scan.block) }
    }

    /// Returns the number of copies that may be in flight for `scan`: in a batch the configured number, in idle time as many
    /// as keep the dies busy, else as many as folding is behind.
    fn background_copies(&self, pu: u32, scan: GcScan) -> u32 {
        let quota = self.gc.units[pu as usize].quota;
        let least = 2 * self.layout.program_units;
        if self.gc.batch.is_in_progress() {
            return self.config.slc.and_then(|slc| slc.copies).map_or(quota, |copies| copies.clamp(least, quota));
        }
        if self.gc.pace.is_idle() {
            return quota;
        }
        match self.config.slc {
            Some(slc) if self.is_slc(scan.block) => {
                self.slc_shortage(pu, slc).clamp(i64::from(least), i64::from(quota)) as u32
            }
            _ => least,
        }
    }

    /// Returns the number of units by which `pu` is short of free SLC space; zero or negative if it is not.
    fn slc_shortage(&self, pu: u32, slc: SlcCache) -> i64 {
        if self.may_lend(pu) {
            return 0;
        }
        let block = i64::from(self.slc_programs() * self.layout.program_units);
        i64::from(slc.fold) * block - self.slc_units(pu)
    }
}
