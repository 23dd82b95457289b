//! Where the time of each request goes: follows requests through driver, link, controller, translation layer and flash.

mod live;
mod part;

use media::{OpId, Request, Tag};
use sim::{Client, Span, Time, Track};

use live::{Live, Piece, Stage};
pub use part::{Part, Parts};

/// Marks the absence of a request.
const NONE: u32 = u32::MAX;

/// The parts of a completed request's latency.
#[derive(Clone, Copy, Debug)]
pub struct Traced<'a> {
    /// The request.
    pub request: &'a Request,
    /// Its parts, from issue to completion.
    pub parts: &'a Parts,
    /// The die of the flash read that ended last, if it needed any.
    pub die: Option<u16>,
}

/// Follows the requests in progress. Tables are indexed by the numbers of requests, commands and flash operations.
pub(crate) struct Trace {
    /// The part that each track of the host interface stands for.
    tracks: Vec<Part>,
    /// Number of flash channels, whose tracks precede those of the dies.
    channels: u32,
    /// The drive caches parts of its map.
    cached: bool,
    /// The part that the time from a command's decoding to its start belongs to.
    decoded_gap: Part,
    live: Vec<Live>,
    /// By tag, the request of the command in the translation layer.
    requests: Vec<u32>,
    /// By tag, the controller's work for a command on its way.
    decoded: Vec<Option<Stage>>,
    /// By id, the flash reads of requests.
    pieces: Vec<(u32, Piece)>,
}

impl Trace {
    /// Creates a trace of a machine with these tracks of its host interface (part and name) and so many flash channels.
    /// `cached`: the drive caches parts of its map. `single`: commands wait for a single data buffer before they start.
    pub fn new(tracks: &[(String, String)], channels: u32, (cached, single): (bool, bool)) -> Trace {
        let part = |(part, name): &(String, String)| match part.as_str() {
            "host" if name.starts_with("core ") => Part::Host,
            "host" | "chipset" => Part::Adapter,
            "link" => Part::Link,
            "controller" => Part::Firmware,
            other => unreachable!("no host interface has a part {other}"),
        };
        Trace {
            tracks: tracks.iter().map(part).collect(),
            channels,
            cached,
            decoded_gap: if single { Part::Buffer } else { Part::Firmware },
            live: Vec::new(),
            requests: Vec::new(),
            decoded: Vec::new(),
            pieces: Vec::new(),
        }
    }

    /// Forgets all requests.
    pub fn forget(&mut self) {
        (self.requests, self.decoded, self.pieces) = Default::default();
    }

    /// Begins request `io`, which is issued at `now`.
    #[inline]
    pub fn issued(&mut self, now: Time, io: u32, request: Request) {
        if io as usize >= self.live.len() {
            self.live.resize(io as usize + 1, Live::empty(request));
        }
        self.live[io as usize].begin(now, request);
    }

    /// Notes that the `track` of the host interface worked for `client`, which had waited since `since`.
    #[inline]
    pub fn interface(&mut self, Track(track): Track, client: Client, since: Time, Span { from, to }: Span) {
        let stage = Stage { part: self.tracks[track as usize], since, from, to };
        match client {
            Client::Request(io) => self.live[io as usize].works(stage),
            Client::Arriving(tag) => *place(&mut self.decoded, tag, None) = Some(stage),
            Client::Command(tag) => {
                if let Some(live) = self.of(Tag(tag)) {
                    live.moves(stage);
                }
            }
            Client::Operation(id) => unreachable!("operation {id} of the host interface"),
        }
    }

    /// Notes that the `track` of the flash worked for `client`.
    #[inline]
    pub fn flash(&mut self, Track(track): Track, client: Client, span: Span) {
        let Client::Operation(id) = client else { return };
        let channels = self.channels;
        if let Some((io, piece)) = self.pieces.get_mut(id as usize)
            && *io != NONE
        {
            if track < channels {
                piece.on_channel(span);
            } else {
                piece.in_array(span);
            }
        }
    }

    /// Begins the command `tag` of request `io` in the translation layer.
    #[inline]
    pub fn commanded(&mut self, now: Time, tag: Tag, io: u32, request: &Request) {
        *place(&mut self.requests, tag.0, NONE) = io;
        let decoded = place(&mut self.decoded, tag.0, None).take();
        let gaps = (self.decoded_gap, Live::gap_of(request.op, self.cached));
        self.live[io as usize].begins(now, decoded, gaps);
    }

    /// Begins a flash read of `die` for the command `tag`. `buffered`: the command has waited for a buffer.
    #[inline]
    pub fn reads(&mut self, now: Time, id: OpId, tag: Tag, die: u16, buffered: bool) {
        let io = self.requests[tag.0 as usize];
        let before = if buffered || !self.cached { Part::Buffer } else { Part::Map };
        let piece = Piece::new(now, before, die);
        *place(&mut self.pieces, id.0, (NONE, piece)) = (io, piece);
    }

    /// Ends the flash operation `id`.
    #[inline]
    pub fn read(&mut self, now: Time, id: OpId) {
        let Some((io, piece)) = self.pieces.get_mut(id.0 as usize) else { return };
        let io = std::mem::replace(io, NONE);
        if io != NONE {
            piece.end(now);
            self.live[io as usize].read(piece);
        }
    }

    /// Notes that the command `tag`, a read, has waited for a buffer.
    pub fn buffered(&mut self, tag: Tag) {
        if let Some(live) = self.of(tag) {
            live.waits(Part::Buffer);
        }
    }

    /// Notes that the data of the write `tag` is in the controller.
    pub fn arrived(&mut self, now: Time, tag: Tag) {
        if let Some(live) = self.of(tag) {
            live.arrives(now);
        }
    }

    /// Notes that the translation layer ends the command `tag`.
    pub fn ended(&mut self, now: Time, tag: Tag) {
        if let Some(live) = self.of(tag) {
            live.ends(now);
        }
    }

    /// Completes request `io` at `now`.
    #[inline]
    pub fn completed(&mut self, now: Time, io: u32) -> Traced<'_> {
        self.live[io as usize].completes(now)
    }

    /// Returns the request of a command in the translation layer. Firmware that answers by itself has none.
    #[inline]
    fn of(&mut self, tag: Tag) -> Option<&mut Live> {
        let io = *self.requests.get(tag.0 as usize)?;
        self.live.get_mut(io as usize)
    }
}

/// Returns the entry `at` of a table, which grows with `empty` entries.
#[inline]
fn place<T: Copy>(table: &mut Vec<T>, at: u32, empty: T) -> &mut T {
    let at = at as usize;
    if at >= table.len() {
        table.resize(at + 1, empty);
    }
    &mut table[at]
}
