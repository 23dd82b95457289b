//! Cached map entries, if the controller caches single entries instead of whole translation units.
//!
//! Each cached entry carries the number of its logical unit, so that it takes more than its 4 bytes in flash. Entries
//! are found by number through a chained hash table and ordered by use in one list. The changed entries of a
//! translation unit are linked together, since a write-back writes them all (Gupta et al., DFTL, 2009: batch updates).

use crate::buffer::slots::NIL;
use crate::config::Eviction;

#[derive(Clone, Copy)]
struct Entry {
    unit: u32,
    /// The copy in flash is older.
    dirty: bool,
    /// Used since the last pass of the clock.
    used: bool,
    /// Next entry of the same chain, or the next free one.
    chain: u32,
    /// Neighbors in the order of eviction.
    previous: u32,
    next: u32,
    /// Neighbors in the list of changed entries of the translation unit.
    dirty_previous: u32,
    dirty_next: u32,
}

/// Cached map entries.
pub(crate) struct MapEntries {
    capacity: u32,
    len: u32,
    eviction: Eviction,
    /// log2 of the entries of a translation unit.
    shift: u32,
    entries: Vec<Entry>,
    free: u32,
    newest: u32,
    oldest: u32,
    /// Heads of the chains; their number is a power of two.
    chains: Vec<u32>,
    /// First changed entry of each translation unit.
    dirty_of: Vec<u32>,
    /// Translation units that are complete in RAM and wait for a slot to be written from.
    pub(super) write_backs: Vec<u32>,
    /// Number of write-backs that wait for such a slot, or for the preceding read.
    pub(super) merging: u32,
}

impl MapEntries {
    /// Creates a cache of `capacity` entries for `translation_units` translation units with `1 << shift` entries each.
    pub fn new(capacity: u32, eviction: Eviction, shift: u32, translation_units: usize) -> MapEntries {
        MapEntries {
            capacity: capacity.max(1),
            len: 0,
            eviction,
            shift,
            entries: Vec::new(),
            free: NIL,
            newest: NIL,
            oldest: NIL,
            chains: vec![NIL; capacity.max(2).next_power_of_two() as usize],
            dirty_of: vec![NIL; translation_units],
            write_backs: Vec::new(),
            merging: 0,
        }
    }

    /// Returns the capacity in entries.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Returns the number of cached entries.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns the chain of `unit`: multiplying by an odd constant spreads strided units over the high bits.
    fn chain_of(&self, unit: u32) -> usize {
        let bits = self.chains.len().trailing_zeros();
        (unit.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
    }

    fn find(&self, unit: u32) -> u32 {
        let mut at = self.chains[self.chain_of(unit)];
        while at != NIL && self.entries[at as usize].unit != unit {
            at = self.entries[at as usize].chain;
        }
        at
    }

    /// Returns true if the entry of `unit` is cached.
    pub fn contains(&self, unit: u32) -> bool {
        self.find(unit) != NIL
    }

    /// Looks up the entry of `unit` and records the use. Returns true if it is cached.
    pub fn look_up(&mut self, unit: u32) -> bool {
        let at = self.find(unit);
        if at != NIL {
            self.touch(at);
        }
        at != NIL
    }

    fn touch(&mut self, at: u32) {
        match self.eviction {
            Eviction::Lru if self.newest != at => {
                self.unlink(at);
                self.link_newest(at);
            }
            Eviction::Clock => self.entries[at as usize].used = true,
            Eviction::Lru | Eviction::Fifo => {}
        }
    }

    /// Caches the entry of `unit`, marked as changed if `dirty`. An entry that is already cached stays changed if it
    /// was.
    pub fn insert(&mut self, unit: u32, dirty: bool) {
        let mut at = self.find(unit);
        if at == NIL {
            at = self.take();
            let chain = self.chain_of(unit);
            self.entries[at as usize] = Entry {
                unit,
                dirty: false,
                used: false,
                chain: std::mem::replace(&mut self.chains[chain], at),
                previous: NIL,
                next: NIL,
                dirty_previous: NIL,
                dirty_next: NIL,
            };
            self.link_newest(at);
        }
        if dirty && !self.entries[at as usize].dirty {
            self.link_dirty(at);
        }
    }

    fn take(&mut self) -> u32 {
        self.len += 1;
        if self.free != NIL {
            let at = self.free;
            self.free = self.entries[at as usize].chain;
            return at;
        }
        let none = Entry {
            unit: 0,
            dirty: false,
            used: false,
            chain: NIL,
            previous: NIL,
            next: NIL,
            dirty_previous: NIL,
            dirty_next: NIL,
        };
        self.entries.push(none);
        self.entries.len() as u32 - 1
    }

    /// Returns the unit whose entry is to be evicted next, and whether the entry changed, if the cache exceeds its
    /// capacity.
    pub fn surplus(&mut self) -> Option<(u32, bool)> {
        if self.len <= self.capacity {
            return None;
        }
        while self.entries[self.oldest as usize].used {
            let passed = self.oldest;
            self.entries[passed as usize].used = false;
            self.unlink(passed);
            self.link_newest(passed);
        }
        let Entry { unit, dirty, .. } = self.entries[self.oldest as usize];
        Some((unit, dirty))
    }

    /// Drops the entry of `unit`.
    pub fn remove(&mut self, unit: u32) {
        let at = self.find(unit);
        assert!(at != NIL, "the entry of unit {unit} is not cached");
        if self.entries[at as usize].dirty {
            self.unlink_dirty(at);
        }
        self.unlink(at);
        let chain = self.chain_of(unit);
        let after = self.entries[at as usize].chain;
        let mut before = self.chains[chain];
        if before == at {
            self.chains[chain] = after;
        } else {
            while self.entries[before as usize].chain != at {
                before = self.entries[before as usize].chain;
            }
            self.entries[before as usize].chain = after;
        }
        self.entries[at as usize].chain = std::mem::replace(&mut self.free, at);
        self.len -= 1;
    }

    /// Returns true if any entry of translation unit `t` changed.
    pub fn has_dirty(&self, t: u32) -> bool {
        self.dirty_of[t as usize] != NIL
    }

    /// Marks all entries of translation unit `t` as unchanged, since they are being written to flash.
    pub fn clean(&mut self, t: u32) {
        while self.dirty_of[t as usize] != NIL {
            self.unlink_dirty(self.dirty_of[t as usize]);
        }
    }

    fn unlink(&mut self, at: u32) {
        let Entry { previous, next, .. } = self.entries[at as usize];
        match previous {
            NIL => self.oldest = next,
            p => self.entries[p as usize].next = next,
        }
        match next {
            NIL => self.newest = previous,
            n => self.entries[n as usize].previous = previous,
        }
    }

    fn link_newest(&mut self, at: u32) {
        let newest = self.newest;
        (self.entries[at as usize].previous, self.entries[at as usize].next) = (newest, NIL);
        match newest {
            NIL => self.oldest = at,
            n => self.entries[n as usize].next = at,
        }
        self.newest = at;
    }

    fn link_dirty(&mut self, at: u32) {
        let t = (self.entries[at as usize].unit >> self.shift) as usize;
        let first = std::mem::replace(&mut self.dirty_of[t], at);
        if first != NIL {
            self.entries[first as usize].dirty_previous = at;
        }
        let entry = &mut self.entries[at as usize];
        (entry.dirty, entry.dirty_previous, entry.dirty_next) = (true, NIL, first);
    }

    fn unlink_dirty(&mut self, at: u32) {
        let Entry { unit, dirty_previous, dirty_next, .. } = self.entries[at as usize];
        match dirty_previous {
            NIL => self.dirty_of[(unit >> self.shift) as usize] = dirty_next,
            p => self.entries[p as usize].dirty_next = dirty_next,
        }
        if dirty_next != NIL {
            self.entries[dirty_next as usize].dirty_previous = dirty_previous;
        }
        self.entries[at as usize].dirty = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares the cache with a plain list of units in order of eviction, each with its marks.
        #[test]
        fn it_is_a_list_in_the_order_of_eviction(
            capacity in 1u32..6,
            policy in 0..3usize,
            steps in prop::collection::vec((0u8..6, 0u32..24), 0..200),
        ) {
            let eviction = [Eviction::Lru, Eviction::Fifo, Eviction::Clock][policy];
            let mut cache = MapEntries::new(capacity, eviction, 2, 6);
            let mut list: Vec<(u32, bool, bool)> = Vec::new();
            for (step, unit) in steps {
                let at = list.iter().position(|(other, ..)| *other == unit);
                match step {
                    0 => {
                        cache.clean(unit >> 2);
                        list.iter_mut().filter(|(other, ..)| other >> 2 == unit >> 2).for_each(|entry| entry.1 = false);
                    }
                    1 | 2 => {
                        prop_assert_eq!(cache.look_up(unit), at.is_some());
                        match (at, eviction) {
                            (Some(at), Eviction::Lru) => { let entry = list.remove(at); list.push(entry); }
                            (Some(at), Eviction::Clock) => list[at].2 = true,
                            _ => {}
                        }
                    }
                    _ => {
                        cache.insert(unit, step == 3);
                        match at {
                            Some(at) => list[at].1 |= step == 3,
                            None => list.push((unit, step == 3, false)),
                        }
                    }
                }
                if list.len() as u32 > capacity {
                    while list[0].2 {
                        let (unit, dirty, _) = list.remove(0);
                        list.push((unit, dirty, false));
                    }
                    let (unit, dirty, _) = list.remove(0);
                    prop_assert_eq!(cache.surplus(), Some((unit, dirty)));
                    cache.remove(unit);
                }
                prop_assert_eq!(cache.surplus(), None);
                for unit in 0..24 {
                    prop_assert_eq!(cache.contains(unit), list.iter().any(|(other, ..)| *other == unit));
                }
                for t in 0..6 {
                    prop_assert_eq!(cache.has_dirty(t), list.iter().any(|(unit, dirty, _)| *dirty && unit >> 2 == t));
                }
            }
        }
    }
}
