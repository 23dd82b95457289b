//! A memory all of whose pages were written before: for simulations, which begin with what programs find.
//!
//! Segments lie as one pass over all pages leaves them that writes segment after segment, each for itself, to the blocks
//! that are open side by side: neighbours on different dies. It is said by rule, so that a terabyte costs what is changed
//! of it. The rule is not in flash: such a memory cannot be opened again from flash alone.

use crate::config::Config;
use crate::entry::Entry;
use crate::layout::Layout;
use crate::status::{Permissions, State, Status};
use crate::vector::Vector;

/// When all of it was written: in the first epoch, which no sync has ended, so that nothing is kept of what is overwritten.
pub(crate) const TIME: u32 = 1;

/// Whose all pages are.
const OWNER: u32 = 1;

/// What all pages are.
const HOLDER: Status = Status::holder(State::Live, Permissions::SHARED);

/// Where everything lies.
#[derive(Clone, Debug)]
pub(crate) struct Prefilled {
    pages: u32,
    /// Segments of a page: log2.
    shift: u32,
    /// Blocks that were written side by side.
    width: u64,
    block_pages: u64,
    /// First flash page of data, and first block.
    first: u64,
    first_block: u32,
}

impl Prefilled {
    pub fn new(config: &Config, layout: &Layout) -> Prefilled {
        Prefilled {
            pages: config.pages,
            shift: config.segments.trailing_zeros(),
            width: u64::from(config.open_blocks),
            block_pages: u64::from(layout.pages),
            first: layout.flash_page(layout.first_data, 0),
            first_block: layout.first_data,
        }
    }

    fn segments(&self) -> u32 {
        1 << self.shift
    }

    /// Entries of a page's chain.
    pub fn longest(&self) -> u16 {
        self.segments() as u16 + 1
    }

    /// Flash pages that are written.
    pub fn flash_pages(&self) -> u64 {
        u64::from(self.pages) << self.shift
    }

    /// Version entries that are taken: a page has an entry for each segment and one that says whose it is.
    pub fn version_entries(&self) -> u32 {
        self.pages << self.shift
    }

    /// Blocks that are written, the last ones perhaps in part.
    pub fn blocks(&self) -> u32 {
        let rounds = self.flash_pages().div_ceil(self.width * self.block_pages);
        (rounds * self.width) as u32
    }

    /// Flash pages that are written of the `number`th of these blocks.
    pub fn valid(&self, number: u32) -> u32 {
        let (round, write_point) = (u64::from(number) / self.width, u64::from(number) % self.width);
        let rows = self.flash_pages().saturating_sub(write_point).div_ceil(self.width);
        rows.saturating_sub(round * self.block_pages).min(self.block_pages) as u32
    }

    /// First flash page of the block that a segment lies in, and how far behind it that is.
    #[inline]
    fn position(&self, page: u32, segment: u32) -> (u64, u64) {
        let number = u64::from(page) << self.shift | u64::from(segment);
        let (row, write_point) = (number / self.width, number % self.width);
        let (round, at) = (row / self.block_pages, row % self.block_pages);
        (self.first + (round * self.width + write_point) * self.block_pages, at)
    }

    /// Flash page of a segment, as the entries say.
    #[inline]
    pub fn place(&self, page: u32, segment: u32) -> u64 {
        let (block, at) = self.position(page, segment);
        block + at
    }

    /// State and permissions of every page, and whose it is.
    #[inline]
    pub fn ownership(&self) -> (Status, u32) {
        (HOLDER, OWNER)
    }

    /// The entry `index` of the table.
    #[inline]
    pub fn entry(&self, index: u32) -> Entry {
        // The newest version of a page is its last segment, then come the others, then who it belongs to.
        let (page, node) = match index.checked_sub(self.pages) {
            None => (index, 0),
            Some(version) => (version >> self.shift, (version & (self.segments() - 1)) + 1),
        };
        if page >= self.pages {
            return Entry::default();
        }
        let Some(segment) = (self.segments() - 1).checked_sub(node) else {
            return Entry { mapping: OWNER.into(), previous: 0, vector: Vector::NONE, time: TIME, status: HOLDER };
        };
        let (block, at) = self.position(page, segment);
        // The segment lies so far behind the starting page, round the block.
        let start = (at + self.block_pages - u64::from(segment)) % self.block_pages;
        Entry {
            mapping: block + start,
            previous: self.pages + (page << self.shift) + node,
            vector: Vector(1 << segment),
            time: TIME,
            status: HOLDER.of_data(),
        }
    }

    /// Whose a flash page is.
    pub fn owner(&self, flash_page: u64) -> Option<u32> {
        let at = flash_page.checked_sub(self.first)?;
        let (block, page) = (at / self.block_pages, at % self.block_pages);
        let row = block / self.width * self.block_pages + page;
        let number = row * self.width + block % self.width;
        (number < self.flash_pages()).then_some((number >> self.shift) as u32)
    }

    /// First block of data.
    pub fn first_block(&self) -> u32 {
        self.first_block
    }
}
