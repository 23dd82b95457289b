//! Converts a system to the configurations of its parts.

mod both;
mod hybrid;
mod translation;
mod zones;

use ::zones::ftl::ZonedFtl;
use ftl::MountReport;
use ftl::config as layer;
use ftl::section::SlcBlocks;
use media::Geometry;
use nand::{Nand, PayloadKind, Store};
use sim::Streams;

use crate as system;
use crate::System;

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
        placement: f.placement.handles(),
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
