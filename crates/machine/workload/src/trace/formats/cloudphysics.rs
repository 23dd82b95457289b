//! CloudPhysics virtual disk traces as text: `version,time,op,size,lbn`.
//!
//! Source: the sample included with libCacheSim, compared with the same trace as vscsi records. The version is that of
//! the vscsi record. The time is in whole seconds, where the record has microseconds; a fraction is read if there is
//! one. The operation is the SCSI code in hexadecimal, the size is in bytes, and the LBN counts 512-byte sectors.

use crate::trace::declaration::{Declaration, Head, are_numbers, is_either};
use crate::trace::devices::Devices;
use crate::trace::fields::{CommaFields, Fault, Field, nanoseconds};
use crate::trace::formats::scsi::{self, ScsiEffect};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, between_commas};

const VERSION: Field = Field::new("version", "1 or 2");
const TIME: Field = Field::new("time", "seconds");
const OP: Field = Field::new("op", scsi::EXPECTED);
const SIZE: Field = Field::new("size", "a whole number of bytes");
const LBN: Field = Field::new("lbn", "a whole number of 512-byte sectors");

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "cloudphysics",
    title: "CloudPhysics CSV",
    layout: "VERSION,TIME,OPCODE,SIZE,LBN",
    example: b"1,5633898,2a,512,42932745\n",
    extensions: &["cloudphysics"],
    header: "version,",
    recognizes,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    matches!(head.commas(), [version, time, op, size, lbn]
        if is_either(version, ["1", "2"])
            && nanoseconds(time).is_some()
            && hex(op).is_some()
            && are_numbers(&[size, lbn]))
}

/// Starts to read a trace.
pub(crate) fn start(_: &mut Input, _: &mut Requests) -> Started {
    Ok(between_commas(parse))
}

fn parse(fields: &mut CommaFields<'_>, devices: &mut Devices) -> Parsed {
    match fields.word(&VERSION)? {
        b"1" | b"2" => {}
        other => return Err(Fault::quoted(&VERSION, other)),
    }
    let ticks = fields.seconds(&TIME)?;
    let code = fields.word(&OP)?;
    let bytes = fields.number(&SIZE)?;
    let offset = fields.sectors(&LBN)?;
    fields.end()?;
    match hex(code).map_or(ScsiEffect::Other, scsi::command) {
        ScsiEffect::Request(op) => Ok(Step::Request(Entry::new(ticks, devices.number(0), op, offset, bytes))),
        ScsiEffect::NoMedium => Ok(Step::Skipped),
        ScsiEffect::Other => Err(Fault::quoted(&OP, code)),
    }
}

/// Parses an operation code: two hexadecimal digits, with or without `0x`.
fn hex(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    match digits {
        [high, low] => {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            Some((digit(*high)? * 16 + digit(*low)?) as u16)
        }
        _ => None,
    }
}
