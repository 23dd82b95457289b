//! What a channel and its ports did.

use sim::Time;

use crate::request::Kind;

/// What one port asked for and got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    /// Requests done, reads and writes.
    pub requests: [u64; 2],
    /// Bytes of the bursts moved, reads and writes.
    pub bytes: [u64; 2],
    /// Sum of their latencies, from submission to completion, reads and writes.
    pub latency: [Time; 2],
    /// The longest of them.
    pub latency_max: [Time; 2],
}

impl PortStats {
    /// Mean latency of requests of a kind; zero where there were none.
    pub fn mean_latency(&self, kind: Kind) -> Time {
        match self.requests[kind as usize] {
            0 => Time::ZERO,
            n => self.latency[kind as usize] / n,
        }
    }

    pub(crate) fn note(&mut self, kind: Kind, latency: Time) {
        let k = kind as usize;
        self.requests[k] += 1;
        self.latency[k] += latency;
        self.latency_max[k] = self.latency_max[k].max(latency);
    }
}

/// What one channel did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelStats {
    /// Bursts on the data bus, reads and writes.
    pub bursts: [u64; 2],
    /// Reads answered from the write queue.
    pub forwarded: u64,
    /// Rows opened for what waited. Bursts less these are row hits.
    pub activates: u64,
    /// Rows closed because another row of the bank was wanted.
    pub conflicts: u64,
    /// How often the bus turned from reads to writes.
    pub turns: u64,
    /// Steps of the controller: commands and admissions. Idle time adds none.
    pub steps: u64,
}
