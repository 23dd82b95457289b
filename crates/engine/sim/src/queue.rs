//! The event queue: FIFO lanes with their heads kept in order, and a heap for events out of lane order.
//!
//! Most events of a storage system come after a constant delay (a page read, a command on the bus, a firmware step) or
//! leave a serial resource in order (a link). Such a source pushes in time order, so its events wait in a ring, a
//! *lane*, and only the lane's head is compared with others. Few lanes are in use at a time, so their heads form a
//! short sorted array, and a new head usually belongs near its end. This is faster than any tree, however many events
//! are outstanding. A push out of its lane's order goes to a heap, whose head waits in a lane of its own: a lane is a
//! hint, not a guarantee.
//!
//! Half of all events are before every other when they are pushed. Such an event waits in a place of its own, without
//! a ring, a sequence number or a key among the heads: at its time it is the first, because all others were pushed later.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::Time;
use crate::rarely::rarely;
use crate::timeline::Track;
use crate::{Client, Span};

/// A source of events that mostly pushes in time order, numbered within its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane(pub u8);

/// A part's access to virtual time: schedules its future events and records its busy spans.
///
/// A part is generic over this trait, so that it depends neither on other parts' events nor on the queue.
pub trait Schedule<E> {
    /// Schedules `event`, which will be handed back to the part at `when`. `lane` names the source whose events it
    /// tends to follow in time.
    fn at(&mut self, lane: Lane, when: Time, event: E);

    /// Records that `track` (numbered within the part) was busy with `name` from `from` to `to`. Costs one branch if no
    /// timeline is kept.
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        let _ = (track, name, from, to);
    }

    /// Records a [`span`](Self::span) of `track`, which worked for `client`. The client has waited for it since `since`.
    #[inline]
    fn served(&mut self, track: Track, client: Client, name: &'static str, since: Time, span: Span) {
        let _ = (client, since);
        self.span(track, name, span.from, span.to);
    }
}

/// Time of an event and its sequence number, which breaks ties. The low byte of `order` is the number of its lane.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    time: u64,
    order: u64,
}

/// Bytes per key.
const SIZE: usize = size_of::<Key>();

impl Key {
    /// A key after all others.
    const NEVER: Key = Key { time: NEVER, order: u64::MAX };

    #[inline]
    fn is_before(self, other: Key) -> bool {
        self.time < other.time || (self.time == other.time && self.order < other.order)
    }
}

/// Number of lanes; the last is that of the heap.
const LANES: usize = 64;
const ASTRAY: usize = LANES - 1;
/// A time after all others.
const NEVER: u64 = u64::MAX;
/// Entries per lane, one of which stays free. A byte can index all of them.
const PLACES: usize = 256;

#[derive(Clone, Copy, Default)]
struct Entry<E> {
    key: Key,
    event: E,
}

/// The state of a lane, whose entries wait in a ring.
#[derive(Clone, Copy, Default)]
struct Ring {
    /// Time of the last entry pushed, which is in the past if the lane is empty.
    last: u64,
    /// Index of the first entry, and of the first free place.
    head: u8,
    tail: u8,
}

impl Ring {
    #[inline]
    fn waiting(&self) -> u8 {
        self.tail.wrapping_sub(self.head)
    }
}

/// A queue of timed events, popped in order of time and, at the same time, of pushing.
///
/// All sizes are fixed powers of two, so that no index needs a check.
pub struct EventQueue<E> {
    /// The time of the next event: the earlier of `front_at` and that of `first`.
    next: u64,
    now: Time,
    /// An event that was before all others when it was pushed, and its time, which is `NEVER` if there is none.
    front_at: u64,
    front: E,
    /// The sequence number of the next event in a lane, above a zero byte.
    order: u64,
    /// The smallest key of all nonempty lanes.
    first: Key,
    /// The other lanes' keys in descending order, after two sentinels, and the byte offset of the last of them: the
    /// number of nonempty lanes times the size of a key.
    heads: [Key; LANES],
    last: usize,
    lanes: [Ring; LANES],
    entries: Box<[[Entry<E>; PLACES]; LANES]>,
    /// Entries out of their lane's order, or without a place in it, as a heap with the next entry on top. The first of
    /// all such entries is the only entry of the last lane.
    overflow: BinaryHeap<Overflowed<E>>,
}

/// An entry of the heap, in reverse order, so that the greatest is the next.
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

/// Creates the entries of all lanes directly on the heap, because they are large.
fn entries<E: Copy + Default>() -> Box<[[Entry<E>; PLACES]; LANES]> {
    let Ok(entries) = vec![[Entry::default(); PLACES]; LANES].into_boxed_slice().try_into() else {
        unreachable!("{LANES} lanes")
    };
    entries
}

impl<E: Copy + Default> EventQueue<E> {
    /// Creates an empty queue at time zero with lanes 0 to `count - 1`.
    ///
    /// # Panics
    /// Panics if `count` is more than 62.
    pub fn new(count: usize) -> EventQueue<E> {
        assert!(count < ASTRAY, "{count} lanes, expected fewer than {ASTRAY}");
        EventQueue {
            next: NEVER,
            now: Time::ZERO,
            front_at: NEVER,
            front: E::default(),
            order: 0,
            first: Key::NEVER,
            heads: [Key::NEVER; LANES],
            last: 0,
            lanes: [Ring::default(); LANES],
            entries: entries(),
            overflow: BinaryHeap::new(),
        }
    }

    /// Returns the time of the last event popped.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of pending events.
    pub fn len(&self) -> usize {
        let lanes = self.lanes.iter().map(|lane| lane.waiting() as usize).sum::<usize>();
        lanes + self.overflow.len() + usize::from(self.front_at != NEVER)
    }

    /// Returns true if no event is pending.
    pub fn is_empty(&self) -> bool {
        self.front_at == NEVER && self.first == Key::NEVER
    }

    /// Returns the time of the next event.
    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        (!self.is_empty()).then_some(self.next_at())
    }

    /// Returns the time of the next event, or [`Time::MAX`] if none is pending.
    #[inline]
    pub fn next_at(&self) -> Time {
        Time::from_ps(self.next)
    }

    /// Adds `event` at `when` through `lane`.
    ///
    /// # Panics
    /// Panics if `when` is before [`now`](Self::now). A lane's number above 62 panics if the lane is empty or full, and
    /// always in debug builds.
    #[inline(always)]
    pub fn push(&mut self, lane: Lane, when: Time, event: E) {
        debug_assert!((lane.0 as usize) < ASTRAY, "lane {} of {ASTRAY}", lane.0);
        let time = when.ps();
        if time < self.next && self.front_at == NEVER {
            if time < self.now.ps() {
                self.refuse(when);
            }
            (self.next, self.front_at, self.front) = (time, time, event);
            return;
        }
        let number = lane.0 as usize % LANES;
        let key = Key { time, order: self.order + u64::from(lane.0) };
        self.order += 1 << 8;
        let lane = &self.lanes[number];
        if time < lane.last {
            return rarely(self, move |it| it.push_astray(key, event));
        }
        // Usually the lane is neither empty nor full.
        if lane.waiting().wrapping_add(1) <= 1 {
            return self.push_to_end(key, event);
        }
        self.put(number, key, event);
    }

    /// Appends an event to a lane with a free place.
    #[inline]
    fn put(&mut self, number: usize, key: Key, event: E) {
        let lane = &mut self.lanes[number];
        self.entries[number][lane.tail as usize] = Entry { key, event };
        lane.last = key.time;
        lane.tail = lane.tail.wrapping_add(1);
    }

    /// Adds an event to a lane that is empty or full.
    #[inline(never)]
    fn push_to_end(&mut self, key: Key, event: E) {
        // A lane's first event comes here.
        let number = (key.order & 0xff) as usize;
        if number >= ASTRAY {
            rarely(self, move |_| panic!("lane {number} of {ASTRAY}"))
        }
        if self.lanes[number].waiting() == u8::MAX {
            return rarely(self, move |it| it.push_astray(key, event));
        }
        self.put(number, key, event);
        self.put_head(key);
    }

    /// Makes the key of a new lane head the first of all.
    #[inline]
    fn put_first(&mut self, key: Key) {
        if key.time < self.now.ps() {
            self.refuse(Time::from_ps(key.time));
        }
        self.next = self.next.min(key.time);
        // In an empty queue, the sentinel in `first` becomes the second.
        let second = std::mem::replace(&mut self.first, key);
        self.last += SIZE;
        // SAFETY: `last_head` points into `heads`.
        unsafe { *self.last_head() = second };
    }

    /// Returns the last of the keys after the first, which is the second of all. It and all keys before it may be read
    /// and written.
    #[inline]
    fn last_head(&mut self) -> *mut Key {
        debug_assert!(self.last < LANES * SIZE && self.last.is_multiple_of(SIZE), "{} bytes of heads", self.last);
        // SAFETY: `heads` has one place more than there are lanes, and each lane has at most one key there.
        unsafe { (&raw mut self.heads).cast::<Key>().byte_add(self.last) }
    }

    /// Adds the head of a lane that was empty, if it is not the first of all.
    #[inline]
    fn add_head(&mut self, key: Key) {
        self.last += SIZE;
        // SAFETY: `last_head` points into `heads` and not to its first entry, because a lane was not empty before.
        unsafe { insert(self.last_head(), key) };
    }

    /// Replaces the first key by `key`, the next in its lane.
    #[inline]
    fn replace_first(&mut self, key: Key) {
        let last = self.last_head();
        // SAFETY: `last_head` points into `heads` and not to its first entry, because a lane is not empty.
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

    /// Removes the first key, whose lane is now empty.
    #[inline]
    fn drop_first(&mut self) {
        // SAFETY: `last_head` points into `heads`.
        self.first = unsafe { *self.last_head() };
        self.last -= SIZE;
    }

    fn refuse(&self, when: Time) -> ! {
        panic!("an event at {when}, before now ({})", self.now)
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.pop_until(Time::MAX)
    }

    /// Takes the next event if its time is at or before `until`.
    #[inline]
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, E)> {
        self.is_due(until).then(|| self.pop_due())
    }

    /// Returns true if the time of the next event is at or before `until`.
    #[inline]
    pub fn is_due(&self, until: Time) -> bool {
        // The sentinel of an empty queue is never before an end.
        self.is_before(Time::from_ps(until.ps().saturating_add(1)))
    }

    /// Returns true if the time of the next event is before `end`.
    #[inline]
    pub fn is_before(&self, end: Time) -> bool {
        self.next < end.ps()
    }

    /// Takes the next event, which [is due](Self::is_due).
    ///
    /// # Panics
    /// Panics if there is none.
    #[inline(always)]
    pub fn pop_due(&mut self) -> (Time, E) {
        assert!(self.next < NEVER, "no event is due");
        let now = Time::from_ps(self.next);
        self.now = now;
        if self.front_at == self.next {
            (self.next, self.front_at) = (self.first.time, NEVER);
            return (now, self.front);
        }
        let number = self.first.order as usize % LANES;
        let lane = &mut self.lanes[number];
        let entries = &self.entries[number];
        let event = entries[lane.head as usize].event;
        lane.head = lane.head.wrapping_add(1);
        if lane.head != lane.tail {
            let key = entries[lane.head as usize].key;
            self.replace_first(key);
        } else if number != ASTRAY {
            self.drop_first();
        } else {
            self.follow_astray();
        }
        self.next = self.first.time.min(self.front_at);
        (now, event)
    }

    /// Adds an entry that is out of its lane's order, or whose lane is full. An event in the past is before all others,
    /// and refused as the first of all.
    fn push_astray(&mut self, key: Key, event: E) {
        let key = Key { order: key.order & !0xff | ASTRAY as u64, ..key };
        let entry = Entry { key, event };
        let lane = &mut self.lanes[ASTRAY];
        let first = &mut self.entries[ASTRAY][lane.head as usize];
        if lane.head == lane.tail {
            *first = entry;
            lane.tail = lane.head.wrapping_add(1);
            self.put_head(key);
        } else if first.key.is_before(key) {
            self.overflow.push(Overflowed(entry));
        } else {
            // The new entry replaces the heap's head.
            let before = std::mem::replace(first, entry);
            self.overflow.push(Overflowed(before));
            if before.key == self.first {
                self.drop_first();
            } else {
                let at = self.heads.iter().position(|key| *key == before.key).expect("the head of what overflowed");
                self.heads.copy_within(at + 1.., at);
                self.last -= SIZE;
            }
            self.put_head(key);
        }
    }

    /// Adds the key of a lane that was empty.
    #[inline]
    fn put_head(&mut self, key: Key) {
        if key.is_before(self.first) {
            self.put_first(key);
        } else {
            self.add_head(key);
        }
    }

    /// Replaces the heap's head after it was popped.
    #[cold]
    fn follow_astray(&mut self) {
        match self.overflow.pop() {
            Some(Overflowed(entry)) => {
                let lane = &mut self.lanes[ASTRAY];
                self.entries[ASTRAY][lane.head as usize] = entry;
                lane.tail = lane.head.wrapping_add(1);
                self.replace_first(entry.key);
            }
            None => self.drop_first(),
        }
    }
}

/// Inserts `key` into the descending order of heads, of which the place `last` is free. The first entry stays in place.
///
/// # Safety
/// `last` must point into [`heads`](EventQueue::heads), and not to its first entry.
#[inline]
unsafe fn insert(last: *mut Key, key: Key) {
    let mut place = last;
    // SAFETY: the first entry is after all keys, so that the loop ends before it would pass it.
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
        /// Compares with the obvious implementation: a list sorted by time and order of pushing.
        #[test]
        fn pops_in_time_then_push_order(
            steps in prop::collection::vec((0u8..8, 0u8..4, 0u64..50), 1..1500)
        ) {
            let mut queue = EventQueue::new(4);
            let mut oracle: Vec<(u64, usize)> = Vec::new();
            let mut now = 0;
            for (i, (what, lane, delay)) in steps.into_iter().enumerate() {
                // There are more pushes than pops, so that lanes overflow.
                if what < 2 {
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

    /// Returns a queue at 5 ns with an event at 9 ns that was before all others, so that the next event takes a lane.
    fn at_five() -> EventQueue<()> {
        let mut queue = EventQueue::new(2);
        queue.push(Lane(0), Time::from_ns(5), ());
        queue.pop();
        queue.push(Lane(0), Time::from_ns(9), ());
        queue
    }

    #[test]
    fn the_last_lane_that_there_may_be_is_a_lane() {
        let mut queue = EventQueue::new(62);
        queue.push(Lane(61), Time::from_ns(2), 1);
        for (at, event) in [(4, 3), (3, 2), (5, 4)] {
            queue.push(Lane(62), Time::from_ns(at), event);
        }
        let popped: Vec<u8> = std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        assert_eq!(popped, [1, 2, 3, 4]);
    }

    /// In releases too, where `push` itself does not check.
    #[test]
    #[should_panic(expected = "lane 63 of 63")]
    fn the_lane_of_what_overflows_is_refused() {
        let order = ASTRAY as u64;
        EventQueue::new(1).push_to_end(Key { time: 1, order }, ());
    }

    #[test]
    #[should_panic(expected = "an event at 4ns, before now (5ns)")]
    fn the_past_is_refused_before_all_others() {
        let mut queue = EventQueue::new(1);
        queue.push(Lane(0), Time::from_ns(5), ());
        queue.pop();
        queue.push(Lane(0), Time::from_ns(4), ());
    }

    #[test]
    #[should_panic(expected = "an event at 4ns, before now (5ns)")]
    fn the_past_is_refused_at_the_head_of_a_lane() {
        at_five().push(Lane(0), Time::from_ns(4), ());
    }

    #[test]
    #[should_panic(expected = "an event at 4ns, before now (5ns)")]
    fn the_past_is_refused_out_of_lane_order() {
        let mut queue = at_five();
        queue.push(Lane(1), Time::from_ns(20), ());
        queue.push(Lane(1), Time::from_ns(4), ());
    }

    #[test]
    #[should_panic(expected = "an event at 4ns, before now (5ns)")]
    fn the_past_is_refused_in_a_drained_lane() {
        let mut queue = EventQueue::new(2);
        // The event at 1 ns was before all others; the one at 5 ns passes through the ring of its lane.
        queue.push(Lane(0), Time::from_ns(1), ());
        queue.push(Lane(1), Time::from_ns(5), ());
        queue.pop();
        queue.pop();
        queue.push(Lane(0), Time::from_ns(9), ());
        queue.push(Lane(1), Time::from_ns(4), ());
    }

    #[test]
    fn the_present_is_accepted_on_every_path() {
        let mut queue = at_five();
        queue.push(Lane(1), Time::from_ns(20), ());
        queue.push(Lane(0), Time::from_ns(5), ());
        queue.push(Lane(1), Time::from_ns(5), ());
        let times: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(time, ())| time).collect();
        assert_eq!(times, [5, 5, 9, 20].map(Time::from_ns));
    }

    #[test]
    fn a_full_lane_keeps_the_order_of_its_events() {
        let mut queue = EventQueue::new(2);
        let events = 3 * PLACES as u64;
        for number in 0..events {
            queue.push(Lane(1), Time::from_ns(number), number);
        }
        assert_eq!(queue.len() as u64, events);
        for number in 0..events {
            assert_eq!(queue.pop(), Some((Time::from_ns(number), number)));
        }
    }

    #[test]
    fn an_empty_queue_has_no_next_event() {
        let mut queue = EventQueue::new(1);
        assert!(queue.is_empty() && queue.next_time().is_none() && queue.next_at() == Time::MAX);
        // The second event takes the lane.
        for at in [2, 3] {
            queue.push(Lane(0), Time::from_ns(at), ());
        }
        for at in [2, 3] {
            assert_eq!((queue.is_empty(), queue.next_time()), (false, Some(Time::from_ns(at))));
            queue.pop();
        }
        assert!(queue.is_empty() && queue.next_time().is_none() && queue.pop().is_none());
    }

    #[test]
    fn an_event_before_all_others_takes_no_lane() {
        let mut queue = EventQueue::new(1);
        let in_lanes = |queue: &EventQueue<()>| queue.lanes[0].waiting();
        queue.push(Lane(0), Time::from_ns(9), ());
        assert_eq!((queue.len(), in_lanes(&queue)), (1, 0));
        queue.push(Lane(0), Time::from_ns(8), ());
        assert_eq!((queue.len(), in_lanes(&queue)), (2, 1), "one event waits there already");
        queue.pop();
        queue.pop();
        queue.push(Lane(0), Time::from_ns(9), ());
        assert_eq!((queue.len(), in_lanes(&queue)), (1, 0));
    }

    #[test]
    fn an_event_is_due_at_its_time_and_not_before() {
        let mut queue = EventQueue::new(1);
        queue.push(Lane(0), Time::from_ps(5), ());
        assert!(!queue.is_due(Time::from_ps(4)) && queue.pop_until(Time::from_ps(4)).is_none());
        assert!(queue.is_before(Time::from_ps(6)) && !queue.is_before(Time::from_ps(5)));
        assert!(queue.is_due(Time::from_ps(5)) && queue.pop_until(Time::from_ps(5)).is_some());
    }
}
