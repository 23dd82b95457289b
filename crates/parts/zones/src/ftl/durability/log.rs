//! The log: records of resets, and of units that do not fill a program. One record per program.

use std::collections::VecDeque;

use media::{Action, Actions, Class, OpId, ProgramOp, Status};

use crate::ftl::ZonedFtl;
use crate::ftl::request::buffer::NIL;
use crate::ftl::request::operation::OperationKind;
use crate::ftl::space::blocks::Block;
use crate::ftl::space::extent::{Extent, Spill};

/// A record to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Record {
    /// The zone of this extent was reset.
    Reset { extent: u32 },
    /// The units of an extent that do not fill a program.
    Spill {
        extent: u32,
        /// Number of the use of the extent's entry.
        usage: u64,
        /// Written even if an older record holds the same.
        renews: bool,
    },
}

/// A block of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogBlock {
    pub number: u64,
    pub at: Block,
    /// Pages programmed.
    pub pages: u32,
    /// Records that are still needed.
    pub live: u32,
    /// From before the mount.
    pub old: bool,
    /// A program in it failed.
    pub worn: bool,
}

/// The head of a record: what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub zone: u32,
    pub generation: u32,
    /// First unit.
    pub first: u32,
    /// Number of units; 0: the record is of a reset.
    pub count: u32,
}

impl Head {
    /// Returns the head's bytes.
    fn bytes(self) -> Vec<u8> {
        [self.zone, self.generation, self.first, self.count].iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Reads a head; `None` if `note` is none.
    pub(crate) fn read(note: &[u8]) -> Option<Head> {
        let word = |at: usize| {
            let bytes = note.get(at * 4..at * 4 + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        Some(Head { zone: word(0)?, generation: word(1)?, first: word(2)?, count: word(3)? })
    }
}

/// The log, and erases of all kinds in progress.
#[derive(Default)]
pub(crate) struct Log {
    pub(super) queue: VecDeque<Record>,
    pub(super) current: Option<Record>,
    note: Vec<u8>,
    /// The oldest first.
    pub(super) blocks: VecDeque<LogBlock>,
    pub(super) numbers: u64,
    /// A block of the log is being erased.
    pub(super) erasing: bool,
    /// Slots of a removed extent that the record in progress takes its data from.
    held_slots: Vec<u32>,
    /// Extents, each with the number of its use, that are not written while a block from before the mount exists.
    pub(super) ahead: Vec<(u32, u64)>,
    /// Erases in progress.
    pub erases: u32,
    /// Those of blocks that the mount found useless, which the log of before the mount outlives.
    pub useless: u32,
}

impl Log {
    pub(crate) fn push(&mut self, record: Record) {
        self.queue.push_back(record);
    }

    /// Returns the head of the record that is being programmed.
    pub(crate) fn note(&self) -> &[u8] {
        &self.note
    }

    /// Returns true if no record is queued or being programmed.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.current.is_none()
    }

    /// Holds slots until the record in progress is programmed.
    pub(crate) fn hold_slots(&mut self, slots: Vec<u32>) {
        self.held_slots = slots;
    }

    /// Records that a record in block `number` is no longer needed.
    pub(crate) fn release(&mut self, number: u64) {
        let block = self.blocks.iter_mut().find(|block| block.number == number);
        block.expect("a needed record's block").live -= 1;
    }

    /// Adds a block found at the mount, and returns its number.
    pub(crate) fn add_old(&mut self, at: Block, pages: u32) -> u64 {
        self.numbers += 1;
        self.blocks.push_back(LogBlock { number: self.numbers, at, pages, live: 0, old: true, worn: false });
        self.numbers
    }

    /// Iterates over the blocks of the log, the oldest first.
    pub(crate) fn all_blocks(&self) -> impl Iterator<Item = Block> + '_ {
        self.blocks.iter().map(|block| block.at)
    }

    /// Keeps block `number`, found at the mount, because a record in it is needed.
    pub(crate) fn keep(&mut self, number: u64) {
        let block = self.blocks.iter_mut().find(|block| block.number == number);
        block.expect("a needed record's block").live += 1;
    }
}

impl ZonedFtl {
    /// Queues a record of the end of an extent, if commands wait for it to be durable.
    pub(crate) fn spill(&mut self, id: u32, out: &mut Actions) {
        let extent = &mut self.extents[id as usize];
        let first = extent.arrived / self.layout.program_units * self.layout.program_units;
        let is_wanted = self.writing_out || extent.waiters.durable.iter().any(|(_, end)| *end > first);
        let is_done = extent.is_recorded() || extent.arrived == self.layout.capacity;
        let is_early = extent.needs_record_before(first);
        let is_queued = extent.spill_queued || extent.spilling.is_some();
        if first == extent.arrived || !is_wanted || is_done || is_early || is_queued {
            return;
        }
        extent.spill_queued = true;
        let usage = extent.usage;
        self.log.push(Record::Spill { extent: id, usage, renews: false });
        self.go_on_logging(out);
    }

    /// Queues a record of the end of an extent again, whose record is in an old block of the log.
    pub(crate) fn renew_spill(&mut self, id: u32) {
        let extent = &mut self.extents[id as usize];
        extent.spill_queued = true;
        self.log.push(Record::Spill { extent: id, usage: extent.usage, renews: true });
    }

    /// Queues the records that the mount found and needs again, those of the oldest block first: it is erased first.
    pub(crate) fn renew_recovered(&mut self) {
        let record = |id: &u32| self.extents[*id as usize].recovered.map(|recovered| (recovered.log_block, *id));
        let mut found: Vec<(u64, u32)> = self.current.iter().filter_map(record).collect();
        found.sort_unstable();
        for (log_block, id) in found {
            self.log.keep(log_block);
            self.renew_spill(id);
        }
    }

    /// Records that an extent no longer needs the log of before the mount.
    fn release_recovered(&mut self, id: u32) {
        if let Some(recovered) = self.extents[id as usize].recovered.take() {
            self.log.release(recovered.log_block);
        }
    }

    /// Programs the next record, unless one is being programmed or there is no block for it.
    pub(crate) fn go_on_logging(&mut self, out: &mut Actions) {
        while self.log.current.is_none() {
            let Some(record) = self.log.queue.front().copied() else { return };
            let Some((head, slots)) = self.content(record) else {
                self.log.queue.pop_front();
                if let Record::Spill { extent, usage, .. } = record {
                    let extent = &mut self.extents[extent as usize];
                    extent.spill_queued &= extent.usage != usage;
                }
                continue;
            };
            let Some((at, page)) = self.log_page() else { return };
            self.log.queue.pop_front();
            self.log.current = Some(record);
            self.log.note = head.bytes();
            let sequence = self.stamp(0, false);
            let id = match record {
                Record::Reset { extent } | Record::Spill { extent, .. } => extent,
            };
            let page = self.layout.page(at.die, at.block, page);
            let op = self.operations.start(OperationKind::Log, id, 0, page);
            let operation = &mut self.operations[op];
            (operation.first, operation.count, operation.sequence) = (head.first, head.count, sequence);
            operation.slots.push(self.buffer.filler());
            operation.slots.extend(slots);
            operation.slots.resize(self.layout.program_units as usize, NIL);
            if let Record::Spill { extent, .. } = record {
                let extent = &mut self.extents[extent as usize];
                (extent.spilling, extent.spill_queued) = (Some((head.first, head.first + head.count)), false);
            }
            self.stats.programs += 1;
            self.stats.programmed_log += u64::from(self.layout.program_units);
            out.actions.push(Action::Program(ProgramOp { id: op, page, sequence, class: Class::Host, slc: false }));
        }
    }

    /// Returns head and slots of a record; `None` if it is not needed any more.
    fn content(&self, record: Record) -> Option<(Head, Vec<u32>)> {
        match record {
            Record::Reset { extent } => {
                let Extent { zone, generation, .. } = self.extents[extent as usize];
                Some((Head { zone, generation: generation + 1, first: 0, count: 0 }, Vec::new()))
            }
            Record::Spill { extent, usage, renews, .. } => {
                let units = self.layout.program_units;
                let extent = self.extents.get(extent as usize).filter(|x| x.usage == usage)?;
                let newest = (extent.arrived / units * units, extent.arrived);
                let is_early = extent.needs_record_before(newest.0);
                // A renewed record holds the same units again until they are in their place: newer units may wait for
                // space that the erase of the older record gives.
                let (first, end) = if renews && is_early { extent.recorded(units)? } else { newest };
                let is_done = !renews && (extent.is_recorded() || is_early);
                if extent.removal.is_some() || first == end || is_done {
                    return None;
                }
                let program = first / units;
                let column = extent.columns[(program % self.layout.width) as usize];
                let is_placed = extent.slot(first) == NIL;
                if is_placed || (column.busy && column.next_row == program / self.layout.width) {
                    return None;
                }
                let slots = (first..end).map(|unit| extent.slot(unit)).collect();
                let (zone, generation) = (extent.zone, extent.generation);
                Some((Head { zone, generation, first, count: end - first }, slots))
            }
        }
    }

    /// Handles the end of a record's program.
    pub(crate) fn log_done(&mut self, op: OpId, status: Status, out: &mut Actions) {
        let operation = self.operations.end(op);
        self.operations.free(op, operation.slots);
        let record = self.log.current.take().expect("a record in progress");
        std::mem::take(&mut self.log.held_slots).into_iter().for_each(|slot| self.buffer.give(slot));
        let block = self.log.blocks.back_mut().expect("the block of the record");
        if !status.is_ok() {
            self.stats.failures += 1;
            block.worn = true;
            if let Record::Spill { extent, .. } = record {
                self.extents[extent as usize].spilling = None;
                self.go_on_removing(extent, out);
            }
            self.log.queue.push_front(record);
            return self.go_on_logging(out);
        }
        let number = block.number;
        block.live += 1;
        match record {
            Record::Reset { extent: id } => {
                let extent = &mut self.extents[id as usize];
                let spill = extent.spill.take();
                let removal = extent.removal.as_mut().expect("an extent being removed");
                (removal.pending, removal.log_block) = (false, Some(number));
                spill.into_iter().for_each(|spill| self.log.release(spill.log_block));
                self.release_recovered(id);
                self.end_reset(id, out);
                self.go_on_removing(id, out);
            }
            Record::Spill { extent: id, .. } => {
                let extent = &mut self.extents[id as usize];
                extent.spilling = None;
                let (first, end) = (operation.first, operation.first + operation.count);
                let older = extent.spill.replace(Spill { first, end, log_block: number });
                older.into_iter().for_each(|older| self.log.release(older.log_block));
                self.release_recovered(id);
                // Before the extent goes on, which may need the space that this gives.
                self.clean_log(out);
                if self.extents[id as usize].removal.is_some() {
                    self.go_on_removing(id, out);
                } else {
                    self.release_spill(id, out);
                    self.settle_durable(id, out);
                    self.issue(id, first / self.layout.program_units % self.layout.width, out);
                    if self.extents[id as usize].finishing.is_some() {
                        self.go_on_finishing(id, out);
                    }
                    self.spill(id, out);
                }
            }
        }
        self.clean_log(out);
        self.go_on_logging(out);
        self.admit(out);
    }

    /// Forgets the record of an extent's end once its units are in the extent's own blocks.
    pub(crate) fn release_spill(&mut self, id: u32, out: &mut Actions) {
        let extent = &mut self.extents[id as usize];
        let placed = extent.buffered_from;
        let recovered = extent.recovered.is_some_and(|recovered| placed >= recovered.end);
        let done = |spill: &mut Spill| placed >= spill.end;
        if let Some(spill) = extent.spill.take_if(done) {
            self.log.release(spill.log_block);
            self.clean_log(out);
            self.spill(id, out);
        }
        if recovered {
            self.release_recovered(id);
            self.clean_log(out);
            self.spill(id, out);
        }
    }
}
