//! Keys of the controller, table `[nvmm]`, and its configuration.

use keys::{BOOL, COUNT, Conflict, Kind, SIZE, TIME, assumed, expect, given, section};
use media::Geometry;
use sim::Time;

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

section! {
    /// Page table and controller of flash used as main memory.
    #[derive(Copy, Eq)]
    Keys {
        "nvmm.capacity" capacity: u64 = SIZE.within(65536.0, 17592186044416.0),
            given("1TiB", "nvmm: Performance Studies"),
            "Addressable bytes, whole pages of 64 KiB.",
            when "memory.type" is "hybrid";
        "nvmm.versions" versions: Option<u32> = COUNT.within(1.0, 1073741824.0).or("auto"),
            assumed("auto", "what a full memory needs, and four more per page"),
            "Entries for older versions in the top level of the table.",
            when "memory.type" is "hybrid";
        "nvmm.open_blocks" open_blocks: Option<u32> = COUNT.within(1.0, 65535.0).or("auto"),
            assumed("auto", "one per die, so that all dies are written in parallel"),
            "Number of blocks that are written in parallel.",
            when "memory.type" is "hybrid";
        /// Collection, tokens and journal.
        table management: Management;
        /// Content before the first request, and what surrounds the controller.
        table environment: Environment;

        check whole_pages;
    }
}

section! {
    /// Management of the space and of the table.
    #[derive(Copy, Eq)]
    Management {
        "nvmm.policy" policy: Policy = Kind::words(Policy::WORDS),
            given("longest-chain", "nvmm: Use of the Bit Vector's Sub-Page Valid Bits"),
            "Selection of the block that is collected next.",
            when "memory.type" is "hybrid";
        "nvmm.collect_start" collect_start: u32 = COUNT.within(2.0, 1048576.0),
            assumed("16", "enough that a burst of writes does not wait for collection"),
            "Number of free blocks at or below which collection runs.",
            when "memory.type" is "hybrid";
        "nvmm.tokens" tokens: u32 = COUNT.within(1.0, 4096.0),
            assumed("64", "checkpoints that a program keeps"),
            "Maximum number of states that can be kept at the same time.",
            when "memory.type" is "hybrid";
        "nvmm.journal" journal_pages: u32 = COUNT.within(8.0, 65536.0),
            assumed("256", "the whole table is written so rarely that the cost is negligible"),
            "Flash pages of journal after which the table itself is written.",
            when "memory.type" is "hybrid";
    }
}

section! {
    /// Content before the first request, and what surrounds the controller: the DRAM of its table, and the queues of dies.
    #[derive(Copy, Eq)]
    Environment {
        "nvmm.full" full: bool = BOOL,
            assumed("true", "programs find existing data"),
            "Start with all pages written, each flash page separately; otherwise memory is empty, and reading it needs \
             no flash access.",
            when "memory.type" is "hybrid";
        "nvmm.synced" synced: bool = BOOL,
            assumed("false", "a program begins right after it has written its tables"),
            "Tables that programs created before the run were synced since: the cache begins with clean pages.",
            when "memory.type" is "hybrid";
        "nvmm.translation" translation: Time = TIME.within(0.0, 1e9),
            assumed("50ns", "an access to the DRAM of the table (nvmm: DDR3 SDRAM, 50 ns); nvmm calls it very low"),
            "Time to translate a page number to its location; translations are serialized.",
            when "memory.type" is "hybrid";
        "nvmm.die_queue" die_queue: u32 = COUNT.within(1.0, 65535.0),
            given("4", "nvmm: queues of only a few entries prevent most queuing delays"),
            "Maximum number of operations that wait for a die, in addition to the active one.",
            when "memory.type" is "hybrid";
    }
}

/// Bytes of a page of a memory that a system file describes.
pub const PAGE: u64 = 65536;

impl Keys {
    fn whole_pages(&self) -> Result<(), Conflict> {
        expect(self.capacity.is_multiple_of(PAGE), &["nvmm.capacity"], "a multiple of 64KiB")
    }

    /// Returns the configuration of the only controller of a memory, whose number is `controller`, on flash of this
    /// geometry and programming order, with at most `tags` outstanding requests.
    pub fn config(&self, controller: Controller, geometry: Geometry, order: Order, tags: u32) -> Config {
        let segments = (PAGE / u64::from(geometry.page_bytes)) as u32;
        let pages = (self.capacity / PAGE) as u32;
        let all = pages.saturating_mul(segments + 4).saturating_add(4 * segments);
        Config {
            controller,
            geometry,
            segments,
            pages,
            versions: self.versions.unwrap_or(all),
            order,
            open_blocks: self.open_blocks_on(geometry),
            tags,
            time_bits: 24,
            management: self.management,
        }
    }

    /// Returns the number of blocks that are written in parallel on flash of this geometry.
    pub fn open_blocks_on(&self, geometry: Geometry) -> u32 {
        self.open_blocks.unwrap_or_else(|| geometry.all_dies() * geometry.planes)
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
    /// Blocks written in parallel.
    pub open_blocks: u32,
    /// Maximum number of outstanding requests; tags are below this.
    pub tags: u32,
    /// Bits of the time in use: 24, except in tests of its wrap-around.
    pub time_bits: u32,
    /// Collection, tokens and journal.
    pub management: Management,
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
            + u64::from(self.management.tokens) * 12
            + 256;
        let directory = directory.div_ceil(u64::from(self.geometry.page_bytes) - 64);
        let pages = 3 * chunks + 3 * directory + 3 * u64::from(self.management.journal_pages);
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
        if self.management.collect_start < 2 {
            return fail(format!(
                "collection starts at {} free blocks, expected at least 2",
                self.management.collect_start
            ));
        }
        if self.open_blocks == 0 || self.tags == 0 || self.management.tokens == 0 || self.management.tokens > 4096 {
            return fail(format!(
                "{} open blocks, {} tags and {} tokens, expected at least 1 of each, and at most 4096 tokens",
                self.open_blocks, self.tags, self.management.tokens
            ));
        }
        if !(3..=TIME_BITS).contains(&self.time_bits) || self.management.tokens + 3 >= 1 << self.time_bits {
            return fail(format!(
                "{} bits of time for {} tokens, expected at most {TIME_BITS}, and more times than tokens",
                self.time_bits, self.management.tokens
            ));
        }
        if self.management.journal_pages < 8 {
            return fail(format!("{} pages of journal, expected at least 8", self.management.journal_pages));
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
