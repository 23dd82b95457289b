//! Zones that are full before a run. A zone that a job writes stays empty: it can be written once, from its start.

use std::ops::Range;
use std::sync::Arc;

use ftl::config::ConfigError;
use nand::Store;
use sim::Streams;
use system::parts::Parts;
use workload::DriveZones;
use zones::ZoneState;
use zones::ftl::{LaidZones, ZonedFtl, ZonedFtlConfig};

use super::{Preparation, PrepareError, Prepared, usable};

/// Returns the zones of `config` as jobs see them.
pub(crate) fn shape(config: &ZonedFtlConfig) -> DriveZones {
    let unit = u64::from(config.geometry.unit_bytes);
    let zones::Config { size, capacity, open_max, active_max, .. } = config.zones;
    // Open zones are active. Linux has the same limit.
    let open = open_max.into_iter().chain(active_max).min();
    DriveZones { size: size * unit, capacity: capacity * unit, open }
}

/// Returns the bytes of a zone before its write pointer.
pub(crate) fn written(layer: &ZonedFtl, zone: u32) -> u64 {
    let zones = layer.zones();
    let full = zones.state(zone) == ZoneState::Full;
    let units = if full { zones.config().capacity } else { zones.written(zone) };
    units * u64::from(layer.unit_bytes())
}

/// Lays out all zones of `config` as full, but for those that overlap `written`, in bytes. Returns an erased drive if none is
/// left. A conventional part stays empty.
///
/// # Errors
/// If the zones do not fit the good blocks.
pub(crate) fn fill(
    parts: &Parts,
    config: &ZonedFtlConfig,
    written: &[Range<u64>],
    streams: &Streams,
) -> Result<(Store, Prepared), PrepareError> {
    let mut store = parts.erased_store(streams);
    let bytes = config.zones.size * u64::from(config.geometry.unit_bytes);
    let is_full = |zone: u32| {
        let (start, end) = (u64::from(zone) * bytes, (u64::from(zone) + 1) * bytes);
        written.iter().all(|range| range.end <= start || range.start >= end)
    };
    let rule = LaidZones::new(config, is_full, usable(&store)).map_err(|error| ConfigError(error.0))?;
    if rule.zones() == 0 {
        return Ok((store, Prepared::new(Preparation::Erased)));
    }
    store.lay_out(Arc::new(rule));
    Ok((store, Prepared::new(Preparation::Filled)))
}
