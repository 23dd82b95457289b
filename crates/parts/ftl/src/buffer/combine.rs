//! Data that a program waits for to avoid padding: the rest of partially written units, and writes whose data has not
//! arrived.

use crate::Ftl;
use crate::buffer::slots::NIL;

impl Ftl {
    /// Returns true if the next program would hold a unit whose remaining sectors are still being read: padded to end
    /// before that unit, it would waste the rest of its page. The read ends soon, and the program is then reconsidered.
    pub(crate) fn fills_next(&self) -> bool {
        let mut slot = self.buffer.dirty.first();
        for _ in 0..self.layout.program_units {
            // With less than a program's worth of dirty data, only forced slots are written.
            if slot == NIL
                || !(self.buffer.destaging
                    || self.buffer.dirty.is_forced(self.buffer.slots[slot].epoch)
                    || self.is_starved())
            {
                return false;
            }
            if self.buffer.slots[slot].filling {
                return true;
            }
            slot = self.buffer.slots.next(slot);
        }
        false
    }

    /// Ends the wait of writes that are acknowledged from flash, so that they share programs with writes whose data has
    /// not arrived: all go to flash when the last data has arrived, or as soon as there is a program's worth.
    #[inline]
    pub(crate) fn end_combining(&mut self) {
        if self.buffer.combining && self.buffer.reserved == 0 {
            self.buffer.combining = false;
            self.buffer.dirty.request_dispatch();
            self.buffer.dirty.force();
        }
    }
}
