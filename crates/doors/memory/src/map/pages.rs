//! The state machine of mapped segments: their states, eviction, and the handling of faults. It has no threads, files
//! or kernel calls of its own, but acts on [`Kernel`] and [`BackingCache`].
//!
//! ```text
//!              fault                content            store fault
//!    Absent ----------> Requested -----------> Clean ----------------> Dirty
//!      ^                   \   (for a store)                          ^  |
//!      |                    `-----------------------------------------'  | sync, eviction: protected first
//!      |    evicted, discarded                                           v
//!      `------------------------------ Clean <------------------ DirtyProtected
//!                                          content copied to the cache
//! ```
//!
//! Clean and DirtyProtected pages are write-protected: a store faults and waits. A copy of such a page is therefore
//! consistent, and no store is lost between the copy and the eviction. The backing cache is the cache of segments in
//! DRAM, on top of the file.
//!
//! Where stores have been dense, a store fault makes the Clean neighbors writable too ([`digests`](super::digests)): they
//! are Dirty, and the next protection tells which of them were stored to.
//!
//! Segments are evicted in order of arrival into the backing cache, whose own clock decides later. A fault before then
//! brings the segment back without a transfer. This is CLOCK with two hands, the first of which removes the page's
//! mapping instead of clearing a reference bit, since accesses to mapped pages are not observable.

use std::collections::VecDeque;
use std::ops::Range;

use super::digests::Digests;

/// A segment: its address divided by the segment size.
pub(crate) type Key = u64;

/// The kernel's operations on the pages of the mapping.
pub(crate) trait Kernel {
    /// Maps consecutive segments, starting at unmapped segment `key`, with content `bytes`; optionally wakes their
    /// waiting threads.
    fn place(&mut self, key: Key, bytes: &[u8], writable: bool, wakes: bool);
    /// Makes the mapped pages of a range writable and wakes the threads that wait for pages of the range.
    fn unprotect(&mut self, first: Key, count: u64);
    /// Write-protects the mapped pages of a range.
    fn protect(&mut self, first: Key, count: u64);
    /// Copies a page's content.
    fn copy_out(&self, key: Key, into: &mut [u8]);
    /// Returns a digest of a page's content, with a secret of this process.
    fn digest(&self, key: Key) -> u128;
    /// Unmaps a range.
    fn discard(&mut self, first: Key, count: u64);
    /// Wakes the threads that wait for pages of a range; they retry their access.
    fn wake(&mut self, first: Key, count: u64);
}

/// The store of segments that are not mapped.
pub(crate) trait BackingCache {
    /// Stores the content that `fill` writes. Returns false, without calling `fill`, if there is no room. Content that
    /// is not `dirty` may be ignored, because it can be read again.
    fn store(&mut self, key: Key, dirty: bool, fill: impl FnOnce(&mut [u8])) -> bool;
}

/// The state of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentState {
    /// Not mapped.
    Absent,
    /// Not mapped, and a thread waits for it.
    Requested { write: bool },
    /// Mapped and write-protected, with the same content as in the backing cache.
    Clean,
    /// Mapped and write-protected, with content that the backing cache does not have yet.
    DirtyProtected,
    /// Mapped and writable; perhaps with the same content still, if a digest is kept.
    Dirty,
}

/// The result of saving a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    /// The backing cache has the same content: nothing was stored to the segment.
    Unchanged,
    /// The backing cache has the content now.
    Copied,
    /// The backing cache has no room.
    NoRoom,
}

/// The work left to the caller after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Fetch the content, then call [`Pages::place`].
    Fetch,
    /// Nothing: the content is already requested, or the fault is resolved.
    Nothing,
}

/// A fault for tests to inject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    /// No fault.
    #[default]
    None,
    /// Dirty pages are copied while they are writable.
    #[cfg(test)]
    NotProtected,
    /// Dirty pages are evicted like clean ones.
    #[cfg(test)]
    StoresForgotten,
    /// A fault that has already been resolved wakes no thread.
    #[cfg(test)]
    NotWoken,
    /// Mapping a page wakes no thread.
    #[cfg(test)]
    PlacedNotWoken,
    /// Neighbors of a stored page are taken for unchanged.
    #[cfg(test)]
    NeighborsForgotten,
}

const ABSENT: u8 = 0;
const REQUESTED: u8 = 1;
const REQUESTED_TO_WRITE: u8 = 2;
const CLEAN: u8 = 3;
const DIRTY_PROTECTED: u8 = 4;
const DIRTY: u8 = 5;
/// Flag: the segment was read ahead and has not been accessed since.
const AHEAD: u8 = 0x80;

/// The states of all segments; see the module.
#[derive(Debug)]
pub(crate) struct Pages {
    states: Vec<u8>,
    /// Mapped segments, in order of arrival.
    order: VecDeque<Key>,
    mapped: u64,
    limit: u64,
    /// Segments that became dirty since `protect_dirty` was last called. May contain duplicates and evicted segments.
    dirty: Vec<Key>,
    dirty_count: u64,
    digests: Digests,
    pub injected: InjectedFault,
}

impl Pages {
    /// Creates the states of `count` segments, of which at most `limit` may be mapped.
    pub fn new(count: u64, limit: u64) -> Pages {
        assert!(limit > 0);
        Pages {
            states: vec![0; count as usize],
            order: VecDeque::new(),
            mapped: 0,
            limit,
            dirty: Vec::new(),
            dirty_count: 0,
            digests: Digests::default(),
            injected: InjectedFault::None,
        }
    }

    /// Returns the number of segments.
    pub fn count(&self) -> Key {
        self.states.len() as Key
    }

    /// Returns the state of a segment.
    pub fn state(&self, key: Key) -> SegmentState {
        match self.states[key as usize] & !AHEAD {
            ABSENT => SegmentState::Absent,
            REQUESTED => SegmentState::Requested { write: false },
            REQUESTED_TO_WRITE => SegmentState::Requested { write: true },
            CLEAN => SegmentState::Clean,
            DIRTY_PROTECTED => SegmentState::DirtyProtected,
            DIRTY => SegmentState::Dirty,
            other => unreachable!("segment {key} is {other}"),
        }
    }

    /// Returns whether a segment is mapped.
    pub fn is_mapped(&self, key: Key) -> bool {
        self.states[key as usize] & !AHEAD >= CLEAN
    }

    /// Returns the number of mapped segments.
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    /// Returns the maximum number of mapped segments.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the number of mapped segments whose content the backing cache does not have.
    pub fn dirty(&self) -> u64 {
        self.dirty_count
    }

    fn set(&mut self, key: Key, state: u8) {
        let old = std::mem::replace(&mut self.states[key as usize], state) & !AHEAD;
        let new = state & !AHEAD;
        self.mapped = self.mapped + u64::from(new >= CLEAN) - u64::from(old >= CLEAN);
        self.dirty_count = self.dirty_count + u64::from(new >= DIRTY_PROTECTED) - u64::from(old >= DIRTY_PROTECTED);
        if new < CLEAN {
            // The backing cache may get other content.
            self.digests.remove(key);
        }
        assert!(self.mapped <= self.limit, "{} segments are mapped, of {}", self.mapped, self.limit);
        if new == DIRTY && old != DIRTY {
            if self.dirty.len() as u64 > 2 * self.limit {
                self.sort_dirty();
            }
            self.dirty.push(key);
        }
    }

    /// Sorts and deduplicates the list of dirty segments.
    fn sort_dirty(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.sort_unstable();
        dirty.dedup();
        dirty.retain(|key| matches!(self.state(*key), SegmentState::Dirty | SegmentState::DirtyProtected));
        self.dirty = dirty;
    }

    /// Returns the segments that a store fault at `key` should make writable.
    pub fn around(&self, key: Key) -> Range<Key> {
        self.digests.around(key, self.count())
    }

    /// Handles a fault at a segment. A store makes the mapped segments of `around` writable too, if it contains `key`.
    pub fn fault(&mut self, key: Key, write: bool, around: Range<Key>, kernel: &mut impl Kernel) -> Outcome {
        match (self.state(key), write) {
            (SegmentState::Absent, _) => {
                self.set(key, if write { REQUESTED_TO_WRITE } else { REQUESTED });
                return Outcome::Fetch;
            }
            (SegmentState::Requested { .. }, true) => self.set(key, REQUESTED_TO_WRITE),
            (SegmentState::Requested { .. }, false) => {}
            (SegmentState::Clean | SegmentState::DirtyProtected, true) => self.store_fault(key, around, kernel),
            // The fault was resolved after the kernel reported it.
            #[cfg(test)]
            _ if self.injected == InjectedFault::NotWoken => {}
            (SegmentState::Clean | SegmentState::DirtyProtected, false) | (SegmentState::Dirty, _) => {
                kernel.wake(key, 1)
            }
        }
        Outcome::Nothing
    }

    /// Makes a segment writable, and the clean ones around it.
    fn store_fault(&mut self, key: Key, around: Range<Key>, kernel: &mut impl Kernel) {
        // A copy of a neighbor may be under way.
        let copied = |other| other != key && self.state(other) == SegmentState::DirtyProtected;
        let around = if around.clone().any(copied) { key..key + 1 } else { around };
        for other in around.clone() {
            if other != key && self.state(other) == SegmentState::Clean {
                self.digests.keep(other, || kernel.digest(other));
                self.set(other, DIRTY);
            }
        }
        self.set(key, DIRTY);
        kernel.unprotect(around.start, around.end - around.start);
    }

    /// Returns whether a dirty segment, which is protected, still has the content of the backing cache.
    fn is_unchanged(&mut self, key: Key, kernel: &impl Kernel) -> bool {
        #[cfg(test)]
        if self.injected == InjectedFault::NeighborsForgotten && self.digests.has(key) {
            return true;
        }
        self.digests.is_equal(key, || kernel.digest(key))
    }

    /// Returns how many more segments can be mapped.
    pub fn room(&self) -> u64 {
        self.limit - self.mapped
    }

    /// Maps a requested segment with its content and wakes the waiting threads.
    ///
    /// # Panics
    /// If the segment is not requested, or there is no room.
    pub fn place(&mut self, key: Key, bytes: &[u8], kernel: &mut impl Kernel) {
        let SegmentState::Requested { write } = self.state(key) else { panic!("segment {key} is not wanted") };
        self.set(key, if write { DIRTY } else { CLEAN });
        self.order.push_back(key);
        #[cfg(test)]
        if self.injected == InjectedFault::PlacedNotWoken {
            return kernel.place(key, bytes, write, false);
        }
        kernel.place(key, bytes, write, true);
    }

    /// Maps consecutive segments that were read ahead.
    ///
    /// # Panics
    /// If any segment is not absent, or there is no room for all.
    pub fn place_ahead(&mut self, first: Key, count: u64, bytes: &[u8], kernel: &mut impl Kernel) {
        for key in first..first + count {
            assert_eq!(self.state(key), SegmentState::Absent, "segment {key}");
            self.set(key, CLEAN | AHEAD);
            self.order.push_back(key);
        }
        kernel.place(first, bytes, false, false);
        // A thread that has faulted there meanwhile is woken when its fault is handled.
    }

    /// Evicts up to `count` segments, oldest first, into the backing cache. Returns their number, which is lower if the
    /// cache has no room.
    pub fn evict(&mut self, count: usize, kernel: &mut impl Kernel, backing: &mut impl BackingCache) -> usize {
        let mut leaving: Vec<Key> = Vec::with_capacity(count);
        while leaving.len() < count {
            let Some(key) = self.order.pop_front() else { break };
            debug_assert!(self.is_mapped(key), "segment {key} left, and is in the order");
            leaving.push(key);
        }
        leaving.sort_unstable();
        let left = self.evict_all(&leaving, kernel, backing);
        // Keep the remaining segments first in line.
        for key in leaving.into_iter().rev() {
            if self.is_mapped(key) {
                self.order.push_front(key);
            }
        }
        left
    }

    /// Evicts the mapped segments of a range. Returns false if the backing cache has no room for all.
    pub fn evict_range(
        &mut self,
        range: Range<Key>,
        kernel: &mut impl Kernel,
        backing: &mut impl BackingCache,
    ) -> bool {
        let leaving: Vec<Key> = range.filter(|key| self.is_mapped(*key)).collect();
        let left = self.evict_all(&leaving, kernel, backing);
        self.prune_order();
        left == leaving.len()
    }

    /// Evicts the segments `leaving`, in ascending order: write-protects, copies, then unmaps them.
    fn evict_all(&mut self, leaving: &[Key], kernel: &mut impl Kernel, backing: &mut impl BackingCache) -> usize {
        let dirty = leaving.iter().copied().filter(|key| self.state(*key) == SegmentState::Dirty);
        if self.injected == InjectedFault::None {
            runs(dirty, |first, count| kernel.protect(first, count));
        }
        let mut gone = Vec::with_capacity(leaving.len());
        for key in leaving.iter().copied() {
            let state = self.states[key as usize];
            let dirty = matches!(state & !AHEAD, DIRTY_PROTECTED | DIRTY) && !self.is_unchanged(key, kernel);
            #[cfg(test)]
            let dirty = dirty && self.injected != InjectedFault::StoresForgotten;
            // A segment read ahead is accessed at most once by a sequential reader, which has moved on, so it is not
            // cached.
            let passed_over = state & AHEAD != 0 && !dirty;
            if passed_over || backing.store(key, dirty, |into| kernel.copy_out(key, into)) || !dirty {
                self.set(key, ABSENT);
                gone.push(key);
            } else if state & !AHEAD == DIRTY {
                self.set(key, DIRTY_PROTECTED);
            }
        }
        runs(gone.iter().copied(), |first, count| kernel.discard(first, count));
        gone.len()
    }

    /// Write-protects all dirty segments and returns those that must be [saved](Self::save), in ascending order.
    pub fn protect_dirty(&mut self, kernel: &mut impl Kernel) -> Vec<Key> {
        self.sort_dirty();
        let dirty = std::mem::take(&mut self.dirty);
        if self.injected == InjectedFault::None {
            runs(dirty.iter().copied(), |first, count| kernel.protect(first, count));
        }
        for key in &dirty {
            self.set(*key, DIRTY_PROTECTED);
        }
        // They count as dirty until they are saved.
        self.dirty.clone_from(&dirty);
        dirty
    }

    /// Copies the content of a protected dirty segment to the backing cache, if it was stored to.
    pub fn save(&mut self, key: Key, kernel: &mut impl Kernel, backing: &mut impl BackingCache) -> Saved {
        assert_eq!(self.state(key), SegmentState::DirtyProtected, "segment {key}");
        if self.is_unchanged(key, kernel) {
            self.set(key, CLEAN);
            return Saved::Unchanged;
        }
        if !backing.store(key, true, |into| kernel.copy_out(key, into)) {
            return Saved::NoRoom;
        }
        self.set(key, CLEAN);
        if self.digests.is_dense() {
            // The content is in the processor's cache now.
            self.digests.keep(key, || kernel.digest(key));
        }
        Saved::Copied
    }

    /// Learns from the segments that were copied since the last call, in ascending order, how dense stores are.
    pub fn learn(&mut self, copied: &[Key]) {
        self.digests.learn(copied, self.states.len() as u64);
    }

    /// Makes a mapped segment writable and dirty, for a caller that is about to store to it from outside of the
    /// mapping.
    pub fn make_dirty(&mut self, key: Key, kernel: &mut impl Kernel) {
        match self.state(key) {
            SegmentState::Clean | SegmentState::DirtyProtected => {
                self.set(key, DIRTY);
                kernel.unprotect(key, 1);
            }
            SegmentState::Dirty => {}
            other => panic!("segment {key} is {other:?}"),
        }
    }

    /// Unmaps the pages of a range and drops their content. Threads that wait for a segment keep waiting.
    pub fn discard(&mut self, range: Range<Key>, kernel: &mut impl Kernel) {
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
        self.prune_order();
    }

    fn prune_order(&mut self) {
        let mut order = std::mem::take(&mut self.order);
        order.retain(|key| self.is_mapped(*key));
        self.order = order;
    }
}

/// Groups ascending keys into runs of consecutive ones, given as first key and count.
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
