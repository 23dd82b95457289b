//! The flash on which a memory is created or opened, and how that went.

use media::{Geometry, PageAddr};

use crate::config::ConfigError;

/// The flash on which a memory is created or opened.
pub trait Medium {
    /// Returns its geometry.
    fn geometry(&self) -> &Geometry;
    /// Returns whether a block is marked bad.
    fn is_bad(&self, block: media::BlockAddr) -> bool;
    /// Reads the metadata of a flash page ([`crate::Content::Own`]) into `into`. Returns false if the page is
    /// unreadable or holds none. The medium must detect torn pages, by error correction or a checksum.
    fn read(&self, page: PageAddr, into: &mut Vec<u8>) -> bool;
}

/// The reason why a memory cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The configuration is invalid.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The medium's geometry differs from the configuration's.
    #[error("the medium has {found:?}, expected {expected:?}")]
    Geometry {
        /// The medium's geometry.
        found: Box<Geometry>,
        /// The configuration's geometry.
        expected: Box<Geometry>,
    },
    /// No root was found: the medium never held a memory.
    #[error("no root found: not a memory, or its creation never completed")]
    NoRoot,
    /// The memory was created with another geometry, or other numbers of pages, versions, tokens or segments.
    #[error("the memory was created with other sizes: word {word} of its root is {found}, expected {expected}")]
    Sizes {
        /// The differing word of the root.
        word: usize,
        /// Its value at creation.
        found: u32,
        /// The configuration's value.
        expected: u32,
    },
    /// A part of the directory or the table is unreadable.
    #[error("{what} is unreadable: flash page {flash_page}")]
    Unreadable {
        /// The unreadable part.
        what: &'static str,
        /// Its flash page.
        flash_page: u64,
    },
}

/// The work that opening took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Flash pages read.
    pub pages_read: u64,
    /// Journal groups applied.
    pub groups: u64,
    /// Pages whose versions newer than the last sync were removed.
    pub taken_back: u64,
}
