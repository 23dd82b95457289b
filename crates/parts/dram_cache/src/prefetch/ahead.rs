//! Reading ahead of sequential streams as far as the cache has room: a latency-hiding buffer.
//!
//! A page that follows those of a stream continues it; any other page begins a stream, in place of the one that has rested
//! longest. A stream is read ahead from its second page on. The stream that is read ahead least comes first, so that all
//! share the buffer equally. Nothing is learned: the buffer's size limits what is fetched, because a prefetch takes no
//! frame whose page has lines that were not read yet. A stream that rests while as many pages as the buffer holds are
//! requested has ended; its pages make room.

use std::ops::Range;

/// Streams followed: twice the number of threads.
const STREAMS: usize = 128;
/// Pages that a stream may skip.
const SKIP: u64 = 2;

/// A sequential stream.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// The next page, and the first page that was not yet prefetched.
    next: u64,
    ahead: u64,
    /// Time of its last request.
    used: u64,
    /// Whether it has two pages, so that it is read ahead.
    runs: bool,
}

/// All streams.
pub(super) struct Ahead {
    streams: Box<[Stream; STREAMS]>,
    /// Maximum number of pages ahead of a stream.
    window: u64,
    /// Requests after which a stream that rests has ended: the pages of the buffer.
    patience: u64,
    clock: u64,
    /// The stream to check next for its end.
    check: usize,
    /// Pages of a stream that ended, not read.
    ended: Range<u64>,
}

impl Ahead {
    /// Creates an empty table of streams for a buffer of `pages` pages.
    pub fn new(window: u64, pages: u64) -> Ahead {
        let streams = Box::new([Stream::default(); STREAMS]);
        Ahead { streams, window, patience: pages, clock: 0, check: 0, ended: 0..0 }
    }

    /// Notes the first request for `page` since it is in the cache.
    pub fn follow(&mut self, page: u64) {
        self.clock += 1;
        self.check = (self.check + 1) % STREAMS;
        if self.streams[self.check].runs && self.streams[self.check].used + self.patience < self.clock {
            self.end(self.check);
        }
        let goes_on =
            |stream: &Stream| stream.used > 0 && page >= stream.next && page <= stream.ahead.max(stream.next) + SKIP;
        if let Some(stream) = self.streams.iter_mut().find(|stream| goes_on(stream)) {
            *stream = Stream { next: page + 1, ahead: stream.ahead.max(page + 1), used: self.clock, runs: true };
            return;
        }
        let oldest = (0..STREAMS).min_by_key(|at| self.streams[*at].used).expect("some");
        self.end(oldest);
        self.streams[oldest] = Stream { next: page + 1, ahead: page + 1, used: self.clock, runs: false };
    }

    /// Ends a stream, and notes its pages that were not read.
    fn end(&mut self, at: usize) {
        let Stream { next, ahead, .. } = std::mem::take(&mut self.streams[at]);
        if ahead > next {
            self.ended = next..ahead;
        }
    }

    /// Returns the pages of a stream that ended since the last call, which nothing will read.
    pub fn take_ended(&mut self) -> Range<u64> {
        std::mem::replace(&mut self.ended, 0..0)
    }

    /// Returns the page to prefetch next, of a memory of `pages`; `None` if all streams are read ahead by the window.
    pub fn take(&mut self, pages: u64) -> Option<u64> {
        let wants = |stream: &Stream| stream.runs && stream.ahead < (stream.next + self.window).min(pages);
        let nearest = (0..STREAMS)
            .filter(|at| wants(&self.streams[*at]))
            .min_by_key(|at| self.streams[*at].ahead - self.streams[*at].next)?;
        self.streams[nearest].ahead += 1;
        Some(self.streams[nearest].ahead - 1)
    }

    /// Takes back `page`. One that is not the last of its stream, because its tags arrived late, is given up.
    pub fn put_back(&mut self, page: u64) {
        let is_last = |stream: &&mut Stream| stream.runs && stream.ahead == page + 1 && stream.next <= page;
        if let Some(stream) = self.streams.iter_mut().find(is_last) {
            stream.ahead = page;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(ahead: &mut Ahead) -> Vec<u64> {
        std::iter::from_fn(|| ahead.take(1 << 20)).collect()
    }

    #[test]
    fn streams_share_the_buffer_from_their_second_page_on() {
        let mut ahead = Ahead::new(3, 100);
        ahead.follow(10);
        ahead.follow(1000);
        assert!(taken(&mut ahead).is_empty());
        ahead.follow(11);
        ahead.follow(1001);
        assert_eq!(taken(&mut ahead), [12, 1002, 13, 1003, 14, 1004]);
        ahead.follow(12);
        assert_eq!(ahead.take(1 << 20), Some(15));
        ahead.put_back(15);
        assert_eq!(taken(&mut ahead), [15]);
        // A page is skipped, and the memory ends.
        ahead.follow(14);
        assert_eq!((ahead.take(17), ahead.take(17)), (Some(16), None));
    }

    #[test]
    fn a_stream_that_rests_gives_its_pages_back() {
        let mut ahead = Ahead::new(3, 200);
        ahead.follow(10);
        ahead.follow(11);
        assert_eq!(taken(&mut ahead), [12, 13, 14]);
        let ended: Vec<u64> = (0..600u64)
            .flat_map(|n| {
                ahead.follow(100_000 + n * 10);
                ahead.take_ended()
            })
            .collect();
        assert_eq!(ended, [12, 13, 14]);
        assert!(taken(&mut ahead).is_empty());
    }
}
