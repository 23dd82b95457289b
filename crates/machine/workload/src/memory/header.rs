//! Header of a memory trace.

use serde::{Deserialize, Serialize};

/// A data cache that the program's accesses passed through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// `l1`, `l2` or `llc`.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Associativity; replacement is LRU.
    pub ways: u32,
}

/// The second line of a memory trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Line size of all caches in bytes.
    pub line_bytes: u32,
    /// The caches, starting with the one nearest to the program.
    pub caches: Vec<Cache>,
    /// The program's name.
    pub program: String,
    /// Target architecture, by QEMU's name: `arm`, `x86_64`.
    pub architecture: String,
    /// The recorded command with its arguments.
    pub command: Vec<String>,
}
