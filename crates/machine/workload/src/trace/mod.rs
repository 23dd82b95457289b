//! Readers of block traces from real systems: the formats of [`Format`] and user-defined columns, all converted to one
//! stream of records.
//!
//! A [`Reader`] streams: its memory use does not grow with the trace. It recognizes gzip and zstd by their magic bytes
//! and decompresses them. An [`IologWriter`] writes the one format that fio can also replay.
//!
//! A sector is 512 bytes in every format, whatever the traced drive's sector size was.
//!
//! In the text formats, blank lines, lines that start with `#` and a byte order mark are ignored, and lines may end in
//! CR LF.

mod clock;
pub(crate) mod declaration;
mod devices;
mod error;
pub(crate) mod fields;
pub(crate) mod format;
mod formats;
mod input;
mod iolog_writer;
mod reader;
mod requests;

use sim::Time;

pub use error::{Position, TraceError};
pub use formats::Format;
pub use formats::columns::Columns;
pub(crate) use input::{Input, open_file};
pub use iolog_writer::IologWriter;
pub use reader::Reader;

/// Operation of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordOp {
    /// Transfers data from the device.
    Read,
    /// Transfers data to the device.
    Write,
    /// Marks a range as no longer needed.
    Trim,
    /// Makes all acknowledged data durable. Has no range: `offset` and `bytes` are 0.
    Flush,
    /// Writes at the write pointer of the zone that begins at the offset.
    Append,
    /// Opens the zones of a range: one, or all. This and the following operations are those of tables only.
    ZoneOpen,
    /// Closes zones.
    ZoneClose,
    /// Makes zones full.
    ZoneFinish,
    /// Empties zones.
    ZoneReset,
    /// fio iolog version 2 only: delays all later requests until `at`. Has no range: `offset` and `bytes` are 0.
    Wait,
}

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Issue time since the first record; never earlier than that of the preceding record.
    ///
    /// If `timed` is false: the sum of the waits so far, from the start of the trace.
    pub at: Time,
    /// The device or file: an index into [`Reader::devices`].
    pub device: u32,
    /// The operation.
    pub op: RecordOp,
    /// Force unit access: a write that is acknowledged only once it is durable. Only blkparse output records it.
    pub fua: bool,
    /// First byte, as recorded in the trace and not necessarily aligned to sectors.
    pub offset: u64,
    /// Length in bytes; never zero for a read, a write or a trim.
    pub bytes: u64,
    /// Whether the request has its own timestamp. Without one (fio iolog version 2) it is issued as soon as the
    /// preceding record allows, but not before `at`.
    pub timed: bool,
}
