//! An NVMe controller at its registers, for a host outside the simulation.
//!
//! Queue arbitration, command slots, decoding, data staging, coalescing and the order of completions are those of
//! [`device::Nvme`], and transfers take the time of [`link::Pcie`], exactly as in a simulated run. This module adds what
//! a simulated driver has no need of: registers, admin commands, and entries and data in guest memory.

mod admin;
mod background;
mod commands;
mod doorbells;
mod events;
mod features;
mod host_memory;
mod identify;
mod io;
mod logs;
mod namespaces;
mod placement;
mod queues;
mod registers;
mod saved;
mod zones;

use device::nvme::MEMORY_PAGE;
use std::collections::BTreeSet;

use host_interface::external::{Access, External, step_lane};
use host_interface::{Event, Output};
use link::{Direction, Pcie};
use media::{Request, Status, Tag};
use sim::{Lane, Schedule, Time, Track};

use background::Background;
use commands::Commands;
use doorbells::DoorbellBuffer;
use events::Events;
use features::Features;
use host_memory::HostMemory;
use io::Pairs;
use logs::Logs;
use namespaces::{BLOCK_MAX, Namespaces};
use placement::Placement;
use queues::Queues;
use registers::Registers;

pub use crate::front::Need;
use crate::front::STOP;
use crate::lent::{Layout, LentStatistics};
use crate::memory::GuestMemory;
use crate::pointers;
use crate::statistics::Statistics;

pub use identify::Identity;
pub(crate) use identify::VENDOR;
pub use logs::Health;
pub use namespaces::NamespaceConfig;
pub use placement::{PlacementConfig, PlacementState};
pub use queues::QUEUE_ENTRIES_MAX;
pub use registers::REGISTERS_END;

/// Number of queue pairs, the admin queues included, and of interrupt vectors. Assumed: drives offer 8 to 128.
pub const QUEUES: u16 = 65;

/// Configuration of a controller.
#[derive(Clone, Debug)]
pub struct ControllerConfig {
    /// The front end. Its arbitration must be round robin.
    pub device: device::Config,
    /// The link.
    pub link: link::PcieConfig,
    /// Bytes of a mapping unit.
    pub unit: u64,
    /// Maximum bytes of a transfer: a memory page times a power of two.
    pub transfer_max: u64,
    /// Written data may wait in volatile memory.
    pub write_cache: bool,
    /// Layout of the map in the Host Memory Buffer.
    pub lent: Layout,
    /// The zones of the first namespace, in its logical blocks, if it is zoned.
    pub zones: Option<::zones::Config>,
    /// The namespaces of a new drive, one behind the other.
    pub namespaces: Vec<NamespaceConfig>,
    /// Bytes that namespaces can occupy.
    pub capacity: u64,
    /// Flexible Data Placement, if the drive has reclaim unit handles.
    pub placement: Option<PlacementConfig>,
    /// Model and serial number.
    pub identity: Identity,
}

/// The controller.
#[derive(Debug)]
pub struct Controller {
    link: Pcie,
    device: device::Nvme,
    memory: Box<dyn GuestMemory>,
    identity: Identity,
    unit: u64,
    transfer_max: u64,
    has_write_cache: bool,
    /// Commands taken from a queue in turn unless the host sets another number; `None`: no limit.
    arbitration_burst: Option<u32>,
    /// Tag of background requests, which belong to no command: the one after those of the front end.
    background_tag: u16,
    registers: Registers,
    queues: Queues,
    commands: Commands,
    pairs: Pairs,
    features: Features,
    namespaces: Namespaces,
    zones: Option<zones::Shape>,
    changed_namespaces: BTreeSet<u32>,
    placement: Option<Placement>,
    logs: Logs,
    events: Events,
    host_memory: HostMemory,
    background: Background,
    doorbell_buffer: Option<DoorbellBuffer>,
    needs: Vec<Need>,
    /// Vectors raised.
    raised: Vec<u16>,
    interrupts: u64,
    statistics: Statistics,
}

/// Steps that the controller schedules for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Step {
    /// A completion queue entry reaches guest memory.
    Posted,
    /// An interrupt message reaches the host.
    Raise,
    /// The next request of a command.
    Next,
    /// The data of a write that the controller makes itself.
    Arrived,
    /// The controller becomes ready.
    Ready,
    /// A command that waited for the Host Memory Buffer.
    Retry,
    /// The next background request.
    Background,
}

const STEPS: [Step; 7] =
    [Step::Posted, Step::Raise, Step::Next, Step::Arrived, Step::Ready, Step::Retry, Step::Background];

impl Step {
    fn at(self, when: Time, of: u32, s: &mut dyn Schedule<Event>) {
        s.at(step_lane(self as u8), when, Event::Step { step: self as u8, of });
    }
}

/// The scheduler as the controller front end sees it.
struct DevicePart<'a>(&'a mut dyn Schedule<Event>);

impl Schedule<device::Event> for DevicePart<'_> {
    fn at(&mut self, lane: Lane, when: Time, event: device::Event) {
        self.0.at(lane, when, Event::Device(event));
    }

    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.0.span(track, name, from, to);
    }
}

impl Controller {
    /// Creates a disabled controller whose host has `memory`.
    pub fn new(config: &ControllerConfig, memory: Box<dyn GuestMemory>) -> Controller {
        let link = Pcie::new(&config.link);
        let tags = config.device.max_commands as u16;
        Controller {
            device: device::Nvme::for_host(&config.device, QUEUES, link.round_trip()),
            link,
            memory,
            identity: config.identity.clone(),
            unit: config.unit,
            transfer_max: config.transfer_max,
            has_write_cache: config.write_cache,
            arbitration_burst: config.device.arbitration_burst,
            background_tag: tags,
            registers: Registers::default(),
            queues: Queues::new(),
            commands: Commands::new(tags),
            pairs: Pairs::default(),
            features: Features::new(),
            namespaces: Namespaces::new(
                &config.namespaces,
                config.zones.is_some(),
                (config.capacity, config.unit.max(BLOCK_MAX)),
                config.zones.is_none() && config.placement.is_none(),
            ),
            zones: config.zones,
            changed_namespaces: BTreeSet::new(),
            placement: config.placement.map(Placement::new),
            logs: Logs::new(),
            events: Events::default(),
            host_memory: HostMemory::new(config.device.hmb.identify(), MEMORY_PAGE, config.lent),
            background: Background::default(),
            doorbell_buffer: None,
            needs: Vec::new(),
            raised: Vec::new(),
            interrupts: 0,
            statistics: Statistics::default(),
        }
    }

    /// Returns what the controller needs, in order.
    pub fn take_needs(&mut self) -> Vec<Need> {
        std::mem::take(&mut self.needs)
    }

    /// Returns the vectors of the interrupts raised since the last call.
    pub fn take_interrupts(&mut self) -> Vec<u16> {
        std::mem::take(&mut self.raised)
    }

    /// Returns counts and latencies of all I/O commands so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Returns the counts of map entries in the Host Memory Buffer, or `None` for a drive that does not use one.
    pub fn lent_statistics(&self) -> Option<LentStatistics> {
        self.host_memory.statistics()
    }

    /// Frees the slot of a command.
    fn close(&mut self, now: Time, tag: u16) {
        self.commands.close(tag);
        self.logs.is_busy(now, !self.commands.is_empty());
    }

    /// Drops commands, queues and host settings: the common part of every reset.
    fn drop_state(&mut self, now: Time) {
        self.link.power_cut(now);
        self.device.power_cut(now);
        self.device.set_coalescing(None);
        self.device.set_arbitration_burst(None);
        self.queues = Queues::new();
        self.commands.clear();
        self.pairs = Pairs::default();
        self.namespaces.ended(None, false);
        self.logs.is_busy(now, false);
        self.features = Features::new();
        self.events = Events::default();
        if let Some(placement) = &mut self.placement {
            placement.reset();
        }
        self.doorbell_buffer = None;
        self.needs.clear();
        self.raised.clear();
    }

    /// Disables the Host Memory Buffer, as the first part of a controller-level reset.
    pub fn disable_host_memory(&mut self) {
        self.host_memory.reset();
    }

    /// Performs the rest of a controller-level reset at `now`, after its commands and events were dropped. It becomes
    /// ready `recovery` later than usual.
    pub fn reset(&mut self, now: Time, recovery: Time, s: &mut dyn Schedule<Event>) {
        self.drop_state(now);
        self.reset_registers(recovery);
        self.resume_background(now, s);
    }

    /// Clears all registers, like a function-level reset does after [`reset`](Self::reset).
    pub fn clear(&mut self) {
        self.clear_registers();
    }

    fn step(&mut self, now: Time, step: Step, of: u32, s: &mut dyn Schedule<Event>, out: &mut Vec<Output>) {
        match step {
            Step::Posted => self.posted(of),
            Step::Raise => {
                self.raised.push(of as u16);
                self.interrupts += 1;
                self.needs.push(Need::Interrupt);
            }
            Step::Next => self.next_request(now, of as u16, s, out),
            Step::Arrived => out.push(Output::Arrived { tag: Tag(of) }),
            Step::Ready => self.become_ready(),
            Step::Retry if of == u32::from(self.background_tag) => self.go_on_in_background(now, s, out),
            Step::Retry => self.run_admin(now, of as u16, s, out),
            Step::Background => self.go_on_in_background(now, s, out),
        }
    }
}

impl External for Controller {
    fn handle(&mut self, now: Time, event: Event, s: &mut dyn Schedule<Event>, out: &mut Vec<Output>) {
        match event {
            Event::Device(event) => {
                let mut report = None;
                sim::Part::handle(&mut self.device, now, event, &mut DevicePart(s), &mut report);
                if let Some(report) = report {
                    self.device_output(now, report, s, out);
                }
            }
            Event::Doorbell { queue, cid } => self.doorbell(now, queue, cid, s),
            Event::HostMemory(id) => out.push(Output::HostMemory { id, intact: self.host_memory.is_intact(id) }),
            Event::Step { step, of } => self.step(now, STEPS[usize::from(step)], of, s, out),
            Event::Host(_) | Event::Issued(_) => unreachable!("an event of a simulated driver: {event:?}"),
        }
        if !self.needs.is_empty() {
            out.push(STOP);
        }
    }

    fn ready(&mut self, now: Time, tag: Tag, s: &mut dyn Schedule<Event>) {
        if !self.is_transfer(tag) {
            // The data are zeros that the controller makes itself, or those that Copy has read.
            let at = match self.inner_data(tag) {
                0 => now,
                bytes => self.device.pass_memory(now, media::Op::Write, bytes as u64, &mut DevicePart(s)),
            };
            return Step::Arrived.at(at, tag.0, s);
        }
        let (tag, bytes, staged) = self.device.ready(now, tag, &mut DevicePart(s));
        let moved = self.transfer(now, Direction::ToDevice, bytes);
        self.device.arrives(tag, moved.arrives.max(staged), &mut DevicePart(s));
    }

    fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut dyn Schedule<Event>) {
        if !self.is_transfer(tag) {
            return self.data_stays(now, tag, bytes, s);
        }
        let (tag, staged) = self.device.data(now, tag, bytes, &mut DevicePart(s));
        let moved = self.transfer(now, Direction::ToHost, u64::from(bytes));
        self.device.sent(tag, moved.sent.max(staged));
    }

    fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut dyn Schedule<Event>) {
        if tag.0 == u32::from(self.background_tag) {
            return self.background_done(now, s);
        }
        self.request_done(now, tag.0 as u16, status, s);
    }

    fn host_memory(&mut self, now: Time, access: Access<'_>, s: &mut dyn Schedule<Event>) {
        self.access_buffer(now, access, s);
    }

    fn host_memory_free(&mut self, frame: u32) {
        self.free_in_buffer(frame);
    }

    fn reallocated(&mut self, now: Time, handle: u8, units: u32) {
        self.units_reallocated(now, handle, units);
    }

    fn handle_modified(&mut self, now: Time, handle: u8) {
        self.handle_left(now, handle);
    }

    fn host_memory_released(&mut self, now: Time, s: &mut dyn Schedule<Event>) {
        self.buffer_released(now, s);
    }

    fn placed(&mut self, tag: Tag, offset: u64) {
        self.appended(tag.0 as u16, offset);
    }

    fn put(&mut self, tag: Tag, data: &[u8]) {
        if tag.0 == u32::from(self.background_tag) {
            return;
        }
        let command = self.commands.of_tag_mut(tag.0 as u16);
        let is_read = command.plan.front().is_some_and(|request: &Request| request.op == media::Op::Read);
        if is_read && io::buffers_reads(&command.entry) {
            command.buffer.extend_from_slice(data);
        } else if is_read
            && io::is_transfer(&command.entry)
            && !pointers::scatter(&mut *self.memory, &command.segments, data)
        {
            command.status = crate::entry::Status::DATA_TRANSFER_ERROR;
        }
    }

    fn take(&mut self, tag: Tag, data: &mut [u8]) {
        if !self.is_transfer(tag) {
            match self.inner_data(tag) {
                0 => data.fill(0),
                _ => data.copy_from_slice(&self.commands.of_tag(tag.0 as u16).buffer),
            }
            return;
        }
        let command = self.commands.of_tag_mut(tag.0 as u16);
        if !pointers::gather(&*self.memory, &command.segments, data) {
            command.status = crate::entry::Status::DATA_TRANSFER_ERROR;
        }
    }

    fn tracks(&self) -> Vec<(String, String)> {
        self.device.tracks().into_iter().map(|name| ("controller".to_owned(), name)).collect()
    }

    fn busy(&self, now: Time) -> Vec<(&'static str, String, Time)> {
        let ways = ["to device", "to host"].into_iter().zip(self.link.utilization(now));
        let link = ways.map(|(name, way)| ("link", name.to_owned(), way.busy));
        link.chain(self.device.busy(now).into_iter().map(|(name, busy)| ("controller", name, busy))).collect()
    }

    fn queues(&self) -> Vec<(String, String)> {
        vec![("controller".to_owned(), "commands".to_owned())]
    }

    fn queue_lengths(&self, lengths: &mut Vec<u32>) {
        lengths.push(self.device.outstanding());
    }

    fn link(&self, now: Time) -> [link::Utilization; 2] {
        self.link.utilization(now)
    }

    fn interrupts(&self) -> u64 {
        self.interrupts
    }

    fn power_cut(&mut self, now: Time) {
        self.logs.power_cut(self.registers.shutdown == registers::Shutdown::Complete);
        self.drop_state(now);
        self.clear_registers();
        self.host_memory.power_cut();
        self.background = Background::default();
    }
}

impl Controller {
    /// Returns the bytes of data in the controller's memory that the command writes.
    fn inner_data(&self, tag: Tag) -> usize {
        if tag.0 == u32::from(self.background_tag) { 0 } else { self.commands.of_tag(tag.0 as u16).buffer.len() }
    }

    /// Returns true if the command's data is the guest's.
    fn is_transfer(&self, tag: Tag) -> bool {
        tag.0 != u32::from(self.background_tag) && io::is_transfer(&self.commands.of_tag(tag.0 as u16).entry)
    }
}
