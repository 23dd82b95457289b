//! Extents: the data of a zone between two resets, in flash and in the write buffer.

use std::collections::VecDeque;

use media::Tag;

use crate::ftl::request::buffer::{EXPECTED, NIL};
use crate::ftl::space::blocks::Block;

/// The part of an extent on one die.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Column {
    /// The next row to program: all before are programmed.
    pub next_row: u32,
    /// That row is being programmed.
    pub busy: bool,
    /// The block of that row is being replaced, or waits for it.
    pub moving: bool,
}

/// A record in the log that makes the end of an extent durable, which does not fill a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spill {
    pub first: u32,
    pub end: u32,
    /// Number of the log's block that holds it.
    pub log_block: u64,
}

/// Units of an extent that only a record of before the mount makes durable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recovered {
    /// The unit after the last one, counted from the start of the zone.
    pub end: u32,
    /// Number of the log's block that holds the record.
    pub log_block: u64,
}

/// A zone's being finished.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finishing {
    /// The command; `None` after a reset of the controller.
    pub tag: Option<Tag>,
    /// Programs of filler in progress.
    pub programs: u32,
}

/// The removal of an extent whose zone was reset.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Removal {
    /// The command; `None` if it has completed, or after a reset of the controller.
    pub tag: Option<Tag>,
    /// The controller's time for the reset has not passed, or the record of the reset is not durable.
    pub pending: bool,
    /// The log's block that holds the record of the reset, once that is durable.
    pub log_block: Option<u64>,
    /// Erases in progress.
    pub erases: u32,
    /// Erases have been started.
    pub erasing: bool,
}

/// Commands that wait for units of an extent.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// Commands that complete once the units before the number are durable.
    pub durable: Vec<(Tag, u32)>,
    /// Writes that complete once the data of all units before the number has arrived.
    pub arrival: Vec<(Tag, u32)>,
}

/// The data of a zone since its last reset.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    pub zone: u32,
    /// Number of resets of the zone before, as far as flash has traces.
    pub generation: u32,
    /// Number of this use of the extent's entry, none of which is used twice.
    pub usage: u64,
    /// Block number on its die of each column's blocks; [`NIL`]: none. Empty until the zone is written.
    pub blocks: Vec<u32>,
    /// Empty until the zone is written.
    pub columns: Vec<Column>,
    /// Buffer slot of each unit from `buffered_from` on: [`NIL`] once it is in flash, [`EXPECTED`] before its data arrives.
    pub slots: VecDeque<u32>,
    pub buffered_from: u32,
    /// Number of units whose data has arrived, with that of all before.
    pub arrived: u32,
    /// Reads of the extent's blocks in progress.
    pub reads: u32,
    /// Programs of the extent in progress, reads for them, and erases of replaced blocks.
    pub programs: u32,
    pub spill: Option<Spill>,
    pub recovered: Option<Recovered>,
    /// Units that a record of the log in progress holds.
    pub spilling: Option<(u32, u32)>,
    /// A record of the log is queued.
    pub spill_queued: bool,
    pub finishing: Option<Finishing>,
    pub removal: Option<Removal>,
    /// Blocks to be erased before the extent is written again, found at the mount: its own, and those of the log.
    pub repairs: u32,
    /// Replaced blocks, to be erased once no read is in progress.
    pub replaced: Vec<Block>,
    pub waiters: Waiters,
    /// Units whose data was lost when it was moved.
    pub lost: Vec<u32>,
}

impl Extent {
    /// Creates the extent of `zone`, in which nothing is written.
    pub(crate) fn new(zone: u32, generation: u32, usage: u64) -> Extent {
        Extent { zone, generation, usage, ..Extent::default() }
    }

    /// Prepares the columns for writing.
    pub(crate) fn activate(&mut self, width: u32, blocks: u32) {
        if self.columns.is_empty() {
            self.columns = vec![Column::default(); width as usize];
            self.blocks = vec![NIL; (width * blocks) as usize];
        }
    }

    /// Returns the number of units that commands have written, their data arrived or not.
    pub(crate) fn accepted(&self) -> u32 {
        self.buffered_from + self.slots.len() as u32
    }

    /// Returns the number of units that a power cut would leave, without a protected buffer.
    pub(crate) fn durable(&self) -> u32 {
        match self.spill {
            Some(spill) if self.buffered_from >= spill.first => self.buffered_from.max(spill.end),
            _ => self.buffered_from,
        }
    }

    /// Returns true if what has arrived is in its place, or in a record of the log.
    pub(crate) fn is_recorded(&self) -> bool {
        let end = self.spill.map_or(self.buffered_from, |spill| spill.end.max(self.buffered_from));
        end >= self.arrived
    }

    /// Returns true if a record of units before `first` must stay the newest, because they are not in their place yet.
    pub(crate) fn needs_record_before(&self, first: u32) -> bool {
        let recovered = self.recovered.is_some_and(|recovered| recovered.end <= first);
        recovered || self.spill.is_some_and(|spill| spill.first != first)
    }

    /// Returns first unit and end of what the extent's record in the log holds, in programs of `units`.
    pub(crate) fn recorded(&self, units: u32) -> Option<(u32, u32)> {
        let spilled = self.spill.map(|spill| (spill.first, spill.end));
        spilled.or(self.recovered.map(|recovered| (recovered.end / units * units, recovered.end)))
    }

    /// Returns the buffer slot of `unit`, or `NIL`.
    pub(crate) fn slot(&self, unit: u32) -> u32 {
        unit.checked_sub(self.buffered_from).and_then(|at| self.slots.get(at as usize)).copied().unwrap_or(NIL)
    }

    /// Sets the buffer slot of a buffered unit.
    pub(crate) fn set_slot(&mut self, unit: u32, slot: u32) {
        self.slots[(unit - self.buffered_from) as usize] = slot;
    }

    /// Advances over the units whose data has arrived.
    pub(crate) fn advance_arrived(&mut self) {
        while self.slot_is_filled(self.arrived) {
            self.arrived += 1;
        }
    }

    fn slot_is_filled(&self, unit: u32) -> bool {
        unit >= self.buffered_from && unit < self.accepted() && self.slot(unit) != EXPECTED
    }

    /// Drops the first units that are in flash.
    pub(crate) fn drop_programmed(&mut self) {
        while self.slots.front() == Some(&NIL) {
            self.slots.pop_front();
            self.buffered_from += 1;
        }
    }

    /// Returns true if flash holds anything of the extent, or may soon.
    pub(crate) fn is_in_flash(&self) -> bool {
        self.blocks.iter().any(|block| *block != NIL)
            || self.spill.is_some()
            || self.spilling.is_some()
            || self.recovered.is_some()
            || !self.replaced.is_empty()
            || self.repairs > 0
    }
}
