//! The map from logical units to locations: in RAM, its copy in flash, and the cache of that copy.

pub(crate) mod cache;
pub(crate) mod contents;
pub(crate) mod entries;
pub(crate) mod frames;
mod held;
pub(crate) mod host_memory;
pub(crate) mod lookup;
mod miss_share;
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

/// The map, and the host memory that holds parts of the map.
pub(crate) struct Map {
    pub(crate) table: Table,
    /// `None` if the controller holds the whole map.
    cache: Option<Box<MapCache>>,
    host: HostMemory,
}

impl Map {
    /// Creates the map of `units` logical units, all nowhere.
    pub(crate) fn new(config: &Config, units: u32, streams: &Streams) -> Map {
        Map {
            table: Table::new(units),
            cache: MapCache::new(config, streams).map(Box::new),
            host: HostMemory::default(),
        }
    }

    /// Returns true if the map is in flash, and the controller caches parts.
    #[inline]
    pub(crate) fn is_cached(&self) -> bool {
        self.cache.is_some()
    }

    /// Returns true if the controller has the map entry of `unit`: a read need not fetch it. Records no use.
    pub(crate) fn is_at_hand(&self, unit: u32) -> bool {
        self.cache.as_deref().is_none_or(|cache| cache.is_at_hand(unit))
    }

    /// Returns what the cache holds, and its capacity, in translation units or entries; `None` if there is no cache.
    pub(crate) fn cache_use(&self) -> Option<(u32, u32)> {
        self.cache.as_deref().map(MapCache::filled)
    }

    /// Returns the number of translation units; 0 if the controller holds the whole map.
    pub(crate) fn translation_count(&self) -> usize {
        self.cache.as_deref().map_or(0, MapCache::count)
    }

    /// Returns the translation unit in flash that maps `unit`, if there is one.
    pub(crate) fn translation_of(&self, unit: u32) -> Option<u32> {
        self.cache.as_ref().and_then(|cache| cache.translation(unit))
    }

    /// Records whether translation unit `t` in flash is older than data that it maps, as found by a mount.
    pub(crate) fn set_stale(&mut self, t: u32, stale: bool) {
        if let Some(cache) = &mut self.cache {
            cache.stale[t as usize] = stale;
        }
    }

    /// Returns true if a dispatch should fetch a translation unit.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.wanted.is_due() || cache.lacks_room())
    }

    /// Returns true while so many changes wait for room in the cache that no host write may be admitted.
    #[inline]
    pub(crate) fn holds_writes(&self) -> bool {
        self.cache.as_deref().is_some_and(MapCache::holds_writes)
    }

    /// Returns true if more than an eighth of the recent changes were of entries that are not cached.
    #[inline]
    pub(crate) fn misses(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.misses.is_large())
    }

    /// Returns true if host writes wait for the map, and more units of the layer itself will be written soon.
    #[inline]
    pub(crate) fn is_loading(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.holds_writes() && cache.is_loading())
    }

    /// Begins a dispatch.
    #[inline]
    pub(crate) fn begin_dispatch(&mut self) {
        if let Some(cache) = &mut self.cache {
            cache.wanted.begin_dispatch();
        }
    }

    /// Returns true while host memory is enabled.
    #[inline]
    pub(crate) fn has_host_memory(&self) -> bool {
        self.host.enabled
    }

    /// Returns true if host memory holds dirty data.
    #[inline]
    pub(crate) fn has_dirty_away(&self) -> bool {
        self.host.dirty > 0
    }

    /// Returns true if host memory holds clean data.
    #[inline]
    pub(crate) fn has_clean_away(&self) -> bool {
        self.host.clean > 0
    }

    /// Returns true while dirty data is loaded from host memory to be programmed.
    #[inline]
    pub(crate) fn is_bringing_in(&self) -> bool {
        self.host.bringing
    }
}
