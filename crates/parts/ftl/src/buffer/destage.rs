//! Destaging: fills programs with dirty data, issues them, and handles their completion.

use media::{Action, Class, OpId, ProgramOp};

use crate::buffer::slots::{Holds, NIL, Owner, Slot};
use crate::location::{DecodedLocation, Location};
use crate::request::operation::{Operation, OperationKind};
use crate::space::parallel_unit::Room;
use crate::{Actions, Ftl};

impl Ftl {
    /// Writes dirty slots to flash as far as the marks, the waiting commands and the free blocks allow.
    ///
    /// Most data that arrives fills no program yet, so that its writing is a call of its own.
    #[inline]
    pub(crate) fn destage(&mut self, out: &mut Actions) {
        self.heed_marks();
        if self.destages() {
            self.destage_programs(out);
        }
    }

    /// Implements [`destage`](Self::destage) where a program should be filled.
    #[inline(never)]
    fn destage_programs(&mut self, out: &mut Actions) {
        loop {
            if self.map.has_dirty_away() && self.bring_in(out) {
                return;
            }
            let Some(room) = self.host_room() else {
                if !self.space.host_room.is_paced() || self.operations.active() <= self.durability.retries.count() {
                    (0..self.layout.parallel_units).for_each(|pu| self.gc.short.report(pu));
                }
                return;
            };
            self.program_dirty(room, out);
            self.pace(room.pu, out);
            self.begin_batch(room.pu, out);
            self.heed_marks();
            if !self.destages() {
                return;
            }
        }
    }

    /// Chooses the handle whose data is written next.
    #[inline]
    pub(crate) fn choose_dirty(&mut self) {
        if self.space.placement.is_on() {
            self.buffer.dirty.choose(&self.buffer.slots, self.layout.program_units);
        }
    }

    /// Starts writing above the high mark, or when writes wait for room; stops it below the low mark.
    #[inline]
    fn heed_marks(&mut self) {
        let whole = self.layout.program_units;
        self.choose_dirty();
        let high = if self.requests.queue.is_empty() { self.config.buffers.high.max(whole) } else { whole };
        if self.buffer.dirty.len() >= high {
            self.buffer.destaging = true;
        }
        let gathers = self.requests.queue.gathers(self.buffer.dirty.len(), self.config.buffers.gather);
        if self.buffer.dirty.len_of_next() < whole || self.buffer.dirty.len() <= self.config.buffers.low || gathers {
            self.buffer.destaging = false;
        }
    }

    /// Returns true if a program should be filled from the head of the dirty list.
    #[inline]
    pub(crate) fn destages(&self) -> bool {
        !self.space.host_room.is_stalled() && !self.gc.batch.is_in_progress() && self.has_dirty_program()
    }

    /// Like [`destages`](Self::destages), whether or not host writes have room.
    #[inline]
    pub(crate) fn has_dirty_program(&self) -> bool {
        let head = self.buffer.dirty.first();
        if head == NIL {
            return false;
        }
        let forced = self.buffer.dirty.is_forced(self.buffer.slots[head].epoch) || self.is_starved();
        (forced || self.buffer.destaging)
            && (self.buffer.fills == 0 || !self.fills_next())
            && !self.map.is_bringing_in()
    }

    /// Returns true if writes wait for room while no program is in progress, and no data is due to arrive or part of the
    /// map to be loaded: dirty data must then be written, however little there is.
    #[inline]
    pub(crate) fn is_starved(&self) -> bool {
        self.buffer.moving | self.buffer.reserved == 0 && !self.requests.queue.is_empty() && !self.map.is_loading()
    }

    /// Fills one program from the head of the dirty list.
    #[inline(always)]
    pub(crate) fn program_dirty(&mut self, room: Room, out: &mut Actions) {
        let (id, operation) = self.operations.start_bare(OperationKind::Program, room.pu);
        let sequence = self.durability.sequence.issue();
        operation.begin_program(room.extent(), Class::Host, sequence);
        let (mut taken, mut plain, whole) = (0, true, room.units == self.layout.program_units);
        let before = self.stats.programmed_host;
        while taken < room.units {
            let first = self.buffer.dirty.first();
            if first == NIL || self.buffer.slots[first].filling {
                break;
            }
            let slot = self.buffer.dirty.take_first(&mut self.buffer.slots);
            self.operations.set_slot(id, taken, slot);
            let physical = if whole { room.unit + taken } else { self.physical(room, taken) };
            if !self.settle_slot(slot, physical, out) {
                plain = false;
            }
            taken += 1;
        }
        self.gc.spend(room.pu, self.stats.programmed_host - before);
        if self.space.placement.is_on() {
            let host = self.stats.programmed_host - before;
            self.space.placement.programmed(self.buffer.dirty.handle(), host, room.units - taken);
        }
        self.operations.pad(id, taken);
        self.operations[id].plain = plain;
        self.end_issue(id, room, taken, (sequence, Class::Host), out);
    }

    /// Issues the program `id`, whose slots are set; its units then belong at `room`.
    #[inline]
    pub(crate) fn issue_program(&mut self, id: OpId, room: Room, class: Class, out: &mut Actions) {
        let (sequence, operation) = (self.durability.sequence.issue(), &mut self.operations[id]);
        operation.begin_program(room.extent(), class, sequence);
        operation.plain = false;
        let mut padding = 0;
        for i in 0..room.units {
            let slot = self.operations.slot(id, i);
            if slot == NIL {
                padding += 1;
                continue;
            }
            let physical = self.physical(room, i);
            let _ = self.settle_slot(slot, physical, out);
        }
        self.end_issue(id, room, room.units - padding, (sequence, class), out);
    }

    /// Emits the program `id`, whose slots are settled; `units` of them hold data.
    #[inline(always)]
    pub(crate) fn end_issue(
        &mut self,
        id: OpId,
        room: Room,
        units: u32,
        (sequence, class): (u64, Class),
        out: &mut Actions,
    ) {
        self.space.blocks.count_valid(room.block, units);
        if units < room.units {
            self.stats.programmed_padding += u64::from(room.units - units);
        }
        self.stats.programs += 1;
        self.space.blocks.writing(room.block);
        let slc = self.is_slc(room.block);
        let sequence = self.space.placement.stamp(room.block, sequence);
        out.actions.push(Action::Program(ProgramOp { id, page: room.page, sequence, class, slc }));
        if self.durability.has_parity() {
            self.join_stripe(id, room, class, out);
        }
    }

    /// Returns the flash unit of the `i`th unit of a program; unusable planes are skipped.
    #[inline]
    pub(crate) fn physical(&self, room: Room, i: u32) -> u32 {
        if room.units == self.layout.program_units { room.unit + i } else { self.physical_beside_holes(room, i) }
    }

    fn physical_beside_holes(&self, room: Room, i: u32) -> u32 {
        let per_page = self.layout.page_units;
        let first = self.layout.page(room.block, room.program).planes.0.trailing_zeros();
        let plane = room.page.planes.iter().nth((i / per_page) as usize).expect("one plane per page of units");
        room.unit + (plane - first) * per_page + i % per_page
    }

    /// Places `slot` in a program at `physical` and invalidates the older copy in flash. The caller updates the block's
    /// count of valid units. Returns true if the logical number fully describes the unit.
    #[inline(always)]
    fn settle_slot(&mut self, slot: u32, physical: u32, out: &mut Actions) -> bool {
        let s = &mut self.buffer.slots[slot];
        debug_assert!(!s.away, "slot {slot} is programmed from the host's memory");
        let (unit, old, owner, lost) = (s.unit, s.home, s.owner, s.lost);
        s.home = Location::flash(physical);
        s.holds = Holds::Moving;
        self.space.blocks.mark_valid(physical);
        match owner {
            Owner::Host => {
                self.stats.programmed_host += 1;
                self.buffer.moving += 1;
            }
            Owner::System => {
                self.stats.programmed_system += 1;
                self.durability.journal.issued(unit);
            }
            Owner::Copy => unreachable!("slot {slot} holds a copy"),
        }
        self.invalidate(old);
        self.settled(unit, out);
        !lost && owner == Owner::Host
    }

    /// Places the copy in `slot` in a program at `physical` and invalidates its source. The caller updates the block's
    /// count of valid units and the count of copies. Returns true if the logical number fully describes the unit.
    #[inline(always)]
    pub(crate) fn settle_copy(&mut self, slot: u32, physical: u32, out: &mut Actions) -> bool {
        let s = &mut self.buffer.slots[slot];
        let (unit, old, lost) = (s.unit, s.home, s.lost);
        debug_assert_eq!(s.owner, Owner::Copy);
        s.home = Location::flash(physical);
        self.space.blocks.mark_valid(physical);
        self.repoint(unit, slot, old, physical);
        let source = old.flash_unit();
        let block = self.layout.block_of(source);
        self.clear_valid(block, source);
        self.unpin(block, out);
        self.settled(unit, out);
        !lost && unit < self.config.user_units
    }

    /// Notifies the journal and the map that `unit` is in a program.
    #[inline]
    fn settled(&mut self, unit: u32, out: &mut Actions) {
        self.durability.journal.written(unit);
        if self.map.is_cached() {
            self.map_written(unit, out);
        }
    }

    /// Updates the map: the copy of `unit` in `slot`, read from `old`, is being programmed at `physical`.
    #[inline]
    fn repoint(&mut self, unit: u32, slot: u32, old: Location, physical: u32) {
        match self.map.table.entry_at(unit, old) {
            Some(entry) if *entry == old && !self.injected.is(crate::InjectedFault::CopyNotRepointed) => {
                *entry = Location::buffer(slot)
            }
            _ => self.repoint_slowly(unit, slot, physical),
        }
    }

    /// Handles newer data in RAM and an injected fault.
    fn repoint_slowly(&mut self, unit: u32, slot: u32, physical: u32) {
        match self.place(unit) {
            DecodedLocation::Buffer(newer) if self.buffer.slots[newer].holds != Holds::Clean => {
                self.buffer.slots[newer].home = Location::flash(physical);
            }
            place => {
                // Drop the clean copy in RAM: its new address in flash cannot be read before the program completes.
                if let DecodedLocation::Buffer(clean) = place {
                    self.leave_host_memory(clean);
                    self.buffer.slots.remove(&mut self.buffer.clean, clean);
                    self.buffer.slots.give(clean);
                }
                if !self.injected.strikes(crate::InjectedFault::CopyNotRepointed) {
                    self.map.table.set(unit, Location::buffer(slot));
                }
            }
        }
    }

    /// Handles the successful end of the program `id`, as [`done`](Self::done) does. If `spare` is given, it receives
    /// the logical numbers of the units; it must have one entry per unit, and the program must be
    /// [plain](Self::is_plain).
    #[inline(always)]
    pub fn program_done(&mut self, id: OpId, spare: Option<&mut [u32]>, out: &mut Actions) {
        let Operation { subject: pu, unit: first, count, sequence, first_sequence, .. } = self.operations[id];
        self.operations.free(id);
        let (mut host, mut copies) = (0, 0);
        let mut spare = spare.map(|spare| spare.iter_mut());
        let first_slot = self.operations.first_slot(id);
        for at in first_slot..first_slot + count as usize {
            let slot = self.operations.slot_at(at);
            let place = spare.as_mut().map(|spare| spare.next().expect("one entry per unit"));
            if slot == NIL {
                place.into_iter().for_each(|place| *place = media::NOBODY);
                continue;
            }
            // A shared buffer may keep the data.
            let shared = self.config.buffers.shared;
            let slots = &mut self.buffer.slots;
            let Slot { unit, home, owner, .. } = if shared { slots[slot] } else { slots.give(slot) };
            place.into_iter().for_each(|place| *place = unit);
            match owner {
                Owner::Host => {
                    host += 1;
                    self.buffer.moving -= 1;
                }
                Owner::System => self.buffer.system_used -= 1,
                Owner::Copy => copies += 1,
            }
            if let Some(entry) = self.map.table.entry(unit)
                && *entry == Location::buffer(slot)
            {
                if owner == Owner::Host && shared {
                    self.buffer.write_used -= 1;
                    host -= 1;
                    if self.room_for_clean() {
                        self.buffer.slots[slot].holds = Holds::Clean;
                        self.buffer.add_clean(slot);
                        continue;
                    }
                    self.map.table.set(unit, home);
                } else {
                    *entry = home;
                }
            }
            if shared {
                self.buffer.slots.give(slot);
            }
        }
        self.buffer.write_used -= host;
        self.gc.end_copies(pu, copies);
        self.written(self.layout.block_of(first));
        if first_sequence != sequence {
            self.durability.sequence.retire(first_sequence);
        }
        self.durability.sequence.retire(sequence);
        self.admit(out);
        if copies > 0 {
            self.collect_on(pu, out);
        }
        self.dispatch_pending(out);
    }
}
