//! Admission: commands that wait for room in the write cache.
//!
//! Writes that find the cache full queue, and are admitted in order as programs end. Two habits of real controllers are
//! optional. With a *resume mark* the queue, once begun, waits until that much of the cache is free, so that a full cache is
//! refilled a batch at a time. And where the cache *holds reads*, commands are handled in order at this point: a read
//! queues behind the writes that wait (head-of-line blocking).

use media::{Action, Op, Status, Tag};

use crate::buffer::NIL;
use crate::command::Command;
use crate::{Actions, Ftl};

/// Commands that wait for room, as a list through [`Command::next`].
pub(crate) struct Queue {
    head: u32,
    tail: u32,
    /// It waits for the resume mark.
    held: bool,
}

impl Queue {
    pub(crate) const EMPTY: Queue = Queue { head: NIL, tail: NIL, held: false };

    /// True while the host waits for the resume mark: the drive is busy, though no command comes.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NIL
    }
}

impl Ftl {
    /// True if the place of a unit in flash is all that a read of it needs.
    pub(crate) fn reads_plainly(&self) -> bool {
        let (buffers, c) = (&self.config.buffers, &self.config);
        let keeps_none = buffers.read == 0 && c.host_memory.is_none() && c.read_copies.is_none();
        let relocates = self.parity.is_some() || self.refresh.is_on();
        self.map.is_none() && !c.moves && keeps_none && !relocates && !buffers.holds_reads
    }

    /// A read, which waits behind writes that wait for room if the cache holds reads.
    pub(crate) fn admit_read(&mut self, tag: Tag, out: &mut Actions) {
        if self.config.buffers.holds_reads && !self.space_queue.is_empty() {
            self.queue_for_room(tag);
        } else {
            self.read(tag, out);
        }
    }

    /// The command waits until room is free.
    pub(crate) fn queue_for_room(&mut self, tag: Tag) {
        let queue = &mut self.space_queue;
        match queue.tail {
            NIL => (queue.head, queue.held) = (tag.0, self.config.buffers.resume > 0),
            tail => self.commands[Tag(tail)].next = tag.0,
        }
        queue.tail = tag.0;
    }

    pub(crate) fn reserve(&mut self, units: u32) -> bool {
        let limit = self.write_limit;
        if self.write_used + units > limit {
            return false;
        }
        if self.config.buffers.shared {
            while self.write_used + units + self.clean.len > limit {
                self.evict_clean();
            }
        }
        self.write_used += units;
        self.reserved += units;
        true
    }

    /// Room in RAM came free: lets the commands that wait for it in, in order.
    #[inline]
    pub(crate) fn admit(&mut self, out: &mut Actions) {
        if !self.space_queue.is_empty() && self.write_used < self.write_limit {
            self.admit_waiting(out);
        }
    }

    fn admit_waiting(&mut self, out: &mut Actions) {
        if self.space_queue.held && self.write_limit - self.write_used < self.config.buffers.resume {
            return;
        }
        self.space_queue.held = false;
        while let Some((tag, command)) = self.first_waiting() {
            if command.op == Op::Write && !self.reserve(command.units) {
                return;
            }
            self.take_waiting(command.next);
            match command.op {
                Op::Write => out.actions.push(Action::Ready { tag }),
                _ => self.read(tag, out),
            }
        }
    }

    /// No room will come free: the waiting writes fail, and the reads among them go on.
    pub(crate) fn refuse_waiting(&mut self, out: &mut Actions) {
        while let Some((tag, command)) = self.first_waiting() {
            self.take_waiting(command.next);
            match command.op {
                Op::Write => self.complete(tag, Status::NoSpace, out),
                _ => self.read(tag, out),
            }
        }
    }

    fn first_waiting(&self) -> Option<(Tag, Command)> {
        let tag = Tag(self.space_queue.head);
        (tag.0 != NIL).then(|| (tag, self.commands[tag]))
    }

    /// The first leaves; `next` follows it.
    fn take_waiting(&mut self, next: u32) {
        self.space_queue.head = next;
        if next == NIL {
            self.space_queue.tail = NIL;
        }
    }
}
