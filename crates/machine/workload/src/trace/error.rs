//! What can be wrong with a trace.

use std::fmt;

/// Where in a trace: a line of text, or a record of a binary format. Both count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line.
    Line(u64),
    /// A binary record.
    Record(u64),
}

impl fmt::Display for Place {
    /// As it stands behind the file's name: `:17` or ` record 17`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(n) => write!(f, ":{n}"),
            Place::Record(n) => write!(f, " record {n}"),
        }
    }
}

/// Why a trace could not be read or written. The message is one line that names the file and the place in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The system would not open, read or write the file.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A field of a line or record is not what the format demands.
    #[error("{file}{place}: {field}: found {found}, expected {expected}")]
    Field {
        /// The file.
        file: String,
        /// The line or record.
        place: Place,
        /// The field, by the name that the format's own documentation gives it.
        field: &'static str,
        /// What stands there.
        found: String,
        /// What should.
        expected: String,
    },
    /// Neither the content nor the file's name says which format it is.
    #[error("{file}: cannot tell the trace format: found {saw}, expected one of {expected}")]
    Undetected {
        /// The file.
        file: String,
        /// What the content looks like.
        saw: String,
        /// The names of the formats that there are.
        expected: String,
    },
    /// There is no such format.
    #[error("found the trace format \"{found}\", expected one of {expected}; the nearest is \"{nearest}\"")]
    UnknownFormat {
        /// The name that was given.
        found: String,
        /// The names that there are.
        expected: String,
        /// The valid name that is nearest to it.
        nearest: &'static str,
    },
    /// The file is compressed in a way that is not undone here.
    #[error("{file}: found {found} data, expected plain, gzip or zstd")]
    Compression {
        /// The file.
        file: String,
        /// The compression.
        found: &'static str,
    },
    /// Compressed data cannot be undone: they are cut off or damaged.
    #[error(
        "{file}{place}: the {compression} data {what} after {bytes} bytes of trace, expected them to go on ({source})"
    )]
    Damaged {
        /// The file.
        file: String,
        /// The line or record that could not be completed.
        place: Place,
        /// gzip or zstd.
        compression: &'static str,
        /// End, or are damaged.
        what: &'static str,
        /// Bytes of trace that came out before.
        bytes: u64,
        /// What the decompressor said.
        source: std::io::Error,
    },
    /// A binary trace ends within a record.
    #[error("{file}{place}: found the end of the file after {found} of its bytes (byte {at}), expected {expected}")]
    Truncated {
        /// The file.
        file: String,
        /// The record.
        place: Place,
        /// Bytes of the record that are there.
        found: usize,
        /// Bytes of a record.
        expected: usize,
        /// Where the file ends, in bytes of trace.
        at: u64,
    },
    /// A name that a fio iolog cannot hold.
    #[error("{file}: found the file name \"{found}\", expected 1 to 255 bytes without blanks, as fio reads them")]
    Name {
        /// The iolog that is written.
        file: String,
        /// The name.
        found: String,
    },
}
