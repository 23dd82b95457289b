//! The flash array in virtual time: channels and dies as resources, operations through them.
//!
//! A read consists of its command on the channel, the array's work, its data on the channel, and possibly decoding. A
//! program consists of command and data on the channel, and the array's work; an erase of its command and the array's
//! work. An operation that finds a resource free occupies it at once, and only the end becomes an event: an unloaded
//! read has two events, a program one. An operation that finds the channel busy waits in one of its lists, and then the
//! channel's release is an event.
//!
//! Without cache reads, a die's register is busy until its data has left, and the die starts nothing before.

use media::{EraseOp, OpId, PageAddr, ProgramOp, ReadOp, Status};
use sim::{Dense, Energy, Part, Schedule, Streams, Time};

use crate::channel::Channel;
use crate::config::Config;
use crate::die::{Die, NOWHERE};
use crate::log::Log;
use crate::reliability::ecc::Engines;
use crate::reliability::hazards::{Hazards, mark_factory_bad};
use crate::schedule::budget::ProgramBudget;
use crate::schedule::independent::Independent;
use crate::schedule::op::{Done, Op, OpKind, Ops, Outcome, REST};
use crate::store::Store;
use crate::tables::Tables;

/// An event, to be passed to [`Nand::handle`] at its time, unless a power cut came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The array of a die ends its work, unless that was suspended meanwhile.
    Array(u16),
    /// The data of a read has left its die through this channel.
    Transfer(u16),
    /// A channel is free, and a die waits for it.
    Wake(u16),
    /// The array has begun an operation that is to be suspended.
    Suspend(u16),
    /// The data of a read is decoded.
    Decoded(OpId),
}

/// The placeholder in an empty event queue.
impl Default for Event {
    fn default() -> Event {
        Event::Array(u16::MAX)
    }
}

/// Lanes of events that are ordered in time.
pub(crate) mod lane {
    pub const READ: u8 = 0;
    pub const PROGRAM: u8 = 6;
    pub const ERASE: u8 = 12;
    pub const SUSPEND: u8 = 13;
    pub const TRANSFER: u8 = 14;
    pub const WAKE: u8 = 15;
    pub const DECODED: u8 = 16;
}

/// Simulated flash chips.
pub struct Nand {
    pub(crate) tables: Tables,
    pub(crate) ops: Ops,
    pub(crate) dies: Dense<Die>,
    pub(crate) channels: Dense<Channel>,
    pub(crate) store: Store,
    pub(crate) hazards: Hazards,
    pub(crate) log: Log,
    /// The time until which the store's clock, in seconds, is right.
    pub(crate) second_ends: Time,
    pub(crate) ecc: Engines,
    /// Energy of array reads, programs and erases; for reads only that of planes beyond the first, since the dies'
    /// reading times give the rest.
    pub(crate) energy: [Energy; 3],
    /// State of independent plane reads.
    pub(crate) independent: Independent,
    pub(crate) budget: ProgramBudget,
    pub(crate) config: Config,
}

impl Nand {
    /// Number of event lanes.
    pub const LANES: usize = 17;

    /// Creates fresh flash.
    ///
    /// # Panics
    /// If the configuration has a [`fault`](Config::fault).
    pub fn new(config: &Config, streams: &Streams) -> Nand {
        assert_eq!(config.fault(), None);
        let mut store = Store::new(&config.geometry, config.payload, config.order, config.buffers);
        store.set_all_erases(config.cycles);
        mark_factory_bad(&mut store, config, streams);
        Nand::with_store(config, streams, store)
    }

    /// Takes over used flash: from an earlier instance, or loaded from an image.
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
        if config.modes {
            store.count_modes();
        }
        let g = &config.geometry;
        let mut all: Vec<Die> = (0..g.all_dies()).map(|die| Die::new(g.channel_of(die as u16))).collect();
        let independent = Independent::new(config, &mut all);
        let tables = Tables::new(config, streams.stream("nand.variation").bits());
        // More entries follow those of the dies if planes read independently.
        assert!(tables.dies <= all.len(), "{} dies of a table of {}", tables.dies, all.len());
        let dies = Dense::new(all);
        let channels = Dense::new(vec![Channel::new(); g.channels as usize]);
        Nand {
            tables,
            ops: Ops::new(),
            dies,
            channels,
            hazards: Hazards::new(config, streams, &store),
            store,
            log: Log::default(),
            second_ends: Time::ZERO,
            ecc: Engines::new(&config.ecc),
            energy: [Energy::ZERO; 3],
            independent,
            budget: ProgramBudget::new(config.scheduling.programs_max),
            config: *config,
        }
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the contents.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the contents for changes by completed operations.
    #[inline]
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Returns the contents alone, as after a power cut.
    pub fn into_store(self) -> Store {
        self.store
    }

    /// Returns the timeline's rows as (group, name): each channel, each die, each independently reading plane.
    pub fn tracks(&self) -> Vec<(String, String)> {
        let g = &self.config.geometry;
        let channels = (0..g.channels).map(|c| ("flash channels".to_owned(), format!("channel {c}")));
        let dies = (0..g.all_dies()).map(|d| {
            let (channel, chip, die) = (d / (g.chips * g.dies), d / g.dies % g.chips, d % g.dies);
            ("flash dies".to_owned(), format!("die {d} (channel {channel}, chip {chip}, die {die})"))
        });
        channels.chain(dies).chain(self.independent.tracks()).collect()
    }

    /// Returns the number of operations waiting for the die, or for the limit of programs, or running on it.
    pub fn die_load(&self, die: u16) -> u32 {
        let d = &self.dies[die as usize];
        d.load + d.held_back
    }

    /// Logs every step from now on; the log grows without bound.
    pub fn keep_log(&mut self) {
        self.log.keep();
    }

    /// Returns the log since the last call; empty if disabled.
    pub fn take_log(&mut self) -> Vec<crate::LogEntry> {
        self.log.take()
    }

    /// Submits a read.
    ///
    /// # Panics
    /// If its address or size does not fit the flash, or its id is in use.
    #[inline(always)]
    pub fn submit_read<S: Schedule<Event>>(&mut self, now: Time, op: ReadOp, s: &mut S) {
        let planes = self.check(op.page);
        let bytes = u64::from(op.bytes);
        if bytes > self.tables.page_bytes && bytes > planes * self.tables.page_bytes {
            self.refuse(op.page, op.bytes);
        }
        let queue = self.tables.read_queues[op.class as usize];
        let bytes = self.tables.whole_codewords(op.bytes, planes);
        *self.ops.place(op.id) = Op { bytes, ..Op::new(OpKind::Read, op.page, planes, queue) };
        // SAFETY: `check` has found the die, and the table has all dies (asserted at construction).
        unsafe { self.enter(now, op.id, (op.page.die, queue, OpKind::Read), s) };
    }

    /// Submits a read of `op.bytes` bytes from byte `from` of the page on, of flash whose pages span several pages of the
    /// dies. Only those that hold these bytes are sensed.
    ///
    /// # Panics
    /// If its address or size does not fit the flash, or its id is in use.
    pub fn submit_part<S: Schedule<Event>>(&mut self, now: Time, op: ReadOp, from: u32, s: &mut S) {
        let planes = self.check(op.page);
        let page_bytes = self.tables.page_bytes / u64::from(self.tables.span.pages);
        let sensed = self.tables.span.sensed(from, op.bytes, page_bytes as u32);
        if u64::from(sensed.first + sensed.count) > planes * u64::from(self.tables.span.pages) {
            self.refuse(op.page, op.bytes);
        }
        let queue = self.tables.read_queues[op.class as usize];
        let bytes = self.tables.whole_codewords(op.bytes, planes);
        let read = self.ops.place(op.id);
        *read = Op { bytes, ..Op::new(OpKind::Read, op.page, planes, queue) };
        if u64::from(sensed.count) < planes * u64::from(self.tables.span.pages) {
            read.read_part(sensed);
        }
        // SAFETY: `check` has found the die, and the table has all dies (asserted at construction).
        unsafe { self.enter(now, op.id, (op.page.die, queue, OpKind::Read), s) };
    }

    /// Submits a program. It waits while as many as [`programs_max`](crate::Scheduling::programs_max) are under way.
    ///
    /// # Panics
    /// If its address does not fit the flash (in SLC mode a block has fewer pages), or its id is in use.
    #[inline]
    pub fn submit_program<S: Schedule<Event>>(&mut self, now: Time, op: ProgramOp, s: &mut S) {
        let planes = self.check(op.page);
        if op.slc && op.page.page >= self.tables.slc_pages {
            self.refuse(op.page, 0);
        }
        *self.ops.place(op.id) = Op { slc: op.slc, ..Op::new(OpKind::Program, op.page, planes, REST as u8) };
        if self.budget.begins(op.id) {
            // SAFETY: `check` has found the die, and the table has all dies (asserted at construction).
            unsafe { self.enter(now, op.id, (op.page.die, REST as u8, OpKind::Program), s) };
        } else {
            self.dies[op.page.die as usize].held_back += 1;
        }
    }

    /// Lets the program `id` begin, which waited for another one to end.
    pub(crate) fn begin_held_back<S: Schedule<Event>>(&mut self, now: Time, id: OpId, s: &mut S) {
        let Op { die, queue, kind, .. } = self.ops[id.0];
        self.dies[die as usize].held_back -= 1;
        // SAFETY: the die was found just now.
        unsafe { self.enter(now, id, (die, queue, kind), s) };
    }

    /// Submits an erase.
    ///
    /// # Panics
    /// If its address does not fit the flash, or its id is in use.
    #[inline]
    pub fn submit_erase<S: Schedule<Event>>(&mut self, now: Time, op: EraseOp, s: &mut S) {
        let media::BlockAddr { die, planes, block } = op.block;
        let page = PageAddr { die, planes, block, page: 0 };
        let planes = self.check(page);
        *self.ops.place(op.id) = Op::new(OpKind::Erase, page, planes, REST as u8);
        // SAFETY: `check` has found the die, and the table has all dies (asserted at construction).
        unsafe { self.enter(now, op.id, (die, REST as u8, OpKind::Erase), s) };
    }

    /// Asserts that planes and block exist; returns the number of planes of the die.
    #[inline]
    fn check(&self, page: PageAddr) -> u64 {
        if !self.tables.has(page) || page.die as usize >= self.tables.dies {
            self.refuse(page, 0);
        }
        let mask = page.planes.0;
        if mask & mask.wrapping_sub(1) == 0 { self.tables.one } else { several(mask) * self.tables.one }
    }

    #[inline]
    fn refuse(&self, page: PageAddr, bytes: u32) -> ! {
        // In single numbers, so that the hot paths need not keep the address in memory for it.
        self.panic_over(page.die, page.planes.0, page.block, page.page, bytes)
    }

    fn panic_over(&self, die: u16, planes: u16, block: u32, page: u32, bytes: u32) -> ! {
        panic!(
            "{bytes} bytes of die {die} planes {planes:#b} block {block} page {page} are not in {:?} ({:?})",
            self.config.geometry, self.config.cell
        )
    }

    /// Lets an operation begin. If its die is idle and its channel free, it starts at once without queuing.
    ///
    /// # Safety
    /// The die must exist.
    #[inline(always)]
    unsafe fn enter<S: Schedule<Event>>(&mut self, now: Time, id: OpId, of: (u16, u8, OpKind), s: &mut S) {
        let (die, queue, kind) = (of.0 as usize, of.1 as usize, of.2);
        if self.tables.independent {
            return self.submit_to_planes(now, die, id.0, s);
        }
        // SAFETY: required of the caller.
        let d = unsafe { self.dies.get_unchecked_mut(die) };
        d.load += 1;
        if d.load == 1 && self.tables.forgets {
            d.sensed = NOWHERE;
        }
        if d.load == 1 && self.channels[d.channel as usize].is_free(now) {
            return match kind {
                OpKind::Read => self.start_read(now, die, id.0, s),
                _ => self.start_alone(now, die, id.0, kind, s),
            };
        }
        d.queues[queue].push_back(&mut self.ops, id.0);
        // A busy die continues when its current work ends; reads with priority may cut that short.
        if d.load == 1 || d.is_at_rest() || self.tables.overlaps {
            self.go_on(now, die, id.0, s);
        } else if queue != REST {
            self.consider_suspension(now, die, s);
        }
    }

    /// Starts a program or an erase whose die and channel are free.
    #[inline(never)]
    fn start_alone<S: Schedule<Event>>(&mut self, now: Time, die: usize, id: u32, kind: OpKind, s: &mut S) {
        self.start(now, die, id, kind, s);
    }

    /// Returns the address of operation `id`, and whether it is in SLC mode; after its end, the same until `id` is
    /// reused.
    #[inline]
    pub fn place_of(&self, id: OpId) -> (PageAddr, bool) {
        let op = &self.ops[id.0];
        (op.address(), op.slc)
    }

    /// Returns the operation `id`, which has ended with `status`. Valid until `id` is reused.
    #[inline]
    pub fn done(&self, id: OpId, status: Status) -> Done {
        Done { id, status, kind: self.ops[id.0].kind }
    }

    /// Handles an event. Returns the operation that it ends, if any.
    #[inline]
    pub fn handle<S: Schedule<Event>>(&mut self, now: Time, event: Event, s: &mut S) -> Option<Done> {
        let Outcome { read, write } = self.outcome_of(now, event, s);
        read.or(write).map(|(id, status)| self.done(id, status))
    }

    /// Like [`handle`](Self::handle), with reads apart.
    #[inline]
    pub fn outcome_of<S: Schedule<Event>>(&mut self, now: Time, event: Event, s: &mut S) -> Outcome {
        match event {
            Event::Array(die) => Outcome { read: None, write: self.array_end(now, die as usize, s) },
            Event::Transfer(channel) => Outcome { read: self.transferred(now, channel as usize, s), write: None },
            _ => Outcome { read: self.handle_other(now, event, s), write: None },
        }
    }

    /// Handles an event that not every operation has. Returns the read that it ends, if any.
    fn handle_other<S: Schedule<Event>>(&mut self, now: Time, event: Event, s: &mut S) -> Option<(OpId, Status)> {
        match event {
            Event::Array(_) | Event::Transfer(_) => unreachable!("{event:?} is no rare event"),
            Event::Decoded(id) => self.decoded(now, id.0, s),
            Event::Wake(channel) => {
                self.woken(now, channel as usize, s);
                None
            }
            Event::Suspend(die) => {
                self.dies[die as usize].suspend_asked = false;
                self.consider_suspension(now, die as usize, s);
                None
            }
        }
    }
}

impl Part for Nand {
    type Event = Event;
    type Output = Option<Done>;

    #[inline]
    fn handle(&mut self, now: Time, event: Event, s: &mut impl Schedule<Event>, out: &mut Option<Done>) {
        *out = Nand::handle(self, now, event, s);
    }
}

/// The planes of an operation on more than one. Apart, because counting bits is no single instruction everywhere.
#[inline(never)]
fn several(mask: u16) -> u64 {
    u64::from(mask.count_ones())
}
