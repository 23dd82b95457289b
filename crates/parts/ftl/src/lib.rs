//! The flash translation layer: a state machine without a clock, a file or a thread.
//!
//! Host commands and completions of flash operations go in, and [`media::Action`]s come out. The caller reports the end
//! of each operation through [`Ftl::done`], so that simulated flash and a file share the same mapping, collection and
//! recovery code.
//!
//! The crash-consistency guarantees depend on the order of programs, erases and trims. The rules are stated once, here:
//! * A program gets its sequence number when it is issued; from then on its address is the home of its units
//!   (`Slot::home`). Of two copies of a unit, the one issued later is newer, and recovery keeps the copy with the
//!   highest sequence number.
//! * Collection programs a copy only if the unit is still valid at the address it was read from.
//! * A block is erased only when every program issued before its last unit was superseded is durable: until then, that
//!   unit may be the only durable copy.
//! * A block is collected only when all its programs are complete.
//! * A trim by itself leaves no trace in flash. Its journal page records "as of sequence T these units are trimmed",
//!   and is issued only when all programs before T are durable, so that recovery treats a unit as trimmed exactly if
//!   its newest copy is older than T.

mod activity;
mod buffer;
pub mod config;
mod durability;
mod gc;
mod laid;
mod layout;
mod location;
mod map;
mod occupancy;
mod request;
mod space;
mod stats;
mod timer;

use std::collections::BTreeSet;

use media::{Action, Flash, Move, Op, OpId, Request, Status, Tag};
use sim::{Dense, Rng, Streams, Time};

use activity::Activity;
use buffer::dirty::DirtySlots;
use buffer::read_copies::ReadCopies;
use buffer::slots::{List, NIL, Slots};
use config::{Config, ConfigError};
use durability::durable_queue::DurableQueue;
use durability::journal::{self, Journal};
use durability::parity::{self, Parity};
use durability::retries::Retries;
use durability::sequence::Sequence;
use gc::pacing::Pace;
use gc::refresh::Refresh;
use gc::short::ShortUnits;
use layout::Layout;
use location::{Location, Place};
use map::frames::{self, MapCache};
use map::host_memory::HostMemory;
use map::table::Table;
use request::admission;
use request::command::Commands;
use request::fragments::Fragments;
use request::operation::{Kind, Operation, Operations};
use space::blocks::Blocks;
use space::dynamic::Lent;
use space::erase_queue::EraseQueue;
use space::host_room::HostRoom;
use space::parallel_unit::ParallelUnit;

pub use buffer::slots::Owner;
pub use durability::mount::MountReport;
pub use gc::pacing::programmed_before;
pub use laid::{Laid, aged};
pub use map::host_memory::HostMemoryLoss;
pub use occupancy::Occupancy;
pub use stats::Stats;

/// Output of the layer, in order. The caller performs the moves at once, then starts the actions.
#[derive(Default)]
pub struct Actions {
    /// Operations to perform and host commands to complete.
    pub actions: Vec<Action>,
    /// Payload copies; empty if the configuration keeps no payload.
    pub moves: Vec<Move>,
}

/// Read data that has reached the controller: `bytes` more of a host read, and its status if that completes the
/// command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// The host command.
    pub tag: Tag,
    /// Number of bytes.
    pub bytes: u32,
    /// Final status, if these were the last bytes of the command.
    pub end: Option<Status>,
}

impl Delivery {
    /// Emits the data action, and the completion if these were the last bytes.
    #[inline]
    fn act(self, out: &mut Actions) {
        let Delivery { tag, bytes, end } = self;
        out.actions.push(Action::Data { tag, bytes });
        if let Some(status) = end {
            out.actions.push(Action::Complete { tag, status });
        }
    }
}

/// One unit of a program: its logical number and the buffer that holds its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramUnit {
    /// Logical unit, or [`media::NOBODY`] for padding.
    pub logical: u32,
    /// Buffer that holds its data; undefined for padding.
    pub buffer: u32,
    /// Its data could not be read when collection moved it.
    pub lost: bool,
}

/// A deliberate bug, for testing that the tests detect it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InjectedFault {
    /// No fault.
    #[default]
    None,
    /// Every third journal page of trims is not written.
    JournalSkipped,
    /// For every third copy made by collection, the map is not updated.
    CopyNotRepointed,
    /// When host memory is lost, map entries that existed only there are not recovered from flash.
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
    fragments: Fragments,
    sequence: Sequence,
    parallel_units: Dense<ParallelUnit>,
    short: ShortUnits,
    host_room: HostRoom,
    pace: Pace,
    /// The last dispatch left work to reconsider after the next event; private to `durability/flush.rs`.
    work_left: bool,
    dirty: DirtySlots,
    clean: List,
    write_used: u32,
    write_limit: u32,
    /// Part of `write_used` reserved for writes whose data has not arrived.
    reserved: u32,
    moving: u32,
    /// Reads in progress that fill in the missing sectors of partially written units.
    fills: u32,
    /// Writes that complete when durable are waiting for data that has not arrived, so as to share its programs.
    combining: bool,
    system_used: u32,
    destaging: bool,
    activity: Activity,
    space_queue: admission::Queue,
    durable_queue: DurableQueue,
    erase_queue: EraseQueue,
    map: Option<MapCache>,
    host_memory: HostMemory,
    read_copies: Option<ReadCopies>,
    parity: Option<Box<Parity>>,
    lent: Lent,
    refresh: Refresh,
    journal: Journal,
    /// Logical units whose data could not be read when collection moved it.
    lost: BTreeSet<u32>,
    retries: Retries,
    read_only: bool,
    rng: Rng,
    stats: Stats,
    injected: InjectedFault,
    plant_count: u32,
    unit_shift: u32,
    /// Mask of all sectors of a unit, one bit per sector.
    all_sectors: u64,
}

/// Returns the number of buffer units that an instance of `config` uses.
pub fn buffer_count(config: &Config) -> u64 {
    slots(config, &Layout::new(config))
}

/// Returns the number of units that collection may have in flight in a parallel unit, at least two programs' worth.
fn quota(config: &Config, layout: &Layout) -> u32 {
    // While one batch is programmed the next is read, which keeps every die of the parallel unit busy.
    let busy = 2 * config.collection.batch * layout.per_row * layout.program_units;
    config.collection.copies.unwrap_or(busy.max(COPIES)).max(2 * layout.program_units)
}

/// Minimum default number of units that collection may have in flight in a parallel unit.
const COPIES: u32 = 64;

fn slots(config: &Config, layout: &Layout) -> u64 {
    u64::from(config.buffers.write)
        + u64::from(config.buffers.read)
        + config.host_memory.map_or(0, |m| u64::from(m.read) + u64::from(m.write))
        + u64::from(SYSTEM_SLOTS)
        + parity::slots(config, layout)
        + u64::from(layout.parallel_units) * u64::from(quota(config, layout))
}

/// Returns the number of logical units: the user's plus those of the journal and the map.
fn all_units(config: &Config) -> u64 {
    u64::from(config.user_units) + u64::from(journal::units(config)) + u64::from(frames::units(config))
}

/// Slots for translation units and journal pages that wait to be programmed.
const SYSTEM_SLOTS: u32 = 64;

impl Ftl {
    /// Mounts `flash`, either erased or as an earlier instance of the same configuration left it. All state is
    /// recovered from the flash alone.
    ///
    /// # Errors
    /// If the configuration cannot work.
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
            fragments: Fragments::new(),
            sequence: Sequence::after(0),
            // SAFETY: parallel unit numbers come from the layout, or from operations that carry such a number.
            parallel_units: unsafe {
                Dense::new((0..layout.parallel_units).map(|_| ParallelUnit::new(quota)).collect())
            },
            short: ShortUnits::default(),
            host_room: HostRoom::new(layout.parallel_units),
            pace: Pace::new(&config, &layout),
            work_left: false,
            dirty: DirtySlots::new(),
            clean: List::new(),
            write_used: 0,
            write_limit: config.buffers.write + if config.buffers.shared { config.buffers.read } else { 0 },
            reserved: 0,
            moving: 0,
            fills: 0,
            combining: false,
            system_used: 0,
            destaging: false,
            activity: Activity::default(),
            space_queue: admission::Queue::EMPTY,
            durable_queue: DurableQueue::default(),
            erase_queue: EraseQueue::new(),
            map: MapCache::new(&config, streams),
            host_memory: HostMemory::default(),
            read_copies: ReadCopies::new(&config, &layout),
            parity: None,
            lent: Lent::new(&config, &layout),
            refresh: Refresh::new(&config, &layout),
            journal: Journal::new(&config),
            lost: BTreeSet::new(),
            retries: Retries::new(layout.parallel_units),
            read_only: false,
            rng: streams.stream("ftl.collection"),
            stats: Stats::default(),
            injected: InjectedFault::None,
            plant_count: 0,
            unit_shift: unit_bytes.trailing_zeros(),
            all_sectors: u64::MAX >> (64 - unit_bytes / media::SECTOR as u32),
            layout,
            config,
        };
        ftl.parity = Parity::new(&ftl.config, &ftl.layout, &mut ftl.slots).map(Box::new);
        Ok(ftl)
    }

    /// Starts a host command. Its tag may be reused after its [`Action::Complete`].
    #[inline]
    pub fn command(&mut self, now: Time, tag: Tag, request: &Request, out: &mut Actions) {
        self.activity.command(now);
        if self.pace.is_idle() {
            self.end_idle();
        }
        self.commands.start(tag, request);
        if request.op == Op::Read {
            self.admit_read(tag, out);
            if let Some(copies) = &mut self.read_copies {
                copies.read_at(now);
            }
        } else {
            self.change(now, tag, request.op, out);
        }
        if self.refresh.is_on() {
            self.look_at_refresh(now, out);
        }
    }

    /// Starts a command that may change data or waits for changes.
    #[inline(never)]
    fn change(&mut self, now: Time, tag: Tag, op: Op, out: &mut Actions) {
        self.activity.plan_idle();
        match op {
            Op::Read => unreachable!("a read changes nothing"),
            Op::Write => {
                self.write(tag, out);
                self.activity.write(now);
            }
            Op::Trim => self.trim(tag, out),
            Op::Flush => self.flush(tag, out),
        }
    }

    /// Accepts the data of the write `tag`, which arrived in the controller after [`Action::Ready`].
    pub fn arrived(&mut self, now: Time, tag: Tag, out: &mut Actions) {
        self.activity.write(now);
        self.store(tag, out);
    }

    /// Handles the end of operation `id`. `flash` provides the spare areas of pages that were read.
    pub fn done(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) {
        if status != Status::Ok && self.parity.is_some() && self.start_rebuild(id, flash, out) {
            return;
        }
        if let Some(delivery) = self.ended(id, status, flash, out) {
            delivery.act(out);
        }
    }

    /// Like [`done`](Self::done), without an attempt to rebuild what could not be read. Returns the data that the
    /// operation read for the host.
    #[inline]
    fn ended(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) -> Option<Delivery> {
        match self.operations[id].kind {
            Kind::HostRead => self.host_read_done(id, status, out),
            Kind::CollectRead => {
                self.collect_read_done(id, status, flash, out);
                None
            }
            _ => self.other_done(id, status, flash, out),
        }
    }

    #[inline(never)]
    fn other_done(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) -> Option<Delivery> {
        match self.operations[id].kind {
            Kind::HostRead | Kind::CollectRead => unreachable!("handled by the caller"),
            Kind::Program if status == Status::Ok => self.program_done(id, None, out),
            Kind::Program => self.program_failed(id, out),
            Kind::Parity => self.parity_done(id, status, out),
            Kind::Rebuild => return self.rebuild_read_done(id, status, flash, out),
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
            Kind::Free => panic!("operation {} is not in progress", id.0),
        }
        None
    }

    /// Returns the sequence number of the program `id`. Valid until the program completes.
    #[inline]
    pub fn program_sequence(&self, id: OpId) -> u64 {
        self.operations[id].sequence
    }

    /// Returns the sequence number below which all programs have completed.
    pub fn oldest_sequence(&self) -> u64 {
        self.sequence.oldest()
    }

    /// Returns true if the program `id` is fully described by its logical unit numbers: it contains no lost data and no
    /// [`note`](Self::note).
    #[inline]
    pub fn is_plain(&self, id: OpId) -> bool {
        self.operations[id].plain
    }

    /// Iterates over the units of the program `id`, in order. Valid until the program completes.
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

    /// Writes the logical numbers of the units of the program `id` to `to`, which has one entry per unit. Returns false
    /// if the numbers alone do not describe some unit: its data is lost, or it has a [`note`](Self::note).
    #[inline]
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

    /// Returns the content of logical unit `unit` if it belongs to the layer itself and has any (a journal page of
    /// trims).
    pub fn note(&self, unit: u32) -> Option<&[u8]> {
        self.journal.note(unit)
    }

    /// Returns the number of buffer units that data moves through.
    pub fn buffer_count(&self) -> u32 {
        self.slots.count()
    }

    /// Returns the number of units that the host can address.
    pub fn user_units(&self) -> u32 {
        self.config.user_units
    }

    /// Returns the counters since the mount or the last [`reset_stats`](Self::reset_stats).
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Resets the counters (at the end of preconditioning or of a warm-up).
    pub fn reset_stats(&mut self) {
        self.stats = Stats::default();
    }

    /// Returns true if the drive no longer accepts writes because too little of the flash is usable.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Returns true if no operation is in progress.
    pub fn is_idle(&self) -> bool {
        self.operations.active() == 0
    }

    /// Injects a fault, for the tests that must detect it.
    #[doc(hidden)]
    pub fn inject(&mut self, injected: InjectedFault) {
        self.injected = injected;
    }

    /// Returns true on every third occasion for the injected fault.
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

    /// Returns the flash address of the newest copy of `unit` that was handed to flash.
    #[inline]
    fn home(&self, unit: u32) -> Location {
        let location = self.table.get(unit);
        match location.place(self.slots.count()) {
            Place::Buffer(slot) => self.slots[slot].home,
            _ => location,
        }
    }

    /// Marks the flash copy at `home` invalid, because new data superseded it or it was trimmed.
    #[inline]
    fn invalidate(&mut self, home: Location) {
        if let Place::Flash(unit) = home.place(self.slots.count()) {
            let block = self.layout.block_of(unit);
            self.superseded_in(block);
            self.clear_valid(block, unit);
        }
    }

    /// Marks flash unit `unit` of `block` invalid; its block may become empty.
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
