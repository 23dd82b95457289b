//! The hybrid controller: DRAM as a cache of flash (NVMM, "Non-Volatile Main Memory System Architecture").
//!
//! A state machine without a clock. Lines of 64 bytes are asked for; a cache line is a flash page. Its tags are in DRAM
//! beside it, those of some sets in a buffer of the controller ([`tags`]). Set-associative, the least recently used page
//! leaves; a write allocates; what was changed is written back when it leaves, or before ([`evict`]). Nothing blocks: pages
//! are fetched side by side, and who asks for a page that is on its way waits for that fetch ([`fetch`]). When its page
//! comes, whoever waits is answered before the page is stored. Behind a miss the next pages are fetched too
//! ([`prefetch`]).
//!
//! What is asked for goes in by [`Hybrid::handle`]; what is to be done comes out in [`Actions`]: reads and writes of DRAM,
//! fetches and write-backs of flash pages, answers; and [`Move`]s of data, which are done at once and in order, for those
//! who keep data. A move that reads DRAM is made when the read is asked for, one that fills a frame when that is done:
//! the controller lets nothing come between.

mod config;
mod directory;
mod evict;
mod fetch;
mod lookup;
mod plant;
mod prefetch;
mod stats;
mod tags;

use std::collections::VecDeque;

use media::line::{LINE, LineKind, LineRequest};

pub use config::{Config, Prefetch};
pub use directory::Victim;
pub use plant::Plant;
pub use stats::Stats;

use directory::{Directory, Found};
use evict::WriteBack;
use fetch::Fetch;
use prefetch::Prefetcher;
use tags::TagBuffer;

/// No node, no fetch, no write-back.
const NONE: u32 = u32::MAX;

/// For what a request to DRAM is made: comes back with its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A line that was asked for, or came back: of this node.
    Line(u32),
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
    /// By DRAM. To be answered with [`Input::Dram`].
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
    /// All that is changed is to be written back ([`Hybrid::is_clean`]).
    Clean,
}

/// What is to be done: moves at once and in order, then the rest.
#[derive(Debug, Default)]
pub struct Actions {
    /// Movements of data; none where nobody keeps data ([`Config::moves`]).
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

/// A line request under way, or a page to be prefetched: an entry of a list.
#[derive(Clone, Copy, Debug)]
struct Node {
    id: u32,
    kind: Asked,
    address: u64,
    next: u32,
}

/// What a node asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Fill,
    WriteBack,
    Prefetch,
}

/// First and last of a list of nodes.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: List = List { first: NONE, last: NONE };
}

/// The controller. See the module's documentation.
pub struct Hybrid {
    config: Config,
    directory: Directory,
    tags: TagBuffer,
    nodes: Vec<Node>,
    free_nodes: Vec<u32>,
    /// Reads of tags: who waits for each.
    tag_reads: Vec<(u32, List)>,
    free_tag_reads: Vec<u32>,
    fetches: Vec<Fetch>,
    free_fetches: Vec<u32>,
    write_backs: Vec<WriteBack>,
    free_write_backs: Vec<u32>,
    /// Write-backs that wait for a buffer.
    unbuffered: VecDeque<u32>,
    free_buffers: u32,
    /// Requests that miss, and found no fetch or no frame free.
    stalled: VecDeque<u32>,
    /// A fetch or a frame became free.
    freed: bool,
    /// Requests that found no room for their tags.
    tagless: VecDeque<u32>,
    /// Room for tags became free.
    freed_tags: bool,
    prefetcher: Prefetcher,
    /// How far the directory was searched for what is changed, while all of it is to be written back.
    cleaning: Option<usize>,
    stats: Stats,
    log: Option<Vec<Decision>>,
    plant: Plant,
    plant_count: u32,
}

impl Hybrid {
    /// An empty cache.
    ///
    /// # Panics
    /// If the configuration has a [`fault`](Config::fault).
    pub fn new(config: &Config) -> Hybrid {
        assert_eq!(config.fault(), None);
        let slots = config.write_backs();
        Hybrid {
            directory: Directory::new(config.sets, config.ways),
            tags: TagBuffer::new(config.tag_buffer),
            nodes: Vec::new(),
            free_nodes: Vec::new(),
            tag_reads: vec![(0, List::EMPTY); config.tag_reads as usize],
            free_tag_reads: (0..config.tag_reads).rev().collect(),
            fetches: vec![Fetch::IDLE; config.fetches as usize],
            free_fetches: (0..config.fetches).rev().collect(),
            write_backs: vec![WriteBack::IDLE; slots as usize],
            free_write_backs: (0..slots).rev().collect(),
            unbuffered: VecDeque::new(),
            free_buffers: config.buffers,
            stalled: VecDeque::new(),
            freed: false,
            tagless: VecDeque::new(),
            freed_tags: false,
            prefetcher: Prefetcher::new(&config.prefetch),
            cleaning: None,
            stats: Stats::default(),
            log: None,
            plant: Plant::Nothing,
            plant_count: 0,
            config: *config,
        }
    }

    /// Before anything is asked for: `pages` were written, one after the other, and what had to leave is in flash. The cache is
    /// left as that leaves it: the last of them are there and changed, but for those that were cold when their set missed.
    ///
    /// # Panics
    /// If something is under way.
    pub fn was_written(&mut self, pages: std::ops::Range<u64>) {
        assert!(self.is_idle(), "pages written before time begins");
        let kept = pages.end.saturating_sub(self.config.frames()).max(pages.start);
        for page in kept..pages.end {
            if self.directory.find(page) != Found::Absent {
                continue;
            }
            self.directory.insert(page, 0, false, false).expect("nothing is on its way");
            self.directory.filled(page, true);
            if kept > pages.start {
                self.directory.clean_cold(page, self.config.cold);
            }
        }
    }

    /// Something happened: what is to be done is appended to `out`.
    ///
    /// # Panics
    /// If something ends that is not under way, or a line is not within the memory.
    #[inline]
    pub fn handle(&mut self, input: Input, out: &mut Actions) {
        match input {
            Input::Line(request) => self.ask(request, out),
            Input::Dram(purpose) => self.dram_done(purpose, out),
            Input::Fetched(fetch) => self.fetched(fetch, out),
            Input::Written(slot) => self.written(slot, out),
            Input::Clean => self.cleaning = Some(0),
        }
        if self.freed || self.freed_tags || self.cleaning.is_some() {
            self.go_on(out);
        }
    }

    fn ask(&mut self, request: LineRequest, out: &mut Actions) {
        let LineRequest { id, address, kind } = request;
        assert!(
            address / u64::from(self.config.page_bytes) < self.config.pages,
            "{request:?} is beyond the memory's end"
        );
        let kind = match kind {
            LineKind::Fill => {
                self.stats.fills += 1;
                Asked::Fill
            }
            LineKind::WriteBack => {
                self.stats.write_backs += 1;
                Asked::WriteBack
            }
        };
        let node = self.keep_node(Node { id, kind, address, next: NONE });
        self.look_up(node, out);
        if self.prefetcher.has_more() {
            self.run_prefetches(out);
        }
    }

    fn dram_done(&mut self, purpose: Purpose, out: &mut Actions) {
        match purpose {
            Purpose::Line(node) => {
                out.actions.push(Action::Answer(self.nodes[node as usize].id));
                self.free_node(node);
            }
            Purpose::LateLine | Purpose::TagsBack => {}
            Purpose::Tags(read) => self.tags_read(read, out),
            Purpose::Store(fetch) => self.stored(fetch, out),
            Purpose::ReadOut(slot) => self.was_read_out(slot, out),
        }
    }

    /// What waited for something that is free now tries again, in the order in which it came; then pages are prefetched,
    /// and changed ones written back if all are to be.
    fn go_on(&mut self, out: &mut Actions) {
        while self.freed || self.freed_tags {
            if std::mem::take(&mut self.freed) {
                for _ in 0..self.stalled.len() {
                    let node = self.stalled.pop_front().expect("counted");
                    let found = self.directory.find(self.page_of(node));
                    self.with_tags(node, found, out);
                }
            }
            if std::mem::take(&mut self.freed_tags) {
                for _ in 0..self.tagless.len() {
                    let node = self.tagless.pop_front().expect("counted");
                    self.look_up(node, out);
                }
            }
            if self.prefetcher.has_more() {
                self.run_prefetches(out);
            }
        }
        self.go_on_cleaning(out);
    }

    fn keep_node(&mut self, node: Node) -> u32 {
        match self.free_nodes.pop() {
            Some(number) => {
                self.nodes[number as usize] = node;
                number
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        }
    }

    fn free_node(&mut self, node: u32) {
        self.free_nodes.push(node);
    }

    fn append(nodes: &mut [Node], list: &mut List, node: u32) {
        nodes[node as usize].next = NONE;
        match list.first {
            NONE => list.first = node,
            _ => nodes[list.last as usize].next = node,
        }
        list.last = node;
    }

    fn page_of(&self, node: u32) -> u64 {
        self.nodes[node as usize].address >> self.config.page_shift()
    }

    /// Line of its page that a node asks for.
    fn line_of(&self, node: u32) -> u32 {
        (self.nodes[node as usize].address & u64::from(self.config.page_bytes - 1)) as u32 / LINE as u32
    }

    fn note(&mut self, movement: Move, out: &mut Actions) {
        if self.config.moves {
            out.moves.push(movement);
        }
    }

    fn decide(&mut self, decision: Decision) {
        if let Some(log) = &mut self.log {
            log.push(decision);
        }
    }

    /// What was done so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.free_nodes.len() == self.nodes.len()
            && self.free_fetches.len() == self.fetches.len()
            && self.free_write_backs.len() == self.write_backs.len()
    }

    /// Nothing is being written back, nor is anything to be that [`Input::Clean`] asked for. What came back since, and
    /// while it was on its way, may be changed.
    pub fn is_clean(&self) -> bool {
        self.cleaning.is_none() && self.free_write_backs.len() == self.write_backs.len()
    }

    /// Keeps all decisions from now on; grows without bound.
    pub fn keep_log(&mut self) {
        self.log = Some(Vec::new());
    }

    /// The decisions since the last call, in order; empty if none are kept.
    pub fn take_log(&mut self) -> Vec<Decision> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
