//! Numbering of flash pages and blocks so that neighboring blocks lie on different dies, and the use of blocks by
//! number.

use media::{BlockAddr, PageAddr, PlaneMask};

use crate::config::{ANCHORS, Config};

/// The numbering. Block b lies on plane b modulo the number of planes, where planes go through the channels first;
/// flash page f is page f modulo p of block f / p, with p pages per block. The first blocks hold the root in turn, the
/// next ones the table, all others data.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Flash pages per block.
    pub pages: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// First block of the table.
    pub first_mapping: u32,
    /// First block of data.
    pub first_data: u32,
    lanes: u32,
    channels: u32,
    /// Dies of a channel.
    dies: u32,
}

impl Layout {
    pub fn new(config: &Config) -> Layout {
        Layout {
            pages: config.geometry.pages,
            blocks: config.all_blocks(),
            first_mapping: ANCHORS,
            first_data: ANCHORS + config.mapping_blocks(),
            lanes: config.geometry.all_dies() * config.geometry.planes,
            channels: config.geometry.channels,
            dies: config.geometry.chips * config.geometry.dies,
        }
    }

    pub fn block_of(&self, flash_page: u64) -> u32 {
        (flash_page / u64::from(self.pages)) as u32
    }

    pub fn flash_page(&self, block: u32, page: u32) -> u64 {
        u64::from(block) * u64::from(self.pages) + u64::from(page)
    }

    /// Returns the flash page `bit` after `mapping`, wrapping within the block.
    pub fn reach(&self, mapping: u64, bit: u32) -> u64 {
        let block = self.block_of(mapping);
        let page = (mapping - self.flash_page(block, 0)) as u32;
        self.flash_page(block, (page + bit) % self.pages)
    }

    pub fn block(&self, block: u32) -> BlockAddr {
        let lane = block % self.lanes;
        let (channel, rest) = (lane % self.channels, lane / self.channels);
        let (die, plane) = (channel * self.dies + rest % self.dies, rest / self.dies);
        BlockAddr { die: die as u16, planes: PlaneMask::one(plane), block: block / self.lanes }
    }

    pub fn page(&self, flash_page: u64) -> PageAddr {
        self.page_in(self.block_of(flash_page), flash_page)
    }

    /// Like [`page`](Self::page), for a flash page in `block`.
    pub fn page_in(&self, block: u32, flash_page: u64) -> PageAddr {
        let BlockAddr { die, planes, block: number } = self.block(block);
        PageAddr { die, planes, block: number, page: (flash_page - self.flash_page(block, 0)) as u32 }
    }
}
