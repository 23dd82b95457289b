//! The headroom of a drive at the start and the end of a run: what it can take before it must collect, fold or load.
//!
//! A run that ends with less headroom than it began with was served in part from the difference, and one that ends with
//! more has worked for later runs. Its rate is then that of neither.

use crate::Ftl;
use crate::space::parallel_unit::Stream;

/// Headroom at one point in time, or, from [`since`](Headroom::since), its change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headroom {
    /// Free space in units: free blocks, the rest of open blocks, and the space that victims have given back so far.
    pub free_units: i64,
    /// Space in the static SLC cache in units, likewise; 0 without one.
    pub slc_units: i64,
    /// Unused space of the write cache in units.
    pub write_cache_units: i64,
    /// Cached parts of the map, each of which took a flash read; 0 if the controller holds the whole map.
    pub cached_map: i64,
}

impl Headroom {
    /// Returns the change from `earlier` to this state.
    pub fn since(&self, earlier: &Headroom) -> Headroom {
        Headroom {
            free_units: self.free_units - earlier.free_units,
            slc_units: self.slc_units - earlier.slc_units,
            write_cache_units: self.write_cache_units - earlier.write_cache_units,
            cached_map: self.cached_map - earlier.cached_map,
        }
    }
}

impl Ftl {
    /// Returns the current headroom; costs a pass over the parallel units, and over the free blocks of a drive with
    /// unusable planes.
    pub fn headroom(&self) -> Headroom {
        let mut found = Headroom {
            write_cache_units: i64::from(self.buffer.write_limit()) - i64::from(self.buffer.write_used()),
            cached_map: self.map.cache_use().map_or(0, |(used, _)| i64::from(used)),
            ..Headroom::default()
        };
        for pu in 0..self.layout.parallel_units {
            found.free_units += self.free_units(pu);
            found.slc_units += self.slc_units(pu);
        }
        found
    }

    /// Returns the free SLC space of `pu`: free SLC blocks, the rest of the open one, and the space gained so far from
    /// the blocks being folded.
    pub(crate) fn slc_units(&self, pu: u32) -> i64 {
        if self.config.slc.is_none() {
            return 0;
        }
        let unit = &self.space.parallel_units[pu as usize];
        let block = i64::from(self.slc_programs() * self.layout.program_units);
        let mut level = unit.slc_free() as i64 * block;
        if let Some(open) = unit.write_point(Stream::Slc) {
            level += i64::from((open.end - open.next) * self.layout.program_units);
        }
        for victim in self.gc.unit(pu).victims.iter().filter(|victim| self.is_slc(victim.block)) {
            let left = self.space.blocks.valid(victim.block).min(victim.valid);
            level += block - block * i64::from(left) / i64::from(victim.valid.max(1));
        }
        level
    }
}
