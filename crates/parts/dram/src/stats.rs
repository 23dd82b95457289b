//! Counters of a channel and its ports.

use sim::Time;

use crate::request::RequestKind;

/// Counters of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    /// Completed requests, reads and writes.
    pub requests: [u64; 2],
    /// Bytes of the bursts transferred, reads and writes.
    pub bytes: [u64; 2],
    /// Sum of latencies from submission to completion, reads and writes.
    pub latency: [Time; 2],
    /// Maximum latency, reads and writes.
    pub latency_max: [Time; 2],
}

impl PortStats {
    /// Returns the mean latency of requests of a kind; zero if there were none.
    pub fn mean_latency(&self, kind: RequestKind) -> Time {
        match self.requests[kind as usize] {
            0 => Time::ZERO,
            n => self.latency[kind as usize] / n,
        }
    }

    pub(crate) fn note(&mut self, kind: RequestKind, latency: Time) {
        let k = kind as usize;
        self.requests[k] += 1;
        self.latency[k] += latency;
        self.latency_max[k] = self.latency_max[k].max(latency);
    }
}

/// Counters of one channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelStats {
    /// Bursts on the data bus, reads and writes.
    pub bursts: [u64; 2],
    /// Read bursts answered from the write queue.
    pub forwarded: u64,
    /// Rows opened for waiting requests. Bursts minus these are row hits.
    pub activates: u64,
    /// Rows closed because a request needed another row of the bank.
    pub conflicts: u64,
    /// Number of times the bus turned from reads to writes.
    pub turns: u64,
    /// Steps of the controller: commands and admissions. Idle time adds none.
    pub steps: u64,
}

/// Counters of one bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankStats {
    /// Number of the rank.
    pub rank: u32,
    /// Number of the bank in its rank, across bank groups.
    pub bank: u32,
    /// Bursts, reads and writes.
    pub bursts: [u64; 2],
    /// Rows opened. Bursts minus these are row hits.
    pub activates: u64,
    /// Rows closed because a request needed another one. Activates minus these are row misses.
    pub conflicts: u64,
}
