//! Writes a page trace.

use std::io::{self, Write};

use super::{Header, MAGIC};
use crate::varint;

/// Bytes kept back before they are written.
const BUFFER: usize = 1 << 16;

/// Writes a page trace in our own format, uncompressed: give it a compressor to write to.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    buffer: Vec<u8>,
    last: u64,
    requests: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// Of `out`.
    pub fn new(mut out: W, header: &Header) -> io::Result<Writer<W>> {
        let header = serde_json::to_string(header).expect("a header is numbers and text");
        writeln!(out, "{MAGIC}\n{header}")?;
        Ok(Writer { out, buffer: Vec::with_capacity(BUFFER + varint::LONGEST), last: 0, requests: 0 })
    }

    /// The next request.
    ///
    /// # Errors
    /// Of `out`.
    ///
    /// # Panics
    /// If `page` is not below 2^63.
    #[inline]
    pub fn write(&mut self, page: u64) -> io::Result<()> {
        assert!(page < 1 << 63, "a page is below 2^63, found {page}");
        varint::push(&mut self.buffer, varint::zigzag(page as i64 - self.last as i64) + 1);
        self.last = page;
        self.requests += 1;
        if self.buffer.len() >= BUFFER {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes the end, and returns what was written to. A trace without its end cannot be read.
    ///
    /// # Errors
    /// Of `out`.
    pub fn finish(mut self) -> io::Result<W> {
        self.buffer.push(0);
        varint::push(&mut self.buffer, self.requests);
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }
}
