//! A small memory for tests of single calls.

use media::Geometry;
use nvmm::{Config, Controller, InjectedFault, Management, Order, Policy};

use super::flash::Flash;
use super::world::World;

pub fn config() -> Config {
    Config {
        controller: Controller(7),
        geometry: Geometry {
            channels: 2,
            chips: 1,
            dies: 1,
            planes: 1,
            blocks: 40,
            pages: 32,
            page_bytes: 512,
            unit_bytes: 512,
        },
        segments: 8,
        pages: 32,
        versions: 512,
        order: Order::Ascending,
        open_blocks: 1,
        tags: 4,
        time_bits: 24,
        management: Management { policy: Policy::LongestChain, collect_start: 2, tokens: 3, journal_pages: 16 },
    }
}

pub fn world(config: Config) -> World {
    let flash = Flash::new(config.geometry, config.order, false);
    World::new(config, flash, 1, InjectedFault::None)
}
