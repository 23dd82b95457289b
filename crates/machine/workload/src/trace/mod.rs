//! Readers of block traces from real systems: eleven formats and user-defined columns, all converted to one stream of
//! records.
//!
//! A [`Reader`] streams: its memory use does not grow with the trace. It recognizes gzip and zstd by their magic bytes
//! and decompresses them. An [`IologWriter`] writes the one format that fio can also replay.
//!
//! | format | one request | time | addresses | device |
//! | --- | --- | --- | --- | --- |
//! | [`Format::FioIolog`] | `T FILE read OFFSET LENGTH` | us (v3), none (v2) | bytes | the file |
//! | [`Format::Msr`] | `T,HOST,DISK,Read,OFFSET,SIZE,LATENCY` | 100 ns | bytes | host and disk |
//! | [`Format::Spc`] | `ASU,LBA,SIZE,R,T` | s, decimal | sectors, size in bytes | the ASU |
//! | [`Format::Blkparse`] | `8,0 CPU SEQ T PID Q WS LBA + SECTORS [NAME]` | s, decimal | sectors | major,minor |
//! | [`Format::Mqsim`] | `T DEVICE LBA SECTORS 1` | ns | sectors | the number |
//! | [`Format::Vscsi`] | 32 or 40 bytes, little-endian | us | sectors, size in bytes | one |
//! | [`Format::CloudPhysics`] | `VERSION,T,OPCODE,SIZE,LBN` | s, decimal | sectors, size in bytes | one |
//! | [`Format::Alibaba`] | `DEVICE,R,OFFSET,LENGTH,T` | us | bytes | the number |
//! | [`Format::Tencent`] | `T,OFFSET,SIZE,0,VOLUME` | s | sectors | the number |
//! | [`Format::OracleGeneral`] | 24 bytes, little-endian | s | sectors, size in bytes | one |
//! | [`Format::Objects`] | `OBJECT` | none | blocks of 4 KiB | one |
//! | [`Format::Columns`] | as its [`Columns`] specify | any | any | a column |
//!
//! A sector is 512 bytes in every format, whatever the traced drive's sector size was.
//!
//! In the text formats, blank lines, lines that start with `#` and a byte order mark are ignored, and lines may end in
//! CR LF.

mod clock;
mod devices;
mod error;
pub(crate) mod fields;
pub(crate) mod format;
mod formats;
mod input;
mod reader;

use sim::Time;

pub use error::{Place, TraceError};
pub use format::Format;
pub use formats::columns::Columns;
pub use formats::iolog_writer::IologWriter;
pub(crate) use input::{Input, open_file};
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
