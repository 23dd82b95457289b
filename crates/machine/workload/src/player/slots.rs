//! Outstanding requests and the queue of ready jobs: two lists that do not allocate per request.

use media::Op;
use sim::{Dense, Time};

/// An outstanding request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Its job.
    pub job: u16,
    /// Its operation.
    pub op: Op,
    /// Whether it counts in statistics.
    pub measured: bool,
    /// Length in bytes.
    pub bytes: u64,
    /// Arrival time.
    pub due: Time,
    /// Issue time.
    pub issued: Time,
    /// Epoch of the replay's flushes to which it belongs.
    pub epoch: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    slot: Slot,
    /// The next free entry, or a marker for an entry in use.
    next: u32,
}

/// Marks an entry that holds an outstanding request.
const TAKEN: u32 = u32::MAX - 1;

/// End of the free list.
const NO_SLOT: u32 = u32::MAX;

/// The outstanding requests, numbered from 0. A number is reused once its request completes.
pub(super) struct Slots {
    entries: Dense<Entry>,
    free: u32,
    outstanding: u32,
    completed: u64,
}

impl Slots {
    pub fn new() -> Slots {
        Slots { entries: Dense::new(Vec::new()), free: NO_SLOT, outstanding: 0, completed: 0 }
    }

    /// Returns the number of outstanding requests.
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Returns the number of completed requests.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Assigns a number to a request.
    pub fn take(&mut self, slot: Slot) -> u32 {
        self.outstanding += 1;
        // NO_SLOT is beyond the last entry.
        if self.free as usize >= self.entries.len() {
            self.grow();
        }
        let id = self.free;
        // SAFETY: the list of free entries is not empty, because `grow` has added one if it was.
        let entry = unsafe { self.entries.get_unchecked_mut(id as usize) };
        self.free = entry.next;
        *entry = Entry { slot, next: TAKEN };
        id
    }

    /// Adds a free entry.
    fn grow(&mut self) {
        let id = self.entries.len() as u32;
        assert!(id < TAKEN, "fewer than 2^32 requests are outstanding");
        let (due, issued) = (Time::ZERO, Time::ZERO);
        let slot = Slot { job: 0, op: Op::Flush, measured: false, bytes: 0, due, issued, epoch: 0 };
        self.entries.push(Entry { slot, next: self.free });
        self.free = id;
    }

    /// Removes a completed request.
    ///
    /// # Panics
    /// If the request is not outstanding.
    pub fn release(&mut self, id: u32) -> Slot {
        let free = self.free;
        let entry = self.entry(id);
        let slot = entry.slot;
        entry.next = free;
        self.free = id;
        self.outstanding -= 1;
        self.completed += 1;
        slot
    }

    fn entry(&mut self, id: u32) -> &mut Entry {
        let entry = &mut self.entries[id as usize];
        if entry.next != TAKEN {
            not_outstanding(id);
        }
        entry
    }
}

fn not_outstanding(id: u32) -> ! {
    panic!("request {id} completed but is not outstanding")
}

/// End of the queue; there are fewer jobs.
const NO_JOB: u16 = u16::MAX;

/// Jobs that may have requests to issue, in order of arrival. Each job is in the queue at most once.
pub(super) struct Ready {
    // Both are below the number of jobs, but for `NO_JOB`, which is the first of an empty queue.
    first: u16,
    last: u16,
    // Successor of each job that is not the last.
    next: Dense<u16>,
}

impl Ready {
    /// Creates an empty queue for `jobs` jobs.
    pub fn new(jobs: usize) -> Ready {
        assert!(jobs <= NO_JOB as usize, "{jobs} jobs");
        Ready { first: NO_JOB, last: NO_JOB, next: Dense::new(vec![NO_JOB; jobs]) }
    }

    /// Returns the first job.
    pub fn first(&self) -> Option<u16> {
        (self.first != NO_JOB).then_some(self.first)
    }

    /// Adds a job at the end.
    pub fn push(&mut self, job: u16) {
        assert!((job as usize) < self.next.len(), "job {job} of {}", self.next.len());
        if self.first == NO_JOB {
            self.first = job;
        } else {
            // SAFETY: the queue is not empty, so that its last job was added here, which checks it.
            *unsafe { self.next.get_unchecked_mut(self.last as usize) } = job;
        }
        self.last = job;
    }

    /// Removes the first job.
    pub fn pop(&mut self) {
        self.first = if self.first == self.last { NO_JOB } else { self.next[self.first as usize] };
    }

    /// Moves the first job to the end.
    #[inline]
    pub fn rotate(&mut self) {
        if self.first != self.last {
            let job = self.first;
            self.first = self.next[job as usize];
            // SAFETY: the queue was not empty, as its first job shows, so that its last job was added by `push`.
            *unsafe { self.next.get_unchecked_mut(self.last as usize) } = job;
            self.last = job;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeSet, VecDeque};

    fn slot(epoch: usize) -> Slot {
        let (due, issued) = (Time::ZERO, Time::ZERO);
        Slot { job: 7, op: Op::Read, measured: true, bytes: 512, due, issued, epoch: epoch as u32 }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn ready_is_a_queue(steps in prop::collection::vec((0u8..3, 0u16..6), 0..200)) {
            let (mut ready, mut queue) = (Ready::new(6), VecDeque::new());
            for (what, job) in steps {
                match what {
                    0 if !queue.contains(&job) => {
                        ready.push(job);
                        queue.push_back(job);
                    }
                    1 if !queue.is_empty() => {
                        ready.pop();
                        queue.pop_front();
                    }
                    2 if !queue.is_empty() => {
                        ready.rotate();
                        queue.rotate_left(1);
                    }
                    _ => {}
                }
                prop_assert_eq!(ready.first(), queue.front().copied());
            }
        }

        #[test]
        fn numbers_are_dense_and_unique(steps in prop::collection::vec(any::<Option<u8>>(), 0..200)) {
            let (mut slots, mut out) = (Slots::new(), Vec::new());
            let mut most = 0;
            for step in steps {
                match step {
                    None => {
                        out.push(slots.take(slot(out.len())));
                        most = most.max(out.len());
                        prop_assert!(out.iter().all(|id| (*id as usize) < most));
                        prop_assert_eq!(out.iter().collect::<BTreeSet<_>>().len(), out.len());
                    }
                    Some(pick) if !out.is_empty() => {
                        let id = out.swap_remove(pick as usize % out.len());
                        prop_assert_eq!(slots.release(id).job, 7);
                    }
                    Some(_) => {}
                }
                prop_assert_eq!(slots.outstanding() as usize, out.len());
            }
        }
    }

    #[test]
    #[should_panic(expected = "request 0 completed but is not outstanding")]
    fn a_request_completes_once() {
        let mut slots = Slots::new();
        let id = slots.take(slot(0));
        slots.release(id);
        slots.release(id);
    }
}
