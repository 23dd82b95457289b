//! Writer of page traces.

use std::io::{self, Write};

use super::{Header, MAGIC};
use crate::varint;

/// Size of the write buffer in bytes.
const BUFFER: usize = 1 << 16;

/// Writes a nandram page trace, uncompressed; pass a compressor as `out` to compress it.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    buffer: Vec<u8>,
    last: u64,
    requests: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a trace.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(mut out: W, header: &Header) -> io::Result<Writer<W>> {
        let header = serde_json::to_string(header).expect("a header can be serialized");
        writeln!(out, "{MAGIC}\n{header}")?;
        Ok(Writer { out, buffer: Vec::with_capacity(BUFFER + varint::LONGEST), last: 0, requests: 0 })
    }

    /// Appends a request.
    ///
    /// # Errors
    /// Errors of `out`.
    ///
    /// # Panics
    /// If `page` is not below 2^63.
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

    /// Writes the end marker and returns `out`. A trace without its end marker cannot be read.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn finish(mut self) -> io::Result<W> {
        self.buffer.push(0);
        varint::push(&mut self.buffer, self.requests);
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }
}
