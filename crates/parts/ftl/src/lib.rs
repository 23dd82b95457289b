//! The flash translation layer: a state machine without a clock, a file or a thread.
//!
//! Commands of the host and the ends of flash operations go in; [`media::Action`]s come out, each answered later
//! through [`Ftl::done`]. Whoever performs them, simulated flash or a file, runs the same mapping, collection and
//! recovery.
//!
//! The order in which things become durable is what a power cut tests, so it is stated once, here:
//! * A program gets its sequence number when it is issued, and from then on is where its units are (`Slot::home`).
//!   Of two copies of a unit, the later issued is the newer; recovery lets the highest sequence number win.
//! * A copy made by collection is issued only if the unit is still where it was read from.
//! * A block is erased only once every program issued before its last unit was superseded is durable: until then
//!   that unit may be the only durable copy.
//! * A block is collected only once all programs in it are done.
//! * A trim leaves nothing in flash. Its journal page says: "as of sequence T these units are trimmed"; it is issued
//!   when all programs before T are durable, so that a unit is trimmed exactly if its newest copy is older than T.

mod admission;
pub mod aged;
mod blocks;
mod buffer;
mod collect;
mod combine;
mod command;
pub mod config;
mod destage;
mod durable;
mod dynamic;
mod erase;
mod fail;
mod fold;
mod host_memory;
mod journal;
mod laid;
mod layout;
mod location;
mod map_cache;
mod map_entries;
mod map_frames;
mod map_lookup;
mod map_pending;
mod map_trim;
mod mount;
mod mount_laid;
mod occupancy;
mod pacing;
mod parallel_unit;
mod parity;
mod read;
mod read_copies;
mod rebuild;
mod refresh;
mod sequence;
mod stats;
mod tight;
mod timer;
mod touched;
mod turns;
mod victim;
mod write;
mod write_out;

use std::collections::{BTreeSet, VecDeque};

use media::{Action, Flash, Move, Op, OpId, ReadOp, Request, Status, Tag};
use sim::{Dense, Rng, Streams, Time};

use blocks::Blocks;
use buffer::{List, NIL, Slots};
use command::{Commands, Kind, Operation, Operations};
use config::{Config, ConfigError};
use durable::Durable;
use dynamic::Lent;
use host_memory::HostMemory;
use journal::Journal;
use layout::Layout;
use location::{Location, Place, Table};
use map_frames::MapCache;
use parallel_unit::ParallelUnit;
use parity::Parity;
use read::Pieces;
use read_copies::ReadCopies;
use refresh::Refresh;
use sequence::Sequence;
use turns::Turns;

pub use buffer::Owner;
pub use host_memory::HostMemoryLoss;
pub use laid::Laid;
pub use mount::MountReport;
pub use occupancy::Occupancy;
pub use pacing::programmed_before;
pub use stats::Stats;

/// What the layer wants done, in order. The world performs the moves at once, then takes the actions.
#[derive(Default)]
pub struct Actions {
    /// Operations and answers.
    pub actions: Vec<Action>,
    /// Movements of payload; empty where none is kept.
    pub moves: Vec<Move>,
}

/// Data of a read of the host: `bytes` more of it are in the controller, and perhaps it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The host command.
    pub tag: Tag,
    /// How many bytes.
    pub bytes: u32,
    /// How the command has ended, if these were its last.
    pub end: Option<Status>,
}

impl Delivery {
    /// The same as actions.
    pub fn actions(self) -> impl Iterator<Item = Action> {
        let Delivery { tag, bytes, end } = self;
        std::iter::once(Action::Data { tag, bytes }).chain(end.map(|status| Action::Complete { tag, status }))
    }
}

/// One unit of a program: what goes to flash and where in RAM it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramUnit {
    /// Logical unit, or [`media::NOBODY`] for padding.
    pub logical: u32,
    /// Buffer that holds it; without meaning for padding.
    pub buffer: u32,
    /// Its data could not be read when it was moved.
    pub lost: bool,
}

/// A bug that can be planted, so that the tests that must catch it can be tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InjectedFault {
    /// None: the layer as it is.
    #[default]
    None,
    /// Every so often a journal page of trims is not written.
    JournalSkipped,
    /// Every so often a copy made by collection is not pointed to.
    CopyNotRepointed,
    /// When the host's memory is lost, what only it knew of the map is not looked up in flash again.
    HostMapForgotten,
}

/// The translation layer.
pub struct Ftl {
    config: Config,
    layout: Layout,
    table: Table,
    blocks: Blocks,
    slots: Slots,
    commands: Commands,
    operations: Operations,
    fragments: Pieces,
    sequence: Sequence,
    parallel_units: Dense<ParallelUnit>,
    turns: Turns,
    /// Parallel units that opened a block and may be short of free ones.
    short_lanes: Vec<u32>,
    /// No parallel unit has room for the host; an erase that ends changes that.
    host_stalled: bool,
    /// Some parallel unit has room for the host, which waits there for copies.
    host_paced: bool,
    /// The host need not wait for copies, until a block is erased: they cannot go on by themselves.
    unpaced: bool,
    /// Free space, in units, at which a parallel unit is kept while the host writes, and by how much that may take it below.
    target: i64,
    slack: i64,
    /// No command came for a while: collection works ahead.
    idle: bool,
    /// `dispatch` has something to look at: data that became dirty, or for which an erase made room, a parallel unit that opened a
    /// block, a part of the map that is wanted, a command or a trim that waits for programs, programs without room.
    has_work: bool,
    dirty: List,
    clean: List,
    write_used: u32,
    write_limit: u32,
    /// Of these, for writes whose data has not come, and in programs under way.
    reserved: u32,
    moving: u32,
    /// Reads under way that complete units written in part.
    fills: u32,
    /// Writes that end when they are durable wait for data that is on its way.
    combining: bool,
    system_used: u32,
    epoch: u64,
    force_epoch: u64,
    destaging: bool,
    last_write: Time,
    last_command: Time,
    /// Something was written since collection last worked ahead.
    idle_due: bool,
    space_queue: admission::Queue,
    durable: VecDeque<Durable>,
    sealed: usize,
    /// Victims without a valid unit, and the sequence number that must be durable before they are erased.
    empty: Vec<(u32, u64)>,
    /// None of them can be erased before a number above this is the oldest that is not durable.
    empty_after: u64,
    map: Option<MapCache>,
    host_memory: HostMemory,
    read_copies: Option<ReadCopies>,
    parity: Option<Box<Parity>>,
    lent: Lent,
    refresh: Refresh,
    /// Translation units that writes changed and that are not at hand.
    map_wanted: Vec<u32>,
    journal: Journal,
    /// Logical units whose data could not be read when it was moved.
    lost: BTreeSet<u32>,
    /// Failed programs that wait for room.
    retries: u32,
    read_only: bool,
    rng: Rng,
    stats: Stats,
    injected: InjectedFault,
    plant_count: u32,
    unit_shift: u32,
    /// All sectors of a unit, a bit each.
    all_sectors: u64,
    /// Units below this can be read without a look at anything but the map: all that the host sees, or none where the
    /// map may have to be fetched, or what was read is kept or handed over.
    plainly_readable: u64,
}

/// Units of RAM that an instance of `config` moves data through.
pub fn buffer_count(config: &Config) -> u64 {
    slots(config, &Layout::new(config))
}

/// Units that collection may have in flight in a parallel unit: two programs' worth at least.
fn quota(config: &Config, layout: &Layout) -> u32 {
    // A batch being programmed and the next one being read keep every die of a parallel unit busy.
    let busy = 2 * config.collection.batch * layout.per_row * layout.program_units;
    config.collection.copies.unwrap_or(busy.max(COPIES)).max(2 * layout.program_units)
}

/// Units that collection may have in flight in a parallel unit of few dies.
const COPIES: u32 = 64;

fn slots(config: &Config, layout: &Layout) -> u64 {
    u64::from(config.buffers.write)
        + u64::from(config.buffers.read)
        + config.host_memory.map_or(0, |m| u64::from(m.read) + u64::from(m.write))
        + u64::from(SYSTEM_SLOTS)
        + parity::slots(config, layout)
        + u64::from(layout.parallel_units) * u64::from(quota(config, layout))
}

/// Logical units: the user's, and those of the layer's own.
fn all_units(config: &Config) -> u64 {
    u64::from(config.user_units) + u64::from(journal::units(config)) + u64::from(map_frames::units(config))
}

/// Slots for translation units and journal pages on their way to flash.
const SYSTEM_SLOTS: u32 = 64;

impl Ftl {
    /// Takes over `flash` as it is: erased, or as an earlier instance of the same configuration left it. The state
    /// comes from the flash alone.
    ///
    /// # Errors
    /// A configuration that cannot work.
    pub fn mount(config: Config, flash: &impl Flash, streams: &Streams) -> Result<(Ftl, MountReport), ConfigError> {
        let mut ftl = Ftl::empty(config, streams)?;
        let report = ftl.scan(flash);
        Ok((ftl, report))
    }

    fn empty(config: Config, streams: &Streams) -> Result<Ftl, ConfigError> {
        config.check()?;
        let layout = Layout::new(&config);
        let (quota, slots) = (quota(&config, &layout), slots(&config, &layout));
        let (all, unit_bytes) = (all_units(&config), config.geometry.unit_bytes);
        let mut ftl = Ftl {
            table: Table::new(all as u32),
            blocks: Blocks::new(&layout),
            slots: Slots::new(slots as u32),
            commands: Commands::new(config.tags),
            operations: Operations::new(layout.program_units),
            fragments: Pieces::new(),
            sequence: Sequence::after(0),
            // SAFETY: parallel units are numbered by the layout, and kept with their operations.
            parallel_units: unsafe {
                Dense::new((0..layout.parallel_units).map(|_| ParallelUnit::new(quota)).collect())
            },
            turns: Turns::new(layout.parallel_units),
            short_lanes: Vec::new(),
            host_stalled: false,
            host_paced: false,
            unpaced: false,
            target: pacing::target_units(&config) as i64,
            slack: pacing::slack(&config, &layout),
            idle: false,
            has_work: false,
            dirty: List::new(),
            clean: List::new(),
            write_used: 0,
            write_limit: config.buffers.write + if config.buffers.shared { config.buffers.read } else { 0 },
            reserved: 0,
            moving: 0,
            fills: 0,
            combining: false,
            system_used: 0,
            epoch: 0,
            force_epoch: 0,
            destaging: false,
            last_write: Time::ZERO,
            last_command: Time::ZERO,
            idle_due: false,
            space_queue: admission::Queue::EMPTY,
            durable: VecDeque::new(),
            sealed: 0,
            empty: Vec::new(),
            empty_after: u64::MAX,
            map: MapCache::new(&config, streams),
            host_memory: HostMemory::default(),
            read_copies: ReadCopies::new(&config, &layout),
            parity: None,
            lent: Lent::new(&config, &layout),
            refresh: Refresh::new(&config, &layout),
            map_wanted: Vec::new(),
            journal: Journal::new(&config),
            lost: BTreeSet::new(),
            retries: 0,
            read_only: false,
            rng: streams.stream("ftl.collection"),
            stats: Stats::default(),
            injected: InjectedFault::None,
            plant_count: 0,
            unit_shift: unit_bytes.trailing_zeros(),
            all_sectors: u64::MAX >> (64 - unit_bytes / media::SECTOR as u32),
            plainly_readable: 0,
            layout,
            config,
        };
        ftl.parity = Parity::new(&ftl.config, &ftl.layout, &mut ftl.slots).map(Box::new);
        if ftl.reads_plainly() {
            ftl.plainly_readable = u64::from(ftl.config.user_units);
        }
        Ok(ftl)
    }

    /// A command of the host. Its tag may be used again after its [`Action::Complete`]. Most reads are one read of
    /// flash: that is returned, and all there is to do; else what is wanted is in `out`.
    #[inline(always)]
    pub fn command(&mut self, now: Time, tag: Tag, request: &Request, out: &mut Actions) -> Option<ReadOp> {
        self.last_command = now;
        if self.idle {
            self.end_idle();
        }
        if request.op == Op::Read
            && let Some(read) = self.read_whole(tag, request)
        {
            return Some(read);
        }
        self.other_command(now, tag, request.by_field(), out);
        None
    }

    #[inline(never)]
    fn other_command(&mut self, now: Time, tag: Tag, request: Request, out: &mut Actions) {
        self.commands.start(tag, &request);
        self.idle_due |= request.op != Op::Read;
        match request.op {
            Op::Read => self.admit_read(tag, out),
            Op::Write => self.write(tag, out),
            Op::Trim => self.trim(tag, out),
            Op::Flush => self.flush(tag, out),
        }
        match (&mut self.read_copies, request.op) {
            (Some(copies), Op::Read) => copies.read_at(now),
            _ => self.last_write = if request.op == Op::Write { now } else { self.last_write },
        }
        if self.refresh.is_on() {
            self.look_at_refresh(now, out);
        }
    }

    /// The data of the write `tag` is in the controller, after [`Action::Ready`].
    pub fn arrived(&mut self, now: Time, tag: Tag, out: &mut Actions) {
        self.last_write = now;
        self.store(tag, out);
    }

    /// The operation `id` has ended. `flash` is asked for the spare areas of pages that were read. If it read for the
    /// host, the data is returned: to be delivered after what is in `out`.
    #[inline(always)]
    pub fn done(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) -> Option<Delivery> {
        if let Some((tag, bytes)) = self.whole_read_done(id, out) {
            return Some(Delivery { tag, bytes, end: Some(status) });
        }
        if status != Status::Ok && self.parity.is_some() && self.start_rebuild(id, flash, out) {
            return None;
        }
        if self.operations[id].kind == Kind::CollectRead {
            self.collect_read_done(id, status, flash, out);
            return None;
        }
        self.other_done(id, status, flash, out)
    }

    #[inline(never)]
    fn other_done(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) -> Option<Delivery> {
        match self.operations[id].kind {
            Kind::WholeRead | Kind::CollectRead => unreachable!("done before"),
            Kind::Program if status == Status::Ok => self.program_done(id, None, out),
            Kind::Program => self.program_failed(id, out),
            Kind::Parity => self.parity_done(id, status, out),
            Kind::Rebuild => return self.rebuild_read_done(id, status, flash, out),
            Kind::HostRead => return self.host_read_done(id, status, out),
            Kind::Erase => self.erase_done(id, status, out),
            Kind::CopiesProgram => self.copies_program_done(id, status),
            Kind::CopiesErase => self.copies_erase_done(id, status, out),
            Kind::Fill => self.fill_done(id, status, out),
            Kind::MapRead => self.map_read_done(id, status, out),
            Kind::MapLookup => self.map_lookup_done(id, out),
            Kind::HostCopy => self.host_copy_done(id, out),
            Kind::HostLoad => return Some(self.host_load_done(id, out)),
            Kind::BringIn => self.bring_in_done(id, out),
            Kind::Orphan => self.orphan_done(id, out),
            Kind::Barrier => self.barrier_done(id, out),
            Kind::Free => panic!("operation {} is not under way", id.0),
        }
        None
    }

    /// Sequence number that the program `id` goes by. Valid until the program is done.
    #[inline]
    pub fn program_sequence(&self, id: OpId) -> u64 {
        self.operations[id].sequence
    }

    /// True if logical numbers are all there is to what the program `id` writes: no data that were lost, no
    /// [`note`](Self::note).
    #[inline]
    pub fn is_plain(&self, id: OpId) -> bool {
        self.operations[id].plain
    }

    /// What the program `id` writes, a unit after the other. Valid until the program is done.
    #[inline]
    pub fn program_units(&self, id: OpId) -> impl ExactSizeIterator<Item = ProgramUnit> + '_ {
        self.operations.slots(id)[..self.operations[id].count as usize].iter().map(|slot| match *slot {
            NIL => ProgramUnit { logical: media::NOBODY, buffer: 0, lost: false },
            s => {
                let slot = &self.slots[s];
                ProgramUnit { logical: slot.unit, buffer: s, lost: slot.lost }
            }
        })
    }

    /// Puts the logical numbers that the program `id` writes into `to`, which has a place for each. False if there is
    /// more to some than the number: data that were lost, or a [`note`](Self::note).
    #[inline(always)]
    pub fn program_logical(&self, id: OpId, to: &mut [u32]) -> bool {
        debug_assert_eq!(to.len(), self.operations[id].count as usize);
        let mut plain = true;
        for (to, slot) in to.iter_mut().zip(self.operations.slots(id)) {
            *to = match *slot {
                NIL => media::NOBODY,
                slot => {
                    let slot = &self.slots[slot];
                    plain &= !slot.lost & (slot.unit < self.config.user_units);
                    slot.unit
                }
            };
        }
        plain
    }

    /// The content of logical unit `unit` where it is the layer's own and has any (a journal page of trims).
    pub fn note(&self, unit: u32) -> Option<&[u8]> {
        self.journal.note(unit)
    }

    /// Units of RAM that the layer moves data through.
    pub fn buffer_count(&self) -> u32 {
        self.slots.count()
    }

    /// Units the host sees.
    pub fn user_units(&self) -> u32 {
        self.config.user_units
    }

    /// Counts since the mount.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Starts counting anew (the end of preconditioning or of a warm-up).
    pub fn reset_stats(&mut self) {
        self.stats = Stats::default();
    }

    /// No more writes are taken: too little of the flash is usable.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// True if no flash operation is under way.
    pub fn is_idle(&self) -> bool {
        self.operations.active() == 0
    }

    /// Plants a bug, for the tests that must catch it.
    #[doc(hidden)]
    pub fn inject(&mut self, injected: InjectedFault) {
        self.injected = injected;
    }

    /// True every third time the planted bug strikes.
    #[inline]
    fn injects(&mut self, injected: InjectedFault) -> bool {
        if self.injected != injected {
            return false;
        }
        self.plant_count += 1;
        self.plant_count.is_multiple_of(3)
    }

    #[inline]
    fn place(&self, unit: u32) -> Place {
        self.table.get(unit).place(self.slots.count())
    }

    /// Where in flash the newest copy of `unit` is that was handed to flash.
    #[inline]
    fn home(&self, unit: u32) -> Location {
        let location = self.table.get(unit);
        match location.place(self.slots.count()) {
            Place::Buffer(slot) => self.slots[slot].home,
            _ => location,
        }
    }

    /// The flash copy at `home` is superseded, by something else than a copy of it.
    #[inline(always)]
    fn invalidate(&mut self, home: Location) {
        if let Place::Flash(unit) = home.place(self.slots.count()) {
            let block = self.layout.block_of(unit);
            self.superseded_in(block);
            self.clear_valid(block, unit);
        }
    }

    /// Flash unit `unit` of `block` is no longer the newest.
    #[inline]
    fn clear_valid(&mut self, block: u32, unit: u32) {
        if self.blocks.clear_valid(block, unit) == 0 {
            self.emptied(block);
        }
    }

    fn start_operation(&mut self, kind: Kind, subject: u32) -> OpId {
        self.operations.start(Operation::of(kind, subject))
    }

    #[inline]
    fn complete(&mut self, tag: Tag, status: Status, out: &mut Actions) {
        debug_assert!(self.commands[tag].active);
        self.commands[tag].active = false;
        out.actions.push(Action::Complete { tag, status });
    }
}
