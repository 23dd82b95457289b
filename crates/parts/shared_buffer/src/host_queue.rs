//! The host's side of a queue pair.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

use crate::entry::{Command, PHASE, Status};
use crate::layout::Layout;
use crate::orders::{Orders, Sound};
use crate::region::Region;

/// A completion taken by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The command ID, which is free again.
    pub id: u16,
    /// The token passed to [`HostQueue::submit`].
    pub token: u32,
    /// The outcome.
    pub status: Status,
}

/// The error if as many commands are outstanding as the submission queue has entries; take a completion first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the submission queue is full")
    }
}

impl std::error::Error for Full {}

/// An invalid completion entry, which no working device writes. The queue pair is unusable until the region is
/// formatted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The queue pair.
    pub queue: u16,
    /// The index of the entry.
    pub index: u32,
    /// The content of the entry.
    pub entry: u64,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { queue, index, entry } = self;
        write!(
            f,
            "queue pair {queue}: completion {index} is {entry:#x}: the command is not outstanding or the status is invalid"
        )
    }
}

impl std::error::Error for Fault {}

/// The host's view of a queue pair: submits commands and takes completions.
///
/// The number of outstanding commands never exceeds the size of the submission queue, so there is always a free slot
/// for the next command without a register that tells how far the device has fetched: the device fetches in order, so
/// it fetched the slot's previous command before some command whose completion the host has taken.
#[derive(Debug)]
pub struct HostQueue<O: Orders = Sound> {
    layout: Layout,
    queue: u16,
    /// Index of the next submission entry.
    sq_tail: u32,
    /// The value of the doorbell.
    announced: u32,
    /// Index of the next completion entry.
    cq_head: u32,
    /// The value of the head register.
    acknowledged: u32,
    free: Vec<u16>,
    /// The token of each outstanding command, by command ID.
    outstanding: Vec<Option<u32>>,
    orders: PhantomData<O>,
}

impl HostQueue {
    /// Attaches to queue pair `queue` of a newly formatted region.
    ///
    /// # Panics
    /// If the layout has no such pair.
    pub fn new(layout: &Layout, queue: u16) -> HostQueue {
        HostQueue::with_orders(layout, queue)
    }
}

impl<O: Orders> HostQueue<O> {
    /// Attaches with other memory orderings, for the model checker.
    pub fn with_orders(layout: &Layout, queue: u16) -> HostQueue<O> {
        let config = layout.config();
        assert!(queue < config.queue_pairs, "queue pair {queue} of {}", config.queue_pairs);
        let ids = config.sq_entries as u16;
        HostQueue {
            layout: *layout,
            queue,
            sq_tail: 0,
            announced: 0,
            cq_head: 0,
            acknowledged: 0,
            free: (0..ids).rev().collect(),
            outstanding: vec![None; usize::from(ids)],
            orders: PhantomData,
        }
    }

    /// Returns the number of commands that can be submitted now.
    pub fn room(&self) -> u32 {
        self.free.len() as u32
    }

    /// Returns the number of commands submitted and not yet completed.
    pub fn outstanding(&self) -> u32 {
        self.layout.config().sq_entries - self.room()
    }

    /// Writes a command's entry at the tail of the submission queue, and returns its ID. A write's data must already be
    /// in the data buffer. A polling device sees the command at once; for others, call [`ring`](HostQueue::ring).
    ///
    /// `token` is chosen by the caller and returned with the completion.
    ///
    /// # Errors
    /// If the queue is full.
    ///
    /// # Panics
    /// If the command is inconsistent or has more extents than an entry can hold.
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
        // Writing its first word makes the entry valid.
        region.store(entry, command.head(id) | phase(self.sq_tail, config.sq_entries), O::SQ_PUBLISH);
        self.sq_tail = self.sq_tail.wrapping_add(1);
        Ok(id)
    }

    /// Writes the tail of the submission queue to the doorbell. Returns false, without an access, if the value is
    /// unchanged.
    pub fn ring<R: Region + ?Sized>(&mut self, region: &R) -> bool {
        let changed = self.announced != self.sq_tail;
        if changed {
            region.store(self.layout.doorbell(self.queue), u64::from(self.sq_tail), O::DOORBELL_RING);
            self.announced = self.sq_tail;
        }
        changed
    }

    /// Reads the status register and returns the number of announced completions that have not been taken. The first
    /// step after an interrupt.
    pub fn announced<R: Region + ?Sized>(&self, region: &R) -> u32 {
        (region.load(self.layout.status(self.queue), O::STATUS_CHECK) as u32).wrapping_sub(self.cq_head)
    }

    /// Takes the completion at the head of the completion queue, if there is one. A read's data is then in the data
    /// buffer. Polling means calling this repeatedly; it needs neither the interrupt nor the status register.
    ///
    /// # Errors
    /// If the entry is invalid. Then nothing is taken.
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

    /// Writes the head of the completion queue to its register, so that the device can reuse the entries. Returns
    /// false, without an access, if the value is unchanged. One call for all completions of an interrupt suffices.
    pub fn acknowledge<R: Region + ?Sized>(&mut self, region: &R) -> bool {
        let changed = self.acknowledged != self.cq_head;
        if changed {
            region.store(self.layout.cq_head(self.queue), u64::from(self.cq_head), Relaxed);
            self.acknowledged = self.cq_head;
        }
        changed
    }
}

/// Returns the phase of the entry with an index in a ring of `entries`: set in the first pass, clear in the second, and
/// so on.
pub(crate) fn phase(index: u32, entries: u32) -> u64 {
    if index & entries == 0 { PHASE } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::phase;
    use crate::layout::ENTRIES_MAX;

    #[test]
    fn the_phase_changes_with_every_pass() {
        for entries in (0..=ENTRIES_MAX.ilog2()).map(|log| 1 << log) {
            // Include indices around the wrap of the index itself.
            for index in [0, 1, entries - 1, 5 * entries, 0u32.wrapping_sub(entries), u32::MAX] {
                assert_ne!(phase(index, entries), phase(index.wrapping_add(entries), entries));
            }
            assert_ne!(phase(0, entries), 0, "an entry that was never written is not valid");
        }
    }
}
