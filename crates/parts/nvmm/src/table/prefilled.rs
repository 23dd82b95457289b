//! A memory whose pages were all written before: the initial state of simulations.
//!
//! Segments lie as if one pass over all pages had written them one by one to the blocks open in parallel: neighboring
//! segments are on different dies. A rule computes their places, so a terabyte costs only its changed part. The rule is
//! not in flash, so such a memory cannot be opened from flash again.

use crate::config::Config;
use crate::space::layout::Layout;
use crate::table::entry::Entry;
use crate::table::status::{EntryState, Permissions, Status};
use crate::table::vector::Vector;

/// The time of all these writes: the first epoch, which no sync has ended, so that overwritten data is not kept.
pub(crate) const TIME: u32 = 1;

/// The owner of all pages.
const OWNER: u32 = 1;

/// The status of all pages.
const HOLDER: Status = Status::holder(EntryState::Live, Permissions::SHARED);

/// The rule that places all segments.
#[derive(Clone, Debug)]
pub(crate) struct Prefilled {
    pages: u32,
    /// Binary logarithm of the segments per page.
    shift: u32,
    /// Blocks written in parallel.
    width: u64,
    block_pages: u64,
    /// First flash page and first block of data.
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

    /// Length of a page's chain.
    pub fn longest(&self) -> u16 {
        self.segments() as u16 + 1
    }

    /// Returns the number of written flash pages.
    pub fn flash_pages(&self) -> u64 {
        u64::from(self.pages) << self.shift
    }

    /// Returns the number of version entries in use: a page has an entry per segment, and one for its owner.
    pub fn version_entries(&self) -> u32 {
        self.pages << self.shift
    }

    /// Returns the number of written blocks; the last ones may be partly written.
    pub fn blocks(&self) -> u32 {
        let rounds = self.flash_pages().div_ceil(self.width * self.block_pages);
        (rounds * self.width) as u32
    }

    /// Returns the number of written flash pages in the `number`th of these blocks.
    pub fn valid(&self, number: u32) -> u32 {
        let (round, write_point) = (u64::from(number) / self.width, u64::from(number) % self.width);
        let rows = self.flash_pages().saturating_sub(write_point).div_ceil(self.width);
        rows.saturating_sub(round * self.block_pages).min(self.block_pages) as u32
    }

    /// Returns the first flash page of a segment's block, and the segment's offset in it.
    fn position(&self, page: u32, segment: u32) -> (u64, u64) {
        let number = u64::from(page) << self.shift | u64::from(segment);
        let (row, write_point) = (number / self.width, number % self.width);
        let (round, at) = (row / self.block_pages, row % self.block_pages);
        (self.first + (round * self.width + write_point) * self.block_pages, at)
    }

    /// Returns the flash page of a segment, consistent with the entries.
    pub fn place(&self, page: u32, segment: u32) -> u64 {
        let (block, at) = self.position(page, segment);
        block + at
    }

    /// Returns the status and owner of every page.
    pub fn ownership(&self) -> (Status, u32) {
        (HOLDER, OWNER)
    }

    /// Returns the table's entry `index`.
    pub fn entry(&self, index: u32) -> Entry {
        // A page's newest version is its last segment, followed by the others and the owner's entry.
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
        // The segment's distance from the starting page, wrapping within the block.
        let start = (at + self.block_pages - u64::from(segment)) % self.block_pages;
        Entry {
            mapping: block + start,
            previous: self.pages + (page << self.shift) + node,
            vector: Vector(1 << segment),
            time: TIME,
            status: HOLDER.of_data(),
        }
    }

    /// Returns the owner of a flash page.
    pub fn owner(&self, flash_page: u64) -> Option<u32> {
        let at = flash_page.checked_sub(self.first)?;
        let (block, page) = (at / self.block_pages, at % self.block_pages);
        let row = block / self.width * self.block_pages + page;
        let number = row * self.width + block % self.width;
        (number < self.flash_pages()).then_some((number >> self.shift) as u32)
    }

    /// Returns the first data block.
    pub fn first_block(&self) -> u32 {
        self.first_block
    }
}
