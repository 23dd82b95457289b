//! A drive as a PCI function: controller, translation layer and flash as one machine, stepped by its owner.

use device::nvme::MEMORY_PAGE;
use ftl::config::HostMemory;
use host_interface::external::External;
use host_interface::shared_buffer::emulated_dram;
use nand::{PayloadKind, Store};
use sim::{Schedule, Streams, Time};
use storage::prepare::{Preparation, prepare};
use storage::{Machine, Mirror, PlacementBytes};
use system::System;
use system::parts::Parts;

use crate::bus::{self, Bus, BusConfig};
use crate::controller::{
    Controller, ControllerConfig, Health, Identity, NamespaceConfig, PlacementConfig, PlacementState, QUEUES,
    REGISTERS_END,
};
use crate::error::DriveError;
use crate::front::{Front, Need};
use crate::lent::{Layout, LentStatistics};
use crate::memory::GuestMemory;
use crate::msix::{Message, Msix};
use crate::pci::{self, BAR_BYTES};

/// Options of a drive.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of every random stream.
    pub seed: u64,
    /// State of the flash at the start.
    pub preparation: Preparation,
    /// The namespaces; empty for one namespace of the whole capacity with blocks of 512 bytes.
    pub namespaces: Vec<NamespaceConfig>,
    /// Model and serial number; `None` for the system's title.
    pub identity: Option<Identity>,
    /// The function's own MSI-X table is in use, and interrupts are [`Drive::take_messages`]. Otherwise a monitor keeps
    /// the table, and interrupts are [`Drive::take_interrupts`].
    pub messages: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { seed: 1, preparation: Preparation::Erased, namespaces: Vec::new(), identity: None, messages: false }
    }
}

/// Saves the controller's state: a text of at most 4,000 bytes.
pub type SaveState = Box<dyn FnMut(&str) + Send>;

/// Looks at a drive at an instant.
pub type Inspect = Box<dyn FnMut(&Drive, Time) + Send>;

/// Flash that outlives the drive, such as in a file.
pub struct Flash {
    /// The contents.
    pub store: Store,
    /// A copy that follows every change.
    pub mirror: Option<Box<dyn Mirror>>,
    /// The controller's saved state; `None` or empty for a new drive.
    pub state: Option<String>,
    /// Receives the controller's state when it changes.
    pub save: Option<SaveState>,
}

/// A drive at its registers. Every call that takes a time first handles all events up to it; times must not decrease.
pub struct Drive {
    machine: Machine,
    parts: Parts,
    streams: Streams,
    config: pci::ConfigSpace,
    msix: Msix,
    sends_messages: bool,
    /// Bytes of host memory for which the translation layer is configured.
    host_memory: Option<(u64, HostMemory)>,
    /// Usable blocks of the new drive beyond those that its capacity needs.
    spare_blocks: u64,
    raised: Vec<u16>,
    messages: Vec<Message>,
    completions: Vec<storage::Completion>,
    save: Option<SaveState>,
    /// Instants at which `inspect` is called, the next one last.
    instants: Vec<Time>,
    inspect: Option<Inspect>,
}

impl Drive {
    /// Creates the drive that `system` describes, for a guest with `memory`.
    ///
    /// # Errors
    /// Fails if the system's link is neither PCI Express nor a shared buffer, its parts do not fit together, or a
    /// namespace is impossible.
    pub fn new(system: &System, options: &Options, memory: Box<dyn GuestMemory>) -> Result<Drive, DriveError> {
        let keep_none = |_: &Parts, store| Ok::<_, DriveError>(Flash { store, mirror: None, state: None, save: None });
        Drive::with_flash(system, options, memory, keep_none)
    }

    /// Returns the parts of `system` and its fresh flash.
    ///
    /// # Errors
    /// Fails like [`new`](Self::new).
    pub fn parts_and_flash(system: &System, options: &Options) -> Result<(Parts, Store), DriveError> {
        if options.preparation != Preparation::Erased {
            return Err(DriveError::Preparation(options.preparation));
        }
        let parts = parts(system)?;
        let (store, _) = prepare(system, &parts, options.preparation, &Streams::new(options.seed), None)?;
        Ok((parts, store))
    }

    /// Creates the drive that `system` describes over the flash that `flash` returns. It is called with the parts and
    /// the fresh flash.
    ///
    /// # Errors
    /// Fails like [`new`](Self::new), or with the error of `flash`.
    pub fn with_flash<E: From<DriveError>>(
        system: &System,
        options: &Options,
        memory: Box<dyn GuestMemory>,
        flash: impl FnOnce(&Parts, Store) -> Result<Flash, E>,
    ) -> Result<Drive, E> {
        let (parts, store) = Drive::parts_and_flash(system, options)?;
        let (function, controller) = front_end(system, options, &parts, memory)?;
        let flash = flash(&parts, store)?;
        Ok(Drive::over(system, options, (parts, function), controller, flash)?)
    }

    fn over(
        system: &System,
        options: &Options,
        (parts, function): (Parts, pci::Function),
        mut controller: Box<dyn Front>,
        flash: Flash,
    ) -> Result<Drive, DriveError> {
        let streams = Streams::new(options.seed);
        let (nand, ftl, _) = parts.mount(flash.store, &streams)?;
        let host_memory = parts.ftl.host_memory.map(|memory| (system.device.hmb.size, memory));
        if let Some(state) = flash.state.as_deref().filter(|state| !state.is_empty()) {
            controller.restore_state(state)?;
        }
        let mut machine = Machine::for_external_host(&parts, controller, ftl, nand);
        if let Some(mirror) = flash.mirror {
            machine.keep_mirror(mirror);
        }
        let mut drive = Drive {
            machine,
            parts,
            streams,
            config: pci::ConfigSpace::new(function),
            msix: Msix::new(),
            sends_messages: options.messages,
            host_memory,
            spare_blocks: 0,
            raised: Vec::new(),
            messages: Vec::new(),
            completions: Vec::new(),
            save: flash.save,
            instants: Vec::new(),
            inspect: None,
        };
        drive.spare_blocks = drive.spare().max(1);
        drive.save_state();
        Ok(drive)
    }

    /// Returns fresh flash like that of which the drive was made.
    pub fn fresh_store(&self) -> Store {
        self.parts.erased_store(&self.streams)
    }

    /// Returns the controller's state that outlives a power cut.
    pub fn state_text(&self) -> String {
        front(self.machine.external()).state(self.placement_bytes())
    }

    /// Saves the controller's state, if the drive was created [with flash](Self::with_flash) that outlives it.
    pub fn save_state(&mut self) {
        let text = self.state_text();
        if let Some(save) = &mut self.save {
            save(&text);
        }
    }

    /// Returns the machine, for its counters.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Returns the counts of map entries in the Host Memory Buffer, or `None` for a drive that does not use one.
    pub fn lent_statistics(&self) -> Option<LentStatistics> {
        front(self.machine.external()).lent_statistics()
    }

    /// Returns the time of the next event, or `None` while the drive waits for its host.
    pub fn next_event(&self) -> Option<Time> {
        self.machine.next_event()
    }

    /// Handles all events up to `until`.
    pub fn advance(&mut self, until: Time) {
        while let Some(at) = self.instants.pop_if(|at| *at <= until) {
            self.run(at);
            if let Some(mut inspect) = self.inspect.take() {
                inspect(self, at);
                self.inspect = Some(inspect);
            }
        }
        self.run(until);
    }

    /// Calls `inspect` at each of `instants`, after the events up to it and before any later one. The drive's host may
    /// be ahead by then, but cannot have seen anything of a later event.
    pub fn inspect_at(&mut self, mut instants: Vec<Time>, inspect: Inspect) {
        instants.sort_unstable_by(|a, b| b.cmp(a));
        (self.instants, self.inspect) = (instants, Some(inspect));
    }

    fn run(&mut self, until: Time) {
        while self.machine.advance(until, &mut self.completions) {
            self.completions.clear();
            self.serve_needs(self.machine.now());
        }
    }

    /// Reads BAR 0 at `now`.
    pub fn read(&mut self, now: Time, offset: u64, to: &mut [u8]) {
        self.advance(now);
        match offset {
            ..REGISTERS_END => self.front(now, |front, _| front.read_registers(offset, to)),
            pci::TABLE..pci::PENDING => self.msix.read_table(offset - pci::TABLE, to),
            pci::PENDING..BAR_BYTES => self.msix.read_pending(offset - pci::PENDING, to),
            _ => to.fill(0xff),
        }
    }

    /// Writes BAR 0 at `now`.
    pub fn write(&mut self, now: Time, offset: u64, from: &[u8]) {
        self.advance(now);
        match offset {
            ..REGISTERS_END => {
                self.front(now, |front, s| front.write_registers(now, offset, from, s));
                self.serve_needs(now);
            }
            pci::TABLE..pci::PENDING => {
                let due = self.msix.write_table(offset - pci::TABLE, from);
                self.messages.extend(due);
            }
            _ => {}
        }
    }

    /// Reads configuration space.
    pub fn read_config(&self, offset: u64, to: &mut [u8]) {
        self.config.read(offset, to);
    }

    /// Writes configuration space.
    pub fn write_config(&mut self, offset: u64, from: &[u8]) {
        self.config.write(offset, from);
        let (enabled, masked) = self.config.msix();
        let due = self.msix.control(enabled, masked);
        self.messages.extend(due);
    }

    /// Returns the vectors raised since the last call, in order, unless [`Options::messages`] is set.
    pub fn take_interrupts(&mut self) -> Vec<u16> {
        std::mem::take(&mut self.raised)
    }

    /// Returns the interrupt messages due since the last call, in order, if [`Options::messages`] is set.
    pub fn take_messages(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.messages)
    }

    /// Performs a function-level reset at `now`.
    pub fn reset_function(&mut self, now: Time) {
        self.advance(now);
        self.reset(now);
        self.front(now, |front, _| front.clear());
        self.config.reset();
        self.msix = Msix::new();
        self.raised.clear();
        self.messages.clear();
    }

    /// Cuts the drive's power at `now` and restores it. What was not flushed may be lost.
    ///
    /// # Errors
    /// Never fails for the parts that the drive was made of.
    pub fn power_cut(&mut self, now: Time) -> Result<storage::PowerCut, DriveError> {
        self.advance(now);
        let cut = self.machine.power_cut(&self.parts, &self.streams)?;
        self.front(self.machine.now(), |front, _| front.mounted(cut.bytes));
        self.config.reset();
        self.msix = Msix::new();
        self.raised.clear();
        self.messages.clear();
        Ok(cut)
    }

    /// Lets a drive that is protected against power cuts write its buffers to flash. Its host is gone by then.
    pub fn run_out(&mut self) {
        self.machine.run_out(&self.parts);
    }

    /// Returns true if the drive's namespace is zoned.
    pub fn has_zones(&self) -> bool {
        self.parts.zones.is_some()
    }

    /// Returns the bytes that hosts can address.
    pub(crate) fn capacity(&self) -> u64 {
        self.parts.user_bytes + self.parts.conventional_bytes()
    }

    /// Returns the bytes of a mapping unit.
    pub(crate) fn unit_bytes(&self) -> u32 {
        self.parts.nand.geometry.unit_bytes
    }

    /// Returns the kind of PCI function.
    pub fn function(&self) -> pci::Function {
        self.config.function()
    }

    /// Lets `act` use the front end at `now`.
    pub(crate) fn front<R>(
        &mut self,
        now: Time,
        act: impl FnOnce(&mut dyn Front, &mut dyn Schedule<host_interface::Event>) -> R,
    ) -> R {
        self.machine.host_acts(now, |interface: &mut dyn External, s| act(front_mut(interface), s))
    }

    /// Lets `act` use the NVMe controller at `now`.
    ///
    /// # Panics
    /// Panics if the drive has another front end.
    pub(crate) fn controller<R>(
        &mut self,
        now: Time,
        act: impl FnOnce(&mut Controller, &mut dyn Schedule<host_interface::Event>) -> R,
    ) -> R {
        self.machine.host_acts(now, |interface: &mut dyn External, s| {
            let interface: &mut dyn std::any::Any = interface;
            act(interface.downcast_mut().expect("an NVMe controller"), s)
        })
    }

    /// Does what the controller needs from the machine around it.
    fn serve_needs(&mut self, now: Time) {
        for need in self.front(now, |front, _| front.take_needs()) {
            match need {
                Need::Reset => {
                    self.reset(now);
                    // The reset dropped whatever else was needed.
                    return;
                }
                Need::Health(tag) => {
                    let health = self.health();
                    self.controller(now, |controller, s| controller.health(now, tag, &health, s));
                }
                Need::Zones(tag) => self.zones(now, tag),
                Need::Placement(tag) => {
                    let state = self.placement_state();
                    self.controller(now, |controller, s| controller.placement_state(now, tag, &state, s));
                }
                Need::UpdateHandles { tag, handles } => {
                    let named = (0..u16::BITS as u8).filter(|handle| handles >> handle & 1 == 1);
                    let unwritten: Vec<(u8, u64)> =
                        named.map(|handle| (handle, self.machine.update_reclaim_unit_handle(now, handle))).collect();
                    self.controller(now, |controller, s| controller.handles_updated(now, tag, &unwritten, s));
                }
                Need::LoseHostMemory(tag) => {
                    let (_, time) = self.machine.lose_host_memory(now);
                    self.controller(now, |controller, s| controller.host_memory_lost(now + time, tag, s));
                }
                Need::LendHostMemory(bytes) => self.lend(bytes),
                Need::SaveState => self.save_state(),
                Need::ReleaseHeld => self.controller(now, |controller, s| controller.release_held(now, s)),
                Need::Interrupt => {
                    let raised = self.front(now, |front, _| front.take_interrupts());
                    if self.sends_messages {
                        self.messages.extend(raised.into_iter().filter_map(|vector| self.msix.raise(vector)));
                    } else {
                        self.raised.extend(raised);
                    }
                }
            }
        }
    }

    fn reset(&mut self, now: Time) {
        self.front(now, |front, _| front.disable_host_memory());
        let recovery = self.machine.drop_commands(now);
        self.front(now, |front, s| front.reset(now, recovery, s));
        self.raised.clear();
    }

    /// Lets the translation layer use `bytes` of the guest's memory, which may be less than the drive prefers.
    fn lend(&mut self, bytes: u64) {
        let Some((preferred, memory)) = self.host_memory else { return };
        let share = |count: u32| (u128::from(count) * u128::from(bytes.min(preferred)) / u128::from(preferred)) as u32;
        self.machine.lend_host_memory(HostMemory {
            map_frames: share(memory.map_frames),
            read: share(memory.read),
            write: share(memory.write),
            ..memory
        });
    }

    /// Lets the controller use the states of the zones, for the command `tag`.
    fn zones(&mut self, now: Time, tag: u16) {
        self.machine.host_acts_on_zones(now, |interface, zones, s| {
            let interface: &mut dyn std::any::Any = interface;
            let controller: &mut Controller = interface.downcast_mut().expect("an NVMe controller");
            controller.zones(now, tag, zones, s);
        });
    }

    /// Returns the number of usable blocks.
    fn usable_blocks(&self) -> u64 {
        self.machine.nand().store().blocks().filter(|block| !block.bad).count() as u64
    }

    /// Returns the number of usable blocks beyond those that the capacity needs.
    fn spare(&self) -> u64 {
        let geometry = self.parts.nand.geometry;
        let units = u64::from(geometry.pages) * u64::from(geometry.page_bytes / geometry.unit_bytes);
        let user_units = match &self.parts.zones {
            Some(ftl) => {
                let conventional = self.parts.conventional.as_ref().map_or(0, |part| u64::from(part.user_units));
                u64::from(ftl.zones.zones) * ftl.zones.capacity + conventional
            }
            None => u64::from(self.parts.ftl.user_units),
        };
        self.usable_blocks().saturating_sub(user_units.div_ceil(units))
    }

    fn health(&self) -> Health {
        let (_, mean, _) = self.machine.ftl().wear();
        let used = self.parts.nand.wear.endurance.mean.map_or(0.0, |cycles| 100.0 * mean / f64::from(cycles));
        Health {
            spare: (100 * self.spare() / self.spare_blocks).min(100) as u8,
            used: used.min(255.0) as u8,
            read_only: self.machine.ftl().is_read_only(),
            media_errors: self.machine.ftl().stats().lost_units,
            bytes: self.placement_bytes(),
        }
    }

    /// Returns the bytes written and erased since the translation layer was mounted, if it has reclaim unit handles.
    fn placement_bytes(&self) -> PlacementBytes {
        self.parts.ftl.placement.map_or_else(PlacementBytes::default, |_| self.machine.placement_bytes())
    }

    fn placement_state(&self) -> PlacementState {
        let handles = self.parts.ftl.placement.map_or(0, |placement| placement.handles as u8);
        let left = (0..handles).map(|handle| self.machine.ftl().pages().reclaim_unit_left(handle)).collect();
        PlacementState {
            bytes: self.placement_bytes(),
            unit_bytes: self.machine.ftl().pages().reclaim_unit_bytes(),
            left,
        }
    }
}

/// Creates the front end for the link of `system`, and returns its kind of PCI function.
fn front_end(
    system: &System,
    options: &Options,
    parts: &Parts,
    mut memory: Box<dyn GuestMemory>,
) -> Result<(pci::Function, Box<dyn Front>), DriveError> {
    match &parts.host_interface.link {
        link::Config::Pcie(link) => {
            let config = controller_config(system, options, parts, link)?;
            Ok((pci::Function::NVME, Box::new(Controller::new(&config, memory))))
        }
        link::Config::SharedBuffer(own) => {
            let config = bus_config(parts, own)?;
            let function = pci::Function::shared_buffer(config.layout.bytes() as u64);
            let bytes = function.memory.expect("a shared buffer is memory");
            let buffer = memory.create_buffer(bytes).map_err(DriveError::Buffer)?;
            Ok((function, Box::new(Bus::new(&config, buffer))))
        }
        _ => Err(DriveError::Link),
    }
}

/// Returns whether written data may wait in volatile memory.
fn has_write_cache(parts: &Parts) -> bool {
    match &parts.zones {
        Some(ftl) => ftl.write_back && !ftl.protected,
        None => parts.ftl.buffers.write_back && !parts.ftl.buffers.protected,
    }
}

/// Returns the configuration of a shared buffer.
fn bus_config(parts: &Parts, own: &link::SharedBufferConfig) -> Result<BusConfig, DriveError> {
    let interface = &parts.host_interface;
    let delivery = match interface.host.completion.is_polling() {
        true => Time::ZERO,
        false => interface.host.completion.delivery,
    };
    Ok(BusConfig {
        device: interface.device.clone(),
        buffer: emulated_dram(&interface.device.shared_buffer, own),
        layout: bus::layout(interface, own)?,
        capacity: parts.user_bytes,
        write_cache: has_write_cache(parts),
        delivery,
    })
}

/// Returns the configuration of the controller.
fn controller_config(
    system: &System,
    options: &Options,
    parts: &Parts,
    link: &link::PcieConfig,
) -> Result<ControllerConfig, DriveError> {
    let frame_units = parts.ftl.map_cache.map_or(1, |cache| cache.frame_units);
    let lent = Layout {
        check: parts.ftl.host_memory.map_or(0, |memory| memory.check),
        frame_lines: frame_units * (parts.nand.geometry.unit_bytes / HostMemory::LINE),
        key: Streams::new(options.seed).stream("guest.host_memory").below(u64::MAX),
    };
    Ok(ControllerConfig {
        device: parts.host_interface.device.clone(),
        link: link.clone(),
        unit: system.ftl.unit,
        transfer_max: MEMORY_PAGE << (transfer_max(system, parts).max(MEMORY_PAGE) / MEMORY_PAGE).ilog2(),
        write_cache: has_write_cache(parts),
        lent,
        zones: zones(parts)?,
        namespaces: namespaces(parts, &options.namespaces)?,
        capacity: match parts.zones {
            Some(_) => parts.user_bytes + parts.conventional_bytes(),
            None => parts.user_bytes / granule(parts) * granule(parts),
        },
        placement: parts.ftl.placement.map(PlacementConfig::from),
        identity: options.identity.clone().unwrap_or_else(|| identity(system, options.seed)),
    })
}

/// Returns the parts of `system` for a guest: with whole payload, one more tag than the controller has, round-robin
/// arbitration (the guest chooses priorities otherwise), and room for all the host memory that the drive prefers.
fn parts(system: &System) -> Result<Parts, DriveError> {
    match system.link.kind {
        system::LinkType::Pcie => {}
        system::LinkType::SharedBuffer => return Ok(Parts::new(system, PayloadKind::Bytes)?),
        _ => return Err(DriveError::Link),
    }
    let mut system = system.clone();
    system.host.hmb.limit = system.device.hmb.size;
    system.host.hmb.contiguous = system.host.hmb.contiguous.max(system.device.hmb.size);
    let mut parts = Parts::new(&system, PayloadKind::Bytes)?;
    parts.ftl.tags += 1;
    parts.zones.iter_mut().for_each(|ftl| ftl.tags += 1);
    parts.conventional.iter_mut().for_each(|ftl| ftl.tags += 1);
    parts.host_interface.device.arbitration = device::Arbitration::RoundRobin;
    parts.host_interface.device.priorities.clear();
    parts.host_interface.device.coalescing = device::Coalescing::OFF;
    Ok(parts)
}

/// Returns the maximum bytes of a transfer: those of the host, and of a write that zones accept.
fn transfer_max(system: &System, parts: &Parts) -> u64 {
    let zoned = parts.zones.as_ref().map_or(u64::MAX, |ftl| u64::from(ftl.write_max()) * system.ftl.unit);
    system.host.max_transfer.min(zoned)
}

/// Returns the zones of the drive's namespace, if it is zoned. Its logical blocks are mapping units.
fn zones(parts: &Parts) -> Result<Option<zones::Config>, DriveError> {
    let Some(ftl) = &parts.zones else { return Ok(None) };
    match ftl.geometry.unit_bytes {
        512 | 4096 => Ok(Some(ftl.zones)),
        unit => Err(DriveError::ZonedUnit(unit)),
    }
}

fn identity(system: &System, seed: u64) -> Identity {
    Identity { model: format!("nandram {}", system.title), serial: format!("NANDRAM{seed:013}") }
}

/// Returns the bytes in which capacity is allocated to namespaces: a mapping unit or the largest block.
fn granule(parts: &Parts) -> u64 {
    u64::from(parts.nand.geometry.unit_bytes).max(4096)
}

/// Checks the namespaces, or makes one of the whole capacity.
fn namespaces(parts: &Parts, configs: &[NamespaceConfig]) -> Result<Vec<NamespaceConfig>, DriveError> {
    let unit = granule(parts);
    if parts.zones.is_some() {
        let block = parts.nand.geometry.unit_bytes;
        let all = [parts.user_bytes, parts.conventional_bytes()].into_iter().filter(|bytes| *bytes > 0);
        let all = all.map(|bytes| NamespaceConfig { bytes, block }).collect();
        return if configs.is_empty() { Ok(all) } else { Err(DriveError::Zones) };
    }
    if configs.is_empty() {
        return Ok(vec![NamespaceConfig { bytes: parts.user_bytes / unit * unit, block: 512 }]);
    }
    let refuse =
        |number: usize, found: String, expected: String| Err(DriveError::Namespace { number, found, expected });
    let mut left = parts.user_bytes;
    for (number, config) in (1..).zip(configs) {
        if !matches!(config.block, 512 | 4096) {
            return refuse(number, format!("blocks of {} bytes", config.block), "512 or 4096".to_owned());
        }
        if config.bytes == 0 || !config.bytes.is_multiple_of(unit) || config.bytes > left {
            let expected = format!("a multiple of {unit} bytes, at most {left}, all that is left");
            return refuse(number, format!("{} bytes", config.bytes), expected);
        }
        left -= config.bytes;
    }
    if configs.len() > 1024 {
        return refuse(configs.len(), format!("{} namespaces", configs.len()), "at most 1024".to_owned());
    }
    Ok(configs.to_vec())
}

/// Number of interrupt vectors.
pub const VECTORS: u16 = QUEUES;

/// Returns the front end that a machine holds.
fn front(interface: &dyn External) -> &dyn Front {
    let interface: &dyn std::any::Any = interface;
    match interface.downcast_ref::<Controller>() {
        Some(controller) => controller,
        None => interface.downcast_ref::<Bus>().expect("one of the two front ends"),
    }
}

/// Returns the front end that a machine holds, to change it.
fn front_mut(interface: &mut dyn External) -> &mut dyn Front {
    let interface: &mut dyn std::any::Any = interface;
    if interface.is::<Controller>() {
        return interface.downcast_mut::<Controller>().expect("checked above");
    }
    interface.downcast_mut::<Bus>().expect("one of the two front ends")
}
