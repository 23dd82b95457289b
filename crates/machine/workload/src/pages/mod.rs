//! Page traces: the pages that a program requests, one number per request.
//!
//! nandram's own format holds the output of `nandram capture pages`. After decompression (zstd, gzip or none) it
//! consists of
//!
//! 1. the line `nandram page trace 1`;
//! 2. a line of JSON, the [`Header`];
//! 3. for each request, a number `n` ≥ 1 in LEB128: `n - 1` is the zigzag encoding of the difference between the
//!    request's page and the previous request's page (0 before the first), with `page = address / page_bytes`;
//! 4. the number 0, and in LEB128 the number of requests.
//!
//! Pages are below 2^63. The end marker prevents a truncated trace from being mistaken for a complete one, and runs of
//! one page compress to almost nothing. Reader and writer stream: their memory use does not grow with the trace.
//!
//! Other formats can also be read ([`Format`]): a list of page numbers, libCacheSim's `oracleGeneral`, and all formats
//! of [`crate::memory`]. Those traces did not pass through an instruction cache: each access is a request.

mod format;
mod header;
pub(crate) mod oracle_general;
mod reader;
mod writer;

pub use format::Format;
pub use header::{Header, Icache};
pub use reader::{AccessKind, CHUNK, Options, Reader};
pub use writer::Writer;

/// The first line.
pub(crate) const MAGIC: &str = "nandram page trace 1";

/// Returns the first line of a head that is neither blank nor a comment, or `None` if the head is not text up to there.
pub(crate) fn first_line(head: &[u8]) -> Option<&[u8]> {
    crate::trace::declaration::lines(head).next().filter(|line| !line.contains(&0))
}
