//! The changes of flash that the file may lack.

use std::collections::BTreeSet;

/// Pages and blocks that changed after the file was last made durable.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pages: BTreeSet<(usize, u32)>,
    blocks: BTreeSet<usize>,
}

impl Changes {
    /// Adds a page of block `number` that was programmed, torn, or is to be forgotten.
    pub fn add_page(&mut self, number: usize, page: u32) {
        self.pages.insert((number, page));
    }

    /// Adds a block whose state changed.
    pub fn add_block(&mut self, number: usize) {
        self.blocks.insert(number);
    }

    /// Forgets all changes: the file has them.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.blocks.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.blocks.is_empty()
    }

    /// Returns the pages as block and page, in ascending order.
    pub fn pages(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.pages.iter().copied()
    }

    /// Returns the blocks in ascending order.
    pub fn blocks(&self) -> impl Iterator<Item = usize> + '_ {
        self.blocks.iter().copied()
    }

    /// Returns true if the state of block `number` changed.
    pub fn has_block(&self, number: usize) -> bool {
        self.blocks.contains(&number)
    }
}
