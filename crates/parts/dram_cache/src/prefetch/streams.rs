//! Prefetches ahead of sequential streams, of many readers at once.
//!
//! A requested page continues a stream or begins one. Each page of a stream updates how far ahead its prefetches run,
//! from three measurements:
//!
//! * The length of earlier streams ([`lengths`](super::lengths)). A page is prefetched if its stream reaches it with a
//!   probability of at least the share of the cache's fetches in use, and at least a quarter. Idle flash is spent on
//!   guesses, busy flash only on near certainty; nothing is prefetched after random reads, and the rest of a file after
//!   small ones.
//! * Timeliness, for streams that are long or of unknown length. The window doubles when a request finds its page on
//!   its way (like the window of Linux's on-demand readahead with each read), and stays when pages arrive early enough.
//! * Whether the cache keeps the pages until they are requested. If more than half are evicted before, all windows are
//!   halved, until three in four are used again.

use std::ops::Range;

use super::lengths::{CERTAIN, Further, Lengths};

/// Streams followed: twice the number of threads.
const STREAMS: usize = 128;
/// Pages that a stream may skip.
const SKIP: u64 = 2;
/// The initial window.
const FIRST: u64 = 4;
/// Minimum probability for a prefetch, in parts of [`CERTAIN`].
const LEAST: u32 = CERTAIN / 4;
/// Prefetched pages, used or evicted, after which the bound of all windows is updated.
const JUDGED: u32 = 64;

/// The state in which a request found its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Missed.
    Missed,
    /// Prefetched, and on its way.
    Coming,
    /// Prefetched, and present.
    There,
}

/// A sequential stream.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// Its length so far.
    length: u64,
    /// The first page not yet prefetched.
    ahead: u64,
    /// Pages to prefetch ahead where its end is unknown.
    window: u64,
    /// The first page not prefetched when the window was last set.
    since: u64,
    /// Time of its last request.
    used: u64,
}

/// All streams.
pub(super) struct Streams {
    /// The next page of each stream, and how many pages from there belong to it.
    next: [(u64, u64); STREAMS],
    streams: [Stream; STREAMS],
    lengths: Lengths,
    /// The maximum window, and its present bound.
    most: u64,
    bound: u64,
    /// Prefetched pages used and evicted unused since the bound was set.
    used: u32,
    unused: u32,
    clock: u64,
}

impl Streams {
    pub fn new(most: u64) -> Streams {
        Streams {
            next: [(0, 0); STREAMS],
            streams: [Stream::default(); STREAMS],
            lengths: Lengths::new(),
            most,
            bound: most,
            used: 0,
            unused: 0,
            clock: 0,
        }
    }

    /// Notes a request for `page` while this share of the cache's fetches is in use, in parts of [`CERTAIN`]. Returns
    /// the pages to prefetch.
    pub fn follow(&mut self, page: u64, seen: Seen, busy: u32) -> Range<u64> {
        self.clock += 1;
        if seen != Seen::Missed {
            self.used += 1;
            self.judge();
        }
        let goes_on = |(next, span): &(u64, u64)| page.wrapping_sub(*next) < *span;
        let at = match self.next.iter().position(goes_on) {
            Some(at) => {
                let before = self.streams[at].length;
                self.streams[at].length += page - self.next[at].0 + 1;
                self.lengths.grew(before, self.streams[at].length);
                at
            }
            None => {
                let oldest = (0..STREAMS).min_by_key(|at| self.streams[*at].used).expect("some");
                self.streams[oldest] = Stream { length: 1, ..Stream::default() };
                self.lengths.grew(0, 1);
                oldest
            }
        };
        let stream = &mut self.streams[at];
        stream.used = self.clock;
        if seen == Seen::Missed || stream.ahead <= page {
            // The stream's prefetched pages never arrived, or were evicted.
            stream.ahead = page + 1;
        }
        // Once per window: prefetches of the previous window say nothing about this one.
        let grows = seen != Seen::There && stream.length > 1 && page >= stream.since;
        if grows {
            stream.window = (2 * stream.window).clamp(FIRST.min(self.most), self.most);
        }
        let pages = match self.lengths.further(stream.length, busy.max(LEAST)) {
            Further::Pages(pages) => pages,
            Further::Long => stream.window.max(FIRST),
            Further::Unknown => stream.window,
        };
        let wanted = stream.ahead..(page + 1 + pages.min(self.bound)).max(stream.ahead);
        stream.ahead = wanted.end;
        if grows {
            stream.since = wanted.end;
        }
        self.next[at] = (page + 1, wanted.end - page + SKIP);
        wanted
    }

    /// Notes that a prefetched page was evicted without a request.
    pub fn unused(&mut self) {
        self.unused += 1;
        self.judge();
    }

    fn judge(&mut self) {
        let all = self.used + self.unused;
        if all < JUDGED {
            return;
        }
        if 2 * self.unused > all {
            self.bound = (self.bound / 2).max(1);
        } else if 4 * self.unused < all {
            self.bound = (2 * self.bound).min(self.most);
        }
        (self.used, self.unused) = (0, 0);
    }
}

#[cfg(test)]
mod tests;
