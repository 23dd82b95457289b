//! The copies of one block.

use super::Key;

/// A copy in GPU or host memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resident {
    /// Sequences or fetches that use it; it is evictable at 0.
    pub uses: u32,
    /// Its place in the order of eviction.
    pub place: u64,
}

/// A copy on the drives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    /// Its slot.
    pub slot: u64,
    /// False while it is being written.
    pub written: bool,
    /// Fetches that use it.
    pub uses: u32,
    pub place: u64,
}

impl Stored {
    pub(super) fn evictable(&self) -> bool {
        self.written && self.uses == 0
    }
}

/// The copies of a block.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: Key,
    pub gpu: Option<Resident>,
    pub host: Option<Resident>,
    pub drive: Option<Stored>,
}

impl Entry {
    pub(super) fn new(key: Key) -> Entry {
        Entry { key, gpu: None, host: None, drive: None }
    }
}
