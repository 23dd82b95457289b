//! Scaled-down copies of a drive: `--scale 1/16`, or `--set scale=1/16`.
//!
//! The copy has as many blocks as the drive, each with fewer pages. Free blocks, open blocks, victims and the reserve of
//! collection shrink with the flash, and over-provisioning and write amplification stay the same. One erase in `N` takes
//! time, which keeps the share of the time that a die erases. The caches of the map and of read data shrink too. The write
//! cache and a given `ftl.gc.slack` do not: they serve the dies, whose number and times stay the same. A drive with zones
//! keeps the size of its zones and has fewer zones.
//!
//! A block must keep enough programs for the slack of collection and for its batches. At a smaller scale, the number of
//! blocks shrinks, as long as the reserve of collection stays the same part of all blocks. A smaller copy would be
//! another drive, and is refused.

use device::nvme::MEMORY_PAGE;
use nand::PayloadKind;

use crate::error::{Place, SystemError, one_line};
use crate::file::chain::Chain;
use crate::parts::Parts;
use crate::{LinkType, System};
use ftl::config::ConfigError;
use ftl::section::ReadPlace;

/// Name of the option.
pub(crate) const KEY: &str = "scale";
const LARGEST: u64 = 65536;
/// Least number of programs in a block of a parallel unit: pacing lets the host take an eighth of a block, and at least two
/// programs.
const PROGRAMS: u32 = 16;
/// Least number of free blocks at which collection starts that may be the part of a larger one.
const LEAST_START: u32 = 12;
/// Part of the flash that collection may keep free or open in a copy with fewer blocks.
const RESERVE_MAX: f64 = 0.001;
/// Pages of a die that collection reads in a row, beyond which more change little: 8 to 64 change steady writes of
/// `nvme-client-tlc` by 3 % at most.
const BATCH: u32 = 16;
/// Largest N for drives that cache a part of their map. The limits on changes of the map that wait do not shrink with the
/// drive. At 1/16 steady writes differ by 1 to 6 % in write amplification (`hmb-a`, `hmb-c`, `hmb-d`) and 13 % (`hmb-b`); at
/// 1/192 `hmb-a` writes four times as fast (calibrated to that).
const MAP_LIMIT: u64 = 16;

/// Returns the system of `chain` with `sets`, which include the scale.
pub(crate) fn scaled(chain: &Chain, sets: &[(&str, &str)]) -> Result<System, SystemError> {
    let (_, text) = sets.iter().rev().find(|(key, _)| *key == KEY).expect("a scale");
    let rest: Vec<(&str, &str)> = sets.iter().filter(|(key, _)| *key != KEY).copied().collect();
    let place = Place::Set { text: format!("{KEY}={}", one_line(text)).into() };
    let part = denominator(text).ok_or_else(|| {
        let why = format!("found \"{text}\", expected 1/N with N from 1 to {LARGEST}, such as 1/16");
        SystemError::value(&place, KEY, why)
    })?;
    let whole = System::plain(chain.clone(), &rest)?;
    if matches!(whole.link.kind, LinkType::None | LinkType::OneNand) {
        let why = format!("found a system whose link.type is \"{}\", expected a drive", whole.link.kind.word());
        return Err(SystemError::value(&place, KEY, why));
    }
    if part == 1 {
        return Ok(whole);
    }
    let limit = whole.scale_limit().map_err(|error| SystemError::value(&place, KEY, error.to_string()))?;
    if part > limit {
        let why = format!("found 1/{part}, expected at least 1/{limit}: a smaller copy is no longer the same drive");
        return Err(SystemError::value(&place, KEY, why));
    }
    let refused =
        |why: String| SystemError::value(&place, KEY, format!("found 1/{part}, expected a larger copy: {why}"));
    let changes = changes(&whole, part).map_err(|error| refused(error.to_string()))?;
    let more = changes.iter().map(|(key, value)| (*key, value.as_str()));
    let all: Vec<(&str, &str)> = rest.iter().copied().chain(more).collect();
    let system = System::plain(chain.clone(), &all).map_err(|error| refused(error.to_string()))?;
    match Parts::new(&system, PayloadKind::None) {
        Ok(_) => Ok(system),
        Err(error) => Err(refused(error.to_string())),
    }
}

fn denominator(text: &str) -> Option<u64> {
    let (one, part) = text.split_once('/')?;
    let part = part.trim().parse().ok()?;
    (one.trim() == "1" && (1..=LARGEST).contains(&part)).then_some(part)
}

impl System {
    /// Returns the largest N for which a copy of 1/N is the same drive.
    ///
    /// # Errors
    /// If the parts of the drive do not fit together.
    pub fn scale_limit(&self) -> Result<u64, ConfigError> {
        if self.has_zones() {
            // The copy has at least twice as many zones as may be active.
            let (count, active) = (self.zones.count.unwrap_or(self.flash.blocks), self.zones.active.unwrap_or(1));
            return Ok(u64::from((count / active / 2).max(1)));
        }
        let limit = shrinking_pages(self)? * shrinking_blocks(self);
        let caches_map = Parts::new(self, PayloadKind::None)?.ftl.map_cache.is_some();
        Ok(if caches_map { limit.min(MAP_LIMIT) } else { limit })
    }
}

/// Returns the largest factor by which the pages of a block may shrink.
fn shrinking_pages(whole: &System) -> Result<u64, ConfigError> {
    // Programs in a block of a parallel unit for each page of a physical block.
    let rows = ftl::rows(&Parts::new(whole, PayloadKind::None)?.ftl);
    // Collection sets a program of each block aside, which may be a third of the space that it has, and reads at most a
    // quarter of a block at once.
    let spare = whole.raw_bytes as f64 / whole.user_bytes as f64 - 1.0 - reserve(whole);
    let programs = PROGRAMS.max((3.0 / spare.max(0.01)) as u32);
    let least = programs.div_ceil(rows).max(4 * whole.ftl.gc.batch.min(BATCH));
    Ok(u64::from((whole.geometry().pages / least).max(1)))
}

/// Returns the largest factor by which the number of blocks may shrink, and with it the reserve of collection: one that
/// leaves it at least twelve blocks, or too small to matter.
fn shrinking_blocks(whole: &System) -> u64 {
    let start = whole.ftl.gc.start;
    match start >= 8 * LEAST_START {
        true => u64::from(start / LEAST_START),
        false => (RESERVE_MAX / reserve(whole)).max(1.0) as u64,
    }
}

/// Returns the part of the flash that collection keeps free or open.
fn reserve(whole: &System) -> f64 {
    f64::from(whole.ftl.gc.start + 3) / f64::from(whole.flash.blocks)
}

/// Returns the changed keys of a copy of 1/`part`.
fn changes(whole: &System, part: u64) -> Result<Vec<(&'static str, String)>, ConfigError> {
    let unit = whole.ftl.unit;
    let size = |bytes: u64, least: u64| (bytes / part).max(least).min(bytes).next_multiple_of(unit);
    let mut found = if whole.has_zones() { fewer_zones(whole, part) } else { smaller_flash(whole, part)? };
    let read_cache = &whole.caches.read;
    if read_cache.size > 0 && read_cache.place != ReadPlace::Slc {
        found.push(("device.read_cache.size", format!("{}B", size(read_cache.size, unit))));
    }
    for (key, amount) in [
        ("ftl.slc_cache.size", whole.ftl.slc_cache.size),
        ("ftl.slc_cache.dynamic", whole.ftl.slc_cache.dynamic),
        ("ftl.slc_cache.batch", whole.ftl.slc_cache.batch),
    ] {
        if amount > 0 {
            found.push((key, format!("{}B", size(amount, unit))));
        }
    }
    if let Some(map) = whole.ftl.map_cache.size {
        found.push(("ftl.map_cache.size", format!("{}B", size(map, unit))));
        let updates = u64::from(whole.ftl.map_cache.updates);
        if updates > 0 {
            found.push(("ftl.map_cache.updates", (updates / part).max(1).to_string()));
        }
    }
    let hmb = &whole.device.hmb;
    if hmb.size > 0 {
        // As many frames as before, each of fewer pages of the map.
        let frame = whole.caches.host_memory.unit.map(|bytes| unit << (bytes / part / unit).max(1).ilog2());
        let least = hmb.min_descriptor.max(whole.host.hmb.contiguous).max(frame.unwrap_or(0));
        let scaled = (hmb.size / part).max(least).min(hmb.size).next_multiple_of(MEMORY_PAGE);
        found.push(("device.hmb.size", format!("{scaled}B")));
        found.push(("device.hmb.minimum", format!("{}B", hmb.minimum.min(scaled))));
        found.extend(frame.map(|bytes| ("device.hmb.unit", format!("{bytes}B"))));
    }
    Ok(found)
}

/// Returns the changed keys of the flash and its collection.
fn smaller_flash(whole: &System, part: u64) -> Result<Vec<(&'static str, String)>, ConfigError> {
    let (flash, gc) = (&whole.flash, &whole.ftl.gc);
    let (line, whole_pages) = (u64::from(flash.cell.bits() * whole.span().pages), u64::from(flash.pages));
    let before = whole_pages * u64::from(flash.blocks);
    // Pages shrink first, then the number of blocks. Whole word lines: at least as many pages as asked for, and fewer blocks in
    // return.
    let fewer = part.div_ceil(part.min(shrinking_pages(whole)?));
    let pages = (whole_pages * fewer).div_ceil(part * line).min(whole_pages.div_ceil(line)) * line;
    let blocks = (before / part / pages).max(1);
    let parts = u64::from(flash.timing.block_parts) * whole_pages / pages;
    let mut found = vec![
        ("flash.blocks", blocks.to_string()),
        ("flash.pages", pages.to_string()),
        ("flash.block_parts", parts.to_string()),
    ];
    if gc.start >= 8 * LEAST_START {
        let start = (u64::from(gc.start) * blocks).div_ceil(u64::from(flash.blocks));
        found.push(("ftl.gc.start", start.to_string()));
    }
    if whole.ftl.over_provisioning.is_none() {
        // Scaled like the flash, in whole units.
        let bytes = u128::from(whole.user_bytes) * u128::from(blocks * pages) / u128::from(before);
        found.push(("ftl.capacity", format!("{}B", bytes as u64 / whole.ftl.unit * whole.ftl.unit)));
    }
    Ok(found)
}

/// Returns the changed keys of a drive with zones, which keep their size; each plane keeps its spare blocks.
fn fewer_zones(whole: &System, part: u64) -> Vec<(&'static str, String)> {
    let blocks = u64::from(whole.flash.blocks);
    let Some(count) = whole.zones.count.map(u64::from) else {
        return vec![("flash.blocks", (blocks / part).max(1).to_string())];
    };
    let kept = (count / part).max(1);
    let blocks = blocks - (count - kept) * (blocks / count);
    vec![("flash.blocks", blocks.to_string()), ("device.zones.count", kept.to_string())]
}
