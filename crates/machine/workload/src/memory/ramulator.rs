//! Ramulator's traces, versions 1 and 2; lines of all types may be mixed:
//!
//! | trace | line |
//! | --- | --- |
//! | load-store | `LD 0x12345680` or `ST 0x12345680` |
//! | memory | `0x12345680 R` or `0x12345680 W` |
//! | address vectors | `R 3,0,1,2` or `W 140736775976056,140736775976056`, see below |
//! | processor | `BUBBLES LOAD` or `BUBBLES LOAD STORE`: number of preceding instructions, line loaded, line written
//! back |
//!
//! Source: Ramulator's README and Ramulator 2's `frontend`. A vector of its `ReadWriteTrace` has a number for each level
//! of the DRAM; only one that repeats a single address is known here. An address is hexadecimal with `0x`, or decimal.

use super::lackey::digits;
use super::{Access, Op};
use crate::trace::fields::{BlankFields, Fault, Field};

const FIRST: Field = Field::new("first word", "LD, ST, an address or a number of instructions");
const ADDRESS: Field = Field::new("address", "0x and hexadecimal digits, or a whole number, below 2^64");
const LAST: Field = Field::new("last word", "R or W, or an address to load");
const VECTOR: Field = Field::new(
    "address vector",
    "the same address in each place: numbers of channels, ranks, banks, rows and columns depend on the traced memory",
);
const END: Field = Field::new("line", "the end of the line");

/// Returns whether a line is in one of these formats.
pub(super) fn is_one(line: &[u8]) -> bool {
    // A single number is a page number, and a list of pages is not a Ramulator trace.
    line.trim_ascii().contains(&b' ') && parse(line).is_ok()
}

/// Parses the access of a line, and the write-back of a processor trace.
pub(super) fn parse(line: &[u8]) -> Result<(Access, Option<Access>), Box<Fault>> {
    let mut fields = BlankFields::new(line);
    let first = fields.word(&FIRST)?;
    let access = |op, address, instructions| Access { instructions, op, address, cycle: None, bytes: 1 };
    let (found, second) = if let b"LD" | b"ST" = first {
        let op = if first == b"LD" { Op::Read } else { Op::Write };
        (access(op, address(fields.word(&ADDRESS)?)?, 0), None)
    } else if let (b"R" | b"W", Some(vector)) = (first, vector(line)) {
        fields.next();
        let mut numbers = vector.split(|byte| *byte == b',').map(address);
        let at = numbers.next().unwrap_or_else(|| address(b""))?;
        if numbers.any(|other| !matches!(other, Ok(number) if number == at)) {
            return Err(Fault::quoted(&VECTOR, vector));
        }
        (access(if first == b"R" { Op::Read } else { Op::Write }, at, 0), None)
    } else {
        let number = address(first).map_err(|_| Fault::quoted(&FIRST, first))?;
        match fields.word(&LAST)? {
            b"R" => (access(Op::Read, number, 0), None),
            b"W" => (access(Op::Write, number, 0), None),
            load => {
                let load = address(load).map_err(|_| Fault::quoted(&LAST, load))?;
                let store = fields.next().map(address).transpose()?;
                let read = access(Op::Read, load, number.saturating_add(1));
                (read, store.map(|store| access(Op::Write, store, 0)))
            }
        }
    };
    match fields.next() {
        Some(more) if !more.is_empty() => Err(Fault::quoted(&END, more)),
        _ => Ok((found, second)),
    }
}

/// Returns the second word of a line, if it is a vector of numbers.
fn vector(line: &[u8]) -> Option<&[u8]> {
    let mut fields = BlankFields::new(line);
    fields.next();
    let word = fields.next()?;
    let plain = word.iter().all(|byte| byte.is_ascii_digit() || *byte == b',');
    (plain && word.contains(&b',')).then_some(word)
}

pub(super) fn address(text: &[u8]) -> Result<u64, Box<Fault>> {
    let number = match text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")) {
        Some(hex) => digits(hex, 16),
        None => digits(text, 10),
    };
    number.ok_or_else(|| Fault::quoted(&ADDRESS, text))
}
