//! What a thread will touch next, from what it touched: in order, or by strides. No thread and no kernel here: numbers.

use std::ops::Range;

use super::pages::Key;

/// What a program says of a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Nothing: what it does is looked at.
    Normal,
    /// Any order: nothing is read that was not asked for.
    Random,
    /// In order from the first access on.
    Sequential,
}

/// Segments to be read before they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub first: Key,
    pub stride: i64,
    pub count: u32,
}

impl Plan {
    /// Its segments, as far as there are `end`.
    pub fn keys(self, end: Key) -> impl Iterator<Item = Key> {
        (0..i64::from(self.count)).map_while(move |n| {
            let key = self.first.checked_add_signed(self.stride.checked_mul(n)?)?;
            (key < end).then_some(key)
        })
    }
}

/// What one thread does.
#[derive(Clone, Copy, Debug)]
struct Stream {
    thread: u32,
    last: Key,
    stride: i64,
    /// How often the same stride came in a row.
    runs: u32,
    /// Segments that the last plan had; 0: there is none.
    window: u32,
    /// The first segment of the last plan, which is not mapped: the fault there says that the thread has come so far.
    marker: Key,
    /// The first of the next.
    next: Key,
}

/// Threads that are followed.
const STREAMS: usize = 64;
/// Accesses by the same stride, after the first, before anything is read ahead.
const RUNS: u32 = 2;
const FIRST_WINDOW: u32 = 16;

/// See the module.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// The one used last is the last.
    streams: Vec<Stream>,
    advice: Vec<(Range<Key>, Advice)>,
    most: u32,
}

impl Ahead {
    /// That reads at most `most` segments at a time.
    pub fn new(most: u32) -> Ahead {
        Ahead { streams: Vec::with_capacity(STREAMS), advice: Vec::new(), most }
    }

    /// From now on this is said of a range.
    pub fn advise(&mut self, range: Range<Key>, advice: Advice) {
        // What was said of parts of it is over.
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

    /// Whether the fault at a segment is to tell how far a thread has come.
    pub fn is_marker(&self, key: Key) -> bool {
        self.streams.iter().any(|stream| stream.window > 0 && stream.marker == key)
    }

    /// A thread stands at a segment that was not mapped: what is to be read for it besides.
    pub fn fault(&mut self, thread: u32, key: Key) -> Option<Plan> {
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
                // The same again, or the first of all.
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
        let plan = Plan { first: stream.next, stride: stream.stride, count: stream.window };
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

    /// What faults of a thread that goes by `stride` from `start`, if all that is planned but the markers comes at once.
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
    fn who_goes_by_strides_faults_once_a_window() {
        for stride in [1, 2, 7, 300, -1, -5] {
            let mut ahead = Ahead::new(256);
            let (faults, read) = faults(&mut ahead, 1, 1 << 20, stride, 10_000);
            assert!(faults < 60, "stride {stride}: {faults} faults");
            assert!((9_900..10_600).contains(&read), "stride {stride}: {read} were read");
        }
    }

    #[test]
    fn who_goes_at_random_or_says_so_reads_nothing_ahead() {
        let mut ahead = Ahead::new(256);
        let mut rng = sim::Streams::new(1).stream("test.ahead");
        assert!((0..10_000).all(|_| ahead.fault(1, rng.below(1 << 20)).is_none()));
        ahead.advise(0..1000, Advice::Random);
        assert_eq!(faults(&mut ahead, 2, 0, 1, 1000), (1000, 0));
        // Said of a part, it holds for that part.
        ahead.advise(500..600, Advice::Sequential);
        assert!(ahead.fault(3, 500).is_some() && ahead.fault(4, 499).is_none() && ahead.fault(4, 600).is_none());
        ahead.advise(0..1000, Advice::Normal);
        assert!(ahead.advice.is_empty());
    }

    #[test]
    fn threads_are_told_apart_and_the_ends_are_kept() {
        let mut ahead = Ahead::new(64);
        let mut plans = [0; 8];
        for n in 0..64u64 {
            for thread in 0..8u32 {
                plans[thread as usize] += u32::from(ahead.fault(thread, u64::from(thread) * 1000 + n * 3).is_some());
            }
        }
        assert!(plans.iter().all(|count| *count > 0));
        assert!((0..3).all(|n| ahead.fault(100, 20 - 10 * n).is_none()));
        assert_eq!(Plan { first: 3, stride: -2, count: 9 }.keys(10).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(Plan { first: 3, stride: 2, count: 9 }.keys(8).collect::<Vec<_>>(), [3, 5, 7]);
        // More threads than are followed: those used last are.
        (0..1000).for_each(|thread| assert!(ahead.fault(thread, 5).is_none()));
        assert_eq!(ahead.streams.len(), STREAMS);
    }
}
