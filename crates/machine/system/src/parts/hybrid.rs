//! Configuration of flash as main memory.

use dram_cache::Prefetch;
use link::LineLinkConfig;
use nand::PayloadKind;
use nvmm::Controller;
use sim::Time;

use crate::System;
use crate::sections::hybrid::PrefetchType;

/// Identifier of the machine's only controller.
pub const CONTROLLER: Controller = Controller(1);

/// The parts of flash as main memory.
#[derive(Clone, Debug)]
pub struct HybridConfig {
    /// The link between the last-level cache and the controller.
    pub link: LineLinkConfig,
    /// The DRAM of the cache. Its latency is that of the controller.
    pub dram: dram::MemoryConfig,
    /// The DRAM cache.
    pub cache: dram_cache::Config,
    /// The page table.
    pub nvmm: nvmm::Config,
    /// The flash.
    pub nand: nand::Config,
    /// Time to translate a page number to its location: an access to the table's DRAM. Translations are serialized.
    pub translation: Time,
    /// Maximum number of operations that wait for a die, in addition to the active one.
    pub die_queue: u32,
    /// Whether all of memory was written before, segment by segment; otherwise it is empty.
    pub full: bool,
    /// Whether tables that programs created before the run were synced since, so that the cache begins clean.
    pub synced: bool,
    /// Whether every line read is compared with the line last written back. For tests; the data takes memory.
    pub verify: bool,
}

/// Page size of the memory in bytes.
const PAGE: u64 = 65536;

impl HybridConfig {
    /// Creates the configuration of `system`, whose main memory is flash behind DRAM.
    pub fn new(system: &System) -> HybridConfig {
        let (memory, n) = (&system.memory, &system.nvmm);
        let (cache, prefetch) = (&memory.cache, &memory.prefetch);
        let geometry = system.geometry();
        let segments = (PAGE / system.flash.page) as u32;
        let pages = (n.capacity / PAGE) as u32;
        let open_blocks = n.open_blocks.unwrap_or_else(|| geometry.all_dies() * geometry.planes);
        let buffers = cache.buffers.unwrap_or_else(|| (open_blocks + 64).min(1 << 16));
        let all = pages.saturating_mul(segments + 4).saturating_add(4 * segments);
        HybridConfig {
            link: memory.link,
            dram: memory.dram,
            cache: dram_cache::Config {
                sets: (cache.size / system.flash.page / u64::from(cache.ways)) as u32,
                ways: cache.ways,
                page_bytes: system.flash.page as u32,
                pages: n.capacity / system.flash.page,
                tag_buffer: cache.tag_buffer,
                tag_reads: cache.tag_reads,
                fetches: cache.fetches,
                prefetches: if prefetch.kind == PrefetchType::None { 0 } else { prefetch.fetches },
                buffers,
                cold: cache.cold,
                prefetch: match prefetch.kind {
                    PrefetchType::None => Prefetch::None,
                    PrefetchType::Sequential => Prefetch::Sequential(prefetch.window),
                    PrefetchType::Adaptive => Prefetch::Adaptive(prefetch.window),
                    PrefetchType::Ahead => Prefetch::Ahead(prefetch.window),
                },
                moves: false,
            },
            nvmm: nvmm::Config {
                controller: CONTROLLER,
                geometry,
                segments,
                pages,
                versions: n.versions.unwrap_or(all),
                order: match system.flash.order {
                    nand::Order::InOrder => nvmm::Order::Ascending,
                    nand::Order::Any => nvmm::Order::Any,
                },
                policy: n.policy,
                consolidate: n.consolidate,
                collect_start: n.collect_start,
                open_blocks,
                tokens: n.tokens,
                tags: cache.fetches + cache.fetches + buffers + 1,
                journal_pages: n.journal,
                time_bits: 24,
            },
            nand: super::flash(system, geometry, PayloadKind::None, 0),
            translation: n.translation,
            die_queue: n.die_queue,
            full: n.full,
            synced: n.synced,
            verify: false,
        }
    }
}
