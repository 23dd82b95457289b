//! What a memory trace of ours says of itself.

use serde::{Deserialize, Serialize};

/// A data cache that the program's accesses went through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// `l1`, `l2` or `llc`.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Lines of a set; the least recently used one is replaced.
    pub ways: u32,
}

/// The second line of a memory trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Bytes of a line, of every cache.
    pub line_bytes: u32,
    /// The caches, the program's first.
    pub caches: Vec<Cache>,
    /// The program's name.
    pub program: String,
    /// What it was compiled for, as QEMU names it: `arm`, `x86_64`.
    pub architecture: String,
    /// The command that was run, with its arguments.
    pub command: Vec<String>,
}
