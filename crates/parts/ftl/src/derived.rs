//! Configurations that follow from sections of system files and from other parts.

use sim::Time;

use crate::config;
use crate::section::{
    Allocation, Caches, HostMemory, HostMemoryUse, Isolation, MapCache, MapGrain, MapStart, Placement, ReadPlace,
    SlcCache, WriteMode, units,
};

impl Placement {
    /// Returns the reclaim unit handles, if there are any.
    pub fn enabled(self) -> Option<Placement> {
        (self.isolation != Isolation::Off).then_some(self)
    }
}

impl MapCache {
    /// Returns the configuration of the cache over mapping units of `unit` bytes, next to `host` memory; `None` if it
    /// holds the entire map.
    pub fn frames(&self, unit: u64, host: &HostMemory) -> Option<config::MapCache> {
        self.size.map(|bytes| config::MapCache {
            frames: units(bytes, unit).max(1),
            frame_units: host.frame_units(unit),
            updates: self.updates,
            eviction: host.eviction,
            entries: (self.grain == MapGrain::Entry).then(|| (bytes / self.entry).min(u64::from(u32::MAX / 16)) as u32),
            warm: self.start == MapStart::Warm,
        })
    }
}

/// Fractions of the host's memory by use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// Fraction for the map cache.
    pub map: f64,
    /// Fraction for the read cache.
    pub read: f64,
    /// Fraction for the write cache.
    pub write: f64,
}

impl HostMemory {
    /// Returns the share of each use.
    pub fn shares(&self) -> Shares {
        let uses = &self.uses;
        let equal = 1.0 / uses.len().max(1) as f64;
        let part = |what, share: Option<f64>| if uses.contains(&what) { share.unwrap_or(equal) } else { 0.0 };
        let read = part(HostMemoryUse::ReadCache, self.read_cache);
        let write = part(HostMemoryUse::WriteBuffer, self.write_buffer);
        let map = if uses.contains(&HostMemoryUse::Map) { (1.0 - read - write).max(0.0) } else { 0.0 };
        match (uses.as_slice(), map) {
            ([HostMemoryUse::ReadCache], _) => Shares { map, read: 1.0, write },
            ([HostMemoryUse::WriteBuffer], _) => Shares { map, read, write: 1.0 },
            _ => Shares { map, read, write },
        }
    }

    /// Returns the configuration of `lent` bytes, in mapping units of `unit` bytes; `None` if the host lends nothing.
    pub fn lent(&self, lent: u64, unit: u64) -> Option<config::HostMemory> {
        if lent == 0 {
            return None;
        }
        let memory = config::HostMemory { map_frames: 0, read: 0, write: 0, check: self.check };
        let shares = self.shares();
        let hold = |share: f64| (share * lent as f64) as u64 / u64::from(memory.stored(unit as u32));
        let count = |n: u64| n.min(u64::from(u32::MAX / 16)) as u32;
        Some(config::HostMemory {
            map_frames: count(hold(shares.map) / u64::from(self.frame_units(unit))),
            read: count(hold(shares.read)),
            write: count(hold(shares.write)),
            ..memory
        })
    }

    /// Returns the mapping units that a frame of the map cache covers.
    fn frame_units(&self, unit: u64) -> u32 {
        units(self.unit.unwrap_or(unit), unit).max(1)
    }
}

/// Blocks per plane in SLC mode.
#[derive(Clone, Copy, Debug)]
pub struct SlcBlocks {
    /// Those that take host writes.
    pub fixed: u32,
    /// Further ones, while the drive is not full.
    pub dynamic: u32,
    /// Those of the read cache in flash.
    pub copies: u32,
}

impl SlcCache {
    /// Returns the configuration of the cache on `blocks` of `bits` per cell, over mapping units of `unit` bytes; `None`
    /// if there are none.
    pub fn blocks(&self, blocks: SlcBlocks, bits: u32, unit: u64) -> Option<config::SlcCache> {
        let SlcBlocks { fixed, dynamic, copies } = blocks;
        (fixed + copies + dynamic > 0).then(|| config::SlcCache {
            blocks: fixed + copies,
            bits,
            fold: self.fold,
            keep: (self.keep * f64::from(fixed + dynamic)) as u32,
            dynamic,
            batch: u32::try_from(self.batch.div_ceil(unit)).unwrap_or(u32::MAX),
            copies: self.copies,
        })
    }
}

impl Caches {
    /// Returns whether data that was read is cached in memory, of the controller or of the host.
    fn keep_reads(&self) -> bool {
        let in_flash = self.read.place == ReadPlace::Slc;
        (self.read.size > 0 && !in_flash) || self.host_memory.uses.contains(&HostMemoryUse::ReadCache)
    }

    /// Returns the configuration of the buffers over mapping units of `unit` bytes. A drive without a write cache has
    /// `transfer` units instead.
    pub fn buffers(&self, unit: u64, transfer: u32) -> config::Buffers {
        let cached = self.write.size > 0;
        let write = if cached { units(self.write.size, unit) } else { transfer };
        let part = |fraction: f64| (fraction * f64::from(write)) as u32;
        config::Buffers {
            write,
            read: if self.read_copies(unit).is_some() { 0 } else { units(self.read.size, unit) },
            allocation: if self.keep_reads() { self.read.allocation } else { Allocation::Fill },
            shared: self.are_shared() && cached,
            write_back: self.write.mode == WriteMode::Back && cached,
            protected: self.protected && cached,
            high: part(self.write.high),
            low: part(self.write.low),
            resume: part(self.write.resume),
            gather: part(self.write.gather),
            holds_reads: self.write.holds_reads,
            idle: self.write.idle.unwrap_or(Time::MAX),
        }
    }
}
