//! Writer of memory traces.

use std::io::{self, Write};

use super::{Header, MAGIC};
use crate::varint;

/// Size of the write buffer in bytes.
const BUFFER: usize = 1 << 16;

/// Writes a nandram memory trace, uncompressed; pass a compressor as `out` to compress it.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    buffer: Vec<u8>,
    last: u64,
    records: u64,
    instructions: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a trace.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(mut out: W, header: &Header) -> io::Result<Writer<W>> {
        let header = serde_json::to_string(header).expect("a header can be serialized");
        writeln!(out, "{MAGIC}\n{header}")?;
        let buffer = Vec::with_capacity(BUFFER + 2 * varint::LONGEST);
        Ok(Writer { out, buffer, last: 0, records: 0, instructions: 0 })
    }

    /// Appends a line that was filled, or written back if `written` is set, `instructions` after the previous record.
    ///
    /// # Errors
    /// Errors of `out`.
    ///
    /// # Panics
    /// If the line's number (its address in lines) is not below 2^61.
    pub fn write(&mut self, line: u64, written: bool, instructions: u64) -> io::Result<()> {
        assert!(line < 1 << 61, "the number of a line is below 2^61, found {line}");
        let difference = varint::zigzag(line as i64 - self.last as i64);
        varint::push(&mut self.buffer, (difference << 1 | u64::from(written)) + 1);
        varint::push(&mut self.buffer, instructions);
        self.last = line;
        self.records += 1;
        self.instructions += instructions;
        if self.buffer.len() >= BUFFER {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes the end marker and returns `out`. `behind` is the number of instructions after the last line. A trace
    /// without its end marker cannot be read.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn finish(mut self, behind: u64) -> io::Result<W> {
        self.buffer.push(0);
        varint::push(&mut self.buffer, self.records);
        varint::push(&mut self.buffer, self.instructions + behind);
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }
}
