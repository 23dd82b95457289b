//! The event queue: a 4-ary heap whose entries are single events and the heads of FIFO lanes.
//!
//! Most events of a storage system come after a delay that never changes (a page read, a command on the bus, a
//! firmware step) or leave a serial resource in order (a link). Such a source pushes in time order, so its events
//! wait in a ring, a *lane*, and only the lane's head takes part in the heap. The heap then holds tens of entries
//! whatever the number outstanding. A push that is out of its lane's order goes to the heap by itself, so a lane is
//! a hint and never a promise.

use std::collections::VecDeque;

use crate::Time;
use crate::timeline::Track;

/// A source of events that mostly pushes in time order, numbered within its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane(pub u8);

/// What a part needs of the world in virtual time: a place for its future events, and for what it was doing when.
///
/// A part is generic over this, so that it knows neither the other parts' events nor the queue.
pub trait Schedule<E> {
    /// Hands `event` back to the part at `when`. `lane` says which other events it tends to follow in time.
    fn at(&mut self, lane: Lane, when: Time, event: E);

    /// Notes that `track` (numbered within the part) was busy with `name` from `from` to `to`. Costs a branch when
    /// no timeline is kept.
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        let _ = (track, name, from, to);
    }
}

#[derive(Clone, Copy)]
struct Entry<E> {
    time: u64,
    /// Sequence number above, lane (0: none) in the low byte: ties in time go by order of pushing.
    order: u64,
    event: E,
}

impl<E> Entry<E> {
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.order)
    }
}

struct Ring<E> {
    waiting: VecDeque<Entry<E>>,
    /// Time of the last entry pushed; meaningful while the lane's head is in the heap.
    last: u64,
    in_heap: bool,
}

/// A queue of timed events, popped in order of time and, within one time, of pushing.
pub struct EventQueue<E> {
    heap: Vec<Entry<E>>,
    lanes: Vec<Ring<E>>,
    pushed: u64,
    now: Time,
}

const ARITY: usize = 4;

impl<E: Copy> EventQueue<E> {
    /// An empty queue at time zero with lanes 0 to `lanes - 1`.
    ///
    /// # Panics
    /// If there are more than 255 lanes.
    pub fn new(lanes: usize) -> EventQueue<E> {
        assert!(lanes <= 255, "{lanes} lanes, 255 at most");
        let ring = || Ring { waiting: VecDeque::with_capacity(64), last: 0, in_heap: false };
        EventQueue {
            heap: Vec::with_capacity(256),
            lanes: (0..lanes).map(|_| ring()).collect(),
            pushed: 0,
            now: Time::ZERO,
        }
    }

    /// The time of the last event popped.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.heap.len() + self.lanes.iter().map(|l| l.waiting.len()).sum::<usize>()
    }

    /// True when no event waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// When the next event comes.
    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        self.heap.first().map(|e| Time::from_ps(e.time))
    }

    /// Adds `event` at `when`, through `lane`.
    ///
    /// # Panics
    /// If `when` lies before [`now`](Self::now): the past cannot be changed.
    #[inline]
    pub fn push(&mut self, lane: Lane, when: Time, event: E) {
        assert!(when >= self.now, "an event at {when}, before now ({})", self.now);
        self.pushed += 1;
        let time = when.ps();
        let ring = &mut self.lanes[lane.0 as usize];
        let mut order = self.pushed << 8;
        if !ring.in_heap {
            ring.in_heap = true;
            ring.last = time;
            order |= u64::from(lane.0) + 1;
        } else if time >= ring.last {
            ring.last = time;
            ring.waiting.push_back(Entry { time, order: order | (u64::from(lane.0) + 1), event });
            return;
        }
        self.heap.push(Entry { time, order, event });
        self.sift_up(self.heap.len() - 1);
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        let top = *self.heap.first()?;
        let lane = (top.order & 0xff) as usize;
        let follower = if lane == 0 { None } else { self.lanes[lane - 1].waiting.pop_front() };
        match follower {
            Some(next) => {
                self.heap[0] = next;
                self.sift_down();
            }
            None => {
                if lane != 0 {
                    self.lanes[lane - 1].in_heap = false;
                }
                let last = self.heap.pop()?;
                if !self.heap.is_empty() {
                    self.heap[0] = last;
                    self.sift_down();
                }
            }
        }
        self.now = Time::from_ps(top.time);
        Some((self.now, top.event))
    }

    #[inline]
    fn sift_up(&mut self, mut at: usize) {
        let moved = self.heap[at];
        let key = moved.key();
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent].key() <= key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = moved;
    }

    #[inline]
    fn sift_down(&mut self) {
        let heap = &mut self.heap[..];
        let moved = heap[0];
        let key = moved.key();
        let mut at = 0;
        loop {
            let first = at * ARITY + 1;
            if first >= heap.len() {
                break;
            }
            let children = &heap[first..heap.len().min(first + ARITY)];
            let (mut least, mut least_key) = (0, children[0].key());
            for (i, child) in children.iter().enumerate().skip(1) {
                let k = child.key();
                if k < least_key {
                    (least, least_key) = (i, k);
                }
            }
            if key <= least_key {
                break;
            }
            heap[at] = heap[first + least];
            at = first + least;
        }
        heap[at] = moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the obvious: a list sorted by (time, order of pushing).
        #[test]
        fn pops_in_time_then_push_order(
            steps in prop::collection::vec((any::<bool>(), 0u8..4, 0u64..50), 1..400)
        ) {
            let mut queue = EventQueue::new(4);
            let mut oracle: Vec<(u64, usize)> = Vec::new();
            let mut now = 0;
            for (i, (pop, lane, delay)) in steps.into_iter().enumerate() {
                if pop {
                    oracle.sort_unstable();
                    let expected = (!oracle.is_empty()).then(|| oracle.remove(0));
                    let got = queue.pop().map(|(t, e)| (t.ps(), e));
                    prop_assert_eq!(got, expected);
                    now = expected.map_or(now, |(t, _)| t);
                } else {
                    queue.push(Lane(lane), Time::from_ps(now + delay), i);
                    oracle.push((now + delay, i));
                }
                prop_assert_eq!(queue.len(), oracle.len());
            }
        }
    }

    #[test]
    #[should_panic(expected = "before now")]
    fn the_past_is_refused() {
        let mut queue = EventQueue::new(1);
        queue.push(Lane(0), Time::from_ns(5), ());
        queue.pop();
        queue.push(Lane(0), Time::from_ns(4), ());
    }
}
