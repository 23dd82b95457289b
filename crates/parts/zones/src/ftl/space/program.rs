//! Programs of zones: rows of columns, in order, one at a time per column.

use media::{Action, Actions, Class, OpId, ProgramOp, Status};

use crate::ftl::ZonedFtl;
use crate::ftl::request::buffer::NIL;
use crate::ftl::request::operation::OperationKind;
use crate::ftl::space::blocks::KEPT_BY_ZONES;
use crate::ftl::space::layout::Program;

impl ZonedFtl {
    /// Issues the programs for which the units from `before` on were missing.
    pub(crate) fn issue_arrived(&mut self, id: u32, before: u32, out: &mut Actions) {
        let extent = &self.extents[id as usize];
        let units = self.layout.program_units;
        let first = before / units;
        let last = (extent.arrived / units).min(first + self.layout.width);
        for program in first..=last {
            self.issue(id, program % self.layout.width, out);
        }
        if !self.extents[id as usize].waiters.durable.is_empty() {
            self.spill(id, out);
        }
    }

    /// Issues programs on all columns, as far as possible.
    pub(crate) fn issue_all(&mut self, id: u32, out: &mut Actions) {
        // Columns take turns, so that a limited number of programs goes to the row that comes next.
        let rows =
            |x: &crate::ftl::space::extent::Extent| x.columns.iter().map(|column| column.next_row).min().unwrap_or(0);
        let row = rows(&self.extents[id as usize]);
        for column in 0..self.layout.width {
            if self.extents[id as usize].columns[column as usize].next_row == row {
                self.issue(id, column, out);
            }
        }
        for column in 0..self.layout.width {
            self.issue(id, column, out);
        }
    }

    /// Issues the next program of `column` if its units have arrived, or the zone is being finished.
    pub(crate) fn issue(&mut self, id: u32, column: u32, out: &mut Actions) {
        let extent = &self.extents[id as usize];
        let state = extent.columns[column as usize];
        let program = state.next_row * self.layout.width + column;
        let is_blocked = state.busy || state.moving || extent.removal.is_some() || extent.repairs > 0;
        if is_blocked || program >= self.layout.programs {
            return;
        }
        let units = self.layout.units(program);
        let dummy = units.start >= extent.arrived;
        if extent.spilling.is_some_and(|(first, _)| units.contains(&first)) {
            // The record's data is taken from the slots when its program ends.
            return;
        }
        if units.end > extent.arrived {
            let all_arrived = extent.arrived == extent.accepted();
            let most = self.config.finish_depth;
            let room = extent.finishing.is_some_and(|finishing| !dummy || finishing.programs < most);
            if !all_arrived || !room || self.writing_out {
                return;
            }
        }
        let Some((block, page)) = self.block_for(id, column, out) else { return };
        let die = self.layout.die(self.extents[id as usize].zone, column);
        let generation = self.extents[id as usize].generation;
        let sequence = self.stamp(generation, dummy);
        let op = self.operations.start(OperationKind::Program, id, column, self.layout.page(die, block, page));
        let extent = &mut self.extents[id as usize];
        let operation = &mut self.operations[op];
        (operation.first, operation.count) = (units.start, units.len() as u32);
        (operation.sequence, operation.dummy) = (sequence, dummy);
        let filler = self.buffer.filler();
        let padded = units.start + self.layout.program_units;
        operation.slots.extend((units.start..padded).map(|unit| match unit {
            unit if unit >= units.end => NIL,
            _ if dummy => filler,
            unit if unit >= extent.arrived => NIL,
            unit => extent.slot(unit),
        }));
        debug_assert!(dummy || operation.slots[0] != NIL, "a unit of {units:?} is not buffered");
        if let Some(finishing) = extent.finishing.as_mut().filter(|_| dummy) {
            finishing.programs += 1;
        }
        extent.columns[column as usize].busy = true;
        extent.programs += 1;
        self.stats.programs += 1;
        let page = operation.page;
        out.actions.push(Action::Program(ProgramOp { id: op, page, sequence, class: Class::Host, slc: false }));
    }

    /// Returns block and page of the next row of `column`. Without a free block, the column waits for an erase; if there is
    /// none to wait for, the zone can no longer be written.
    fn block_for(&mut self, id: u32, column: u32, out: &mut Actions) -> Option<(u32, u32)> {
        let extent = &self.extents[id as usize];
        let row = extent.columns[column as usize].next_row;
        let Program { block, page, .. } = self.layout.program(row * self.layout.width + column);
        let at = (column * self.layout.blocks + block) as usize;
        if extent.blocks[at] == NIL {
            let die = self.layout.die(extent.zone, column);
            let Some(taken) = self.blocks.take(die, KEPT_BY_ZONES) else {
                self.blocks.stall(id, column);
                if !self.is_erasing() {
                    self.lose_zone(id, out);
                }
                return None;
            };
            self.extents[id as usize].blocks[at] = taken.block;
        }
        Some((self.extents[id as usize].blocks[at], page))
    }

    /// Handles the end of a program of a zone.
    pub(crate) fn program_done(&mut self, op: OpId, status: Status, out: &mut Actions) {
        let operation = self.operations.end(op);
        let (id, column) = (operation.extent, operation.column);
        let extent = &mut self.extents[id as usize];
        extent.programs -= 1;
        extent.columns[column as usize].busy = false;
        if operation.dummy {
            extent.finishing.as_mut().into_iter().for_each(|finishing| finishing.programs -= 1);
        }
        if !status.is_ok() {
            self.stats.failures += 1;
            let removed = self.extents[id as usize].removal.is_some();
            let filler = self.buffer.filler();
            let dropped = operation.slots.iter().filter(|slot| removed && **slot != NIL && **slot != filler);
            dropped.for_each(|slot| self.buffer.give(*slot));
            self.operations.free(op, operation.slots);
            if removed {
                self.go_on_removing(id, out);
                return self.admit(out);
            }
            self.relocate(id, column, out);
            if self.writing_out {
                // The end of a zone that was being finished is not programmed again: its units go to the log.
                self.spill(id, out);
            }
            return;
        }
        extent.columns[column as usize].next_row += 1;
        let removed = extent.removal.is_some();
        let filler = self.buffer.filler();
        for (unit, slot) in (operation.first..).zip(&operation.slots) {
            match *slot {
                NIL => self.stats.programmed_padding += 1,
                slot if slot == filler => self.stats.programmed_padding += 1,
                slot => {
                    self.stats.programmed_host += 1;
                    self.buffer.give(slot);
                    if !removed {
                        extent.set_slot(unit, NIL);
                    }
                }
            }
        }
        self.operations.free(op, operation.slots);
        if removed {
            self.go_on_removing(id, out);
            return self.admit(out);
        }
        extent.drop_programmed();
        self.release_spill(id, out);
        self.settle_durable(id, out);
        if self.extents[id as usize].finishing.is_some() {
            self.go_on_finishing(id, out);
        } else {
            self.issue(id, column, out);
        }
        self.admit(out);
    }
}
