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

use media::Request;

use super::pattern::Pattern;
pub(super) use job::ZonedJob;
pub(super) use place::InZones;
pub(super) use zones::Zones;

/// Answer to a job that has drawn a request.
pub(super) enum Placed {
    /// The request, and the number that its end reports.
    Request(Request, u32),
    /// A reset or finish of a zone that comes first.
    Manage(Request, u32),
    /// Nothing until one of the job's requests ends.
    Park,
    /// Nothing until a request of another job to a zone ends.
    Hold,
    /// No request can be placed.
    End,
}

/// Placement of a generated job's requests.
pub(super) trait Placing {
    /// Returns the direction of a request that was drawn and has no place yet.
    fn waiting(&self) -> Option<usize>;
    /// Returns the direction of the next request.
    fn choose(&mut self, pattern: &mut Pattern) -> usize;
    /// Draws and places a request of a direction. `in_flight` requests of the job are outstanding.
    fn place(&mut self, pattern: &mut Pattern, direction: usize, in_flight: u32) -> Placed;
}

/// The placement of a job without zones: requests go where they were drawn.
pub(super) struct AsDrawn;

impl Placing for AsDrawn {
    #[inline]
    fn waiting(&self) -> Option<usize> {
        None
    }

    #[inline]
    fn choose(&mut self, pattern: &mut Pattern) -> usize {
        pattern.choose()
    }

    #[inline]
    fn place(&mut self, pattern: &mut Pattern, direction: usize, _: u32) -> Placed {
        pattern.draw(direction).map_or(Placed::End, |request| Placed::Request(request, 0))
    }
}
