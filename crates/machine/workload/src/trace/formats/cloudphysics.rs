//! CloudPhysics virtual disk traces as text: `version,time,op,size,lbn`.
//!
//! Source: the sample included with libCacheSim, compared with the same trace as vscsi records. The version is that of
//! the vscsi record. The time is in whole seconds, where the record has microseconds; a fraction is read if there is
//! one. The operation is the SCSI code in hexadecimal, the size is in bytes, and the LBN counts 512-byte sectors.

use crate::trace::devices::Devices;
use crate::trace::fields::{CommaFields, Fault, Field};
use crate::trace::formats::scsi::{self, Command};
use crate::trace::reader::{Entry, Step};

/// Start of the header, case-insensitive.
const HEADER: &[u8] = b"version,";

const VERSION: Field = Field::new("version", "1 or 2");
const TIME: Field = Field::new("time", "seconds");
const OP: Field = Field::new("op", scsi::EXPECTED);
const SIZE: Field = Field::new("size", "a whole number of bytes");
const LBN: Field = Field::new("lbn", "a whole number of 512-byte sectors");

/// Parses one line.
pub(crate) fn parse(fields: &mut CommaFields<'_>, devices: &mut Devices) -> Result<Step, Box<Fault>> {
    let line = fields.rest();
    match fields.word(&VERSION)? {
        b"1" | b"2" => {}
        _ if is_header(line) => return Ok(Step::Nothing),
        other => return Err(Fault::quoted(&VERSION, other)),
    }
    let ticks = fields.seconds(&TIME)?;
    let code = fields.word(&OP)?;
    let bytes = fields.number(&SIZE)?;
    let offset = fields.sectors(&LBN)?;
    fields.end()?;
    match hex(code).map_or(Command::Other, scsi::command) {
        Command::Request(op) => Ok(Step::Request(Entry::new(ticks, devices.number(0), op, offset, bytes))),
        Command::NoMedium => Ok(Step::Skipped),
        Command::Other => Err(Fault::quoted(&OP, code)),
    }
}

/// Returns whether a line is the header.
pub(crate) fn is_header(line: &[u8]) -> bool {
    line.len() >= HEADER.len() && line[..HEADER.len()].eq_ignore_ascii_case(HEADER)
}

/// Parses an operation code: two hexadecimal digits, with or without `0x`.
pub(crate) fn hex(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    match digits {
        [high, low] => {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            Some((digit(*high)? * 16 + digit(*low)?) as u16)
        }
        _ => None,
    }
}
