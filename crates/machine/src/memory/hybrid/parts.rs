//! From a system file to the parts.

use link::LineLinkConfig;
use nand::PayloadKind;
use nvmm::hybrid::Prefetch;

use super::{CONTROLLER, HybridConfig};
use crate::compose;
use crate::system::System;
use crate::system::hybrid::{Policy, PrefetchType};

/// Bytes of a page of the memory.
const PAGE: u64 = 65536;

impl HybridConfig {
    /// The parts of `system`, whose main memory is flash behind DRAM.
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
            link: LineLinkConfig {
                latency: memory.link.latency,
                bandwidth: memory.link.bandwidth,
                header: memory.link.header,
            },
            dram: memory.dram(),
            cache: nvmm::hybrid::Config {
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
                    crate::system::flash::Order::InOrder => nvmm::Order::Ascending,
                    crate::system::flash::Order::Any => nvmm::Order::Any,
                },
                policy: match n.policy {
                    Policy::LongestChain => nvmm::Policy::LongestChain,
                    Policy::Greedy => nvmm::Policy::Greedy,
                    Policy::CostBenefit => nvmm::Policy::CostBenefit,
                },
                consolidate: n.consolidate,
                collect_start: n.collect_start,
                open_blocks,
                tokens: n.tokens,
                tags: cache.fetches + cache.fetches + buffers + 1,
                journal_pages: n.journal,
                time_bits: 24,
            },
            nand: compose::flash(system, geometry, PayloadKind::None, 0),
            translation: n.translation,
            die_queue: n.die_queue,
            full: n.full,
            verify: false,
        }
    }
}
