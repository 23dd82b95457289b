//! A restart after a fault: memory is lost, and files keep what was written to the drive.

use super::frames::{CACHED, DIRTY, LOCKED, NONE, WRITEBACK};
use super::{ABSENT, AreaKind, Linux, ON_FILE, SWAPPED};

impl Linux {
    /// Empties memory and the swap area. Pages that are being read or written stay until their command ends.
    pub(super) fn restart(&mut self) {
        for page in 0..self.places.len() as u64 {
            let place = self.places[page as usize];
            if place == ABSENT || place == ON_FILE {
                continue;
            }
            let lost = if self.area(page) == AreaKind::Anonymous { ABSENT } else { ON_FILE };
            if place >= SWAPPED {
                self.swap.release(place & !SWAPPED);
                self.places[page as usize] = lost;
                continue;
            }
            let frame = self.frames.get(place);
            if frame.flags & (LOCKED | WRITEBACK) != 0 || frame.waiters != 0 {
                continue;
            }
            if frame.is(DIRTY | CACHED) {
                self.dirty -= 1;
            }
            if frame.slot != NONE {
                let slot = frame.slot;
                self.swap.release(slot);
            }
            self.frames.release(place);
            self.places[page as usize] = lost;
            self.effects.forgotten.push(page);
            self.effects.overwritten.push(u64::from(place));
        }
        self.dirtied.clear();
        for caller in &mut self.callers {
            caller.dirtied.clear();
        }
        self.mapped_misses = 0;
    }
}
