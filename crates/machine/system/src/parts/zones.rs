//! Configuration of a drive with zones.

use ftl::config::ConfigError;
use media::Geometry;
use nand::PayloadKind;
use zones::ftl::ZonedFtlConfig;

use crate::System;
use ftl::section::WriteMode;

/// Mapping blocks of a plane that a conventional part may need beyond its capacity: for collection and the journal.
const SPARE_MAX: u32 = 64;
/// Part of the write cache's size that a conventional part has as a buffer of its own. Assumed: metadata of a file system
/// needs little.
const BUFFER_SHARE: u64 = 8;

/// Returns the configuration of the zones of `system`, if it has some.
pub(super) fn zones(system: &System, geometry: Geometry, payload: PayloadKind) -> Option<ZonedFtlConfig> {
    let (z, d, unit) = (&system.zones, &system.caches, system.ftl.unit);
    if !system.has_zones() {
        return None;
    }
    let size = z.size;
    let dies = z.dies.unwrap_or(geometry.all_dies());
    Some(ZonedFtlConfig {
        zones: zones::Config {
            zones: (system.user_bytes / size) as u32,
            size: size / unit,
            capacity: z.capacity.unwrap_or(size) / unit,
            open_max: z.open,
            active_max: z.active,
            append_max: None,
        },
        geometry,
        dies,
        write: (d.write.size / unit).min(u64::from(u32::MAX / 4)) as u32,
        write_back: d.write.mode == WriteMode::Back,
        protected: d.protected,
        finish_depth: z.finish_depth.unwrap_or(dies),
        times: z.times,
        tags: system.device.max_commands,
        moves: payload != PayloadKind::None,
    })
}

/// Returns the configuration of the conventional part behind the zones of `system`, if it has one: on as many blocks of
/// each plane as its capacity and its collection need. `page_mapped` returns the configuration for a geometry.
///
/// # Errors
/// If the flash is too small for it.
pub(super) fn conventional(
    system: &System,
    geometry: Geometry,
    page_mapped: impl Fn(&System, Geometry) -> ftl::config::Config,
) -> Result<Option<ftl::config::Config>, ConfigError> {
    let bytes = system.zones.conventional;
    if !system.has_zones() || bytes == 0 {
        return Ok(None);
    }
    let mut own = system.clone();
    own.user_bytes = bytes;
    own.caches.write.size = (system.caches.write.size / BUFFER_SHARE).max(2 * system.host.max_transfer);
    let row = u64::try_from(geometry.bytes()).expect("2^32 units of 64 KiB fit") / u64::from(geometry.blocks);
    let least = bytes.div_ceil(row).min(u64::from(geometry.blocks)) as u32;
    let mut fault = ConfigError("device.zones.conventional: the flash has no block for it".to_owned());
    for blocks in least..(least + SPARE_MAX).min(geometry.blocks) {
        let config = page_mapped(&own, Geometry { blocks, ..geometry });
        match config.check() {
            Ok(()) => return Ok(Some(config)),
            Err(error) => fault = error,
        }
    }
    Err(fault)
}
