//! Reports between a drive with zones and its jobs: the write pointers before a run, and notes after it.

use crate::player::{Player, Source};
use crate::workload::Workload;

impl Player {
    /// Returns whether jobs use zones of the drive, so that [`report_zones`](Self::report_zones) is due before the first
    /// request.
    pub fn uses_zones(&self) -> bool {
        self.zones.as_ref().is_some_and(|zones| zones.are_real())
    }

    /// Sets the write pointer of each zone: `written` returns its distance from the zone's start in bytes.
    pub fn report_zones(&mut self, written: impl Fn(u32) -> u64) {
        if let Some(zones) = &mut self.zones {
            zones.report(written);
        }
    }

    /// Returns notes on the zones that the jobs have used, one line each: how many were reset, and whether a job found no
    /// data to read.
    pub fn zone_notes(&self, workload: &Workload) -> Vec<String> {
        let mut resets: Vec<(&str, u64)> = Vec::new();
        let mut notes = Vec::new();
        for (job, info) in self.jobs.iter().zip(workload.jobs()) {
            let Source::Zoned(zoned) = &job.source else { continue };
            if zoned.1.found_nothing() && job.lifecycle.begun {
                notes.push(format!("{}: job \"{}\": no zone holds data for it to access", workload.file, info.name));
            }
            match resets.last_mut() {
                Some((name, count)) if *name == info.name => *count += zoned.1.resets(),
                _ => resets.push((&info.name, zoned.1.resets())),
            }
        }
        let reset = |(name, count): &(&str, u64)| match count {
            0 => None,
            1 => Some(format!("{}: job \"{name}\": 1 zone was reset before it was written again", workload.file)),
            _ => Some(format!("{}: job \"{name}\": zones were reset {count} times to be written again", workload.file)),
        };
        notes.extend(resets.iter().filter_map(reset));
        notes
    }
}
