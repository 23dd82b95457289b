//! Choice of the zone of a write.

use super::job::Pending;
use super::{ZonedJob, Zones};
use crate::fio::WRITE;
use crate::player::placing::Placed;

/// The zone of a write.
pub(super) enum Choice {
    Zone(u32),
    /// None until one of the job's requests ends.
    Park,
    /// None until a request of another job ends.
    Hold,
    /// No space for a request is left in any zone: this one is finished.
    Finish(u32),
    /// The job cannot write.
    End,
}

impl From<Choice> for Placed {
    fn from(choice: Choice) -> Placed {
        match choice {
            Choice::Park => Placed::Park,
            Choice::Hold => Placed::Hold,
            Choice::Zone(_) | Choice::Finish(_) | Choice::End => Placed::End,
        }
    }
}

impl ZonedJob {
    /// Returns whether a zone has no space for a write.
    pub(super) fn is_full(&self, zones: &Zones, zone: u32) -> bool {
        zones.room(zone) < if self.keys.fills_ends { 1 } else { self.least[WRITE] }
    }

    /// Makes a zone a target. Returns whether it may be written, after a reset if it is full.
    fn targets(&self, zones: &mut Zones, zone: u32) -> bool {
        if self.keeps_data && self.is_full(zones, zone) {
            return false;
        }
        if zones.open_max == 0 {
            return true;
        }
        if zones.zones[zone as usize].target {
            // Outstanding writes fill it.
            return zones.room(zone) > 0;
        }
        let own = self.keys.job_open_max;
        if (own > 0 && zones.chosen[self.index as usize] >= own) || zones.targets.len() as u32 >= zones.open_max {
            return false;
        }
        zones.add_target(zone, self.index);
        true
    }

    fn owns(&self, zone: u32) -> bool {
        (self.first..self.end).contains(&zone)
    }

    /// Returns a target of the job's, at the position among all that corresponds to an offset in the region.
    fn pick(&self, zones: &Zones, at: u64) -> Option<u32> {
        let count = zones.targets.len();
        let from = (u128::from(at - self.region.start) * count as u128 / u128::from(self.region.bytes)) as usize;
        (0..count).map(|step| zones.targets[(from + step) % count]).find(|zone| self.owns(*zone))
    }

    /// Chooses the zone of a write that was drawn in `zone`. The steps are those of fio.
    pub(super) fn choose(&self, zones: &mut Zones, zone: u32, pending: &Pending, in_flight: u32) -> Choice {
        if self.targets(zones, zone) {
            return Choice::Zone(zone);
        }
        let mut from = zone;
        if zones.open_max > 0 && !zones.targets.is_empty() {
            match self.pick(zones, pending.at) {
                Some(target) => from = target,
                None => return Choice::End,
            }
        }
        if (zones.open_max == 0 || zones.zones[from as usize].target) && zones.room(from) >= self.least[WRITE] {
            return Choice::Zone(from);
        }
        let count = zones.targets.len() as u32;
        let own = self.keys.job_open_max;
        let at_limit = count == self.end - self.first
            || (zones.open_max > 0 && count == zones.open_max)
            || (own > 0 && zones.chosen[self.index as usize] == own);
        if !self.keys.fills_ends && at_limit && in_flight > 0 {
            return Choice::Park;
        }
        if self.random {
            from = zone;
        }
        for _ in 0..self.end - self.first {
            from = if from + 1 < self.end { from + 1 } else { self.first };
            if !zones.zones[from as usize].target && self.targets(zones, from) {
                return Choice::Zone(from);
            }
        }
        for at in 0..zones.targets.len() {
            let target = zones.targets[at];
            if self.owns(target) && !self.is_full(zones, target) && self.targets(zones, target) {
                return Choice::Zone(target);
            }
        }
        match () {
            () if in_flight > 0 => Choice::Park,
            () if zones.in_flight > 0 => Choice::Hold,
            () if self.random && !self.keeps_data && !self.keys.fills_ends => {
                self.pick(zones, pending.at).map_or(Choice::End, Choice::Finish)
            }
            () => Choice::End,
        }
    }
}
