//! The hybrid controller: DRAM as a cache of flash (NVMM, "Non-Volatile Main Memory System Architecture").
//!
//! A state machine without a clock. Requests are for lines of 64 bytes; the unit of caching is a flash page. Tags are
//! in DRAM next to the pages, and those of some sets in a buffer of the controller (`tags`). The cache is
//! set-associative, evicts the least recently used page, allocates on writes, and writes dirty pages back on eviction
//! or earlier (`evict`). It is non-blocking: several fetches run at once, and a request for a page on its way waits for
//! that fetch (`fetch`). When a page arrives, waiting requests are answered before the page is stored. After a miss,
//! following pages may be prefetched (`prefetch`).
//!
//! Requests come in through [`Hybrid::handle`]. The controller acts through [`Port`]: reads and writes of DRAM, fetches
//! and write-backs of flash pages, answers, and [`Move`]s of data, which are performed at once and in order where data
//! is kept. A move out of DRAM is made when its read is submitted, and a move into a frame when its write is done; the
//! controller lets nothing come between.

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

pub use config::{Config, Keys, Prefetch, PrefetchKind};
pub use directory::Victim;
#[cfg(feature = "injected-faults")]
pub use injected::InjectedFault;
#[cfg(not(feature = "injected-faults"))]
use injected::InjectedFault;
pub use messages::{Action, Actions, Decision, DramRequest, Input, Move, PORTS, Port, Purpose};
pub use stats::Stats;

use directory::{Directory, Found};
use evict::WriteBack;
use fetch::Fetch;
use index::Index;
use prefetch::Prefetcher;
use tags::TagBuffer;
use waiting::{Line, List, Waiting, WaitingKind};

/// After this many waiting requests have retried in vain, the others wait for the next opportunity: what a controller
/// can search at once. All keep their order.
const RETRIES: usize = 256;

/// The controller. See the crate's documentation.
pub struct Hybrid {
    config: Config,
    /// Binary logarithm of the page size; where tags begin in DRAM, and the bytes of a set's.
    page_shift: u32,
    tags_at: u64,
    tag_bytes: u32,
    directory: Directory,
    tags: TagBuffer,
    waiting: Waiting,
    /// Lines requested from DRAM.
    lines: u32,
    /// Tag reads: set and waiting requests of each.
    tag_reads: Vec<(u32, List)>,
    free_tag_reads: Vec<u32>,
    fetches: Vec<Fetch>,
    free_fetches: Vec<u32>,
    write_backs: Vec<WriteBack>,
    free_write_backs: Vec<u32>,
    /// Write-backs by page, and by frame while the frame is being read out.
    by_page: Index,
    by_frame: Index,
    /// Fetches whose page waits until its frame is read out.
    blocked: u32,
    /// Write-backs that wait for a buffer.
    unbuffered: VecDeque<u32>,
    free_buffers: u32,
    /// Requests that missed and found no free fetch or frame.
    stalled: VecDeque<Line>,
    /// A fetch or frame became free for which a request waits.
    freed: bool,
    /// Requests without room for their tags.
    tagless: VecDeque<Line>,
    /// Room for tags became free for which a request waits.
    freed_tags: bool,
    prefetcher: Prefetcher,
    /// The next set while all dirty pages are written back.
    cleaning: Option<u32>,
    /// Dirty pages of sets that the clean has passed, to be written back first.
    to_clean: Vec<u64>,
    /// Write-backs, and fetches of dirty pages, that a clean waits for.
    awaited_write_backs: u32,
    awaited_fetches: u32,
    stats: Stats,
    log: Option<Vec<Decision>>,
    injected: sim::Injected<InjectedFault>,
}

impl Hybrid {
    /// Creates an empty cache.
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
            directory: Directory::new(config.sets(), config.keys.ways),
            tags: TagBuffer::new(config.keys.tag_buffer),
            waiting: Waiting::new(),
            lines: 0,
            tag_reads: vec![(0, List::EMPTY); config.keys.tag_reads as usize],
            free_tag_reads: (0..config.keys.tag_reads).rev().collect(),
            fetches: vec![Fetch::IDLE; config.keys.fetches as usize],
            free_fetches: (0..config.keys.fetches).rev().collect(),
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
            prefetcher: Prefetcher::new(&config.keys.prefetch, config.frames()),
            cleaning: None,
            to_clean: Vec::new(),
            awaited_write_backs: 0,
            awaited_fetches: 0,
            stats: Stats::default(),
            log: None,
            injected: sim::Injected::NONE,
            config: *config,
        }
    }

    /// Leaves the cache as sequential writes of `pages` would: the last pages are present and dirty, except those that
    /// were cold when their set missed; evicted pages are in flash. With `synced`, no page is dirty. Call it before the
    /// first request.
    ///
    /// # Panics
    /// If any request is under way.
    pub fn was_written(&mut self, pages: std::ops::Range<u64>, synced: bool) {
        assert!(self.is_idle(), "pages written before time begins");
        let kept = pages.end.saturating_sub(self.config.frames()).max(pages.start);
        for page in kept..pages.end {
            let Found::Absent(used) = self.directory.find(page) else { continue };
            self.directory.insert(page, used, 0, false).expect("nothing is on its way");
            self.directory.filled(page, !synced);
            if kept > pages.start && !synced {
                self.directory.clean_cold(page, self.config.keys.cold);
            }
        }
    }

    /// Handles an input; the resulting actions go to `out`, in order. Callers that know the kind of their input may call
    /// its function instead.
    ///
    /// # Panics
    /// If something ends that is not under way, or a line is not within the memory.
    pub fn handle(&mut self, input: Input, out: &mut impl Port) {
        match input {
            Input::Line(request) => self.request(request, out),
            Input::Dram(purpose) => self.dram_done(purpose, out),
            Input::Fetched(fetch) => self.fetched(fetch, out),
            Input::Written(slot) => self.written(slot, out),
            Input::Clean => self.clean(out),
            Input::Forget => self.forget(out),
        }
    }

    /// See [`Input::Line`].
    pub fn request(&mut self, request: LineRequest, out: &mut impl Port) {
        let LineRequest { id, address, kind } = request;
        assert!(address >> self.page_shift < self.config.pages, "{request:?} is beyond the memory's end");
        let kind = match kind {
            LineKind::Fill => {
                self.stats.fills += 1;
                WaitingKind::Fill
            }
            LineKind::WriteBack => {
                self.stats.write_backs += 1;
                WaitingKind::WriteBack
            }
        };
        self.look_up(Line { id, kind, address }, out);
        if self.prefetcher.has_more() {
            self.run_prefetches(out);
        }
        self.follow_up(out);
    }

    /// See [`Input::Dram`].
    pub fn dram_done(&mut self, purpose: Purpose, out: &mut impl Port) {
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
        self.follow_up(out);
    }

    /// See [`Input::Fetched`].
    pub fn fetched(&mut self, fetch: u32, out: &mut impl Port) {
        self.came(fetch, out);
        self.follow_up(out);
    }

    /// See [`Input::Written`].
    pub fn written(&mut self, slot: u32, out: &mut impl Port) {
        self.was_written_back(slot, out);
        self.follow_up(out);
    }

    /// See [`Input::Clean`].
    pub fn clean(&mut self, out: &mut impl Port) {
        self.start_cleaning();
        self.follow_up(out);
    }

    /// Continues the work that an input made possible.
    #[inline]
    fn follow_up(&mut self, out: &mut impl Port) {
        if self.freed || self.freed_tags || self.cleaning.is_some() {
            self.retry_waiting(out);
        }
    }

    /// Returns whether a request waits for a fetch, a frame or a write-back.
    fn is_awaited(&self) -> bool {
        !self.stalled.is_empty() || self.prefetcher.is_waiting()
    }

    /// Retries the requests that wait for freed resources, in order of arrival; then prefetches, and writes back dirty
    /// pages if a clean was requested.
    fn retry_waiting(&mut self, out: &mut impl Port) {
        while self.freed || self.freed_tags {
            if std::mem::take(&mut self.freed) {
                self.prefetcher.freed();
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
        self.continue_cleaning(out);
    }

    fn page_of(&self, line: Line) -> u64 {
        line.address >> self.page_shift
    }

    /// Returns whether pages are read once: the cache is a buffer of streams.
    fn reads_once(&self) -> bool {
        self.config.keys.prefetch.kind == PrefetchKind::Ahead
    }

    fn is_last_of_page(&self, line: Line) -> bool {
        self.number_of(line) == self.config.page_bytes / LINE as u32 - 1
    }

    /// Returns the number of a line within its page.
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

    /// Returns the counters so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Returns the number of dirty pages. Visits all entries.
    pub fn dirty_pages(&self) -> u64 {
        self.directory.dirty()
    }

    /// Returns whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
            && self.lines == 0
            && self.stalled.is_empty()
            && self.tagless.is_empty()
            && self.free_fetches.len() == self.fetches.len()
            && self.free_write_backs.len() == self.write_backs.len()
    }

    /// Returns whether no write-back is under way, and none is due for [`Input::Clean`]. Lines written back since then
    /// may have made pages dirty again.
    pub fn is_clean(&self) -> bool {
        self.cleaning.is_none() && self.free_write_backs.len() == self.write_backs.len()
    }

    /// Returns whether all pages that were dirty at the last [`Input::Clean`] are in flash. Other write-backs may be under
    /// way.
    pub fn has_cleaned(&self) -> bool {
        self.cleaning.is_none() && self.awaited_write_backs == 0 && self.awaited_fetches == 0
    }

    /// Empties the cache, dirty pages included: their tags in DRAM are cleared.
    pub fn forget(&mut self, out: &mut impl Port) {
        assert!(self.is_idle(), "pages forgotten while requests are under way");
        for set in self.directory.forget() {
            self.write_tags(set, out);
        }
        self.tags = TagBuffer::new(self.config.keys.tag_buffer);
        self.follow_up(out);
    }

    /// Logs all decisions from now on; the log grows without bound.
    pub fn keep_log(&mut self) {
        self.log = Some(Vec::new());
    }

    /// Returns the decisions since the last call, in order; empty if none are logged.
    pub fn take_log(&mut self) -> Vec<Decision> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

#[cfg(feature = "injected-faults")]
impl Hybrid {
    /// Injects a fault.
    pub fn inject(&mut self, fault: InjectedFault) {
        self.injected.inject((fault != InjectedFault::None).then_some(fault));
    }
}
