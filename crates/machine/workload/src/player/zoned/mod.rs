//! Jobs of `zonemode=zbd`: fio's rules, by which requests go to the write pointers of zones.
//!
//! All such jobs share one view of the zones ([`Zones`]), as in fio: write pointers move when a write is issued. A job
//! holds a zone while its requests to it are outstanding, and other jobs wait for it. Resets and finishes of zones are
//! requests of their own, which do not count in statistics; a job waits for its outstanding requests before it issues
//! one, and for its end.

mod choice;
mod job;
mod place;
mod report;
mod zones;

use media::SECTOR;

use crate::fio::{Job, WRITE, ZoneMode, divisor};

pub(super) use job::ZonedJob;
pub(super) use place::InZones;
pub(super) use zones::Zones;

/// Returns a common divisor of the offsets and sizes of all writes to zones of `zone` bytes. A write begins where that of
/// any other job ended.
pub(super) fn unit<'a>(jobs: impl Iterator<Item = &'a Job>, zone: u64) -> u64 {
    let writers = jobs.filter(|job| job.zone_mode == ZoneMode::Zbd && job.rw.has(WRITE));
    writers.fold(zone, |unit, job| if job.zbd.fills_ends { SECTOR } else { divisor(job.granularity(WRITE), unit) })
}
