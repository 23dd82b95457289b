//! Figures of a run.

use serde_json::{Map, Value, json};
use sim::{Histogram, Time};
use storage::counters::Counters;

use crate::target::Target;

/// Percentiles that are printed.
const PERCENTILES: [f64; 12] = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.9];

/// What a target did while it was measured, or several targets: as many runs, one after the other.
pub struct Figures {
    writers: u64,
    /// Measured time of all drives together.
    drive_seconds: f64,
    /// Number of drives.
    drives: f64,
    /// Response times of the reader and of the first writer.
    reader: Histogram,
    writer: Histogram,
    /// Writes of all writers.
    writes: u64,
    /// Programmed units, and those with host data.
    programmed: u64,
    programmed_host: u64,
    /// Busy time of the dies of all drives, as a share of one drive's time.
    busy: f64,
}

impl Figures {
    /// Returns the figures of a target that was measured for a time.
    pub fn new(target: Target, measured: Time) -> Figures {
        let Target { drives, jobs, .. } = target;
        let (mut programmed, mut programmed_host, mut busy) = (0, 0, 0.0);
        for drive in &drives {
            let now = Counters::read(&drive.machine, drive.machine.now(), 0).since(drive.begin.as_ref());
            programmed += now.ftl.programmed();
            programmed_host += now.ftl.programmed_host;
            busy += now.dies.iter().map(|die| die.busy().secs_f64()).sum::<f64>() / now.dies.len() as f64;
        }
        let mut times = jobs.into_iter().map(|job| job.times);
        let (Some(reader), Some(writer)) = (times.next(), times.next()) else { unreachable!("a reader and writers") };
        Figures {
            writers: 1 + times.len() as u64,
            writes: writer.count() + times.map(|times| times.count()).sum::<u64>(),
            drive_seconds: measured.secs_f64() * drives.len() as f64,
            drives: drives.len() as f64,
            reader,
            writer,
            programmed,
            programmed_host,
            busy,
        }
    }

    /// Adds the figures of another target with as many drives and writers.
    pub fn add(&mut self, mut other: Figures) {
        debug_assert!(self.writers == other.writers && self.drives == other.drives, "targets of a kind");
        self.drive_seconds += other.drive_seconds;
        self.reader.merge_compact(&other.reader.take());
        self.writer.merge_compact(&other.writer.take());
        self.writes += other.writes;
        self.programmed += other.programmed;
        self.programmed_host += other.programmed_host;
        self.busy += other.busy;
    }

    /// Returns the figures: rates per second, response times in microseconds. Writes and programmed units are those of one
    /// drive.
    pub fn json(&self) -> Value {
        json!({
            "writers": self.writers,
            "reader": self.times(&self.reader),
            "writer": self.times(&self.writer),
            "writes": self.writes as f64 / self.drive_seconds,
            "programmed": self.programmed as f64 / self.drive_seconds,
            "write_amplification": self.programmed as f64 / self.programmed_host as f64,
            "dies_busy": self.busy / self.drive_seconds,
        })
    }

    /// Returns the rate of a job's requests, and the mean and percentiles of their response times.
    fn times(&self, times: &Histogram) -> Value {
        let of = |percent: f64| (percent.to_string(), json!(times.percentile_ns(percent) as f64 / 1e3));
        json!({
            "rate": times.count() as f64 * self.drives / self.drive_seconds,
            "mean": times.mean_ns() / 1e3,
            "percentiles": PERCENTILES.map(of).into_iter().collect::<Map<String, Value>>(),
        })
    }
}
