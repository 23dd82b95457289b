//! Collection: valid units of a victim are read and programmed elsewhere.

use media::{Action, Class, Flash, Move, NOBODY, OpId, PlaneMask, ReadOp, Status};

use crate::blocks::Use;
use crate::buffer::{Holds, NIL, Owner};
use crate::command::Kind;
use crate::lane::Job;
use crate::location::{Location, Place};
use crate::{Actions, Ftl};

impl Ftl {
    /// Nothing is under way, and `lane` is short of room: what it otherwise sets aside may be used, until a block of it
    /// is erased. True if that is new.
    pub(crate) fn despair(&mut self, lane: u32, out: &mut Actions) -> bool {
        if std::mem::replace(&mut self.lanes[lane as usize].desperate, true) {
            return false;
        }
        self.back_out(lane, out);
        true
    }

    /// Nothing else can go on in `lane`: copies that have no room are dropped, their sources are still there, and the
    /// blocks they came from may be chosen again.
    pub(crate) fn back_out(&mut self, lane: u32, out: &mut Actions) {
        while let Some(slot) = self.lanes[lane as usize].pending.pop() {
            let home = self.slots[slot].home;
            self.lanes[lane as usize].in_flight -= 1;
            self.slots.give(slot);
            self.unpin_home(home, out);
        }
        if self.lanes[lane as usize].reading > 0 {
            return;
        }
        self.lanes[lane as usize].job = None;
        for block in lane * self.layout.blocks..(lane + 1) * self.layout.blocks {
            if self.blocks.usage(block) == Use::Victim && self.blocks.valid(block) > 0 {
                self.blocks.set_usage(block, Use::Closed);
                self.lanes[lane as usize].draining -= 1;
                if self.is_slc(block) {
                    self.blocks.withhold(block);
                    self.lanes[lane as usize].slc_closed.push_back(block);
                }
            }
        }
    }

    /// Goes on collecting `lane`, or starts to, if it is short of free blocks.
    pub(crate) fn collect(&mut self, lane: u32, out: &mut Actions) {
        if self.retries > 0 {
            // A failed program holds up erases: it goes first.
            self.retry(lane, out);
        }
        self.read_victims(lane, out);
        self.program_pending(lane, out);
    }

    pub(crate) fn read_victims(&mut self, lane: u32, out: &mut Actions) {
        loop {
            let l = &self.lanes[lane as usize];
            let Some(job) = l.job else {
                let Some(victim) = self.next_victim(lane) else { return };
                self.start_job(lane, victim);
                continue;
            };
            if job.cursor == job.end {
                self.lanes[lane as usize].job = None;
                if self.blocks.valid(job.block) == 0 {
                    self.emptied(job.block);
                }
                continue;
            }
            let unit = self.layout.unit_of(job.block, job.cursor);
            let bits = self.blocks.valid_bits(unit, self.layout.program_units);
            if bits != 0 {
                let count = bits.count_ones();
                if l.in_flight + count > l.quota {
                    return;
                }
                self.read_copy(lane, job, unit, bits, out);
            }
            if let Some(job) = &mut self.lanes[lane as usize].job {
                job.cursor += 1;
            }
        }
    }

    /// Reads the units in `bits` of the program at `unit`, to copy them.
    pub(crate) fn read_copy(&mut self, lane: u32, job: Job, unit: u32, bits: u64, out: &mut Actions) {
        let per_page = self.layout.page_units;
        let mut page = self.layout.page(job.block, job.cursor);
        let first = page.planes.0.trailing_zeros();
        let in_page = u64::MAX >> (64 - per_page);
        let mut planes = 0;
        for plane in 0..self.layout.planes {
            if bits >> (plane * per_page) & in_page != 0 {
                planes |= 1 << (first + plane);
            }
        }
        page.planes = PlaneMask(planes);
        let count = bits.count_ones();
        let l = &mut self.lanes[lane as usize];
        l.in_flight += count;
        l.reading += 1;
        let id = self.start_operation(Kind::CollectRead, lane);
        let operation = &mut self.operations[id];
        (operation.unit, operation.mask) = (unit, bits);
        self.blocks.pin(job.block);
        self.stats.copy_reads += 1;
        let bytes = count << self.unit_shift;
        out.actions.push(Action::Read(ReadOp { id, page, bytes, class: Class::Collection }));
    }

    pub(crate) fn collect_read_done(&mut self, id: OpId, status: Status, flash: &impl Flash, out: &mut Actions) {
        let operation = self.operations.end(id);
        let lane = operation.subject;
        let block = self.layout.block_of(operation.unit);
        let mut bits = operation.mask;
        while bits != 0 {
            let i = bits.trailing_zeros();
            bits &= bits - 1;
            let physical = operation.unit + i;
            if !self.copy_unit(physical, status, flash, out) {
                self.lanes[lane as usize].in_flight -= 1;
            }
        }
        self.lanes[lane as usize].reading -= 1;
        self.unpin(block, out);
        self.collect(lane, out);
        self.pump(out);
    }

    /// Takes the unit at `physical` into a slot, if it is still the newest.
    pub(crate) fn copy_unit(&mut self, physical: u32, status: Status, flash: &impl Flash, out: &mut Actions) -> bool {
        if !self.blocks.is_valid(physical) {
            return false;
        }
        let (page, plane, within) = self.layout.address(physical);
        let unit = flash.logical(page, plane)[within as usize];
        debug_assert_ne!(unit, NOBODY);
        let home = Location::flash(physical);
        assert_eq!(self.home(unit), home, "unit {unit} is valid at {physical}, but the map has it elsewhere");
        let slot = self.slots.take(unit, home, Holds::Moving, Owner::Copy);
        self.slots[slot].have = self.all_sectors();
        // Until the copy is issued or dropped its source must not be erased and written with the same unit again.
        self.blocks.pin(self.layout.block_of(physical));
        let lane = self.layout.lane_of(self.layout.block_of(physical)) as usize;
        self.lanes[lane].pending.push(slot);
        let clean = match self.place(unit) {
            Place::Buffer(other) if self.slots[other].holds == Holds::Clean => Some(other),
            _ => None,
        };
        match clean {
            Some(clean) => {
                self.slots[slot].lost = self.slots[clean].lost;
                if self.config.moves {
                    out.moves.push(Move::BufferToBuffer { from: clean, to: slot, keep: 0 });
                }
            }
            None if status == Status::Ok => {
                self.slots[slot].lost = !self.lost.is_empty() && self.lost.contains(&unit);
                if self.config.moves {
                    out.moves.push(Move::FlashToBuffer { page, unit: within, buffer: slot, keep: 0 });
                }
            }
            None => {
                self.slots[slot].lost = true;
                // Newer data in RAM is not lost; this copy is kept only because that data may not survive.
                if self.table.get(unit) == home {
                    self.lose(unit);
                }
            }
        }
        true
    }

    /// Programs what was read: whole programs, and the rest once nothing more is being read.
    pub(crate) fn program_pending(&mut self, lane: u32, out: &mut Actions) {
        loop {
            let l = &self.lanes[lane as usize];
            let all_read = l.job.is_none() && l.reading == 0;
            let pending = l.pending.len();
            if pending == 0 || (pending < self.layout.program_units as usize && !all_read) {
                return;
            }
            if !self.drop_superseded(lane, out) {
                continue;
            }
            let Some(room) = self.copy_room(lane) else { return };
            let id = self.start_operation(Kind::Program, lane);
            let mut taken = 0;
            while taken < room.units {
                let Some(slot) = self.lanes[lane as usize].pending.pop() else { break };
                self.operations.slots_mut(id)[taken as usize] = slot;
                taken += 1;
                let home = self.slots[slot].home;
                self.unpin_home(home, out);
            }
            self.operations.slots_mut(id)[taken as usize..].fill(NIL);
            self.issue_program(id, room, Class::Collection, out);
        }
    }

    /// Gives back pending slots whose unit moved on; true if at least a program, or all there is, is left.
    pub(crate) fn drop_superseded(&mut self, lane: u32, out: &mut Actions) -> bool {
        let before = self.lanes[lane as usize].pending.len();
        let mut i = 0;
        while i < self.lanes[lane as usize].pending.len() {
            let slot = self.lanes[lane as usize].pending[i];
            let s = self.slots[slot];
            if self.home(s.unit) == s.home {
                i += 1;
            } else {
                self.lanes[lane as usize].pending.swap_remove(i);
                self.lanes[lane as usize].in_flight -= 1;
                self.slots.give(slot);
                self.unpin_home(s.home, out);
            }
        }
        self.lanes[lane as usize].pending.len() == before
    }
}
