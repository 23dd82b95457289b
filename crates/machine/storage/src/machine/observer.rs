//! What a machine records of its parts' work besides results: a timeline, and where the time of each request goes.

use sim::{Client, Span, Time, Timeline, Track, rarely};

use crate::trace::Trace;

/// The recorders of a machine. One exists only if something is recorded, so that a machine without pays for one look; their
/// calls are cold, so that what they need is in no register of a machine without.
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

    /// Records that a track of the host interface worked for `client`. No closure, so that most arguments are passed in
    /// registers.
    #[cold]
    pub fn interface(&mut self, track: Track, client: Client, since: Time, span: Span, name: &'static str) {
        if let Some(trace) = &mut self.trace {
            trace.interface(track, client, since, span);
        }
        if self.timeline.is_some() {
            rarely(self, move |it| it.span(track, name, span.from, span.to));
        }
    }

    /// Records that a track of the flash, whose tracks begin at `first`, worked for `client`.
    #[cold]
    pub fn flash(&mut self, track: Track, client: Client, span: Span, first: u32, name: &'static str) {
        if let Some(trace) = &mut self.trace {
            trace.flash(track, client, span);
        }
        if self.timeline.is_some() {
            rarely(self, move |it| it.span(Track(first + track.0), name, span.from, span.to));
        }
    }
}
