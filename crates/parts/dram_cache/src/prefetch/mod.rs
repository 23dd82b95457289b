//! Which pages to fetch that nobody asked for yet.

mod lengths;
mod streams;

use std::collections::VecDeque;
use std::ops::Range;

use super::config::Prefetch;
use super::waiting::{Asked, Line};
use super::{Hybrid, Port};
use lengths::CERTAIN;
pub(super) use streams::Seen;
use streams::Streams;

/// Pages that wait to be prefetched, at most.
const WAITING: usize = 512;

/// Decides what is prefetched.
pub(super) struct Prefetcher {
    /// Pages behind a miss.
    behind: u64,
    /// What is read in order, if that is followed.
    streams: Option<Box<Streams>>,
    waiting: VecDeque<u64>,
    /// Prefetches under way, those that look for their page among the tags included.
    under_way: u32,
}

impl Prefetcher {
    pub fn new(kind: &Prefetch) -> Prefetcher {
        let (behind, streams) = match *kind {
            Prefetch::None => (0, None),
            Prefetch::Sequential(window) => (u64::from(window), None),
            Prefetch::Adaptive(most) => (0, Some(Box::new(Streams::new(most.into())))),
        };
        Prefetcher { behind, streams, waiting: VecDeque::new(), under_way: 0 }
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

    /// `page`, of a memory of `pages`, was asked for; this part of the fetches is in use, of [`CERTAIN`].
    fn asked(&mut self, page: u64, seen: Seen, busy: u32, pages: u64) {
        let wanted = match &mut self.streams {
            Some(streams) => streams.follow(page, seen, busy),
            None if seen == Seen::Missed => page + 1..page + 1 + self.behind,
            None => return,
        };
        self.want(wanted.start..wanted.end.min(pages));
    }

    /// Where too many wait, what comes after is forgotten; of streams what has waited longest, which soonest was, or will be,
    /// asked for.
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

    /// A page that was prefetched left without having been asked for.
    pub fn unused(&mut self) {
        if let Some(streams) = &mut self.streams {
            streams.unused();
        }
    }
}

impl Hybrid {
    /// Whether a page that nobody asked for may be fetched now.
    pub(super) fn may_prefetch(&self) -> bool {
        self.prefetcher.under_way < self.config.prefetches && self.stalled.is_empty()
    }

    /// A page is asked for that has to be fetched, or was prefetched and is asked for for the first time.
    #[inline]
    pub(super) fn tell_prefetcher(&mut self, page: u64, seen: Seen) {
        if self.config.prefetch != Prefetch::None {
            self.prefetch_behind(page, seen);
        }
    }

    #[inline(never)]
    fn prefetch_behind(&mut self, page: u64, seen: Seen) {
        if seen != Seen::Missed {
            self.stats.prefetches_used += 1;
        }
        let in_use = self.fetches.len() - self.free_fetches.len();
        let busy = in_use * CERTAIN as usize / self.fetches.len();
        self.prefetcher.asked(page, seen, busy as u32, self.config.pages);
    }

    /// Begins to prefetch what is wanted, as far as there is room.
    pub(super) fn run_prefetches(&mut self, out: &mut impl Port) {
        while self.may_prefetch() && !self.free_fetches.is_empty() {
            let Some(page) = self.prefetcher.waiting.pop_front() else { return };
            let (address, left) = (page << self.page_shift, self.prefetcher.waiting.len());
            self.prefetcher.under_way += 1;
            self.look_up(Line { id: 0, kind: Asked::Prefetch, address }, out);
            if self.prefetcher.waiting.len() > left {
                // It was put back.
                return;
            }
        }
    }
}
