//! Converts a system to the configurations of its parts.

mod both;
mod dram;
mod hybrid;
mod translation;
mod zones;

use ::zones::ftl::ZonedFtl;
use ftl::MountReport;
use ftl::config as layer;
use media::Geometry;
use nand::{Nand, Order, PayloadKind, Store};
use sim::{Streams, Time};

use crate as system;
use crate::System;

pub use dram::DramConfig;
pub use hybrid::{CONTROLLER, HybridConfig};
pub use translation::Translation;

/// The configurations of a machine's parts.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Host, link and controller.
    pub host_interface: host_interface::Config,
    /// The flash translation layer, if the drive has no zones.
    pub ftl: layer::Config,
    /// The translation layer of zones, if the drive has some.
    pub zones: Option<::zones::ftl::Config>,
    /// The translation layer of a conventional part behind the zones, on the last blocks of every plane, if there is one.
    pub conventional: Option<layer::Config>,
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
            u64::from(host_interface.device.host_page),
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
        Ok(Parts { host_interface, ftl, zones, conventional, nand, user_bytes: system.user_bytes })
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
        device: system.controller.clone(),
    }
}

/// Returns the controller's use of the `lent` bytes of host memory.
fn host_memory(system: &System, lent: u64, frame_units: u32) -> Option<layer::HostMemory> {
    if lent == 0 {
        return None;
    }
    let unit = system.ftl.unit as u32;
    let memory = layer::HostMemory { map_frames: 0, read: 0, write: 0, check: system.device.hmb.check as u32 };
    let shares = system.hmb_shares();
    let hold = |share: f64, bytes: u32| (share * lent as f64) as u64 / u64::from(memory.stored(bytes));
    let count = |n: u64| n.min(u64::from(u32::MAX / 16)) as u32;
    Some(layer::HostMemory {
        map_frames: count(hold(shares.map, unit) / u64::from(frame_units)),
        read: count(hold(shares.read, unit)),
        write: count(hold(shares.write, unit)),
        ..memory
    })
}

/// Returns the mapping units of the transfer buffers of a drive without a write cache. Assumed: one program per plane,
/// so that all dies can be busy, and the largest command, unaligned.
fn transfer_units(system: &System, geometry: Geometry) -> u32 {
    let planes = u64::from(geometry.all_dies()) * u64::from(system.flash.planes);
    let units = planes * system.flash.page / system.ftl.unit + system.host.max_transfer.div_ceil(system.ftl.unit) + 1;
    units.min(u64::from(u32::MAX / 4)) as u32
}

fn translation(system: &System, geometry: Geometry, payload: PayloadKind, lent: u64) -> layer::Config {
    use system::{device, ftl as s};
    let (f, d) = (&system.ftl, &system.device);
    let units = |bytes: u64| (bytes / f.unit).min(u64::from(u32::MAX / 4)) as u32;
    let frame_units = units(d.hmb.unit.unwrap_or(f.unit)).max(1);
    let cached = d.write_cache.size > 0;
    let write = if cached { units(d.write_cache.size) } else { transfer_units(system, geometry) };
    let part = |fraction: f64| (fraction * f64::from(write)) as u32;
    let axis = |a: &s::Axis| match a {
        s::Axis::Channel => layer::Axis::Channel,
        s::Axis::Way => layer::Axis::Way,
        s::Axis::Die => layer::Axis::Die,
        s::Axis::Plane => layer::Axis::Plane,
    };
    layer::Config {
        geometry,
        user_units: (system.user_bytes / f.unit).min(u64::from(u32::MAX)) as u32,
        group: match f.group {
            s::Group::Plane => layer::Group::Plane,
            s::Group::Die => layer::Group::Die,
            s::Group::Drive => layer::Group::Drive,
        },
        stripe: std::array::from_fn(|i| axis(&f.stripe.0[i])),
        multi_plane: f.multi_plane,
        collection: layer::Collection {
            policy: f.gc.policy,
            choices: f.gc.choices,
            quiet: f.gc.quiet,
            start: f.gc.start,
            separate: f.gc.streams,
            ahead: f.gc.ahead,
            idle: f.gc.idle,
            batch: f.gc.batch,
            copies: f.gc.copies,
            slack: f.gc.slack,
        },
        wear: layer::Wear { dynamic: f.wear_levelling.dynamic, static_threshold: f.wear_levelling.static_threshold },
        map_cache: f.map_cache.size.map(|bytes| layer::MapCache {
            frames: units(bytes).max(1),
            frame_units,
            updates: f.map_cache.updates,
            eviction: match d.hmb.eviction {
                device::Eviction::Lru => layer::Eviction::Lru,
                device::Eviction::Fifo => layer::Eviction::Fifo,
                device::Eviction::Clock => layer::Eviction::Clock,
            },
            entries: (f.map_cache.grain == s::MapGrain::Entry)
                .then(|| (bytes / f.map_cache.entry).min(u64::from(u32::MAX / 16)) as u32),
            warm: f.map_cache.start == s::MapStart::Warm,
        }),
        host_memory: host_memory(system, lent, frame_units),
        buffers: layer::Buffers {
            write,
            read: if system.copy_blocks > 0 { 0 } else { units(d.read_cache.size) },
            shared: system.shares_cache() && cached,
            write_back: d.write_cache.mode == device::WriteMode::Back && cached,
            protected: d.power_loss_protection && cached,
            high: part(d.write_cache.high),
            low: part(d.write_cache.low),
            resume: part(d.write_cache.resume),
            gather: part(d.write_cache.gather),
            holds_reads: d.write_cache.holds_reads,
            idle: d.write_cache.idle.unwrap_or(Time::MAX),
        },
        read_copies: (system.copy_blocks > 0)
            .then(|| layer::ReadCopies { blocks: system.copy_blocks, units: units(d.read_cache.size) }),
        slc: slc_cache(system),
        refresh: layer::Refresh {
            reads: f.refresh.reads,
            age_s: f.refresh.age.map(|seconds| seconds as u32),
            drive_age_s: system.flash.age.min(u64::from(u32::MAX)) as u32,
        },
        parity: f.parity.stripe,
        placement: placement(f),
        tags: system.controller.max_commands,
        moves: payload != PayloadKind::None,
    }
}

fn placement(f: &system::ftl::Ftl) -> Option<layer::Placement> {
    use system::ftl::Isolation;
    let isolation = match f.placement.isolation {
        Isolation::Off => return None,
        Isolation::Initial => layer::Isolation::Initial,
        Isolation::Persistent => layer::Isolation::Persistent,
    };
    Some(layer::Placement { handles: f.placement.handles, isolation })
}

fn slc_cache(system: &System) -> Option<layer::SlcCache> {
    let blocks = system.slc_blocks + system.copy_blocks;
    let cache = &system.ftl.slc_cache;
    (blocks + system.dynamic_blocks > 0).then(|| layer::SlcCache {
        blocks,
        bits: system.flash.cell.bits(),
        fold: cache.fold,
        keep: (cache.keep * f64::from(system.slc_blocks + system.dynamic_blocks)) as u32,
        dynamic: system.dynamic_blocks,
        batch: u32::try_from(cache.batch.div_ceil(system.ftl.unit)).unwrap_or(u32::MAX),
        copies: cache.copies,
    })
}

/// Returns the configuration of the flash, with `buffers` page buffers for payload.
pub fn flash(system: &System, geometry: Geometry, payload: PayloadKind, buffers: u32) -> nand::Config {
    use system::flash as s;
    let f = &system.flash;
    // Keys that do not apply have their defaults; without the decoder keys, encoding and decoding never delay.
    let ecc = system.setting("flash.ecc.decoders").applies;
    let errors = (f.errors.model == s::ErrorModel::PowerLaw).then(|| nand::Errors {
        base: f.errors.base,
        reference_cycles: f64::from(f.errors.reference),
        wear: f.errors.wear,
        wear_exponent: f.errors.wear_exponent,
        retention: f.errors.retention,
        retention_exponent: f.errors.retention_exponent,
        disturb: f.errors.disturb,
        disturb_exponent: f.errors.disturb_exponent,
        slc_factor: f.errors.slc_factor,
    });
    nand::Config {
        geometry,
        cell: match f.cell {
            s::Cell::Slc => nand::Cell::Slc,
            s::Cell::Mlc => nand::Cell::Mlc,
            s::Cell::Tlc => nand::Cell::Tlc,
            s::Cell::Qlc => nand::Cell::Qlc,
        },
        order: match f.order {
            s::Order::InOrder => Order::InOrder,
            s::Order::Any => Order::Any,
        },
        payload,
        buffers,
        timing: nand::Timing {
            read: f.read,
            program: f.program,
            erase: f.erase,
            slc_read: f.slc_read,
            slc_program: f.slc_program,
            slc_erase: f.slc_erase,
            transfers_per_s: f.rate,
            read_command: f.command.read,
            program_command: f.command.program,
            erase_command: f.command.erase,
        },
        scheduling: nand::Scheduling {
            policy: match f.scheduling {
                s::Scheduling::ReadsFirst => nand::Policy::ReadsFirst,
                s::Scheduling::Fifo => nand::Policy::Fifo,
            },
            overtakes_max: f.overtakes,
            cache_read: f.cache_read,
            cache_program: f.cache_program,
            independent_reads: f.independent_reads,
            reuse_page: match f.reuse_page {
                s::Reuse::Never => nand::Reuse::Never,
                s::Reuse::Queued => nand::Reuse::Queued,
                s::Reuse::Held => nand::Reuse::Held,
            },
            commands_first: f.commands_first,
            program_suspend: f.suspend.program,
            erase_suspend: f.suspend.erase,
            suspend_latency: f.suspend.latency,
            resume_overhead: f.suspend.resume,
            suspensions_max: f.suspend.max,
            programs_max: f.concurrent_programs,
        },
        wear: nand::Wear {
            endurance: f.endurance.mean.map(|mean| nand::Endurance {
                spread: match f.endurance.spread {
                    s::Spread::Normal => nand::Spread::Normal,
                    s::Spread::LogNormal => nand::Spread::LogNormal,
                },
                mean: f64::from(mean),
                deviation: f.endurance.deviation * f64::from(mean),
                slc_factor: f.endurance.slc_factor,
            }),
            factory_bad: f.bad_blocks,
            program_failure: f.failures.program,
            erase_failure: f.failures.erase,
            modes: system.dynamic_blocks > 0,
        },
        errors,
        ecc: nand::Ecc {
            codeword_bytes: f.ecc.codeword as u32,
            correctable_bits: f.ecc.correctable,
            decode: f.ecc.decode,
            decoders: f.ecc.decoders.filter(|_| ecc),
            decode_bandwidth: f.ecc.decode_bandwidth.filter(|_| ecc),
            encode_bandwidth: f.ecc.encode_bandwidth.filter(|_| ecc),
            retries_max: f.ecc.retries as u8,
            retry_factor: f.ecc.retry_factor,
            retry_floor: f.ecc.retry_floor,
        },
        age_s: f.age as u32,
        cycles: f.cycles,
        variation: nand::Variation {
            dies: f.variation.dies,
            blocks: f.variation.blocks,
            word_lines: f.variation.word_lines,
            bad_blocks: f.variation.bad_blocks,
        },
        faults: nand::Faults {
            read: f.failures.read,
            program: 0.0,
            erase: 0.0,
            die: f.failures.die.map(|die| die as u16),
        },
        power: nand::Power {
            read_uw: f.power.read,
            program_uw: f.power.program,
            erase_uw: f.power.erase,
            transfer_uw: f.power.transfer,
            transfer_pj_per_byte: f.power.transfer_energy,
            standby_uw: f.power.standby,
        },
    }
}
