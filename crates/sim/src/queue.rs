//! The event queue: FIFO lanes, their heads kept in order, and a heap for what fits no lane.
//!
//! Most events of a storage system come after a delay that never changes (a page read, a command on the bus, a
//! firmware step) or leave a serial resource in order (a link). Such a source pushes in time order, so its events
//! wait in a ring, a *lane*, and only the lane's head is compared with others. Of the lanes few are in use at a time,
//! so their heads are a short sorted array, and a new head is mostly among the last: that beats every tree, whatever
//! the number outstanding. A push that is out of its lane's order goes to a heap, whose head takes part as if it were
//! a lane's: a lane is a hint and never a promise. And what comes before all else that waits is kept in a place of its
//! own: many an event follows its cause so soon that nothing comes between.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

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

    /// If an event at `when` would be the next of all, whosoever: moves on to that time, as if the event had been pushed
    /// and were now handed back. False where that is not so, or the world does not look ahead; then it is to be pushed.
    fn skip_to(&mut self, when: Time) -> bool {
        let _ = when;
        false
    }

    /// Notes that `track` (numbered within the part) was busy with `name` from `from` to `to`. Costs a branch when
    /// no timeline is kept.
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        let _ = (track, name, from, to);
    }
}

/// When an event comes; and its sequence number, by which ties in time go, above the lane that it waits in (the low
/// byte).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    time: u64,
    order: u64,
}

impl Key {
    /// Behind all.
    const NEVER: Key = Key { time: u64::MAX, order: u64::MAX };

    #[inline(always)]
    fn is_before(self, other: Key) -> bool {
        self.time < other.time || (self.time == other.time && self.order < other.order)
    }
}

/// Lanes at most. The last is that of the heap and of what stands for an empty queue.
const LANES: usize = 64;
const ASTRAY: usize = LANES - 1;
/// Places of a lane, one of which stays free: so many that a byte counts them.
const PLACES: usize = 256;

#[derive(Clone, Copy, Default)]
struct Entry<E> {
    key: Key,
    event: E,
}

/// The entries of a lane in a ring.
#[derive(Clone, Copy)]
struct Ring<E> {
    entries: [Entry<E>; PLACES],
    /// Time of the last entry put: in the past, if the lane is empty.
    last: u64,
    /// Where they begin and end.
    head: u8,
    tail: u8,
}

/// So many that a byte counts them.
type Heads = [Key; 256];

/// A queue of timed events, popped in order of time and, within one time, of pushing.
///
/// The sizes are powers of two and fixed, so that no index needs a check.
pub struct EventQueue<E> {
    /// What comes before all else, if it was so when it was pushed; else its key is behind all.
    soon: Entry<E>,
    /// The first of the keys of each lane that holds anything, and of the heap.
    first: Key,
    /// The others in descending order, before them one that is behind all; and how many they are.
    heads: Heads,
    others: u8,
    lanes: Box<[Ring<E>; LANES]>,
    /// Entries out of their lane's order, or without a place there: a heap with the next first.
    astray: BinaryHeap<Astray<E>>,
    /// The sequence number of the next event to be pushed, above a byte of zeros.
    order: u64,
    now: Time,
}

/// An entry of the heap: the greatest is the next.
struct Astray<E>(Entry<E>);

impl<E> PartialEq for Astray<E> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}
impl<E> Eq for Astray<E> {}
impl<E> PartialOrd for Astray<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Astray<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.key.cmp(&self.0.key)
    }
}

/// Empty lanes, made where they stay: they are large.
fn lanes<E: Copy + Default>() -> Box<[Ring<E>; LANES]> {
    let ring = Ring { entries: [Entry::default(); PLACES], last: 0, head: 0, tail: 0 };
    let Ok(lanes) = vec![ring; LANES].into_boxed_slice().try_into() else { unreachable!("{LANES} lanes") };
    lanes
}

impl<E: Copy + Default> EventQueue<E> {
    /// An empty queue at time zero with lanes 0 to `lanes - 1`.
    ///
    /// # Panics
    /// If there are more than 63 lanes.
    pub fn new(count: usize) -> EventQueue<E> {
        assert!(count <= ASTRAY, "{count} lanes, {ASTRAY} at most");
        EventQueue {
            soon: Entry { key: Key::NEVER, event: E::default() },
            first: Key::NEVER,
            heads: [Key::NEVER; 256],
            others: 0,
            lanes: lanes(),
            astray: BinaryHeap::new(),
            order: 0,
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
        let lanes = self.lanes.iter().map(|lane| lane.tail.wrapping_sub(lane.head) as usize).sum::<usize>();
        lanes + self.astray.len() + usize::from(self.soon.key != Key::NEVER)
    }

    /// True when no event waits.
    pub fn is_empty(&self) -> bool {
        self.next_time().is_none()
    }

    /// When the next event comes.
    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        let next = if self.soon.key != Key::NEVER { self.soon.key } else { self.first };
        (next != Key::NEVER).then_some(Time::from_ps(next.time))
    }

    /// Adds `event` at `when`, through `lane`.
    ///
    /// # Panics
    /// If `when` lies before [`now`](Self::now): the past cannot be changed.
    #[inline(always)]
    pub fn push(&mut self, lane: Lane, when: Time, event: E) {
        debug_assert!((lane.0 as usize) < ASTRAY);
        let (number, time) = (lane.0 as usize % LANES, when.ps());
        let key = Key { time, order: self.order | number as u64 };
        self.order += 1 << 8;
        if time < self.first.time && time < self.soon.key.time {
            return self.push_soon(key, event);
        }
        let lane = &mut self.lanes[number];
        let (tail, after) = (lane.tail, lane.tail.wrapping_add(1));
        if time < lane.last || after == lane.head {
            return self.push_astray(Entry { key, event });
        }
        lane.entries[tail as usize] = Entry { key, event };
        (lane.tail, lane.last) = (after, time);
        if tail == lane.head {
            self.add_head(key);
        }
    }

    /// The event comes before all others: perhaps too early.
    #[inline(always)]
    fn push_soon(&mut self, key: Key, event: E) {
        if key.time < self.now.ps() {
            self.refuse(Time::from_ps(key.time));
        }
        if self.soon.key.order != u64::MAX {
            self.push_astray(self.soon);
        }
        self.soon = Entry { key, event };
    }

    /// If an event at `when` would be the next: moves on to that time, as if it had been pushed and popped.
    ///
    /// # Panics
    /// In debug builds, as [`push`](Self::push).
    #[inline(always)]
    pub fn skip_to(&mut self, when: Time) -> bool {
        debug_assert!(when >= self.now, "an event at {when}, before now ({})", self.now);
        let next = when.ps() < self.first.time && when.ps() < self.soon.key.time;
        if next {
            self.now = when;
        }
        next
    }

    /// A lane that was empty has an entry, or the heap another head.
    #[inline(never)]
    fn add_head(&mut self, key: Key) {
        if key.is_before(self.first) {
            let second = std::mem::replace(&mut self.first, key);
            if second != Key::NEVER {
                self.others += 1;
                self.heads[self.others as usize] = second;
            }
        } else {
            self.others += 1;
            insert(&mut self.heads, self.others, key);
        }
    }

    /// The first key is gone; after it there is `key` in its lane or the heap.
    #[inline(always)]
    fn replace_first(&mut self, key: Key) {
        let second = self.heads[self.others as usize];
        if key.is_before(second) {
            self.first = key;
        } else {
            self.first = second;
            insert(&mut self.heads, self.others, key);
        }
    }

    /// The first key is gone, and nothing is after it in its lane or the heap.
    #[inline(always)]
    fn drop_first(&mut self) {
        self.first = self.heads[self.others as usize];
        self.others -= u8::from(self.others > 0);
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self, when: Time) -> ! {
        panic!("an event at {when}, before now ({})", self.now)
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.pop_until(Time::MAX)
    }

    /// Takes the next event, if it comes at `until` or before.
    #[inline(always)]
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, E)> {
        if self.soon.key.order == u64::MAX {
            let Key { time, order } = self.first;
            let now = Time::from_ps(time);
            if now > until {
                return None;
            }
            let number = order as usize % LANES;
            if number != ASTRAY {
                self.now = now;
                let lane = &mut self.lanes[number];
                let event = lane.entries[lane.head as usize].event;
                let head = lane.head.wrapping_add(1);
                lane.head = head;
                if head == lane.tail {
                    self.drop_first();
                } else {
                    let key = lane.entries[head as usize].key;
                    self.replace_first(key);
                }
                return Some((now, event));
            }
            if !self.find_astray() {
                return None;
            }
        }
        let Entry { key, event } = self.soon;
        let now = Time::from_ps(key.time);
        if now > until {
            return None;
        }
        self.soon.key = Key::NEVER;
        self.now = now;
        Some((now, event))
    }

    #[cold]
    #[inline(never)]
    fn push_astray(&mut self, entry: Entry<E>) {
        let key = Key { order: entry.key.order & !0xff | ASTRAY as u64, ..entry.key };
        let before = self.astray.peek().map(|e| e.0.key);
        if before.is_none_or(|before| key < before) {
            // The heap has a new head: it takes the place of the old.
            match before {
                Some(before) if before == self.first => self.drop_first(),
                Some(before) => {
                    let heads = &mut self.heads[..=self.others as usize];
                    let at = heads.iter().position(|key| *key == before).expect("the heap's head");
                    heads.copy_within(at + 1.., at);
                    self.others -= 1;
                }
                None => {}
            }
            self.add_head(key);
        }
        self.astray.push(Astray(Entry { key, ..entry }));
    }

    /// The heap's head comes before all else. False if there is none: what was found stands for an empty queue.
    #[cold]
    #[inline(never)]
    fn find_astray(&mut self) -> bool {
        let Some(Astray(entry)) = self.astray.pop() else { return false };
        self.soon = entry;
        match self.astray.peek().map(|next| next.0.key) {
            Some(next) => self.replace_first(next),
            None => self.drop_first(),
        }
        true
    }
}

/// Puts `key` into the descending order of `heads`, whose last place, `at`, is free. The first stays where it is.
#[inline(always)]
fn insert(heads: &mut Heads, mut at: u8, key: Key) {
    loop {
        let before = heads[at.wrapping_sub(1) as usize];
        if key.is_before(before) {
            break;
        }
        heads[at as usize] = before;
        at -= 1;
    }
    heads[at as usize] = key;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the obvious: a list sorted by (time, order of pushing).
        #[test]
        fn pops_in_time_then_push_order(
            steps in prop::collection::vec((0u8..8, 0u8..4, 0u64..50), 1..1500)
        ) {
            let mut queue = EventQueue::new(4);
            let mut oracle: Vec<(u64, usize)> = Vec::new();
            let mut now = 0;
            for (i, (what, lane, delay)) in steps.into_iter().enumerate() {
                // More pushes than pops, so that lanes overflow.
                if what == 7 && lane == 0 {
                    // As if an event were pushed and popped, if it would be the next.
                    let first = oracle.iter().map(|(t, _)| *t).min();
                    let skips = queue.skip_to(Time::from_ps(now + delay));
                    prop_assert_eq!(skips, first.is_none_or(|first| now + delay < first));
                    now += if skips { delay } else { 0 };
                } else if what < 2 {
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
