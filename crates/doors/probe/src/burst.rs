//! A burst of writes into an empty buffer: when it was full, and what was in it then.
//!
//! While a burst comes in, the first of it leaves for flash. What has left by then is estimated from the burst itself: a
//! program takes as long as a flush of one write, and as many bytes are under way as flash takes in in that time, at the
//! rate at which the end of the burst is acknowledged.

use crate::stats::median;

/// Behind the knee it is at most this part as fast as before. Half as fast is no evidence: so is a link that begins to carry
/// all twice, into the drive and out again to the host's memory.
const SLOWER: f64 = 0.45;
/// Of the most that a burst is ahead of its average, what counts as having reached that.
const AHEAD: f64 = 0.97;
/// What is late by this part of a program's time has waited for it.
const LATE: f64 = 0.1;
/// A pause is at least this part of a program's time.
const PAUSE: f64 = 0.2;

/// When the writes of a burst were acknowledged.
pub(crate) struct Burst {
    /// Bytes of a write.
    pub piece: u64,
    /// In microseconds since the burst's start, in their order.
    pub acknowledged: Vec<f64>,
}

/// A buffer that was full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full {
    /// Writes in it.
    pub writes: f64,
    /// Part of the writes until then that had left it for flash.
    pub left: f64,
}

impl Burst {
    /// Writes.
    pub fn count(&self) -> usize {
        self.acknowledged.len()
    }

    /// The average up to the first `knee` writes, in writes a microsecond.
    pub fn rate_before(&self, knee: usize) -> f64 {
        knee as f64 / self.acknowledged[knee - 1].max(1e-3)
    }

    /// That of the second half.
    pub fn rate_at_end(&self) -> f64 {
        let (from, to) = (self.count() / 2, self.count() - 1);
        (to - from) as f64 / (self.acknowledged[to] - self.acknowledged[from]).max(1e-3)
    }

    /// The average up to where the burst is ahead of its own average the most, in writes a microsecond: a first part that
    /// itself grows slower does not look like a knee then.
    fn rate_at_start(&self) -> f64 {
        let each = self.acknowledged[self.count() - 1] / self.count() as f64;
        let ahead = |k: usize| (k + 1) as f64 * each - self.acknowledged[k];
        let most = (0..self.count()).map(ahead).fold(0.0, f64::max);
        // Of few writes, one or two are much.
        let enough = (AHEAD * most).min(most - 2.0 * each);
        let reached = (0..self.count()).find(|k| ahead(*k) >= enough).unwrap_or(self.count() - 1);
        self.rate_before(reached + 1)
    }

    /// Writes that were acknowledged before they first had to wait for flash, whose programs take `program_us`; none if
    /// they never did.
    pub fn knee(&self, program_us: f64) -> Option<usize> {
        let (start, end) = (self.rate_at_start(), self.rate_at_end());
        if end > SLOWER * start {
            return None;
        }
        let late = |k: usize| self.acknowledged[k] - (k + 1) as f64 / start;
        let much = (LATE * program_us).min(late(self.count() - 1) / 4.0).max(2.0 / start);
        // Late for good: what only came a little later all together is caught up with.
        (0..self.count()).rev().find(|k| late(*k) < much).map(|last_in_time| last_in_time + 1)
    }

    /// Writes in the buffer when it was full; none if it never was.
    ///
    /// What is on its way to flash leaves in the order in which it came: the first after a program's time, what comes
    /// behind it a round of the dies later. A round takes as long as it is from pause to pause, or a program where there
    /// are none.
    pub fn full(&self, program_us: f64) -> Option<Full> {
        let knee = self.knee(program_us)?;
        if self.acknowledged[knee - 1] < program_us {
            // Nothing can have left yet.
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
