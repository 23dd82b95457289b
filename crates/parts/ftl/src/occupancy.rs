//! Read-only views of the fill and wear of the drive.

use crate::Ftl;
use crate::location::DecodedLocation;
use crate::space::blocks::Use;

/// Occupancy at one point in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Erased blocks available for writing, including SLC blocks.
    pub free_blocks: u32,
    /// Parallel units that are collecting a block.
    pub collecting: u32,
    /// Units of the write cache in use.
    pub write_cache_used: u32,
    /// Capacity of the write cache in units.
    pub write_cache_units: u32,
}

impl Ftl {
    /// Returns the current occupancy; costs a pass over the parallel units.
    pub fn occupancy(&self) -> Occupancy {
        let mut found = Occupancy {
            write_cache_used: self.buffer.write_used(),
            write_cache_units: self.buffer.write_limit(),
            ..Occupancy::default()
        };
        for pu in &self.space.parallel_units {
            found.free_blocks += (pu.free().len() + pu.slc_free()) as u32;
        }
        found.collecting = (0..self.layout.parallel_units).filter(|pu| self.is_copying(*pu)).count() as u32;
        found
    }

    /// Returns true if the map has a location for logical unit `unit`; otherwise it reads as zeros.
    ///
    /// # Panics
    /// If there is no such unit.
    pub fn is_mapped(&self, unit: u32) -> bool {
        self.place(unit) != DecodedLocation::Nowhere
    }

    /// Returns the number of valid units of each closed block, ordered by parallel unit: the distribution that the
    /// theory predicts.
    pub fn closed_blocks(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.layout.all_blocks())
            .filter(|b| self.space.blocks.usage(*b) == Use::Closed)
            .map(|b| self.space.blocks.valid(b))
    }

    /// Returns the number of units per block of a parallel unit, and the total number of blocks.
    pub fn block_shape(&self) -> (u32, u32) {
        (self.layout.block_units, self.layout.all_blocks())
    }

    /// Returns the number of parallel units, each of which collects one block at a time.
    pub fn parallel_units(&self) -> u32 {
        self.layout.parallel_units
    }

    /// Returns the minimum, mean and maximum number of erases per block.
    pub fn wear(&self) -> (u32, f64, u32) {
        let erases = || (0..self.layout.all_blocks()).map(|b| self.space.blocks.erases(b));
        let sum: u64 = erases().map(u64::from).sum();
        let mean = sum as f64 / f64::from(self.layout.all_blocks());
        (erases().min().unwrap_or(0), mean, erases().max().unwrap_or(0))
    }
}
