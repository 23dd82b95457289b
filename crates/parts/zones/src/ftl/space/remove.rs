//! Removal of the extents of zones that were reset, and erases.

use media::{Action, Actions, Class, EraseOp, OpId, Status};

use crate::ftl::durability::log::Record;
use crate::ftl::request::buffer::NIL;
use crate::ftl::request::operation::OperationKind;
use crate::ftl::space::blocks::Block;
use crate::ftl::space::extent::Extent;
use crate::ftl::{InjectedFault, ZonedFtl};

impl ZonedFtl {
    /// Makes the reset of an extent's zone durable. With a protected buffer, the command ends before.
    pub(crate) fn record_reset(&mut self, id: u32, out: &mut Actions) {
        if !self.extents[id as usize].is_in_flash() {
            self.extents[id as usize].removal.as_mut().expect("an extent being removed").pending = false;
            // Nothing to record; but an earlier reset of the zone must be durable, too.
            match self.pending_reset(self.extents[id as usize].zone) {
                Some(earlier) => self.wait_for_reset(id, earlier),
                None => self.end_reset(id, out),
            }
            return self.go_on_removing(id, out);
        }
        if self.config.protected || self.injected.is(InjectedFault::ResetNotAwaited) {
            self.end_reset(id, out);
        }
        self.log.push(Record::Reset { extent: id });
        self.go_on_logging(out);
    }

    /// Lets the commands that wait for the removal of extent `id` wait for that of `earlier`.
    fn wait_for_reset(&mut self, id: u32, earlier: u32) {
        let extent = &mut self.extents[id as usize];
        let tag = extent.removal.as_mut().and_then(|removal| removal.tag.take());
        let mut waiters = std::mem::take(&mut extent.waiters.durable);
        waiters.extend(tag.map(|tag| (tag, 0)));
        self.extents[earlier as usize].waiters.durable.extend(waiters.into_iter().map(|(tag, _)| (tag, 0)));
    }

    /// Ends the command that reset the zone of an extent.
    pub(crate) fn end_reset(&mut self, id: u32, out: &mut Actions) {
        let removal = self.extents[id as usize].removal.as_mut().expect("an extent being removed");
        let tag = removal.tag.take();
        // What became of the zone's data is durable now: nothing.
        let waiters = std::mem::take(&mut self.extents[id as usize].waiters.durable);
        for tag in waiters.into_iter().map(|(tag, _)| tag).chain(tag) {
            self.count_down(tag, out);
        }
    }

    /// Erases the blocks of an extent once its removal is durable and nothing uses them, and forgets it after that.
    pub(crate) fn go_on_removing(&mut self, id: u32, out: &mut Actions) {
        let extent = &mut self.extents[id as usize];
        let Some(removal) = &mut extent.removal else { return };
        if extent.reads > 0
            || extent.programs > 0
            || extent.spilling.is_some()
            || extent.columns.iter().any(|c| c.moving)
        {
            return;
        }
        if removal.log_block.is_some() && !removal.erasing {
            removal.erasing = true;
            let (zone, per_column) = (extent.zone, self.layout.blocks);
            let numbers = std::mem::take(&mut extent.blocks);
            let replaced = std::mem::take(&mut extent.replaced);
            let own = (0..).zip(numbers).filter(|(_, block)| *block != NIL);
            let own = own.map(|(at, block): (u32, u32)| Block { die: self.layout.die(zone, at / per_column), block });
            let all: Vec<Block> = own.chain(replaced).collect();
            self.extents[id as usize].removal.as_mut().into_iter().for_each(|r| r.erases = all.len() as u32);
            for block in all {
                self.erase(OperationKind::Erase(block), id, block, out);
            }
        }
        self.forget_if_removed(id, out);
    }

    /// Forgets an extent that is removed.
    fn forget_if_removed(&mut self, id: u32, out: &mut Actions) {
        let extent = &self.extents[id as usize];
        let Some(removal) = extent.removal else { return };
        let is_unrecorded = !removal.pending && removal.log_block.is_none();
        let nothing = removal.tag.is_none() && !extent.is_in_flash() && is_unrecorded;
        if nothing || (removal.erasing && removal.erases == 0) {
            removal.log_block.into_iter().for_each(|block| self.log.release(block));
            let zone = extent.zone;
            self.usages += 1;
            self.extents[id as usize] = Extent::new(zone, 0, self.usages - 1);
            self.free_extents.push(id);
            self.clean_log(out);
        }
    }

    /// Starts an erase.
    pub(crate) fn erase(&mut self, kind: OperationKind, extent: u32, Block { die, block }: Block, out: &mut Actions) {
        let id = self.operations.start(kind, extent, 0, self.layout.page(die, block, 0));
        self.log.erases += 1;
        let block = self.layout.block(die, block);
        out.actions.push(Action::Erase(EraseOp { id, block, class: Class::Collection }));
    }

    /// Returns true if an erase is in progress, or will follow from a removal, from a replacement that has its block, or
    /// from the log.
    pub(crate) fn is_erasing(&self) -> bool {
        let leads_to_erase = |extent: &Extent| extent.removal.is_some() || !extent.replaced.is_empty();
        self.log.erases > 0
            || self.extents.iter().any(leads_to_erase)
            || self.relocations.frees_block()
            || self.log_shrinks()
    }

    /// Handles the end of an erase: the block is free, or bad.
    pub(crate) fn erased(&mut self, id: OpId, at: Block, status: Status, out: &mut Actions) {
        let operation = self.operations.end(id);
        self.operations.free(id, operation.slots);
        self.log.erases -= 1;
        self.blocks.erased(at);
        self.stats.erases += 1;
        if status.is_ok() {
            self.blocks.give(at);
        } else {
            self.stats.failures += 1;
            out.actions.push(Action::Retire(self.layout.block(at.die, at.block)));
        }
    }

    /// Goes on with what waited for a free block.
    pub(crate) fn use_free_blocks(&mut self, out: &mut Actions) {
        for (extent, column) in self.blocks.take_stalled() {
            if self.extents[extent as usize].columns.len() > column as usize {
                self.issue(extent, column, out);
            }
        }
        self.go_on_moving(out);
        self.go_on_logging(out);
    }

    /// Handles the end of the erase of a block of an extent being removed.
    pub(crate) fn erase_done(&mut self, id: OpId, at: Block, status: Status, out: &mut Actions) {
        let extent = self.operations[id].extent;
        self.erased(id, at, status, out);
        let removal = self.extents[extent as usize].removal.as_mut().expect("an extent being removed");
        removal.erases -= 1;
        self.forget_if_removed(extent, out);
        self.use_free_blocks(out);
    }

    /// Erases the replaced blocks of an extent if no read is in progress. After a mount they may be all that shows the
    /// zone's generation, so that the blocks of older ones are erased first.
    pub(crate) fn erase_replaced(&mut self, id: u32, out: &mut Actions) {
        let extent = &mut self.extents[id as usize];
        if extent.reads > 0 || extent.removal.is_some() || self.log.useless > 0 {
            return;
        }
        for block in std::mem::take(&mut extent.replaced) {
            self.extents[id as usize].programs += 1;
            self.erase(OperationKind::Discard(block), id, block, out);
        }
    }

    /// Handles the end of the erase of a useless block.
    pub(crate) fn discard_done(&mut self, id: OpId, at: Block, status: Status, out: &mut Actions) {
        let extent = self.operations[id].extent;
        self.erased(id, at, status, out);
        if extent == NIL {
            self.log.useless -= 1;
            if self.log.useless == 0 {
                (0..self.current.len()).for_each(|zone| self.erase_replaced(self.current[zone], out));
            }
            self.clean_log(out);
        } else {
            self.extents[extent as usize].programs -= 1;
            self.repaired(extent, out);
        }
        self.use_free_blocks(out);
    }

    /// Counts an erase that an extent waited for, after the last of which it is written again.
    pub(crate) fn repaired(&mut self, id: u32, out: &mut Actions) {
        let extent = &mut self.extents[id as usize];
        extent.repairs = extent.repairs.saturating_sub(1);
        if extent.removal.is_some() {
            self.go_on_removing(id, out);
        } else if extent.repairs == 0 {
            self.issue_all(id, out);
            self.go_on_finishing(id, out);
        }
    }
}
