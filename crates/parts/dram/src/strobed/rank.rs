//! The READ that waits, and the times of its answer.

use sim::Time;

use super::clocks::Clocks;
use super::{Answer, StrobedConfig, Waiting};

/// Clocks for which the device drives the strobe low before the first data (JESD79-2F: tRPRE, 0.9 to 1.1 clocks).
const PREAMBLE: u64 = 1;

/// The signals of an answered READ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waveform {
    /// Clock edge of the READ that was answered.
    pub read: Time,
    /// Start of the preamble: the device drives the strobe low.
    pub preamble: Time,
    /// First edge of the strobe, with the first data.
    pub data: Time,
}

/// Counters of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StrobeStats {
    /// READs that waited and were answered. The READs behind them, one per burst, do not wait.
    pub answers: u64,
    /// Total time from the first issue of these READs to their data, and the shortest and longest.
    pub waited: Time,
    /// Shortest time from a READ to its data.
    pub waited_min: Time,
    /// Longest time from a READ to its data.
    pub waited_max: Time,
    /// READs that were given up and issued again: at a time-out, or because fixed latency found no data.
    pub repeated: u64,
    /// Transfers of others that found the bus held.
    pub blocked: u64,
    /// The last answer.
    pub last: Waveform,
}

/// A rank of variable latency as its controller sees it. One READ waits at a time, while the device owes data.
#[derive(Clone, Debug)]
pub struct StrobedRank {
    clocks: Clocks,
    cas_latency: u64,
    /// Clocks of the fixed latency, if there is no strobe.
    fixed: Option<u64>,
    is_held: bool,
    timeout: u64,
    /// Bytes that the device owes.
    owed: u64,
    /// Clock edges of the waiting READ's first issue, and of its last after others used the bus.
    waiting: Option<(u64, u64)>,
    /// Number of the wait, for wake-ups.
    wait: u32,
    stats: StrobeStats,
}

impl StrobedRank {
    /// Creates an idle rank.
    ///
    /// # Panics
    /// Panics if the rate or CAS latency is zero, or a time-out or fixed latency is shorter than the CAS latency.
    pub fn new(config: &StrobedConfig) -> StrobedRank {
        let clocks = Clocks::new(config.transfers_per_s);
        let cas_latency = u64::from(config.cas_latency);
        let fixed = match config.answer {
            Answer::Strobe => None,
            Answer::Fixed(latency) => Some(clocks.at_or_after(latency)),
        };
        let timeout = clocks.at_or_after(config.timeout);
        assert!(cas_latency > 0 && timeout >= cas_latency, "a time-out before the CAS latency: {config:?}");
        assert!(fixed.is_none_or(|fixed| fixed >= cas_latency), "an answer before the CAS latency: {config:?}");
        let is_held = config.waiting == Waiting::Held && fixed.is_none();
        StrobedRank {
            clocks,
            cas_latency,
            fixed,
            is_held,
            timeout,
            owed: 0,
            waiting: None,
            wait: 0,
            stats: StrobeStats::default(),
        }
    }

    /// The device owes `bytes` more from `at` on. A READ is issued then, unless one waits.
    pub fn expect(&mut self, at: Time, bytes: u64) {
        self.owed += bytes;
        self.issue(at);
    }

    fn issue(&mut self, at: Time) {
        if self.waiting.is_none() && self.owed > 0 {
            let edge = self.clocks.at_or_after(at);
            self.waiting = Some((edge, edge));
            self.wait = self.wait.wrapping_add(1);
        }
    }

    /// Returns the signals of the answer if the device has its data at `ready`.
    ///
    /// # Panics
    /// Panics if no READ waits.
    pub fn answer(&self, ready: Time) -> Waveform {
        let (_, issued) = self.waiting.expect("a READ waits for the data");
        let ready = self.clocks.at_or_after(ready);
        let (read, data) = match self.fixed {
            Some(latency) => {
                let repeats = ready.saturating_sub(issued + 1) / latency;
                (issued + repeats * latency, issued + (repeats + 1) * latency)
            }
            None => {
                // The strobe at the very edge of the time-out still counts.
                let read = issued + ready.saturating_sub(issued + 1) / self.timeout * self.timeout;
                (read, (read + self.cas_latency).max(ready + PREAMBLE))
            }
        };
        let time = |edge| self.clocks.time(edge);
        Waveform { read: time(read), preamble: time(data - PREAMBLE), data: time(data) }
    }

    /// Records that `bytes` were answered: the first arrived at `data`, and the bus is free at `to`. The next READ is
    /// issued then, if the device owes more.
    ///
    /// # Panics
    /// Panics if no READ waits or the device does not owe that much.
    pub fn answered(&mut self, signals: Waveform, data: Time, bytes: u64, to: Time) {
        let (first, issued) = self.waiting.take().expect("a READ waits for the data");
        assert!(bytes <= self.owed, "{bytes} bytes of {} owed", self.owed);
        self.owed -= bytes;
        let shift = data - signals.data;
        let waited = data - self.clocks.time(first);
        let stats = &mut self.stats;
        stats.waited_min = if stats.answers == 0 { waited } else { stats.waited_min.min(waited) };
        stats.waited_max = stats.waited_max.max(waited);
        stats.waited += waited;
        stats.answers += 1;
        let period = self.fixed.unwrap_or(self.timeout);
        stats.repeated += (self.clocks.at_or_before(signals.read) - issued) / period;
        stats.last = Waveform { preamble: signals.preamble + shift, data, ..signals };
        self.issue(to);
    }

    /// Forgets `bytes` that the device will not deliver, because their command failed.
    pub fn cancel(&mut self, bytes: u64) {
        assert!(bytes <= self.owed, "{bytes} bytes of {} owed", self.owed);
        self.owed -= bytes;
        if self.owed == 0 {
            self.waiting = None;
        }
    }

    /// Returns the next time at which the bus is free for others if it is held at `now`: the waiting READ's time-out.
    pub fn held(&self, now: Time) -> Option<Time> {
        let (_, issued) = self.waiting.filter(|_| self.is_held)?;
        let edge = self.clocks.at_or_before(now);
        (edge >= issued).then(|| {
            let over = (edge - issued) / self.timeout + 1;
            self.clocks.time(issued + over * self.timeout)
        })
    }

    /// Counts a transfer that found the bus held. Returns the number of the wait.
    pub fn block(&mut self) -> u32 {
        self.stats.blocked += 1;
        self.wait()
    }

    /// Returns the number of the current or last wait. It changes with every READ that is issued.
    pub fn wait(&self) -> u32 {
        self.wait
    }

    /// Records that others use the bus until `to`. A READ that holds the bus was given up at `now`; it, or one that
    /// has not been issued, follows at `to`.
    pub fn give_way(&mut self, now: Time, to: Time) {
        let Some((first, issued)) = self.waiting else { return };
        let (edge, next) = (self.clocks.at_or_before(now), self.clocks.at_or_after(to));
        if edge < issued {
            let later = issued.max(next);
            self.waiting = Some((later, later));
        } else if self.is_held {
            self.stats.repeated += (edge - issued) / self.timeout;
            self.waiting = Some((first, next.max(edge)));
            self.wait = self.wait.wrapping_add(1);
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> &StrobeStats {
        &self.stats
    }

    /// Forgets everything that is owed.
    pub fn power_cut(&mut self) {
        (self.owed, self.waiting) = (0, None);
    }
}
