//! Future events of the server: ordered by time, then by the order in which they were scheduled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sim::Time;

/// An event of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A request that depends on no answer arrives.
    Arrival,
    /// The next turn of the session with this number of pending turns arrives.
    Turn(u32),
    /// The statistics begin.
    Begin,
    /// The load ends.
    End,
    /// Copies that a sequence waits for have crossed the host link: blocks from host memory, the block with this number
    /// from the drives, or the evicted blocks whose room it takes.
    Copied(u32, Copied),
    /// The GPUs have computed a step.
    Step,
}

/// Data that has crossed the host link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Copied {
    /// All blocks that were in host memory.
    FromHost,
    /// One block from the drives.
    FromDrive(u32),
    /// The evicted blocks.
    Evicted,
}

/// Future events.
#[derive(Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(Time, u64, Event)>>,
    scheduled: u64,
}

impl Agenda {
    pub(super) fn add(&mut self, at: Time, event: Event) {
        self.scheduled += 1;
        self.heap.push(Reverse((at, self.scheduled, event)));
    }

    pub(super) fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    pub(super) fn pop(&mut self) -> Option<(Time, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}
