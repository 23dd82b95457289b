//! What is said to the hybrid controller, what it says, and what it decided.

use media::line::{LineKind, LineRequest};

use super::Victim;

/// For what a request to DRAM is made: comes back with its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A line that this line request asked for.
    Fill(u32),
    /// A line that came back, by this line request.
    WriteBack(u32),
    /// A line that came back while its page was stored: nobody waits.
    LateLine,
    /// Tags of a set, for this read.
    Tags(u32),
    /// Tags of a set go back: nobody waits.
    TagsBack,
    /// The page of this fetch is stored in its frame.
    Store(u32),
    /// The page of this write-back is read from its frame.
    ReadOut(u32),
}

impl Purpose {
    /// Its end is waited for. That of others need not be told.
    #[inline]
    pub fn is_awaited(self) -> bool {
        !matches!(self, Purpose::LateLine | Purpose::TagsBack)
    }
}

/// Ports of the DRAM controller that the requests come from.
pub const PORTS: u8 = 3;

/// A request to DRAM. Writes are done when the DRAM controller has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramRequest {
    /// What for.
    pub purpose: Purpose,
    /// Lines, tags, pages: 0, 1, 2.
    pub port: u8,
    /// It is written.
    pub write: bool,
    /// First byte.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// By DRAM. To be answered with [`Input::Dram`], if its [purpose](Purpose::is_awaited) is waited for.
    Dram(DramRequest),
    /// Read a flash page. To be answered with [`Input::Fetched`].
    Fetch {
        /// The fetch.
        fetch: u32,
        /// The flash page, numbered through the memory.
        page: u64,
    },
    /// Write a flash page. To be answered with [`Input::Written`].
    Write {
        /// The write-back.
        slot: u32,
        /// The flash page, numbered through the memory.
        page: u64,
    },
    /// The line request of this number is answered.
    Answer(u32),
}

/// Movement of data. `line` is a line's number within its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A line that came back goes into a frame.
    LineToFrame {
        /// The line request.
        id: u32,
        /// Where to.
        frame: u64,
        /// Which line.
        line: u32,
    },
    /// A frame's line is what is asked for.
    FrameToLine {
        /// Where from.
        frame: u64,
        /// Which line.
        line: u32,
        /// The line request.
        id: u32,
    },
    /// A line that came back goes into a fetch's buffer, and stays when the page comes.
    LineToFetch {
        /// The line request.
        id: u32,
        /// Where to.
        fetch: u32,
        /// Which line.
        line: u32,
    },
    /// A line of a fetch's buffer is what is asked for.
    FetchToLine {
        /// Where from.
        fetch: u32,
        /// Which line.
        line: u32,
        /// The line request.
        id: u32,
    },
    /// A page goes from a write-back's buffer into a fetch's, but for lines that came back meanwhile.
    BufferToFetch {
        /// Where from.
        slot: u32,
        /// Where to.
        fetch: u32,
    },
    /// A page goes from a frame into a write-back's buffer.
    FrameToBuffer {
        /// Where from.
        frame: u64,
        /// Where to.
        slot: u32,
    },
    /// A page goes from a fetch's buffer into a frame. The buffer is empty then.
    FetchToFrame {
        /// Where from.
        fetch: u32,
        /// Where to.
        frame: u64,
    },
}

/// What comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A line is asked for, or comes back.
    Line(LineRequest),
    /// DRAM has done what was asked of it.
    Dram(Purpose),
    /// A page is in the buffer of this fetch.
    Fetched(u32),
    /// A page was written to flash by this write-back.
    Written(u32),
    /// All that is changed is to be written back ([`Hybrid::is_clean`](super::Hybrid::is_clean)).
    Clean,
}

/// What is to be done, kept: moves are done first and in order, then the rest.
#[derive(Debug, Default)]
pub struct Actions {
    /// Movements of data; none where nobody keeps data ([`Config::moves`](super::Config::moves)).
    pub moves: Vec<Move>,
    /// Reads, writes, answers.
    pub actions: Vec<Action>,
}

/// What the cache decided, for a second implementation to decide again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A page was asked for, and was there.
    Hit {
        /// The page.
        page: u64,
        /// It was changed.
        write: bool,
    },
    /// A page was asked for, and was on its way.
    Merged {
        /// The page.
        page: u64,
        /// It was changed.
        write: bool,
    },
    /// A page was asked for, or prefetched, and was not there.
    Miss {
        /// The page.
        page: u64,
        /// It is to be changed.
        write: bool,
        /// What had to leave.
        victim: Option<Victim>,
        /// What was written back early.
        cleaned: Option<u64>,
    },
    /// A page is in its frame.
    Filled {
        /// The page.
        page: u64,
    },
}

/// Who does what the controller wants done, at once and in order.
pub trait Port {
    /// Something is to be read or written in DRAM. To be answered with [`Input::Dram`], if its
    /// [purpose](Purpose::is_awaited) is waited for.
    fn dram(&mut self, request: DramRequest);
    /// See [`Action::Fetch`].
    fn fetch(&mut self, fetch: u32, page: u64);
    /// See [`Action::Write`].
    fn write(&mut self, slot: u32, page: u64);
    /// The line request `id`, a `kind`, is answered.
    fn answer(&mut self, id: u32, kind: LineKind);
    /// Data move. Not called where nobody keeps data ([`Config::moves`](super::Config::moves)).
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
