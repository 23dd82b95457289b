//! The device's side of the queue pairs.

use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

use crate::entry::{Command, EXTENTS_MAX, Extent, Extents, Head, Opcode, PHASE, Status, completion_word};
use crate::host_queue::phase;
use crate::layout::Layout;
use crate::orders::{Orders, Sound};
use crate::region::Region;

/// A submission entry, as the device fetches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The command's id: what is posted must say it.
    pub id: u16,
    /// The command, or with which status to post it at once.
    pub command: Result<Command, Status>,
}

/// A queue pair from the device: fetches commands, posts completions.
///
/// A command is fetched only if there will be an entry for its completion: those it holds and those that the host has
/// not taken are together never more than the completion queue has entries. So to post never waits, and never overruns,
/// whatever the host does.
#[derive(Debug)]
pub struct DeviceQueue<O: Orders = Sound> {
    layout: Layout,
    queue: u16,
    /// Index of the next submission entry.
    sq_head: u32,
    /// Index of the next completion entry.
    cq_tail: u32,
    /// What the status register says.
    announced: u32,
    /// The last known completion queue head of the host.
    cq_head: u32,
    /// Commands fetched and not posted.
    held: u32,
    orders: PhantomData<O>,
}

impl DeviceQueue {
    /// Queue pair `queue` of a freshly formatted region.
    ///
    /// # Panics
    /// If the layout has no such pair.
    pub fn new(layout: &Layout, queue: u16) -> DeviceQueue {
        DeviceQueue::ordered(layout, queue)
    }
}

impl<O: Orders> DeviceQueue<O> {
    /// The same, with other orderings: for the model checker.
    pub fn ordered(layout: &Layout, queue: u16) -> DeviceQueue<O> {
        let config = layout.config();
        assert!(queue < config.queue_pairs, "queue pair {queue} of {}", config.queue_pairs);
        let (sq_head, cq_tail, announced, cq_head, held) = (0, 0, 0, 0, 0);
        DeviceQueue { layout: *layout, queue, sq_head, cq_tail, announced, cq_head, held, orders: PhantomData }
    }

    /// Reads the doorbell: commands that are announced and not fetched. What a host writes there is only a hint; whether
    /// an entry is valid, the entry says.
    pub fn announced<R: Region + ?Sized>(&self, region: &R) -> u32 {
        (region.load(self.layout.doorbell(self.queue), O::DOORBELL_CHECK) as u32).wrapping_sub(self.sq_head)
    }

    /// Commands fetched and not posted.
    pub const fn held(&self) -> u32 {
        self.held
    }

    /// Whether there is room for the completion of one more command. Reads the host's head only if there was none when
    /// it was last read.
    fn may_hold<R: Region + ?Sized>(&mut self, region: &R) -> bool {
        let entries = self.layout.config().cq_entries;
        let used = |queue: &Self| queue.cq_tail.wrapping_sub(queue.cq_head) + queue.held;
        if used(self) == entries {
            let head = region.load(self.layout.cq_head(self.queue), Relaxed) as u32;
            // A head that is behind the known one or ahead of the tail is none of a working host: not believed.
            if self.cq_tail.wrapping_sub(head) <= self.cq_tail.wrapping_sub(self.cq_head) {
                self.cq_head = head;
            }
        }
        assert!(used(self) <= entries, "completion queue {} overrun", self.queue);
        used(self) < entries
    }

    /// Fetches the command at the submission queue's head, if there is one and its completion will have room.
    pub fn fetch<R: Region + ?Sized>(&mut self, region: &R) -> Option<Fetched> {
        if !self.may_hold(region) {
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
        self.held += 1;
        Some(Fetched { id: head.id, command })
    }

    /// The command of an entry; the host is not trusted to have written a good one.
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

    /// Posts a completion at the completion queue's tail. A read's data must be in the data buffer, and a write's taken
    /// out of it. A host that polls sees it at once; for others, [`notify`](DeviceQueue::notify).
    ///
    /// # Panics
    /// If no command is held.
    pub fn post<R: Region + ?Sized>(&mut self, region: &R, id: u16, status: Status) {
        assert!(self.held > 0, "queue pair {}: completion of command {id}, and none is held", self.queue);
        let entry = completion_word(id, status) | phase(self.cq_tail, self.layout.config().cq_entries);
        region.store(self.layout.cq_entry(self.queue, self.cq_tail), entry, O::CQ_PUBLISH);
        self.held -= 1;
        self.cq_tail = self.cq_tail.wrapping_add(1);
    }

    /// Writes the completion queue's tail to the status register; true if that is news, and the interrupt is due.
    pub fn notify<R: Region + ?Sized>(&mut self, region: &R) -> bool {
        let news = self.announced != self.cq_tail;
        if news {
            region.store(self.layout.status(self.queue), u64::from(self.cq_tail), O::STATUS_PUBLISH);
            self.announced = self.cq_tail;
        }
        news
    }

    /// Whether the host has, as far as its head register tells, completions to take: the level of an interrupt line.
    pub fn is_pending<R: Region + ?Sized>(&self, region: &R) -> bool {
        region.load(self.layout.cq_head(self.queue), Relaxed) as u32 != self.cq_tail
    }
}

/// All queue pairs from the device, fetched from in turn.
#[derive(Debug)]
pub struct DeviceQueues {
    queues: Vec<DeviceQueue>,
    next: u16,
}

impl DeviceQueues {
    /// The queue pairs of a freshly formatted region.
    pub fn new(layout: &Layout) -> DeviceQueues {
        let queues = (0..layout.config().queue_pairs).map(|queue| DeviceQueue::new(layout, queue)).collect();
        DeviceQueues { queues, next: 0 }
    }

    /// Fetches one command: the pairs are asked in turn, starting behind the one that gave the last (round robin, so
    /// that none starves). Also returns the pair.
    pub fn fetch<R: Region + ?Sized>(&mut self, region: &R) -> Option<(u16, Fetched)> {
        let (first, pairs) = (self.next, self.queues.len() as u16);
        (0..pairs).map(|step| (first + step) % pairs).find_map(|queue| {
            let fetched = self.queues[usize::from(queue)].fetch(region)?;
            self.next = (queue + 1) % pairs;
            Some((queue, fetched))
        })
    }

    /// One pair.
    ///
    /// # Panics
    /// If there is no such pair.
    pub fn pair(&mut self, queue: u16) -> &mut DeviceQueue {
        &mut self.queues[usize::from(queue)]
    }
}
