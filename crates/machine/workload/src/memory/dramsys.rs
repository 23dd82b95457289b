//! DRAMSys's traces: `CYCLE: read ADDRESS` and `CYCLE: write ADDRESS [DATA]`, optionally with `(BYTES)` before the
//! operation.
//!
//! Source: DRAMSys's README. In a `.stl` file cycles count from the start, in a `.rstl` file from the end of the access
//! before. Addresses and data are hexadecimal with `0x`; the data is not used.

use super::lackey::digits;
use super::ramulator::address;
use super::{Access, Op};
use crate::trace::fields::{BlankFields, Fault, Field};

const CYCLE: Field = Field::new("cycle", "a whole number below 2^64 and a colon, such as 31:");
const BYTES: Field = Field::new("length", "bytes in parentheses, from 1 to 65536, such as (64)");
const OPERATION: Field = Field::new("operation", "read or write");
const ADDRESS: Field = Field::new("address", "0x and hexadecimal digits, below 2^64");
const DATA: Field = Field::new("data", "0x and hexadecimal digits");
const END: Field = Field::new("line", "the end of the line");

/// Returns whether a line is in this format.
pub(super) fn is_one(line: &[u8]) -> bool {
    parse(line).is_ok()
}

/// Parses the access of a line.
pub(super) fn parse(line: &[u8]) -> Result<(Access, Option<Access>), Box<Fault>> {
    let mut fields = BlankFields::new(line);
    let word = fields.word(&CYCLE)?;
    let cycle =
        word.strip_suffix(b":").and_then(|number| digits(number, 10)).ok_or_else(|| Fault::quoted(&CYCLE, word))?;
    let (mut word, mut bytes) = (fields.word(&OPERATION)?, 1);
    if let [b'(', number @ .., b')'] = word {
        let number = digits(number, 10).filter(|number| (1..=1 << 16).contains(number));
        bytes = number.ok_or_else(|| Fault::quoted(&BYTES, word))? as u32;
        word = fields.word(&OPERATION)?;
    }
    let op = match word {
        b"read" => Op::Read,
        b"write" => Op::Write,
        other => return Err(Fault::quoted(&OPERATION, other)),
    };
    let word = fields.word(&ADDRESS)?;
    let at = address(word).map_err(|_| Fault::quoted(&ADDRESS, word))?;
    if let Some(data) = fields.next().filter(|data| !data.is_empty()) {
        let hexadecimal = data.strip_prefix(b"0x").is_some_and(|data| data.iter().all(u8::is_ascii_hexdigit));
        if op == Op::Read || !hexadecimal {
            return Err(Fault::quoted(if op == Op::Read { &END } else { &DATA }, data));
        }
    }
    match fields.next() {
        Some(more) if !more.is_empty() => Err(Fault::quoted(&END, more)),
        _ => Ok((Access { instructions: 0, op, address: at, cycle: Some(cycle), bytes }, None)),
    }
}
