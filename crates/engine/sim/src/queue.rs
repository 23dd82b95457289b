//! The event queue: FIFO lanes, their heads kept in order, and a heap for what fits no lane.
//!
//! Most events of a storage system come after a delay that never changes (a page read, a command on the bus, a
//! firmware step) or leave a serial resource in order (a link). Such a source pushes in time order, so its events
//! wait in a ring, a *lane*, and only the lane's head is compared with others. Of the lanes few are in use at a time,
//! so their heads are a short sorted array, and a new head is mostly among the last: that beats every tree, whatever
//! the number outstanding. A push that is out of its lane's order goes to a heap, whose head waits in a lane of its own:
//! a lane is a hint and never a promise.

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

    /// Somebody looks at what each part was doing when. If not, nothing need be said of it.
    const WATCHED: bool = true;

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

/// Bytes of a key.
const SIZE: usize = size_of::<Key>();

impl Key {
    /// Behind all.
    const NEVER: Key = Key { time: u64::MAX, order: u64::MAX };

    #[inline(always)]
    fn is_before(self, other: Key) -> bool {
        self.time < other.time || (self.time == other.time && self.order < other.order)
    }
}

/// Lanes, the last that of the heap.
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

impl<E: Copy> Ring<E> {
    #[inline(always)]
    fn waiting(&self) -> u8 {
        self.tail.wrapping_sub(self.head)
    }

    /// Puts an event behind the others. There is a place.
    #[inline(always)]
    fn put(&mut self, key: Key, event: E) {
        self.last = key.time;
        self.entries[self.tail as usize] = Entry { key, event };
        self.tail = self.tail.wrapping_add(1);
    }
}

/// A queue of timed events, popped in order of time and, within one time, of pushing.
///
/// The sizes are powers of two and fixed, so that no index needs a check.
pub struct EventQueue<E> {
    /// The first of the keys of each lane that holds anything.
    first: Key,
    /// The others in descending order, behind two that are behind all; and where the last of them is, in bytes: as many keys
    /// from the start as there are lanes that hold anything.
    heads: [Key; LANES],
    last: usize,
    lanes: Box<[Ring<E>; LANES]>,
    /// Entries out of their lane's order, or without a place there: a heap with the next first. The first of all of them is
    /// the only entry of the last lane.
    overflow: BinaryHeap<Overflowed<E>>,
    /// The sequence number of the next event to be pushed, above a byte of zeros.
    order: u64,
    /// Events that were passed over by [`skip_to`](Self::skip_to).
    skipped: u64,
    now: Time,
}

/// An entry of the heap: the greatest is the next.
struct Overflowed<E>(Entry<E>);

impl<E> PartialEq for Overflowed<E> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}
impl<E> Eq for Overflowed<E> {}
impl<E> PartialOrd for Overflowed<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Overflowed<E> {
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
    /// If there are more than 62 lanes.
    pub fn new(count: usize) -> EventQueue<E> {
        assert!(count < ASTRAY, "{count} lanes, fewer than {ASTRAY} are to be had");
        EventQueue {
            first: Key::NEVER,
            heads: [Key::NEVER; LANES],
            last: 0,
            lanes: lanes(),
            overflow: BinaryHeap::new(),
            order: 0,
            skipped: 0,
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
        let lanes = self.lanes.iter().map(|lane| lane.waiting() as usize).sum::<usize>();
        lanes + self.overflow.len()
    }

    /// True when no event waits.
    pub fn is_empty(&self) -> bool {
        self.first == Key::NEVER
    }

    /// How many events have come, those that were [skipped](Self::skip_to) among them.
    pub fn come(&self) -> u64 {
        (self.order >> 8) - self.len() as u64 + self.skipped
    }

    /// When the next event comes.
    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        (!self.is_empty()).then_some(self.next_at())
    }

    /// When the next event comes; [`Time::MAX`] if none waits.
    #[inline(always)]
    pub fn next_at(&self) -> Time {
        Time::from_ps(self.first.time)
    }

    /// Adds `event` at `when`, through `lane`.
    ///
    /// # Panics
    /// If `when` lies before [`now`](Self::now): the past cannot be changed.
    #[inline(always)]
    pub fn push(&mut self, lane: Lane, when: Time, event: E) {
        debug_assert!((lane.0 as usize) < ASTRAY);
        let (number, time) = (lane.0 as usize % LANES, when.ps());
        let key = Key { time, order: self.order + number as u64 };
        self.order += 1 << 8;
        let lane = &mut self.lanes[number];
        if time < lane.last {
            return self.push_astray(key, event);
        }
        // Mostly others wait, and there is a place: the lane is neither empty nor full.
        if lane.waiting().wrapping_add(1) <= 1 {
            return self.push_to_end(key, event);
        }
        lane.put(key, event);
    }

    /// Adds an event to a lane that is empty or full.
    #[inline(never)]
    fn push_to_end(&mut self, key: Key, event: E) {
        let lane = &mut self.lanes[key.order as usize % LANES];
        if lane.waiting() == u8::MAX {
            return self.push_astray(key, event);
        }
        lane.put(key, event);
        if key.time < self.first.time {
            self.put_first(key);
        } else {
            self.add_head(key);
        }
    }

    /// The key of what is pushed comes before all.
    #[inline(always)]
    fn put_first(&mut self, key: Key) {
        if key.time < self.now.ps() {
            self.refuse(Time::from_ps(key.time));
        }
        // Where the queue was empty, what stood for that is now the second.
        let second = std::mem::replace(&mut self.first, key);
        self.last += SIZE;
        // SAFETY: a place of `heads`.
        unsafe { *self.last_head() = second };
    }

    /// The last of the keys behind the first: the second of all. It may be read and written, and so may those before it.
    #[inline(always)]
    fn last_head(&mut self) -> *mut Key {
        debug_assert!(self.last < LANES * SIZE && self.last.is_multiple_of(SIZE), "{} bytes of heads", self.last);
        // SAFETY: lanes are fewer than places, by one.
        unsafe { (&raw mut self.heads).cast::<Key>().byte_add(self.last) }
    }

    /// If an event at `when` would be the next: moves on to that time, as if it had been pushed and popped.
    ///
    /// # Panics
    /// In debug builds, as [`push`](Self::push).
    #[inline(always)]
    pub fn skip_to(&mut self, when: Time) -> bool {
        debug_assert!(when >= self.now, "an event at {when}, before now ({})", self.now);
        let next = when.ps() < self.first.time;
        if next {
            self.now = when;
            self.skipped += 1;
        }
        next
    }

    /// A lane that was empty has an entry, which does not come before all.
    #[inline(always)]
    fn add_head(&mut self, key: Key) {
        self.last += SIZE;
        // SAFETY: a place of `heads` and not the first, as a lane held something before.
        unsafe { insert(self.last_head(), key) };
    }

    /// The first key is gone; after it there is `key` in its lane.
    #[inline(always)]
    fn replace_first(&mut self, key: Key) {
        let last = self.last_head();
        // SAFETY: a place of `heads`, and not the first, as a lane holds something.
        unsafe {
            let second = *last;
            if key.is_before(second) {
                self.first = key;
            } else {
                self.first = second;
                insert(last, key);
            }
        }
    }

    /// The first key is gone, and nothing is after it in its lane.
    #[inline(always)]
    fn drop_first(&mut self) {
        // SAFETY: a place of `heads`.
        self.first = unsafe { *self.last_head() };
        self.last -= SIZE;
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
        let Key { time, order } = self.first;
        // What stands for an empty queue comes never.
        if time > until.ps().min(u64::MAX - 1) {
            return None;
        }
        let now = Time::from_ps(time);
        self.now = now;
        let number = order as usize % LANES;
        let lane = &mut self.lanes[number];
        let event = lane.entries[lane.head as usize].event;
        let head = lane.head.wrapping_add(1);
        lane.head = head;
        if head != lane.tail {
            let key = lane.entries[head as usize].key;
            self.replace_first(key);
        } else if number != ASTRAY {
            self.drop_first();
        } else {
            self.follow_astray();
        }
        Some((now, event))
    }

    /// An entry is out of its lane's order, or its lane is full.
    #[cold]
    #[inline(never)]
    fn push_astray(&mut self, key: Key, event: E) {
        if key.time < self.now.ps() {
            self.refuse(Time::from_ps(key.time));
        }
        let key = Key { order: key.order & !0xff | ASTRAY as u64, ..key };
        let entry = Entry { key, event };
        let lane = &mut self.lanes[ASTRAY];
        let first = &mut lane.entries[lane.head as usize];
        if lane.head == lane.tail {
            *first = entry;
            lane.tail = lane.head.wrapping_add(1);
            self.put_head(key);
        } else if first.key.is_before(key) {
            self.overflow.push(Overflowed(entry));
        } else {
            // It takes the place of the first.
            let before = std::mem::replace(first, entry);
            self.overflow.push(Overflowed(before));
            if before.key == self.first {
                self.drop_first();
            } else {
                let heads = &mut self.heads[..=self.last / SIZE];
                let at = heads.iter().position(|key| *key == before.key).expect("the head of what overflowed");
                heads.copy_within(at + 1.., at);
                self.last -= SIZE;
            }
            self.put_head(key);
        }
    }

    /// The first of what overflowed has this key.
    fn put_head(&mut self, key: Key) {
        if key.is_before(self.first) {
            self.put_first(key);
        } else {
            self.add_head(key);
        }
    }

    /// The first of what overflowed was the next, and is gone.
    #[cold]
    #[inline(never)]
    fn follow_astray(&mut self) {
        match self.overflow.pop() {
            Some(Overflowed(entry)) => {
                let lane = &mut self.lanes[ASTRAY];
                lane.entries[lane.head as usize] = entry;
                lane.tail = lane.head.wrapping_add(1);
                self.replace_first(entry.key);
            }
            None => self.drop_first(),
        }
    }
}

/// Puts `key` into the descending order of heads, of which the place `last` is free, behind the first, which stays where it is.
///
/// # Safety
/// `last` is a place of [`heads`](EventQueue::heads), and not the first.
#[inline(always)]
unsafe fn insert(last: *mut Key, key: Key) {
    let mut place = last;
    // SAFETY: the first of the heads is behind all, so that the loop ends before it goes in front of the second.
    unsafe {
        loop {
            let before = *place.sub(1);
            if key.is_before(before) {
                break;
            }
            *place = before;
            place = place.sub(1);
        }
        *place = key;
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
            steps in prop::collection::vec((0u8..8, 0u8..4, 0u64..50), 1..1500)
        ) {
            let mut queue = EventQueue::new(4);
            let mut oracle: Vec<(u64, usize)> = Vec::new();
            let (mut now, mut come) = (0, 0);
            for (i, (what, lane, delay)) in steps.into_iter().enumerate() {
                // More pushes than pops, so that lanes overflow.
                if what == 7 && lane == 0 {
                    // As if an event were pushed and popped, if it would be the next.
                    let first = oracle.iter().map(|(t, _)| *t).min();
                    let skips = queue.skip_to(Time::from_ps(now + delay));
                    prop_assert_eq!(skips, first.is_none_or(|first| now + delay < first));
                    now += if skips { delay } else { 0 };
                    come += u64::from(skips);
                } else if what < 2 {
                    oracle.sort_unstable();
                    let expected = (!oracle.is_empty()).then(|| oracle.remove(0));
                    let got = queue.pop().map(|(t, e)| (t.ps(), e));
                    prop_assert_eq!(got, expected);
                    now = expected.map_or(now, |(t, _)| t);
                    come += u64::from(expected.is_some());
                } else {
                    queue.push(Lane(lane), Time::from_ps(now + delay), i);
                    oracle.push((now + delay, i));
                }
                prop_assert_eq!(queue.len(), oracle.len());
                prop_assert_eq!(queue.come(), come);
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
