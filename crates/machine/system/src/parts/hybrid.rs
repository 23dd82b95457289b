//! Configuration of flash as main memory.

use link::LineLinkConfig;
use nand::PayloadKind;
use nvmm::Controller;

use crate::System;

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
    /// The content before the first request, and what surrounds the page table's controller.
    pub environment: nvmm::Environment,
    /// Whether every line read is compared with the line last written back. For tests; the data takes memory.
    pub verify: bool,
}

impl HybridConfig {
    /// Creates the configuration of `system`, whose main memory is flash behind DRAM.
    pub fn new(system: &System) -> HybridConfig {
        let (memory, n) = (&system.memory, &system.nvmm);
        let (keys, geometry) = (memory.cache, system.geometry());
        let open_blocks = n.open_blocks_on(geometry);
        let buffers = keys.buffers.unwrap_or_else(|| (open_blocks + 64).min(1 << 16));
        let order = match system.flash.order {
            nand::Order::InOrder => nvmm::Order::Ascending,
            nand::Order::Any => nvmm::Order::Any,
        };
        HybridConfig {
            link: memory.link,
            dram: memory.dram,
            cache: dram_cache::Config {
                keys,
                page_bytes: system.flash.page as u32,
                pages: n.capacity / system.flash.page,
                buffers,
                moves: false,
            },
            nvmm: n.config(CONTROLLER, geometry, order, keys.fetches + keys.fetches + buffers + 1),
            nand: super::flash(system, geometry, PayloadKind::None, 0),
            environment: n.environment,
            verify: false,
        }
    }
}
