//! SPC: `ASU,LBA,Size,Opcode,Timestamp` and fields of one's own behind them.
//!
//! Source: Storage Performance Council, "SPC Trace File Format Specification", revision 1.0.1 (2002). An ASU is a
//! logical volume; the LBA counts blocks, of 512 bytes in the UMass repository's Financial and WebSearch traces; the
//! size is bytes; the opcode is r or w in either case; the timestamp is seconds since the trace's start.

use super::RecordOp;
use super::devices::Devices;
use super::fields::{CommaFields, Fault, Field};
use super::reader::{Entry, Step};

const ASU: Field = Field::new("ASU", "a whole number");
const LBA: Field = Field::new("LBA", "a whole number of 512-byte blocks");
const SIZE: Field = Field::new("Size", "a whole number of bytes");
const OPCODE: Field = Field::new("Opcode", "r or w");
const TIMESTAMP: Field = Field::new("Timestamp", "seconds, such as 0.026214");

/// One line.
#[inline(always)]
pub(super) fn parse(fields: &mut CommaFields<'_>, devices: &mut Devices) -> Result<Step, Box<Fault>> {
    let asu = fields.number(&ASU)?;
    let offset = fields.sectors(&LBA)?;
    let bytes = fields.number(&SIZE)?;
    let op = match fields.word(&OPCODE)? {
        b"r" | b"R" => RecordOp::Read,
        b"w" | b"W" => RecordOp::Write,
        other => return Err(Fault::quoted(&OPCODE, other)),
    };
    let ticks = fields.seconds(&TIMESTAMP)?;
    Ok(Step::Request(Entry::new(ticks, devices.number(asu), op, offset, bytes)))
}
