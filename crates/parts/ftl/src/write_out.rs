//! The power fails, and capacitors keep the controller alive until what was promised is in flash.

use crate::buffer::NIL;
use crate::{Actions, Ftl};

impl Ftl {
    /// All that is dirty goes to flash, and every trim with it. The operations asked for are to be answered as always,
    /// until [`is_written_out`](Self::is_written_out); no command may follow. To be called again when nothing is under
    /// way and it is not: what was asked for may have made something else dirty.
    pub fn write_out(&mut self, out: &mut Actions) {
        self.force_epoch = self.epoch;
        self.journal.want_trims();
        self.dispatch(out);
    }

    /// True if the flash holds all that was acknowledged: nothing in RAM is newer, and no trim is unknown to it.
    pub fn is_written_out(&self) -> bool {
        self.dirty.head == NIL && self.sequence.oldest() == self.sequence.next() && self.journal.all_durable()
    }
}
