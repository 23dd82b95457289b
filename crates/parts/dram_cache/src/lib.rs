//! The hybrid controller: DRAM as a cache of flash (NVMM, "Non-Volatile Main Memory System Architecture").
//!
//! A state machine without a clock. Lines of 64 bytes are asked for; a cache line is a flash page. Its tags are in DRAM
//! beside it, those of some sets in a buffer of the controller ([`tags`]). Set-associative, the least recently used page
//! leaves; a write allocates; what was changed is written back when it leaves, or before ([`evict`]). Nothing blocks: pages
//! are fetched side by side, and who asks for a page that is on its way waits for that fetch ([`fetch`]). When its page
//! comes, whoever waits is answered before the page is stored. Behind a miss the next pages are fetched too
//! ([`prefetch`]).
//!
//! What is asked for goes in by [`Hybrid::handle`]; what is to be done is said to [`Port`]: reads and writes of DRAM,
//! fetches and write-backs of flash pages, answers; and [`Move`]s of data, which are done at once and in order, for those
//! who keep data. A move that reads DRAM is made when the read is asked for, one that fills a frame when that is done:
//! the controller lets nothing come between.

mod config;
mod directory;
mod evict;
mod fetch;
mod index;
mod injected;
mod lookup;
mod messages;
mod prefetch;
mod stats;
mod tags;
mod waiting;

use std::collections::VecDeque;

use media::line::{LINE, LineKind, LineRequest};

pub use config::{Config, Prefetch};
pub use directory::Victim;
pub use injected::InjectedFault;
pub use messages::{Action, Actions, Decision, DramRequest, Input, Move, PORTS, Port, Purpose};
pub use stats::Stats;

use directory::{Directory, Found};
use evict::WriteBack;
use fetch::Fetch;
use index::Index;
use prefetch::Prefetcher;
use tags::TagBuffer;
use waiting::{Asked, Line, List, Waiting};

/// Lines that wait for a fetch or for room for tags and try again in vain when one is free, before the others are left for
/// the next time: what a controller can search at once. All keep their order.
const RETRIES: usize = 256;

/// The controller. See the module's documentation.
pub struct Hybrid {
    config: Config,
    /// Of a page's bytes: log2. Where tags begin in DRAM, and bytes of a set's.
    page_shift: u32,
    tags_at: u64,
    tag_bytes: u32,
    directory: Directory,
    tags: TagBuffer,
    waiting: Waiting,
    /// Lines that DRAM is asked for.
    lines: u32,
    /// Reads of tags: who waits for each.
    tag_reads: Vec<(u32, List)>,
    free_tag_reads: Vec<u32>,
    fetches: Vec<Fetch>,
    free_fetches: Vec<u32>,
    write_backs: Vec<WriteBack>,
    free_write_backs: Vec<u32>,
    /// Write-backs by page; and by frame, while that is still to be read.
    by_page: Index,
    by_frame: Index,
    /// Fetches whose page waits for its frame to be read out.
    blocked: u32,
    /// Write-backs that wait for a buffer.
    unbuffered: VecDeque<u32>,
    free_buffers: u32,
    /// Requests that miss, and found no fetch or no frame free.
    stalled: VecDeque<Line>,
    /// A fetch or a frame became free that somebody waits for.
    freed: bool,
    /// Requests that found no room for their tags.
    tagless: VecDeque<Line>,
    /// Room for tags became free that somebody waits for.
    freed_tags: bool,
    prefetcher: Prefetcher,
    /// How far the directory was searched for what is changed, while all of it is to be written back.
    cleaning: Option<usize>,
    stats: Stats,
    log: Option<Vec<Decision>>,
    injected: InjectedFault,
    injected_count: u32,
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
            page_shift: config.page_bytes.trailing_zeros(),
            tags_at: config.frames() * u64::from(config.page_bytes),
            tag_bytes: config.tag_bytes() as u32,
            directory: Directory::new(config.sets, config.ways),
            tags: TagBuffer::new(config.tag_buffer),
            waiting: Waiting::new(),
            lines: 0,
            tag_reads: vec![(0, List::EMPTY); config.tag_reads as usize],
            free_tag_reads: (0..config.tag_reads).rev().collect(),
            fetches: vec![Fetch::IDLE; config.fetches as usize],
            free_fetches: (0..config.fetches).rev().collect(),
            write_backs: vec![WriteBack::IDLE; slots as usize],
            free_write_backs: (0..slots).rev().collect(),
            by_page: Index::new(slots),
            by_frame: Index::new(slots),
            blocked: 0,
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
            injected: InjectedFault::None,
            injected_count: 0,
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
            let Found::Absent(used) = self.directory.find(page) else { continue };
            self.directory.insert(page, used, 0, false, false).expect("nothing is on its way");
            self.directory.filled(page, true);
            if kept > pages.start {
                self.directory.clean_cold(page, self.config.cold);
            }
        }
    }

    /// Something happened: what is to be done is said to `out`, in order.
    ///
    /// # Panics
    /// If something ends that is not under way, or a line is not within the memory.
    pub fn handle(&mut self, input: Input, out: &mut impl Port) {
        match input {
            Input::Line(request) => return self.line(request, out),
            Input::Dram(purpose) => return self.dram(purpose, out),
            Input::Fetched(fetch) => return self.fetched(fetch, out),
            Input::Written(slot) => self.written(slot, out),
            Input::Clean => self.cleaning = Some(0),
        }
        self.end_step(out);
    }

    /// As [`handle`](Self::handle) of [`Input::Line`].
    #[inline(always)]
    pub fn line(&mut self, request: LineRequest, out: &mut impl Port) {
        self.ask(request, out);
        self.end_step(out);
    }

    /// As [`handle`](Self::handle) of [`Input::Dram`].
    #[inline(always)]
    pub fn dram(&mut self, purpose: Purpose, out: &mut impl Port) {
        self.dram_done(purpose, out);
        self.end_step(out);
    }

    /// As [`handle`](Self::handle) of [`Input::Fetched`].
    #[inline(always)]
    pub fn fetched(&mut self, fetch: u32, out: &mut impl Port) {
        self.came(fetch, out);
        self.end_step(out);
    }

    /// Who waits for what became free goes on.
    #[inline(always)]
    fn end_step(&mut self, out: &mut impl Port) {
        if self.freed || self.freed_tags || self.cleaning.is_some() {
            self.go_on(out);
        }
    }

    #[inline(always)]
    fn ask(&mut self, request: LineRequest, out: &mut impl Port) {
        let LineRequest { id, address, kind } = request;
        assert!(address >> self.page_shift < self.config.pages, "{request:?} is beyond the memory's end");
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
        self.look_up(Line { id, kind, address }, out);
        if self.prefetcher.has_more() {
            self.run_prefetches(out);
        }
    }

    #[inline(always)]
    fn dram_done(&mut self, purpose: Purpose, out: &mut impl Port) {
        match purpose {
            Purpose::Fill(id) => {
                self.lines -= 1;
                out.answer(id, LineKind::Fill);
            }
            Purpose::WriteBack(id) => {
                self.lines -= 1;
                out.answer(id, LineKind::WriteBack);
            }
            Purpose::LateLine | Purpose::TagsBack => {}
            Purpose::Tags(read) => self.tags_read(read, out),
            Purpose::Store(fetch) => self.stored(fetch, out),
            Purpose::ReadOut(slot) => self.was_read_out(slot, out),
        }
    }

    /// Somebody waits for a fetch, a frame or a write-back.
    fn is_awaited(&self) -> bool {
        !self.stalled.is_empty() || self.prefetcher.has_more()
    }

    /// What waited for something that is free now tries again, in the order in which it came; then pages are prefetched,
    /// and changed ones written back if all are to be.
    #[inline(never)]
    fn go_on(&mut self, out: &mut impl Port) {
        while self.freed || self.freed_tags {
            if std::mem::take(&mut self.freed) {
                let (mut left, mut again) = (self.stalled.len(), 0);
                while left > 0 && again < RETRIES {
                    let (line, others) = (self.stalled.pop_front().expect("counted"), self.stalled.len());
                    let found = self.directory.find(self.page_of(line));
                    self.with_tags(line, found, out);
                    (left, again) = (left - 1, again + self.stalled.len() - others);
                }
                self.stalled.rotate_right(again);
            }
            if std::mem::take(&mut self.freed_tags) {
                let (mut left, mut again) = (self.tagless.len(), 0);
                while left > 0 && again < RETRIES {
                    let (line, others) = (self.tagless.pop_front().expect("counted"), self.tagless.len());
                    self.look_up(line, out);
                    (left, again) = (left - 1, again + self.tagless.len() - others);
                }
                self.tagless.rotate_right(again);
            }
            if self.prefetcher.has_more() {
                self.run_prefetches(out);
            }
        }
        self.go_on_cleaning(out);
    }

    #[inline]
    fn page_of(&self, line: Line) -> u64 {
        line.address >> self.page_shift
    }

    /// Which line of its page it is.
    #[inline]
    fn number_of(&self, line: Line) -> u32 {
        (line.address & u64::from(self.config.page_bytes - 1)) as u32 / LINE as u32
    }

    fn note(&mut self, movement: Move, out: &mut impl Port) {
        if self.config.moves {
            out.move_data(movement);
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
        self.waiting.is_empty()
            && self.lines == 0
            && self.stalled.is_empty()
            && self.tagless.is_empty()
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
