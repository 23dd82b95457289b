//! Predicts the next accesses of each thread from its faults: sequential or strided. Pure computation, without threads
//! or kernel.

use std::ops::Range;

use super::pages::Key;

/// The access order that a program announces for a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Unknown: detect it from the faults.
    Normal,
    /// Random: do not read ahead.
    Random,
    /// Sequential, from the first access on.
    Sequential,
}

/// Segments to read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Readahead {
    pub first: Key,
    pub stride: i64,
    pub count: u32,
}

impl Readahead {
    /// Returns the planned segments below `end`.
    pub fn keys(self, end: Key) -> impl Iterator<Item = Key> {
        (0..i64::from(self.count)).map_while(move |n| {
            let key = self.first.checked_add_signed(self.stride.checked_mul(n)?)?;
            (key < end).then_some(key)
        })
    }
}

/// The access stream of one thread.
#[derive(Clone, Copy, Debug)]
struct Stream {
    thread: u32,
    last: Key,
    stride: i64,
    /// Number of consecutive accesses with the same stride.
    runs: u32,
    /// Number of segments in the last plan; 0 if there is none.
    window: u32,
    /// The first segment of the last plan. It is left unmapped, so that its fault reveals the thread's progress.
    marker: Key,
    /// The first segment of the next plan.
    next: Key,
}

/// Maximum number of tracked threads.
const STREAMS: usize = 64;
/// Accesses with the same stride, after the first access, that start read-ahead.
const RUNS: u32 = 2;
const FIRST_WINDOW: u32 = 16;

/// The read-ahead policy; see the module.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// Tracked threads, the most recently active last.
    streams: Vec<Stream>,
    advice: Vec<(Range<Key>, Advice)>,
    most: u32,
}

impl Ahead {
    /// Creates a policy that reads ahead at most `most` segments at a time.
    pub fn new(most: u32) -> Ahead {
        Ahead { streams: Vec::with_capacity(STREAMS), advice: Vec::new(), most }
    }

    /// Sets the advice for a range.
    pub fn advise(&mut self, range: Range<Key>, advice: Advice) {
        // Cut the range out of earlier advice.
        let mut kept = Vec::new();
        for (old, said) in self.advice.drain(..) {
            for part in [old.start..old.end.min(range.start), old.start.max(range.end)..old.end] {
                if part.start < part.end {
                    kept.push((part, said));
                }
            }
        }
        if advice != Advice::Normal {
            kept.push((range, advice));
        }
        self.advice = kept;
    }

    fn advice(&self, key: Key) -> Advice {
        self.advice.iter().find(|(range, _)| range.contains(&key)).map_or(Advice::Normal, |(_, advice)| *advice)
    }

    /// Returns whether a segment must stay unmapped because a fault there reveals a thread's progress.
    pub fn is_marker(&self, key: Key) -> bool {
        self.streams.iter().any(|stream| stream.window > 0 && stream.marker == key)
    }

    /// Records a fault of a thread at an unmapped segment, and returns the segments to read ahead for it.
    pub fn fault(&mut self, thread: u32, key: Key) -> Option<Readahead> {
        let advice = self.advice(key);
        if advice == Advice::Random || self.most < 2 {
            return None;
        }
        let at = match self.streams.iter().rposition(|stream| stream.thread == thread) {
            Some(at) => at,
            None => {
                if self.streams.len() == STREAMS {
                    self.streams.remove(0);
                }
                let stream = Stream { thread, last: key, stride: 0, runs: 0, window: 0, marker: 0, next: 0 };
                self.streams.push(stream);
                self.streams.len() - 1
            }
        };
        self.streams[at..].rotate_left(1);
        let stream = self.streams.last_mut().expect("it was put there");
        if stream.window > 0 && key == stream.marker {
            stream.window = (stream.window * 2).min(self.most);
            (stream.marker, stream.last) = (stream.next, key);
        } else {
            let stride = key as i64 - stream.last as i64;
            stream.last = key;
            match stride {
                // A repeated fault, or the thread's first.
                0 if advice == Advice::Normal => return None,
                _ if stride == stream.stride => stream.runs += 1,
                _ => (stream.stride, stream.runs, stream.window) = (stride, 1, 0),
            }
            if advice == Advice::Sequential {
                (stream.stride, stream.runs) = (1, RUNS);
            }
            if stream.runs < RUNS {
                return None;
            }
            let next = key.checked_add_signed(stream.stride)?;
            (stream.marker, stream.next) = (next, next);
            stream.window = if advice == Advice::Sequential { self.most } else { FIRST_WINDOW.min(self.most) };
        }
        let plan = Readahead { first: stream.next, stride: stream.stride, count: stream.window };
        match stream.next.checked_add_signed(stream.stride.checked_mul(i64::from(stream.window))?) {
            Some(next) => stream.next = next,
            None => stream.window = 0,
        }
        Some(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the faults and planned segments of a thread that accesses `count` segments by `stride` from `start`, if
    /// every planned segment except the markers is mapped at once.
    fn faults(ahead: &mut Ahead, thread: u32, start: Key, stride: i64, count: usize) -> (usize, usize) {
        let mut there = std::collections::BTreeSet::new();
        let (mut faults, mut read) = (0, 0);
        for n in 0..count as i64 {
            let key = start.checked_add_signed(n * stride).expect("within");
            if there.contains(&key) {
                continue;
            }
            faults += 1;
            if let Some(plan) = ahead.fault(thread, key) {
                for key in plan.keys(1 << 30) {
                    read += 1;
                    if !ahead.is_marker(key) {
                        there.insert(key);
                    }
                }
            }
        }
        (faults, read)
    }

    #[test]
    fn strided_accesses_fault_once_per_window() {
        for stride in [1, 2, 7, 300, -1, -5] {
            let mut ahead = Ahead::new(256);
            let (faults, read) = faults(&mut ahead, 1, 1 << 20, stride, 10_000);
            assert!(faults < 60, "stride {stride}: {faults} faults");
            assert!((9_900..10_600).contains(&read), "stride {stride}: {read} were read");
        }
    }

    #[test]
    fn random_accesses_and_random_advice_read_nothing_ahead() {
        let mut ahead = Ahead::new(256);
        let mut rng = sim::Streams::new(1).stream("test.ahead");
        assert!((0..10_000).all(|_| ahead.fault(1, rng.below(1 << 20)).is_none()));
        ahead.advise(0..1000, Advice::Random);
        assert_eq!(faults(&mut ahead, 2, 0, 1, 1000), (1000, 0));
        // Advice for a part of the range applies to that part only.
        ahead.advise(500..600, Advice::Sequential);
        assert!(ahead.fault(3, 500).is_some() && ahead.fault(4, 499).is_none() && ahead.fault(4, 600).is_none());
        ahead.advise(0..1000, Advice::Normal);
        assert!(ahead.advice.is_empty());
    }

    #[test]
    fn threads_are_tracked_separately_and_plans_stay_within_bounds() {
        let mut ahead = Ahead::new(64);
        let mut plans = [0; 8];
        for n in 0..64u64 {
            for thread in 0..8u32 {
                plans[thread as usize] += u32::from(ahead.fault(thread, u64::from(thread) * 1000 + n * 3).is_some());
            }
        }
        assert!(plans.iter().all(|count| *count > 0));
        assert!((0..3).all(|n| ahead.fault(100, 20 - 10 * n).is_none()));
        assert_eq!(Readahead { first: 3, stride: -2, count: 9 }.keys(10).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(Readahead { first: 3, stride: 2, count: 9 }.keys(8).collect::<Vec<_>>(), [3, 5, 7]);
        // With more threads than can be tracked, the most recently active ones are.
        (0..1000).for_each(|thread| assert!(ahead.fault(thread, 5).is_none()));
        assert_eq!(ahead.streams.len(), STREAMS);
    }
}
