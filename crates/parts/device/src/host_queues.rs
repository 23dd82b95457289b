//! Queues as a host creates and deletes them: each of its own size, several submission queues to a completion queue,
//! doorbells with any value. A simulated driver creates all of its queues at once and rings in order, so it needs none
//! of this.

use media::{Status, Tag};
use sim::{Schedule, Time};

use super::{Nvme, Pair};
use crate::engine::index;
use crate::{Coalescing, Completion, Config, Ended, Event, Fetch};

/// Reason why a doorbell value is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidDoorbell;

impl Nvme {
    /// Creates a controller with room for `pairs` queue pairs, whose entries the host decides. Queues that do not exist
    /// hold nothing. A command without a list or data, such as Write Zeroes, can end right after its decoding.
    pub fn for_host(config: &Config, pairs: u16, round_trip: Time) -> Nvme {
        let mut nvme = Nvme::new(config, pairs, 2, true, round_trip);
        let firmware = config.firmware;
        nvme.horizon = round_trip + firmware.flush.min(firmware.trim).min(firmware.write);
        nvme
    }

    /// Creates a submission queue of `entries`.
    pub fn create_submission_queue(&mut self, queue: u16, entries: u16) {
        assert!(entries >= 2, "a queue of {entries} entries, expected 2 and more");
        self.arbiter.remove(queue, self.arbiter.pending(queue));
        let pair = &mut self.pairs[queue as usize];
        (pair.sq_head, pair.sq_tail, pair.sq_depth) = (0, 0, entries);
    }

    /// Creates a completion queue of `entries`.
    pub fn create_completion_queue(&mut self, queue: u16, entries: u16) {
        assert!(entries >= 2, "a queue of {entries} entries, expected 2 and more");
        let pair = &mut self.pairs[queue as usize];
        let empty = Pair::new(entries);
        (pair.cq_head, pair.cq_tail, pair.cq_depth, pair.phase) = (0, 0, entries, empty.phase);
        pair.untold = 0;
        pair.epoch = pair.epoch.wrapping_add(1);
    }

    /// Drops the entries of a submission queue that have not been fetched.
    pub fn delete_submission_queue(&mut self, queue: u16) {
        self.arbiter.remove(queue, self.arbiter.pending(queue));
        let pair = &mut self.pairs[queue as usize];
        pair.sq_tail = pair.sq_head;
    }

    /// Returns the number of new entries that a tail doorbell value announces.
    ///
    /// # Errors
    /// Fails if the value is outside the queue or would make it hold more entries than fit.
    pub fn check_doorbell(&self, queue: u16, tail: u16) -> Result<u16, InvalidDoorbell> {
        let pair = &self.pairs[queue as usize];
        if tail >= pair.sq_depth {
            return Err(InvalidDoorbell);
        }
        let new = if tail >= pair.sq_tail { tail - pair.sq_tail } else { tail + (pair.sq_depth - pair.sq_tail) };
        let fits = self.arbiter.pending(queue) + u32::from(new) < u32::from(pair.sq_depth);
        if fits { Ok(new) } else { Err(InvalidDoorbell) }
    }

    /// Handles a write of a completion queue's head doorbell with any value.
    ///
    /// # Errors
    /// Fails if the value is not the position of an entry that the host may have consumed.
    pub fn check_seen(&mut self, queue: u16, head: u16) -> Result<(), InvalidDoorbell> {
        let pair = &self.pairs[queue as usize];
        let distance =
            |to: u16| if to >= pair.cq_head { to - pair.cq_head } else { to + (pair.cq_depth - pair.cq_head) };
        if head >= pair.cq_depth || distance(head) > distance(pair.cq_tail) {
            return Err(InvalidDoorbell);
        }
        self.seen(queue, head);
        Ok(())
    }

    /// Returns true if the completion queue has a free entry.
    pub fn has_room(&self, queue: u16) -> bool {
        let pair = &self.pairs[queue as usize];
        let next = if pair.cq_tail + 1 == pair.cq_depth { 0 } else { pair.cq_tail + 1 };
        next != pair.cq_head
    }

    /// Returns the identifier with which a command was admitted.
    pub fn identifier(&self, tag: u16) -> u16 {
        self.engine.command(tag).cid
    }

    /// Returns the number of entries of a submission queue.
    pub fn submission_entries(&self, queue: u16) -> u16 {
        self.pairs[queue as usize].sq_depth
    }

    /// Frees the tag of a command whose completion is posted at `at`, like [`release`](Self::release). `coalesces` says
    /// that the interrupts of completion queue `to` are coalesced.
    pub fn release_in(&mut self, at: Time, tag: u16, to: u16, coalesces: bool, s: &mut impl Schedule<Event>) -> Ended {
        self.release_to(at, tag, |_| coalesces.then_some(to), s)
    }

    /// Returns the entry, in completion queue `to`, of a command of submission queue `from`, and its index.
    pub fn post_in(&mut self, from: u16, to: u16, cid: u16) -> (u16, Completion) {
        self.post_to(from, to, cid, Status::Ok)
    }

    /// Takes back a command that ended without a completion, such as an asynchronous event request, which waits outside
    /// the controller's command slots.
    pub fn withdraw(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        let tag = index(tag);
        self.engine.complete(now, tag, Status::Ok, s);
        let command = self.engine.release(tag);
        command.next = self.free;
        let was_read = command.request.op == media::Op::Read;
        self.free = tag;
        self.room += 1;
        self.others -= u32::from(!was_read);
    }

    /// Returns the next two entries of `queue` to fetch, out of its turn, if they wait and there is room for both.
    pub fn fetch_two(&mut self, queue: u16) -> Option<Fetch> {
        let fits = self.room >= 2 && self.arbiter.pending(queue) >= 2;
        fits.then(|| {
            self.arbiter.remove(queue, 2);
            self.pairs[queue as usize].take_entries(queue, 2)
        })
    }

    /// Returns the last entry of `fetch`, which was not admitted yet, to its queue.
    pub fn return_last(&mut self, fetch: &mut Fetch) {
        let pair = &mut self.pairs[fetch.queue as usize];
        pair.sq_head = if pair.sq_head == 0 { pair.sq_depth - 1 } else { pair.sq_head - 1 };
        fetch.count -= 1;
        self.arbiter.add(fetch.queue, 1);
    }

    /// Passes `bytes` of data that do not cross the link through the controller's memory: on their way from flash (a read)
    /// or to it. Returns the time at which they have passed.
    pub fn pass_memory(&mut self, now: Time, op: media::Op, bytes: u64, s: &mut impl Schedule<Event>) -> Time {
        self.engine.pass(now, None, op, bytes, s)
    }

    /// Sets the coalescing of interrupts (Feature 08h); `None` is off.
    pub fn set_coalescing(&mut self, coalescing: Option<Coalescing>) {
        self.coalescing = coalescing;
    }

    /// Sets the Arbitration Burst (Feature 01h); `None` is no limit.
    pub fn set_arbitration_burst(&mut self, burst: Option<u32>) {
        self.arbiter.set_burst(burst);
    }
}
