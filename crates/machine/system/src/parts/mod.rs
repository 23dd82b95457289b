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
            host_interface.device.hmb,
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
    use system::{device, host as h, link as l};
    let (s, d) = (&system.host, &system.device);
    let completion = match s.completion {
        h::Completion::Interrupt => {
            host::Completion::Interrupt { delivery: s.interrupt.delivery, handler: s.interrupt.handler }
        }
        h::Completion::Polling => host::Completion::Polling { delay: s.poll },
    };
    let link = match system.link.kind {
        l::LinkType::Pcie => link::Config::Pcie(link::PcieConfig {
            generation: system.link.generation as u8,
            lanes: system.link.lanes as u8,
            bandwidth: system.link.bandwidth,
            max_payload: system.link.max_payload as u32,
            max_read_request: system.link.max_read_request as u32,
            read_completion_boundary: system.link.read_completion_boundary.unwrap_or(system.link.max_payload) as u32,
            dllp: system.link.dllp as u32,
            latency: system.link.latency,
            host_memory: s.memory_latency,
        }),
        l::LinkType::Sata => link::Config::Sata(link::SataConfig {
            generation: system.link.generation as u8,
            data_fis: system.link.data_fis as u32,
            auto_activate: system.link.auto_activate,
            handshake: system.link.handshake,
        }),
        l::LinkType::SharedBuffer => link::Config::SharedBuffer(link::SharedBufferConfig {
            data_buffer: system.link.data_buffer,
            memory: system.link.memory.word().to_owned(),
            shared: system.link.channel == l::Channel::Shared,
            traffic: s.mover.traffic,
        }),
        l::LinkType::Ufs => link::Config::Ufs(link::UfsConfig {
            gear: system.link.gear as u8,
            series: match system.link.series {
                l::Series::A => link::ufs::Series::A,
                l::Series::B => link::ufs::Series::B,
            },
            lanes: system.link.lanes as u8,
            latency: system.link.latency,
            credits: system.link.credits as u32,
            frames_per_afc: system.link.frames_per_afc,
        }),
        l::LinkType::OneNand => unreachable!("a OneNAND has no driver: crate::paging"),
        l::LinkType::None => unreachable!("a machine without storage has no host interface"),
        l::LinkType::Ddr => link::Config::Ddr(link::DdrConfig {
            transfers_per_s: system.link.rate,
            width: system.link.width as u32,
            burst_length: system.link.burst_length,
            cas_latency: system.link.cas_latency,
            fixed_latency: (system.link.strobe == l::Strobe::Fixed).then_some(system.link.fixed_latency),
            held: system.link.waiting == l::Waiting::Held,
            timeout: system.link.timeout,
        }),
    };
    let chipset = (s.chipset == h::Chipset::Bridges).then_some(host::Chipset {
        front_side_bus: s.fsb.latency,
        dmi_bandwidth: s.dmi.bandwidth,
        dmi_latency: s.dmi.latency,
        memory: host::MemoryConfig {
            bandwidth: s.memory.bandwidth,
            latency: s.memory.latency,
            refresh_interval: s.memory.refresh_interval,
            refresh: s.memory.refresh,
        },
        dma: host::DmaConfig {
            region: s.ahci.region,
            entries: s.dma.entries,
            read_ahead: s.dma.read_ahead,
            buffer: s.dma.buffer,
        },
    });
    let arbitration = match d.arbitration {
        device::Arbitration::RoundRobin => ::device::Arbitration::RoundRobin,
        device::Arbitration::WeightedRoundRobin => ::device::Arbitration::WeightedRoundRobin {
            high: d.weights.high,
            medium: d.weights.medium,
            low: d.weights.low,
        },
    };
    let priority = |p: &h::QueuePriority| match p {
        h::QueuePriority::Urgent => ::device::Priority::Urgent,
        h::QueuePriority::High => ::device::Priority::High,
        h::QueuePriority::Medium => ::device::Priority::Medium,
        h::QueuePriority::Low => ::device::Priority::Low,
    };
    let coalescing = (d.coalescing.threshold > 1)
        .then_some(::device::Coalescing { threshold: d.coalescing.threshold, time: d.coalescing.time });
    host_interface::Config {
        host: host::Config {
            cores: s.cores,
            queue_pairs: s.queue_pairs.unwrap_or(s.cores),
            queue_depth: s.queue_depth,
            submit: s.submit,
            complete: s.complete,
            completion,
            max_transfer: s.max_transfer,
            hmb: host::HmbConfig { limit: s.hmb.limit, contiguous: s.hmb.contiguous },
            ahci: host::AhciConfig {
                register_write: s.ahci.register_write,
                command_fetch: s.ahci.command_fetch,
                region_fetch: s.ahci.region_fetch,
                region: s.ahci.region,
                queued_trim: s.ahci.queued_trim,
            },
            shared_buffer: mover(system),
            ufshci: host::UfshciConfig {
                register_write: s.ufshci.register_write,
                memory_latency: s.ufshci.memory_latency,
                dma: s.ufshci.dma,
                region: s.ufshci.region,
                aggregation: (s.ufshci.aggregation > 1)
                    .then_some(host::Aggregation { threshold: s.ufshci.aggregation, time: s.ufshci.aggregation_time }),
                invalidation_512kib: s.ufshci.invalidation,
            },
            chipset,
        },
        link,
        device: ::device::Config {
            max_commands: d.max_commands,
            fetch_burst: d.fetch_burst,
            arbitration,
            arbitration_burst: d.arbitration_burst,
            priorities: s.queue_priority.iter().map(priority).collect(),
            coalescing,
            host_page: s.page as u32,
            hmb: hmb(d),
            firmware: ::device::Firmware {
                cores: d.firmware.cores,
                read: d.firmware.read,
                write: d.firmware.write,
                trim: d.firmware.trim,
                trim_gib: d.firmware.trim_gib,
                flush: d.firmware.flush,
                append: d.firmware.append,
                zone: d.firmware.zone,
                complete: d.firmware.complete,
            },
            handling: handling(system),
            dram_bandwidth: d.dram_bandwidth,
            bypass_flash: d.bypass_flash,
            shared_buffer: emulated(system),
            utp: ::device::Utp { segment: d.utp.segment as u32, ready_to_transfers: d.utp.ready_to_transfers },
            single_buffer: d.buffering == device::Buffering::Single,
        },
    }
}

/// Returns the costs of commands other than processor time.
fn handling(system: &System) -> ::device::Handling {
    let (firmware, staging) = (&system.device.firmware, &system.device.staging);
    let w = &firmware.wait;
    ::device::Handling {
        unit: system.ftl.unit,
        waits: ::device::Waits {
            read: w.read,
            write: w.write,
            trim: w.trim,
            flush: w.flush,
            append: w.append,
            split: w.split,
            unit: w.unit,
        },
        staging_read: staging.read,
        staging_write: staging.write,
        jump: firmware.jump,
    }
}

/// Returns the controller's Host Memory Buffer fields of Identify.
fn hmb(d: &system::device::Device) -> ::device::hmb::Identify {
    let h = &d.hmb;
    let units = |bytes: u64| (bytes / ::device::hmb::UNIT).min(u64::from(u32::MAX)) as u32;
    if h.size == 0 {
        return ::device::hmb::Identify::default();
    }
    ::device::hmb::Identify {
        hmpre: units(h.size),
        hmmin: units(h.minimum),
        hmminds: units(h.min_descriptor),
        hmmaxd: h.max_descriptors.unwrap_or(0) as u16,
    }
}

/// Returns the configuration of the driver and data mover of a shared buffer.
fn mover(system: &System) -> host::SharedBufferConfig {
    let m = &system.host.mover;
    let dma = host::shared_buffer::DmaConfig {
        bandwidth: m.bandwidth,
        piece: m.piece,
        run: system.link.interleave.unwrap_or(u64::MAX),
        setup: m.setup,
        descriptor: m.descriptor,
        delivery: m.delivery,
        handler: m.handler,
    };
    host::SharedBufferConfig {
        transfer: match m.transfer {
            system::host::Transfer::Dma => host::shared_buffer::Transfer::Dma(dma),
            system::host::Transfer::Copy => host::shared_buffer::Transfer::Copy { word: m.word as u32 },
        },
        uncached: m.uncached,
        invalidation_512kib: m.invalidation,
        extents: m.extents as u8,
        shrink: m.shrink.map(|bytes| (bytes / media::SECTOR) as u32),
        boot: system.device.emulated.boot.unwrap_or(0),
    }
}

/// Returns the configuration of the controller behind a shared buffer.
fn emulated(system: &System) -> ::device::SharedBufferConfig {
    let (e, p) = (&system.device.emulated, &system.device.power);
    // The device that the buffer looks like to the host.
    let dram = system.link.memory.device();
    ::device::SharedBufferConfig {
        buffer: ::device::EmulatedDramConfig {
            banks: e.banks,
            line: dram.burst_bytes(),
            burst: dram.clock.time(u64::from(dram.burst_clocks())),
            bandwidth: e.clock * e.width,
            dram_banks: dram.banks(),
            row: dram.row_bytes,
        },
        clock: e.clock,
        cycles: ::device::Cycles {
            fetch: u64::from(e.fetch),
            complete: u64::from(e.complete),
            command: u64::from(e.command),
            unit: u64::from(e.unit),
            page: u64::from(e.page),
        },
        unit: system.ftl.unit as u32,
        page: system.flash.page as u32,
        power: ::device::ControllerPower {
            always_uw: p.always,
            core_uw: p.core,
            interface_pj: p.interface_energy,
            buffer_pj: p.buffer_energy,
            decode_pj: p.decode_energy,
            encode_pj: p.encode_energy,
        },
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
        tags: d.max_commands,
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
