//! The geometry of a flash array.

use crate::address::PageAddr;

/// Channels of chips of dies of planes of blocks of pages, and the mapping units per page.
///
/// Dies are numbered consecutively: `die = (channel * chips + chip) * dies + die-in-chip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of channels.
    pub channels: u32,
    /// Chips (ways, chip enables) per channel.
    pub chips: u32,
    /// Dies per chip.
    pub dies: u32,
    /// Planes per die, at most 16.
    pub planes: u32,
    /// Blocks per plane.
    pub blocks: u32,
    /// Pages per block.
    pub pages: u32,
    /// Data bytes per page, without the spare area.
    pub page_bytes: u32,
    /// Bytes per mapping unit, which one map entry and one entry of a page's spare area refer to. Must divide
    /// `page_bytes` and be a multiple of the 512-byte sector.
    pub unit_bytes: u32,
}

impl Geometry {
    /// Returns the reason why the geometry is invalid, in terms of its fields, or `None` if it is valid.
    pub fn fault(&self) -> Option<String> {
        let counts = [
            ("channels", self.channels),
            ("chips", self.chips),
            ("dies", self.dies),
            ("planes", self.planes),
            ("blocks", self.blocks),
            ("pages", self.pages),
            ("page", self.page_bytes),
            ("unit", self.unit_bytes),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, n)| *n == 0) {
            return Some(format!("{name} is 0, expected at least 1"));
        }
        if self.planes > 16 {
            return Some(format!("planes is {}, expected at most 16", self.planes));
        }
        if !self.unit_bytes.is_multiple_of(512) {
            return Some(format!("unit is {} bytes, expected a multiple of 512", self.unit_bytes));
        }
        if !self.page_bytes.is_multiple_of(self.unit_bytes) {
            return Some(format!(
                "page is {} bytes, expected a multiple of the unit ({})",
                self.page_bytes, self.unit_bytes
            ));
        }
        if u64::from(self.channels) * u64::from(self.chips) * u64::from(self.dies) > u64::from(u16::MAX) {
            return Some(format!("{} dies, expected at most 65535", self.channels * self.chips * self.dies));
        }
        let units = self.units();
        if units > u128::from(u32::MAX) {
            return Some(format!(
                "{units} mapping units, expected at most {}: a larger unit maps a larger drive",
                u32::MAX
            ));
        }
        None
    }

    /// Returns the number of dies in the array.
    #[inline]
    pub const fn all_dies(&self) -> u32 {
        self.channels * self.chips * self.dies
    }

    /// Returns the channel of `die`.
    #[inline]
    pub const fn channel_of(&self, die: u16) -> u32 {
        die as u32 / (self.chips * self.dies)
    }

    /// Returns the mapping units per page.
    #[inline]
    pub const fn units_per_page(&self) -> u32 {
        self.page_bytes / self.unit_bytes
    }

    /// Returns the mapping units of the array.
    pub const fn units(&self) -> u128 {
        self.all_dies() as u128
            * self.planes as u128
            * self.blocks as u128
            * self.pages as u128
            * self.units_per_page() as u128
    }

    /// Returns the data bytes of the array.
    pub const fn bytes(&self) -> u128 {
        self.units() * self.unit_bytes as u128
    }

    /// Returns the number in the whole array of the block of `plane` that contains `page`.
    ///
    /// # Panics
    /// If a die has no such plane, or a plane no such block.
    #[inline]
    pub const fn block_index(&self, page: PageAddr, plane: u32) -> usize {
        assert!(plane < self.planes && page.block < self.blocks, "a plane or a block beyond the geometry");
        (page.die as usize * self.planes as usize + plane as usize) * self.blocks as usize + page.block as usize
    }
}
