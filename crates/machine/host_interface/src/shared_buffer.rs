//! Storage behind a shared buffer on the memory bus.
//!
//! The driver and the device's firmware work on one region of bytes, through `::shared_buffer`'s state machines. Each
//! access of the host's goes over the bus and to the buffer's banks, where it wins against the controller's.

mod memory;
#[path = "shared_buffer/window.rs"]
mod window;

use std::cell::Cell;

use ::shared_buffer::{Extents, Layout, Region, SECTOR};
use device::shared_buffer::BOOT;
use host::shared_buffer::{Event as HostEvent, LANES as HOST_LANES, Said, to_wire};
use media::{Request, Status, Tag};
use sim::{Lane, Schedule, Time, Track};

use super::{Busy, Config, Event, Output, Part, STEP};
pub use memory::BusReport;
use memory::Buses;

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
    /// Payload of the read that was moved out of the buffer last; bytes of payload a sector, once any was put there.
    outbox: Vec<u8>,
    sector: usize,
}

/// The step of this path, behind those of the driver: a completion is prepared.
const POST: u8 = HOST_LANES;
/// Sources of events.
pub(super) const STEPS: u8 = POST + 1;

fn step(event: HostEvent) -> Event {
    let (step, of) = match event {
        HostEvent::Ring(piece) => (0, piece),
        HostEvent::Prepared(io) => (1, io),
        HostEvent::Started(io) => (2, io),
        HostEvent::Moved(io) => (3, io),
        HostEvent::Settled(io) => (4, io),
        HostEvent::Reap(queue) => (5, u32::from(queue)),
        HostEvent::Taken(piece) => (6, piece),
        HostEvent::Ended(io) => (7, io),
        HostEvent::BootAsked => (8, 0),
        HostEvent::BootCopied => (9, 0),
    };
    Event::Step { step, of }
}

fn host_event(step: u8, of: u32) -> HostEvent {
    match step {
        0 => HostEvent::Ring(of),
        1 => HostEvent::Prepared(of),
        2 => HostEvent::Started(of),
        3 => HostEvent::Moved(of),
        4 => HostEvent::Settled(of),
        5 => HostEvent::Reap(of as u16),
        6 => HostEvent::Taken(of),
        7 => HostEvent::Ended(of),
        8 => HostEvent::BootAsked,
        9 => HostEvent::BootCopied,
        _ => unreachable!("step {step} is none of the driver's"),
    }
}

/// The driver's view of the world.
struct HostPart<'a, S>(&'a mut S);

impl<S: Schedule<Event>> Schedule<HostEvent> for HostPart<'_, S> {
    fn at(&mut self, lane: Lane, when: Time, event: HostEvent) {
        self.0.at(Lane(STEP.0 + lane.0), when, step(event));
    }
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.0.span(track, name, from, to);
    }
}

/// What the processor and its DMA engine reach: the buses, and at the end of one the device's buffer.
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
        // Several words lie in one line: a line is a burst of as many words' time.
        let lines = bytes.div_ceil(u64::from(self.buses.line())).max(1);
        let pace = Time::from_ps(length.ps() / lines);
        self.buffer.host_stream(from, from + length, offset as u64, bytes, 1, pace);
        length
    }
}

impl SharedBuffer {
    pub(super) fn new(config: &Config, own: &link::SharedBufferConfig) -> SharedBuffer {
        let sizes = ::shared_buffer::Config {
            queue_pairs: config.host.queue_pairs.min(config.host.cores) as u16,
            sq_entries: config.host.queue_depth,
            cq_entries: config.host.queue_depth,
            extents_max: config.host.shared_buffer.extents,
            db_sectors: (own.data_buffer / SECTOR as u64) as u32,
        };
        let layout = Layout::new(sizes).unwrap_or_else(|error| panic!("{error}"));
        let region: Box<[Cell<u64>]> = vec![Cell::new(0); layout.words()].into();
        layout.format(&*region);
        let host = host::SharedBuffer::new(&config.host, &layout);
        SharedBuffer {
            device: device::SharedBuffer::new(&config.device, &layout),
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
        match self.config.completion {
            host::Completion::Interrupt { .. } => self.device.interrupts(),
            host::Completion::Polling { .. } => 0,
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

    pub(super) fn link(&self, now: Time) -> [link::Utilisation; 2] {
        self.buses.utilisation(now)
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

    pub(super) fn handle(&mut self, now: Time, event: Event, s: &mut impl Schedule<Event>, out: &mut Vec<Output>) {
        match event {
            Event::Step { step: POST, of } => self.post(now, of as u16, s),
            Event::Step { step, of } => {
                let mut reach = Reach { buses: &mut self.buses, buffer: &mut self.device.buffer };
                let (event, region) = (host_event(step, of), &*self.region);
                self.host.handle(now, event, region, &mut reach, &mut HostPart(s), &mut self.said);
                self.heed(now, s, out);
            }
            Event::Device(device::Event::Decoded(tag)) if self.device.bypasses() => {
                self.device.skip(now, tag, &mut Part { s, tracks: self.tracks });
            }
            Event::Device(device::Event::Decoded(tag)) => {
                let request = self.device.run(tag);
                let tag = Tag(u32::from(tag));
                out.push(Output::Command { tag, io: self.io(tag), request });
            }
            Event::Device(device::Event::Arrived(tag)) => out.push(Output::Arrived { tag: Tag(u32::from(tag)) }),
            Event::Device(device::Event::Ended(tag)) => {
                let at = self.device.ended(now, &mut Part { s, tracks: self.tracks });
                s.at(Lane(STEP.0 + POST), at, Event::Step { step: POST, of: u32::from(tag) });
            }
            other => unreachable!("{other:?} on a path through a shared buffer"),
        }
    }

    /// The request that a command in the device is (part) of.
    fn io(&self, tag: Tag) -> u32 {
        match self.device.origin(tag) {
            (BOOT, _) => self.host.boot_io(),
            (queue, id) => self.host.piece(self.host.submitted(queue, id)).io,
        }
    }

    /// Does what the driver's words come to.
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

    /// A completion is prepared: it is posted, and the host told.
    fn post(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>) {
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

    /// Puts the payload of a command into its place in the data buffer. Returns which it is until it is emptied.
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

    /// Takes the payload of a command from its place in the data buffer.
    pub(super) fn take(&self, tag: Tag, data: &mut [u8]) {
        let extents = self.device.extents(tag);
        if let Some(each) = data.len().checked_div(extents.sectors() as usize) {
            copy_out(&self.region, &self.layout, extents, each, data);
        }
    }

    /// The payload that was moved out last.
    pub(super) fn emptied(&self) -> &[u8] {
        &self.outbox
    }

    /// What was counted.
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

/// What a path through a shared buffer counted.
#[derive(Clone, Debug)]
pub struct Report {
    /// The driver's counts.
    pub host: host::shared_buffer::Counts,
    /// Bytes that the host's DMA engine moved.
    pub dma_bytes: u64,
    /// Transfers that it made.
    pub dma_transfers: u64,
    /// Time that it was busy.
    pub dma_busy: Time,
    /// Bytes of a whole command.
    pub split_bytes: u64,
    /// Bytes of the data buffer.
    pub data_buffer_bytes: u64,
    /// Bytes of the whole region: queues, registers, data buffer.
    pub region_bytes: u64,
    /// The buffer's banks.
    pub banks: device::emulated_dram::BankStats,
    /// Completions that the device told the host of.
    pub interrupts: u64,
    /// Energy of the controller.
    pub energy: device::shared_buffer::ControllerEnergy,
    /// The memory channels.
    pub buses: Vec<BusReport>,
}

/// Number among the command's, and first word, of each sector of some extents.
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
