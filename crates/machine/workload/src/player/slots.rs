//! Outstanding requests and jobs that wait for their turn: two small lists without allocation a request.

use media::Op;
use sim::{Dense, Time};

/// What is known of an outstanding request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Whose it is.
    pub job: u16,
    /// What is done.
    pub op: Op,
    /// It counts in statistics.
    pub measured: bool,
    /// Bytes asked for.
    pub bytes: u64,
    /// When it arrived, and when it was issued.
    pub due: Time,
    pub issued: Time,
    /// Which of a replay's flushes waits for it.
    pub epoch: u32,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    slot: Slot,
    /// The next free place, or that none is.
    next: u32,
}

/// The place holds an outstanding request.
const TAKEN: u32 = u32::MAX - 1;

/// No slot.
const NO_SLOT: u32 = u32::MAX;

/// The outstanding requests, numbered from 0; a number is used again once its request is complete.
pub(super) struct Slots {
    places: Dense<Place>,
    free: u32,
    outstanding: u32,
    completed: u64,
}

impl Slots {
    pub fn new() -> Slots {
        // SAFETY: numbers are those that were handed out, and come back with the completion.
        Slots { places: unsafe { Dense::new(Vec::new()) }, free: NO_SLOT, outstanding: 0, completed: 0 }
    }

    /// Requests outstanding.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Requests completed.
    #[inline]
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// A number for a request.
    #[inline(always)]
    pub fn take(&mut self, slot: Slot) -> u32 {
        self.outstanding += 1;
        // No slot is beyond the last.
        if self.free as usize >= self.places.len() {
            self.grow();
        }
        let id = self.free;
        let place = &mut self.places[id as usize];
        self.free = place.next;
        *place = Place { slot, next: TAKEN };
        id
    }

    /// Adds a free place.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let id = self.places.len() as u32;
        assert!(id < TAKEN, "fewer than 2^32 requests are outstanding");
        let (due, issued) = (Time::ZERO, Time::ZERO);
        let slot = Slot { job: 0, op: Op::Flush, measured: false, bytes: 0, due, issued, epoch: 0 };
        self.places.push(Place { slot, next: self.free });
        self.free = id;
    }

    /// The request is complete.
    ///
    /// # Panics
    /// If it was not outstanding.
    #[inline(always)]
    pub fn release(&mut self, id: u32) -> Slot {
        let free = self.free;
        let place = self.place(id);
        let slot = place.slot;
        place.next = free;
        self.free = id;
        self.outstanding -= 1;
        self.completed += 1;
        slot
    }

    /// What is outstanding as `id`.
    ///
    /// # Panics
    /// If nothing is.
    #[inline(always)]
    pub fn get_mut(&mut self, id: u32) -> &mut Slot {
        &mut self.place(id).slot
    }

    /// A request is complete, and another has taken its place.
    #[inline(always)]
    pub fn count_replaced(&mut self) {
        self.completed += 1;
    }

    #[inline(always)]
    fn place(&mut self, id: u32) -> &mut Place {
        let place = &mut self.places[id as usize];
        if place.next != TAKEN {
            not_outstanding(id);
        }
        place
    }
}

/// (By value: nothing need be in memory for its sake.)
#[cold]
#[inline(never)]
fn not_outstanding(id: u32) -> ! {
    panic!("request {id} is completed and not outstanding")
}

/// No job: there are fewer.
const NO_JOB: u16 = u16::MAX;

/// Jobs that may have something to issue, first come first served. A job is in it at most once.
pub(super) struct Ready {
    first: u16,
    last: u16,
    // Who comes behind a job that is not the last.
    behind: Dense<u16>,
}

impl Ready {
    /// An empty queue for `jobs` jobs.
    pub fn new(jobs: usize) -> Ready {
        assert!(jobs <= NO_JOB as usize, "{jobs} jobs");
        // SAFETY: only jobs are pushed, of so many.
        Ready { first: NO_JOB, last: NO_JOB, behind: unsafe { Dense::new(vec![NO_JOB; jobs]) } }
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
    #[should_panic(expected = "request 0 is completed and not outstanding")]
    fn a_request_completes_once() {
        let mut slots = Slots::new();
        let id = slots.take(slot(0));
        slots.release(id);
        slots.release(id);
    }
}
