//! The RAM that data passes through: one slot per mapping unit, in one array, linked into intrusive lists.

use sim::Dense;

use crate::location::Location;

/// No slot.
pub const NIL: u32 = u32::MAX;

/// State of the data in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// None: the slot is on the free list.
    Nothing,
    /// Newer than flash, and not yet in a program.
    Dirty,
    /// In a program in progress, or read to be copied.
    Moving,
    /// Identical to the copy in flash.
    Clean,
    /// No longer needed, but a read into the slot is still in progress.
    Doomed,
}

/// Allowance that a slot counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Host writes.
    Host,
    /// Units of the layer itself (translation, journal).
    System,
    /// Collection.
    Copy,
}

/// One unit of RAM.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Logical unit.
    pub unit: u32,
    /// Flash address of the newest copy that was handed to flash.
    pub home: Location,
    /// Sectors that hold data, one bit each; incomplete only in a dirty slot that waits for the rest from flash.
    pub have: u64,
    /// Time at which the slot became dirty, counted in writes; of a clean slot, its place in the order of use.
    pub epoch: u64,
    /// State of its data.
    pub holds: Holds,
    /// Allowance that it counts against.
    pub owner: Owner,
    /// Reclaim unit handle of dirty data and of copies; 0 without placement.
    pub handle: u8,
    /// A read into the slot is in progress.
    pub filling: bool,
    /// Some of its data could not be read.
    pub lost: bool,
    /// Its data is in host memory and not in the controller.
    pub away: bool,
    /// First of the reads that wait for its data ([`NIL`]: none).
    pub waiters: u32,
    previous: u32,
    next: u32,
}

/// A doubly linked list of slots.
#[derive(Clone, Copy, Debug)]
pub struct List {
    /// First slot.
    pub head: u32,
    tail: u32,
    /// Number of slots.
    pub len: u32,
}

impl List {
    /// An empty list.
    pub const fn new() -> List {
        List { head: NIL, tail: NIL, len: 0 }
    }
}

/// The slot table and its free list.
pub struct Slots {
    slots: Dense<Slot>,
    free: u32,
}

impl std::ops::Index<u32> for Slots {
    type Output = Slot;
    #[inline]
    fn index(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }
}

impl std::ops::IndexMut<u32> for Slots {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }
}

impl Slots {
    /// Creates `count` free slots.
    pub fn new(count: u32) -> Slots {
        let slot = |i: u32| Slot {
            unit: 0,
            home: Location::NOWHERE,
            have: 0,
            epoch: 0,
            holds: Holds::Nothing,
            owner: Owner::Host,
            handle: 0,
            filling: false,
            lost: false,
            away: false,
            waiters: NIL,
            previous: NIL,
            next: if i + 1 < count { i + 1 } else { NIL },
        };
        let slots = Dense::new((0..count).map(slot).collect());
        Slots { slots, free: if count > 0 { 0 } else { NIL } }
    }

    /// Returns the number of slots.
    pub fn count(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Returns the number of free slots.
    #[cfg(test)]
    fn free_count(&self) -> u32 {
        let some = |id: u32| (id != NIL).then_some(id);
        std::iter::successors(some(self.free), |id| some(self.slots[*id as usize].next)).count() as u32
    }

    /// Takes a free slot in which the sectors in `have` hold data.
    ///
    /// # Panics
    /// If no slot is free, which the accounting of allowances rules out.
    #[inline]
    pub fn take(&mut self, unit: u32, home: Location, holds: Holds, owner: Owner, have: u64) -> u32 {
        let id = self.free;
        let Some(slot) = self.slots.get_mut(id as usize) else {
            panic!("no free slot, although the allowance has room ({owner:?})")
        };
        self.free = slot.next;
        debug_assert_eq!(slot.holds, Holds::Nothing);
        debug_assert_eq!(slot.waiters, NIL);
        // The epoch is set when the slot becomes dirty, its neighbors when it joins a list.
        (slot.unit, slot.home, slot.have) = (unit, home, have);
        (slot.holds, slot.owner, slot.filling, slot.lost) = (holds, owner, false, false);
        id
    }

    /// Like [`take`](Self::take), for host data that is dirty since `epoch`: the slot is appended to `list`.
    #[inline]
    pub fn take_dirty(&mut self, list: &mut List, epoch: u64, unit: u32, home: Location, have: u64) -> u32 {
        let (id, tail) = (self.free, list.tail);
        let Some(slot) = self.slots.get_mut(id as usize) else {
            panic!("no free slot, although the allowance for host data has room")
        };
        self.free = slot.next;
        debug_assert_eq!(slot.holds, Holds::Nothing);
        debug_assert_eq!(slot.waiters, NIL);
        (slot.unit, slot.home, slot.have, slot.epoch) = (unit, home, have, epoch);
        (slot.holds, slot.owner, slot.filling, slot.lost) = (Holds::Dirty, Owner::Host, false, false);
        (slot.previous, slot.next) = (tail, NIL);
        match self.slots.get_mut(tail as usize) {
            Some(last) => last.next = id,
            None => list.head = id,
        }
        list.tail = id;
        list.len += 1;
        id
    }

    /// Returns a slot, which must be in no list, to the free list. Returns what it held.
    #[inline]
    pub fn give(&mut self, id: u32) -> Slot {
        let free = self.free;
        let slot = &mut self.slots[id as usize];
        debug_assert_ne!(slot.holds, Holds::Nothing, "slot {id} is freed twice");
        debug_assert_eq!(slot.waiters, NIL, "slot {id} is freed while reads wait for it");
        debug_assert!(!slot.away, "slot {id} is freed while its data is in host memory");
        let held = *slot;
        slot.holds = Holds::Nothing;
        slot.next = free;
        self.free = id;
        held
    }

    /// Drops all reads that wait for slots.
    pub fn forget_waiters(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.waiters = NIL);
    }

    /// Returns the slot after `id` in its list.
    pub fn next(&self, id: u32) -> u32 {
        self.slots[id as usize].next
    }

    /// Appends `id` to `list`.
    #[inline]
    pub fn append(&mut self, list: &mut List, id: u32) {
        let tail = list.tail;
        let slot = &mut self.slots[id as usize];
        slot.previous = tail;
        slot.next = NIL;
        if tail == NIL {
            list.head = id;
        } else {
            self.slots[tail as usize].next = id;
        }
        list.tail = id;
        list.len += 1;
    }

    /// Inserts `id` in `list`, which is in the order of epochs, at the place of its epoch.
    pub fn insert(&mut self, list: &mut List, id: u32) {
        let epoch = self[id].epoch;
        let (mut previous, mut next) = (list.tail, NIL);
        while previous != NIL && self[previous].epoch > epoch {
            (previous, next) = (self[previous].previous, previous);
        }
        (self[id].previous, self[id].next) = (previous, next);
        match self.slots.get_mut(previous as usize) {
            Some(before) => before.next = id,
            None => list.head = id,
        }
        match self.slots.get_mut(next as usize) {
            Some(after) => after.previous = id,
            None => list.tail = id,
        }
        list.len += 1;
    }

    /// Puts `id` at the front of `list`.
    pub fn prepend(&mut self, list: &mut List, id: u32) {
        let head = list.head;
        let slot = &mut self.slots[id as usize];
        slot.previous = NIL;
        slot.next = head;
        if head == NIL {
            list.tail = id;
        } else {
            self.slots[head as usize].previous = id;
        }
        list.head = id;
        list.len += 1;
    }

    /// Removes and returns the first slot of `list`, which must not be empty.
    #[inline]
    pub fn remove_first(&mut self, list: &mut List) -> u32 {
        let id = list.head;
        let next = self.slots[id as usize].next;
        list.head = next;
        if next == NIL {
            list.tail = NIL;
        } else {
            self.slots[next as usize].previous = NIL;
        }
        list.len -= 1;
        id
    }

    /// Removes `id` from `list`.
    #[inline]
    pub fn remove(&mut self, list: &mut List, id: u32) {
        let Slot { previous, next, .. } = self.slots[id as usize];
        if previous == NIL {
            debug_assert_eq!(list.head, id);
            list.head = next;
        } else {
            self.slots[previous as usize].next = next;
        }
        if next == NIL {
            list.tail = previous;
        } else {
            self.slots[next as usize].previous = previous;
        }
        list.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn a_list_is_a_deque(steps in prop::collection::vec((0u8..3, any::<prop::sample::Index>()), 0..200)) {
            let mut slots = Slots::new(16);
            let mut list = List::new();
            let mut oracle: VecDeque<u32> = VecDeque::new();
            for (what, index) in steps {
                if what > 0 && oracle.len() < 16 {
                    let id = slots.take(0, Location::NOWHERE, Holds::Dirty, Owner::Host, 0);
                    slots.append(&mut list, id);
                    oracle.push_back(id);
                } else if what == 0 && oracle.len() > 8 {
                    prop_assert_eq!(slots.remove_first(&mut list), oracle[0]);
                    slots.give(oracle.pop_front().unwrap());
                } else if !oracle.is_empty() {
                    let id = oracle.remove(index.index(oracle.len())).unwrap();
                    slots.remove(&mut list, id);
                    slots.give(id);
                }
                prop_assert_eq!(list.len as usize, oracle.len());
                prop_assert_eq!(slots.free_count() as usize, 16 - oracle.len());
                let mut at = list.head;
                for id in &oracle {
                    prop_assert_eq!(at, *id);
                    at = slots[at].next;
                }
                prop_assert_eq!(at, NIL);
            }
        }
    }
}
