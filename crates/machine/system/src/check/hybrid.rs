//! Flash as main memory: checks across its keys, and derived values.

use crate::error::SystemError;
use crate::parts::HybridConfig;
use crate::system::System;
use keys::Value;

/// Checks rules that involve several keys, and computes derived values.
pub(super) fn check(s: &mut System) -> Result<(), SystemError> {
    let (page, cache) = (s.flash.page, &s.memory.cache);
    s.expect([4096, 8192, 16384].contains(&page), &["flash.page", "memory.type"], "4KiB, 8KiB or 16KiB")?;
    let set = page * u64::from(cache.ways);
    let sets = cache.size.is_multiple_of(set) && (cache.size / set).is_power_of_two();
    let keys = ["memory.cache.size", "memory.cache.ways", "flash.page"];
    s.expect(sets && cache.size / set <= 1 << 31, &keys, "a power of two of sets")?;
    let config = HybridConfig::new(s);
    let (found, wanted) = (config.dram.bytes(), config.cache.dram_bytes());
    let room =
        format!("at most {}, the capacity given by memory.channels, ranks and stack", Value::Size(found).plain());
    let keys = ["memory.cache.size", "memory.channels", "memory.ranks", "memory.stack", "memory.standard"];
    s.expect(wanted <= found, &keys, &format!("with its tags {room}"))?;
    if let Some(size) = s.memory.size {
        let keys = ["memory.size", "nvmm.capacity"];
        s.expect(size <= s.nvmm.capacity, &keys, "at most nvmm.capacity")?;
    }
    let keys = ["nvmm.capacity", "nvmm.versions", "nvmm.open_blocks", "flash.blocks", "flash.pages"];
    if let Err(error) = config.nvmm.check() {
        return s.conflict(&keys, format!("nvmm: {error}"));
    }
    let pages = u64::from(config.nvmm.pages) * u64::from(config.nvmm.segments);
    let most = format!("at most {}, the data capacity of the flash", Value::Size(config.nvmm.room() * page).plain());
    s.expect(pages <= config.nvmm.room(), &keys, &most)?;
    if s.nvmm.environment.full {
        let least = u64::from(config.nvmm.pages + 4) * u64::from(config.nvmm.segments);
        let keys = ["nvmm.versions", "nvmm.full", "nvmm.capacity"];
        let enough = u64::from(config.nvmm.versions) >= least;
        s.expect(enough, &keys, &format!("at least {least} where nvmm.full is true"))?;
    }
    s.raw_bytes = u64::try_from(s.geometry().bytes()).expect("2^32 pages of 64 KiB fit");
    s.user_bytes = s.nvmm.capacity;
    Ok(())
}
