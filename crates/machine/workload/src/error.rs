//! What can be wrong with a workload.

use crate::fio::JobFileError;
use crate::trace::{Place, TraceError};

/// Why a workload cannot be opened or go on. The message is one line that names the file and the place in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system would not read the file.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A job file is not one, or asks for what the drive cannot do.
    #[error(transparent)]
    JobFile(#[from] JobFileError),
    /// A file of programs is not one.
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
    /// A trace has an address that the drive does not.
    #[error(transparent)]
    Beyond(Box<Beyond>),
    /// A trace has a time that a run's clock cannot hold.
    #[error("{file}{place}: found a request due {days:.0} days after the first, expected at most 213 days")]
    Late {
        /// The trace.
        file: String,
        /// The line or record.
        place: Place,
        /// Days after the first request, scaled.
        days: f64,
    },
    /// An option of the replay makes no sense.
    #[error("{option}: found {found}, expected {expected}")]
    Option {
        /// The option.
        option: &'static str,
        /// What was given.
        found: String,
        /// What would have been right.
        expected: &'static str,
    },
}

/// A request of a trace that reaches beyond the drive.
#[derive(Debug, thiserror::Error)]
#[error(
    "{file}{place}: found a request that ends at byte {end}{of}, expected at most the drive's {capacity} bytes; \
     --wrap takes such addresses modulo the drive's size"
)]
pub struct Beyond {
    /// The trace.
    pub file: String,
    /// The line or record.
    pub place: Place,
    /// Where the request ends on the drive, in bytes.
    pub end: u64,
    /// Which of several devices it was for: ` of "name"`, or nothing.
    pub of: String,
    /// The drive's bytes.
    pub capacity: u64,
}

impl From<TraceError> for Error {
    fn from(error: TraceError) -> Error {
        Error::Trace(Box::new(error))
    }
}
