//! What a controller is told.

use media::Geometry;

use crate::address::{CONTROLLER_BITS, Controller, PAGE_BITS};
use crate::entry::{ENTRY_BYTES, INDEX_BITS, MAPPING_BITS, TIME_BITS};

/// The order in which the pages of an erased block may be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Any, as early SLC NAND allowed and the paper's examples presume.
    Any,
    /// Ascending, as today's NAND demands. Pages that are known to be bad are left out.
    Ascending,
}

/// How the block is chosen that is collected next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The one that holds a part of the longest chain of versions (NVMM, "Use of the Bit Vector's Sub-Page Valid Bits");
    /// of several, that with the most to gain. Not to be used where chains are all short: it then chooses blindly, and
    /// copies more than `Greedy`.
    LongestChain,
    /// The one with the fewest valid pages.
    Greedy,
    /// The greatest (1 - u) / 2u x age (Rosenblum and Ousterhout, 1992; Kawaguchi et al., 1995).
    CostBenefit,
}

/// One controller of main memory on flash.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its number: neither of the local ones.
    pub controller: Controller,
    /// The flash. A flash page is a segment; mapping units are not used.
    pub geometry: Geometry,
    /// Segments a page: 4, 8 or 16 (of 16, 8 or 4 KB, where a page is the paper's 64 KB).
    pub segments: u32,
    /// Virtual pages it has: page numbers are below this.
    pub pages: u32,
    /// Entries in the topmost part of the table, for older versions.
    pub versions: u32,
    /// Programming order.
    pub order: Order,
    /// Collection policy.
    pub policy: Policy,
    /// Collection gathers all of a page's segments of one time from their entries into one, as the paper has it; else only
    /// what lies in the victim moves.
    pub consolidate: bool,
    /// Collection goes on while at most so many blocks are free; at least 2.
    pub collect_start: u32,
    /// Blocks that are written side by side.
    pub open_blocks: u32,
    /// Tokens that may be live at a time.
    pub tokens: u32,
    /// Requests that may be outstanding: tags are below this.
    pub tags: u32,
    /// Flash pages of journal after which the table is checkpointed.
    pub journal_pages: u32,
    /// Bits of the time that are used: 24 but in tests of its wrapping.
    pub time_bits: u32,
}

/// A configuration that cannot work, in the terms of its fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

/// Blocks that take turns in holding the root.
pub(crate) const ANCHORS: u32 = 4;

/// Blocks of mapping beyond what is held in them, so that what is open, torn or bad does not stop it.
const MAPPING_SPARE: u32 = 8;

impl Config {
    /// Chunks (a flash page each) of the page table.
    pub(crate) fn table_chunks(&self) -> u32 {
        (self.pages + self.versions).div_ceil(self.geometry.page_bytes / ENTRY_BYTES as u32)
    }

    /// Chunks that say whose each flash page is: 4 bytes each.
    pub(crate) fn owner_chunks(&self) -> u32 {
        let pages = u64::from(self.all_blocks()) * u64::from(self.geometry.pages);
        pages.div_ceil(u64::from(self.geometry.page_bytes / 4)) as u32
    }

    /// Blocks of one plane, in all.
    pub(crate) fn all_blocks(&self) -> u32 {
        self.geometry.all_dies() * self.geometry.planes * self.geometry.blocks
    }

    /// Blocks that hold the table: three times what it can be, and twice the directory and the journal.
    pub(crate) fn mapping_blocks(&self) -> u32 {
        let chunks = u64::from(self.table_chunks() + self.owner_chunks());
        let directory = chunks * 20
            + u64::from(self.all_blocks()) * (13 + u64::from(self.geometry.pages) / 8)
            + u64::from(self.tokens) * 12
            + 256;
        let directory = directory.div_ceil(u64::from(self.geometry.page_bytes) - 64);
        let pages = 3 * chunks + 3 * directory + 3 * u64::from(self.journal_pages);
        pages.div_ceil(u64::from(self.geometry.pages)) as u32 + MAPPING_SPARE
    }

    /// Blocks that the controller keeps for itself, the first ones: of the root and the table.
    pub fn own_blocks(&self) -> u32 {
        ANCHORS + self.mapping_blocks()
    }

    /// Blocks that hold no data: those of the root and the table, and those that are set aside to collect with.
    pub fn overhead_blocks(&self) -> u32 {
        self.own_blocks() + self.set_aside()
    }

    /// Whether the parts of it fit together.
    ///
    /// # Errors
    /// What does not, in a sentence.
    pub fn check(&self) -> Result<(), ConfigError> {
        // A geometry has fewer flash pages than a mapping can name.
        const { assert!(MAPPING_BITS >= u32::BITS) };
        let fail = |text: String| Err(ConfigError(text));
        if let Some(fault) = self.geometry.fault() {
            return fail(fault);
        }
        let Geometry { pages, page_bytes, .. } = self.geometry;
        if !page_bytes.is_power_of_two() || !(512..=65536).contains(&page_bytes) {
            return fail(format!("page is {page_bytes} bytes, expected a power of two from 512 to 65536"));
        }
        if !(32..=4096).contains(&pages) {
            return fail(format!("{pages} pages a block, expected 32 (what a vector reaches) to 4096"));
        }
        if ![4, 8, 16].contains(&self.segments) {
            return fail(format!("{} segments a page, expected 4, 8 or 16", self.segments));
        }
        if self.controller.is_local() || self.controller.0 >> CONTROLLER_BITS != 0 {
            return fail(format!(
                "controller {:#x} is no number of one, expected 0x1 to 0xffffe (all zeros and all ones are local)",
                self.controller.0
            ));
        }
        if self.pages == 0 || self.pages > 1 << PAGE_BITS {
            return fail(format!("{} pages, expected 1 to 2^{PAGE_BITS}", self.pages));
        }
        let least = 4 * self.segments;
        if self.versions < least || u64::from(self.pages) + u64::from(self.versions) > 1 << INDEX_BITS {
            return fail(format!(
                "{} entries for versions, expected {least} to 2^{INDEX_BITS} - {} pages",
                self.versions, self.pages
            ));
        }
        if self.collect_start < 2 {
            return fail(format!("collection starts at {} free blocks, expected at least 2", self.collect_start));
        }
        if self.open_blocks == 0 || self.tags == 0 || self.tokens == 0 || self.tokens > 4096 {
            return fail(format!(
                "{} open blocks, {} tags and {} tokens, expected at least 1 of each, and at most 4096 tokens",
                self.open_blocks, self.tags, self.tokens
            ));
        }
        if !(3..=TIME_BITS).contains(&self.time_bits) || self.tokens + 3 >= 1 << self.time_bits {
            return fail(format!(
                "{} bits of time for {} tokens, expected at most {TIME_BITS}, and more times than tokens",
                self.time_bits, self.tokens
            ));
        }
        if self.journal_pages < 8 {
            return fail(format!("{} pages of journal, expected at least 8", self.journal_pages));
        }
        if self.all_blocks() <= self.overhead_blocks() {
            return fail(format!(
                "{} blocks, of which {} hold the root, {} the table and {} are to collect with: none is left for data",
                self.all_blocks(),
                ANCHORS,
                self.mapping_blocks(),
                self.set_aside()
            ));
        }
        Ok(())
    }

    /// Flash pages of data that there is room for where none is bad or worn.
    pub fn room(&self) -> u64 {
        let blocks = self.all_blocks().saturating_sub(ANCHORS + self.mapping_blocks() + self.set_aside());
        u64::from(blocks) * u64::from(self.geometry.pages)
    }

    /// Blocks' worth of data that is never promised: open ones, what collection writes to, one it always gains, one for
    /// pages that fail on the way.
    pub(crate) fn set_aside(&self) -> u32 {
        self.open_blocks + 4
    }
}
