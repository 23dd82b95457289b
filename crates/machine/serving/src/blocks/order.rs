//! Order of eviction of one tier.

use std::collections::BTreeSet;

use crate::config::Eviction;

/// Entries that may be evicted, in order.
#[derive(Clone, Debug)]
pub(super) struct Order {
    eviction: Eviction,
    clock: u64,
    queue: BTreeSet<(u64, u32)>,
}

impl Order {
    pub(super) fn new(eviction: Eviction) -> Order {
        Order { eviction, clock: 0, queue: BTreeSet::new() }
    }

    /// Returns the place of a new entry.
    pub(super) fn insert(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Makes an entry evictable and returns its place: its place so far, or the last one after a use under LRU.
    pub(super) fn free(&mut self, entry: u32, place: u64) -> u64 {
        let place = match self.eviction {
            Eviction::Lru => self.insert(),
            Eviction::Fifo => place,
        };
        let is_new = self.queue.insert((place, entry));
        assert!(is_new, "entry {entry} was evictable already");
        place
    }

    /// Protects an entry from eviction.
    pub(super) fn hold(&mut self, entry: u32, place: u64) {
        let was = self.queue.remove(&(place, entry));
        assert!(was, "entry {entry} was not evictable");
    }

    /// Removes and returns the entry to evict next.
    pub(super) fn pop(&mut self) -> Option<u32> {
        self.queue.pop_first().map(|(_, entry)| entry)
    }

    pub(super) fn len(&self) -> u64 {
        self.queue.len() as u64
    }
}
