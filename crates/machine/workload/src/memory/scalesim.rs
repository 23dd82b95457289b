//! SCALE-Sim's traces of a systolic accelerator: `CYCLE,ADDRESS,ADDRESS,...`, one row per cycle.
//!
//! Source: SCALE-Sim v2's `read_buffer.py` and `write_buffer.py` (`print_trace`), and version 1's `dram_trace.py`. Numbers
//! are whole but may be written as decimals (`-5.0,64.0`), cycles before the first computation are negative, and -1
//! stands for an empty place. A file holds one operand: `IFMAP` and `FILTER` are read, `OFMAP` is written, as the file's
//! name says. An address counts words of one byte. Neighboring words of a row that share a line of memory are one access.

use super::{Access, Op};
use crate::trace::fields::{Fault, Field};

const CYCLE: Field = Field::new("cycle", "a whole number of less than 2^53, such as -5.0");
const ADDRESS: Field = Field::new("address", "a whole number of less than 2^53, or -1 for none");

/// Line size of the memory in bytes.
const LINE: u64 = 64;
/// Largest whole numbers that decimals hold exactly.
const LIMIT: f64 = (1_u64 << 53) as f64;

/// Returns whether a line is in this format.
pub(super) fn is_one(line: &[u8]) -> bool {
    line.contains(&b',') && cycle(line).is_ok() && parse(line, Op::Read, 0, &mut Vec::new()).is_ok()
}

/// Returns the operation of a trace by its file's name.
pub(super) fn operation(file: &str) -> Op {
    let name = file.rsplit('/').next().unwrap_or(file).to_lowercase();
    if ["ofmap", "write"].iter().any(|word| name.contains(word)) { Op::Write } else { Op::Read }
}

/// Returns the cycle of a row.
pub(super) fn cycle(line: &[u8]) -> Result<i64, Box<Fault>> {
    let word = line.split(|byte| *byte == b',').next().unwrap_or_default().trim_ascii();
    whole(word).ok_or_else(|| Fault::quoted(&CYCLE, word))
}

/// Appends the accesses of a row, which arrive at `cycle`.
pub(super) fn parse(line: &[u8], op: Op, cycle: u64, accesses: &mut Vec<Access>) -> Result<(), Box<Fault>> {
    let first = accesses.len();
    for word in line.split(|byte| *byte == b',').skip(1).map(<[u8]>::trim_ascii).filter(|word| !word.is_empty()) {
        let address = match whole(word) {
            Some(-1) => continue,
            Some(address @ 0..) => address as u64,
            _ => return Err(Fault::quoted(&ADDRESS, word)),
        };
        match accesses[first..].last_mut() {
            Some(last) if last.address + u64::from(last.bytes) == address && !address.is_multiple_of(LINE) => {
                last.bytes += 1;
            }
            _ => accesses.push(Access { instructions: 0, op, address, cycle: Some(cycle), bytes: 1 }),
        }
    }
    Ok(())
}

/// Parses a whole number that may be written as a decimal.
fn whole(word: &[u8]) -> Option<i64> {
    let number: f64 = str::from_utf8(word).ok()?.parse().ok()?;
    (number.fract() == 0.0 && number.abs() < LIMIT).then_some(number as i64)
}
