//! Zones: checks that they fit the flash, and what of the page-mapped drive they exclude.

use crate::System;
use crate::error::SystemError;
use ftl::section::Isolation;
use nand::Order;

const SIZE: &str = "device.zones.size";
const KIND: &str = "device.namespace";

/// Checks zones, and computes the capacity that follows from them. Returns false without zones.
pub(super) fn check(s: &mut System) -> Result<bool, SystemError> {
    if !s.has_zones() {
        return Ok(false);
    }
    let size = s.zones.size;
    s.multiple(SIZE, size, "ftl.unit", s.ftl.unit)?;
    let capacity = s.zones.capacity.unwrap_or(size);
    s.multiple("device.zones.capacity", capacity, "ftl.unit", s.ftl.unit)?;
    s.multiple("device.zones.conventional", s.zones.conventional, "ftl.unit", s.ftl.unit)?;
    s.expect(capacity <= size, &["device.zones.capacity", SIZE], "at most device.zones.size")?;
    if let (Some(open), Some(active)) = (s.zones.open, s.zones.active) {
        s.expect(open <= active, &["device.zones.open", "device.zones.active"], "at most device.zones.active")?;
    }
    let dies = s.geometry().all_dies();
    let width = s.zones.dies.unwrap_or(dies);
    s.expect(width <= dies, &["device.zones.dies", "flash.channels"], &format!("at most the {dies} of the flash"))?;
    excluded(s)?;
    let raw = u64::try_from(s.geometry().bytes()).expect("2^32 units of 64 KiB fit");
    s.raw_bytes = raw;
    let row = u64::from(width) * u64::from(s.flash.planes) * s.flash.page;
    let blocks = capacity.div_ceil(row).div_ceil(u64::from(s.flash.pages));
    // Zones take turns on groups of dies.
    let good = (f64::from(s.flash.blocks) * (1.0 - s.flash.wear.factory_bad)) as u64;
    let fit = |usable: u64| usable / blocks * u64::from(dies) / u64::from(width);
    let auto = s.ftl.over_provisioning.map_or(good, |spare| (good as f64 / (1.0 + spare)) as u64);
    let count = s.zones.count.map_or(fit(auto), u64::from);
    let keys = ["device.zones.count", SIZE, "device.zones.capacity", "flash.blocks"];
    let most = format!("1 to {}, of {blocks} blocks per plane each", fit(good));
    s.expect((1..=fit(good)).contains(&count), &keys, &most)?;
    s.user_bytes = count * size;
    Ok(true)
}

/// Checks that no mechanism of a page-mapped drive is configured.
fn excluded(s: &System) -> Result<(), SystemError> {
    let none = "none where device.namespace is \"zoned\": zones map to whole blocks";
    let caches = s.ftl.slc_cache.size > 0 || s.ftl.slc_cache.dynamic > 0;
    s.expect(!caches, &["ftl.slc_cache.size", "ftl.slc_cache.dynamic", KIND], none)?;
    s.expect(s.caches.read.size == 0, &["device.read_cache.size", KIND], none)?;
    s.expect(s.device.hmb.size == 0, &["device.hmb.size", KIND], none)?;
    s.expect(s.ftl.map_cache.size.is_none(), &["ftl.map_cache.size", KIND], none)?;
    s.expect(s.ftl.parity.is_none(), &["ftl.parity.stripe", KIND], none)?;
    s.expect(s.ftl.placement.isolation == Isolation::Off, &["ftl.placement.isolation", KIND], none)?;
    s.expect(s.flash.order == Order::InOrder, &["flash.order", KIND], "in-order where device.namespace is \"zoned\"")?;
    s.expect(s.caches.write.size > 0, &["device.write_cache.size", KIND], "a write cache for zones")
}
