//! Power-loss protection: capacitors power the controller until all acknowledged data is in flash.

use crate::{Actions, Ftl};

impl Ftl {
    /// Writes all dirty data and all trims to flash. The caller completes the issued operations as usual, until
    /// [`is_written_out`](Self::is_written_out) returns true, and sends no further commands. If no operation is left in
    /// progress and it still returns false, the caller calls this again: completed operations may have made other data
    /// dirty.
    pub fn write_out(&mut self, out: &mut Actions) {
        self.dirty.force();
        self.journal.want_trims();
        self.dispatch(out);
    }

    /// Returns true if the flash holds all acknowledged data and trims: nothing in RAM is newer.
    pub fn is_written_out(&self) -> bool {
        self.dirty.is_empty() && self.sequence.oldest() == self.sequence.next() && self.journal.all_durable()
    }
}
