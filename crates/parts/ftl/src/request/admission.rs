//! Admission: the queue of commands that wait for room in the write cache.
//!
//! Writes that find the cache full are queued, and admitted in order as programs complete. Two behaviors of real
//! controllers are optional. With a *resume mark*, once a queue has formed it waits until that much of the cache is
//! free, so that a full cache is refilled one batch at a time; the batch may also *gather* before it is written to
//! flash. If the cache *holds reads*, commands are handled strictly in order here: a read queues behind waiting writes
//! (head-of-line blocking).

use std::ops::Range;

use media::{Action, Op, Status, Tag};

use crate::buffer::slots::NIL;
use crate::request::command::Command;
use crate::{Actions, Ftl};

/// Commands that wait for room, linked through [`Command::next`].
pub(crate) struct Queue {
    head: u32,
    tail: u32,
    /// The queue waits for the resume mark.
    held: bool,
    /// Writes that waited for the resume mark were admitted: their data gathers before it is written to flash.
    gathers: bool,
    /// A command has waited since [`Queue::take_waited`] was last called.
    waited: bool,
}

impl Queue {
    pub(crate) const EMPTY: Queue = Queue { head: NIL, tail: NIL, held: false, gathers: false, waited: false };

    /// Returns true if a command has waited since the last call.
    #[inline]
    pub(crate) fn take_waited(&mut self) -> bool {
        std::mem::take(&mut self.waited)
    }

    /// Returns true while `dirty` units are held back from flash until there are `gather` of them.
    #[inline]
    pub(crate) fn gathers(&mut self, dirty: u32, gather: u32) -> bool {
        self.gathers &= dirty < gather && self.is_empty();
        self.gathers
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NIL
    }
}

impl Ftl {
    /// Starts a read of these `sectors`, or queues it behind waiting writes if the cache holds reads.
    #[inline]
    pub(crate) fn admit_read(&mut self, tag: Tag, sectors: &Range<u64>, out: &mut Actions) {
        if self.config.buffers.holds_reads && !self.requests.queue.is_empty() {
            self.queue_for_room(tag);
        } else {
            self.read(tag, sectors, out);
        }
    }

    /// Queues the command until room is free.
    pub(crate) fn queue_for_room(&mut self, tag: Tag) {
        self.requests.waits_for_buffer(tag);
        let queue = &mut self.requests.queue;
        queue.waited = true;
        match queue.tail {
            NIL => (queue.head, queue.held) = (tag.0, self.config.buffers.resume > 0),
            tail => self.requests.commands[Tag(tail)].next = tag.0,
        }
        queue.tail = tag.0;
    }

    /// Admits waiting commands, in order, after room in RAM became free.
    #[inline]
    pub(crate) fn admit(&mut self, out: &mut Actions) {
        if !self.requests.queue.is_empty() && self.buffer.has_write_room() {
            self.admit_waiting(out);
        }
    }

    fn admit_waiting(&mut self, out: &mut Actions) {
        if self.requests.queue.held && self.buffer.write_free() < self.config.buffers.resume {
            return;
        }
        self.requests.queue.gathers |= self.requests.queue.held && self.config.buffers.gather > 0;
        self.requests.queue.held = false;
        while let Some((tag, &Command { op, units, next, .. })) = self.first_waiting() {
            if op == Op::Write && !self.takes_write(units) {
                return;
            }
            self.take_waiting(next);
            match op {
                Op::Write => out.actions.push(Action::Ready { tag }),
                _ => self.read_waiting(tag, out),
            }
        }
    }

    /// Reserves `units` slots for a write. Returns false if there is no room, in RAM or in the map cache.
    #[inline]
    pub(crate) fn takes_write(&mut self, units: u32) -> bool {
        !self.map.holds_writes() && self.reserve(units)
    }

    /// Fails the waiting writes, since no room will become free, and starts the waiting reads.
    pub(crate) fn refuse_waiting(&mut self, out: &mut Actions) {
        while let Some((tag, &Command { op, next, .. })) = self.first_waiting() {
            self.take_waiting(next);
            match op {
                Op::Write => self.complete(tag, Status::NoSpace, out),
                _ => self.read_waiting(tag, out),
            }
        }
    }

    /// Starts a read that has waited.
    fn read_waiting(&mut self, tag: Tag, out: &mut Actions) {
        self.read(tag, &self.requests.commands[tag].range(), out);
    }

    fn first_waiting(&self) -> Option<(Tag, &Command)> {
        let tag = Tag(self.requests.queue.head);
        (tag.0 != NIL).then(|| (tag, &self.requests.commands[tag]))
    }

    /// Removes the first command; `next` becomes the head.
    fn take_waiting(&mut self, next: u32) {
        self.requests.queue.head = next;
        if next == NIL {
            self.requests.queue.tail = NIL;
        }
    }
}
