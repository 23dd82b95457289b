//! What is mapped: a state for each segment, which of them leave, what a fault leads to. No thread, no file, no kernel: these are
//! [`Kernel`] and [`Below`].
//!
//! ```text
//!              fault                content            store's fault
//!    Absent ----------> Wanted --------------> Clean ----------------> Dirty
//!      ^                   \   (to store to it)                       ^  |
//!      |                    `-----------------------------------------'  | sync, eviction: protected first
//!      |    evicted, discarded                                           v
//!      `------------------------------ Clean <------------------------ Held
//!                                               its content is below
//! ```
//!
//! A page that is Clean or Held is protected: a store faults, and waits. So what is copied from it is what it holds, and no store is
//! lost between the copy and the page's leaving. What is below is the cache of segments in DRAM, and the file.
//!
//! Leaving is in order of arrival, into the cache below, whose own clock decides later: what faults before that comes back without a
//! transfer. This is CLOCK with two hands, the first of which takes the page's mapping away in place of its reference bit, since
//! nobody tells of accesses to what is mapped.

use std::collections::VecDeque;

/// A segment: its first address over its bytes.
pub(crate) type Key = u64;

/// What the kernel does with the pages at our addresses.
pub(crate) trait Kernel {
    /// `bytes` are at segments, from `key` on, where nothing was; whoever waits for them goes on, if it is to be woken.
    fn place(&mut self, key: Key, bytes: &[u8], writable: bool, wakes: bool);
    /// It may be stored to; whoever waits goes on.
    fn unprotect(&mut self, key: Key);
    /// From now on stores to what is there of a range fault.
    fn protect(&mut self, first: Key, count: u64);
    /// What it holds.
    fn copy_out(&self, key: Key, into: &mut [u8]);
    /// Nothing is there any more.
    fn discard(&mut self, first: Key, count: u64);
    /// Whoever waits for one of a range looks again.
    fn wake(&mut self, first: Key, count: u64);
}

/// What keeps segments that are not mapped.
pub(crate) trait Below {
    /// Takes the content that `fill` gives. False: there is no room now; then `fill` was not called. What is not `dirty` it has, or can
    /// read, already: it need not take it.
    fn keep(&mut self, key: Key, dirty: bool, fill: impl FnOnce(&mut [u8])) -> bool;
}

/// How a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not mapped.
    Absent,
    /// Not mapped, and a thread waits for it.
    Wanted { write: bool },
    /// Mapped and protected; below is the same.
    Clean,
    /// Mapped and protected; below is not the same.
    Held,
    /// Mapped, and stored to.
    Dirty,
}

/// What is to be done for a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its content is wanted: then [`Pages::place`].
    Fetch,
    /// It is wanted already, or was done meanwhile.
    Nothing,
}

/// Bugs that tests plant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Plant {
    /// None.
    #[default]
    Nothing,
    /// What is dirty is copied while it can be stored to.
    #[cfg(test)]
    NotProtected,
    /// What is dirty leaves as what is clean does.
    #[cfg(test)]
    StoresForgotten,
    /// A fault that was overtaken wakes nobody.
    #[cfg(test)]
    NotWoken,
    /// Nor does what is placed.
    #[cfg(test)]
    PlacedNotWoken,
}

const ABSENT: u8 = 0;
const WANTED: u8 = 1;
const WANTED_TO_WRITE: u8 = 2;
const CLEAN: u8 = 3;
const HELD: u8 = 4;
const DIRTY: u8 = 5;
/// It was placed before anybody asked, and nobody did since.
const AHEAD: u8 = 0x80;

/// See the module.
#[derive(Debug)]
pub(crate) struct Pages {
    states: Vec<u8>,
    /// Mapped, in order of arrival.
    order: VecDeque<Key>,
    mapped: u64,
    limit: u64,
    /// Became dirty, since all were last held. Some may have left since, some are there twice.
    dirty: Vec<Key>,
    dirty_now: u64,
    pub plant: Plant,
}

impl Pages {
    /// For `count` segments, of which `limit` may be mapped.
    pub fn new(count: u64, limit: u64) -> Pages {
        assert!(limit > 0);
        Pages {
            states: vec![0; count as usize],
            order: VecDeque::new(),
            mapped: 0,
            limit,
            dirty: Vec::new(),
            dirty_now: 0,
            plant: Plant::Nothing,
        }
    }

    /// Segments that there are.
    pub fn count(&self) -> Key {
        self.states.len() as Key
    }

    /// How a segment is.
    #[inline]
    pub fn state(&self, key: Key) -> State {
        match self.states[key as usize] & !AHEAD {
            ABSENT => State::Absent,
            WANTED => State::Wanted { write: false },
            WANTED_TO_WRITE => State::Wanted { write: true },
            CLEAN => State::Clean,
            HELD => State::Held,
            DIRTY => State::Dirty,
            other => unreachable!("segment {key} is {other}"),
        }
    }

    /// Whether a segment is mapped.
    #[inline]
    pub fn is_mapped(&self, key: Key) -> bool {
        self.states[key as usize] & !AHEAD >= CLEAN
    }

    /// Segments that are mapped.
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    /// Segments that may be.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Segments that are mapped, and differ from what is below.
    pub fn dirty(&self) -> u64 {
        self.dirty_now
    }

    fn set(&mut self, key: Key, state: u8) {
        let old = std::mem::replace(&mut self.states[key as usize], state) & !AHEAD;
        let new = state & !AHEAD;
        self.mapped = self.mapped + u64::from(new >= CLEAN) - u64::from(old >= CLEAN);
        self.dirty_now = self.dirty_now + u64::from(new >= HELD) - u64::from(old >= HELD);
        assert!(self.mapped <= self.limit, "{} segments are mapped, of {}", self.mapped, self.limit);
        if new == DIRTY && old != DIRTY {
            if self.dirty.len() as u64 > 2 * self.limit {
                self.tidy();
            }
            self.dirty.push(key);
        }
    }

    /// Each dirty segment once, in order.
    fn tidy(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.sort_unstable();
        dirty.dedup();
        dirty.retain(|key| matches!(self.state(*key), State::Dirty | State::Held));
        self.dirty = dirty;
    }

    /// A thread stands at a segment, to store to it or not.
    pub fn fault(&mut self, key: Key, write: bool, kernel: &mut impl Kernel) -> Outcome {
        match (self.state(key), write) {
            (State::Absent, _) => {
                self.set(key, if write { WANTED_TO_WRITE } else { WANTED });
                return Outcome::Fetch;
            }
            (State::Wanted { .. }, true) => self.set(key, WANTED_TO_WRITE),
            (State::Wanted { .. }, false) => {}
            (State::Clean | State::Held, true) => {
                self.set(key, DIRTY);
                kernel.unprotect(key);
            }
            // What the fault was for has come since it was told.
            #[cfg(test)]
            _ if self.plant == Plant::NotWoken => {}
            (State::Clean | State::Held, false) | (State::Dirty, _) => kernel.wake(key, 1),
        }
        Outcome::Nothing
    }

    /// Segments that can be mapped besides.
    pub fn room(&self) -> u64 {
        self.limit - self.mapped
    }

    /// The content of a segment that is wanted is here. Whoever waits for it goes on.
    ///
    /// # Panics
    /// If it is not wanted, or there is no room.
    pub fn place(&mut self, key: Key, bytes: &[u8], kernel: &mut impl Kernel) {
        let State::Wanted { write } = self.state(key) else { panic!("segment {key} is not wanted") };
        self.set(key, if write { DIRTY } else { CLEAN });
        self.order.push_back(key);
        #[cfg(test)]
        if self.plant == Plant::PlacedNotWoken {
            return kernel.place(key, bytes, write, false);
        }
        kernel.place(key, bytes, write, true);
    }

    /// The content of neighbouring segments that somebody may want is here.
    ///
    /// # Panics
    /// If one is not absent, or there is no room for all.
    pub fn place_ahead(&mut self, first: Key, count: u64, bytes: &[u8], kernel: &mut impl Kernel) {
        for key in first..first + count {
            assert_eq!(self.state(key), State::Absent, "segment {key}");
            self.set(key, CLEAN | AHEAD);
            self.order.push_back(key);
        }
        kernel.place(first, bytes, false, false);
        // Who faulted there since the faults were looked at last is woken for that.
    }

    /// Up to `count` segments leave, those that came first; what they hold is below then. Fewer, if there is no room below.
    pub fn evict(&mut self, count: usize, kernel: &mut impl Kernel, below: &mut impl Below) -> usize {
        let mut leaving: Vec<Key> = Vec::with_capacity(count);
        while leaving.len() < count {
            let Some(key) = self.order.pop_front() else { break };
            debug_assert!(self.is_mapped(key), "segment {key} left, and is in the order");
            leaving.push(key);
        }
        leaving.sort_unstable();
        let left = self.leave(&leaving, kernel, below);
        // What could not leave does so first next time.
        for key in leaving.into_iter().rev() {
            if self.is_mapped(key) {
                self.order.push_front(key);
            }
        }
        left
    }

    /// Those of a range that are mapped leave. False: there is no room below for all.
    pub fn evict_range(
        &mut self,
        range: std::ops::Range<Key>,
        kernel: &mut impl Kernel,
        below: &mut impl Below,
    ) -> bool {
        let leaving: Vec<Key> = range.filter(|key| self.is_mapped(*key)).collect();
        let left = self.leave(&leaving, kernel, below);
        self.forget_order();
        left == leaving.len()
    }

    /// `leaving`, ascending, leave: each is protected, then copied, then gone.
    fn leave(&mut self, leaving: &[Key], kernel: &mut impl Kernel, below: &mut impl Below) -> usize {
        let dirty = leaving.iter().copied().filter(|key| self.state(*key) == State::Dirty);
        if self.plant == Plant::Nothing {
            runs(dirty, |first, count| kernel.protect(first, count));
        }
        let mut gone = Vec::with_capacity(leaving.len());
        for key in leaving.iter().copied() {
            let state = self.states[key as usize];
            let dirty = matches!(state & !AHEAD, HELD | DIRTY);
            #[cfg(test)]
            let dirty = dirty && self.plant != Plant::StoresForgotten;
            // What nobody asked for has been looked at once, by someone who goes on.
            let passing = state & AHEAD != 0 && !dirty;
            if passing || below.keep(key, dirty, |into| kernel.copy_out(key, into)) || !dirty {
                self.set(key, ABSENT);
                gone.push(key);
            } else if state & !AHEAD == DIRTY {
                self.set(key, HELD);
            }
        }
        runs(gone.iter().copied(), |first, count| kernel.discard(first, count));
        gone.len()
    }

    /// From now on a store to anything faults; returns what is not below yet, ascending: it is to be [`save`](Self::save)d.
    pub fn hold(&mut self, kernel: &mut impl Kernel) -> Vec<Key> {
        self.tidy();
        let dirty = std::mem::take(&mut self.dirty);
        if self.plant == Plant::Nothing {
            runs(dirty.iter().copied(), |first, count| kernel.protect(first, count));
        }
        for key in &dirty {
            self.set(*key, HELD);
        }
        // Until it is saved it counts as dirty.
        self.dirty.clone_from(&dirty);
        dirty
    }

    /// What a segment that is held holds is below from now on. False: there is no room.
    pub fn save(&mut self, key: Key, kernel: &mut impl Kernel, below: &mut impl Below) -> bool {
        assert_eq!(self.state(key), State::Held, "segment {key}");
        let saved = below.keep(key, true, |into| kernel.copy_out(key, into));
        if saved {
            self.set(key, CLEAN);
        }
        saved
    }

    /// A store from outside of the mapping to a segment that is mapped, which can be made by whoever calls this.
    pub fn dirty_now(&mut self, key: Key, kernel: &mut impl Kernel) {
        match self.state(key) {
            State::Clean | State::Held => {
                self.set(key, DIRTY);
                kernel.unprotect(key);
            }
            State::Dirty => {}
            other => panic!("segment {key} is {other:?}"),
        }
    }

    /// What is mapped of a range is gone, and what it held forgotten. Whoever waits for one goes on waiting.
    pub fn discard(&mut self, range: std::ops::Range<Key>, kernel: &mut impl Kernel) {
        if range.start == 0 && range.end as usize == self.states.len() {
            let mut all: Vec<Key> = std::mem::take(&mut self.order).into();
            all.sort_unstable();
            all.iter().for_each(|key| self.set(*key, ABSENT));
            runs(all.into_iter(), |first, count| kernel.discard(first, count));
            self.dirty.clear();
            return;
        }
        let gone: Vec<Key> = range.filter(|key| self.is_mapped(*key)).collect();
        gone.iter().for_each(|key| self.set(*key, ABSENT));
        runs(gone.into_iter(), |first, count| kernel.discard(first, count));
        self.forget_order();
    }

    fn forget_order(&mut self) {
        let mut order = std::mem::take(&mut self.order);
        order.retain(|key| self.is_mapped(*key));
        self.order = order;
    }
}

/// Neighbours of ascending keys together: first and count.
fn runs(keys: impl Iterator<Item = Key>, mut each: impl FnMut(Key, u64)) {
    let mut run: Option<(Key, u64)> = None;
    for key in keys {
        match &mut run {
            Some((first, count)) if *first + *count == key => *count += 1,
            _ => {
                if let Some((first, count)) = run.replace((key, 1)) {
                    each(first, count);
                }
            }
        }
    }
    if let Some((first, count)) = run {
        each(first, count);
    }
}
