//! What a page trace says of itself.

use serde::{Deserialize, Serialize};

/// The instruction cache whose misses are the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Icache {
    /// Its size.
    pub bytes: u32,
    /// Lines of a set; the least recently used one is replaced.
    pub ways: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
}

/// The second line of a page trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Bytes of a page.
    pub page_bytes: u32,
    /// The instruction cache in front; none if every fetch is a request.
    pub icache: Option<Icache>,
    /// The program's name.
    pub program: String,
    /// What it was compiled for, as QEMU names it: `arm`, `x86_64`.
    pub architecture: String,
    /// The command that was run, with its arguments.
    pub command: Vec<String>,
}
