//! Room in RAM: what writes, clean data and the layer's own units may take.

use sim::Time;

use crate::Ftl;
use crate::buffer::Buffer;
use crate::buffer::slots::{Holds, List, NIL, Owner};
use crate::location::Location;
use crate::sizes::SYSTEM_SLOTS;

impl Buffer {
    /// Returns the slots of host writes, including those reserved.
    #[inline]
    pub(crate) fn write_used(&self) -> u32 {
        self.write_used
    }

    /// Returns the maximum number of slots of host writes.
    #[inline]
    pub(crate) fn write_limit(&self) -> u32 {
        self.write_limit
    }

    /// Returns true if a slot for host writes is free.
    #[inline]
    pub(crate) fn has_write_room(&self) -> bool {
        self.write_used < self.write_limit
    }

    /// Returns the free slots for host writes, of which there must be some.
    #[inline]
    pub(crate) fn write_free(&self) -> u32 {
        self.write_limit - self.write_used
    }

    /// Adds `units` slots in host memory to those for host writes.
    pub(crate) fn add_lent(&mut self, units: u32) {
        self.write_limit += units;
    }

    /// Removes `units` slots in host memory from those for host writes.
    pub(crate) fn remove_lent(&mut self, units: u32) {
        self.write_limit -= units;
    }

    /// Frees the allowance of one slot of a host write.
    #[inline]
    pub(crate) fn release_write(&mut self) {
        self.write_used -= 1;
    }

    /// Returns the free slots for units of the layer itself.
    #[inline]
    pub(crate) fn system_free(&self) -> u32 {
        SYSTEM_SLOTS - self.system_used
    }

    /// Returns true while a write has reserved room for data that has not arrived.
    #[inline]
    pub(crate) fn expects_data(&self) -> bool {
        self.reserved > 0
    }

    /// Turns the reservation of `units` slots into slots in use.
    #[inline]
    pub(crate) fn data_arrived(&mut self, units: u32) {
        self.reserved -= units;
    }

    /// Returns the slots of host writes whose data has arrived.
    #[inline]
    pub(crate) fn write_stored(&self) -> u32 {
        self.write_used - self.reserved
    }

    /// Drops all reservations and claims, whose commands were dropped.
    pub(crate) fn drop_reservations(&mut self) {
        self.write_used -= self.reserved;
        self.reserved = 0;
        self.claims.clear();
    }

    /// Begins a read that fills in the missing sectors of a slot.
    pub(crate) fn begin_fill(&mut self) {
        self.fills += 1;
    }

    /// Ends a read that fills in the missing sectors of a slot.
    pub(crate) fn end_fill(&mut self) {
        self.fills -= 1;
    }

    /// Lets writes that complete when durable wait for the data of others, so as to share its programs.
    pub(crate) fn combine(&mut self) {
        self.combining = true;
    }

    /// Frees the allowance of a slot in a failed program, which is no longer needed.
    pub(crate) fn drop_moving(&mut self, owner: Owner) {
        match owner {
            Owner::Host => {
                self.write_used -= 1;
                self.moving -= 1;
            }
            Owner::System => self.system_used -= 1,
            Owner::Copy => {}
        }
    }

    /// Returns the list of clean slots, in order of use.
    #[inline]
    pub(crate) fn clean(&self) -> &List {
        &self.clean
    }

    /// Adds the clean `slot` as the one used last.
    #[inline]
    pub(crate) fn add_clean(&mut self, slot: u32) {
        self.slots[slot].epoch = self.next_use();
        self.slots.append(&mut self.clean, slot);
    }

    /// Inserts the clean `slot` at its `place` in the order of use.
    pub(crate) fn insert_clean(&mut self, slot: u32, place: u64) {
        self.slots[slot].epoch = place;
        self.slots.insert(&mut self.clean, slot);
    }

    /// Makes the clean `slot` the one used last.
    pub(crate) fn use_clean(&mut self, slot: u32) {
        self.remove_clean(slot);
        self.add_clean(slot);
    }

    /// Returns the next place in the order of use of clean data.
    #[inline]
    pub(crate) fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    /// Removes `slot` from the clean ones.
    #[inline]
    pub(crate) fn remove_clean(&mut self, slot: u32) {
        self.slots.remove(&mut self.clean, slot);
    }

    /// Returns true if data read often is copied to blocks that are read faster.
    #[inline]
    pub(crate) fn has_read_copies(&self) -> bool {
        self.read_copies.is_some()
    }

    /// Drops the read copy of `unit`, whose data changed.
    #[inline]
    pub(crate) fn drop_read_copy(&mut self, unit: u32) {
        if let Some(copies) = &mut self.read_copies {
            copies.drop_copy(unit);
        }
    }

    /// Records the time of a host read.
    #[inline]
    pub(crate) fn read_at(&mut self, now: Time) {
        if let Some(copies) = &mut self.read_copies {
            copies.read_at(now);
        }
    }

    /// Returns the time at which gathered read copies are programmed if no read occurs for `idle` before.
    pub(crate) fn copies_due(&self, idle: Time) -> Option<Time> {
        self.read_copies.as_ref().and_then(|copies| copies.due(idle))
    }
}

impl Ftl {
    /// Reserves `units` slots for a write whose data is to arrive, evicting clean data from a shared buffer if needed.
    /// Returns false if there is no room.
    pub(crate) fn reserve(&mut self, units: u32) -> bool {
        let limit = self.buffer.write_limit;
        if self.buffer.write_used + units > limit {
            return false;
        }
        if self.config.buffers.shared {
            while self.buffer.write_used + units + self.buffer.clean.len > limit {
                self.evict_clean();
            }
        }
        self.buffer.write_used += units;
        self.buffer.reserved += units;
        true
    }

    /// Returns the maximum number of clean units.
    pub(crate) fn clean_limit(&self) -> u32 {
        let b = self.config.buffers;
        if b.shared { (b.write + b.read).saturating_sub(self.buffer.write_used) } else { b.read + self.room_away().1 }
    }

    /// Makes room for a clean unit, evicting older ones if needed; returns false if clean data is not cached.
    pub(crate) fn room_for_clean(&mut self) -> bool {
        let limit = self.clean_limit();
        if limit == 0 {
            return false;
        }
        self.evict_to(limit - 1);
        true
    }

    pub(crate) fn evict_clean(&mut self) {
        let slot = self.buffer.clean.head;
        assert!(slot != NIL, "no clean unit to evict");
        self.drop_clean(slot);
    }

    /// Drops the clean data of `slot`, of which flash has a copy.
    pub(crate) fn drop_clean(&mut self, slot: u32) {
        self.leave_host_memory(slot);
        self.buffer.remove_clean(slot);
        let (unit, home) = (self.buffer.slots[slot].unit, self.buffer.slots[slot].home);
        self.map.table.set(unit, home);
        self.buffer.slots.give(slot);
    }

    /// Takes a slot for a unit of the layer itself, if its allowance has room.
    pub(crate) fn system_slot(&mut self, unit: u32) -> Option<u32> {
        if self.buffer.system_used == SYSTEM_SLOTS {
            return None;
        }
        self.buffer.system_used += 1;
        let home = self.home(unit);
        let slot = self.buffer.slots.take(unit, home, Holds::Dirty, Owner::System, self.layout.all_sectors);
        self.buffer.slots[slot].handle = 0;
        self.make_dirty(slot);
        self.map.table.set(unit, Location::buffer(slot));
        Some(slot)
    }
}
