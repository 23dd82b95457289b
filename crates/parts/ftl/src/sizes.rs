//! Sizes that follow from a configuration: logical units, the map, the journal, buffers.

use crate::config::Config;
use crate::gc::scan_order::ScanOrder;
use crate::layout::Layout;

/// Blocks that may be open at once without placement: for the host, for copies, and in the SLC cache.
const STREAMS: u32 = 3;
/// Parity programs in progress per stripe of a page row. Assumed: the depth of a die's queue.
const ON_THEIR_WAY: u32 = 4;

/// Slots for translation units and journal pages that wait to be programmed.
pub(crate) const SYSTEM_SLOTS: u32 = 64;

/// Bytes of a map entry.
pub(crate) const ENTRY: u32 = 4;

/// Returns the number of buffer units that an instance of `config` uses.
pub fn buffer_count(config: &Config) -> u64 {
    slots(config, &Layout::new(config))
}

/// Returns the number of units that collection may have in flight in a parallel unit, at least two programs' worth.
pub(crate) fn quota(config: &Config, layout: &Layout) -> u32 {
    // While one batch is programmed the next is read. Every die of the parallel unit has a program and the next.
    let batch = ScanOrder::new(config, layout).batch_reads() * layout.read_units;
    let busy = 2 * batch.max(layout.per_row * layout.program_units);
    config.collection.copies.unwrap_or(busy.max(COPIES)).max(2 * layout.program_units)
}

/// Minimum default number of units that collection may have in flight in a parallel unit.
const COPIES: u32 = 64;

/// Returns the number of buffer units: those of the host, of the layer itself, of parity and of copies.
pub(crate) fn slots(config: &Config, layout: &Layout) -> u64 {
    u64::from(config.buffers.write)
        + u64::from(config.buffers.read)
        + config.host_memory.map_or(0, |m| u64::from(m.read) + u64::from(m.write))
        + u64::from(SYSTEM_SLOTS)
        + parity_slots(config, layout)
        + u64::from(layout.parallel_units) * u64::from(quota(config, layout))
}

/// Returns the number of logical units: the user's plus those of the journal and the map.
pub(crate) fn all_units(config: &Config) -> u64 {
    u64::from(config.user_units) + u64::from(journal_units(config)) + u64::from(map_units(config))
}

/// Returns the number of entries of a translation unit.
pub(crate) fn map_entries(config: &Config) -> u32 {
    config.geometry.unit_bytes / ENTRY
}

/// Returns the number of user units written in order before the map cache evicts a translation unit; `None` if the
/// controller holds the whole map.
pub(crate) fn units_cached(config: &Config) -> Option<u64> {
    let cache = config.map_cache?;
    if let Some(capacity) = cache.entries {
        return Some(capacity.into());
    }
    let away = config.host_memory.map_or(0, |memory| u64::from(memory.map_frames) * u64::from(cache.frame_units));
    Some((u64::from(cache.frames.max(1)) + away) * u64::from(map_entries(config)) + u64::from(cache.updates))
}

/// Returns true if the controller caches less than the whole map, even with the memory that the host lends.
pub(crate) fn caches_part_of_map(config: &Config) -> bool {
    units_cached(config).is_some_and(|cached| cached < u64::from(config.user_units))
}

/// Returns the number of logical units that the map occupies in flash: none if the controller holds it all.
pub(crate) fn map_units(config: &Config) -> u32 {
    if config.map_cache.is_some() { config.user_units.div_ceil(map_entries(config)) } else { 0 }
}

/// Bytes of a page before its bitmap: the sequence number T.
pub(crate) const HEADER: u32 = 8;

/// Returns the number of units whose trims a page of the journal records.
pub(crate) fn region_units(config: &Config) -> u32 {
    (config.geometry.unit_bytes - HEADER) * 8
}

/// Returns the number of logical units that the journal occupies.
pub(crate) fn journal_units(config: &Config) -> u32 {
    config.user_units.div_ceil(region_units(config))
}

/// Returns the number of buffers of one program each: one per open stripe, and those of parity programs in progress.
pub(crate) fn parity_sets(config: &Config, layout: &Layout) -> u32 {
    let streams = STREAMS + crate::space::placement::write_points(config);
    config.parity.map_or(0, |_| streams + ON_THEIR_WAY * layout.per_row.div_ceil(layout.stripe))
}

/// Returns the number of slots that parity uses.
fn parity_slots(config: &Config, layout: &Layout) -> u64 {
    config.parity.map_or(0, |_| u64::from(parity_sets(config, layout)) * u64::from(layout.program_units) + 1)
}
