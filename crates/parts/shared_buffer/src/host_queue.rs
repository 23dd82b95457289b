//! The host's side of a queue pair.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

use crate::entry::{Command, PHASE, Status};
use crate::layout::Layout;
use crate::orders::{Orders, Sound};
use crate::region::Region;

/// A completion, as the host takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The command's id; free again.
    pub id: u16,
    /// What the host gave along with the command.
    pub token: u32,
    /// How it ended.
    pub status: Status,
}

/// As many commands are outstanding as the submission queue has entries: take a completion first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the submission queue is full")
    }
}

impl std::error::Error for Full {}

/// A completion entry that no working device writes. The queue pair is of no more use until the region is formatted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The queue pair.
    pub queue: u16,
    /// The entry's index.
    pub index: u32,
    /// The entry.
    pub entry: u64,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { queue, index, entry } = self;
        write!(
            f,
            "queue pair {queue}: completion {index} is {entry:#x}: no such command is outstanding, or no such status"
        )
    }
}

impl std::error::Error for Fault {}

/// A queue pair from the host: submits commands, takes completions.
///
/// Never more commands are outstanding than the submission queue has entries. So there is always a free slot for
/// another, and no register has to tell how far the device has fetched: the slot's last command was fetched before some
/// command whose completion the host has taken, as the device fetches in order.
#[derive(Debug)]
pub struct HostQueue<O: Orders = Sound> {
    layout: Layout,
    queue: u16,
    /// Index of the next submission entry.
    sq_tail: u32,
    /// What the doorbell says.
    rung: u32,
    /// Index of the next completion entry.
    cq_head: u32,
    /// What the head register says.
    acknowledged: u32,
    free: Vec<u16>,
    /// By command id: the token of an outstanding command.
    outstanding: Vec<Option<u32>>,
    orders: PhantomData<O>,
}

impl HostQueue {
    /// Queue pair `queue` of a freshly formatted region.
    ///
    /// # Panics
    /// If the layout has no such pair.
    pub fn new(layout: &Layout, queue: u16) -> HostQueue {
        HostQueue::ordered(layout, queue)
    }
}

impl<O: Orders> HostQueue<O> {
    /// The same, with other orderings: for the model checker.
    pub fn ordered(layout: &Layout, queue: u16) -> HostQueue<O> {
        let config = layout.config();
        assert!(queue < config.queue_pairs, "queue pair {queue} of {}", config.queue_pairs);
        let ids = config.sq_entries as u16;
        HostQueue {
            layout: *layout,
            queue,
            sq_tail: 0,
            rung: 0,
            cq_head: 0,
            acknowledged: 0,
            free: (0..ids).rev().collect(),
            outstanding: vec![None; usize::from(ids)],
            orders: PhantomData,
        }
    }

    /// Commands that may be submitted now.
    pub fn room(&self) -> u32 {
        self.free.len() as u32
    }

    /// Commands submitted and not taken back.
    pub fn outstanding(&self) -> u32 {
        self.layout.config().sq_entries - self.room()
    }

    /// Writes a command's entry at the submission queue's tail and returns its id. Its write data must be in the data
    /// buffer. A device that polls its queue sees it at once; for others, [`ring`](HostQueue::ring).
    ///
    /// `token` is the caller's own and comes back with the completion.
    ///
    /// # Errors
    /// The queue is full.
    ///
    /// # Panics
    /// If the command contradicts itself or has more extents than entries have room for.
    pub fn submit<R: Region + ?Sized>(&mut self, region: &R, command: &Command, token: u32) -> Result<u16, Full> {
        let config = self.layout.config();
        assert!(command.is_consistent(config.db_sectors), "{command:?}");
        assert!(command.extents.len() <= usize::from(config.extents_max), "{command:?}");
        let id = self.free.pop().ok_or(Full)?;
        let slot = &mut self.outstanding[usize::from(id)];
        assert!(slot.is_none(), "command id {id} is free and outstanding");
        *slot = Some(token);

        let entry = self.layout.sq_entry(self.queue, self.sq_tail);
        region.store(entry + 1, command.start, Relaxed);
        for (index, extent) in command.extents.as_slice().iter().enumerate() {
            region.store(entry + 2 + index, extent.encode(), Relaxed);
        }
        // With its first word the entry becomes valid.
        region.store(entry, command.head(id) | phase(self.sq_tail, config.sq_entries), O::SQ_PUBLISH);
        self.sq_tail = self.sq_tail.wrapping_add(1);
        Ok(id)
    }

    /// Writes the submission queue's tail to the doorbell; false, and no access, if it says so already.
    pub fn ring<R: Region + ?Sized>(&mut self, region: &R) -> bool {
        let news = self.rung != self.sq_tail;
        if news {
            region.store(self.layout.doorbell(self.queue), u64::from(self.sq_tail), O::DOORBELL_RING);
            self.rung = self.sq_tail;
        }
        news
    }

    /// Reads the status register: completions that are announced and not taken. The first thing after an interrupt.
    pub fn announced<R: Region + ?Sized>(&self, region: &R) -> u32 {
        (region.load(self.layout.status(self.queue), O::STATUS_CHECK) as u32).wrapping_sub(self.cq_head)
    }

    /// Takes the completion at the completion queue's head, if there is one. A read's data are then in the data buffer.
    /// Needs neither interrupt nor status register: to poll is to call it.
    ///
    /// # Errors
    /// The entry is none that a working device writes. Nothing is taken.
    pub fn take<R: Region + ?Sized>(&mut self, region: &R) -> Result<Option<Completion>, Fault> {
        let entry = region.load(self.layout.cq_entry(self.queue, self.cq_head), O::CQ_CHECK);
        if entry & PHASE != phase(self.cq_head, self.layout.config().cq_entries) {
            return Ok(None);
        }
        let id = entry as u16;
        let slot = self.outstanding.get_mut(usize::from(id));
        let (Some(slot @ &mut Some(token)), Some(status)) = (slot, Status::from_code((entry >> 16) as u8)) else {
            return Err(Fault { queue: self.queue, index: self.cq_head, entry });
        };
        *slot = None;
        self.free.push(id);
        self.cq_head = self.cq_head.wrapping_add(1);
        Ok(Some(Completion { id, token, status }))
    }

    /// Writes the completion queue's head to its register, so that the device may use the entries again; false, and no
    /// access, if it says so already. Once for all completions of an interrupt is enough.
    pub fn acknowledge<R: Region + ?Sized>(&mut self, region: &R) -> bool {
        let news = self.acknowledged != self.cq_head;
        if news {
            region.store(self.layout.cq_head(self.queue), u64::from(self.cq_head), Relaxed);
            self.acknowledged = self.cq_head;
        }
        news
    }
}

/// The phase of the entry with that index in a ring of `entries`: set in its first round, clear in its second, ...
pub(crate) fn phase(index: u32, entries: u32) -> u64 {
    if index & entries == 0 { PHASE } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::phase;
    use crate::layout::ENTRIES_MAX;

    #[test]
    fn the_phase_changes_with_every_round() {
        for entries in (0..=ENTRIES_MAX.ilog2()).map(|log| 1 << log) {
            // The last: where the index itself begins anew.
            for index in [0, 1, entries - 1, 5 * entries, 0u32.wrapping_sub(entries), u32::MAX] {
                assert_ne!(phase(index, entries), phase(index.wrapping_add(entries), entries));
            }
            assert_ne!(phase(0, entries), 0, "an entry that was never written is not valid");
        }
    }
}
