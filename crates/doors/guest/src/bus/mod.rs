//! Storage on the memory bus as a PCI function: the shared buffer of [`::shared_buffer`] is BAR 2, its doorbells and
//! interrupts are registers and MSI-X.
//!
//! The front end is the [`device::SharedBuffer`] of simulated runs, with its firmware, banks and interconnect. The host
//! is outside the simulation: its loads and stores to the buffer, its copies and its cache operations take the time that
//! the host's own clock charges for them, and none here. They do not contend with the device for the buffer's banks.

pub mod registers;

use std::sync::Arc;

use ::shared_buffer::{Config as Sizes, Extents, Identity, Layout, LayoutError, Opcode, SECTOR};
use host::shared_buffer::to_wire;
use host_interface::external::{Access, External, step_lane};
use host_interface::{Event, Output};
use link::Direction;
use media::{Op, Status, Tag};
use sim::{Lane, Part as _, Schedule, Time, Track};

use crate::buffer::Buffer;
use crate::error::DriveError;
use crate::front::{Front, Need, STOP};
use crate::statistics::Statistics;

/// Maximum number of queue pairs: one bit each in the interrupt registers.
pub const PAIRS_MAX: u16 = 64;

/// Steps that the device schedules for itself: the number of the step, and what it is about.
const POST: u8 = 0;
const RAISE: u8 = 1;

/// The function.
#[derive(Debug)]
pub(crate) struct Bus {
    device: device::SharedBuffer,
    buffer: Arc<dyn Buffer>,
    layout: Layout,
    /// From a notification to its interrupt.
    delivery: Time,
    /// Pairs whose interrupts are enabled, one bit each.
    enabled: u64,
    needs: Vec<Need>,
    /// Vectors raised.
    raised: Vec<u16>,
    interrupts: u64,
    statistics: Statistics,
}

/// Configuration of the function.
#[derive(Clone, Debug)]
pub(crate) struct BusConfig {
    /// The front end.
    pub device: device::Config,
    /// The buffer, which looks like a DRAM.
    pub buffer: device::EmulatedDramConfig,
    /// The layout of the region.
    pub layout: Layout,
    /// Capacity in bytes.
    pub capacity: u64,
    /// Written data may wait in volatile memory.
    pub write_cache: bool,
    /// From a notification to its interrupt.
    pub delivery: Time,
}

/// Returns the layout of the region of `config`, as of a simulated run.
pub(crate) fn layout(config: &host_interface::Config, own: &link::SharedBufferConfig) -> Result<Layout, DriveError> {
    let pairs = config.host.pairs();
    let queue_pairs = u16::try_from(pairs).ok().filter(|pairs| *pairs <= PAIRS_MAX);
    let sizes = Sizes {
        queue_pairs: queue_pairs.ok_or(DriveError::QueuePairs { found: pairs, most: PAIRS_MAX })?,
        sq_entries: config.host.queue_depth,
        cq_entries: config.host.queue_depth,
        extents_max: config.host.shared_buffer.extents,
        db_sectors: u32::try_from(own.data_buffer / SECTOR as u64).map_err(|_| LayoutError::DataBuffer(u32::MAX))?,
    };
    Ok(Layout::new(sizes)?)
}

/// The scheduler as the front end sees it.
struct DevicePart<'a>(&'a mut dyn Schedule<Event>);

impl Schedule<device::Event> for DevicePart<'_> {
    fn at(&mut self, lane: Lane, when: Time, event: device::Event) {
        self.0.at(lane, when, Event::Device(event));
    }

    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.0.span(track, name, from, to);
    }
}

impl Bus {
    /// Creates an idle function over a formatted region in `buffer`.
    pub fn new(config: &BusConfig, buffer: Arc<dyn Buffer>) -> Bus {
        let db_sectors = config.layout.config().db_sectors;
        let mut device = device::SharedBuffer::new(&config.device, &config.layout, &config.buffer);
        let capacity = config.capacity / SECTOR as u64;
        device.identify_as(Identity::new(capacity, &Opcode::ALL, db_sectors, config.write_cache));
        let mut bus = Bus {
            device,
            buffer,
            layout: config.layout,
            delivery: config.delivery,
            enabled: 0,
            needs: Vec::new(),
            raised: Vec::new(),
            interrupts: 0,
            statistics: Statistics::default(),
        };
        bus.start_over(Time::ZERO);
        bus
    }

    fn pairs(&self) -> u16 {
        self.layout.config().queue_pairs
    }

    fn region_bytes(&self) -> u64 {
        self.layout.bytes() as u64
    }

    fn needs_reset(&mut self) {
        self.needs.push(Need::Reset);
    }

    /// Drops all commands and formats the region.
    fn start_over(&mut self, now: Time) {
        self.device.power_cut(now);
        self.layout.format(&*self.buffer);
        self.enabled = u64::MAX >> (64 - self.pairs());
        self.needs.clear();
        self.raised.clear();
    }

    /// Returns the pairs with completions that their host has not taken.
    fn pending(&mut self) -> u64 {
        let pairs = 0..self.pairs();
        pairs.fold(0, |bits, pair| bits | u64::from(self.device.is_pending(pair, &*self.buffer)) << pair)
    }

    /// Sets the pairs whose interrupts are enabled. A pair that is enabled with completions to take interrupts.
    fn enable(&mut self, now: Time, bits: u64, s: &mut dyn Schedule<Event>) {
        let new = bits & !self.enabled & self.pending();
        self.enabled = bits & u64::MAX >> (64 - self.pairs());
        for pair in (0..self.pairs()).filter(|pair| new >> pair & 1 == 1) {
            self.notify(now, pair, s);
        }
    }

    /// Looks for commands in all pairs.
    fn look(&mut self, now: Time, s: &mut dyn Schedule<Event>) {
        self.device.fetch(now, &*self.buffer, &mut DevicePart(s));
    }

    fn notify(&mut self, now: Time, pair: u16, s: &mut dyn Schedule<Event>) {
        s.at(step_lane(RAISE), now + self.delivery, Event::Step { step: RAISE, of: u32::from(pair) });
    }

    /// Posts a completion.
    fn post(&mut self, now: Time, tag: u16, s: &mut dyn Schedule<Event>) {
        let status = self.device.status(tag);
        let of = Tag(u32::from(tag));
        let (request, fetched) = (*self.device.request(of), self.device.fetched(of));
        let is_refused = self.device.is_refused(of);
        let failed = !status.is_ok() || is_refused;
        self.statistics.record(request.op, request.bytes, now.saturating_sub(fetched), failed);
        let posted = self.device.post(now, tag, &*self.buffer, to_wire(status));
        if posted.notify && self.enabled >> posted.queue & 1 == 1 {
            self.notify(now, posted.queue, s);
        }
        self.look(now, s);
    }

    fn raise(&mut self, pair: u16) {
        self.raised.push(pair);
        self.interrupts += 1;
        self.needs.push(Need::Interrupt);
    }
}

/// Copies the sectors of `extents` out of the data buffer.
fn copy_out(region: &dyn Buffer, layout: &Layout, extents: &Extents, mut data: &mut [u8]) {
    for extent in extents.as_slice() {
        let (run, rest) = data.split_at_mut(extent.sectors as usize * SECTOR);
        region.read(layout.db_sector(extent.index), run);
        data = rest;
    }
}

/// Copies `data` into the sectors of `extents`.
fn copy_in(region: &dyn Buffer, layout: &Layout, extents: &Extents, mut data: &[u8]) {
    for extent in extents.as_slice() {
        let (run, rest) = data.split_at(extent.sectors as usize * SECTOR);
        region.write(layout.db_sector(extent.index), run);
        data = rest;
    }
}

impl External for Bus {
    fn handle(&mut self, now: Time, event: Event, s: &mut dyn Schedule<Event>, out: &mut Vec<Output>) {
        match event {
            Event::Device(event) => {
                let mut report = None;
                self.device.handle(now, event, &mut DevicePart(s), &mut report);
                match report {
                    Some(device::Output::Command { tag, request, .. }) => {
                        out.push(Output::Command { tag: Tag(u32::from(tag)), io: 0, request });
                    }
                    Some(device::Output::Arrived(tag)) => out.push(Output::Arrived { tag: Tag(u32::from(tag)) }),
                    Some(device::Output::Ended { tag, at }) => {
                        s.at(step_lane(POST), at, Event::Step { step: POST, of: u32::from(tag) });
                    }
                    Some(other) => unreachable!("{other:?} of a shared buffer"),
                    None => {}
                }
            }
            Event::Step { step: POST, of } => self.post(now, of as u16, s),
            Event::Step { of, .. } => self.raise(of as u16),
            other => unreachable!("an event of another front end: {other:?}"),
        }
        if !self.needs.is_empty() {
            out.push(STOP);
        }
    }

    fn ready(&mut self, now: Time, tag: Tag, s: &mut dyn Schedule<Event>) {
        self.device.ready(now, tag, &mut DevicePart(s));
    }

    fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut dyn Schedule<Event>) {
        self.device.data(now, tag, bytes, &mut DevicePart(s));
    }

    fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut dyn Schedule<Event>) {
        self.device.complete(now, tag, status, &mut DevicePart(s));
    }

    fn host_memory(&mut self, _: Time, access: Access<'_>, _: &mut dyn Schedule<Event>) {
        unreachable!("a device on the memory bus does not use host memory: {access:?}")
    }

    fn host_memory_free(&mut self, frame: u32) {
        unreachable!("frame {frame} of a device that does not use host memory")
    }

    fn host_memory_released(&mut self, _: Time, _: &mut dyn Schedule<Event>) {
        unreachable!("host memory was never lent")
    }

    fn put(&mut self, tag: Tag, data: &[u8]) {
        if self.device.request(tag).op == Op::Read {
            copy_in(&*self.buffer, &self.layout, self.device.extents(tag), data);
        }
    }

    fn take(&mut self, tag: Tag, data: &mut [u8]) {
        copy_out(&*self.buffer, &self.layout, self.device.extents(tag), data);
    }

    fn tracks(&self) -> Vec<(String, String)> {
        self.device.tracks().into_iter().map(|name| ("controller".to_owned(), name)).collect()
    }

    fn busy(&self, now: Time) -> Vec<(&'static str, String, Time)> {
        self.device.busy(now).into_iter().map(|(name, busy)| ("controller", name, busy)).collect()
    }

    fn queues(&self) -> Vec<(String, String)> {
        vec![("controller".to_owned(), "commands".to_owned())]
    }

    fn queue_lengths(&self, lengths: &mut Vec<u32>) {
        lengths.push(self.device.outstanding());
    }

    fn link(&self, now: Time) -> [link::Utilization; 2] {
        // The guest's loads and stores are its own.
        [Direction::ToDevice, Direction::ToHost].map(|direction| link::Utilization {
            direction,
            busy: Time::ZERO,
            elapsed: now,
            payload: 0,
            wire: 0,
            packets: 0,
        })
    }

    fn interrupts(&self) -> u64 {
        self.interrupts
    }

    fn power_cut(&mut self, now: Time) {
        self.start_over(now);
    }
}

impl Front for Bus {
    fn read_registers(&mut self, offset: u64, to: &mut [u8]) {
        self.read(offset, to);
    }

    fn write_registers(&mut self, now: Time, offset: u64, from: &[u8], s: &mut dyn Schedule<Event>) {
        self.write(now, offset, from, s);
    }

    fn take_needs(&mut self) -> Vec<Need> {
        std::mem::take(&mut self.needs)
    }

    fn take_interrupts(&mut self) -> Vec<u16> {
        std::mem::take(&mut self.raised)
    }

    fn reset(&mut self, now: Time, _: Time, _: &mut dyn Schedule<Event>) {
        self.start_over(now);
    }

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}
