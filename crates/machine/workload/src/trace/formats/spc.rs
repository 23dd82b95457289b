//! SPC traces: `ASU,LBA,Size,Opcode,Timestamp`, optionally followed by user-defined fields.
//!
//! Source: Storage Performance Council, "SPC Trace File Format Specification", revision 1.0.1 (2002). An ASU is a
//! logical volume. The LBA counts blocks, of 512 bytes in the UMass repository's Financial and WebSearch traces. The
//! size is in bytes, the opcode is r or w in either case, and the timestamp is in seconds since the start of the trace.

use crate::trace::RecordOp;
use crate::trace::devices::Devices;
use crate::trace::fields::{CommaFields, Fault, Field};
use crate::trace::reader::{Entry, Step};

const ASU: Field = Field::new("ASU", "a whole number");
const LBA: Field = Field::new("LBA", "a whole number of 512-byte blocks");
const SIZE: Field = Field::new("Size", "a whole number of bytes");
const OPCODE: Field = Field::new("Opcode", "r or w");
const TIMESTAMP: Field = Field::new("Timestamp", "seconds, such as 0.026214");

/// Parses one line.
pub(crate) fn parse(fields: &mut CommaFields<'_>, devices: &mut Devices) -> Result<Step, Box<Fault>> {
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
