//! Reads: from the write buffer, from flash, and zeros where nothing was written.

use std::ops::Range;

use media::{Action, Actions, Class, Move, OpId, PageAddr, PlaneMask, ReadOp, SECTOR, Status, Tag};

use crate::ftl::ZonedFtl;
use crate::ftl::request::buffer::{EXPECTED, NIL};
use crate::ftl::request::operation::OperationKind;

/// Consecutive units on one page of one plane: a read of flash.
struct Run {
    extent: u32,
    page: PageAddr,
    first: u32,
    at: u32,
    count: u32,
    /// Number of units of the command before it.
    before: u32,
}

impl ZonedFtl {
    /// Reads `units` units from `first` on for the command `tag`.
    pub(crate) fn read(&mut self, tag: Tag, first: u64, units: u64, out: &mut Actions) {
        if let Err(failure) = self.zones.read(first, units) {
            return self.refuse(tag, failure, out);
        }
        self.commands[tag.0 as usize].unit = first as u32;
        let sectors = self.config.geometry.unit_bytes / SECTOR as u32;
        let (mut at_hand, mut run) = (0, None::<Run>);
        for before in 0..units as u32 {
            let (zone, unit) = self.layout.split(first as u32 + before);
            let id = self.current[zone as usize];
            let extent = &self.extents[id as usize];
            let slot = extent.slot(unit);
            let written = u64::from(unit) < self.zones.written(zone);
            if written && slot == NIL {
                let (page, at) = self.address(id, unit);
                match &mut run {
                    Some(run) if run.page == page && run.at + run.count == at && run.extent == id => run.count += 1,
                    _ => {
                        let next = Run { extent: id, page, first: unit, at, count: 1, before };
                        if let Some(run) = run.replace(next) {
                            self.issue_read(tag, run, out);
                        }
                    }
                }
                continue;
            }
            at_hand += 1;
            let is_here = written && slot != EXPECTED;
            self.stats.read_hits += u64::from(is_here);
            self.stats.read_unwritten += u64::from(!written);
            if self.config.moves {
                let to = before * sectors;
                out.moves.push(if is_here {
                    Move::BufferToHost { buffer: slot, from: 0, sectors, tag, to }
                } else {
                    Move::ZeroToHost { tag, to, sectors }
                });
            }
        }
        if let Some(run) = run {
            self.issue_read(tag, run, out);
        }
        if at_hand > 0 {
            self.deliver(tag, at_hand, out);
        }
    }

    /// Returns the page of one plane that holds `unit` of an extent, and the unit's number in it.
    fn address(&self, id: u32, unit: u32) -> (PageAddr, u32) {
        let extent = &self.extents[id as usize];
        let place = self.layout.program(unit / self.layout.program_units);
        let (plane, at) = self.layout.plane_of(unit % self.layout.program_units);
        let block = extent.blocks[(place.column * self.layout.blocks + place.block) as usize];
        assert!(block != NIL, "unit {unit} of zone {} has no block", extent.zone);
        let die = self.layout.die(extent.zone, place.column);
        (PageAddr { die, planes: PlaneMask::one(plane), block, page: place.page }, at)
    }

    fn issue_read(&mut self, tag: Tag, run: Run, out: &mut Actions) {
        let Run { extent, page, first, at, count, before } = run;
        let id = self.operations.start(OperationKind::Read { tag: Some(tag) }, extent, before, page);
        let operation = &mut self.operations[id];
        (operation.first, operation.count, operation.at) = (first, count, at);
        self.extents[extent as usize].reads += 1;
        self.stats.host_reads += 1;
        self.stats.read_misses += u64::from(count);
        let bytes = count * self.config.geometry.unit_bytes;
        out.actions.push(Action::Read(ReadOp { id, page, bytes, class: Class::Host }));
    }

    /// Appends reads of the whole pages that hold `units` to `reads`. Units that are not in flash, or beyond the capacity,
    /// are passed over. Each read must be submitted, or its end be reported at once.
    pub fn read_ahead(&mut self, units: Range<u32>, reads: &mut Vec<ReadOp>) {
        let mut before = None;
        for number in units.start..units.end.min(self.layout.user_units) {
            let (zone, unit) = self.layout.split(number);
            let id = self.current[zone as usize];
            let written = u64::from(unit) < self.zones.written(zone) && self.zones.read(u64::from(number), 1).is_ok();
            if !written || self.extents[id as usize].slot(unit) != NIL {
                continue;
            }
            let (page, _) = self.address(id, unit);
            if before.replace(page) == Some(page) {
                continue;
            }
            let op = self.operations.start(OperationKind::Read { tag: None }, id, 0, page);
            // Units that are lost matter to the reads of commands alone.
            (self.operations[op].first, self.operations[op].count) = (unit, 0);
            self.extents[id as usize].reads += 1;
            let bytes = self.config.geometry.page_bytes;
            reads.push(ReadOp { id: op, page, bytes, class: Class::Host });
        }
    }

    /// Handles the end of a read of flash.
    pub(crate) fn read_done(&mut self, id: OpId, tag: Option<Tag>, status: Status, out: &mut Actions) {
        let operation = self.operations.end(id);
        // The field of the column holds the units of the command before this read.
        let before = operation.column;
        self.operations.free(id, operation.slots);
        let extent = &mut self.extents[operation.extent as usize];
        extent.reads -= 1;
        let units = operation.first..operation.first + operation.count;
        let lost = extent.lost.iter().any(|unit| units.contains(unit));
        if let Some(tag) = tag {
            if !status.is_ok() || lost {
                self.commands[tag.0 as usize].status = Status::Uncorrectable;
            } else if self.config.moves {
                let sectors = self.config.geometry.unit_bytes / SECTOR as u32;
                out.moves.extend((0..operation.count).map(|at| Move::FlashToHost {
                    page: operation.page,
                    unit: operation.at + at,
                    from: 0,
                    sectors,
                    tag,
                    to: (before + at) * sectors,
                }));
            }
            self.deliver(tag, operation.count, out);
        }
        self.erase_replaced(operation.extent, out);
        self.go_on_removing(operation.extent, out);
    }

    /// Delivers `units` units of the read `tag`, and ends it with the last.
    fn deliver(&mut self, tag: Tag, units: u32, out: &mut Actions) {
        let bytes = units * self.config.geometry.unit_bytes;
        let command = &mut self.commands[tag.0 as usize];
        command.left -= u64::from(bytes);
        let end = (command.left == 0).then_some(command.status);
        command.active = end.is_none();
        out.actions.push(Action::Data { tag, bytes, end });
    }
}
