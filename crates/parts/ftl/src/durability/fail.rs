//! Program failures. The data is programmed elsewhere, and the failed planes take no further program. The other planes
//! of an open block are filled before the block is emptied and the failed planes are retired: a superblock that lost
//! one die still has room, which may be the last that collection has.

use media::{Action, OpId, ProgramOp};

use crate::buffer::slots::{NIL, Owner};
use crate::location::{DecodedLocation, Location};
use crate::space::blocks::Use;
use crate::space::parallel_unit::{Room, Stream};
use crate::{Actions, Ftl};

impl Ftl {
    /// Handles a program for which the die reports FAIL.
    pub(crate) fn program_failed(&mut self, id: OpId, out: &mut Actions) {
        let was = self.operations[id];
        self.stats.failures += 1;
        self.space.host_room.rejoin_all();
        let block = self.layout.block_of(was.unit);
        let room = self.room_of(id);
        if self.durability.parity.is_some() {
            self.leave_stripe(id, room, out);
        }
        self.close_failed(block, room.program, was.mask as u16, out);
        for i in 0..was.count {
            let slot = self.operations.slots(id)[i as usize];
            if slot == NIL {
                continue;
            }
            // The failed page cannot be read: the unit now has no copy in flash that is newer than this slot.
            let failed = Location::flash(self.physical(room, i));
            debug_assert_eq!(self.buffer.slots[slot].home, failed);
            self.buffer.slots[slot].home = Location::NOWHERE;
            let unit = self.buffer.slots[slot].unit;
            if self.home(unit) == failed {
                if let DecodedLocation::Buffer(newer) = self.place(unit) {
                    self.buffer.slots[newer].home = Location::NOWHERE;
                }
                self.invalidate(failed);
            } else if self.place(unit) != DecodedLocation::Buffer(slot) {
                // The unit was trimmed since, or a newer program holds it.
                if self.home(unit) == Location::NOWHERE {
                    self.wait_for_trims();
                }
                self.drop_moving(slot, was.subject);
                self.operations.slots_mut(id)[i as usize] = NIL;
                continue;
            } else {
                self.invalidate(failed);
            }
        }
        self.hold_erases();
        self.durability.retries.add(was.subject, id);
        self.written(block);
        self.collect(was.subject, out);
        self.admit(out);
        self.dispatch(out);
    }

    /// Closes the planes `mask` of `block`, on which program number `program` failed, to further programs.
    pub(crate) fn close_failed(&mut self, block: u32, program: u32, mask: u16, out: &mut Actions) {
        self.space.blocks.add_failing(block, program % self.layout.per_row, mask);
        if self.space.blocks.usable_planes(&self.layout, block) == 0 || self.space.blocks.usage(block) == Use::Closed {
            self.abandon_failed(block, out);
        }
    }

    /// Makes blocks that wait for an erase, and commands that wait for durable data, wait for all programs issued so
    /// far, including the newer copies: they may rely on the sequence number of an attempt that failed.
    fn hold_erases(&mut self) {
        let all = self.durability.sequence.next() - 1;
        self.space.erase_queue.hold(all);
        self.durability.durable_queue.hold(all + 1);
    }

    /// Returns the location of the program `id`.
    fn room_of(&self, id: OpId) -> Room {
        let operation = &self.operations[id];
        let block = self.layout.block_of(operation.unit);
        let program = (operation.unit - block * self.layout.block_units) / self.layout.program_units;
        let mut page = self.layout.page(block, program);
        page.planes = media::PlaneMask(operation.mask as u16);
        Room { pu: operation.subject, block, program, unit: operation.unit, units: operation.count, page }
    }

    /// Retries failed programs of `pu`, as far as there is room.
    pub(crate) fn retry(&mut self, pu: u32, out: &mut Actions) {
        self.retry_in(pu, pu, out);
        self.retry_in_pool(pu, out);
    }

    /// Retries failed programs in other parallel units if their own has no room: no operation is in progress, and
    /// failed programs hold up every erase.
    pub(crate) fn retry_elsewhere(&mut self, out: &mut Actions) {
        for pu in 0..self.layout.parallel_units {
            for other in (0..self.layout.parallel_units).filter(|other| *other != pu) {
                if self.durability.retries.none_in(pu) {
                    break;
                }
                self.retry_in(pu, other, out);
            }
        }
    }

    /// Retries failed programs of `pu` in `other`, as far as there is room.
    pub(crate) fn retry_in(&mut self, pu: u32, other: u32, out: &mut Actions) {
        while let Some(id) = self.durability.retries.last(pu) {
            let Some(room) = self.room(other, Stream::Copy) else { return };
            let kept = self.still_wanted(id, pu);
            if kept.len() > room.units as usize {
                // Planes are missing there, so it holds less than the failed program. Pages are programmed in order:
                // pad this one and try the next.
                self.pad(room, out);
                continue;
            }
            self.durability.retries.take_last(pu);
            self.hold_erases();
            let copies = kept.iter().filter(|slot| self.buffer.slots[**slot].owner == Owner::Copy).count() as u32;
            self.gc.move_copies(pu, other, copies);
            self.reissue(id, room, &kept, out);
        }
    }

    /// Returns the slots of the failed program `id` whose unit has no newer copy in flash; frees the others.
    fn still_wanted(&mut self, id: OpId, pu: u32) -> Vec<u32> {
        let slots: Vec<u32> = self.operations.slots(id).iter().copied().filter(|s| *s != NIL).collect();
        let mut kept = Vec::with_capacity(slots.len());
        for slot in slots {
            let wanted = match self.place(self.buffer.slots[slot].unit) {
                DecodedLocation::Buffer(newest) if newest == slot => true,
                DecodedLocation::Buffer(newest) => {
                    self.buffer.slots[newest].home == Location::NOWHERE
                        && !self.failed_later(id, self.buffer.slots[slot].unit)
                }
                _ => false,
            };
            if wanted {
                kept.push(slot);
            } else {
                self.drop_moving(slot, pu);
            }
        }
        let set = self.operations.slots_mut(id);
        set.fill(NIL);
        set[..kept.len()].copy_from_slice(&kept);
        kept
    }

    /// Returns true if a program that was first issued after `id`, and also failed, holds newer data of `unit`: only
    /// the newest is retried, in whatever order the parallel units are handled.
    fn failed_later(&self, id: OpId, unit: u32) -> bool {
        let first = self.operations[id].first_sequence;
        let mut later =
            self.durability.retries.all().filter(|(_, other)| self.operations[*other].first_sequence > first);
        later.any(|(_, other)| {
            self.operations.slots(other).iter().any(|s| *s != NIL && self.buffer.slots[*s].unit == unit)
        })
    }

    /// Issues a program that holds only padding.
    pub(crate) fn pad(&mut self, room: Room, out: &mut Actions) {
        let id = self.start_operation(crate::request::operation::OperationKind::Program, room.pu);
        self.operations.slots_mut(id).fill(NIL);
        self.issue_program(id, room, media::Class::Collection, out);
    }

    fn reissue(&mut self, id: OpId, room: Room, slots: &[u32], out: &mut Actions) {
        let sequence = self.durability.sequence.issue();
        let operation = &mut self.operations[id];
        if operation.sequence != operation.first_sequence {
            // An attempt between the first and this one; the first attempt's number holds its place.
            self.durability.sequence.retire(operation.sequence);
        }
        operation.subject = room.pu;
        (operation.count, operation.unit) = (room.units, room.unit);
        (operation.mask, operation.sequence) = (u64::from(room.page.planes.0), sequence);
        let class = operation.class;
        for (i, slot) in slots.iter().enumerate() {
            let physical = self.physical(room, i as u32);
            if let DecodedLocation::Buffer(newest) = self.place(self.buffer.slots[*slot].unit) {
                self.buffer.slots[newest].home = Location::flash(physical);
            }
            self.buffer.slots[*slot].home = Location::flash(physical);
            self.space.blocks.set_valid(room.block, physical);
        }
        self.stats.programs += 1;
        self.space.blocks.writing(room.block);
        let slc = self.is_slc(room.block);
        let sequence = self.space.placement.stamp(room.block, sequence);
        out.actions.push(Action::Program(ProgramOp { id, page: room.page, sequence, class, slc }));
        if self.durability.parity.is_some() {
            self.join_stripe(id, room, class, out);
        }
    }

    /// Drops data of the trimmed `unit` from failed programs, so that it does not return with a newer sequence number.
    /// Returns true if there was any.
    pub(crate) fn forget_failed(&mut self, unit: u32) -> bool {
        let mut found = false;
        let failed: Vec<_> = self.durability.retries.all().collect();
        for (pu, id) in failed {
            for at in 0..self.operations.slots(id).len() {
                let slot = self.operations.slots(id)[at];
                if slot != NIL && self.buffer.slots[slot].unit == unit {
                    self.operations.slots_mut(id)[at] = NIL;
                    self.drop_moving(slot, pu);
                    found = true;
                }
            }
        }
        found
    }

    /// Frees a slot of a failed program that is no longer needed.
    fn drop_moving(&mut self, slot: u32, pu: u32) {
        let owner = self.buffer.slots[slot].owner;
        if owner == Owner::Copy {
            self.gc.end_copies(pu, 1);
        }
        self.buffer.drop_moving(owner);
        self.buffer.slots.give(slot);
    }
}
