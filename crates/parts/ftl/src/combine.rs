//! What a program waits for, so that it is not padded: the rest of units that are written in part, and writes whose data
//! is on its way.

use crate::Ftl;
use crate::buffer::NIL;

impl Ftl {
    /// True if the next program would hold a unit whose other sectors are still being read: padded to end before that
    /// unit, it would waste the rest of its page. The read ends soon, and its end has the program looked at again.
    #[cold]
    pub(crate) fn fills_next(&self) -> bool {
        let mut slot = self.dirty.head;
        for _ in 0..self.layout.program_units {
            // Unless there is a program's worth of dirty data, only what is forced goes.
            if slot == NIL || !(self.destaging || self.slots[slot].epoch <= self.force_epoch || self.is_starved()) {
                return false;
            }
            if self.slots[slot].filling {
                return true;
            }
            slot = self.slots.next(slot);
        }
        false
    }

    /// Writes that are acknowledged from flash share programs with those whose data is on its way: all go to flash once
    /// the last data has come, or as soon as there is a program's worth.
    #[inline]
    pub(crate) fn end_combining(&mut self) {
        if self.combining && self.reserved == 0 {
            self.combining = false;
            self.has_work = true;
            self.force_epoch = self.epoch;
        }
    }
}
