//! Counts of a run.

use sim::Time;
use storage::counters::Counters;

use crate::load::{Load, Request};

/// Bytes that moved between tiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Evicted from GPU to host memory.
    pub gpu_to_host: u64,
    /// Fetched from host memory.
    pub host_to_gpu: u64,
    /// Written to the drives.
    pub to_drive: u64,
    /// Fetched from the drives.
    pub drive_to_gpu: u64,
    /// Weights streamed.
    pub weights: u64,
}

impl Flow {
    /// Returns the difference from an earlier count.
    pub fn since(&self, earlier: &Flow) -> Flow {
        Flow {
            gpu_to_host: self.gpu_to_host - earlier.gpu_to_host,
            host_to_gpu: self.host_to_gpu - earlier.host_to_gpu,
            to_drive: self.to_drive - earlier.to_drive,
            drive_to_gpu: self.drive_to_gpu - earlier.drive_to_gpu,
            weights: self.weights - earlier.weights,
        }
    }
}

/// A request that has been answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The request.
    pub request: Request,
    /// Time of its first token.
    pub first: Time,
    /// Time of its last token.
    pub last: Time,
    /// Tokens of its prompt found in GPU memory, host memory and the drives.
    pub hits: [u64; 3],
}

/// Counts of a run so far. Its fields are independent counters of one subject, which a snapshot copies together.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests that arrived, that were refused as too long for GPU memory, and that were answered.
    pub arrived: u64,
    /// See `arrived`.
    pub rejected: u64,
    /// See `arrived`.
    pub finished: u64,
    /// Tokens generated.
    pub generated: u64,
    /// Tokens computed: prefill and decode.
    pub computed: u64,
    /// Tokens to know at admissions, and those found in each tier.
    pub looked_up: u64,
    /// See `looked_up`.
    pub hits: [u64; 3],
    /// Steps of the GPUs.
    pub steps: u64,
    /// Time in which they computed.
    pub gpu_busy: Time,
    /// Preempted sequences.
    pub preempted: u64,
    /// Blocks whose last copy was dropped.
    pub dropped: u64,
    /// Bytes between the tiers.
    pub flow: Flow,
    /// Busy time of the host link, to the GPUs and from them.
    pub link_busy: [Time; 2],
    /// Integral over time of the number of requests in the system, in request-picoseconds.
    pub request_ps: u128,
    /// Requests that arrived within the statistics and were answered.
    pub answers: Vec<Finished>,
    /// Times of fetches from the drives that began within the statistics.
    pub fetches: Vec<Time>,
    /// Time in which the drives had a read to serve.
    pub fetch_busy: Time,
}

impl Tally {
    pub(crate) fn reused(&mut self, hits: &[u64; 3], known: u64) {
        self.looked_up += known;
        for (sum, hit) in self.hits.iter_mut().zip(hits) {
            *sum += hit;
        }
    }

    pub(crate) fn fetched(&mut self, from: Time, to: Time, load: &Load) {
        if from >= load.warm_up && from < load.duration {
            self.fetches.push(to - from);
        }
    }

    pub(crate) fn finish(&mut self, answer: Finished, load: &Load) {
        self.finished += 1;
        if answer.request.at >= load.warm_up && answer.request.at < load.duration {
            self.answers.push(answer);
        }
    }

    /// Returns the mean rate of past reads from the drives in bytes per second, at most that of the host link; the link's
    /// before the first.
    pub(crate) fn fetch_rate(&self, link: u64) -> f64 {
        match self.fetch_busy {
            Time::ZERO => link as f64,
            busy => (self.flow.drive_to_gpu as f64 / busy.secs_f64()).clamp(1.0, link as f64),
        }
    }
}

/// Counts at one time.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub at: Time,
    pub tally: Tally,
    /// Counters of each drive.
    pub drives: Vec<Counters>,
    /// Requests in the system.
    pub inside: usize,
}
