//! Counts of transactions and their latencies.

use serde_json::{Value, json};
use sim::{Histogram, Time};

/// Latencies of reads and writes, since a cycle.
#[derive(Default)]
pub(crate) struct Stats {
    cycle: u64,
    begin: Time,
    energy_j: f64,
    latencies: [Histogram; 2],
}

impl Stats {
    /// Returns empty counts that begin at this cycle, time and energy.
    pub fn since(cycle: u64, begin: Time, energy_j: f64) -> Stats {
        Stats { cycle, begin, energy_j, latencies: Default::default() }
    }

    pub fn ended(&mut self, is_write: bool, latency: Time) {
        self.latencies[usize::from(is_write)].record(latency);
    }
}

impl Stats {
    /// Returns the summary at this cycle, time and energy: counts, bandwidths, latencies in nanoseconds.
    pub fn summary(&self, cycle: u64, now: Time, energy_j: f64) -> Value {
        let seconds = (now - self.begin).secs_f64();
        let of = |latencies: &Histogram| {
            let bytes = latencies.count() * crate::memory::LINE;
            json!({
                "transactions": latencies.count(),
                "bytes": bytes,
                "bandwidth_gb_s": if seconds > 0.0 { bytes as f64 / seconds / 1e9 } else { 0.0 },
                "latency_ns": {
                    "mean": latencies.mean_ns(),
                    "min": latencies.min().ps() as f64 / 1e3,
                    "p50": latencies.percentile_ns(50.0),
                    "p99": latencies.percentile_ns(99.0),
                    "max": latencies.max().ps() as f64 / 1e3,
                },
            })
        };
        json!({
            "cycles": cycle - self.cycle,
            "seconds": seconds,
            "reads": of(&self.latencies[0]),
            "writes": of(&self.latencies[1]),
            "energy_j": energy_j - self.energy_j,
        })
    }
}
