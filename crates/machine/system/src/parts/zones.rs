//! Configuration of a drive with zones.

use media::Geometry;
use nand::PayloadKind;
use zones::ftl::{Config, Times};

use crate::System;
use crate::sections::device::WriteMode;

/// Returns the configuration of the zones of `system`, if it has some.
pub(super) fn zones(system: &System, geometry: Geometry, payload: PayloadKind) -> Option<Config> {
    let (z, d, unit) = (&system.device.zones, &system.device, system.ftl.unit);
    if !system.has_zones() {
        return None;
    }
    let size = z.size;
    let dies = z.dies.unwrap_or(geometry.all_dies());
    Some(Config {
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
        write: (d.write_cache.size / unit).min(u64::from(u32::MAX / 4)) as u32,
        write_back: d.write_cache.mode == WriteMode::Back,
        protected: d.power_loss_protection,
        finish_depth: z.finish_depth.unwrap_or(dies),
        times: Times {
            open: z.open_time,
            finish: z.finish_time,
            reset: z.reset_time,
            reset_written: z.reset_written,
            reset_active: z.reset_active,
            yields: z.yields,
        },
        tags: d.max_commands,
        moves: payload != PayloadKind::None,
    })
}
