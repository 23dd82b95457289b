//! The front end of a device behind a shared buffer: its firmware's work per command (Seo et al., "Design and
//! Implementation of A Mobile Storage Leveraging the DRAM Interface", 4.2), with costs in cycles.
//!
//! The cores share all work, first come first served. The host interface layer (HIL) polls the submission queue,
//! fetches and interprets an entry, and later prepares a completion; the translation layer (FTL) looks up each unit;
//! the flash interface layer (FIL) handles each transfer with a chip. Only the costs of these layers are modeled here,
//! not their decisions. DMA moves data between data buffer and controller over the interconnect.

use ::shared_buffer::{
    Command as Entry, DeviceQueues, Extents, Fetched, Identity, Layout, Opcode, Region, SECTOR, Status as Wire, WORD,
};
use media::{Op, Request, SECTOR as BYTES, Status, Tag};
use sim::{Client, Energy, Part, Schedule, Time};

use crate::config::emulated::SharedBufferConfig;
use crate::emulated_dram::{EmulatedDram, EmulatedDramConfig};
use crate::engine::{Engine, index};
use crate::{ARRIVED, Config, DECODED, Event, Firmware, Output};

/// Energy of the controller by consumer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControllerEnergy {
    /// Constant consumption.
    pub always: Energy,
    /// Working cores.
    pub cores: Energy,
    /// Interface to the host.
    pub interface: Energy,
    /// Buffers and interconnect.
    pub buffer: Energy,
    /// ECC decoders.
    pub decode: Energy,
    /// ECC encoder.
    pub encode: Energy,
}

impl ControllerEnergy {
    /// Returns the total energy.
    pub fn total(&self) -> Energy {
        self.always + self.cores + self.interface + self.buffer + self.decode + self.encode
    }
}

/// The front end of a device behind a shared buffer.
#[derive(Debug)]
pub struct SharedBuffer {
    engine: Engine,
    queues: DeviceQueues,
    layout: Layout,
    config: SharedBufferConfig,
    bypass: bool,
    /// Set if the host is outside the simulation: the answer to Identify, and the limits of its commands.
    identity: Option<Identity>,
    /// The emulated DRAM.
    pub buffer: EmulatedDram,
    /// Free tags.
    free: Vec<u16>,
    /// By tag, what the engine does not know about a command.
    commands: Vec<FetchedCommand>,
    /// Number of interrupts sent.
    interrupts: u64,
}

#[derive(Clone, Copy, Debug)]
struct FetchedCommand {
    /// The place of its data.
    extents: Extents,
    /// Bytes of its data that have passed.
    passed: u64,
    queue: u16,
    /// Its id on the queue pair.
    id: u16,
    /// Time of its fetch.
    fetched: Time,
    /// Set if the interface layer answers it itself.
    answer: Option<Answer>,
}

/// The end of a command that does not reach the translation layer.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// The device's identity, in the command's sector.
    Identity,
    /// The reason why the entry is invalid.
    Refused(Wire),
}

/// Maximum number of sectors of a trim by a host outside the simulation: 1 GiB, so that the work per command is bounded.
pub const TRIM_SECTORS_MAX: u32 = 1 << 21;

/// Stands for the queue pair of a boot-mode window, which belongs to no queue.
pub const BOOT: u16 = u16::MAX;

const NOTHING: FetchedCommand =
    FetchedCommand { extents: Extents::NONE, passed: 0, queue: 0, id: 0, fetched: Time::ZERO, answer: None };

/// A posted completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posted {
    /// Its queue pair.
    pub queue: u16,
    /// True if the host is to be notified, by an interrupt if it waits for one.
    pub notify: bool,
}

impl SharedBuffer {
    /// Creates an idle device with a formatted `buffer`.
    ///
    /// # Panics
    /// Panics if the device is configured for no commands or more than 65,535.
    pub fn new(config: &Config, layout: &Layout, buffer: &EmulatedDramConfig) -> SharedBuffer {
        let own = &config.shared_buffer;
        // Decoding time is computed per command; completions are prepared once the data has passed.
        let none = Time::ZERO;
        let firmware = Firmware { read: none, write: none, trim: none, flush: none, complete: none, ..config.firmware };
        let engine = Engine::new(&Config { firmware, dram_bandwidth: None, ..config.clone() });
        SharedBuffer {
            free: (0..engine.capacity()).rev().collect(),
            commands: vec![NOTHING; engine.capacity() as usize],
            engine,
            queues: DeviceQueues::new(layout),
            layout: *layout,
            config: *own,
            bypass: config.bypass_flash,
            identity: None,
            buffer: EmulatedDram::new(buffer),
            interrupts: 0,
        }
    }

    /// Serves a host outside the simulation from now on, which identifies the device as `identity` and may send any
    /// command. The simulated driver needs no Identify and sends valid commands only.
    pub fn identify_as(&mut self, identity: Identity) {
        self.identity = Some(identity);
    }

    fn cycles(&self, cycles: u64) -> Time {
        Time::of_transfer(cycles, self.config.clock)
    }

    /// Fetches waiting commands while there is room; [`Event::Decoded`] follows for each.
    pub fn fetch<R: Region + ?Sized>(&mut self, now: Time, region: &R, s: &mut impl Schedule<Event>) {
        while let Some(&tag) = self.free.last() {
            let Some((queue, Fetched { id, command })) = self.queues.fetch(region) else { return };
            self.free.pop();
            let (request, extents, answer) = match command.and_then(|command| self.plan(&command)) {
                Ok(plan) => plan,
                Err(status) => (Request::flush(), Extents::NONE, Some(Answer::Refused(status))),
            };
            self.engine.admit(tag, queue, id, request);
            self.commands[tag as usize] = FetchedCommand { extents, passed: 0, queue, id, fetched: now, answer };
            // The words of the entry are loaded through the banks like all data.
            let words = 2 + extents.len() as u64;
            let loaded =
                self.buffer.controller(now, (self.layout.sq_entry(queue, 0) * WORD) as u64, words * WORD as u64);
            let c = &self.config.cycles;
            let mut cycles = c.fetch;
            if !self.bypass && answer.is_none() {
                let unit = u64::from(self.config.unit);
                let units = match request.op {
                    Op::Read | Op::Write => request.end().div_ceil(unit) - request.offset / unit,
                    _ => 1,
                };
                cycles += c.command + c.unit * units;
            }
            let length = self.cycles(cycles);
            let at = self.engine.work(loaded, length, (Client::Arriving(tag.into()), request.op.name()), s);
            s.at(DECODED, at, Event::Decoded(tag));
        }
    }

    /// Returns a command's request to the translation layer, the place of its data, and its answer if it has one
    /// already.
    fn plan(&self, command: &Entry) -> Result<(Request, Extents, Option<Answer>), Wire> {
        if let Some(identity) = &self.identity {
            let most = if command.opcode == Opcode::Trim { TRIM_SECTORS_MAX } else { identity.command_sectors_max };
            if command.sectors > most {
                return Err(Wire::InvalidField);
            }
            if command.opcode != Opcode::Identify && !command.within(identity.capacity_sectors) {
                return Err(Wire::OutOfRange);
            }
        }
        let op = match command.opcode {
            Opcode::Read => Op::Read,
            Opcode::Write => Op::Write,
            Opcode::Trim => Op::Trim,
            Opcode::Flush => Op::Flush,
            Opcode::Identify => return Ok((Request::flush(), command.extents, Some(Answer::Identity))),
        };
        let (offset, bytes) = (command.start * BYTES, u64::from(command.sectors) * BYTES);
        Ok((Request { fua: command.fua, ..Request::new(op, offset, bytes) }, command.extents, None))
    }

    /// Reads sectors into the data buffer in boot mode, starting at the buffer's first sector; [`Event::Decoded`]
    /// follows.
    ///
    /// # Panics
    /// Panics if there is any command, because boot mode ends with the first.
    pub fn boot(&mut self, now: Time, first: u64, sectors: u32, s: &mut impl Schedule<Event>) {
        assert!(self.free.len() == usize::from(self.engine.capacity()), "commands run in boot mode");
        let tag = self.free.pop().expect("it has a tag");
        let request = Request::new(Op::Read, first * BYTES, u64::from(sectors) * BYTES);
        self.engine.admit(tag, BOOT, 0, request);
        self.commands[tag as usize] =
            FetchedCommand { extents: Extents::one(0, sectors), queue: BOOT, fetched: now, ..NOTHING };
        let unit = u64::from(self.config.unit);
        let units = request.end().div_ceil(unit) - request.offset / unit;
        let c = &self.config.cycles;
        let at = self.engine.work(
            now,
            self.cycles(c.fetch + c.command + c.unit * units),
            (Client::Arriving(tag.into()), "boot"),
            s,
        );
        s.at(DECODED, at, Event::Decoded(tag));
    }

    /// Ends the command without executing it; [`Event::Ended`] follows.
    fn skip(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>) {
        self.engine.run(tag);
        self.engine.abandon(tag);
        let end = self.engine.complete(now, tag, Status::Ok, s);
        self.engine.end_at(tag, end, s);
    }

    /// Returns the command's queue pair and id.
    pub fn origin(&self, tag: Tag) -> (u16, u16) {
        let command = &self.commands[index(tag) as usize];
        (command.queue, command.id)
    }

    /// Returns the command's request to the translation layer; a flush if it has none.
    pub fn request(&self, tag: Tag) -> &Request {
        &self.engine.command(index(tag)).request
    }

    /// Returns the time at which the command was fetched.
    pub fn fetched(&self, tag: Tag) -> Time {
        self.commands[index(tag) as usize].fetched
    }

    /// Returns whether the command's entry is invalid.
    pub fn is_refused(&self, tag: Tag) -> bool {
        matches!(self.commands[index(tag) as usize].answer, Some(Answer::Refused(_)))
    }

    /// Returns whether the host has completions of a queue pair to take, according to its head register.
    pub fn is_pending<R: Region + ?Sized>(&mut self, queue: u16, region: &R) -> bool {
        self.queues.pair(queue).is_pending(region)
    }

    /// Returns the place of the command's data in the data buffer.
    pub fn extents(&self, tag: Tag) -> &Extents {
        &self.commands[index(tag) as usize].extents
    }

    /// Performs the firmware's and the DMA's work for `bytes` more of a command's data. Returns the time at which they
    /// have passed.
    fn pass(&mut self, now: Time, tag: u16, bytes: u64, s: &mut impl Schedule<Event>) -> Time {
        let pages = bytes.div_ceil(u64::from(self.config.page));
        let length = self.cycles(self.config.cycles.page * pages);
        let handled = self.engine.work(now, length, (Client::Command(tag.into()), "flash"), s);
        let command = &mut self.commands[tag as usize];
        let (mut skip, mut left, mut end) = (command.passed, bytes, handled);
        command.passed += bytes;
        for extent in command.extents.as_slice() {
            let run = u64::from(extent.sectors) * SECTOR as u64;
            if skip >= run {
                skip -= run;
                continue;
            }
            let here = (run - skip).min(left);
            let offset = (self.layout.db_sector(extent.index) * WORD) as u64 + skip;
            end = self.buffer.controller(end, offset, here);
            (skip, left) = (0, left - here);
            if left == 0 {
                break;
            }
        }
        assert!(left == 0, "{left} bytes beyond the extents of tag {tag}");
        end
    }

    /// Moves `bytes` more of a read's data to the data buffer.
    pub fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) {
        let tag = index(tag);
        self.engine.stage(now, tag, Op::Read, u64::from(bytes), s);
        let end = self.pass(now, tag, u64::from(bytes), s);
        self.engine.sent(tag, end);
    }

    /// Moves a write's data out of the data buffer; [`Event::Arrived`] follows.
    pub fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        let tag = index(tag);
        let bytes = self.engine.command(tag).request.bytes;
        self.engine.stage(now, tag, Op::Write, bytes, s);
        let end = self.pass(now, tag, bytes, s);
        s.at(ARRIVED, end, Event::Arrived(tag));
    }

    /// Ends the command in the translation layer; [`Event::Ended`] follows when a read's data is in the data buffer.
    pub fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) {
        let tag = index(tag);
        let end = self.engine.complete(now, tag, status, s);
        self.engine.end_at(tag, end, s);
    }

    /// Lets a core prepare the completion of the command `tag`, which has ended. Returns the time to post it.
    pub fn ended(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>) -> Time {
        let length = self.cycles(self.config.cycles.complete);
        self.engine.work(now, length, (Client::Command(tag.into()), "complete"), s)
    }

    /// Posts the completion of a command with status `wire`, unless the command was answered in the interface layer, and
    /// frees its tag.
    pub fn post<R: Region + ?Sized>(&mut self, now: Time, tag: u16, region: &R, wire: Wire) -> Posted {
        self.engine.release(tag);
        let FetchedCommand { queue, id, extents, answer, .. } =
            std::mem::replace(&mut self.commands[tag as usize], NOTHING);
        self.free.push(tag);
        if queue == BOOT {
            return Posted { queue, notify: true };
        }
        let wire = match (answer, &self.identity) {
            (Some(Answer::Refused(status)), _) => status,
            (Some(Answer::Identity), None) => Wire::InvalidOpcode,
            (Some(Answer::Identity), Some(identity)) => {
                region.write(self.layout.db_sector(extents.as_slice()[0].index), &identity.encode());
                wire
            }
            (None, _) => wire,
        };
        let pair = self.queues.pair(queue);
        pair.post(region, id, wire);
        let notify = pair.notify(region);
        // Store the entry and the status register.
        let end = self.buffer.controller(now, (self.layout.cq_entry(queue, 0) * WORD) as u64, WORD as u64);
        self.buffer.controller(end, (self.layout.status(queue) * WORD) as u64, WORD as u64);
        self.interrupts += u64::from(notify);
        Posted { queue, notify }
    }

    /// Returns the status of a command.
    pub fn status(&self, tag: u16) -> Status {
        self.engine.command(tag).status
    }

    /// Returns the number of commands in the controller.
    pub fn outstanding(&self) -> u32 {
        u32::from(self.engine.capacity()) - self.free.len() as u32
    }

    /// Returns the number of interrupts sent.
    pub fn interrupts(&self) -> u64 {
        self.interrupts
    }

    /// Returns the energy drawn from time zero until `now`, given the bytes that the decoders and the encoder have
    /// processed.
    pub fn energy(&self, now: Time, decoded: u64, encoded: u64) -> ControllerEnergy {
        let (power, stats) = (&self.config.power, self.buffer.stats(now));
        let line = u64::from(self.buffer.line());
        let cores = self.engine.busy(now).into_iter().fold(Time::ZERO, |sum, (_, busy)| sum + busy);
        ControllerEnergy {
            always: Energy::of_power(power.always_uw, now),
            cores: Energy::of_power(power.core_uw, cores),
            interface: Energy::from_pj(power.interface_pj * line * stats.host_lines),
            buffer: Energy::from_pj(power.buffer_pj * line * stats.accesses),
            decode: Energy::from_pj(power.decode_pj * decoded),
            encode: Energy::from_pj(power.encode_pj * encoded),
        }
    }

    /// Returns the names of the timeline's rows.
    pub fn tracks(&self) -> Vec<String> {
        self.engine.tracks()
    }

    /// Returns the busy times until `now` of every core and of the controller's side of the buffer.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        let mut busy = self.engine.busy(now);
        busy.push(("buffer".to_owned(), self.buffer.stats(now).busy));
        busy
    }

    /// Drops all commands and starts the queues again over a newly formatted region.
    pub fn power_cut(&mut self, now: Time) {
        self.engine.power_cut(now);
        self.buffer.power_cut(now);
        self.queues = DeviceQueues::new(&self.layout);
        self.free = (0..self.engine.capacity()).rev().collect();
        self.commands.fill(NOTHING);
    }
}

impl Part for SharedBuffer {
    type Event = Event;
    type Output = Option<Output>;

    fn handle(&mut self, now: Time, event: Event, s: &mut impl Schedule<Event>, out: &mut Option<Output>) {
        match event {
            Event::Decoded(tag) if self.bypass || self.commands[tag as usize].answer.is_some() => {
                self.skip(now, tag, s);
            }
            Event::Decoded(tag) => {
                let (queue, cid) = self.origin(Tag(u32::from(tag)));
                *out = Some(Output::Command { tag, queue, cid, request: self.engine.run(tag).request });
            }
            Event::Arrived(tag) => *out = Some(Output::Arrived(tag)),
            Event::Ended(tag) => {
                let length = self.cycles(self.config.cycles.complete);
                let at = self.engine.work(now, length, (Client::Command(tag.into()), "complete"), s);
                *out = Some(Output::Ended { tag, at });
            }
            Event::Fetched(_) | Event::Listed(_) | Event::Coalesced { .. } => {
                unreachable!("{event:?} of a controller behind a shared buffer")
            }
        }
    }
}
