//! The SLC cache.

use keys::{COUNT, Conflict, FRACTION, SIZE, assumed, expect, section};

use crate::config;

section! {
    /// Blocks in SLC mode (one bit per cell) that take host writes first.
    #[derive(Copy)]
    SlcCache {
        "ftl.slc_cache.size" size: u64 = SIZE,
            assumed("0B", "disabled by default"),
            "Capacity for data, rounded up to whole blocks of every plane; 0B: none.";
        "ftl.slc_cache.fold" fold: u32 = COUNT.within(0.0, 1048576.0),
            assumed("2", "few, so that the cache is used before it is emptied"),
            "Free space, in SLC groups, that folding into the other blocks maintains while the host writes.";
        "ftl.slc_cache.keep" keep: f64 = FRACTION,
            assumed("0", "after a pause the next burst finds the whole cache free; products differ"),
            "Fraction of the cache that idle time leaves unfolded.";
        "ftl.slc_cache.dynamic" dynamic: u64 = SIZE,
            assumed("0B", "disabled by default"),
            "Maximum data in the dynamic part, which uses free capacity in SLC mode and shrinks as the drive fills.";
        "ftl.slc_cache.batch" batch: u64 = SIZE,
            assumed("0B", "folding keeps to the pace of the host by default"),
            "Data that folding moves at once while host data waits in the write cache; 0B: it goes on alongside host writes.";
        "ftl.slc_cache.copies" copies: Option<u32> = COUNT.within(1.0, 65536.0).or("auto"),
            assumed("auto", "folding is copying, and as fast; 100 to 3,000 are plausible, since drives fold at different rates"),
            "Maximum number of units of a group that are being copied at once while ftl.slc_cache.batch is folded, at least \
             two programs; auto: as many as ftl.gc.copies.";

        check folds;
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
    fn folds(&self) -> Result<(), Conflict> {
        let off = "0B where ftl.slc_cache.fold is 0, since folding waits for a pause then";
        expect(self.batch == 0 || self.fold > 0, &["ftl.slc_cache.batch", "ftl.slc_cache.fold"], off)
    }

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
