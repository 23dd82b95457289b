//! Alibaba Cloud block traces: `device_id,opcode,offset,length,timestamp`.
//!
//! Source: README of the published traces (<https://github.com/alibaba/block-traces>). The operation is R or W, offset
//! and length are bytes, the timestamp is in microseconds.

use crate::trace::RecordOp;
use crate::trace::devices::Devices;
use crate::trace::fields::{CommaFields, Fault, Field};
use crate::trace::reader::{Entry, Step};

/// Start of the header, case-insensitive.
const HEADER: &[u8] = b"device_id,";

const DEVICE: Field = Field::new("device_id", "a whole number");
const OPCODE: Field = Field::new("opcode", "R or W");
const OFFSET: Field = Field::new("offset", "a whole number of bytes");
const LENGTH: Field = Field::new("length", "a whole number of bytes");
const TIMESTAMP: Field = Field::new("timestamp", "a whole number of us");

/// Parses one line.
pub(crate) fn parse(fields: &mut CommaFields<'_>, devices: &mut Devices) -> Result<Step, Box<Fault>> {
    let line = fields.rest();
    let device = match fields.number(&DEVICE) {
        Ok(device) => device,
        Err(_) if is_header(line) => return Ok(Step::Nothing),
        Err(fault) => return Err(fault),
    };
    let op = match fields.word(&OPCODE)? {
        b"R" => RecordOp::Read,
        b"W" => RecordOp::Write,
        other => return Err(Fault::quoted(&OPCODE, other)),
    };
    let offset = fields.number(&OFFSET)?;
    let bytes = fields.number(&LENGTH)?;
    let ticks = fields.number(&TIMESTAMP)?;
    fields.end()?;
    Ok(Step::Request(Entry::new(ticks, devices.number(device), op, offset, bytes)))
}

/// Returns whether a line is the optional header.
pub(crate) fn is_header(line: &[u8]) -> bool {
    line.len() >= HEADER.len() && line[..HEADER.len()].eq_ignore_ascii_case(HEADER)
}
