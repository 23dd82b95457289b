//! Tencent Cloud block traces: `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! Source: the README of the published traces (SNIA IOTTA, trace set 27917; Zhang et al., "OSCA", ATC 2020). The
//! timestamp is Unix time in whole seconds, offset and size count 512-byte sectors, and the type is 0 for a read and 1
//! for a write.

use crate::trace::RecordOp;
use crate::trace::devices::Devices;
use crate::trace::fields::{CommaFields, Fault, Field};
use crate::trace::reader::{Entry, Step};

/// Start of the header, case-insensitive.
const HEADER: &[u8] = b"timestamp,offset,";

const TIMESTAMP: Field = Field::new("Timestamp", "seconds since 1970");
const OFFSET: Field = Field::new("Offset", "a whole number of 512-byte sectors");
const SIZE: Field = Field::new("Size", "a whole number of 512-byte sectors");
const TYPE: Field = Field::new("IOType", "0 (read) or 1 (write)");
const VOLUME: Field = Field::new("VolumeID", "a whole number");

/// Parses one line.
pub(crate) fn parse(fields: &mut CommaFields<'_>, devices: &mut Devices) -> Result<Step, Box<Fault>> {
    let line = fields.rest();
    let ticks = match fields.seconds(&TIMESTAMP) {
        Ok(ticks) => ticks,
        Err(_) if is_header(line) => return Ok(Step::Nothing),
        Err(fault) => return Err(fault),
    };
    let offset = fields.sectors(&OFFSET)?;
    let bytes = fields.sectors(&SIZE)?;
    let op = match fields.word(&TYPE)? {
        b"0" => RecordOp::Read,
        b"1" => RecordOp::Write,
        other => return Err(Fault::quoted(&TYPE, other)),
    };
    let volume = fields.number(&VOLUME)?;
    fields.end()?;
    Ok(Step::Request(Entry::new(ticks, devices.number(volume), op, offset, bytes)))
}

/// Returns whether a line is the optional header.
pub(crate) fn is_header(line: &[u8]) -> bool {
    line.len() >= HEADER.len() && line[..HEADER.len()].eq_ignore_ascii_case(HEADER)
}
