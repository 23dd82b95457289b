//! What a player is told.

use crate::error::Error;
use crate::fio::ContinueOnError;

/// How a workload meets a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Bytes of the drive. What is left of a last sector is not used.
    pub capacity: u64,
    /// How traces keep time.
    pub replay: Replay,
    /// What becomes of a trace's addresses beyond the drive. (A job file's region must always lie on it.)
    pub beyond: Beyond,
    /// Errors that do not end a job, where the job does not say.
    pub continue_on_error: ContinueOnError,
}

impl Options {
    /// Open loop; addresses beyond the drive are errors; the first error of a request ends its job.
    pub const fn new(capacity: u64) -> Options {
        Options {
            capacity,
            replay: Replay::OpenLoop,
            beyond: Beyond::Error,
            continue_on_error: ContinueOnError::NAMES[0].1,
        }
    }

    /// Whether they make sense.
    pub(super) fn check(&self) -> Result<(), Error> {
        let (option, found, expected) = match self.replay {
            _ if self.capacity == 0 => ("capacity", "less than a sector".to_owned(), "at least 512 bytes"),
            Replay::ClosedLoop { depth: 0 } => ("closed-loop depth", "0".to_owned(), "at least 1"),
            Replay::Scaled(factor) if !(factor > 0.0 && factor.is_finite()) => {
                ("time scale", factor.to_string(), "a factor above 0")
            }
            _ => return Ok(()),
        };
        Err(Error::Option { option, found, expected })
    }
}

/// How a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Replay {
    /// As timestamped.
    OpenLoop,
    /// As fast as `depth` outstanding requests allow.
    ClosedLoop {
        /// Outstanding requests, 1 or more.
        depth: u32,
    },
    /// As timestamped, each stamp times a factor above 0: 0.5 is twice as fast.
    Scaled(f64),
}

/// What becomes of a trace's addresses beyond the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// They are an error.
    Error,
    /// They are taken modulo the drive's size; a request that would cross the end is moved to end there.
    Wrap,
}
