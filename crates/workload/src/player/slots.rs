//! Outstanding requests and jobs that wait for their turn: two small lists without allocation a request.

use media::Op;

/// What is known of an outstanding request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Whose it is.
    pub job: u16,
    /// What is done.
    pub op: Op,
    outstanding: bool,
    /// Which of a replay's flushes waits for it; the next free slot, where it is not outstanding.
    pub epoch: u32,
}

/// No slot.
const NO_SLOT: u32 = u32::MAX;

/// The outstanding requests, numbered from 0; a number is used again once its request is complete.
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: u32,
    issued: u64,
    completed: u64,
}

impl Slots {
    pub fn new() -> Slots {
        Slots { slots: Vec::new(), free: NO_SLOT, issued: 0, completed: 0 }
    }

    /// Requests outstanding.
    pub fn outstanding(&self) -> u32 {
        (self.issued - self.completed) as u32
    }

    /// Requests completed.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// A number for a request.
    #[inline(always)]
    pub fn take(&mut self, job: u16, op: Op, epoch: u32) -> u32 {
        self.issued += 1;
        let id = self.free;
        if id == NO_SLOT {
            return self.grow(job, op, epoch);
        }
        let slot = &mut self.slots[id as usize];
        self.free = slot.epoch;
        *slot = Slot { job, op, outstanding: true, epoch };
        id
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, job: u16, op: Op, epoch: u32) -> u32 {
        let id = self.slots.len() as u32;
        assert!(id < NO_SLOT, "fewer than 2^32 requests are outstanding");
        self.slots.push(Slot { job, op, outstanding: true, epoch });
        id
    }

    /// The request is complete.
    ///
    /// # Panics
    /// If it was not outstanding.
    #[inline(always)]
    pub fn release(&mut self, id: u32) -> Slot {
        let slot = &mut self.slots[id as usize];
        assert!(slot.outstanding, "request {id} is completed and not outstanding");
        let released = *slot;
        slot.outstanding = false;
        slot.epoch = self.free;
        self.free = id;
        self.completed += 1;
        released
    }
}

/// No job: there are fewer.
const NO_JOB: u16 = u16::MAX;

/// Jobs that may have something to issue, first come first served. A job is in it at most once.
pub(super) struct Ready {
    first: u16,
    last: u16,
    // Who comes behind a job that is not the last.
    behind: Vec<u16>,
}

impl Ready {
    /// An empty queue for `jobs` jobs.
    pub fn new(jobs: usize) -> Ready {
        assert!(jobs <= NO_JOB as usize, "{jobs} jobs");
        Ready { first: NO_JOB, last: NO_JOB, behind: vec![NO_JOB; jobs] }
    }

    /// The job whose turn it is.
    #[inline(always)]
    pub fn first(&self) -> Option<u16> {
        (self.first != NO_JOB).then_some(self.first)
    }

    /// Adds a job at the end.
    #[inline(always)]
    pub fn push(&mut self, job: u16) {
        if self.first == NO_JOB {
            self.first = job;
        } else {
            self.behind[self.last as usize] = job;
        }
        self.last = job;
    }

    /// Takes the first job out.
    #[inline(always)]
    pub fn pop(&mut self) {
        self.first = if self.first == self.last { NO_JOB } else { self.behind[self.first as usize] };
    }

    /// Gives the next job its turn; the first comes last.
    #[inline(always)]
    pub fn rotate(&mut self) {
        if self.first != self.last {
            let job = self.first;
            self.pop();
            self.push(job);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeSet, VecDeque};

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
                        out.push(slots.take(7, Op::Read, out.len() as u32));
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
    #[should_panic(expected = "request 0 is completed and not outstanding")]
    fn a_request_completes_once() {
        let mut slots = Slots::new();
        let id = slots.take(0, Op::Write, 0);
        slots.release(id);
        slots.release(id);
    }
}
