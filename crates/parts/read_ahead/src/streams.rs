//! Detection of sequential streams among the reads of the host.

use std::ops::Range;

/// A sequence of reads, each of which begins where the one before ends.
#[derive(Clone, Copy, Default)]
struct Stream {
    /// End of the furthest read, in bytes; 0 if the entry is unused.
    next: u64,
    /// Number of its reads.
    reads: u32,
    /// End of the data that were read ahead of the stream, in bytes.
    ahead: u64,
    /// Number of the drive's read that was its last.
    used: u64,
}

/// The streams that a drive follows.
pub(crate) struct Streams {
    streams: Vec<Stream>,
    /// Number of reads after which a stream is read ahead.
    after: u32,
    /// Bytes by which a stream is read ahead.
    distance: u64,
    /// Number of reads so far.
    reads: u64,
}

impl Streams {
    pub(crate) fn new(count: u32, after: u32, distance: u64) -> Streams {
        Streams { streams: vec![Stream::default(); count as usize], after, distance, reads: 0 }
    }

    /// Notes a read of the bytes `read`, and returns the bytes to be read ahead of its stream. The distance is filled
    /// again once half is used, so that pages are read together.
    pub(crate) fn note(&mut self, read: Range<u64>) -> Option<Range<u64>> {
        self.reads += 1;
        let Some(at) = self.find(read.start) else {
            let at = self.least_needed();
            self.streams[at] = Stream { next: read.end, reads: 1, ahead: 0, used: self.reads };
            return None;
        };
        let stream = &mut self.streams[at];
        stream.used = self.reads;
        stream.reads = stream.reads.saturating_add(1);
        stream.next = stream.next.max(read.end);
        if stream.reads < self.after {
            return None;
        }
        let (from, to) = (stream.ahead.max(stream.next), stream.next.saturating_add(self.distance));
        if to - from < self.distance.div_ceil(2) {
            return None;
        }
        stream.ahead = to;
        Some(from..to)
    }

    /// Finds the stream that a read from `start` on continues. Reads of a stream that is read ahead may arrive in another
    /// order than they were sent, if many are outstanding.
    fn find(&self, start: u64) -> Option<usize> {
        let known = |stream: &Stream| stream.next > 0;
        let exact = self.streams.iter().position(|stream| known(stream) && stream.next == start);
        exact.or_else(|| {
            self.streams.iter().position(|stream| {
                known(stream) && stream.reads >= self.after && start.abs_diff(stream.next) <= self.distance
            })
        })
    }

    /// Returns the entry for a new stream: an unused one, then the oldest that is not read ahead, then the oldest.
    fn least_needed(&self) -> usize {
        let needed = |stream: &Stream| (stream.reads >= self.after && stream.next > 0, stream.used);
        (0..self.streams.len()).min_by_key(|at| needed(&self.streams[*at])).expect("at least one stream")
    }

    pub(crate) fn clear(&mut self) {
        self.streams.fill(Stream::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    fn streams(count: u32) -> Streams {
        Streams::new(count, 2, 64 * KIB)
    }

    #[test]
    fn the_second_read_in_sequence_begins_a_stream() {
        let mut streams = streams(2);
        assert_eq!(streams.note(0..4 * KIB), None);
        assert_eq!(streams.note(4 * KIB..8 * KIB), Some(8 * KIB..72 * KIB));
    }

    #[test]
    fn the_distance_is_filled_again_once_half_of_it_is_used() {
        let mut streams = streams(1);
        let reads: Vec<_> = (0..20).map(|at| streams.note(at * 4 * KIB..(at + 1) * 4 * KIB)).collect();
        assert_eq!(reads[1], Some(8 * KIB..72 * KIB));
        assert!(reads[2..9].iter().all(Option::is_none));
        assert_eq!(reads[9], Some(72 * KIB..104 * KIB));
        assert_eq!(reads[17], Some(104 * KIB..136 * KIB));
    }

    #[test]
    fn reads_at_random_begin_none() {
        let mut streams = streams(8);
        assert!(
            (1..1000)
                .all(|at: u64| streams.note(at * 7919 % 997 * 8 * KIB..at * 7919 % 997 * 8 * KIB + 4 * KIB).is_none())
        );
    }

    #[test]
    fn reads_in_between_do_not_end_a_stream() {
        let mut streams = streams(2);
        streams.note(0..4 * KIB);
        streams.note(4 * KIB..8 * KIB);
        for at in 1..100 {
            streams.note(at * 999 * KIB..at * 999 * KIB + 4 * KIB);
        }
        let read = (2..10).filter_map(|at| streams.note(at * 4 * KIB..(at + 1) * 4 * KIB)).next();
        assert_eq!(read, Some(72 * KIB..104 * KIB));
    }

    #[test]
    fn reads_that_overtake_each_other_stay_in_their_stream() {
        let mut streams = streams(1);
        for at in [0, 1, 3, 2, 5, 4, 7, 6] {
            streams.note(at * 4 * KIB..(at + 1) * 4 * KIB);
        }
        assert_eq!((streams.streams[0].next, streams.streams[0].reads), (32 * KIB, 8));
    }
}
