//! The translation layer of a zoned drive: a state machine without a clock, a file or a thread.
//!
//! A zone is mapped to whole blocks of its dies; there is no map of pages and no garbage collection. Units go to flash in
//! the order of their addresses, a program on all planes of a die at a time, to the zone's dies in turn. What does not
//! fill a program waits in the write buffer.
//!
//! Rules by which a mount finds every zone as the host left it:
//! * The spare area of a program holds the logical numbers of its units and a stamp: the zone's *generation* (how often
//!   it was reset), a sequence number, and whether the program is filler of a finished zone.
//! * Of several generations of a zone only the highest counts. Blocks of others are erased.
//! * The *log* makes durable what blocks do not show: that a zone was reset (a record of the new generation), and units
//!   that do not fill a program (a record with their data). A block of the log is erased, the oldest first, once no record
//!   in it is needed.
//! * The write pointer is after the longest run of programmed units from the zone's start, continued by the log. Filler
//!   or padding in that run shows that the zone was finished.
//! * A block whose program failed, or that a power cut left with pages after the write pointer, is replaced: its
//!   valid pages are copied to another block before the zone is written again.

mod config;
mod durability;
mod injected;
mod request;
mod space;

use media::{Action, Actions, Flash, Op, OpId, ProgramUnit, Request, Status, Tag};
use sim::{Injected, Part, Schedule, Time, Timer};

use crate::{Refusal, ZoneState, Zones};
use durability::log::Log;
use request::buffer::{Buffer, NIL};
use request::jobs::Manager;
use request::operation::{Command, OperationKind, Operations};
use space::blocks::Blocks;
use space::extent::Extent;
use space::layout::Layout;
use space::relocate::Relocations;

pub use crate::section::Times;
pub use config::{ConfigError, ZonedFtlConfig};
pub use durability::mount::MountReport;
#[cfg(feature = "injected-faults")]
pub use injected::InjectedFault;
#[cfg(not(feature = "injected-faults"))]
use injected::InjectedFault;
pub use space::laid::LaidZones;

/// Counters since the mount or the last reset. Units are mapping units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Units that the host wrote.
    pub host_units: u64,
    /// Units programmed for the host.
    pub programmed_host: u64,
    /// Units programmed as filler and padding of finished zones.
    pub programmed_padding: u64,
    /// Units programmed in the log.
    pub programmed_log: u64,
    /// Units copied to replace blocks.
    pub programmed_copy: u64,
    /// Program operations.
    pub programs: u64,
    /// Pages read for the host.
    pub host_reads: u64,
    /// Units that the host read from the write buffer.
    pub read_hits: u64,
    /// Units that the host read from flash.
    pub read_misses: u64,
    /// Units that the host read where nothing was written.
    pub read_unwritten: u64,
    /// Pages read to be copied.
    pub copy_reads: u64,
    /// Blocks erased, on all planes of a die.
    pub erases: u64,
    /// Programs and erases that failed.
    pub failures: u64,
    /// Units lost because they could not be read when they were moved.
    pub lost_units: u64,
    /// Zones reset.
    pub resets: u64,
    /// Zones finished.
    pub finishes: u64,
}

/// The translation layer of a zoned drive.
pub struct ZonedFtl {
    config: ZonedFtlConfig,
    layout: Layout,
    zones: Zones,
    commands: Vec<Command>,
    operations: Operations,
    buffer: Buffer,
    blocks: Blocks,
    /// The extent of each zone comes first, those being removed after.
    extents: Vec<Extent>,
    /// The current extent of each zone.
    current: Vec<u32>,
    free_extents: Vec<u32>,
    /// Uses of extents so far.
    usages: u64,
    /// Sequence number of the last program.
    sequence: u64,
    log: Log,
    relocations: Relocations,
    manager: Manager,
    /// Data found at the mount, to be moved to the buffer.
    found: Vec<media::Move>,
    /// Blocks to erase after the mount.
    garbage: Vec<space::blocks::Block>,
    /// The drive runs on without power: no filler is written.
    writing_out: bool,
    stats: Stats,
    injected: Injected<InjectedFault>,
}

impl ZonedFtl {
    pub(crate) fn empty(config: ZonedFtlConfig) -> Result<ZonedFtl, ConfigError> {
        config.check()?;
        let layout = Layout::new(&config);
        let zones = Zones::new(config.zones).map_err(|error| ConfigError(error.to_string()))?;
        let count = config.zones.zones;
        Ok(ZonedFtl {
            zones,
            commands: vec![Command::NONE; config.tags as usize],
            operations: Operations::default(),
            buffer: Buffer::new(config.write, layout.program_units),
            blocks: Blocks::new(config.geometry.all_dies(), config.geometry.blocks),
            extents: (0..count).map(|zone| Extent::new(zone, 0, u64::from(zone))).collect(),
            current: (0..count).collect(),
            free_extents: Vec::new(),
            usages: u64::from(count),
            sequence: 0,
            log: Log::default(),
            relocations: Relocations::default(),
            manager: Manager::default(),
            found: Vec::new(),
            garbage: Vec::new(),
            writing_out: false,
            stats: Stats::default(),
            injected: Injected::NONE,
            layout,
            config,
        })
    }

    /// Starts a host command. Its tag may be reused after the action that ends it.
    ///
    /// # Panics
    /// If a command with this tag is in progress.
    pub fn command(&mut self, now: Time, tag: Tag, request: &Request, out: &mut Actions) {
        let command = &mut self.commands[tag.0 as usize];
        assert!(!command.active, "tag {} is already in use", tag.0);
        *command = Command { op: request.op, fua: request.fua, active: true, left: request.bytes, ..Command::NONE };
        let unit_bytes = u64::from(self.config.geometry.unit_bytes);
        if !request.offset.is_multiple_of(unit_bytes) || !request.bytes.is_multiple_of(unit_bytes) {
            return self.refuse(tag, Refusal::InvalidField, out);
        }
        let (first, units) = (request.offset / unit_bytes, request.bytes / unit_bytes);
        match request.op {
            Op::Read => {
                self.yield_to_command();
                self.read(tag, first, units, out);
            }
            Op::Write | Op::Append => {
                self.yield_to_command();
                self.write(tag, first, units, out);
            }
            // Deallocation is a hint, and a zone's blocks are deallocated by its reset.
            Op::Trim => self.complete(tag, Status::Ok, out),
            Op::Flush => self.flush(tag, out),
            Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset => {
                self.manage(now, tag, first, units, out);
            }
        }
    }

    /// Handles the end of operation `id`. `flash` provides the spare areas of pages that were read.
    pub fn done(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) {
        match self.operations[id].kind {
            OperationKind::Free => panic!("operation {} is not in progress", id.0),
            OperationKind::Read { tag } => self.read_done(id, tag, status, out),
            OperationKind::Program => self.program_done(id, status, out),
            OperationKind::CopyRead => self.copy_read_done(id, status, flash, out),
            OperationKind::CopyProgram => self.copy_program_done(id, status, out),
            OperationKind::Log => self.log_done(id, status, out),
            OperationKind::Erase(block) => self.erase_done(id, block, status, out),
            OperationKind::Discard(block) => self.discard_done(id, block, status, out),
            OperationKind::LogErase(block) => self.log_erase_done(id, block, status, out),
        }
    }

    /// Returns the command that the flash read `id`, which is in progress, delivers data to; `None` for any other operation.
    pub fn reader(&self, id: OpId) -> Option<Tag> {
        match self.operations[id].kind {
            OperationKind::Read { tag } => tag,
            _ => None,
        }
    }

    /// Returns true if the command `tag` promised durable data, also just after its completion: a flush, a write with
    /// FUA, or zone management.
    pub fn promises_durability(&self, tag: Tag) -> bool {
        let command = &self.commands[tag.0 as usize];
        command.fua || command.op == Op::Flush || command.op.manages_zones()
    }

    /// Returns the operation of the command `tag`, the last one with this tag.
    pub fn op(&self, tag: Tag) -> Op {
        self.commands[tag.0 as usize].op
    }

    /// Returns the number for spare areas below which all programs have completed.
    pub fn oldest_sequence(&self) -> u64 {
        self.operations.oldest_sequence().unwrap_or_else(|| stamp(0, self.sequence + 1, false))
    }

    /// Returns the number to be stored in the spare area of the program `id`. Valid until the program completes.
    pub fn program_sequence(&self, id: OpId) -> u64 {
        self.operations[id].sequence
    }

    /// Iterates over the units of the program `id`, in order. Valid until the program completes.
    pub fn program_units(&self, id: OpId) -> impl ExactSizeIterator<Item = ProgramUnit> + '_ {
        let operation = &self.operations[id];
        let extent = self.extents.get(operation.extent as usize);
        let base = extent.map_or(0, |extent| extent.zone * self.layout.size) + operation.first;
        let is_log = operation.kind == OperationKind::Log;
        let header = self.layout.user_units;
        operation.slots.iter().enumerate().map(move |(at, slot)| {
            let at = at as u32;
            let (logical, buffer) = match *slot {
                NIL => (media::NOBODY, 0),
                slot if is_log && at == 0 => (header, slot),
                slot => (base + at - u32::from(is_log), slot),
            };
            let lost = operation.kind == OperationKind::CopyProgram
                && extent.is_some_and(|extent| extent.lost.contains(&(operation.first + at)));
            ProgramUnit { logical, buffer, lost }
        })
    }

    /// Returns the content of logical unit `unit` if it belongs to the layer itself: the head of a record of the log that
    /// is being programmed.
    pub fn note(&self, unit: u32) -> Option<&[u8]> {
        (unit == self.layout.user_units).then(|| self.log.note())
    }

    /// Returns the number of buffer units that data moves through.
    pub fn buffer_count(&self) -> u32 {
        self.buffer.count()
    }

    /// Returns the number of units that the host can address, writable or not.
    pub fn user_units(&self) -> u32 {
        self.layout.user_units
    }

    /// Returns the bytes of a unit, which is a logical block of the zones.
    pub fn unit_bytes(&self) -> u32 {
        self.config.geometry.unit_bytes
    }

    /// Returns the number of buffer units that data moves through with `config`.
    pub fn buffers(config: &ZonedFtlConfig) -> u32 {
        Buffer::new(config.write, config.program_units()).count()
    }

    /// Returns states, write pointers and limits of the zones.
    pub fn zones(&self) -> &Zones {
        &self.zones
    }

    /// Returns states, write pointers and limits of the zones, for changes that concern no data.
    pub fn zones_mut(&mut self) -> &mut Zones {
        &mut self.zones
    }

    /// Returns the first logical unit written by the write or append `tag`, also just after its completion.
    pub fn written_at(&self, tag: Tag) -> u32 {
        self.commands[tag.0 as usize].unit
    }

    /// Returns the counters since the mount or the last [`reset_stats`](Self::reset_stats).
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Resets the counters.
    pub fn reset_stats(&mut self) {
        self.stats = Stats::default();
    }

    /// Returns the minimum, mean and maximum number of erases of a block.
    pub fn wear(&self) -> (u32, f64, u32) {
        self.blocks.wear()
    }

    /// Returns true if no operation is in progress.
    pub fn is_idle(&self) -> bool {
        self.operations.active() == 0
    }

    /// Returns true if no zone can be written any more.
    pub fn is_read_only(&self) -> bool {
        (0..self.config.zones.zones)
            .all(|zone| matches!(self.zones.state(zone), ZoneState::ReadOnly | ZoneState::Offline))
    }

    /// Injects a fault, for the tests that must detect it.
    #[cfg(feature = "injected-faults")]
    pub fn inject(&mut self, fault: Option<InjectedFault>) {
        self.injected.inject(fault);
    }

    /// Returns the next number for a spare area.
    pub(crate) fn stamp(&mut self, generation: u32, dummy: bool) -> u64 {
        self.sequence += 1;
        assert!(generation < 1 << 24 && self.sequence < 1 << 39, "zone reset {generation} times");
        stamp(generation, self.sequence, dummy)
    }

    pub(crate) fn complete(&mut self, tag: Tag, status: Status, out: &mut Actions) {
        let command = &mut self.commands[tag.0 as usize];
        debug_assert!(command.active);
        command.active = false;
        out.actions.push(Action::Complete { tag, status });
    }

    pub(crate) fn refuse(&mut self, tag: Tag, refusal: Refusal, out: &mut Actions) {
        self.complete(tag, Status::Refused(refusal), out);
    }

    /// Counts down what the command waits for, and completes it at the end.
    pub(crate) fn count_down(&mut self, tag: Tag, out: &mut Actions) {
        let command = &mut self.commands[tag.0 as usize];
        command.left -= 1;
        if command.left == 0 {
            let status = command.status;
            self.complete(tag, status, out);
        }
    }
}

/// Returns a number for a spare area: in the upper 39 bits the sequence, so that later programs have higher numbers, then
/// the generation in 24 bits, and `dummy` in the lowest.
const fn stamp(generation: u32, sequence: u64, dummy: bool) -> u64 {
    sequence << 25 | (generation as u64) << 1 | dummy as u64
}

/// Returns generation, sequence number and filler mark of a [`stamp`].
pub(crate) const fn split_stamp(stamp: u64) -> (u32, u64, bool) {
    ((stamp >> 1) as u32 & ((1 << 24) - 1), stamp >> 25, stamp & 1 == 1)
}

impl Part for ZonedFtl {
    type Event = Timer;
    type Output = Actions;

    fn handle(&mut self, now: Time, _: Timer, _: &mut impl Schedule<Timer>, out: &mut Actions) {
        self.timer(now, out);
    }

    fn next_timer(&self) -> Option<Time> {
        ZonedFtl::next_timer(self)
    }
}
