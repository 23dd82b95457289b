//! Flash pages and blocks, numbered so that neighbouring blocks lie on different dies; and what blocks are for.

use media::{BlockAddr, PageAddr, PlaneMask};

use crate::config::{ANCHORS, Config};

/// The numbering: block b lies on lane (plane of a die) b modulo lanes, which go through the channels first; flash page f is page f modulo pages of block f over
/// pages. The first blocks hold the root by turns, those after them the table, all others data.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Flash pages a block.
    pub pages: u32,
    /// Blocks in all.
    pub blocks: u32,
    /// First block of the table's.
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

    #[inline]
    pub fn block_of(&self, flash_page: u64) -> u32 {
        (flash_page / u64::from(self.pages)) as u32
    }

    #[inline]
    pub fn flash_page(&self, block: u32, page: u32) -> u64 {
        u64::from(block) * u64::from(self.pages) + u64::from(page)
    }

    /// The flash page `bit` further than `mapping`, round the block.
    #[inline]
    pub fn reach(&self, mapping: u64, bit: u32) -> u64 {
        let block = self.block_of(mapping);
        let page = (mapping - self.flash_page(block, 0)) as u32;
        self.flash_page(block, (page + bit) % self.pages)
    }

    #[inline]
    pub fn block(&self, block: u32) -> BlockAddr {
        let lane = block % self.lanes;
        let (channel, rest) = (lane % self.channels, lane / self.channels);
        let (die, plane) = (channel * self.dies + rest % self.dies, rest / self.dies);
        BlockAddr { die: die as u16, planes: PlaneMask::one(plane), block: block / self.lanes }
    }

    #[inline]
    pub fn page(&self, flash_page: u64) -> PageAddr {
        self.page_in(self.block_of(flash_page), flash_page)
    }

    /// The same, of a flash page that is in `block`.
    #[inline]
    pub fn page_in(&self, block: u32, flash_page: u64) -> PageAddr {
        let BlockAddr { die, planes, block: number } = self.block(block);
        PageAddr { die, planes, block: number, page: (flash_page - self.flash_page(block, 0)) as u32 }
    }
}
