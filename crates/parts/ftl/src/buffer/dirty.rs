//! Slots whose data is newer than flash and not in a program yet.

use crate::buffer::slots::{List, NIL, Slots};
use crate::location::Location;

/// Dirty slots in the order in which they became dirty, which an epoch counts.
pub(crate) struct DirtySlots {
    list: List,
    epoch: u64,
    /// Slots up to this epoch are written without waiting for more.
    forced: u64,
    /// The next dispatch has slots to write.
    due: bool,
}

impl DirtySlots {
    pub(crate) fn new() -> DirtySlots {
        DirtySlots { list: List::new(), epoch: 0, forced: 0, due: false }
    }

    /// Returns the slot that became dirty first ([`NIL`]: none).
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.list.head
    }

    /// Returns true if no slot is dirty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.list.head == NIL
    }

    /// Returns the number of slots.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.list.len
    }

    /// Returns the epoch of the slot that became dirty last.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Takes a free slot for host data of `unit`, of which the sectors in `have` are there.
    #[inline]
    pub(crate) fn take(&mut self, slots: &mut Slots, unit: u32, home: Location, have: u64) -> u32 {
        self.epoch += 1;
        slots.take_dirty(&mut self.list, self.epoch, unit, home, have)
    }

    /// Adds `slot`, which became dirty, and requests a dispatch.
    pub(crate) fn add(&mut self, slots: &mut Slots, slot: u32) {
        self.epoch += 1;
        slots[slot].epoch = self.epoch;
        slots.append(&mut self.list, slot);
        self.due = true;
    }

    /// Removes `slot`.
    pub(crate) fn remove(&mut self, slots: &mut Slots, slot: u32) {
        slots.remove(&mut self.list, slot);
    }

    /// Removes and returns the slot that became dirty first; there must be one.
    #[inline]
    pub(crate) fn take_first(&mut self, slots: &mut Slots) -> u32 {
        slots.remove_first(&mut self.list)
    }

    /// Makes all present slots go to flash without waiting for more.
    pub(crate) fn force(&mut self) {
        self.forced = self.epoch;
    }

    /// Returns true if a slot that became dirty at `epoch` goes to flash without waiting for more.
    #[inline]
    pub(crate) fn is_forced(&self, epoch: u64) -> bool {
        epoch <= self.forced
    }

    /// Requests that the next dispatch write slots.
    pub(crate) fn request_dispatch(&mut self) {
        self.due = true;
    }

    /// Returns true if a dispatch should write slots.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// Begins a dispatch.
    #[inline]
    pub(crate) fn begin_dispatch(&mut self) {
        self.due = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slots_dirty_before_the_request_are_forced() {
        let (mut slots, mut dirty) = (Slots::new(4), DirtySlots::new());
        let early = dirty.take(&mut slots, 7, Location::NOWHERE, 1);
        dirty.force();
        let late = dirty.take(&mut slots, 8, Location::NOWHERE, 1);
        assert!(dirty.is_forced(slots[early].epoch) && !dirty.is_forced(slots[late].epoch) && !dirty.is_due());
        assert_eq!((dirty.first(), dirty.len()), (early, 2));
        dirty.remove(&mut slots, early);
        dirty.add(&mut slots, early);
        assert!(dirty.is_due() && slots[early].epoch == dirty.epoch() && !dirty.is_forced(slots[early].epoch));
        assert_eq!([dirty.take_first(&mut slots), dirty.take_first(&mut slots)], [late, early]);
        assert!(dirty.is_empty());
    }
}
