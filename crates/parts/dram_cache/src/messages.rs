//! The controller's inputs, actions, and decisions.

use media::line::{LineKind, LineRequest};

use super::Victim;

/// The purpose of a DRAM request, returned with its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Reads the line of this request.
    Fill(u32),
    /// Writes the line of this request.
    WriteBack(u32),
    /// Writes a line that came while its page was stored: nothing waits for it.
    LateLine,
    /// Reads the tags of a set, for this tag read.
    Tags(u32),
    /// Writes the tags of a set: nothing waits for it.
    TagsBack,
    /// Stores the page of this fetch in its frame.
    Store(u32),
    /// Reads the page of this write-back from its frame.
    ReadOut(u32),
}

impl Purpose {
    /// Returns whether the controller waits for completion.
    pub fn is_awaited(self) -> bool {
        !matches!(self, Purpose::LateLine | Purpose::TagsBack)
    }
}

/// DRAM ports.
pub(crate) const LINES: u8 = 0;
pub(crate) const TAGS: u8 = 1;
pub(crate) const PAGES: u8 = 2;

/// Number of DRAM ports in use.
pub const PORTS: u8 = 3;

/// A request to DRAM. A write completes when the DRAM controller accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramRequest {
    /// The purpose.
    pub purpose: Purpose,
    /// The port: lines 0, tags 1, pages 2.
    pub port: u8,
    /// Whether it is a write.
    pub write: bool,
    /// Address of the first byte.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
}

/// An action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A DRAM request, answered with [`Input::Dram`] if its [purpose](Purpose::is_awaited) is awaited.
    Dram(DramRequest),
    /// Read a flash page; answered with [`Input::Fetched`].
    Fetch {
        /// The fetch.
        fetch: u32,
        /// The flash page, numbered across the memory.
        page: u64,
    },
    /// Write a flash page; answered with [`Input::Written`].
    Write {
        /// The write-back.
        slot: u32,
        /// The flash page, numbered across the memory.
        page: u64,
    },
    /// Answer this line request.
    Answer(u32),
}

/// A move of data. `line` is a line's number within its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A written line goes into a frame.
    LineToFrame {
        /// The line request.
        id: u32,
        /// The destination.
        frame: u64,
        /// The line.
        line: u32,
    },
    /// A line of a frame answers a request.
    FrameToLine {
        /// The source.
        frame: u64,
        /// The line.
        line: u32,
        /// The line request.
        id: u32,
    },
    /// A written line goes into a fetch's buffer, and overrides the page from flash.
    LineToFetch {
        /// The line request.
        id: u32,
        /// The destination.
        fetch: u32,
        /// The line.
        line: u32,
    },
    /// A line of a fetch's buffer answers a request.
    FetchToLine {
        /// The source.
        fetch: u32,
        /// The line.
        line: u32,
        /// The line request.
        id: u32,
    },
    /// A page goes from a write-back's buffer into a fetch's, except for lines written meanwhile.
    BufferToFetch {
        /// The source.
        slot: u32,
        /// The destination.
        fetch: u32,
    },
    /// A page goes from a frame into a write-back's buffer.
    FrameToBuffer {
        /// The source.
        frame: u64,
        /// The destination.
        slot: u32,
    },
    /// A page goes from a fetch's buffer into a frame. The buffer is then empty.
    FetchToFrame {
        /// The source.
        fetch: u32,
        /// The destination.
        frame: u64,
    },
}

/// An input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A request to read or write a line.
    Line(LineRequest),
    /// DRAM has completed a request.
    Dram(Purpose),
    /// The page of this fetch has arrived from flash.
    Fetched(u32),
    /// This write-back has been written to flash.
    Written(u32),
    /// Write back all dirty pages ([`Hybrid::has_cleaned`](super::Hybrid::has_cleaned)).
    Clean,
    /// Forget all pages, dirty or not, while the controller [is idle](super::Hybrid::is_idle): flash has gone back to an
    /// earlier state.
    Forget,
}

/// Recorded actions: perform the moves first, in order, then the rest.
#[derive(Debug, Default)]
pub struct Actions {
    /// Moves; empty unless data is kept ([`Config::moves`](super::Config::moves)).
    pub moves: Vec<Move>,
    /// Reads, writes, answers.
    pub actions: Vec<Action>,
}

/// A decision of the cache, for comparison with a second implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A request hit a page.
    Hit {
        /// The page.
        page: u64,
        /// Whether the request is a write.
        write: bool,
    },
    /// A request joined a fetch.
    Merged {
        /// The page.
        page: u64,
        /// Whether the request is a write.
        write: bool,
    },
    /// A request or prefetch missed.
    Miss {
        /// The page.
        page: u64,
        /// Whether the request is a write.
        write: bool,
        /// The evicted page.
        victim: Option<Victim>,
        /// The page written back early.
        cleaned: Option<u64>,
    },
    /// A page has arrived in its frame.
    Filled {
        /// The page.
        page: u64,
    },
}

/// Performs the controller's actions, at once and in order.
pub trait Port {
    /// Submits a DRAM request, answered with [`Input::Dram`] if its [purpose](Purpose::is_awaited) is awaited.
    fn dram(&mut self, request: DramRequest);
    /// See [`Action::Fetch`].
    fn fetch(&mut self, fetch: u32, page: u64);
    /// See [`Action::Write`].
    fn write(&mut self, slot: u32, page: u64);
    /// Answers the line request `id` of this kind.
    fn answer(&mut self, id: u32, kind: LineKind);
    /// Moves data. Not called unless data is kept ([`Config::moves`](super::Config::moves)).
    fn move_data(&mut self, movement: Move);
}

impl Port for Actions {
    fn dram(&mut self, request: DramRequest) {
        self.actions.push(Action::Dram(request));
    }
    fn fetch(&mut self, fetch: u32, page: u64) {
        self.actions.push(Action::Fetch { fetch, page });
    }
    fn write(&mut self, slot: u32, page: u64) {
        self.actions.push(Action::Write { slot, page });
    }
    fn answer(&mut self, id: u32, _: LineKind) {
        self.actions.push(Action::Answer(id));
    }
    fn move_data(&mut self, movement: Move) {
        self.moves.push(movement);
    }
}
