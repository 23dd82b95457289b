//! Analyzes a burst of writes into an empty buffer: when the buffer was full, and how much it held then.
//!
//! While a burst arrives, its first writes already leave for flash. The amount that has left is estimated from the
//! burst itself: a program takes as long as the flush of one write, and the bytes being programmed are what flash
//! accepts in that time at the rate at which the end of the burst is acknowledged.

use crate::stats::median;

/// Maximum rate behind the knee, relative to the rate before. A halved rate is no evidence: a link that starts to carry
/// all data twice, into the drive and out again to host memory, is half as fast too.
const SLOWER: f64 = 0.45;
/// Fraction of a burst's maximum lead over its average that counts as having reached the maximum.
const AHEAD: f64 = 0.97;
/// A write that is late by this fraction of the program time has waited for a program.
const LATE: f64 = 0.1;
/// Minimum duration of a pause, as a fraction of the program time.
const PAUSE: f64 = 0.2;

/// The acknowledgment times of a burst of writes.
pub(crate) struct Burst {
    /// Bytes per write.
    pub chunk: u64,
    /// Microseconds since the start of the burst, ascending.
    pub acknowledged: Vec<f64>,
}

/// The state of a buffer when it was full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full {
    /// Number of writes in the buffer.
    pub writes: f64,
    /// Fraction of the preceding writes that had already left for flash.
    pub left: f64,
}

impl Burst {
    /// Returns the number of writes.
    pub fn count(&self) -> usize {
        self.acknowledged.len()
    }

    /// Returns the average rate of the first `knee` writes, in writes per microsecond.
    pub fn rate_before(&self, knee: usize) -> f64 {
        knee as f64 / self.acknowledged[knee - 1].max(1e-3)
    }

    /// Returns the average rate of the second half, in writes per microsecond.
    pub fn rate_at_end(&self) -> f64 {
        let (from, to) = (self.count() / 2, self.count() - 1);
        (to - from) as f64 / (self.acknowledged[to] - self.acknowledged[from]).max(1e-3)
    }

    /// Returns the average rate, in writes per microsecond, up to the point where the burst leads its own average the
    /// most. A gradual slowdown before the knee is thus not mistaken for the knee.
    fn rate_at_start(&self) -> f64 {
        let each = self.acknowledged[self.count() - 1] / self.count() as f64;
        let ahead = |k: usize| (k + 1) as f64 * each - self.acknowledged[k];
        let most = (0..self.count()).map(ahead).fold(0.0, f64::max);
        // In a short burst one or two writes are a large fraction.
        let enough = (AHEAD * most).min(most - 2.0 * each);
        let reached = (0..self.count()).find(|k| ahead(*k) >= enough).unwrap_or(self.count() - 1);
        self.rate_before(reached + 1)
    }

    /// Returns the number of writes acknowledged before the first that had to wait for flash, whose programs take
    /// `program_us`; `None` if none had to wait.
    pub fn knee(&self, program_us: f64) -> Option<usize> {
        let (start, end) = (self.rate_at_start(), self.rate_at_end());
        if end > SLOWER * start {
            return None;
        }
        let late = |k: usize| self.acknowledged[k] - (k + 1) as f64 / start;
        let much = (LATE * program_us).min(late(self.count() - 1) / 4.0).max(2.0 / start);
        // The last write that was not late: a temporary delay is caught up with.
        (0..self.count()).rev().find(|k| late(*k) < much).map(|last_in_time| last_in_time + 1)
    }

    /// Returns the fill level of the buffer when it was full; `None` if it never was.
    ///
    /// Data leaves for flash in arrival order: the first data after one program time, later data one round of the dies
    /// after. A round lasts from pause to pause, or one program time if there are no pauses.
    pub fn full(&self, program_us: f64) -> Option<Full> {
        let knee = self.knee(program_us)?;
        if self.acknowledged[knee - 1] < program_us {
            // No data can have left yet.
            return Some(Full { writes: knee as f64, left: 0.0 });
        }
        let long = PAUSE * program_us;
        let pauses: Vec<usize> =
            (knee - 1..self.count() - 1).filter(|k| self.acknowledged[k + 1] - self.acknowledged[*k] > long).collect();
        let mut between: Vec<f64> =
            pauses.windows(2).map(|pair| self.acknowledged[pair[1]] - self.acknowledged[pair[0]]).collect();
        let round = Some(&mut between)
            .filter(|between| between.len() >= 3)
            .map(|between| median(between))
            .filter(|round| (0.6 * program_us..1.1 * program_us).contains(round))
            .unwrap_or(program_us);
        let at_once = (self.rate_at_end() * round).round().max(1.0) as usize;
        let mut freed: Vec<f64> = Vec::with_capacity(self.count());
        for (j, at) in self.acknowledged.iter().enumerate() {
            let idle = at + program_us;
            freed.push(if j >= at_once { idle.max(freed[j - at_once] + round) } else { idle });
        }
        let level = |k: usize| (k + 1) as f64 - freed.partition_point(|at| *at <= self.acknowledged[k]) as f64;
        let mut levels: Vec<f64> = if pauses.is_empty() {
            (knee - 1..self.count()).map(level).collect()
        } else {
            pauses.into_iter().take(4).map(level).collect()
        };
        let writes = median(&mut levels);
        Some(Full { writes, left: 1.0 - writes / knee as f64 })
    }
}
