//! Read-only view of how full the layer is, for time series.

use crate::Ftl;

/// State at one point in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Erased blocks that wait to be written, those in SLC mode included.
    pub free_blocks: u32,
    /// Parallel units that are collecting a block.
    pub collecting: u32,
    /// Units of the write cache in use.
    pub write_cache_used: u32,
    /// Units that the write cache holds at most.
    pub write_cache_units: u32,
}

impl Ftl {
    /// Returns how full the layer is now; costs a pass over the parallel units.
    pub fn occupancy(&self) -> Occupancy {
        let mut found = Occupancy {
            write_cache_used: self.write_used,
            write_cache_units: self.write_limit,
            ..Occupancy::default()
        };
        for lane in &self.lanes {
            found.free_blocks += (lane.free.len() + lane.slc_free.len()) as u32;
            found.collecting += u32::from(lane.job.is_some() || lane.in_flight > 0);
        }
        found
    }
}
