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

pub(super) use job::ZonedJob;
pub(super) use place::InZones;
pub(super) use zones::Zones;
