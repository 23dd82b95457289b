//! Commands that complete when data is durable.

use media::{Action, Op, OpId, Status, Tag};

use crate::request::operation::OperationKind;
use crate::{Actions, Ftl};

impl Ftl {
    pub(crate) fn flush(&mut self, tag: Tag, out: &mut Actions) {
        if self.config.buffers.protected {
            self.complete(tag, Status::Ok, out);
            return;
        }
        if self.durability.read_only {
            let status = if self.is_written_out() { Status::Ok } else { Status::NoSpace };
            self.complete(tag, status, out);
            return;
        }
        self.wait_durable(tag);
        self.dispatch(out);
    }

    pub(crate) fn wait_durable(&mut self, tag: Tag) {
        // A write that waits for its own durability does not wait for earlier trims.
        let trims = if self.requests.commands[tag].op == Op::Flush {
            self.buffer.dirty.force();
            self.durability.journal.want_trims()
        } else {
            self.buffer.combine();
            0
        };
        self.durability.durable_queue.add(tag, self.buffer.dirty.epoch(), trims);
    }

    /// Makes waiting commands wait for the trim instead of the data that it discarded before that was durable.
    pub(crate) fn wait_for_trims(&mut self) {
        if !self.durability.durable_queue.is_empty() {
            self.durability.durable_queue.wait_for_trims(self.durability.journal.want_trims());
        }
    }

    /// Seals commands whose slots are all in programs: they then wait only for those programs.
    pub(crate) fn seal_durable(&mut self) {
        let waiting = self.buffer.dirty.oldest(&self.buffer.slots);
        self.durability.durable_queue.seal(waiting, self.durability.sequence.next());
    }

    pub(crate) fn end_durable(&mut self, out: &mut Actions) {
        while let Some(trims) = self.durability.durable_queue.first_programmed(self.durability.sequence.oldest()) {
            if !self.durability.journal.want(trims) {
                return;
            }
            let Some(tag) = self.durability.durable_queue.take_first() else { return };
            let id = self.start_operation(OperationKind::Barrier, tag.0);
            out.actions.push(Action::Barrier(id));
        }
    }

    /// Ends the command that waits for a barrier, with the barrier's `status`.
    pub(crate) fn barrier_done(&mut self, id: OpId, status: Status, out: &mut Actions) {
        let tag = Tag(self.operations.end(id).subject);
        self.complete(tag, status, out);
    }
}
