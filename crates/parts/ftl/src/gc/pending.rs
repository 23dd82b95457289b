//! Copies that were read, until they are in a program.

use std::collections::VecDeque;

use media::{Class, OpId};

use crate::request::operation::OperationKind;
use crate::space::parallel_unit::{Room, Stream};
use crate::{Actions, Ftl};

/// What copies are made for. Those of each purpose share programs.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Collection, and work in the background of a drive that does not fold in batches.
    #[default]
    Collection,
    /// Work in the background of a drive that folds in batches.
    Batch,
}

impl Purpose {
    pub(super) const ALL: [Purpose; 2] = [Purpose::Collection, Purpose::Batch];
}

/// Copies for one purpose that are being read, or not yet in a program.
#[derive(Default)]
pub(crate) struct Pending {
    /// Slots of the units read, to be programmed in read order: neighbors stay neighbors.
    pub(super) slots: VecDeque<u32>,
    /// The unit of some slot may be superseded.
    pub(super) superseded: bool,
    /// Reads in progress.
    pub(super) reading: u32,
}

impl Ftl {
    pub(super) fn program_batch(&mut self, pu: u32, out: &mut Actions) {
        self.program_pending(pu, Purpose::Batch, out);
    }

    /// Programs pending copies for `purpose`: whole programs, and the rest once nothing more is being read.
    #[inline(always)]
    pub(super) fn program_pending(&mut self, pu: u32, purpose: Purpose, out: &mut Actions) {
        let whole = self.layout.program_units;
        loop {
            let collection = &self.gc.units[pu as usize];
            let all = collection.pending(purpose).slots.len() as u32;
            let pending = if self.space.placement.is_on() { self.pending_together(pu, purpose) } else { all };
            if pending < whole && pending == all && (pending == 0 || collection.will_add(purpose)) {
                return;
            }
            if collection.pending(purpose).superseded && self.drop_superseded(pu, purpose, out) {
                continue;
            }
            // Usually copies have room in the block that is open for them, and the place stays in registers.
            let usual = purpose == Purpose::Collection && !self.space.placement.is_on();
            let room = match if usual { self.copy_room(pu) } else { None } {
                Some(room) => room,
                None => match self.unusual_room(pu, purpose, usual) {
                    Some(room) => room,
                    None => return,
                },
            };
            let (id, operation) = self.operations.start_bare(OperationKind::Program, room.pu);
            let sequence = self.durability.sequence.issue();
            operation.begin_program(room.extent(), Class::Collection, sequence);
            let (taken, mut plain, all) = (room.units.min(pending), true, room.units == whole);
            if self.space.placement.is_on() {
                self.count_sources(pu, purpose, taken);
            }
            let slots = &mut self.gc.units[pu as usize].pending_mut(purpose).slots;
            for to in &mut self.operations.slots_mut(id)[..taken as usize] {
                let Some(slot) = slots.pop_front() else { unreachable!("{pending} slots are pending") };
                *to = slot;
            }
            let first = self.operations.first_slot(id);
            for i in 0..taken {
                let slot = self.operations.slot_at(first + i as usize);
                debug_assert_eq!(
                    self.home(self.buffer.slots[slot].unit),
                    self.buffer.slots[slot].home,
                    "a pending copy is superseded"
                );
                let physical = if all { room.unit + i } else { self.physical(room, i) };
                if !self.settle_copy(slot, physical, out) {
                    plain = false;
                }
            }
            if room.pu != pu {
                self.gc.move_copies(pu, room.pu, taken);
            }
            self.stats.programmed_copy += u64::from(taken);
            if self.space.placement.is_on() {
                self.count_moved(id, taken, room);
            }
            self.operations.pad(id, taken);
            self.operations[id].plain = plain;
            self.end_issue(id, room, taken, (sequence, Class::Collection), out);
        }
    }

    /// Returns room for pending copies of `pu` whose room depends on their data; if `full`, `pu` has none for any. Room
    /// in another parallel unit comes last.
    fn unusual_room(&mut self, pu: u32, purpose: Purpose, full: bool) -> Option<Room> {
        let own = match purpose {
            _ if full => None,
            _ if self.space.placement.is_on() => self.placed_room(pu, purpose),
            Purpose::Collection => self.copy_room(pu),
            Purpose::Batch => self.folded_room(pu),
        };
        own.or_else(|| self.copy_room_elsewhere(pu))
    }

    /// Returns how many pending copies, from the first on, one program may hold: all, or those of one handle.
    fn pending_together(&self, pu: u32, purpose: Purpose) -> u32 {
        let slots = &self.gc.units[pu as usize].pending(purpose).slots;
        let Some(first) = slots.front().filter(|_| self.space.placement.is_persistent()) else {
            return slots.len() as u32;
        };
        let handle = self.buffer.slots[*first].handle;
        slots.iter().take_while(|slot| self.buffer.slots[**slot].handle == handle).count() as u32
    }

    /// Returns room for the first pending copies in `pu`, in a block of their handle if there is any.
    fn placed_room(&mut self, pu: u32, purpose: Purpose) -> Option<Room> {
        let first = self.gc.units[pu as usize].pending(purpose).slots.front().copied();
        let placed = first.and_then(|first| self.placed_copy_room(pu, self.buffer.slots[first].handle));
        placed.or_else(|| self.copy_room(pu))
    }

    /// Returns room for the pending copies of a batch in `pu`. Folded data goes to the blocks of host data if there is
    /// room beyond the reserve of collection.
    fn folded_room(&mut self, pu: u32) -> Option<Room> {
        let first = self.gc.units[pu as usize].pending(Purpose::Batch).slots.front();
        let folded = first.is_some_and(|slot| {
            let home = self.buffer.slots[*slot].home;
            self.is_slc(self.layout.block_of(home.flash_unit()))
        });
        if folded && self.config.separates() && self.is_open_to_host(pu, Stream::Host) {
            return self.room(pu, Stream::Host);
        }
        self.copy_room(pu)
    }

    /// Counts the first `count` pending copies of `pu` for the blocks that they leave.
    fn count_sources(&mut self, pu: u32, purpose: Purpose, count: u32) {
        for slot in self.gc.units[pu as usize].pending(purpose).slots.iter().take(count as usize) {
            let block = self.layout.block_of(self.buffer.slots[*slot].home.flash_unit());
            self.space.placement.copied_out(block);
        }
    }

    /// Counts the copies in the program `id`, of which there are `taken`, for the handles whose blocks they leave.
    fn count_moved(&mut self, id: OpId, taken: u32, room: Room) {
        let to = self.space.placement.handle_of(room.block);
        if self.space.placement.is_persistent() {
            let handle = self.buffer.slots[self.operations.slot(id, 0)].handle;
            return self.space.placement.moved(handle, taken, room.units - taken, to != handle);
        }
        for i in 0..taken {
            let handle = self.buffer.slots[self.operations.slot(id, i)].handle;
            self.space.placement.moved(handle, 1, 0, to != handle);
        }
    }

    /// Returns pending slots whose unit was written elsewhere to the free list; returns true if there were any.
    fn drop_superseded(&mut self, pu: u32, purpose: Purpose, out: &mut Actions) -> bool {
        self.gc.units[pu as usize].pending_mut(purpose).superseded = false;
        let mut dropped = false;
        // Unpinning may erase a block, and its room may be used at once: the list can change on each iteration.
        while let Some(at) = self.first_superseded(pu, purpose) {
            let slot = self.gc.units[pu as usize].pending_mut(purpose).slots.remove(at).expect("just found");
            let home = self.buffer.slots[slot].home;
            self.gc.units[pu as usize].in_flight -= 1;
            self.buffer.slots.give(slot);
            self.unpin_home(home, out);
            dropped = true;
        }
        dropped
    }

    /// Returns the index of the first pending slot of `pu` whose unit was written elsewhere since it was read.
    fn first_superseded(&self, pu: u32, purpose: Purpose) -> Option<usize> {
        let mut pending = self.gc.units[pu as usize].pending(purpose).slots.iter();
        pending.position(|slot| self.home(self.buffer.slots[*slot].unit) != self.buffer.slots[*slot].home)
    }
}
