//! Pages ahead of what is read in order, of many readers at once.
//!
//! A page that is asked for goes on with a stream, or begins one. How far ahead a stream is kept is decided anew with each of
//! its pages, by three things that are measured:
//!
//! * How far streams went on so far ([`lengths`](super::lengths)): a page is wanted if the chance that its stream comes to it is
//!   at least the part of the cache's fetches that is in use, and at least a quarter. Idle flash is spent on guesses, busy flash
//!   only on what is nearly certain; behind random reads nothing is wanted, behind small files their rest is.
//! * Whether it is in time, of streams that are long, or of which too little is known: their windows double when somebody asks for a
//!   page that has not come yet (as the window of Linux's on-demand readahead does with each of its reads), and stay when pages
//!   are there before.
//! * Whether the cache keeps the pages until they are asked for: where more than half of them have to leave before, all
//!   windows are bounded by half of what they were, until three in four are used again.

use std::ops::Range;

use super::lengths::{CERTAIN, Further, Lengths};

/// Streams that are followed: twice as many as there are threads.
const STREAMS: usize = 128;
/// Pages that a stream may skip and still be one.
const SKIP: u64 = 2;
/// The first window.
const FIRST: u64 = 4;
/// A page is not fetched on a smaller chance, in parts of [`CERTAIN`].
const LEAST: u32 = CERTAIN / 4;
/// Prefetched pages that were used or had to leave, after which the bound of all windows is set anew.
const JUDGED: u32 = 64;

/// How a page was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It has to be fetched.
    Missed,
    /// It was prefetched, and has not come yet.
    Coming,
    /// It was prefetched, and is there.
    There,
}

/// Pages read in order.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// How far it has come.
    length: u64,
    /// The first page that was not wanted yet.
    ahead: u64,
    /// Pages that it is kept ahead where its end is not known.
    window: u64,
    /// The first page that was not wanted yet when the window was set.
    since: u64,
    /// When it was last seen.
    used: u64,
}

/// The streams.
pub(super) struct Streams {
    /// Of each stream, which page comes next, and how many from there on belong to it.
    next: [(u64, u64); STREAMS],
    streams: [Stream; STREAMS],
    lengths: Lengths,
    /// Longest window, and its bound for now.
    most: u64,
    bound: u64,
    /// Prefetched pages that were used, and that left unused, since the bound was set.
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

    /// `page` is asked for, while this part of the cache's fetches is in use, of [`CERTAIN`]. The pages that are wanted now.
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
            // What was wanted of it did not come, or has gone again.
            stream.ahead = page + 1;
        }
        // Once a window: what was wanted with the window before says nothing of this one.
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

    /// A prefetched page left that nobody had asked for.
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
