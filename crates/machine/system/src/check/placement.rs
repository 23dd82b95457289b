//! Flexible Data Placement: checks that writes can name a handle, and that their data goes to its blocks.

use crate::LinkType;
use crate::System;
use crate::error::SystemError;
use ftl::section::{Isolation, ReadPlace};

const ISOLATION: &str = "ftl.placement.isolation";

/// Checks that commands carry placement identifiers, and that no cache in flash or in host memory takes written data
/// first.
pub(super) fn check(s: &System) -> Result<(), SystemError> {
    if s.ftl.placement.isolation == Isolation::Off {
        return Ok(());
    }
    let off = "off where link.type is not \"pcie\": only NVMe commands carry placement identifiers";
    s.expect(s.link.kind == LinkType::Pcie, &[ISOLATION, "link.type"], off)?;
    let slc = s.ftl.slc_cache.size > 0 || s.ftl.slc_cache.dynamic > 0;
    let off = "off where an SLC cache takes host data first, which would mix the data of handles";
    s.expect(!slc, &[ISOLATION, "ftl.slc_cache.size", "ftl.slc_cache.dynamic"], off)?;
    let copies = s.caches.read.place == ReadPlace::Slc && s.caches.read.size > 0;
    let off = "off where the read cache has blocks in SLC mode";
    s.expect(!copies, &[ISOLATION, "device.read_cache.place", "device.read_cache.size"], off)?;
    let away = s.device.hmb.size > 0 && s.caches.host_memory.shares().write > 0.0;
    s.expect(!away, &[ISOLATION, "device.hmb.use"], "off where written data waits in host memory")
}
