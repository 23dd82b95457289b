//! Chooses the pages to prefetch.

mod ahead;
mod lengths;
mod steps;
mod streams;

use std::collections::VecDeque;
use std::ops::Range;

use super::config::{Prefetch, PrefetchKind};
use ahead::Ahead;
pub(super) use streams::Seen;
use streams::Streams;

/// Maximum number of pages waiting to be prefetched.
const WAITING: usize = 512;

/// The prefetcher.
pub(super) struct Prefetcher {
    /// Pages to prefetch after a miss.
    behind: u64,
    /// Sequential streams, if they are followed.
    streams: Option<Box<Streams>>,
    /// Streams that are read ahead as far as there is room, if they are.
    ahead: Option<Ahead>,
    /// The last page taken from the streams found no room in the cache.
    is_full: bool,
    /// The last prefetch was put back.
    was_put_back: bool,
    waiting: VecDeque<u64>,
    /// Maximum number of prefetches under way.
    most: u32,
    /// Prefetches under way, including those in tag lookup.
    under_way: u32,
}

impl Prefetcher {
    pub fn new(config: &Prefetch, frames: u64) -> Prefetcher {
        let (mut behind, mut streams, mut ahead) = (0, None, None);
        let window = u64::from(config.window);
        match config.kind {
            PrefetchKind::None => {}
            PrefetchKind::Sequential => behind = window,
            PrefetchKind::Adaptive => streams = Some(Box::new(Streams::new(window))),
            PrefetchKind::Ahead => ahead = Some(Ahead::new(window, frames)),
        }
        Prefetcher {
            behind,
            streams,
            is_full: ahead.is_none(),
            ahead,
            was_put_back: false,
            waiting: VecDeque::new(),
            most: config.most(),
            under_way: 0,
        }
    }

    /// Returns whether a prefetch may start at once.
    pub fn has_more(&self) -> bool {
        !self.waiting.is_empty() || !self.is_full
    }

    /// Returns whether a prefetch waits for a fetch or a frame.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() || self.ahead.is_some()
    }

    /// Notes that a fetch or a frame became free.
    pub fn freed(&mut self) {
        self.is_full = self.ahead.is_none();
    }

    /// Returns the page to prefetch next, of a memory of `pages`.
    fn take(&mut self, pages: u64) -> Option<u64> {
        let Some(ahead) = &mut self.ahead else { return self.waiting.pop_front() };
        let page = ahead.take(pages);
        self.is_full = page.is_none();
        page
    }

    /// Takes back `page`, which cannot be prefetched now.
    pub fn put_back(&mut self, page: u64) {
        self.was_put_back = true;
        match &mut self.ahead {
            Some(ahead) => {
                ahead.put_back(page);
                self.is_full = true;
            }
            None => self.waiting.push_front(page),
        }
    }

    /// Ends a prefetch: done, unnecessary, or impossible.
    pub fn ended(&mut self) {
        self.under_way -= 1;
    }

    /// Notes a request for `page` of a memory of `pages` while this share of the fetches is in use, in parts of
    /// [`lengths::CERTAIN`].
    fn requested(&mut self, page: u64, seen: Seen, busy: u32, pages: u64) {
        if let Some(ahead) = &mut self.ahead {
            ahead.follow(page);
            self.is_full = false;
            return;
        }
        let wanted = match &mut self.streams {
            Some(streams) => streams.follow(page, seen, busy),
            None if seen == Seen::Missed => page + 1..page + 1 + self.behind,
            None => return,
        };
        self.want(wanted.start..wanted.end.min(pages));
    }

    /// Drops pages beyond the limit: for streams the pages that have waited longest, whose requests are the nearest or
    /// already past.
    fn want(&mut self, pages: Range<u64>) {
        for page in pages {
            if self.waiting.len() >= WAITING {
                if self.streams.is_none() {
                    return;
                }
                self.waiting.pop_front();
            }
            self.waiting.push_back(page);
        }
    }

    /// Notes that a prefetched page was evicted without a request.
    pub fn unused(&mut self) {
        if let Some(streams) = &mut self.streams {
            streams.unused();
        }
    }
}
