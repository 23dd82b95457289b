//! What a machine records of its parts' work besides results: a timeline, and where the time of each request goes.

use sim::{Client, Span, Time, Timeline, Track};

use super::Machine;
use crate::trace::{Trace, Traced};

/// The recorders of a machine. One exists only if something is recorded, so that a machine without pays for one look.
#[derive(Default)]
pub(super) struct Observer {
    pub timeline: Option<Timeline>,
    pub trace: Option<Trace>,
}

impl Observer {
    /// Records that a track of the whole machine was busy.
    pub fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        if let Some(timeline) = &mut self.timeline {
            timeline.span(track, name, from, to);
        }
    }

    /// Records that a track of the host interface worked for `client`.
    pub fn interface(&mut self, track: Track, client: Client, name: &'static str, since: Time, span: Span) {
        self.span(track, name, span.from, span.to);
        if let Some(trace) = &mut self.trace {
            trace.interface(track, client, since, span);
        }
    }

    /// Records that a track of the flash, whose tracks begin at `first`, worked for `client`.
    pub fn flash(&mut self, first: u32, track: Track, client: Client, name: &'static str, span: Span) {
        self.span(Track(first + track.0), name, span.from, span.to);
        if let Some(trace) = &mut self.trace {
            trace.flash(track, client, span);
        }
    }
}

impl Machine {
    /// Records from now on where the time of each request goes: of those submitted afterwards.
    ///
    /// # Panics
    /// If the host is outside the simulation, or requests are in progress.
    pub fn keep_trace(&mut self) {
        assert!(!self.external, "requests of a host outside the simulation");
        assert!(self.next_event().is_none() || self.now() == Time::ZERO, "requests are in progress");
        let channels = self.nand.config().geometry.channels;
        let trace = Trace::new(
            &self.host_interface.tracks(),
            channels,
            (self.ftl.map_cache_use().is_some(), self.host_interface.has_single_buffer()),
        );
        self.world.observer.get_or_insert_default().trace = Some(trace);
        (self.attended, self.plain_reads) = (true, false);
    }

    /// Returns where the time of request `io` went, which has completed at `now` and whose number is not in use again;
    /// `None` without a trace.
    #[inline]
    pub fn traced(&mut self, now: Time, io: u32) -> Option<Traced> {
        Some(self.trace()?.completed(now, io))
    }

    #[inline]
    pub(super) fn trace(&mut self) -> Option<&mut Trace> {
        self.world.observer.as_mut()?.trace.as_mut()
    }
}
