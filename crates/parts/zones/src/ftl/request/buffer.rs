//! The write buffer: slots of a unit each, and the commands that wait for room.

use std::collections::VecDeque;

use media::Tag;

/// No slot: padding of a program, or a unit whose data is in flash.
pub(crate) const NIL: u32 = u32::MAX;
/// A unit of a write whose data has not arrived.
pub(crate) const EXPECTED: u32 = u32::MAX - 1;

/// The slots of the write buffer, and the writes that wait for some.
pub(crate) struct Buffer {
    free: Vec<u32>,
    /// Slots that no write has reserved.
    room: u32,
    slots: u32,
    program_units: u32,
    waiting: VecDeque<Tag>,
}

impl Buffer {
    pub(crate) fn new(slots: u32, program_units: u32) -> Buffer {
        Buffer { free: (0..slots).rev().collect(), room: slots, slots, program_units, waiting: VecDeque::new() }
    }

    /// Returns the number of buffers: the slots, one for each unit of a moved page, and one of undefined content.
    pub(crate) fn count(&self) -> u32 {
        self.slots + self.program_units + 1
    }

    /// Returns the buffer of unit `at` of a page that is being moved.
    pub(crate) fn moving(&self, at: u32) -> u32 {
        self.slots + at
    }

    /// Returns the buffer of undefined content.
    pub(crate) fn filler(&self) -> u32 {
        self.slots + self.program_units
    }

    /// Reserves slots for a write that no other waits before, or queues it. Returns whether they are reserved.
    pub(crate) fn reserve_or_wait(&mut self, tag: Tag, units: u32) -> bool {
        if self.waiting.is_empty() && self.room >= units {
            self.room -= units;
            return true;
        }
        self.waiting.push_back(tag);
        false
    }

    /// Returns the first waiting write, if `units_of` it have room now, and reserves it.
    pub(crate) fn admit(&mut self, units_of: impl Fn(Tag) -> u32) -> Option<Tag> {
        let first = *self.waiting.front()?;
        let units = units_of(first);
        if self.room < units {
            return None;
        }
        self.room -= units;
        self.waiting.pop_front()
    }

    /// Takes a reserved slot.
    pub(crate) fn take(&mut self) -> u32 {
        self.free.pop().expect("a slot was reserved")
    }

    /// Returns a slot, whose room can be reserved again.
    pub(crate) fn give(&mut self, slot: u32) {
        debug_assert!(slot < self.slots);
        self.free.push(slot);
        self.room += 1;
    }

    /// Returns the reservation of `units` slots that will not be taken.
    pub(crate) fn release(&mut self, units: u32) {
        self.room += units;
    }

    /// Takes a slot for data found at the mount.
    pub(crate) fn take_unreserved(&mut self) -> u32 {
        self.room -= 1;
        self.take()
    }

    /// Drops waiting commands and all reservations; slots in use stay so.
    pub(crate) fn forget_commands(&mut self) {
        self.waiting.clear();
        self.room = self.free.len() as u32;
    }
}
