//! Header of a page trace.

use serde::{Deserialize, Serialize};

/// The instruction cache whose misses are the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Icache {
    /// Size in bytes.
    pub bytes: u32,
    /// Associativity; replacement is LRU.
    pub ways: u32,
    /// Line size in bytes.
    pub line_bytes: u32,
}

/// The second line of a page trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Page size in bytes.
    pub page_bytes: u32,
    /// The instruction cache; `None` if every fetch is a request.
    pub icache: Option<Icache>,
    /// The program's name.
    pub program: String,
    /// Target architecture, by QEMU's name: `arm`, `x86_64`.
    pub architecture: String,
    /// The recorded command with its arguments.
    pub command: Vec<String>,
}
