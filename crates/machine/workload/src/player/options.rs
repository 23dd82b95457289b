//! Options of a player.

use crate::error::Error;
use crate::fio::ContinueOnError;

/// Mapping of a workload to a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Capacity of the drive in bytes. A partial last sector is not used. The drives of a workload with several
    /// follow each other: offset `capacity` is the start of the second.
    pub capacity: u64,
    /// Timing of trace replays.
    pub replay: Replay,
    /// Treatment of trace addresses beyond the drive. (A job file's region must always fit on the drive.)
    pub beyond: Beyond,
    /// Reclaim unit handles of the drive; 0 if it has none.
    pub handles: u32,
    /// Zones of the drive, if it has some.
    pub zones: Option<DriveZones>,
    /// Errors that do not end a job, unless the job sets its own rule.
    pub continue_on_error: ContinueOnError,
}

impl Options {
    /// Creates options for an open-loop replay. Addresses beyond the drive are errors, and the first failed request
    /// ends its job.
    pub const fn new(capacity: u64) -> Options {
        Options {
            capacity,
            replay: Replay::OpenLoop,
            beyond: Beyond::Error,
            handles: 0,
            zones: None,
            continue_on_error: ContinueOnError::NAMES[0].1,
        }
    }

    /// Validates the options.
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

/// Zones of a drive: all have the same size, and the first begins at byte 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveZones {
    /// Bytes from the start of a zone to that of the next.
    pub size: u64,
    /// Writable bytes of a zone, from its start on.
    pub capacity: u64,
    /// Maximum number of zones that are partly written at the same time; `None` for no limit.
    pub open: Option<u32>,
}

/// Timing of a trace replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Replay {
    /// According to the timestamps.
    OpenLoop,
    /// As fast as `depth` outstanding requests allow.
    ClosedLoop {
        /// Maximum number of outstanding requests, 1 or more.
        depth: u32,
    },
    /// According to the timestamps times a positive factor: 0.5 is twice as fast.
    Scaled(f64),
}

/// Treatment of trace addresses beyond the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Such addresses are errors.
    Error,
    /// Addresses are taken modulo the drive's size. A request that would cross the end is moved to end there.
    Wrap,
}
