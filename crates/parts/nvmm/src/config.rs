//! The controller's configuration.

use media::Geometry;

use crate::address::{CONTROLLER_BITS, Controller, PAGE_BITS};
use crate::table::entry::{ENTRY_BYTES, INDEX_BITS, MAPPING_BITS, TIME_BITS};

/// The order in which the pages of an erased block may be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Any order, as early SLC NAND allowed and the paper's examples assume.
    Any,
    /// Ascending, as today's NAND requires. Pages known to be bad are skipped.
    Ascending,
}

keys::words! {
    /// The policy that chooses the next block to collect.
    Policy {
        /// The block with a part of the longest chain of versions (NVMM, "Use of the Bit Vector's Sub-Page Valid
        /// Bits"); among several, the one with the most invalid pages. Unsuitable where all chains are short: the
        /// choice is then arbitrary, and more is copied than with `Greedy`.
        LongestChain = "longest-chain",
        /// The block with the fewest valid pages.
        Greedy = "greedy",
        /// The block with the greatest (1 - u) / 2u x age (Rosenblum and Ousterhout, 1992; Kawaguchi et al., 1995).
        CostBenefit = "cost-benefit",
    }
}

/// Configuration of one controller of main memory on flash.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its number, which must not be a local one.
    pub controller: Controller,
    /// The flash. One flash page holds one segment; mapping units are not used.
    pub geometry: Geometry,
    /// Segments per page: 4, 8 or 16 (of 16, 8 or 4 KB if a page is the paper's 64 KB).
    pub segments: u32,
    /// Number of virtual pages; page numbers are below this.
    pub pages: u32,
    /// Entries for older versions, in the upper part of the table.
    pub versions: u32,
    /// Programming order.
    pub order: Order,
    /// Collection policy.
    pub policy: Policy,
    /// Collection gathers all segments of a page that belong to the same time from their entries into one, as the paper
    /// describes; otherwise it moves only what lies in the victim.
    pub consolidate: bool,
    /// Collection runs while at most this many blocks are free; at least 2.
    pub collect_start: u32,
    /// Blocks written in parallel.
    pub open_blocks: u32,
    /// Maximum number of live tokens.
    pub tokens: u32,
    /// Maximum number of outstanding requests; tags are below this.
    pub tags: u32,
    /// Flash pages of journal after which the table is checkpointed.
    pub journal_pages: u32,
    /// Bits of the time in use: 24, except in tests of its wrap-around.
    pub time_bits: u32,
}

/// A configuration error, in terms of the configuration's fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

/// Blocks that hold the root in turn.
pub(crate) const ANCHORS: u32 = 4;

/// Spare table blocks, so that open, torn or bad blocks do not stop a checkpoint.
const MAPPING_SPARE: u32 = 8;

impl Config {
    /// Chunks of the page table, one flash page each.
    pub(crate) fn table_chunks(&self) -> u32 {
        (self.pages + self.versions).div_ceil(self.geometry.page_bytes / ENTRY_BYTES as u32)
    }

    /// Chunks of the owner table: 4 bytes per flash page.
    pub(crate) fn owner_chunks(&self) -> u32 {
        let pages = u64::from(self.all_blocks()) * u64::from(self.geometry.pages);
        pages.div_ceil(u64::from(self.geometry.page_bytes / 4)) as u32
    }

    /// Total number of single-plane blocks.
    pub(crate) fn all_blocks(&self) -> u32 {
        self.geometry.all_dies() * self.geometry.planes * self.geometry.blocks
    }

    /// Blocks for the table: three times its maximum size, plus twice the directory and the journal.
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

    /// Blocks at the beginning of flash that hold the root and the table.
    pub fn own_blocks(&self) -> u32 {
        ANCHORS + self.mapping_blocks()
    }

    /// Blocks that never hold data: those of the root and the table, and those reserved for collection.
    pub fn overhead_blocks(&self) -> u32 {
        self.own_blocks() + self.set_aside()
    }

    /// Checks that the parts fit together.
    ///
    /// # Errors
    /// A sentence that names the part that does not fit.
    pub fn check(&self) -> Result<(), ConfigError> {
        // Every geometry has fewer flash pages than a mapping can name.
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
            return fail(format!("{pages} pages per block, expected 32 (the reach of a vector) to 4096"));
        }
        if ![4, 8, 16].contains(&self.segments) {
            return fail(format!("{} segments per page, expected 4, 8 or 16", self.segments));
        }
        if self.controller.is_local() || self.controller.0 >> CONTROLLER_BITS != 0 {
            return fail(format!(
                "controller number {:#x}, expected 0x1 to 0xffffe (all zeros and all ones mean local)",
                self.controller.0
            ));
        }
        if self.pages == 0 || self.pages > 1 << PAGE_BITS {
            return fail(format!("{} pages, expected 1 to 2^{PAGE_BITS}", self.pages));
        }
        let least = 4 * self.segments;
        if self.versions < least || u64::from(self.pages) + u64::from(self.versions) > 1 << INDEX_BITS {
            return fail(format!(
                "{} version entries, expected {least} to 2^{INDEX_BITS} - {} pages",
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
                "{} blocks, of which {} hold the root, {} the table and {} are reserved for collection: none is left for data",
                self.all_blocks(),
                ANCHORS,
                self.mapping_blocks(),
                self.set_aside()
            ));
        }
        Ok(())
    }

    /// Flash pages of data that fit if no block is bad or worn.
    pub fn room(&self) -> u64 {
        let blocks = self.all_blocks().saturating_sub(ANCHORS + self.mapping_blocks() + self.set_aside());
        u64::from(blocks) * u64::from(self.geometry.pages)
    }

    /// Blocks reserved beyond user data: the open ones, collection's write point, one that collection always gains, and
    /// one for pages that fail meanwhile.
    pub(crate) fn set_aside(&self) -> u32 {
        self.open_blocks + 4
    }
}
