//! The path to storage behind a shared buffer on the memory bus.
//!
//! Driver and firmware operate on one region of bytes through the state machines of `::shared_buffer`. Every host
//! access crosses the bus to the buffer's banks, where it has priority over the controller's.

mod memory;
#[path = "shared_buffer/window.rs"]
mod window;

use std::cell::Cell;

use ::shared_buffer::{Extents, Layout, Region, SECTOR};
use device::shared_buffer::BOOT;
use host::shared_buffer::{DriverEvent, LANES as HOST_LANES, Said, to_wire};
use media::{Request, Status, Tag};
use sim::{Client, Lane, Part as _, Schedule, Span, Time, Track};

use super::event::{Config, Event, Output, STEP};
use super::path::Path;
use super::view::{Busy, Part};
use memory::Buses;
pub use memory::{BusReport, dram_device, emulated_dram};

/// Host, bus, buffer and device.
#[derive(Debug)]
pub struct SharedBuffer {
    host: host::SharedBuffer,
    device: device::SharedBuffer,
    buses: Buses,
    region: Box<[Cell<u64>]>,
    layout: Layout,
    config: host::Config,
    tracks: u32,
    said: Vec<Said>,
    /// Payload of the last read moved out of the buffer, and bytes of payload per sector once any has been stored.
    outbox: Vec<u8>,
    sector: usize,
}

/// Step that posts a prepared completion. It follows the driver's steps.
const POST: u8 = HOST_LANES;
/// Number of event sources.
pub(super) const STEPS: u8 = POST + 1;

fn step(event: DriverEvent) -> Event {
    let (step, of) = match event {
        DriverEvent::Ring(piece) => (0, piece),
        DriverEvent::Prepared(io) => (1, io),
        DriverEvent::Started(io) => (2, io),
        DriverEvent::Moved(io) => (3, io),
        DriverEvent::Settled(io) => (4, io),
        DriverEvent::Reap(queue) => (5, u32::from(queue)),
        DriverEvent::Taken(piece) => (6, piece),
        DriverEvent::Ended(io) => (7, io),
        DriverEvent::BootAsked => (8, 0),
        DriverEvent::BootCopied => (9, 0),
    };
    Event::Step { step, of }
}

fn host_event(step: u8, of: u32) -> DriverEvent {
    match step {
        0 => DriverEvent::Ring(of),
        1 => DriverEvent::Prepared(of),
        2 => DriverEvent::Started(of),
        3 => DriverEvent::Moved(of),
        4 => DriverEvent::Settled(of),
        5 => DriverEvent::Reap(of as u16),
        6 => DriverEvent::Taken(of),
        7 => DriverEvent::Ended(of),
        8 => DriverEvent::BootAsked,
        9 => DriverEvent::BootCopied,
        _ => unreachable!("step {step} is none of the driver's"),
    }
}

/// The driver's view of the scheduler.
struct HostPart<'a, S>(&'a mut S);

impl<S: Schedule<Event>> Schedule<DriverEvent> for HostPart<'_, S> {
    fn at(&mut self, lane: Lane, when: Time, event: DriverEvent) {
        self.0.at(Lane(STEP.0 + lane.0), when, step(event));
    }
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.0.span(track, name, from, to);
    }
    fn served(&mut self, track: Track, client: Client, name: &'static str, since: Time, span: Span) {
        self.0.served(track, client, name, since, span);
    }
}

/// The memory that the processor and its DMA engine can reach: the buses and the device's buffer.
struct Reach<'a> {
    buses: &'a mut Buses,
    buffer: &'a mut device::EmulatedDram,
}

impl host::shared_buffer::Memory for Reach<'_> {
    fn word(&mut self, at: Time, offset: usize, store: bool) -> Time {
        let hit = self.buffer.host_line(at, offset as u64);
        self.buses.word(store, hit)
    }

    fn transfer(&mut self, from: Time, offset: usize, bytes: u64, store: bool, least: Time) -> Time {
        let length = self.buses.transfer(from, bytes, store, least);
        let (burst, period) = self.buses.pace(bytes, length);
        self.buffer.host_stream(from, from + length, offset as u64, bytes, burst, period);
        length
    }

    fn copy(&mut self, from: Time, offset: usize, bytes: u64, word: u32, store: bool, each: Time) -> Time {
        let period = each + self.buses.word(store, true);
        let words = bytes.div_ceil(u64::from(word));
        let length = period * words;
        self.buses.words(words - 1, store);
        // Several words lie in one line; its burst takes as long as those words.
        let lines = bytes.div_ceil(u64::from(self.buses.line())).max(1);
        let pace = Time::from_ps(length.ps() / lines);
        self.buffer.host_stream(from, from + length, offset as u64, bytes, 1, pace);
        length
    }
}

impl SharedBuffer {
    pub(super) fn new(config: &Config, own: &link::SharedBufferConfig) -> SharedBuffer {
        let sizes = ::shared_buffer::Config {
            queue_pairs: config.host.pairs().min(config.host.cores) as u16,
            sq_entries: config.host.queue_depth,
            cq_entries: config.host.queue_depth,
            extents_max: config.host.shared_buffer.extents,
            db_sectors: (own.data_buffer / SECTOR as u64) as u32,
        };
        let layout = Layout::new(sizes).unwrap_or_else(|error| panic!("{error}"));
        let region: Box<[Cell<u64>]> = vec![Cell::new(0); layout.words()].into();
        layout.format(&*region);
        let host = host::SharedBuffer::new(&config.host, &layout);
        let buffer = emulated_dram(&config.device.shared_buffer, own);
        SharedBuffer {
            device: device::SharedBuffer::new(&config.device, &layout, &buffer),
            buses: Buses::new(own),
            tracks: host.tracks().len() as u32,
            host,
            region,
            layout,
            config: config.host.clone(),
            said: Vec::new(),
            outbox: Vec::new(),
            sector: 0,
        }
    }

    pub(super) fn interrupts(&self) -> u64 {
        match self.config.completion.is_polling() {
            true => 0,
            false => self.device.interrupts(),
        }
    }

    pub(super) fn queues(&self) -> Vec<(String, String)> {
        let pairs =
            (0..self.layout.config().queue_pairs).map(|pair| ("host".into(), format!("commands of pair {pair}")));
        let rest =
            [("host", "requests without room"), ("host", "sectors of the data buffer"), ("controller", "commands")];
        pairs.chain(rest.map(|(part, name)| (part.into(), name.into()))).collect()
    }

    pub(super) fn queue_lengths(&self, lengths: &mut Vec<u32>) {
        lengths.extend((0..self.layout.config().queue_pairs).map(|pair| self.host.outstanding(pair)));
        lengths.extend([self.host.waiting(), self.host.sectors_taken(), self.device.outstanding()]);
    }

    pub(super) fn waited(&self) -> u64 {
        self.host.waited()
    }

    pub(super) fn tracks(&self) -> Vec<(String, String)> {
        let host = self.host.tracks().into_iter().map(|name| ("host".to_owned(), name));
        let device = self.device.tracks().into_iter().map(|name| ("controller".to_owned(), name));
        host.chain(device).collect()
    }

    pub(super) fn busy(&self, now: Time) -> Vec<Busy> {
        let host = self.host.busy(now).into_iter().map(|(name, busy)| ("host", name, busy));
        let buses = self.buses.busy(now).into_iter().map(|(name, busy)| ("link", name, busy));
        let device = self.device.busy(now).into_iter().map(|(name, busy)| ("controller", name, busy));
        host.chain(buses).chain(device).collect()
    }

    pub(super) fn link(&self, now: Time) -> [link::Utilization; 2] {
        self.buses.utilization(now)
    }

    pub(super) fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.device.power_cut(now);
        self.buses.power_cut();
        self.layout.format(&*self.region);
        self.host.power_cut(now, &self.config)
    }

    pub(super) fn submit(&mut self, now: Time, io: u32, job: u16, request: Request, s: &mut impl Schedule<Event>) {
        let mut reach = Reach { buses: &mut self.buses, buffer: &mut self.device.buffer };
        self.host.submit(now, io, job, request, &mut reach, &mut HostPart(s));
    }

    /// Returns the request that a command in the device is, or is part of.
    fn request_of(&self, tag: Tag) -> u32 {
        match self.device.origin(tag) {
            (BOOT, _) => self.host.boot_io(),
            (queue, id) => self.host.piece(self.host.submitted(queue, id)).io,
        }
    }

    /// Acts on the outputs of the driver.
    fn heed(&mut self, now: Time, s: &mut impl Schedule<Event>, out: &mut Vec<Output>) {
        let mut all = std::mem::take(&mut self.said);
        for said in all.drain(..) {
            match said {
                Said::Rang(_) | Said::Acknowledged(_) => self.fetch(now, s),
                Said::Boot { first, sectors } => {
                    let mut part = Part { s, tracks: self.tracks };
                    self.device.boot(now, first, sectors, &mut part);
                }
                Said::Emptied { piece, extents } => {
                    if self.sector > 0 {
                        let bytes = extents.sectors() as usize * self.sector;
                        self.outbox.resize(bytes, 0);
                        copy_out(&self.region, &self.layout, &extents, self.sector, &mut self.outbox);
                        out.push(Output::Emptied { place: piece });
                    }
                }
                Said::Completed(host::Completed { io, status, submitted }) => {
                    out.push(Output::Completed { io, status, submitted });
                }
            }
        }
        self.said = all;
    }

    fn fetch(&mut self, now: Time, s: &mut impl Schedule<Event>) {
        let mut part = Part { s, tracks: self.tracks };
        self.device.fetch(now, &*self.region, &mut part);
    }

    /// Posts a prepared completion and notifies the host.
    fn notify(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>) {
        let status = self.device.status(tag);
        let posted = self.device.post(now, tag, &*self.region, to_wire(status));
        if posted.queue == BOOT {
            let mut reach = Reach { buses: &mut self.buses, buffer: &mut self.device.buffer };
            return self.host.boot_ready(now, status, &*self.region, &mut reach, &mut HostPart(s));
        }
        if posted.notify {
            self.host.notified(now, posted.queue, &mut HostPart(s));
        }
        self.fetch(now, s);
    }

    pub(super) fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        let mut part = Part { s, tracks: self.tracks };
        self.device.ready(now, tag, &mut part);
    }

    pub(super) fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) {
        let mut part = Part { s, tracks: self.tracks };
        self.device.data(now, tag, bytes, &mut part);
    }

    pub(super) fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) {
        let mut part = Part { s, tracks: self.tracks };
        self.device.complete(now, tag, status, &mut part);
    }

    // ---- payload ----

    /// Stores a command's payload in its place in the data buffer. Returns the place, which is valid until it is
    /// emptied.
    pub(super) fn put(&mut self, tag: Tag, data: &[u8]) -> u32 {
        let extents = self.device.extents(tag);
        if let Some(each) = data.len().checked_div(extents.sectors() as usize) {
            self.sector = each;
            copy_in(&self.region, &self.layout, extents, self.sector, data);
        }
        match self.device.origin(tag) {
            (BOOT, _) => self.host.boot_place(),
            (queue, id) => self.host.submitted(queue, id),
        }
    }

    /// Copies a command's payload from its place in the data buffer.
    pub(super) fn take(&self, tag: Tag, data: &mut [u8]) {
        let extents = self.device.extents(tag);
        if let Some(each) = data.len().checked_div(extents.sectors() as usize) {
            copy_out(&self.region, &self.layout, extents, each, data);
        }
    }

    /// Returns the payload moved out last.
    pub(super) fn emptied(&self) -> &[u8] {
        &self.outbox
    }

    /// Returns the counters of the path.
    pub(super) fn report(&self, now: Time, decoded: u64, encoded: u64) -> Report {
        Report {
            host: *self.host.counts(),
            dma_bytes: self.host.dma().bytes,
            dma_transfers: self.host.dma().transfers,
            dma_busy: self.host.dma().busy(now),
            split_bytes: u64::from(self.host.split_sectors()) * SECTOR as u64,
            data_buffer_bytes: u64::from(self.layout.config().db_sectors) * SECTOR as u64,
            region_bytes: self.layout.bytes() as u64,
            banks: self.device.buffer.stats(now),
            interrupts: self.device.interrupts(),
            energy: self.device.energy(now, decoded, encoded),
            buses: self.buses.report(now),
        }
    }
}

impl Path for SharedBuffer {
    fn issue(&mut self, _: Time, queue: u16, _: &mut impl Schedule<Event>) {
        unreachable!("the driver issues the commands of queue {queue} by itself")
    }

    fn doorbell(&mut self, _: Time, queue: u16, _: u16, _: &mut impl Schedule<Event>) {
        unreachable!("the doorbell of queue {queue} is a word of the buffer")
    }

    fn send_command(&mut self, _: Time, slot: u16, _: &mut impl Schedule<Event>) {
        unreachable!("a shared buffer has no slot {slot}")
    }

    #[inline]
    fn device(&mut self, now: Time, event: device::Event, s: &mut impl Schedule<Event>) -> Option<device::Output> {
        let mut report = None;
        self.device.handle(now, event, &mut Part { s, tracks: self.tracks }, &mut report);
        report
    }

    fn read_list(&mut self, _: Time, tag: u16, _: u64, _: &mut impl Schedule<Event>) {
        unreachable!("command {tag} has its list in its entry")
    }

    fn io(&self, tag: Tag) -> u32 {
        self.request_of(tag)
    }

    fn post(&mut self, _: Time, at: Time, tag: u16, s: &mut impl Schedule<Event>) {
        s.at(Lane(STEP.0 + POST), at, Event::Step { step: POST, of: u32::from(tag) });
    }

    fn reap(&mut self, _: Time, event: host::Event, _: &mut impl Schedule<Event>) -> Option<host::Completed> {
        unreachable!("{event:?} on a path through a shared buffer")
    }

    fn step(&mut self, now: Time, step: u8, of: u32, s: &mut impl Schedule<Event>, out: &mut Vec<Output>) {
        if step == POST {
            return self.notify(now, of as u16, s);
        }
        let mut reach = Reach { buses: &mut self.buses, buffer: &mut self.device.buffer };
        let (event, region) = (host_event(step, of), &*self.region);
        self.host.handle(now, event, region, &mut reach, &mut HostPart(s), &mut self.said);
        self.heed(now, s, out);
    }
}

/// Counters of a path through a shared buffer.
#[derive(Clone, Debug)]
pub struct Report {
    /// Counters of the driver.
    pub host: host::shared_buffer::Counts,
    /// Bytes moved by the host's DMA engine.
    pub dma_bytes: u64,
    /// Number of DMA transfers.
    pub dma_transfers: u64,
    /// Busy time of the DMA engine.
    pub dma_busy: Time,
    /// Maximum bytes of one command.
    pub split_bytes: u64,
    /// Bytes of the data buffer.
    pub data_buffer_bytes: u64,
    /// Bytes of the whole region: queues, registers, data buffer.
    pub region_bytes: u64,
    /// Counters of the buffer's banks.
    pub banks: device::emulated_dram::BankStats,
    /// Completions that the device notified the host of.
    pub interrupts: u64,
    /// Energy of the controller.
    pub energy: device::shared_buffer::ControllerEnergy,
    /// Counters of the memory channels.
    pub buses: Vec<BusReport>,
}

/// Returns the index and the first word of each sector of `extents`.
fn sectors<'a>(layout: &'a Layout, extents: &'a Extents) -> impl Iterator<Item = (usize, usize)> + 'a {
    let sectors = extents.as_slice().iter().flat_map(|extent| extent.index..extent.index + extent.sectors);
    sectors.enumerate().map(|(number, sector)| (number, layout.db_sector(sector)))
}

/// Copies the first `each` bytes of every sector out of the data buffer.
fn copy_out(region: &[Cell<u64>], layout: &Layout, extents: &Extents, each: usize, data: &mut [u8]) {
    for (number, word) in sectors(layout, extents) {
        region.read(word, &mut data[number * each..(number + 1) * each]);
    }
}

/// Copies `each` bytes of every sector into the data buffer.
fn copy_in(region: &[Cell<u64>], layout: &Layout, extents: &Extents, each: usize, data: &[u8]) {
    for (number, word) in sectors(layout, extents) {
        region.write(word, &data[number * each..(number + 1) * each]);
    }
}
