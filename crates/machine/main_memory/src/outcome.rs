//! Results of a run on main memory, and the reasons why it failed.

use serde_json::Value;
use sim::Time;
use storage::record::Recorder;
use storage::run::Measured;
use storage::summary::whole;
use workload::JobInfo;

use super::HybridError;

/// Maximum number of cycles of a trace: an hour or more of any clock, and their time is computed without overflow.
pub(super) const CYCLES_MAX: u64 = 1 << 43;

/// The reason why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The programs are invalid.
    #[error(transparent)]
    Workload(#[from] workload::Error),
    /// The main memory's configuration is invalid.
    #[error(transparent)]
    Memory(#[from] HybridError),
    /// The memory is worn out, or full of versions: writes are lost.
    #[error("main memory failed: {0}")]
    Failed(nvmm::Error),
    /// The drive's configuration is invalid.
    #[error(transparent)]
    Config(#[from] ftl::config::ConfigError),
    /// The drive cannot be filled.
    #[error(transparent)]
    Prepare(#[from] storage::prepare::PrepareError),
    /// The drive is too small for files and swap space.
    #[error(
        "found a drive of {found}, expected at least {wanted} for files, swap area and journal (flash, ftl.capacity)"
    )]
    Drive {
        /// The bytes that it has.
        found: String,
        /// The bytes needed.
        wanted: String,
    },
    /// The programs need more memory than exists, or than the kernel leaves.
    #[error("{file}: found programs that use {found}, expected at most the {room} of main memory (memory.size)")]
    Room {
        /// The file of the programs.
        file: String,
        /// The bytes used.
        found: String,
        /// The bytes available.
        room: String,
    },
    /// Programs without any step.
    #[error("{file}: found no access")]
    Empty {
        /// The file of the programs.
        file: String,
    },
    /// A trace whose cycles take longer than a run's clock can count.
    #[error("{file}: found {cycles} cycles from the first access to the last, expected at most {CYCLES_MAX}")]
    Late {
        /// The trace.
        file: String,
        /// The cycles.
        cycles: u64,
    },
    /// The caller's `watch` ended the run.
    #[error("interrupted")]
    Interrupted,
}

/// A completed run.
pub struct MemoryOutcome {
    /// Measurements: for each program, the lines that it waited for.
    pub recorder: Recorder,
    /// The programs, in the recorder's order.
    pub jobs: Vec<JobInfo>,
    /// Time at which measuring began, and at which the last thread ended.
    pub begun: Time,
    /// Time at which the last thread ended.
    pub end: Time,
    /// Lines requested from memory.
    pub fills: u64,
    /// The summary's counters.
    pub inside: Value,
}

impl MemoryOutcome {
    /// Returns the measurements.
    pub fn measured(&self) -> Measured<'_> {
        Measured::new(&self.recorder, &self.jobs, self.end, self.begun)
    }

    /// Returns the run's summary: identical bytes for the same system, programs and options.
    pub fn summary(&self) -> Value {
        whole(self.measured(), self.inside.clone())
    }
}
