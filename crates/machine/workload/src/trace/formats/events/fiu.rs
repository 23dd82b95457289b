//! Traces of Florida International University: `TIME PID PROCESS LBA SECTORS W MAJOR MINOR [MD5]`.
//!
//! Source: the README of the traces (SRCMap, I/O deduplication) at SNIA's IOTTA repository. The time is in nanoseconds,
//! address and size are sectors of 512 bytes, and a hash of the content may end the line.

use crate::trace::RecordOp;
use crate::trace::declaration::{Declaration, Head, are_numbers};
use crate::trace::devices::Devices;
use crate::trace::fields::{BlankFields, Fault, Field};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_blanks};

const TIME: Field = Field::new("time", "a whole number of nanoseconds");
const PID: Field = Field::new("pid", "a whole number");
const PROCESS: Field = Field::new("process", "a name");
const LBA: Field = Field::new("lba", "a whole number of 512-byte sectors");
const SIZE: Field = Field::new("size", "a whole number of 512-byte sectors");
const TYPE: Field = Field::new("operation", "W or R");
const MAJOR: Field = Field::new("major", "a whole number below 2^32");
const MINOR: Field = Field::new("minor", "a whole number below 2^32");

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "fiu",
    title: "traces of FIU",
    layout: "TIME PID PROCESS LBA SECTORS W MAJOR MINOR [MD5]",
    example: b"89967195 4253 nfsd 508645432 8 W 6 0 1f9e8d2c6b7a4f3e5d0c1b2a39485766\n",
    extensions: &["fiu"],
    recognizes,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    matches!(head.blanks(), [time, pid, _, lba, size, b"W" | b"R", major, minor]
        if are_numbers(&[time, pid, lba, size, major, minor]))
}

/// Starts to read a trace.
pub(crate) fn start(_: &mut Input, _: &mut Requests) -> Started {
    Ok(between_blanks(parse))
}

fn parse(fields: &mut BlankFields<'_>, devices: &mut Devices) -> Parsed {
    let ticks = fields.number(&TIME)?;
    fields.number(&PID)?;
    fields.word(&PROCESS)?;
    let offset = fields.sectors(&LBA)?;
    let bytes = fields.sectors(&SIZE)?;
    let op = match fields.word(&TYPE)? {
        b"W" => RecordOp::Write,
        b"R" => RecordOp::Read,
        other => return Err(Fault::quoted(&TYPE, other)),
    };
    let (major, minor) = (fields.number(&MAJOR)?, fields.number(&MINOR)?);
    for (field, number) in [(&MAJOR, major), (&MINOR, minor)] {
        if number > u64::from(u32::MAX) {
            return Err(Fault::quoted(field, number.to_string().as_bytes()));
        }
    }
    let key = (major << 32 | minor).to_le_bytes();
    let device = devices.intern(&key, || format!("{major},{minor}"));
    Ok(Step::Request(Entry::new(ticks, device, op, offset, bytes)))
}
