//! Folding: the data of SLC blocks moves to the other blocks, oldest block first.

use crate::lane::RESERVE;
use crate::{Actions, Ftl};

impl Ftl {
    /// Folds on in `lane`, where collection has nothing to do: while few SLC blocks are free, and in idle time until
    /// all are.
    #[inline]
    pub(crate) fn fold_on(&mut self, lane: u32, short: bool, out: &mut Actions) {
        if self.config.slc.is_some() {
            self.fold_blocks(lane, short, out);
        }
    }

    #[inline(never)]
    fn fold_blocks(&mut self, lane: u32, short: bool, out: &mut Actions) {
        // Victims under way make room that is wanted more.
        while !short || self.lanes[lane as usize].victims.iter().all(|victim| victim.slc) {
            let l = &self.lanes[lane as usize];
            let Some(job) = l.fold else {
                let Some(block) = self.next_folded(lane) else { return };
                self.lanes[lane as usize].fold = Some(self.start_victim(lane, block, false));
                continue;
            };
            if !self.read_victim(lane, job, l.quota, out) {
                return;
            }
            self.lanes[lane as usize].fold = None;
            if self.blocks.valid(job.block) == 0 {
                self.emptied(job.block);
            }
        }
    }

    /// The SLC block to fold next, if one is due and its data fits elsewhere.
    fn next_folded(&self, lane: u32) -> Option<u32> {
        let (slc, l) = (self.config.slc?, &self.lanes[lane as usize]);
        let block = l.slc_closed.front().copied()?;
        // Folding takes room without making any.
        let due = (self.idle || l.slc_free.len() <= slc.fold as usize) && l.free.len() > RESERVE;
        (due && self.fits(lane, block)).then_some(block)
    }
}
