//! Memory traces: a program's loads and stores, or the subset that reaches memory.
//!
//! | format | one access | instructions between |
//! | --- | --- | --- |
//! | [`Format::Nandram`] | a line that caches fill or write back | yes |
//! | [`Format::Lackey`] | valgrind's `--tool=lackey --trace-mem=yes`: `I 4001000,3`, ` L`, ` S`, ` M` | counted |
//! | [`Format::Dram`] | DRAMsim3's and DRAMSim2's `0x1000 READ 10`, `0x1000 P_MEM_WR 10`; `R 0x1000` | none |
//! | [`Format::Dramsys`] | DRAMSys's `10: read 0x1000` | none |
//! | [`Format::ScaleSim`] | SCALE-Sim's `10,4096,4097`: the words of a cycle | none |
//! | [`Format::Ramulator`] | `LD 0x1000`, `ST 0x1000`; `0x1000 R`; `BUBBLES LOAD [STORE]` | the last only |
//!
//! nandram's own format holds the output of `nandram capture memory`. After decompression (zstd, gzip or none) it
//! consists of
//!
//! 1. the line `nandram memory trace 1`;
//! 2. a line of JSON, the [`Header`];
//! 3. for each line of memory, two numbers in LEB128: first `n` ≥ 1, where bit 0 of `n - 1` is set for a write and the
//!    other bits are the zigzag encoding of the difference between the line's number and that of the previous line (0
//!    before the first), with `number = address / line_bytes`; then the number of instructions since the previous
//!    record;
//! 4. the number 0, the number of records, and the program's total number of instructions.
//!
//! Line numbers are below 2^61.

mod access;
mod arrivals;
mod dram;
mod dramsys;
mod header;
mod lackey;
mod ramulator;
mod reader;
mod scalesim;
mod writer;

pub use access::{Access, Op};
pub use arrivals::Arrivals;
pub use header::{Cache, Header};
pub use reader::{CHUNK, Reader};
pub use writer::Writer;

/// The first line of nandram's own format.
pub(crate) const MAGIC: &str = "nandram memory trace 1";

/// Format of a memory trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// nandram's memory trace.
    Nandram,
    /// Valgrind's lackey.
    Lackey,
    /// Ramulator's load-store, memory and processor traces.
    Ramulator,
    /// Traces of DRAM controllers.
    Dram,
    /// DRAMSys's traces.
    Dramsys,
    /// SCALE-Sim's traces of an accelerator.
    ScaleSim,
}

impl Format {
    /// Detects the format of a trace from the first line of `head`, if that is conclusive.
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
        } else if dramsys::is_one(line) {
            Some(Format::Dramsys)
        } else if scalesim::is_one(line) {
            Some(Format::ScaleSim)
        } else {
            None
        }
    }
}
