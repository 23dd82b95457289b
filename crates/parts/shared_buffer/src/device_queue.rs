//! The device's side of the queue pairs.

use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

use crate::entry::{Command, EXTENTS_MAX, Extent, Extents, Head, Opcode, PHASE, Status, completion_word};
use crate::host_queue::phase;
use crate::layout::Layout;
use crate::orders::{Orders, Sound};
use crate::region::Region;

/// A submission entry fetched by the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The command ID, to be repeated in the completion.
    pub id: u16,
    /// The command, or the error status with which to complete it at once.
    pub command: Result<Command, Status>,
}

/// The device's view of a queue pair: fetches commands and posts completions.
///
/// A command is fetched only if there is an entry for its completion: the commands in progress and the completions that
/// the host has not taken never exceed the completion queue together. Posting therefore never waits and never overruns
/// the queue, whatever the host does.
#[derive(Debug)]
pub struct DeviceQueue<O: Orders = Sound> {
    layout: Layout,
    queue: u16,
    /// Index of the next submission entry.
    sq_head: u32,
    /// Index of the next completion entry.
    cq_tail: u32,
    /// The value of the status register.
    announced: u32,
    /// The host's completion queue head when it was last read.
    cq_head: u32,
    /// Commands fetched and not yet completed.
    in_progress: u32,
    orders: PhantomData<O>,
}

impl DeviceQueue {
    /// Attaches to queue pair `queue` of a newly formatted region.
    ///
    /// # Panics
    /// If the layout has no such pair.
    pub fn new(layout: &Layout, queue: u16) -> DeviceQueue {
        DeviceQueue::with_orders(layout, queue)
    }
}

impl<O: Orders> DeviceQueue<O> {
    /// Attaches with other memory orderings, for the model checker.
    pub fn with_orders(layout: &Layout, queue: u16) -> DeviceQueue<O> {
        let config = layout.config();
        assert!(queue < config.queue_pairs, "queue pair {queue} of {}", config.queue_pairs);
        let (sq_head, cq_tail, announced, cq_head, in_progress) = (0, 0, 0, 0, 0);
        DeviceQueue { layout: *layout, queue, sq_head, cq_tail, announced, cq_head, in_progress, orders: PhantomData }
    }

    /// Reads the doorbell and returns the number of announced commands that have not been fetched. The doorbell is only
    /// a hint: the entry itself tells whether it is valid.
    pub fn announced<R: Region + ?Sized>(&self, region: &R) -> u32 {
        (region.load(self.layout.doorbell(self.queue), O::DOORBELL_CHECK) as u32).wrapping_sub(self.sq_head)
    }

    /// Returns the number of commands fetched and not yet completed.
    pub const fn in_progress(&self) -> u32 {
        self.in_progress
    }

    /// Returns whether there is room for the completion of one more command. Reads the host's head only if there was no
    /// room when it was last read.
    fn has_room<R: Region + ?Sized>(&mut self, region: &R) -> bool {
        let entries = self.layout.config().cq_entries;
        let used = |queue: &Self| queue.cq_tail.wrapping_sub(queue.cq_head) + queue.in_progress;
        if used(self) == entries {
            let head = region.load(self.layout.cq_head(self.queue), Relaxed) as u32;
            // Ignore a head that moves backward or beyond the tail, since no working host writes it.
            if self.cq_tail.wrapping_sub(head) <= self.cq_tail.wrapping_sub(self.cq_head) {
                self.cq_head = head;
            }
        }
        assert!(used(self) <= entries, "completion queue {} is overrun", self.queue);
        used(self) < entries
    }

    /// Fetches the command at the head of the submission queue, if there is one and its completion will have room.
    pub fn fetch<R: Region + ?Sized>(&mut self, region: &R) -> Option<Fetched> {
        if !self.has_room(region) {
            return None;
        }
        let at = self.layout.sq_entry(self.queue, self.sq_head);
        let word = region.load(at, O::SQ_CHECK);
        if word & PHASE != phase(self.sq_head, self.layout.config().sq_entries) {
            return None;
        }
        let head = Head::decode(word);
        let command = self.decode(region, at, &head);
        self.sq_head = self.sq_head.wrapping_add(1);
        self.in_progress += 1;
        Some(Fetched { id: head.id, command })
    }

    /// Decodes an entry without trusting its content.
    fn decode<R: Region + ?Sized>(&self, region: &R, at: usize, head: &Head) -> Result<Command, Status> {
        let config = self.layout.config();
        let opcode = Opcode::from_code(head.opcode).ok_or(Status::InvalidOpcode)?;
        if head.extents > usize::from(config.extents_max).min(EXTENTS_MAX) {
            return Err(Status::InvalidField);
        }
        let mut extents = Extents::NONE;
        for index in 0..head.extents {
            extents.push(Extent::decode(region.load(at + 2 + index, Relaxed)));
        }
        let start = region.load(at + 1, Relaxed);
        let command = Command { opcode, fua: head.fua, start, sectors: head.sectors, extents };
        if command.is_consistent(config.db_sectors) { Ok(command) } else { Err(Status::InvalidField) }
    }

    /// Posts a completion at the tail of the completion queue. A read's data must already be in the data buffer, and a
    /// write's must have been copied out of it. A polling host sees the completion at once; for others, call
    /// [`notify`](DeviceQueue::notify).
    ///
    /// # Panics
    /// If no command is in progress.
    pub fn post<R: Region + ?Sized>(&mut self, region: &R, id: u16, status: Status) {
        assert!(self.in_progress > 0, "queue pair {}: completion of command {id}, but none is in progress", self.queue);
        let entry = completion_word(id, status) | phase(self.cq_tail, self.layout.config().cq_entries);
        region.store(self.layout.cq_entry(self.queue, self.cq_tail), entry, O::CQ_PUBLISH);
        self.in_progress -= 1;
        self.cq_tail = self.cq_tail.wrapping_add(1);
    }

    /// Writes the tail of the completion queue to the status register. Returns true if the value changed, and an
    /// interrupt is due.
    pub fn notify<R: Region + ?Sized>(&mut self, region: &R) -> bool {
        let changed = self.announced != self.cq_tail;
        if changed {
            region.store(self.layout.status(self.queue), u64::from(self.cq_tail), O::STATUS_PUBLISH);
            self.announced = self.cq_tail;
        }
        changed
    }

    /// Returns whether the host, according to its head register, has completions to take. This is the level of an
    /// interrupt line.
    pub fn is_pending<R: Region + ?Sized>(&self, region: &R) -> bool {
        region.load(self.layout.cq_head(self.queue), Relaxed) as u32 != self.cq_tail
    }
}

/// The device's view of all queue pairs, served round robin.
#[derive(Debug)]
pub struct DeviceQueues {
    queues: Vec<DeviceQueue>,
    next: u16,
}

impl DeviceQueues {
    /// Attaches to all queue pairs of a newly formatted region.
    pub fn new(layout: &Layout) -> DeviceQueues {
        let queues = (0..layout.config().queue_pairs).map(|queue| DeviceQueue::new(layout, queue)).collect();
        DeviceQueues { queues, next: 0 }
    }

    /// Fetches one command, and returns it with its pair. The search starts after the pair that provided the last
    /// command, so that no pair starves.
    pub fn fetch<R: Region + ?Sized>(&mut self, region: &R) -> Option<(u16, Fetched)> {
        let (first, pairs) = (self.next, self.queues.len() as u16);
        (0..pairs).map(|step| (first + step) % pairs).find_map(|queue| {
            let fetched = self.queues[usize::from(queue)].fetch(region)?;
            self.next = (queue + 1) % pairs;
            Some((queue, fetched))
        })
    }

    /// Returns one pair.
    ///
    /// # Panics
    /// If there is no such pair.
    pub fn pair(&mut self, queue: u16) -> &mut DeviceQueue {
        &mut self.queues[usize::from(queue)]
    }
}
