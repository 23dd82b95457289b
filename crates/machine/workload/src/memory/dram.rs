//! Traces of DRAM controllers: an address, an operation, and in some formats the cycle.
//!
//! | trace | line |
//! | --- | --- |
//! | DRAMsim3 | `0x2f80 READ 10` |
//! | DRAMSim2 | `0x2f80 P_MEM_RD 10`, `P_MEM_WR`, `P_FETCH`, `BOFF` |
//! | others | `0x2f80 R 10`, `0x2f80 RD`, `R 0x2f80` |
//!
//! Source: the READMEs of DRAMsim3 and DRAMSim2. The cycle is that of the memory and is not used, because it does not
//! determine the program's own timing. A line such as `0x2f80 R` alone is Ramulator's.

use super::ramulator::address;
use super::{Access, Op};
use crate::trace::fields::{BlankFields, Fault, Field};

const FIRST: Field = Field::new("first word", "an address, or R or W before one");
const OPERATION: Field = Field::new("operation", "R, W, RD, WR, READ, WRITE, P_MEM_RD, P_MEM_WR, P_FETCH or BOFF");
const CYCLE: Field = Field::new("cycle", "a whole number");
const END: Field = Field::new("line", "the end of the line");

/// Returns whether a line is in one of these formats.
pub(super) fn is_one(line: &[u8]) -> bool {
    parse(line).is_ok()
}

/// Parses the access of a line.
pub(super) fn parse(line: &[u8]) -> Result<(Access, Option<Access>), Box<Fault>> {
    let mut fields = BlankFields::new(line);
    let first = fields.word(&FIRST)?;
    let (op, at) = match operation(first) {
        Some(op) => (op, address(fields.word(&FIRST)?)?),
        None => {
            let at = address(first).map_err(|_| Fault::quoted(&FIRST, first))?;
            let word = fields.word(&OPERATION)?;
            (operation(word).ok_or_else(|| Fault::quoted(&OPERATION, word))?, at)
        }
    };
    if let Some(cycle) = fields.next().filter(|word| !word.is_empty())
        && !cycle.iter().all(u8::is_ascii_digit)
    {
        return Err(Fault::quoted(&CYCLE, cycle));
    }
    match fields.next() {
        Some(more) if !more.is_empty() => Err(Fault::quoted(&END, more)),
        _ => Ok((Access { instructions: 0, op, address: at, bytes: 1 }, None)),
    }
}

fn operation(word: &[u8]) -> Option<Op> {
    match word {
        b"R" | b"RD" | b"READ" | b"P_MEM_RD" | b"BOFF" => Some(Op::Read),
        b"P_FETCH" => Some(Op::Fetch),
        b"W" | b"WR" | b"WRITE" | b"P_MEM_WR" => Some(Op::Write),
        _ => None,
    }
}
