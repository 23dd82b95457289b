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
        self.pump(out);
    }

    /// True if the flash holds all that was acknowledged: nothing in RAM is newer, and no trim is unknown to it.
    pub fn is_written_out(&self) -> bool {
        self.dirty.head == NIL && self.sequence.oldest() == self.sequence.next() && self.journal.all_durable()
    }

    #[doc(hidden)]
    #[allow(missing_docs)]
    pub fn debug_state(&self) -> String {
        let mut t = format!("dirty {} head {:?} write_used {} system {} durable {:?} sealed {} empty {:?} stalled {} retries {} ro {} active {} seq {}..{} epoch {} force {} gen {:?} space {:?}",
            self.dirty.len, (self.dirty.head != NIL).then(|| self.slots[self.dirty.head]), self.write_used, self.system_used, self.durable, self.sealed,
            self.empty, self.host_stalled, self.retries, self.read_only, self.operations.active(), self.sequence.oldest(), self.sequence.next(), self.epoch, self.force_epoch, self.journal.all_durable(), self.space_queue);
        for l in &self.lanes { t += &format!("\n  {}", l.debug_state()); }
        t
    }

    #[doc(hidden)]
    #[allow(missing_docs)]
    pub fn debug_blocks(&self) -> String {
        (0..self.layout.all_blocks()).map(|b| format!("{b}:{:?}/{} ", self.blocks.usage(b), self.blocks.valid(b))).collect()
    }
}
