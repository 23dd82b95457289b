//! Writes of the host, and their way to flash.

use media::{Action, Class, Move, OpId, ProgramOp, Status, Tag};

use crate::buffer::{Holds, NIL, Owner};
use crate::command::{Kind, Operation};
use crate::lane::Room;
use crate::location::{Location, Place};
use crate::read::{Part, sector_mask};
use crate::{Actions, Ftl};

impl Ftl {
    #[inline]
    pub(crate) fn all_sectors(&self) -> u64 {
        self.all_sectors
    }

    // ---- space in RAM ----

    pub(crate) fn write(&mut self, tag: Tag, out: &mut Actions) {
        let (first, last) = self.range(tag);
        let limit = self.write_limit();
        assert!(last - first < limit, "a write of {} units, with room for {limit}", last - first + 1);
        if self.read_only {
            self.complete(tag, Status::NoSpace, out);
            return;
        }
        self.commands[tag].next = NIL;
        if self.space_queue.0 == NIL && self.reserve(last - first + 1) {
            out.actions.push(Action::Ready { tag });
            return;
        }
        match self.space_queue.1 {
            NIL => self.space_queue.0 = tag.0,
            tail => self.commands[Tag(tail)].next = tag.0,
        }
        self.space_queue.1 = tag.0;
        self.pump_on(out);
    }

    fn write_limit(&self) -> u32 {
        let b = &self.config.buffers;
        if b.shared { b.write + b.read } else { b.write }
    }

    fn reserve(&mut self, units: u32) -> bool {
        let limit = self.write_limit();
        if self.write_used + units > limit {
            return false;
        }
        if self.config.buffers.shared {
            while self.write_used + units + self.clean.len > limit {
                self.evict_clean();
            }
        }
        self.write_used += units;
        self.reserved += units;
        true
    }

    /// True once there is room for a clean unit, made by evicting an older one if need be.
    pub(crate) fn room_for_clean(&mut self) -> bool {
        let b = self.config.buffers;
        let limit = if b.shared { (b.write + b.read).saturating_sub(self.write_used) } else { b.read };
        if limit == 0 {
            return false;
        }
        while self.clean.len >= limit {
            self.evict_clean();
        }
        true
    }

    fn evict_clean(&mut self) {
        let slot = self.clean.head;
        assert!(slot != NIL, "nothing clean to evict");
        self.slots.remove(&mut self.clean, slot);
        let (unit, home) = (self.slots[slot].unit, self.slots[slot].home);
        self.table.set(unit, home);
        self.slots.give(slot);
    }

    /// Room in RAM came free: lets the writes that wait for it in, in order.
    #[inline]
    pub(crate) fn admit(&mut self, out: &mut Actions) {
        if self.space_queue.0 != NIL && self.write_used < self.write_limit() {
            self.admit_waiting(out);
        }
    }

    fn admit_waiting(&mut self, out: &mut Actions) {
        while self.space_queue.0 != NIL {
            let tag = Tag(self.space_queue.0);
            let (first, last) = self.range(tag);
            if !self.reserve(last - first + 1) {
                return;
            }
            self.space_queue.0 = self.commands[tag].next;
            if self.space_queue.0 == NIL {
                self.space_queue.1 = NIL;
            }
            out.actions.push(Action::Ready { tag });
        }
    }

    // ---- data into RAM ----

    /// The data of a write goes from the command to slots.
    pub(crate) fn store(&mut self, tag: Tag, out: &mut Actions) {
        let (first, last) = self.range(tag);
        self.reserved -= last - first + 1;
        for unit in first..=last {
            self.store_unit(tag, unit, out);
        }
        self.stats.host_units += u64::from(last - first + 1);
        if self.space_queue.0 != NIL {
            // What was written over gave its room back; and what came just now may be all that can make room.
            self.admit(out);
        }
        let buffers = &self.config.buffers;
        if (buffers.write_back && !self.commands[tag].fua) || buffers.protected {
            self.complete(tag, Status::Ok, out);
        } else {
            self.wait_durable(tag);
        }
        self.pump(out);
    }

    fn store_unit(&mut self, tag: Tag, unit: u32, out: &mut Actions) {
        let part = self.part(tag, unit);
        let mask = sector_mask(part.from, part.sectors);
        let all = self.all_sectors();
        if mask == all && !self.lost.is_empty() {
            self.lost.remove(&unit);
        }
        let location = self.table.get(unit);
        let slot = match location.place(self.slots.count()) {
            Place::Buffer(slot) if self.slots[slot].holds == Holds::Dirty => {
                // Written over in RAM: the reservation goes back.
                self.write_used -= 1;
                self.stats.overwritten_in_ram += 1;
                slot
            }
            Place::Buffer(slot) if self.slots[slot].holds == Holds::Clean => {
                self.slots.remove(&mut self.clean, slot);
                self.slots[slot].holds = Holds::Dirty;
                self.make_dirty(slot);
                slot
            }
            place => {
                let home = match place {
                    Place::Buffer(moving) => self.slots[moving].home,
                    _ => location,
                };
                let slot = self.slots.take(unit, home, Holds::Dirty, Owner::Host, 0);
                self.make_dirty(slot);
                self.table.set(unit, Location::buffer(slot));
                if mask != all {
                    self.complete_from_below(slot, place, mask, out);
                }
                slot
            }
        };
        if self.config.moves {
            let Part { from, sectors, at } = part;
            out.moves.push(Move::HostToBuffer { tag, from: at, sectors, buffer: slot, to: from });
        }
        let s = &mut self.slots[slot];
        s.have |= mask;
        if mask == all {
            s.lost = false;
        }
        if s.have == all && s.waiters != NIL {
            let chain = std::mem::replace(&mut s.waiters, NIL);
            self.wake(chain, true, out);
        }
    }

    pub(crate) fn make_dirty(&mut self, slot: u32) {
        self.dirty_unseen = true;
        self.epoch += 1;
        self.slots[slot].epoch = self.epoch;
        self.slots.append(&mut self.dirty, slot);
    }

    /// A unit was written partly: the rest of it comes from where the unit was.
    fn complete_from_below(&mut self, slot: u32, below: Place, mask: u64, out: &mut Actions) {
        self.slots[slot].have = mask;
        match below {
            Place::Nowhere => {
                if self.config.moves {
                    out.moves.push(Move::ZeroBuffer { buffer: slot, keep: mask });
                }
                self.slots[slot].have = self.all_sectors();
            }
            Place::Buffer(moving) => {
                // On its way to flash: the newest data is still in RAM.
                debug_assert_eq!(self.slots[moving].holds, Holds::Moving);
                if self.config.moves {
                    out.moves.push(Move::BufferToBuffer { from: moving, to: slot, keep: mask });
                }
                self.slots[slot].lost = self.slots[moving].lost;
                self.slots[slot].have = self.all_sectors();
            }
            Place::Flash(physical) => {
                let id = self.start_operation(Kind::Fill, slot);
                self.operations[id].unit = physical;
                self.slots[slot].filling = true;
                self.slots[slot].lost = !self.lost.is_empty() && self.lost.contains(&self.slots[slot].unit);
                self.blocks.pin(self.layout.block_of(physical));
                self.stats.fill_reads += 1;
                out.actions.push(Action::Read(media::ReadOp {
                    id,
                    page: self.layout.span(physical, 1),
                    bytes: 1 << self.unit_shift,
                    class: Class::Host,
                }));
            }
        }
    }

    pub(crate) fn fill_done(&mut self, id: OpId, status: Status, out: &mut Actions) {
        let operation = self.operations.end(id);
        let slot = operation.subject;
        let (block, all) = (self.layout.block_of(operation.unit), self.all_sectors());
        let s = &mut self.slots[slot];
        s.filling = false;
        if s.holds == Holds::Doomed {
            self.slots.give(slot);
            self.write_used -= 1;
            self.unpin(block, out);
            self.admit(out);
            self.pump(out);
            return;
        }
        if s.have != all {
            let keep = s.have;
            s.have = all;
            if status == Status::Ok {
                if self.config.moves {
                    let (page, _, unit) = self.layout.address(operation.unit);
                    out.moves.push(Move::FlashToBuffer { page, unit, buffer: slot, keep });
                }
            } else {
                let unit = self.slots[slot].unit;
                self.slots[slot].lost = true;
                self.lose(unit);
            }
        }
        let chain = std::mem::replace(&mut self.slots[slot].waiters, NIL);
        self.wake(chain, true, out);
        self.unpin(block, out);
        self.pump(out);
    }

    /// The data of `unit` is gone; reads of it fail until it is written whole.
    pub(crate) fn lose(&mut self, unit: u32) {
        if self.lost.insert(unit) {
            self.stats.lost_units += 1;
        }
    }

    // ---- RAM to flash ----

    /// Writes dirty slots to flash as far as the marks, the commands that wait and the free blocks say.
    #[inline]
    pub(crate) fn destage(&mut self, out: &mut Actions) {
        self.heed_marks();
        if self.destages() {
            self.destage_dirty(out);
        }
    }

    /// Above the high mark writing starts, below the low one it stops.
    #[inline]
    fn heed_marks(&mut self) {
        let whole = self.layout.program_units;
        if self.dirty.len >= self.config.buffers.high.max(whole) {
            self.destaging = true;
        }
        if self.dirty.len < whole || self.dirty.len <= self.config.buffers.low {
            self.destaging = false;
        }
    }

    /// True if a program is to be filled from the head of the dirty list.
    #[inline]
    fn destages(&self) -> bool {
        let head = self.dirty.head;
        if self.host_stalled || head == NIL {
            return false;
        }
        let forced = self.slots[head].epoch <= self.force_epoch || self.is_starved();
        (forced || self.destaging) && !self.slots[head].filling
    }

    /// Writes that wait for room wait for programs under way and for data to come; where there is neither, what is dirty
    /// must go, however little it is.
    #[inline]
    pub(crate) fn is_starved(&self) -> bool {
        self.space_queue.0 != NIL && self.moving == 0 && self.reserved == 0
    }

    #[inline(never)]
    fn destage_dirty(&mut self, out: &mut Actions) {
        while self.destages() {
            let Some(room) = self.host_room() else {
                self.host_stalled = true;
                self.short_lanes.extend(0..self.layout.lanes);
                return;
            };
            self.program_dirty(room, out);
            self.heed_marks();
        }
    }

    /// Fills one program from the head of the dirty list.
    fn program_dirty(&mut self, room: Room, out: &mut Actions) {
        let id = self.operations.start_bare(Kind::Program, room.lane);
        let mut taken = 0;
        while taken < room.units {
            let slot = self.dirty.head;
            if slot == NIL || self.slots[slot].filling {
                break;
            }
            self.slots.remove(&mut self.dirty, slot);
            self.operations.set_slot(id, taken, slot);
            taken += 1;
        }
        self.operations.pad(id, taken);
        self.issue_program(id, room, Class::Host, out);
    }

    /// Issues the program `id`, whose slots are set: from here on its units are at `room`.
    #[inline]
    pub(crate) fn issue_program(&mut self, id: OpId, room: Room, class: Class, out: &mut Actions) {
        self.begin_program(id, room, class);
        let mut padding = 0;
        for i in 0..room.units {
            let slot = self.operations.slot(id, i);
            if slot == NIL {
                padding += 1;
                continue;
            }
            let physical = self.physical(room, i);
            self.settle_slot(slot, physical, out);
        }
        self.end_issue(id, room, room.units - padding, out);
    }

    /// The program `id` gets its number.
    #[inline(always)]
    pub(crate) fn begin_program(&mut self, id: OpId, room: Room, class: Class) {
        let sequence = self.sequence.issue();
        let operation = &mut self.operations[id];
        operation.count = room.units;
        operation.unit = room.unit;
        operation.mask = u64::from(room.page.planes.0);
        operation.class = class;
        (operation.sequence, operation.first_sequence) = (sequence, sequence);
    }

    /// The slots of the program `id` are settled, `units` of them: it goes out.
    #[inline(always)]
    pub(crate) fn end_issue(&mut self, id: OpId, room: Room, units: u32, out: &mut Actions) {
        self.blocks.count_valid(room.block, units);
        self.stats.programmed_padding += u64::from(room.units - units);
        self.stats.programs += 1;
        self.blocks.writing(room.block);
        let slc = self.is_slc(room.block);
        let Operation { sequence, class, .. } = self.operations[id];
        out.actions.push(Action::Program(ProgramOp { id, page: room.page, sequence, class, slc }));
    }

    /// Flash unit that the `i`th unit of a program goes to: planes that cannot be used are left out.
    #[inline]
    pub(crate) fn physical(&self, room: Room, i: u32) -> u32 {
        if room.units == self.layout.program_units { room.unit + i } else { self.physical_beside_holes(room, i) }
    }

    #[cold]
    fn physical_beside_holes(&self, room: Room, i: u32) -> u32 {
        let per_page = self.layout.page_units;
        let first = self.layout.page(room.block, room.program).planes.0.trailing_zeros();
        let plane = room.page.planes.iter().nth((i / per_page) as usize).expect("a plane for each page of units");
        room.unit + (plane - first) * per_page + i % per_page
    }

    /// `slot` is in a program at `physical`: the older copy in flash is superseded. The block's count of valid units is
    /// left to the caller.
    #[inline(always)]
    fn settle_slot(&mut self, slot: u32, physical: u32, out: &mut Actions) {
        let s = &mut self.slots[slot];
        let (unit, old, owner) = (s.unit, s.home, s.owner);
        s.home = Location::flash(physical);
        s.holds = Holds::Moving;
        self.blocks.mark_valid(physical);
        match owner {
            Owner::Host => {
                self.stats.programmed_host += 1;
                self.moving += 1;
            }
            Owner::System => {
                self.stats.programmed_system += 1;
                self.journal.issued(unit);
            }
            Owner::Copy => unreachable!("slot {slot} is of a copy"),
        }
        self.invalidate(old);
        self.settled(unit, out);
    }

    /// The copy in `slot` is in a program at `physical`; what it was read from is superseded. The block's count of valid
    /// units is left to the caller.
    #[inline(always)]
    pub(crate) fn settle_copy(&mut self, slot: u32, physical: u32, out: &mut Actions) {
        let s = &mut self.slots[slot];
        let (unit, old) = (s.unit, s.home);
        debug_assert_eq!(s.owner, Owner::Copy);
        s.home = Location::flash(physical);
        self.blocks.mark_valid(physical);
        self.stats.programmed_copy += 1;
        self.repoint(unit, slot, old, physical);
        let Place::Flash(source) = old.place(self.slots.count()) else { unreachable!("a copy from {old:?}") };
        let block = self.layout.block_of(source);
        self.clear_valid(block, source);
        self.unpin(block, out);
        self.settled(unit, out);
    }

    /// `unit` is in a program.
    #[inline(always)]
    fn settled(&mut self, unit: u32, out: &mut Actions) {
        self.journal.written(unit);
        if self.map.is_some() {
            self.map_written(unit, out);
        }
    }

    /// The copy of `unit` in `slot`, read from `old`, is on its way to `physical`.
    #[inline(always)]
    fn repoint(&mut self, unit: u32, slot: u32, old: Location, physical: u32) {
        match self.table.entry(unit) {
            Some(entry) if *entry == old && self.plant == crate::Plant::Nothing => *entry = Location::buffer(slot),
            _ => self.repoint_slowly(unit, slot, physical),
        }
    }

    /// The newest is in RAM, or a bug is planted.
    #[inline(never)]
    fn repoint_slowly(&mut self, unit: u32, slot: u32, physical: u32) {
        match self.place(unit) {
            Place::Buffer(newer) if self.slots[newer].holds != Holds::Clean => {
                self.slots[newer].home = Location::flash(physical);
            }
            place => {
                // A clean copy in RAM makes way: its place in flash cannot be read before the program is done.
                if let Place::Buffer(clean) = place {
                    self.slots.remove(&mut self.clean, clean);
                    self.slots.give(clean);
                }
                if !self.planted(crate::Plant::CopyNotRepointed) {
                    self.table.set(unit, Location::buffer(slot));
                }
            }
        }
    }

    #[inline(always)]
    pub(crate) fn program_done(&mut self, id: OpId, status: Status, out: &mut Actions) {
        if status != Status::Ok {
            self.program_failed(id, out);
            return;
        }
        let Operation { subject: lane, unit: first, count, sequence, first_sequence, .. } = self.operations[id];
        self.operations.free(id);
        let (mut host, mut copies) = (0, 0);
        for i in 0..count {
            let slot = self.operations.slot(id, i);
            if slot == NIL {
                continue;
            }
            let s = &self.slots[slot];
            let (unit, home, owner) = (s.unit, s.home, s.owner);
            match owner {
                Owner::Host => {
                    host += 1;
                    self.moving -= 1;
                }
                Owner::System => self.system_used -= 1,
                Owner::Copy => copies += 1,
            }
            if let Some(entry) = self.table.entry(unit)
                && *entry == Location::buffer(slot)
            {
                if owner == Owner::Host && self.config.buffers.shared {
                    self.write_used -= 1;
                    host -= 1;
                    if self.room_for_clean() {
                        self.slots[slot].holds = Holds::Clean;
                        self.slots.append(&mut self.clean, slot);
                        continue;
                    }
                    self.table.set(unit, home);
                } else {
                    *entry = home;
                }
            }
            self.slots.give(slot);
        }
        self.write_used -= host;
        self.lanes[lane as usize].in_flight -= copies;
        self.written(self.layout.block_of(first));
        if first_sequence != sequence {
            self.sequence.retire(first_sequence);
        }
        self.sequence.retire(sequence);
        self.admit(out);
        if copies > 0 {
            self.collect(lane, out);
        }
        self.pump_on(out);
    }
}
