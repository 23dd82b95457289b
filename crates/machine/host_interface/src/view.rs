//! Views of the event loop and the timeline for the parts of a path.

use sim::{Client, Lane, Schedule, Span, Time, Track};

use crate::event::{Event, HOST_LANE};

/// Rows of the link on the timeline, by direction.
pub(crate) const LINK: [&str; 2] = ["to device", "to host"];

/// Returns the rows of the timeline for a path with a [`link::Link`]: part and name.
pub(crate) fn rows(host: Vec<String>, device: Vec<String>) -> Vec<(String, String)> {
    let parts = [("host", host), ("link", LINK.map(str::to_owned).to_vec()), ("controller", device)];
    parts.into_iter().flat_map(|(part, names)| names.into_iter().map(move |n| (part.to_owned(), n))).collect()
}

/// Busy time of a serial resource: part, name and time.
pub(crate) type Busy = (&'static str, String, Time);

/// Returns the busy times of a path with a [`link::Link`].
pub(crate) fn busy(host: Vec<(String, Time)>, link: [link::Utilization; 2], device: Vec<(String, Time)>) -> Vec<Busy> {
    let host = host.into_iter().map(|(name, busy)| ("host", name, busy));
    let link = LINK.into_iter().zip(link).map(|(name, way)| ("link", name.to_owned(), way.busy));
    let device = device.into_iter().map(|(name, busy)| ("controller", name, busy));
    host.chain(link).chain(device).collect()
}

/// A part's view of the scheduler, with the part's events and rows mapped to those of the path.
pub(crate) struct Part<'a, S> {
    pub s: &'a mut S,
    /// The part's first row on the timeline.
    pub tracks: u32,
}

impl<S: Schedule<Event>> Schedule<device::Event> for Part<'_, S> {
    #[inline]
    fn at(&mut self, lane: Lane, when: Time, event: device::Event) {
        self.s.at(lane, when, Event::Device(event));
    }
    #[inline]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.s.span(Track(self.tracks + track.0), name, from, to);
    }
    #[inline]
    fn served(&mut self, track: Track, client: Client, name: &'static str, since: Time, span: Span) {
        self.s.served(Track(self.tracks + track.0), client, name, since, span);
    }
}

impl<S: Schedule<Event>> Schedule<host::Event> for Part<'_, S> {
    #[inline]
    fn at(&mut self, lane: Lane, when: Time, event: host::Event) {
        self.s.at(Lane(HOST_LANE + lane.0), when, Event::Host(event));
    }
    #[inline]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.s.span(Track(self.tracks + track.0), name, from, to);
    }
    #[inline]
    fn served(&mut self, track: Track, client: Client, name: &'static str, since: Time, span: Span) {
        self.s.served(Track(self.tracks + track.0), client, name, since, span);
    }
}

/// First rows of the link and of the controller on the timeline. The host's rows precede them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tracks {
    pub link: u32,
    device: u32,
}

impl Tracks {
    pub fn behind(host: &[String]) -> Tracks {
        Tracks { link: host.len() as u32, device: host.len() as u32 + 2 }
    }
}

/// Returns the host's view of the scheduler.
#[inline]
pub(crate) fn host_part<S>(s: &mut S) -> Part<'_, S> {
    Part { s, tracks: 0 }
}

/// Returns the controller's view of the scheduler.
#[inline]
pub(crate) fn device_part<S>(s: &mut S, tracks: Tracks) -> Part<'_, S> {
    Part { s, tracks: tracks.device }
}

/// Transfers data for `client` and records it on the timeline.
#[inline]
pub(crate) fn transfer(
    link: &mut link::Link,
    now: Time,
    direction: link::Direction,
    (client, bytes): (Client, u64),
    tracks: Tracks,
    s: &mut impl Schedule<Event>,
) -> link::Transfer {
    link.data(now, direction, bytes, |way, span| {
        s.served(Track(tracks.link + way as u32), client, "data", now, span);
    })
}
