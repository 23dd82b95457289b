//! The flash array in virtual time: channels and dies as resources, operations through them.
//!
//! A read is: its command on the channel, the array, its data on the channel, perhaps decoding. A program is: its
//! command and data on the channel, the array. An erase is: its command, the array. Whoever finds a resource free
//! takes it at once and only its end becomes an event, so that an unloaded read has two and a program one. Who finds
//! the channel taken waits in one of its lists; an event at the channel's release exists only then.
//!
//! Without cache reads a die holds its register until the data have left it, and starts nothing before.

use media::{Class, EraseOp, OpId, PageAddr, ProgramOp, ReadOp, Status};
use sim::{Energy, Lane, Schedule, Streams, Time, Track};

use crate::channel::{COMMANDS, Channel, DATA, READ_DATA};
use crate::config::{Config, Policy};
use crate::die::{Die, Phase};
use crate::hazards::{Hazards, mark_factory_bad};
use crate::log::{LogEntry, Step};
use crate::op::{Done, HOST, Kind, MAP, NONE, Op, Ops, REST};
use crate::store::Store;

/// Something that ends at a time: handed back to [`Nand::handle`] then. After a power cut those under way must not be
/// handed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The array of a die ends what it did, unless that was suspended meanwhile.
    Array(u16),
    /// The data of a read have left their die through this channel.
    Transfer(u16),
    /// A channel is free, and somebody waits for it.
    Wake(u16),
    /// A die that was asked for a suspension before its array began has begun.
    Suspend(u16),
    /// The data of a read are decoded.
    Decoded(OpId),
}

/// Page types: those of the cell, and SLC mode.
const TYPES: usize = 5;
const SLC_TYPE: usize = 4;

/// Which events follow one another in time.
pub(crate) mod lane {
    pub const READ: u8 = 0;
    pub const PROGRAM: u8 = 5;
    pub const ERASE: u8 = 10;
    pub const SUSPEND: u8 = 11;
    pub const TRANSFER: u8 = 12;
    pub const WAKE: u8 = 13;
    pub const DECODED: u8 = 14;
}

/// Simulated flash chips.
pub struct Nand {
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) ops: Ops,
    pub(crate) dies: Vec<Die>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) hazards: Hazards,
    pub(crate) log: Option<Vec<LogEntry>>,
    /// Energy of array reads, programs and erases.
    pub(crate) energy: [Energy; 3],
    /// Type of each page of a block.
    types: Vec<u8>,
    read_time: [Time; TYPES],
    program_time: [Time; TYPES],
    page_transfer: Time,
    page_bytes: u64,
    /// Blocks of a plane, and of a die.
    plane_blocks: usize,
    die_blocks: usize,
    slc_pages: u32,
    planes_mask: u16,
}

impl Nand {
    /// Lanes its events use.
    pub const LANES: usize = 15;

    /// Fresh flash.
    ///
    /// # Panics
    /// If the configuration has a [`fault`](Config::fault).
    pub fn new(config: &Config, streams: &Streams) -> Nand {
        assert_eq!(config.fault(), None);
        let mut store = Store::new(&config.geometry, config.payload, config.order, config.buffers);
        mark_factory_bad(&mut store, &config.wear, streams);
        Nand::with_store(config, streams, store)
    }

    /// Flash as it was left: in an earlier life, or loaded from an image.
    ///
    /// # Panics
    /// If the configuration has a [`fault`](Config::fault), or the store another geometry, payload or order.
    pub fn with_store(config: &Config, streams: &Streams, mut store: Store) -> Nand {
        assert_eq!(config.fault(), None);
        assert_eq!(
            (store.geometry(), store.payload(), store.order()),
            (&config.geometry, config.payload, config.order),
            "the store is of another flash"
        );
        if config.errors.is_some() {
            store.count_reads();
        }
        let hazards = Hazards::new(config, streams, &store);
        let (g, t) = (config.geometry, config.timing);
        let bits = config.cell.bits();
        let mut read_time = [t.slc_read; TYPES];
        read_time[..4].copy_from_slice(&t.read);
        let mut program_time = [t.slc_program; TYPES];
        program_time[..4].copy_from_slice(&t.program);
        Nand {
            store,
            ops: Ops::default(),
            dies: (0..g.all_dies()).map(|die| Die::new(g.channel_of(die as u16))).collect(),
            channels: vec![Channel::new(); g.channels as usize],
            hazards,
            log: None,
            energy: [Energy::ZERO; 3],
            types: (0..g.pages).map(|page| (page % bits) as u8).collect(),
            read_time,
            program_time,
            page_transfer: Time::of_transfer(u64::from(g.page_bytes), t.transfers_per_s),
            page_bytes: u64::from(g.page_bytes),
            plane_blocks: g.blocks as usize,
            die_blocks: g.blocks as usize * g.planes as usize,
            slc_pages: g.pages / bits,
            planes_mask: ((1u32 << g.planes) - 1) as u16,
            config: *config,
        }
    }

    /// What it was made of.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The contents.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The contents, to be changed by what is done.
    #[inline]
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// The contents alone: what is left when the power is off.
    pub fn into_store(self) -> Store {
        self.store
    }

    /// Rows of the timeline as (group, name): each channel, then each die.
    pub fn tracks(&self) -> Vec<(String, String)> {
        let g = &self.config.geometry;
        let channels = (0..g.channels).map(|c| ("flash channels".to_owned(), format!("channel {c}")));
        let dies = (0..g.all_dies()).map(|d| {
            let (channel, chip, die) = (d / (g.chips * g.dies), d / g.dies % g.chips, d % g.dies);
            ("flash dies".to_owned(), format!("die {d} (channel {channel}, chip {chip}, die {die})"))
        });
        channels.chain(dies).collect()
    }

    /// Keeps a log of every step from now on; grows without bound.
    pub fn keep_log(&mut self) {
        self.log.get_or_insert_default();
    }

    /// The log since the last call; empty if none is kept.
    pub fn take_log(&mut self) -> Vec<LogEntry> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Asks for a read.
    ///
    /// # Panics
    /// If its address or its bytes do not fit the flash, or its id is in use.
    #[inline]
    pub fn submit_read<S: Schedule<Event>>(&mut self, now: Time, op: ReadOp, s: &mut S) {
        self.check(op.page);
        assert!(
            u64::from(op.bytes) <= u64::from(op.page.planes.count()) * self.page_bytes,
            "{} bytes of {:?}",
            op.bytes,
            op.page
        );
        let queue = match (self.config.scheduling.policy, op.class) {
            (Policy::ReadsFirst, Class::Host) => HOST,
            (Policy::ReadsFirst, Class::Map) => MAP,
            _ => REST,
        };
        self.submit(now, op.id, Op { bytes: op.bytes, ..Op::new(Kind::Read, op.page, queue) }, s);
    }

    /// Asks for a program.
    ///
    /// # Panics
    /// If its address does not fit the flash (in SLC mode a block has fewer pages), or its id is in use.
    #[inline]
    pub fn submit_program<S: Schedule<Event>>(&mut self, now: Time, op: ProgramOp, s: &mut S) {
        self.check(op.page);
        assert!(!op.slc || op.page.page < self.slc_pages, "{:?} of {} pages in SLC mode", op.page, self.slc_pages);
        self.submit(now, op.id, Op { slc: op.slc, ..Op::new(Kind::Program, op.page, REST) }, s);
    }

    /// Asks for an erase.
    ///
    /// # Panics
    /// If its address does not fit the flash, or its id is in use.
    #[inline]
    pub fn submit_erase<S: Schedule<Event>>(&mut self, now: Time, op: EraseOp, s: &mut S) {
        let erase = Op::of_erase(&op, REST);
        self.check(erase.address());
        self.submit(now, op.id, erase, s);
    }

    #[inline]
    fn check(&self, page: PageAddr) {
        assert!(
            (page.die as usize) < self.dies.len()
                && (page.block as usize) < self.plane_blocks
                && (page.page as usize) < self.types.len()
                && page.planes.0 != 0
                && page.planes.0 & !self.planes_mask == 0,
            "{page:?} is not in {:?}",
            self.config.geometry
        );
    }

    #[inline]
    fn submit<S: Schedule<Event>>(&mut self, now: Time, id: OpId, op: Op, s: &mut S) {
        let (die, queue) = (op.die as usize, op.queue as usize);
        self.ops.put(id, op);
        self.dies[die].queues[queue].push_back(&mut self.ops, id.0);
        self.advance(now, die, s);
        if queue != REST && !self.dies[die].queues[queue].is_empty() {
            self.consider_suspension(now, die, s);
        }
    }

    /// An event has come. Operations that end with it are appended to `done`.
    #[inline]
    pub fn handle<S: Schedule<Event>>(&mut self, now: Time, event: Event, s: &mut S, done: &mut Vec<Done>) {
        match event {
            Event::Array(die) => self.array_end(now, die as usize, s, done),
            Event::Transfer(channel) => self.transfer_end(now, channel as usize, s, done),
            Event::Wake(channel) => self.grant(now, channel as usize, s),
            Event::Suspend(die) => {
                self.dies[die as usize].suspend_asked = false;
                self.consider_suspension(now, die as usize, s);
            }
            Event::Decoded(id) => {
                let die = self.ops[id.0].die as usize;
                if self.conclude_read(id.0, done) {
                    self.advance(now, die, s);
                    self.consider_suspension(now, die, s);
                }
            }
        }
    }

    /// Which waiting operation a die starts next, if it can start it now: (its queue, the operation).
    #[inline]
    fn pick(&self, d: &Die) -> Option<(usize, u32)> {
        let [host, map, rest] = d.queues.map(|q| q.head);
        let (mut queue, mut id) = (REST, rest);
        if host & map != NONE {
            // Of two heads one is an operation. The rest has its turn once enough reads have gone ahead of it.
            let rest_waits = rest != NONE || d.suspended != NONE;
            if !(rest_waits && d.overtaken >= self.config.scheduling.overtakes_max) {
                (queue, id) = if host != NONE { (HOST, host) } else { (MAP, map) };
            }
        }
        if id == NONE {
            return None;
        }
        let kind = self.ops[id].kind;
        let scheduling = &self.config.scheduling;
        let can = match d.phase {
            // What is suspended comes before the rest.
            Phase::Idle if queue == REST && d.suspended != NONE => false,
            Phase::Idle => d.out == NONE || (scheduling.cache_read && kind == Kind::Read),
            Phase::Busy => {
                scheduling.cache_program
                    && kind == Kind::Program
                    && d.input == NONE
                    && d.out == NONE
                    && self.ops[d.array].kind == Kind::Program
            }
            Phase::Suspending | Phase::Holding => false,
        };
        can.then_some((queue, id))
    }

    /// Starts what a die can start, or has it wait for its channel.
    #[inline]
    pub(crate) fn advance<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        loop {
            let d = &self.dies[die];
            let Some((queue, id)) = self.pick(d) else {
                if d.suspended == NONE || d.phase != Phase::Idle || d.out != NONE {
                    return;
                }
                self.resume(now, die, s);
                continue;
            };
            let kind = self.ops[id].kind;
            if !self.channels[d.channel as usize].is_free(now) {
                return self.wait(now, die, if kind == Kind::Program { DATA } else { COMMANDS }, s);
            }
            self.start(now, die, queue, id, s);
            // Only another program may follow at once, into the cache register.
            if kind != Kind::Program || !self.config.scheduling.cache_program {
                return;
            }
        }
    }

    /// `die` waits for its channel; an event at the channel's release is made if none is on its way.
    #[inline]
    fn wait<S: Schedule<Event>>(&mut self, now: Time, die: usize, list: usize, s: &mut S) {
        let number = self.dies[die].channel;
        let channel = &mut self.channels[number as usize];
        channel.enlist(&mut self.dies, die as u32, list);
        if channel.event_at < channel.free_at {
            debug_assert!(channel.free_at > now);
            channel.event_at = channel.free_at;
            s.at(Lane(lane::WAKE), channel.free_at, Event::Wake(number as u16));
        }
    }

    /// Gives a channel to who waits for it, until it is taken.
    #[inline]
    fn grant<S: Schedule<Event>>(&mut self, now: Time, number: usize, s: &mut S) {
        while self.channels[number].waiting != 0 && self.channels[number].is_released(now) {
            let (list, die) = self.channels[number].next(&mut self.dies, &self.config.scheduling);
            let d = &self.dies[die as usize];
            if list != COMMANDS && d.out != NONE {
                self.transfer(now, die as usize, s);
            } else if let Some((queue, id)) = self.pick(d) {
                // What was to be started when the die began to wait may have been overtaken by something else. A
                // program waits in its own list; a command goes now.
                if list == COMMANDS && self.ops[id].kind == Kind::Program {
                    self.channels[number].enlist(&mut self.dies, die, DATA);
                } else {
                    self.start(now, die as usize, queue, id, s);
                    self.advance_behind(now, die as usize, s);
                }
            }
        }
        let channel = &mut self.channels[number];
        if channel.waiting != 0 && channel.event_at < channel.free_at {
            channel.event_at = channel.free_at;
            s.at(Lane(lane::WAKE), channel.free_at, Event::Wake(number as u16));
        }
    }

    /// After a start out of the channel's lists: a program may follow into the cache register.
    #[inline]
    fn advance_behind<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        if self.config.scheduling.cache_program && self.pick(&self.dies[die]).is_some() {
            self.wait(now, die, DATA, s);
        }
    }

    /// Starts the operation `id`, the first of its queue, on a die that can and a channel that is free.
    #[inline]
    fn start<S: Schedule<Event>>(&mut self, now: Time, die: usize, queue: usize, id: u32, s: &mut S) {
        let d = &mut self.dies[die];
        d.queues[queue].pop(&self.ops);
        if queue == REST {
            d.overtaken = 0;
        } else {
            d.overtaken += u32::from(!d.queues[REST].is_empty() || d.suspended != NONE);
        }
        let op = &mut self.ops[id];
        let planes = u64::from(op.planes.count());
        let t = &self.config.timing;
        let (step, command, data, array, lane);
        match op.kind {
            Kind::Read => {
                let plane = op.planes.0.trailing_zeros() as usize;
                let block = die * self.die_blocks + plane * self.plane_blocks + op.block as usize;
                let slc = self.store.is_slc(block);
                op.slc = slc;
                if (self.hazards.reads || self.store.has_torn()) && !op.faced {
                    self.hazards.face_read(now, op, &mut self.store);
                }
                let kind = if slc { SLC_TYPE } else { self.types[op.page as usize] as usize };
                (step, command, data) = (Step::Command, t.read_command * planes, Time::ZERO);
                (array, lane) = (self.read_time[kind], lane::READ + kind as u8);
            }
            Kind::Program => {
                let kind = if op.slc { SLC_TYPE } else { self.types[op.page as usize] as usize };
                data = self.page_transfer * planes;
                (step, command) = (Step::DataIn, t.program_command * planes);
                (array, lane) = (self.program_time[kind], lane::PROGRAM + kind as u8);
            }
            Kind::Erase => {
                let plane = op.planes.0.trailing_zeros() as usize;
                let block = die * self.die_blocks + plane * self.plane_blocks + op.block as usize;
                (step, command, data) = (Step::Command, t.erase_command * planes, Time::ZERO);
                array = if self.store.is_slc(block) { t.slc_erase } else { t.erase };
                lane = lane::ERASE;
            }
        }
        let begin = now + command + data;
        let channel = &mut self.channels[d.channel as usize];
        channel.take(now, begin, data);
        if step == Step::DataIn {
            channel.stats.bytes_in += self.page_bytes * planes;
        }
        let track = Track(d.channel);
        if d.phase == Phase::Busy {
            (d.input, d.input_ready) = (id, begin);
        } else {
            (d.array, d.phase, d.begin, d.end) = (id, Phase::Busy, begin, begin + array);
            s.at(Lane(lane), d.end, Event::Array(die as u16));
        }
        s.span(track, if step == Step::DataIn { "data in" } else { "command" }, now, begin);
        self.note(id, step, now, begin);
    }

    /// The data of the read that a die holds leave it. The channel is free.
    #[inline]
    fn transfer<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        let d = &self.dies[die];
        let (id, number) = (d.out, d.channel);
        let bytes = u64::from(self.ops[id].bytes);
        let time = Time::from_ps((bytes * 1_000_000_000_000).div_ceil(self.config.timing.transfers_per_s));
        let channel = &mut self.channels[number as usize];
        let end = now + time;
        channel.take(now, end, time);
        channel.stats.bytes_out += bytes;
        channel.event_at = end;
        channel.moving = die as u32;
        s.at(Lane(lane::TRANSFER), end, Event::Transfer(number as u16));
        s.span(Track(number), "data out", now, end);
        self.note(id, Step::DataOut, now, end);
    }

    /// The data that a die holds ask for its channel.
    #[inline]
    fn data_ready<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        let d = &self.dies[die];
        if self.channels[d.channel as usize].is_free(now) {
            self.transfer(now, die, s);
        } else {
            let urgent = (self.ops[d.out].queue as usize) < REST;
            self.wait(now, die, if urgent { READ_DATA } else { DATA }, s);
        }
    }

    #[inline]
    fn transfer_end<S: Schedule<Event>>(&mut self, now: Time, number: usize, s: &mut S, done: &mut Vec<Done>) {
        let channel = &mut self.channels[number];
        let die = channel.moving as usize;
        assert!(channel.moving != NONE && channel.free_at == now, "no transfer of channel {number} ends at {now}");
        channel.moving = NONE;
        let d = &mut self.dies[die];
        let id = d.out;
        d.stats.holding += now - d.out_since;
        d.out = NONE;
        if d.phase == Phase::Holding {
            (d.out, d.out_since) = (d.array, now);
            (d.array, d.phase) = (NONE, Phase::Idle);
            let urgent = (self.ops[d.out].queue as usize) < REST;
            self.channels[number].enlist(&mut self.dies, die as u32, if urgent { READ_DATA } else { DATA });
        }
        let decode = self.config.ecc.decode;
        if decode == Time::ZERO {
            self.conclude_read(id, done);
        } else {
            s.at(Lane(lane::DECODED), now + decode, Event::Decoded(OpId(id)));
        }
        self.advance(now, die, s);
        self.grant(now, number, s);
    }

    /// A read was decoded: it is done, or goes once more (then true).
    #[inline]
    fn conclude_read(&mut self, id: u32, done: &mut Vec<Done>) -> bool {
        let op = &mut self.ops[id];
        if op.retries != 0 {
            op.retries -= 1;
            let d = &mut self.dies[op.die as usize];
            let queue = op.queue as usize;
            d.stats.retries += 1;
            d.queues[queue].push_front(&mut self.ops, id);
            return true;
        }
        op.active = false;
        let status = if op.lost { Status::Uncorrectable } else { Status::Ok };
        done.push(Done { id: OpId(id), status, kind: Kind::Read });
        false
    }

    #[inline]
    fn array_end<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S, done: &mut Vec<Done>) {
        let d = &mut self.dies[die];
        // What was suspended left its old event behind. If something else ends at that same time, either event serves.
        if d.end != now || !matches!(d.phase, Phase::Busy | Phase::Suspending) {
            return;
        }
        let (id, begin) = (d.array, d.begin);
        if d.phase == Phase::Suspending {
            (d.suspended, d.array, d.phase) = (id, NONE, Phase::Idle);
            self.account(die, id, begin, now, s);
            return self.advance(now, die, s);
        }
        let kind = self.ops[id].kind;
        if kind == Kind::Read {
            d.stats.reads += 1;
            if d.out == NONE {
                (d.out, d.out_since) = (id, now);
                (d.array, d.phase) = (NONE, Phase::Idle);
                self.account(die, id, begin, now, s);
                if self.config.scheduling.cache_read {
                    // The command of the next read goes ahead of these data.
                    self.advance(now, die, s);
                }
                return self.data_ready(now, die, s);
            }
            d.phase = Phase::Holding;
            return self.account(die, id, begin, now, s);
        }
        (d.array, d.phase) = (NONE, Phase::Idle);
        d.overtaken = 0;
        let next = d.input;
        if next != NONE {
            let begin = now.max(d.input_ready);
            let op = &self.ops[next];
            let kind = if op.slc { SLC_TYPE } else { self.types[op.page as usize] as usize };
            d.input = NONE;
            (d.array, d.phase, d.begin, d.end) = (next, Phase::Busy, begin, begin + self.program_time[kind]);
            s.at(Lane(lane::PROGRAM + kind as u8), d.end, Event::Array(die as u16));
        }
        self.account(die, id, begin, now, s);
        self.conclude_write(now, die, id, kind, done);
        self.advance(now, die, s);
        if next != NONE {
            self.consider_suspension(now, die, s);
        }
    }

    #[inline]
    fn conclude_write(&mut self, now: Time, die: usize, id: u32, kind: Kind, done: &mut Vec<Done>) {
        let stats = &mut self.dies[die].stats;
        let op = &mut self.ops[id];
        op.active = false;
        let fails = if kind == Kind::Program {
            stats.programs += 1;
            let age = self.hazards.clock_s(now);
            self.store.set_clock_s(age);
            self.hazards.writes && self.hazards.program_fails(op, &self.store)
        } else {
            stats.erases += 1;
            self.hazards.writes && self.hazards.erase_fails(op, &self.store)
        };
        let status = if fails { Status::Failed } else { Status::Ok };
        done.push(Done { id: OpId(id), status, kind });
    }

    /// The array of a die worked for an operation: time and energy of the same event.
    #[inline]
    pub(crate) fn account<S: Schedule<Event>>(&mut self, die: usize, id: u32, from: Time, to: Time, s: &mut S) {
        let name = self.spend(die, id, from, to);
        s.span(Track(self.channels.len() as u32 + die as u32), name, from, to);
        self.note(id, Step::Array, from, to);
    }

    #[inline]
    pub(crate) fn spend(&mut self, die: usize, id: u32, from: Time, to: Time) -> &'static str {
        let (span, stats, power) = (to - from, &mut self.dies[die].stats, &self.config.power);
        let op = &self.ops[id];
        let (power, name) = match op.kind {
            Kind::Read => {
                stats.reading += span;
                (power.read_uw, "read")
            }
            Kind::Program => {
                stats.programming += span;
                (power.program_uw, "program")
            }
            Kind::Erase => {
                stats.erasing += span;
                (power.erase_uw, "erase")
            }
        };
        self.energy[op.kind as usize] += Energy::of_power(power * u64::from(op.planes.count()), span);
        name
    }

    #[inline]
    fn note(&mut self, id: u32, step: Step, from: Time, to: Time) {
        if let Some(log) = &mut self.log {
            let op = &self.ops[id];
            log.push(LogEntry { id: OpId(id), kind: op.kind, step, die: op.die, from, to });
        }
    }
}
