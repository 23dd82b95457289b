//! The blocks of the log: where the next record goes, and which blocks are erased.

use media::{Action, Actions, OpId, Status};

use crate::ftl::ZonedFtl;
use crate::ftl::durability::log::LogBlock;
use crate::ftl::request::buffer::NIL;
use crate::ftl::request::operation::OperationKind;
use crate::ftl::space::blocks::Block;

impl ZonedFtl {
    /// Returns true if the block that the log writes has a page left.
    fn is_log_open(&self) -> bool {
        let usable = |block: &LogBlock| !block.old && !block.worn && block.pages < self.layout.pages();
        self.log.blocks.back().is_some_and(usable)
    }

    /// Returns true if the log can be written.
    fn has_log_page(&self) -> bool {
        self.is_log_open() || self.blocks.has_free()
    }

    /// Returns the next page of the log.
    pub(super) fn log_page(&mut self) -> Option<(Block, u32)> {
        if !self.is_log_open() {
            let at = self.blocks.take(self.blocks.roomiest(), 0)?;
            self.log.numbers += 1;
            let number = self.log.numbers;
            self.log.blocks.push_back(LogBlock { number, at, pages: 0, live: 0, old: false, worn: false });
            self.renew_oldest();
        }
        let block = self.log.blocks.back_mut()?;
        block.pages += 1;
        Some((block.at, block.pages - 1))
    }

    /// Queues the needed records of the oldest block again if the log is long.
    fn renew_oldest(&mut self) {
        let Some(oldest) = self.log.blocks.front().filter(|block| !block.old) else { return };
        if self.log.blocks.len() as u32 <= self.config.log_blocks() || oldest.live == 0 {
            return;
        }
        let number = oldest.number;
        for at in 0..self.current.len() {
            let id = self.current[at];
            let extent = &self.extents[id as usize];
            if !extent.spill_queued && extent.spill.is_some_and(|spill| spill.log_block == number) {
                self.renew_spill(id);
            }
        }
    }

    /// Keeps an extent, whose record in the log holds units after its end, from being written until the record is erased:
    /// as soon as the extent reached these units again, the record would stand for them.
    pub(crate) fn wait_for_record(&mut self, id: u32) {
        let extent = &mut self.extents[id as usize];
        extent.repairs += 1;
        self.log.ahead.push((id, extent.usage));
    }

    /// Erases the oldest blocks of the log, up to the first that is needed. Without a block from before the mount, all
    /// extents may be written.
    pub(crate) fn clean_log(&mut self, out: &mut Actions) {
        self.erase_oldest(out);
        if self.log.erasing || self.log.blocks.iter().any(|block| block.old) {
            return;
        }
        for (id, usage) in std::mem::take(&mut self.log.ahead) {
            if self.extents[id as usize].usage == usage {
                self.repaired(id, out);
            }
        }
    }

    /// Returns true if a block from before the mount will be erased: records that replace its own are on their way.
    pub(crate) fn log_shrinks(&self) -> bool {
        let is_replaced = || self.log.current.is_some() || (!self.log.queue.is_empty() && self.has_log_page());
        self.log.blocks.front().is_some_and(|block| block.old) && is_replaced()
    }

    fn erase_oldest(&mut self, out: &mut Actions) {
        while let Some(oldest) = self.log.blocks.front().copied() {
            let is_last = self.log.blocks.len() == 1;
            let in_use = is_last && (self.log.current.is_some() || (!oldest.old && oldest.pages < self.layout.pages()));
            let needed = oldest.live > 0 || (oldest.old && self.log.useless > 0);
            if in_use || needed || self.log.erasing {
                return;
            }
            self.log.blocks.pop_front();
            if oldest.worn {
                out.actions.push(Action::Retire(self.layout.block(oldest.at.die, oldest.at.block)));
                continue;
            }
            self.log.erasing = true;
            self.erase(OperationKind::LogErase(oldest.at), NIL, oldest.at, out);
        }
    }

    /// Handles the end of the erase of a block of the log.
    pub(crate) fn log_erase_done(&mut self, id: OpId, at: Block, status: Status, out: &mut Actions) {
        self.erased(id, at, status, out);
        self.log.erasing = false;
        self.clean_log(out);
        self.use_free_blocks(out);
    }
}
