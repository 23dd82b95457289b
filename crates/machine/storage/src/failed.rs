//! Jobs that ended by an error.

use media::Status;
use serde_json::{Value, json};
use sim::Time;
use workload::JobInfo;

/// A job that ended by the error of one of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedJob {
    /// Its number.
    pub job: u16,
    /// How the request ended.
    pub status: Status,
    /// When it ended.
    pub at: Time,
}

impl FailedJob {
    /// Its entry in a summary.
    pub(crate) fn entry(&self, jobs: &[JobInfo]) -> Value {
        json!({
            "jobname": jobs[self.job as usize].name,
            "error": errno(Some(self.status)),
            "time_s": self.at.secs_f64(),
        })
    }
}

/// The Linux error number that a program sees.
pub(crate) fn errno(status: Option<Status>) -> u32 {
    match status {
        None | Some(Status::Ok) => 0,
        Some(Status::Uncorrectable | Status::Failed) => 5,
        Some(Status::NoSpace) => 28,
    }
}
