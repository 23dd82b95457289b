//! Jobs that an error ended.

use media::{Refusal, Status};
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

/// Returns the name and the meaning of the error that a program sees, and the words of the drive if it refused the request.
/// `status`: that of the request; `None` if it took longer than the job's `max_latency`.
pub(crate) fn describe(status: Option<Status>) -> String {
    let Some(status) = status else {
        return "ETIMEDOUT (Connection timed out): a request took longer than max_latency".to_owned();
    };
    let name = match errno(Some(status)) {
        5 => "EIO (Input/output error)",
        28 => "ENOSPC (No space left on device)",
        75 => "EOVERFLOW (Value too large for defined data type)",
        95 => "EOPNOTSUPP (Operation not supported)",
        109 => "ETOOMANYREFS (Too many references: cannot splice)",
        121 => "EREMOTEIO (Remote I/O error)",
        other => unreachable!("{status:?} has the error number {other}"),
    };
    match status {
        Status::Refused(refusal) => format!("{name}: the drive refused it with \"{}\"", words(refusal)),
        _ => name.to_owned(),
    }
}

/// Returns the name of a refusal in the NVMe specifications.
fn words(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::InvalidOpcode => "Invalid Command Opcode",
        Refusal::OutOfRange => "LBA Out of Range",
        Refusal::InvalidField => "Invalid Field in Command",
        Refusal::Boundary => "Zone Boundary Error",
        Refusal::Full => "Zone Is Full",
        Refusal::ReadOnly => "Zone Is Read Only",
        Refusal::Offline => "Zone Is Offline",
        Refusal::InvalidWrite => "Zone Invalid Write",
        Refusal::TooManyActive => "Too Many Active Zones",
        Refusal::TooManyOpen => "Too Many Open Zones",
        Refusal::InvalidTransition => "Invalid Zone State Transition",
    }
}

/// Returns the Linux error number that a program would see. Refusals are those of Linux's NVMe driver
/// (`nvme_error_status`) and block layer: an error number of their own for too many zones, and otherwise EIO.
pub(crate) fn errno(status: Option<Status>) -> u32 {
    match status {
        None | Some(Status::Ok) => 0,
        Some(Status::Uncorrectable | Status::Failed) => 5,
        Some(Status::NoSpace) => 28,
        Some(Status::Refused(refusal)) => match refusal {
            Refusal::InvalidOpcode | Refusal::InvalidField => 95,
            Refusal::OutOfRange => 121,
            Refusal::TooManyActive => 75,
            Refusal::TooManyOpen => 109,
            Refusal::Boundary
            | Refusal::Full
            | Refusal::ReadOnly
            | Refusal::Offline
            | Refusal::InvalidWrite
            | Refusal::InvalidTransition => 5,
        },
    }
}
