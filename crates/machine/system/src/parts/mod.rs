//! Converts a system to the configurations of its parts.

mod both;
mod hybrid;
mod promise;
mod translation;
mod zones;

use ::zones::ftl::ZonedFtl;
use ftl::config as layer;
use ftl::{MountReport, SlcBlocks};
use media::Geometry;
use nand::{Nand, PayloadKind, Store};
use sim::Streams;

use crate::System;

pub use hybrid::{CONTROLLER, HybridConfig};
pub use promise::Promise;
pub use translation::Translation;

/// The configurations of a machine's parts.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Host, link and controller.
    pub host_interface: host_interface::Config,
    /// The flash translation layer, if the drive has no zones.
    pub ftl: layer::Config,
    /// The translation layer of zones, if the drive has some.
    pub zones: Option<::zones::ftl::ZonedFtlConfig>,
    /// The translation layer of a conventional part behind the zones, on the last blocks of every plane, if there is one.
    pub conventional: Option<layer::Config>,
    /// The drive's read-ahead.
    pub read_ahead: read_ahead::section::ReadAhead,
    /// The flash.
    pub nand: nand::Config,
    /// Capacity visible to the host in bytes, without a conventional part.
    pub user_bytes: u64,
}

impl Parts {
    /// Creates the configurations for `system`, with payload stored as `payload`.
    ///
    /// # Errors
    /// If the parts are incompatible.
    pub fn new(system: &System, payload: PayloadKind) -> Result<Parts, layer::ConfigError> {
        let geometry = system.geometry();
        let host_interface = host_interface(system);
        let lent = host_interface::hmb::lent(
            host_interface.host.hmb,
            host_interface.device.hmb.identify(),
            device::nvme::MEMORY_PAGE,
        );
        let ftl = translation(system, geometry, payload, lent);
        let page_mapped = |own: &System, geometry| translation(own, geometry, payload, 0);
        let conventional = zones::conventional(system, geometry, page_mapped)?;
        let own_blocks = conventional.as_ref().map_or(0, |part| part.geometry.blocks);
        let zoned = Geometry { blocks: geometry.blocks - own_blocks, ..geometry };
        let zones = zones::zones(system, zoned, payload);
        let buffers = match &zones {
            Some(zones) => {
                zones.check().map_err(|error| layer::ConfigError(error.0))?;
                ZonedFtl::buffers(zones) + conventional.as_ref().map_or(0, |part| ftl::buffer_count(part) as u32)
            }
            None => {
                ftl.check()?;
                ftl::buffer_count(&ftl) as u32
            }
        };
        let nand = flash(system, geometry, payload, if payload == PayloadKind::None { 0 } else { buffers });
        if let Some(fault) = nand.fault() {
            return Err(layer::ConfigError(fault));
        }
        let largest = system.host.max_transfer.div_ceil(system.ftl.unit) + 1;
        let room = zones.as_ref().map(|zones| u64::from(zones.write_max()) + 1);
        let room = room.unwrap_or(u64::from(ftl.buffers.write))
            + if ftl.buffers.shared { u64::from(ftl.buffers.read) } else { 0 };
        if room < largest {
            return Err(layer::ConfigError(format!(
                "device.write_cache.size holds {room} mapping units, expected at least {largest}: one command of \
                 host.max_transfer, unaligned"
            )));
        }
        Ok(Parts {
            host_interface,
            ftl,
            zones,
            conventional,
            read_ahead: system.read_ahead,
            nand,
            user_bytes: system.user_bytes,
        })
    }

    /// Returns the bytes of the conventional part behind the zones.
    pub fn conventional_bytes(&self) -> u64 {
        self.conventional.as_ref().map_or(0, |part| u64::from(part.user_units) * u64::from(part.geometry.unit_bytes))
    }

    /// Returns flash in its factory state.
    pub fn erased_store(&self, streams: &Streams) -> Store {
        Nand::new(&self.nand, streams).into_store()
    }

    /// Powers up the drive with the contents of `store`.
    ///
    /// # Errors
    /// If the translation layer does not support its configuration.
    pub fn mount(
        &self,
        store: Store,
        streams: &Streams,
    ) -> Result<(Nand, Translation, MountReport), layer::ConfigError> {
        let nand = Nand::with_store(&self.nand, streams, store);
        let (ftl, report) = Translation::mount(self, nand.store(), streams)?;
        Ok((nand, ftl, report))
    }
}

fn host_interface(system: &System) -> host_interface::Config {
    host_interface::Config {
        host: system.host.clone(),
        link: system.link.config().expect("a link with a driver and a controller"),
        device: system.device.clone(),
    }
}

/// Returns the mapping units of the transfer buffers of a drive without a write cache. Assumed: one program per plane,
/// so that all dies can be busy, and the largest command, unaligned.
fn transfer_units(system: &System, geometry: Geometry) -> u32 {
    let planes = u64::from(geometry.all_dies()) * u64::from(system.flash.planes);
    let units = planes * system.flash.page / system.ftl.unit + system.host.max_transfer.div_ceil(system.ftl.unit) + 1;
    units.min(u64::from(u32::MAX / 4)) as u32
}

fn translation(system: &System, geometry: Geometry, payload: PayloadKind, lent: u64) -> layer::Config {
    let (f, unit) = (&system.ftl, system.ftl.unit);
    let host_memory = &system.caches.host_memory;
    let blocks = SlcBlocks { fixed: system.slc_blocks, dynamic: system.dynamic_blocks, copies: system.copy_blocks };
    layer::Config {
        geometry,
        user_units: (system.user_bytes / unit).min(u64::from(u32::MAX)) as u32,
        group: f.group,
        stripe: f.stripe.0,
        multi_plane: f.multi_plane,
        collection: f.gc,
        wear: f.wear,
        map_cache: f.map_cache.frames(unit, host_memory),
        host_memory: host_memory.lent(lent, unit),
        buffers: system.caches.buffers(unit, transfer_units(system, geometry)),
        read_copies: system
            .caches
            .read_copies(unit)
            .map(|units| layer::ReadCopies { blocks: system.copy_blocks, units }),
        slc: f.slc_cache.blocks(blocks, system.flash.cell.bits(), unit),
        refresh: f.refresh,
        parity: f.parity,
        placement: f.placement.enabled(),
        tags: system.device.max_commands,
        moves: payload != PayloadKind::None,
    }
}

/// Returns the configuration of the flash, with `buffers` page buffers for payload.
pub fn flash(system: &System, geometry: Geometry, payload: PayloadKind, buffers: u32) -> nand::Config {
    let f = &system.flash;
    // Keys that do not apply have their defaults; without the decoder keys, encoding and decoding never delay.
    let coded = system.setting("flash.ecc.decoders").applies;
    nand::Config {
        geometry,
        span: system.span(),
        cell: f.cell,
        order: f.order,
        payload,
        buffers,
        timing: f.timing,
        scheduling: f.scheduling,
        wear: f.wear,
        errors: f.errors.modeled(),
        modes: system.dynamic_blocks > 0,
        ecc: nand::Ecc {
            decoders: f.ecc.decoders.filter(|_| coded),
            decode_bandwidth: f.ecc.decode_bandwidth.filter(|_| coded),
            encode_bandwidth: f.ecc.encode_bandwidth.filter(|_| coded),
            ..f.ecc
        },
        age_s: f.age_s,
        cycles: f.cycles,
        variation: f.variation,
        faults: f.faults,
        power: f.power,
    }
}
