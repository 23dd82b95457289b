//! Jobs that an error ended.

use media::Status;
use serde_json::{Value, json};
use sim::Time;
use workload::JobInfo;

/// A job ended by the error of one of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedJob {
    /// The job's number.
    pub job: u16,
    /// Status of the failed request; `None` if it took longer than the job's `max_latency`.
    pub status: Option<Status>,
    /// Time at which the job ended.
    pub at: Time,
}

impl FailedJob {
    /// Returns the Linux error number that the job ends with.
    pub(crate) fn errno(&self) -> u32 {
        self.status.map_or(TIMED_OUT, |status| errno(Some(status)))
    }

    /// Returns the job's entry in a summary.
    pub(crate) fn entry(&self, jobs: &[JobInfo]) -> Value {
        json!({
            "jobname": jobs[self.job as usize].name,
            "error": self.errno(),
            "time_s": self.at.secs_f64(),
        })
    }
}

/// ETIMEDOUT.
const TIMED_OUT: u32 = 110;

/// Returns the name and the meaning of a Linux error number.
pub(crate) fn describe(errno: u32) -> &'static str {
    match errno {
        5 => "EIO (Input/output error)",
        28 => "ENOSPC (No space left on device)",
        TIMED_OUT => "ETIMEDOUT (Connection timed out): a request took longer than max_latency",
        121 => "EREMOTEIO (Remote I/O error)",
        other => unreachable!("no status has the error number {other}"),
    }
}

/// Returns the Linux error number that a program would see.
pub(crate) fn errno(status: Option<Status>) -> u32 {
    match status {
        None | Some(Status::Ok) => 0,
        Some(Status::Uncorrectable | Status::Failed) => 5,
        Some(Status::NoSpace) => 28,
        Some(Status::Refused(_)) => 121,
    }
}
