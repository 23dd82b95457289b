//! Power-loss protection: capacitors power the controller until all acknowledged data is in flash.

use crate::{Actions, Ftl};

impl Ftl {
    /// Writes all dirty data and all trims to flash. The caller completes the issued operations as usual, until
    /// [`is_written_out`](Self::is_written_out) returns true, and sends no further commands. If no operation is left in
    /// progress and it still returns false, the caller calls this again: completed operations may have made other data
    /// dirty.
    pub fn write_out(&mut self, out: &mut Actions) {
        self.buffer.dirty.force();
        self.durability.journal.want_trims();
        self.dispatch(out);
    }

    /// Returns true if the flash holds all acknowledged data and trims: nothing in RAM is newer.
    pub fn is_written_out(&self) -> bool {
        self.buffer.dirty.is_empty()
            && self.durability.sequence.oldest() == self.durability.sequence.next()
            && self.durability.journal.all_durable()
    }
}
