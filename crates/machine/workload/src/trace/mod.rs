//! Block traces of real systems: eleven formats and any columns in, one stream of records out.
//!
//! A [`Reader`] streams: its memory does not grow with the trace. Gzip and zstd are recognised by their magic bytes and
//! undone on the way. A [`IologWriter`] writes the one format that real fio replays too.
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
//! | [`Format::Columns`] | what its [`Columns`] say | any | any | a column |
//!
//! A sector is 512 bytes in every one of them, whatever the traced drive's own was.
//!
//! In the text formats blank lines, lines that start with `#` and a byte order mark are passed over, and lines may end in
//! CR LF.

mod alibaba;
mod blkparse;
mod clock;
mod cloudphysics;
mod columns;
mod devices;
mod error;
pub(crate) mod fields;
pub(crate) mod format;
mod input;
mod iolog;
mod iolog_writer;
mod libcachesim;
mod mqsim;
mod msr;
mod reader;
mod scsi;
mod spc;
mod tencent;
mod vscsi;

use sim::Time;

pub use columns::Columns;
pub use error::{Place, TraceError};
pub use format::Format;
pub(crate) use input::Input;
pub use iolog_writer::IologWriter;
pub use reader::Reader;

/// What a record asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordOp {
    /// Data out of the device.
    Read,
    /// Data into it.
    Write,
    /// The range is no longer needed.
    Trim,
    /// All that was acknowledged so far must be durable. Has no range: `offset` and `bytes` are 0.
    Flush,
    /// fio iolog version 2 only: nothing goes on before `at`. Has no range: `offset` and `bytes` are 0.
    Wait,
}

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// When it was issued, counted from the first record; never before the record that precedes it.
    ///
    /// Where `timed` is false: the end of the waits so far, counted from the start of the trace.
    pub at: Time,
    /// The device or file: an index into [`Reader::devices`].
    pub device: u32,
    /// What is asked.
    pub op: RecordOp,
    /// Force unit access: a write that is acknowledged only once it is durable. Only blkparse output tells.
    pub fua: bool,
    /// First byte, as the trace has it: not every trace keeps to sectors.
    pub offset: u64,
    /// Bytes; never zero for a read, a write or a trim.
    pub bytes: u64,
    /// The trace gives this request a time of its own. Without one (fio iolog version 2) it follows the record before
    /// it as soon as that allows, though not before `at`.
    pub timed: bool,
}
