//! Errors of a workload.

use crate::fio::JobFileError;
use crate::trace::{Position, TraceError};

/// Error that prevents a workload from being opened or continued. The message is one line that names the file and the
/// position in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system could not read the file.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A job file is invalid, or requires something that the drive cannot do.
    #[error(transparent)]
    JobFile(#[from] JobFileError),
    /// A file of programs is invalid.
    #[error("{file}:{line}: {message}")]
    Program {
        /// The file.
        file: String,
        /// The line.
        line: usize,
        /// The key, what was found, and what was expected.
        message: String,
    },
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(Box<TraceError>),
    /// A trace contains an address beyond the end of the drive.
    #[error(transparent)]
    Beyond(Box<Beyond>),
    /// A trace contains a time that does not fit the run's clock.
    #[error("{file}{place}: found a request due {days:.0} days after the first, expected at most 213 days")]
    Late {
        /// The trace.
        file: String,
        /// The line or record.
        place: Position,
        /// Days since the first request, after scaling.
        days: f64,
    },
    /// A trace manages or appends to zones, and the drive has none.
    #[error("{file}{place}: found an operation on zones, expected none: device.namespace is conventional")]
    Zones {
        /// The trace.
        file: String,
        /// The line or record.
        place: Position,
    },
    /// A replay option is invalid.
    #[error("{option}: found {found}, expected {expected}")]
    Option {
        /// The option.
        option: &'static str,
        /// The value that was given.
        found: String,
        /// Description of a valid value.
        expected: &'static str,
    },
}

/// A trace request that extends beyond the drive.
#[derive(Debug, thiserror::Error)]
#[error(
    "{file}{place}: found a request that ends at byte {end}{of}, expected at most the drive's {capacity} bytes; \
     --wrap takes such addresses modulo the drive's size"
)]
pub struct Beyond {
    /// The trace.
    pub file: String,
    /// The line or record.
    pub place: Position,
    /// End of the request on the drive, in bytes.
    pub end: u64,
    /// The device, if the trace has several: ` of "name"`, otherwise empty.
    pub of: String,
    /// The drive's capacity in bytes.
    pub capacity: u64,
}

impl From<TraceError> for Error {
    fn from(error: TraceError) -> Error {
        Error::Trace(Box::new(error))
    }
}
