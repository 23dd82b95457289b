//! Memory traces: loads and stores of a program, or what of them reaches memory.
//!
//! | format | one access | instructions between |
//! | --- | --- | --- |
//! | [`Format::Nandram`] | a line that caches fill or write back | yes |
//! | [`Format::Lackey`] | valgrind's `--tool=lackey --trace-mem=yes`: `I 4001000,3`, ` L`, ` S`, ` M` | counted |
//! | [`Format::Dram`] | DRAMsim3's and DRAMSim2's `0x1000 READ 10`, `0x1000 P_MEM_WR 10`; `R 0x1000` | none |
//! | [`Format::Ramulator`] | `LD 0x1000`, `ST 0x1000`; `0x1000 R`; `BUBBLES LOAD [STORE]` | the last only |
//!
//! Our own format holds what `nandram capture memory` records. Undone from its compression (zstd or gzip, or none) it is
//!
//! 1. the line `nandram memory trace 1`;
//! 2. a line of JSON, the [`Header`];
//! 3. for each line of memory two numbers in LEB128: first `n` ≥ 1, where bit 0 of `n - 1` says that it is written, and
//!    the rest is the zigzag of its number less that of the line before (0 before the first), with
//!    `number = address / line_bytes`; then the instructions since the record before;
//! 4. the number 0, the number of records, and all instructions of the program.
//!
//! The number of a line is below 2^61.

mod dram;
mod header;
mod lackey;
mod ramulator;
mod reader;
mod writer;

pub use header::{Cache, Header};
pub use reader::{CHUNK, Reader};
pub use writer::Writer;

/// The first line of our own format.
pub(crate) const MAGIC: &str = "nandram memory trace 1";

/// A memory trace's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Ours.
    Nandram,
    /// Valgrind's lackey.
    Lackey,
    /// Ramulator's load-store, memory and processor traces.
    Ramulator,
    /// Traces of DRAM controllers.
    Dram,
}

impl Format {
    /// The format of a trace that begins with `head`, if its first line tells.
    pub(crate) fn detect(head: &[u8]) -> Option<Format> {
        let line = crate::pages::first_line(head)?;
        if line == MAGIC.as_bytes() {
            Some(Format::Nandram)
        } else if lackey::is_one(line) {
            Some(Format::Lackey)
        } else if ramulator::is_one(line) {
            Some(Format::Ramulator)
        } else if dram::is_one(line) {
            Some(Format::Dram)
        } else {
            None
        }
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// An instruction is fetched. Only lackey tells.
    Fetch,
    /// Loaded, or filled.
    Read,
    /// Stored, or written back.
    Write,
}

/// One access of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Instructions since the access before; 0 where the format does not tell.
    pub instructions: u64,
    /// What it does.
    pub op: Op,
    /// Its first byte. Physical is virtual.
    pub address: u64,
    /// Bytes: those of a line where the format tells nothing else, or 1 where it does not tell them either.
    pub bytes: u32,
}
