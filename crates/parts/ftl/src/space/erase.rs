//! Emptying, erasing and retiring blocks.

use media::{Action, BlockAddr, Class, EraseOp, OpId, PlaneMask, Status};

use crate::location::{DecodedLocation, Location};
use crate::request::operation::OperationKind;
use crate::space::blocks::Use;
use crate::space::erase_queue::Waiting;
use crate::{Actions, Ftl};

impl Ftl {
    /// Queues the victim `block` for its erase, after its last valid unit was superseded.
    pub(crate) fn emptied(&mut self, block: u32) {
        let being_read = self.gc.unit(self.layout.pu_of(block)).is_reading(block);
        if self.space.blocks.usage(block) == Use::Victim && !being_read {
            self.space.erase_queue.add(
                block,
                self.durability.sequence.next() - 1,
                self.space.blocks.trimmed(block) != 0,
            );
        }
    }

    /// Removes a pin of `block`, and erases it if that was the last condition.
    #[inline]
    pub(crate) fn unpin(&mut self, block: u32, out: &mut Actions) {
        if self.space.blocks.unpin(block) == 0 {
            self.erase_empty(out);
        }
    }

    /// Removes the pin of a copy whose source is at `home`, after the copy was issued or dropped.
    #[inline]
    pub(crate) fn unpin_home(&mut self, home: Location, out: &mut Actions) {
        if let DecodedLocation::Flash(physical) = home.place(self.buffer.slots.count()) {
            self.unpin(self.layout.block_of(physical), out);
        }
    }

    /// Erases the empty victims that are no longer needed.
    #[inline]
    pub(crate) fn erase_empty(&mut self, out: &mut Actions) {
        if self.space.erase_queue.may_erase(self.durability.sequence.oldest()) {
            self.erase_released(out);
        }
    }

    fn erase_released(&mut self, out: &mut Actions) {
        let mut i = 0;
        while let Some(Waiting { block, sequence }) = self.space.erase_queue.get(i) {
            let trims = self.space.blocks.trimmed(block);
            let durable = trims == 0 || self.durability.journal.want(trims);
            if self.durability.sequence.oldest() > sequence && self.space.blocks.pins(block) == 0 && durable {
                let block = self.space.erase_queue.take(i);
                self.erase(block, out);
            } else {
                i += 1;
            }
        }
        self.space.erase_queue.examined(self.durability.sequence.oldest(), self.durability.journal.is_wanted());
    }

    pub(crate) fn erase(&mut self, block: u32, out: &mut Actions) {
        assert_eq!(self.space.blocks.valid(block), 0, "block {block} is erased while it holds valid units");
        self.space.blocks.set_usage(block, Use::Erasing);
        self.forget_stripes(block);
        self.report_copies(block, out);
        for (position, mask) in self.space.blocks.take_failing(block) {
            self.retire(block, position, mask, out);
        }
        let mut erases = 0;
        for position in 0..self.layout.per_row {
            let mut at = self.layout.block_at(block, position);
            at.planes = PlaneMask(at.planes.0 & !self.space.blocks.hole(block, position));
            if at.planes.0 == 0 {
                continue;
            }
            let id = self.start_operation(OperationKind::Erase, block);
            self.operations[id].logical = position;
            out.actions.push(Action::Erase(EraseOp { id, block: at, class: Class::Collection }));
            erases += 1;
        }
        self.space.blocks.set_erasing(block, erases);
        if erases == 0 {
            self.erased(block, out);
        }
    }

    pub(crate) fn retire(&mut self, block: u32, position: u32, mask: u16, out: &mut Actions) {
        self.space.blocks.add_hole(block, position, mask);
        self.measure(self.layout.pu_of(block));
        let at = self.layout.block_at(block, position);
        out.actions.push(Action::Retire(BlockAddr { planes: PlaneMask(mask), ..at }));
    }

    pub(crate) fn erase_done(&mut self, id: OpId, status: Status, out: &mut Actions) {
        let operation = self.operations.end(id);
        let (block, position) = (operation.subject, operation.logical);
        if !status.is_ok() {
            self.stats.failures += 1;
            let planes = self.layout.block_at(block, position).planes.0 & !self.space.blocks.hole(block, position);
            self.retire(block, position, planes, out);
        }
        if self.space.blocks.end_erase(block) == 0 {
            self.erased(block, out);
            self.dispatch(out);
        }
    }

    /// Frees `block`, which is erased on all its remaining planes.
    pub(crate) fn erased(&mut self, block: u32, out: &mut Actions) {
        self.stats.erases += 1;
        let pu = self.layout.pu_of(block);
        self.space.blocks.set_erases(block, self.space.blocks.erases(block) + 1);
        self.space.blocks.set_trimmed(block, 0);
        self.refresh_erased(block);
        self.give_back(block);
        let slc = self.is_slc(block);
        let l = &mut self.space.parallel_units[pu as usize];
        self.gc.erased(pu, block);
        if self.space.blocks.usable_planes(&self.layout, block) == 0 {
            self.space.blocks.set_usage(block, Use::Bad);
        } else {
            self.space.blocks.set_usage(block, Use::Free);
            l.add_free(block, slc, &self.layout);
        }
        self.space.host_room.erased();
        self.level_wear(pu);
        self.collect(pu, out);
    }
}
