//! Errors of a trace.

use std::fmt;

/// Position in a trace: a line of text, or a record of a binary format, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// A line of text.
    Line(u64),
    /// A binary record.
    Record(u64),
}

impl fmt::Display for Position {
    /// Formats the position as it follows the file's name: `:17` or ` record 17`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Line(n) => write!(f, ":{n}"),
            Position::Record(n) => write!(f, " record {n}"),
        }
    }
}

/// Error while reading or writing a trace. The message is one line that names the file and the position in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The operating system could not open, read or write the file.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A field of a line or record does not match the format.
    #[error("{file}{place}: {field}: found {found}, expected {expected}")]
    Field {
        /// The file.
        file: String,
        /// The line or record.
        place: Position,
        /// The field's name in the format's own documentation.
        field: &'static str,
        /// The value that was found.
        found: String,
        /// Description of a valid value.
        expected: String,
    },
    /// Neither the content nor the file's name identifies the format.
    #[error("{file}: cannot detect the trace format: found {saw}, expected one of {expected}")]
    Undetected {
        /// The file.
        file: String,
        /// Description of the content.
        saw: String,
        /// Names of all formats.
        expected: String,
    },
    /// The format does not exist.
    #[error("found the trace format \"{found}\", expected one of {expected}; the nearest is \"{nearest}\"")]
    UnknownFormat {
        /// The name found.
        found: String,
        /// Names of all formats.
        expected: String,
        /// The nearest valid name.
        nearest: &'static str,
    },
    /// The file's compression is not supported.
    #[error("{file}: found {found} data, expected plain, gzip or zstd")]
    Compression {
        /// The file.
        file: String,
        /// The compression.
        found: &'static str,
    },
    /// Compressed data is truncated or damaged.
    #[error("{file}{place}: the {compression} data {what} after {bytes} bytes of trace, expected more ({source})")]
    Damaged {
        /// The file.
        file: String,
        /// The line or record that could not be completed.
        place: Position,
        /// gzip or zstd.
        compression: &'static str,
        /// "ends" or "is damaged".
        what: &'static str,
        /// Bytes of trace that were decompressed before the error.
        bytes: u64,
        /// The decompressor's error.
        source: std::io::Error,
    },
    /// A binary trace ends within a record.
    #[error("{file}{place}: found the end of the file after {found} of its bytes (byte {at}), expected {expected}")]
    Truncated {
        /// The file.
        file: String,
        /// The record.
        place: Position,
        /// Bytes of the record that are in the file.
        found: usize,
        /// Bytes of a complete record.
        expected: usize,
        /// Size of the uncompressed file in bytes.
        at: u64,
    },
    /// A file name cannot be represented in a fio iolog.
    #[error("{file}: found the file name \"{found}\", expected 1 to 255 bytes without blanks, as fio reads them")]
    Name {
        /// The iolog being written.
        file: String,
        /// The name.
        found: String,
    },
}
