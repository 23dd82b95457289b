//! Where a generated job's requests go.

mod files;

use media::Request;

use super::pattern::Pattern;
pub(super) use files::Files;

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
    /// Starts again with the next of a job's loops.
    fn rewind(&mut self) {}
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
