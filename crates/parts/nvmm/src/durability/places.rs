//! Places to which commits write: the journal, the log of chunks and directories, and the blocks of roots.

/// The journal, a sequence of blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    /// Its blocks since the root; the last one is being written.
    pub blocks: Vec<u32>,
    pub(super) page: u32,
    /// An erased block that written pages name as the next one.
    pub(super) next: Option<u32>,
    /// An erased block in reserve.
    pub(super) spare: Option<u32>,
    pub(super) erasing: Option<u32>,
    /// Number of the last group.
    pub group: u64,
    /// Pages written since the root.
    pub used: u32,
}

/// The log of chunks and directory pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(super) open: Option<(u32, u32)>,
    pub(super) erasing: Option<u32>,
}

/// The blocks that hold roots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anchors {
    /// Number of the newest root.
    pub root: u64,
    /// The block of the newest root, which must not be erased.
    pub newest: Option<u32>,
    pub(super) open: Option<(u32, u32)>,
    pub(super) erasing: Option<u32>,
}
