//! Which pages to fetch that nobody asked for yet.

use std::collections::VecDeque;

use super::config::Prefetch;
use super::waiting::{Asked, Line};
use super::{Hybrid, Outside};

/// Pages that wait to be prefetched, at most: what comes after is forgotten.
const WAITING: usize = 512;

/// Streams that are watched, and pages that a stream may skip and still be one.
const STREAMS: usize = 16;
const SKIP: u64 = 2;

/// Pages read in order.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// The page that was asked for last.
    last: u64,
    /// The first page that was not prefetched.
    ahead: u64,
    /// Pages prefetched at a time; 0: it has not been seen to go on.
    window: u64,
    /// When it was last seen.
    used: u64,
}

/// Decides what is prefetched.
pub(super) struct Prefetcher {
    kind: Prefetch,
    waiting: VecDeque<u64>,
    /// Prefetches under way, those that look for their page among the tags included.
    under_way: u32,
    streams: [Stream; STREAMS],
    clock: u64,
}

impl Prefetcher {
    pub fn new(kind: &Prefetch) -> Prefetcher {
        Prefetcher {
            kind: *kind,
            waiting: VecDeque::new(),
            under_way: 0,
            streams: [Stream::default(); STREAMS],
            clock: 0,
        }
    }

    #[inline]
    pub fn has_more(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// `page` could not be prefetched now.
    pub fn put_back(&mut self, page: u64) {
        self.waiting.push_front(page);
    }

    /// A page was prefetched, or need not, or cannot, be.
    pub fn ended(&mut self) {
        self.under_way -= 1;
    }

    /// `page`, of a memory of `pages`, was asked for, and is being fetched.
    pub fn missed(&mut self, page: u64, pages: u64) {
        match self.kind {
            Prefetch::None => {}
            Prefetch::Sequential(window) => self.want(page + 1, page + u64::from(window), pages),
            Prefetch::Adaptive(most) => self.went_on(page, pages, u64::from(most)),
        }
    }

    /// `page` was prefetched, and now somebody asked for it.
    pub fn used(&mut self, page: u64, pages: u64) {
        if let Prefetch::Adaptive(most) = self.kind {
            self.went_on(page, pages, u64::from(most));
        }
    }

    /// Pages `from` to `to` are wanted, as far as there are any.
    fn want(&mut self, from: u64, to: u64, pages: u64) {
        for page in from..=to.min(pages - 1) {
            if self.waiting.len() < WAITING {
                self.waiting.push_back(page);
            }
        }
    }

    /// Adaptive: as a stream goes on, its window grows by half of what it was and more, to `most`; it is kept that far
    /// ahead. A page that continues no stream begins one, and nothing is prefetched for it.
    fn went_on(&mut self, page: u64, pages: u64, most: u64) {
        self.clock += 1;
        let goes_on = |s: &Stream| s.used > 0 && page > s.last && page <= s.ahead.max(s.last + 1) + SKIP;
        let Some(at) = self.streams.iter().position(goes_on) else {
            let oldest = (0..STREAMS).min_by_key(|at| self.streams[*at].used).expect("some");
            self.streams[oldest] = Stream { last: page, ahead: page + 1, window: 0, used: self.clock };
            return;
        };
        let stream = &mut self.streams[at];
        stream.used = self.clock;
        stream.last = page;
        stream.ahead = stream.ahead.max(page + 1);
        // More is prefetched when half of what was is used up.
        if stream.ahead - page > stream.window / 2 + 1 {
            return;
        }
        stream.window = (stream.window * 2).clamp(4, most.max(1));
        let (from, to) = (stream.ahead, page + stream.window);
        stream.ahead = stream.ahead.max(to + 1);
        self.want(from, to, pages);
    }
}

impl Hybrid {
    /// Whether a page that nobody asked for may be fetched now.
    pub(super) fn may_prefetch(&self) -> bool {
        self.prefetcher.under_way < self.config.prefetches && self.stalled.is_empty()
    }

    /// A page that was prefetched is asked for, for the first time.
    pub(super) fn used_prefetched(&mut self, page: u64) {
        self.stats.prefetches_used += 1;
        self.prefetcher.used(page, self.config.pages);
    }

    /// Begins to prefetch what is wanted, as far as there is room.
    pub(super) fn run_prefetches(&mut self, out: &mut impl Outside) {
        while self.may_prefetch() && !self.free_fetches.is_empty() {
            let Some(page) = self.prefetcher.waiting.pop_front() else { return };
            let (address, left) = (page << self.config.page_shift(), self.prefetcher.waiting.len());
            self.prefetcher.under_way += 1;
            self.look_up(Line { id: 0, kind: Asked::Prefetch, address }, out);
            if self.prefetcher.waiting.len() > left {
                // It was put back.
                return;
            }
        }
    }
}
