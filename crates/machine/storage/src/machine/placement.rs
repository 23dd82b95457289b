//! Flexible Data Placement: the bytes of the statistics log, and the reclaim units that handles write.

use ftl::Stats;
use sim::Time;

use super::Machine;

/// Bytes written and erased, as in the FDP Statistics log page of NVMe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacementBytes {
    /// Bytes that the host wrote (HBMW).
    pub host: u64,
    /// Bytes programmed, for the host and by the drive itself (MBMW).
    pub media: u64,
    /// Bytes of erased blocks (MBE).
    pub erased: u64,
}

impl std::ops::Add for PlacementBytes {
    type Output = PlacementBytes;

    fn add(self, other: PlacementBytes) -> PlacementBytes {
        PlacementBytes {
            host: self.host + other.host,
            media: self.media + other.media,
            erased: self.erased + other.erased,
        }
    }
}

impl Machine {
    /// Returns the bytes in `stats`, counters of this machine with mapping units of `unit_bytes`.
    pub(crate) fn bytes_in(&self, stats: &Stats, unit_bytes: u32) -> PlacementBytes {
        let (block_units, _) = self.ftl.pages().block_shape();
        let unit_bytes = u64::from(unit_bytes);
        PlacementBytes {
            host: stats.host_bytes,
            media: stats.programmed() * unit_bytes,
            erased: stats.erases * u64::from(block_units) * unit_bytes,
        }
    }

    /// Returns the bytes since the translation layer was mounted.
    ///
    /// # Panics
    /// Panics if the drive has zones.
    pub fn placement_bytes(&self) -> PlacementBytes {
        self.bytes_in(&self.ftl.stats(), self.nand.config().geometry.unit_bytes)
    }

    /// Lets a reclaim unit handle write to empty blocks from `now` on. Returns the bytes of its former ones that were
    /// not written.
    ///
    /// # Panics
    /// Panics if the drive has no such handle.
    pub fn update_reclaim_unit_handle(&mut self, now: Time, handle: u8) -> u64 {
        let unwritten = self.ftl.pages_mut().update_reclaim_unit_handle(handle, &mut self.out);
        self.perform(now);
        unwritten
    }
}
