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
mod check;
pub mod config;
mod derived;
mod dispatch;
mod durability;
mod gc;
mod headroom;
mod injected;
mod laid;
mod layout;
mod location;
mod map;
mod occupancy;
mod request;
pub mod section;
mod sizes;
mod space;
mod stats;
mod timer;

use std::ops::Range;

use media::{Action, Flash, Op, OpId, Refusal, Request, Status, Tag};
pub use media::{Actions, ProgramUnit};
use sim::{Injected, Streams, Time};

use buffer::Buffer;
use buffer::slots::NIL;
use config::{Config, ConfigError};
use dispatch::Pending;
use durability::Durability;
use gc::Collector;
use layout::Layout;
use location::{DecodedLocation, Location};
use map::Map;
use request::Requests;
use request::operation::{Operation, OperationKind, Operations};
use space::Space;
use space::blocks::Use;

pub use buffer::slots::Owner;
pub use derived::{Shares, SlcBlocks};
pub use durability::mount::MountReport;
pub use gc::pacing::programmed_before;
pub use headroom::Headroom;
#[cfg(feature = "injected-faults")]
pub use injected::InjectedFault;
#[cfg(not(feature = "injected-faults"))]
use injected::InjectedFault;
pub use laid::{Laid, aged};
pub use layout::rows;
pub use map::contents::HostLines;
pub use map::host_memory::HostMemoryLoss;
pub use occupancy::Occupancy;
pub use sizes::buffer_count;
pub use space::placement::{HANDLES_MAX, HandleStats};
pub use stats::Stats;

/// The translation layer: routes commands and completions to its parts, each of which owns its state.
pub struct Ftl {
    config: Config,
    layout: Layout,
    requests: Requests,
    operations: Operations,
    map: Map,
    buffer: Buffer,
    space: Space,
    gc: Collector,
    durability: Durability,
    pending: Pending,
    stats: Stats,
    injected: Injected<InjectedFault>,
    /// Reads look up the map, or claim room in the read cache, before they begin.
    looks_up: bool,
    /// Reads of flash are counted for refresh, or take whole units.
    attends_reads: bool,
}

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
        let (quota, slots) = (sizes::quota(&config, &layout), sizes::slots(&config, &layout));
        let mut buffer = Buffer::new(&config, &layout, slots as u32);
        let map = Map::new(&config, sizes::all_units(&config) as u32, streams);
        let claims = config.buffers.allocation == config::Allocation::Miss;
        Ok(Ftl {
            looks_up: claims || map.is_cached(),
            attends_reads: claims || config.refresh.reads.is_some(),
            requests: Requests::new(config.tags),
            operations: Operations::new(layout.program_units),
            map,
            durability: Durability::new(&config, &layout, &mut buffer.slots),
            buffer,
            space: Space::new(&config, &layout),
            gc: Collector::new(&config, &layout, quota, streams),
            pending: Pending::default(),
            stats: Stats::default(),
            injected: Injected::NONE,
            layout,
            config,
        })
    }

    /// Starts a host command. Its tag may be reused after the action that ends it.
    #[inline(always)]
    pub fn command(&mut self, now: Time, tag: Tag, request: &Request, out: &mut Actions) {
        self.requests.activity.command(now);
        if self.gc.is_idle() {
            self.end_idle();
        }
        let sectors = self.requests.commands.start(tag, request).range();
        if request.op == Op::Read {
            self.admit_read(tag, &sectors, out);
            self.buffer.read_at(now);
        } else {
            let handles = self.config.placement.map_or(1, |placement| placement.handles);
            assert!(u32::from(request.placement) < handles, "no reclaim unit handle {}", request.placement);
            self.change(now, tag, request.op, sectors, out);
        }
        if self.gc.refresh.is_on() {
            self.look_at_refresh(now, out);
        }
    }

    /// Starts a command for these `sectors` that may change data or waits for changes.
    fn change(&mut self, now: Time, tag: Tag, op: Op, sectors: Range<u64>, out: &mut Actions) {
        self.requests.activity.plan_idle();
        match op {
            Op::Read => unreachable!("a read changes nothing"),
            Op::Write => {
                self.write(tag, sectors, out);
                self.requests.activity.write(now);
            }
            Op::Trim => self.trim(tag, out),
            Op::Flush => self.flush(tag, out),
            Op::Append | Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset => {
                self.complete(tag, Status::Refused(Refusal::InvalidOpcode), out);
            }
        }
    }

    /// Accepts the data of the write `tag`, which arrived in the controller after [`Action::Ready`].
    pub fn arrived(&mut self, now: Time, tag: Tag, out: &mut Actions) {
        self.requests.activity.write(now);
        self.store(tag, out);
    }

    /// Handles the end of operation `id`. `flash` provides the spare areas of pages that were read.
    #[inline(always)]
    pub fn done(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) {
        if !status.is_ok() && self.durability.has_parity() && self.start_rebuild(id, flash, out) {
            return;
        }
        if let Some((tag, bytes)) = self.ended(id, status, flash, out) {
            self.deliver(tag, bytes, out);
        }
        self.resume_last_copies(out);
        self.end_last_batch(out);
    }

    /// Like [`done`](Self::done), without an attempt to rebuild what could not be read. Returns what the operation read
    /// for the host: the command and the number of bytes, to be [delivered](Self::deliver).
    #[inline(always)]
    fn ended(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) -> Option<(Tag, u32)> {
        match self.operations[id].kind {
            OperationKind::HostRead => self.host_read_done(id, status, out),
            OperationKind::CollectRead => {
                self.collect_read_done(id, status, flash, out);
                None
            }
            kind => self.other_done(id, kind, status, flash, out),
        }
    }

    fn other_done(
        &mut self,
        id: OpId,
        kind: OperationKind,
        status: Status,
        flash: &impl Flash,
        out: &mut Actions,
    ) -> Option<(Tag, u32)> {
        match kind {
            OperationKind::HostRead | OperationKind::CollectRead => unreachable!("handled by the caller"),
            OperationKind::Program if status.is_ok() => self.program_done(id, None, out),
            OperationKind::Program => self.program_failed(id, out),
            OperationKind::Parity => self.parity_done(id, status, out),
            OperationKind::Rebuild => return self.rebuild_read_done(id, status, flash, out),
            OperationKind::Erase => self.erase_done(id, status, out),
            OperationKind::CopiesProgram => self.copies_program_done(id, status),
            OperationKind::CopiesErase => self.copies_erase_done(id, status, out),
            OperationKind::Ahead => self.ahead_done(id, out),
            OperationKind::Fill => self.fill_done(id, status, out),
            OperationKind::MapRead => self.map_read_done(id, status, out),
            OperationKind::MapLookup => self.map_lookup_done(id, out),
            OperationKind::HostCopy => self.host_copy_done(id, out),
            OperationKind::HostLoad => return Some(self.host_load_done(id, out)),
            OperationKind::BringIn => self.bring_in_done(id, out),
            OperationKind::Orphan => self.orphan_done(id, out),
            OperationKind::Barrier => self.barrier_done(id, status, out),
            OperationKind::Free => panic!("operation {} is not in progress", id.0),
        }
        None
    }

    /// Returns the number to be stored in the spare area of the program `id`, larger than those before: the sequence
    /// number, with placement also the handle of the block. Valid until the program completes.
    #[inline]
    pub fn program_sequence(&self, id: OpId) -> u64 {
        let Operation { unit, sequence, .. } = self.operations[id];
        if self.space.placement.is_on() {
            return self.space.placement.stamp(self.layout.block_of(unit), sequence);
        }
        sequence
    }

    /// Returns the operation of the command `tag`, the last one with this tag.
    pub fn op(&self, tag: Tag) -> media::Op {
        self.requests.commands[tag].op
    }

    /// Returns the sequence number below which all programs have completed.
    pub fn oldest_sequence(&self) -> u64 {
        self.durability.sequence.oldest()
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
                let slot = &self.buffer.slots[s];
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
                    let slot = &self.buffer.slots[slot];
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
        self.durability.journal.note(unit)
    }

    /// Returns the number of buffer units that data moves through.
    pub fn buffer_count(&self) -> u32 {
        self.buffer.slots.count()
    }

    /// Returns the number of units that the host can address.
    pub fn user_units(&self) -> u32 {
        self.config.user_units
    }

    /// Returns how many translation units, or entries, the map cache holds, and its capacity; `None` if the controller
    /// holds the whole map.
    pub fn map_cache_use(&self) -> Option<(u32, u32)> {
        self.map.cache_use()
    }

    /// Returns the counters since the mount or the last [`reset_stats`](Self::reset_stats).
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Resets the counters (at the end of preconditioning or of a warm-up).
    pub fn reset_stats(&mut self) {
        self.stats = Stats::default();
        self.space.placement.reset_stats();
    }

    /// Returns the counters of each reclaim unit handle since then; empty without placement.
    pub fn handle_stats(&self) -> &[HandleStats] {
        &self.space.placement.stats
    }

    /// Returns true if the drive no longer accepts writes because too little of the flash is usable.
    pub fn is_read_only(&self) -> bool {
        self.durability.is_read_only()
    }

    /// Returns true if no operation is in progress.
    pub fn is_idle(&self) -> bool {
        self.operations.active() == 0
    }

    /// Injects a fault, for the tests that must detect it.
    #[cfg(feature = "injected-faults")]
    pub fn inject(&mut self, fault: InjectedFault) {
        self.injected.inject((fault != InjectedFault::None).then_some(fault));
    }

    #[inline]
    fn place(&self, unit: u32) -> DecodedLocation {
        self.map.table.get(unit).place(self.buffer.slots.count())
    }

    /// Returns the flash address of the newest copy of `unit` that was handed to flash.
    #[inline]
    fn home(&self, unit: u32) -> Location {
        let location = self.map.table.get(unit);
        match location.place(self.buffer.slots.count()) {
            DecodedLocation::Buffer(slot) => self.buffer.slots[slot].home,
            _ => location,
        }
    }

    /// Marks the flash copy at `home` invalid, because new data superseded it or it was trimmed.
    #[inline]
    fn invalidate(&mut self, home: Location) {
        if let DecodedLocation::Flash(unit) = home.place(self.buffer.slots.count()) {
            let block = self.layout.block_of(unit);
            self.superseded_in(block);
            self.clear_valid(block, unit);
        }
    }

    /// Marks flash unit `unit` of `block` invalid; its block may become empty.
    #[inline]
    fn clear_valid(&mut self, block: u32, unit: u32) {
        let (left, usage) = self.space.blocks.clear_valid(block, unit);
        if usage == Use::Victim {
            self.gc.shrank(self.layout.pu_of(block), (block, unit), left);
            if left == 0 {
                self.emptied(block);
            }
        }
    }

    fn start_operation(&mut self, kind: OperationKind, subject: u32) -> OpId {
        self.operations.start(Operation::of(kind, subject))
    }

    #[inline]
    fn complete(&mut self, tag: Tag, status: Status, out: &mut Actions) {
        debug_assert!(self.requests.commands[tag].active);
        self.requests.commands[tag].active = false;
        out.actions.push(Action::Complete { tag, status });
    }
}
