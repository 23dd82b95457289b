//! Effects of a trim on the map in flash.
//!
//! A translation unit that a trim covers fully maps nothing any more: it is dropped, like an empty entry of the
//! directory of translation units. One that a trim covers partly changes as if by a write.

use std::ops::Range;

use media::OpId;

use crate::location::{DecodedLocation, Location};
use crate::map::frames::{ABSENT, FETCHING};
use crate::{Actions, Ftl};

impl Ftl {
    /// Updates the map after `unit` was trimmed by a command that trims `range`. `noted` is the last translation unit
    /// that this command changed.
    pub(crate) fn map_trimmed(&mut self, unit: u32, range: &Range<u64>, noted: &mut Option<u32>, out: &mut Actions) {
        let map = self.map.cache.as_ref().expect("called only if the map is cached");
        let Some(t) = map.translation(unit).filter(|t| Some(*t) != *noted) else { return };
        *noted = Some(t);
        let mapped = map.mapped_by(t);
        if range.start <= u64::from(mapped.start) && u64::from(mapped.end) <= range.end {
            self.forget_translation(t);
        } else if self.caches_entries() {
            self.start_merge(t, out);
            self.evict_entries(out);
        } else {
            let end = range.end.min(u64::from(mapped.end)) as u32;
            self.map_changed(unit, end - unit, out);
        }
    }

    /// Drops translation unit `t`, which maps nothing: neither its changes nor its copy in flash are needed.
    fn forget_translation(&mut self, t: u32) {
        let entries = self.caches_entries();
        let map = self.map.cache.as_mut().expect("called only if the map is cached");
        let (state, logical) = (map.state[t as usize], map.first + t);
        map.stale[t as usize] = false;
        map.dirty[t as usize] = false;
        let _ = map.pending.take(t);
        if entries {
            self.entries_written_back(t);
        }
        if state != ABSENT && state & FETCHING != 0 {
            let changes = std::mem::take(&mut self.operations[OpId(state & !FETCHING)].mask);
            if entries && changes != 0 {
                self.entries().merging -= 1;
            }
        }
        // A copy being programmed still reaches flash, where the next one supersedes it.
        if let DecodedLocation::Flash(_) = self.place(logical) {
            let home = self.map.table.get(logical);
            self.map.table.set(logical, Location::NOWHERE);
            self.invalidate(home);
        }
    }
}
