//! Replacement of blocks that cannot be written further: their valid pages move to another block, one at a time.

use std::collections::VecDeque;

use media::{Action, Actions, Class, Flash, Move, OpId, ProgramOp, ReadOp, Status};

use crate::ftl::ZonedFtl;
use crate::ftl::request::buffer::NIL;
use crate::ftl::request::operation::OperationKind;
use crate::ftl::space::blocks::{Block, KEPT_BY_REPLACEMENTS};

/// A block that is being replaced.
#[derive(Clone, Copy, Debug)]
struct Relocation {
    extent: u32,
    column: u32,
    /// The old block's program failed, so it must not be used again.
    bad: bool,
    /// The new block.
    to: Option<Block>,
    /// The next page to copy.
    page: u32,
}

/// Blocks to be replaced, the first being so.
#[derive(Default)]
pub(crate) struct Relocations {
    queue: VecDeque<Relocation>,
    /// An operation for the first is in progress.
    busy: bool,
}

impl Relocations {
    /// Iterates over the blocks that data is being moved to.
    pub(crate) fn new_blocks(&self) -> impl Iterator<Item = Block> + '_ {
        self.queue.iter().filter_map(|relocation| relocation.to)
    }

    /// Returns true if a replacement will free the old block.
    pub(crate) fn frees_block(&self) -> bool {
        self.queue.iter().any(|relocation| relocation.to.is_some() && !relocation.bad)
    }
}

impl ZonedFtl {
    /// Replaces the block of the next row of `column`, whose program failed.
    pub(crate) fn relocate(&mut self, id: u32, column: u32, out: &mut Actions) {
        self.extents[id as usize].columns[column as usize].moving = true;
        self.relocations.queue.push_back(Relocation { extent: id, column, bad: true, to: None, page: 0 });
        self.go_on_moving(out);
    }

    /// Queues the replacement of the block of the next row of `column`, which has pages after the write pointer.
    pub(crate) fn queue_relocation(&mut self, id: u32, column: u32) {
        self.extents[id as usize].columns[column as usize].moving = true;
        self.relocations.queue.push_back(Relocation { extent: id, column, bad: false, to: None, page: 0 });
    }

    /// Starts the next step of the first replacement, unless one is in progress.
    pub(crate) fn go_on_moving(&mut self, out: &mut Actions) {
        while !self.relocations.busy {
            let Some(first) = self.relocations.queue.front().copied() else { return };
            let (id, column) = (first.extent, first.column);
            let extent = &self.extents[id as usize];
            let row = extent.columns[column as usize].next_row;
            let place = self.layout.program(row * self.layout.width + column);
            if extent.removal.is_some() || first.page == place.page {
                self.end_moving(first, place.block, out);
                continue;
            }
            let die = self.layout.die(extent.zone, column);
            if first.to.is_none() {
                let Some(to) = self.blocks.take(die, KEPT_BY_REPLACEMENTS) else {
                    if self.is_erasing() {
                        return;
                    }
                    self.lose_zone(id, out);
                    self.relocations.queue.pop_front();
                    continue;
                };
                self.relocations.queue[0].to = Some(to);
            }
            self.relocations.busy = true;
            let from = extent.blocks[(column * self.layout.blocks + place.block) as usize];
            let page = self.layout.page(die, from, first.page);
            let op = self.operations.start(OperationKind::CopyRead, id, column, page);
            self.extents[id as usize].programs += 1;
            let bytes = self.layout.program_units * self.config.geometry.unit_bytes;
            self.stats.copy_reads += 1;
            out.actions.push(Action::Read(ReadOp { id: op, page, bytes, class: Class::Collection }));
            return;
        }
    }

    /// Ends a replacement: the new block takes the old one's place, unless the zone was reset meanwhile.
    fn end_moving(&mut self, relocation: Relocation, block: u32, out: &mut Actions) {
        let Relocation { extent: id, column, bad, to, .. } = relocation;
        self.relocations.queue.pop_front();
        let extent = &mut self.extents[id as usize];
        extent.columns[column as usize].moving = false;
        let die = self.layout.die(extent.zone, column);
        let at = (column * self.layout.blocks + block) as usize;
        if extent.removal.is_some() {
            extent.replaced.extend(to);
            return self.go_on_removing(id, out);
        }
        let old = std::mem::replace(&mut extent.blocks[at], to.map_or(NIL, |to| to.block));
        assert!(old != NIL, "column {column} of zone {} has no block to replace", extent.zone);
        if bad {
            out.actions.push(Action::Retire(self.layout.block(die, old)));
        } else {
            extent.replaced.push(Block { die, block: old });
            self.erase_replaced(id, out);
        }
        self.issue(id, column, out);
        if self.extents[id as usize].finishing.is_some() {
            self.go_on_finishing(id, out);
        }
    }

    /// Handles the end of the read of a page that moves.
    pub(crate) fn copy_read_done(&mut self, op: OpId, status: Status, flash: &impl Flash, out: &mut Actions) {
        let operation = self.operations.end(op);
        self.operations.free(op, operation.slots);
        let Relocation { to, page, .. } = self.relocations.queue[0];
        let to = to.expect("a block to copy to");
        let (id, column, from) = (operation.extent, operation.column, operation.page);
        let extent = &mut self.extents[id as usize];
        let row = extent.columns[column as usize].next_row;
        let place = self.layout.program(row * self.layout.width + column);
        let units = self.layout.units(self.layout.number(crate::ftl::space::layout::Program { page, ..place }));
        if !status.is_ok() {
            self.stats.lost_units += units.len() as u64;
            for unit in units.clone().filter(|unit| !extent.lost.contains(unit)).collect::<Vec<_>>() {
                extent.lost.push(unit);
            }
        }
        let generation = extent.generation;
        // A copy tells no more than its original: whether that was filler is in the stamp.
        let dummy = flash.sequence(from, 0) & 1 == 1;
        let sequence = self.stamp(generation, dummy);
        let page = self.layout.page(to.die, to.block, page);
        let op = self.operations.start(OperationKind::CopyProgram, id, column, page);
        let operation = &mut self.operations[op];
        (operation.first, operation.count, operation.sequence) = (units.start, units.len() as u32, sequence);
        for at in 0..self.layout.program_units {
            let (plane, unit) = self.layout.plane_of(at);
            let is_padding = flash.logical(from, plane)[unit as usize] == media::NOBODY;
            operation.slots.push(if is_padding { NIL } else { self.buffer.moving(at) });
            if self.config.moves && status.is_ok() && !is_padding {
                let page = media::PageAddr { planes: media::PlaneMask::one(plane), ..from };
                out.moves.push(Move::FlashToBuffer { page, unit, buffer: self.buffer.moving(at), keep: 0 });
            }
        }
        self.stats.programs += 1;
        out.actions.push(Action::Program(ProgramOp { id: op, page, sequence, class: Class::Collection, slc: false }));
    }

    /// Handles the end of the program of a moved page.
    pub(crate) fn copy_program_done(&mut self, op: OpId, status: Status, out: &mut Actions) {
        let operation = self.operations.end(op);
        self.stats.programmed_copy += u64::from(operation.count);
        self.operations.free(op, operation.slots);
        self.extents[operation.extent as usize].programs -= 1;
        self.relocations.busy = false;
        let first = &mut self.relocations.queue[0];
        if status.is_ok() {
            first.page += 1;
        } else {
            self.stats.failures += 1;
            first.page = 0;
            if let Some(to) = first.to.take() {
                out.actions.push(Action::Retire(self.layout.block(to.die, to.block)));
            }
        }
        self.go_on_moving(out);
    }
}
