//! Page traces: which pages a program asks for, one number a request.
//!
//! Our own format holds what `nandram capture pages` records. Undone from its compression (zstd or gzip, or none) it is
//!
//! 1. the line `nandram page trace 1`;
//! 2. a line of JSON, the [`Header`];
//! 3. for each request a number `n` ≥ 1 in LEB128: `n - 1` is the zigzag of the request's page less the page of the
//!    request before it (0 before the first), and `page = address / page_bytes`;
//! 4. the number 0, and in LEB128 the number of requests.
//!
//! A page is below 2^63. So a trace that was cut off is never taken for a whole one, and runs of one page compress to
//! next to nothing. Both sides stream: memory does not grow with the trace.
//!
//! Traces of others are read, too ([`Format`]): a list of page numbers, libCacheSim's `oracleGeneral`, and whatever
//! [`crate::memory`] reads. They have not gone through an instruction cache: each access is a request.

mod format;
mod header;
pub(crate) mod oracle_general;
mod reader;
mod writer;

pub use format::Format;
pub use header::{Header, Icache};
pub use reader::{CHUNK, Kind, Options, Reader};
pub use writer::Writer;

/// The first line.
pub(crate) const MAGIC: &str = "nandram page trace 1";

/// The first line of a head that is neither blank nor a comment; none if the head is not text so far.
pub(crate) fn first_line(head: &[u8]) -> Option<&[u8]> {
    crate::trace::format::lines(head).next().filter(|line| !line.contains(&0))
}
