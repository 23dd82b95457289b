//! The flash array in virtual time: channels and dies as resources, operations through them.
//!
//! A read is: its command on the channel, the array, its data on the channel, perhaps decoding. A program is: its
//! command and data on the channel, the array. An erase is: its command, the array. Whoever finds a resource free
//! takes it at once and only its end becomes an event, so that an unloaded read has two and a program one. Who finds
//! the channel taken waits in one of its lists; an event at the channel's release exists only then.
//!
//! Without cache reads a die holds its register until the data have left it, and starts nothing before.

use media::{EraseOp, OpId, PageAddr, ProgramOp, ReadOp, Status};
use sim::{Dense, Energy, Schedule, Streams, Time};

use crate::channel::Channel;
use crate::config::Config;
use crate::die::{Die, NOWHERE};
use crate::ecc::Engines;
use crate::hazards::{Hazards, mark_factory_bad};
use crate::independent::Independent;
use crate::log::Log;
use crate::op::{Done, Kind, Op, Ops, REST};
use crate::store::Store;
use crate::tables::Tables;

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

/// What stands where a queue of events holds none.
impl Default for Event {
    fn default() -> Event {
        Event::Array(u16::MAX)
    }
}

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
    pub(crate) tables: Tables,
    pub(crate) ops: Ops,
    pub(crate) dies: Dense<Die>,
    pub(crate) channels: Dense<Channel>,
    pub(crate) store: Store,
    pub(crate) hazards: Hazards,
    pub(crate) log: Log,
    /// The store's clock, which counts seconds, is right until then.
    pub(crate) second_ends: Time,
    pub(crate) ecc: Engines,
    /// Energy of array reads, programs and erases; of a read only what its planes beyond the first took: the dies'
    /// reading times say the rest.
    pub(crate) energy: [Energy; 3],
    /// State of independent plane reads.
    pub(crate) independent: Independent,
    pub(crate) config: Config,
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
        store.set_all_erases(config.cycles);
        mark_factory_bad(&mut store, config, streams);
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
        if config.wear.modes {
            store.count_modes();
        }
        let g = &config.geometry;
        let mut all: Vec<Die> = (0..g.all_dies()).map(|die| Die::new(g.channel_of(die as u16))).collect();
        let independent = Independent::new(config, &mut all);
        // SAFETY: the die of an address is checked against the geometry before it gets here.
        let dies = unsafe { Dense::new(all) };
        // SAFETY: a die knows its channel, and events and lists of channels have the numbers of such.
        let channels = unsafe { Dense::new(vec![Channel::new(); g.channels as usize]) };
        Nand {
            tables: Tables::new(config, streams.stream("nand.variation").bits()),
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

    /// Rows of the timeline as (group, name): each channel, then each die, then each plane that reads by itself.
    pub fn tracks(&self) -> Vec<(String, String)> {
        let g = &self.config.geometry;
        let channels = (0..g.channels).map(|c| ("flash channels".to_owned(), format!("channel {c}")));
        let dies = (0..g.all_dies()).map(|d| {
            let (channel, chip, die) = (d / (g.chips * g.dies), d / g.dies % g.chips, d % g.dies);
            ("flash dies".to_owned(), format!("die {d} (channel {channel}, chip {chip}, die {die})"))
        });
        channels.chain(dies).chain(self.independent.tracks(g)).collect()
    }

    /// Operations that wait for the die or run on it.
    pub fn die_load(&self, die: u16) -> u32 {
        self.dies[die as usize].load
    }

    /// Keeps a log of every step from now on; grows without bound.
    pub fn keep_log(&mut self) {
        self.log.keep();
    }

    /// The log since the last call; empty if none is kept.
    pub fn take_log(&mut self) -> Vec<crate::LogEntry> {
        self.log.take()
    }

    /// Asks for a read.
    ///
    /// # Panics
    /// If its address or its bytes do not fit the flash, or its id is in use.
    #[inline(always)]
    pub fn submit_read<S: Schedule<Event>>(&mut self, now: Time, op: ReadOp, s: &mut S) {
        let planes = self.check(op.page);
        let bytes = u64::from(op.bytes);
        if bytes > self.tables.page_bytes && bytes > planes * self.tables.page_bytes {
            self.refuse(op.page, op.bytes);
        }
        let queue = self.tables.read_queues[op.class as usize];
        let bytes = self.tables.whole_codewords(op.bytes, planes);
        self.submit(now, op.id, Op { bytes, ..Op::new(Kind::Read, op.page, planes, queue) }, s);
    }

    /// Asks for a program.
    ///
    /// # Panics
    /// If its address does not fit the flash (in SLC mode a block has fewer pages), or its id is in use.
    #[inline(always)]
    pub fn submit_program<S: Schedule<Event>>(&mut self, now: Time, op: ProgramOp, s: &mut S) {
        let planes = self.check(op.page);
        if op.slc && op.page.page >= self.tables.slc_pages {
            self.refuse(op.page, 0);
        }
        self.submit(now, op.id, Op { slc: op.slc, ..Op::new(Kind::Program, op.page, planes, REST as u8) }, s);
    }

    /// Asks for an erase.
    ///
    /// # Panics
    /// If its address does not fit the flash, or its id is in use.
    #[inline]
    pub fn submit_erase<S: Schedule<Event>>(&mut self, now: Time, op: EraseOp, s: &mut S) {
        let media::BlockAddr { die, planes, block } = op.block;
        let page = PageAddr { die, planes, block, page: 0 };
        let planes = self.check(page);
        self.submit(now, op.id, Op::new(Kind::Erase, page, planes, REST as u8), s);
    }

    /// Asserts that there are such planes and such a block; returns how many planes.
    #[inline(always)]
    fn check(&self, page: PageAddr) -> u64 {
        if !self.tables.has(page) || page.die as usize >= self.tables.dies {
            self.refuse(page, 0);
        }
        let mask = page.planes.0;
        if mask & mask.wrapping_sub(1) == 0 { 1 } else { several(mask) }
    }

    #[inline(always)]
    fn refuse(&self, page: PageAddr, bytes: u32) -> ! {
        // In single numbers, so that the hot paths need not keep the address in memory for it.
        self.panic_over(page.die, page.planes.0, page.block, page.page, bytes)
    }

    #[cold]
    #[inline(never)]
    fn panic_over(&self, die: u16, planes: u16, block: u32, page: u32, bytes: u32) -> ! {
        panic!(
            "{bytes} bytes of die {die} planes {planes:#b} block {block} page {page} are not in {:?} ({:?})",
            self.config.geometry, self.config.cell
        )
    }

    /// Takes an operation in. If there is nothing else on its die and nobody before it on its channel, it starts at once,
    /// without waiting in any queue.
    #[inline(always)]
    fn submit<S: Schedule<Event>>(&mut self, now: Time, id: OpId, op: Op, s: &mut S) {
        let (die, queue, kind) = (op.die as usize, op.queue as usize, op.kind);
        *self.ops.place(id) = op;
        if self.tables.independent {
            return self.submit_to_planes(now, die, id.0, s);
        }
        let d = &mut self.dies[die];
        d.load += 1;
        if d.load == 1 && self.tables.forgets {
            d.sensed = NOWHERE;
        }
        if d.load == 1 && self.channels[d.channel as usize].is_free(now) {
            return match kind {
                Kind::Read => self.start_read(now, die, id.0, s),
                _ => self.start_alone(now, die, id.0, kind, s),
            };
        }
        d.queues[queue].push_back(&mut self.ops, id.0);
        // A busy die goes on when what it does ends; reads that go first may cut that short.
        let load = d.load;
        let d = &self.dies[die];
        if load == 1 || d.is_at_rest() || self.tables.overlaps && !self.is_taken(d) {
            self.go_on(now, die, id.0, s);
        } else if queue != REST {
            self.consider_suspension(now, die, s);
        }
    }

    /// Starts a program or an erase, which has found its die and its channel free.
    #[inline(never)]
    fn start_alone<S: Schedule<Event>>(&mut self, now: Time, die: usize, id: u32, kind: Kind, s: &mut S) {
        self.start(now, die, id, kind, s);
    }

    /// Where the operation `id` works, and whether in SLC mode; of one that ended, where it worked, until `id` is used
    /// again.
    #[inline]
    pub fn place_of(&self, id: OpId) -> (PageAddr, bool) {
        let op = &self.ops[id.0];
        (op.address(), op.slc)
    }

    /// An event has come. Returns the operation that ends with it, if one does.
    #[inline(always)]
    pub fn handle<S: Schedule<Event>>(&mut self, now: Time, event: Event, s: &mut S) -> Option<Done> {
        match event {
            Event::Array(die) => self.array_end(now, die as usize, s),
            Event::Transfer(channel) => self.transferred(now, channel as usize, s).map(read_done),
            Event::Decoded(id) => self.decoded(now, id.0, s).map(read_done),
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

fn read_done((id, status): (OpId, Status)) -> Done {
    Done { id, status, kind: Kind::Read }
}

/// The planes of an operation on more than one. Apart, because counting bits is no single instruction everywhere.
#[inline(never)]
fn several(mask: u16) -> u64 {
    u64::from(mask.count_ones())
}
