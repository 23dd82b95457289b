//! SPC traces: `ASU,LBA,Size,Opcode,Timestamp`, optionally followed by user-defined fields.
//!
//! Source: Storage Performance Council, "SPC Trace File Format Specification", revision 1.0.1 (2002). An ASU is a
//! logical volume. The LBA counts blocks, of 512 bytes in the UMass repository's Financial and WebSearch traces. The
//! size is in bytes, the opcode is r or w in either case, and the timestamp is in seconds since the start of the trace.

use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head, are_numbers, is_either};
use crate::trace::devices::Devices;
use crate::trace::fields::{CommaFields, Fault, Field, nanoseconds};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_commas};

const ASU: Field = Field::new("ASU", "a whole number");
const LBA: Field = Field::new("LBA", "a whole number of 512-byte blocks");
const SIZE: Field = Field::new("Size", "a whole number of bytes");
const OPCODE: Field = Field::new("Opcode", "r or w");
const TIMESTAMP: Field = Field::new("Timestamp", "seconds, such as 0.026214");

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "spc",
    title: "SPC, as in the UMass repository",
    layout: "ASU,LBA,SIZE,R,TIME",
    example: b"0,303567,3584,w,0.026214\n",
    extensions: &["spc"],
    recognizes,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    matches!(head.commas(), [asu, lba, size, op, time, ..]
        if is_either(op, ["r", "w"]) && are_numbers(&[asu, lba, size]) && nanoseconds(time).is_some())
}

/// Starts to read a trace.
pub(crate) fn start(_: &mut Input, _: &mut Requests) -> Started {
    Ok(between_commas(parse))
}

fn parse(fields: &mut CommaFields<'_>, devices: &mut Devices) -> Parsed {
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
