//! The map from logical units to locations: in RAM, its copy in flash, and the cache of that copy.

pub(crate) mod cache;
pub(crate) mod entries;
pub(crate) mod frames;
pub(crate) mod host_memory;
pub(crate) mod lookup;
pub(crate) mod pending;
pub(crate) mod table;
pub(crate) mod touched;
pub(crate) mod trim;
mod wanted;

use sim::Streams;

use crate::config::Config;
use frames::MapCache;
use host_memory::HostMemory;
use table::Table;

/// The map, and the memory lent by the host that holds parts of it.
pub(crate) struct Map {
    pub(crate) table: Table,
    /// `None` if the controller holds the whole map.
    pub(crate) cache: Option<MapCache>,
    pub(crate) host: HostMemory,
}

impl Map {
    /// Creates the map of `units` logical units, all nowhere.
    pub(crate) fn new(config: &Config, units: u32, streams: &Streams) -> Map {
        Map { table: Table::new(units), cache: MapCache::new(config, streams), host: HostMemory::default() }
    }
}
