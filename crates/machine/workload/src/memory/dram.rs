//! Traces of DRAM controllers: an address, an operation, and in some formats the cycle.
//!
//! | trace | line |
//! | --- | --- |
//! | DRAMsim3 | `0x2f80 READ 10` |
//! | DRAMSim2, k6 | `0x2f80 P_MEM_RD 10`, `P_FETCH`, `P_LOCK_RD` and `P_LOCK_WR` (reads), `P_MEM_WR`, `BOFF` (writes) |
//! | DRAMSim2, mase | `0x2f80 IFETCH 10`, `READ`, `WRITE` |
//! | others | `0x2f80 R 10`, `0x2f80 RD`, `R 0x2f80` |
//!
//! Source: the READMEs of DRAMsim3 and DRAMSim2, and DRAMSim2's `TraceBasedSim.cpp` for the operations: a fetch and both
//! locks read memory, and a back-off writes a line back. A line such as `0x2f80 R` alone is Ramulator's.

use super::lackey::digits;
use super::ramulator::address;
use super::{Access, Op};
use crate::trace::fields::{BlankFields, Fault, Field};

const FIRST: Field = Field::new("first word", "an address, or R or W before one");
const OPERATION: Field = Field::new(
    "operation",
    "R, W, RD, WR, READ, WRITE, IFETCH, P_MEM_RD, P_MEM_WR, P_FETCH, P_LOCK_RD, P_LOCK_WR or BOFF",
);
const CYCLE: Field = Field::new("cycle", "a whole number below 2^64");
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
    let cycle = match fields.next().filter(|word| !word.is_empty()) {
        Some(word) => Some(digits(word, 10).ok_or_else(|| Fault::quoted(&CYCLE, word))?),
        None => None,
    };
    match fields.next() {
        Some(more) if !more.is_empty() => Err(Fault::quoted(&END, more)),
        _ => Ok((Access { instructions: 0, op, address: at, cycle, bytes: 1 }, None)),
    }
}

fn operation(word: &[u8]) -> Option<Op> {
    match word {
        b"R" | b"RD" | b"READ" | b"IFETCH" | b"P_MEM_RD" | b"P_FETCH" | b"P_LOCK_RD" | b"P_LOCK_WR" => Some(Op::Read),
        b"W" | b"WR" | b"WRITE" | b"P_MEM_WR" | b"BOFF" => Some(Op::Write),
        _ => None,
    }
}
