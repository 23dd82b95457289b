//! The SLC cache.

use keys::{COUNT, Conflict, FRACTION, SIZE, assumed, expect, section};

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

impl SlcCache {
    fn folds(&self) -> Result<(), Conflict> {
        let off = "0B where ftl.slc_cache.fold is 0, since folding waits for a pause then";
        expect(self.batch == 0 || self.fold > 0, &["ftl.slc_cache.batch", "ftl.slc_cache.fold"], off)
    }
}
