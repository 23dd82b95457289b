//! Host writes into RAM.

use std::ops::Range;

use media::{Action, Class, Move, OpId, Refusal, SECTOR, Status, Tag};

use crate::buffer::slots::{Holds, NIL};
use crate::location::{DecodedLocation, Location};
use crate::request::command::Command;
use crate::request::operation::OperationKind;
use crate::request::read::{Part, sector_mask};
use crate::{Actions, Ftl};

impl Ftl {
    /// Starts the write `tag` of these `sectors`.
    pub(crate) fn write(&mut self, tag: Tag, sectors: Range<u64>, out: &mut Actions) {
        let (first, last) = self.units_of(&sectors);
        let (units, limit) = (last - first + 1, self.buffer.write_limit());
        assert!(units <= limit, "a write of {units} units exceeds the write cache of {limit}");
        let command = &mut self.requests.commands[tag];
        let covered = u64::from(units) << (self.layout.unit_shift - SECTOR.trailing_zeros());
        (command.unit, command.units, command.whole) = (first, units, sectors.end - sectors.start == covered);
        if self.durability.is_read_only() {
            self.complete(tag, Status::NoSpace, out);
            return;
        }
        if self.layout.grain > 0 && (sectors.start | sectors.end) & ((1 << self.layout.grain) - 1) != 0 {
            // What is in a buffer is known for so many sectors at once.
            return self.complete(tag, Status::Refused(Refusal::InvalidField), out);
        }
        if self.requests.queue.is_empty() && self.takes_write(units) {
            out.actions.push(Action::Ready { tag });
            return;
        }
        self.queue_for_room(tag);
        self.dispatch_pending(out);
    }

    /// Stores the data of a write in slots.
    pub(crate) fn store(&mut self, tag: Tag, out: &mut Actions) {
        let Command { unit: first, units, whole, handle, sectors, fua, .. } = self.requests.commands[tag];
        self.buffer.data_arrived(units);
        for unit in first..first + units {
            let mask = if whole { self.layout.all_sectors } else { self.mask(tag, unit) };
            self.store_unit(tag, unit, mask, handle, out);
        }
        if self.map.has_dirty_away() {
            self.store_away(tag, first..first + units, out);
        }
        self.stats.host_units += u64::from(units);
        self.stats.host_bytes += sectors * SECTOR;
        if self.space.placement.is_on()
            && let Some(of_handle) = self.space.placement.stats.get_mut(handle as usize)
        {
            of_handle.host_bytes += sectors * SECTOR;
        }
        if !self.requests.queue.is_empty() {
            // Overwritten data freed its room, and the new data may be the only way to free more.
            self.admit(out);
        }
        let buffers = &self.config.buffers;
        if (buffers.write_back && !fua) || buffers.protected {
            self.complete(tag, Status::Ok, out);
        } else {
            self.wait_durable(tag);
        }
        self.end_combining();
        if !self.buffer.dirty.is_empty() {
            self.destage(out);
        }
        self.dispatch_pending(out);
    }

    /// Returns the mask of the sectors of `unit` that the command `tag` covers.
    fn mask(&self, tag: Tag, unit: u32) -> u64 {
        let part = self.part(tag, unit);
        sector_mask(self.layout.grain, part.from, part.sectors)
    }

    /// Stores the sectors in `mask` of `unit`, which are data of `handle`, in a slot, which becomes dirty.
    #[inline]
    fn store_unit(&mut self, tag: Tag, unit: u32, mask: u64, handle: u8, out: &mut Actions) {
        let all = self.layout.all_sectors;
        if mask == all {
            self.durability.replace(unit);
        }
        if self.map.has_clean_away() {
            self.drop_clean_of(unit);
        }
        self.buffer.drop_read_copy(unit);
        let entry = self.map.table.entry_to_set(unit);
        let (location, mut present) = (*entry, false);
        let slot = match location.place(self.buffer.slots.count()) {
            DecodedLocation::Buffer(slot) if matches!(self.buffer.slots[slot].holds, Holds::Dirty | Holds::Clean) => {
                present = true;
                self.write_over(slot, handle);
                slot
            }
            place => {
                let home = match place {
                    DecodedLocation::Buffer(moving) => self.buffer.slots[moving].home,
                    _ => location,
                };
                let slot = self.buffer.dirty.take(&mut self.buffer.slots, unit, home, mask, handle);
                *entry = Location::buffer(slot);
                if self.map.has_host_memory() {
                    self.place_dirty(slot);
                }
                if mask != all {
                    self.complete_from_below(slot, place, mask, out);
                }
                slot
            }
        };
        if self.config.moves {
            let Part { from, sectors, at } = self.part(tag, unit);
            out.moves.push(Move::HostToBuffer { tag, from: at, sectors, buffer: slot, to: from });
        }
        if present {
            self.filled(slot, mask, out);
        }
    }

    /// Prepares `slot`, dirty or clean, to be overwritten with data of `handle`.
    fn write_over(&mut self, slot: u32, handle: u8) {
        if self.buffer.slots[slot].handle != handle {
            self.change_handle(slot, handle);
        }
        if self.buffer.slots[slot].holds == Holds::Dirty {
            // The unit already has a slot: release the reservation.
            self.buffer.release_write();
            self.stats.overwritten_in_ram += 1;
        } else {
            self.buffer.remove_clean(slot);
            self.buffer.slots[slot].holds = Holds::Dirty;
            self.make_dirty(slot);
        }
    }

    /// Makes `slot`, dirty or clean, data of `handle`: the newest write of a unit decides.
    fn change_handle(&mut self, slot: u32, handle: u8) {
        if self.buffer.slots[slot].holds == Holds::Dirty {
            return self.buffer.dirty.change_handle(&mut self.buffer.slots, slot, handle);
        }
        self.buffer.slots[slot].handle = handle;
    }

    /// Marks the sectors in `mask` of `slot`, which already held data, as present, and wakes waiting reads when the
    /// slot is complete.
    fn filled(&mut self, slot: u32, mask: u64, out: &mut Actions) {
        let all = self.layout.all_sectors;
        let s = &mut self.buffer.slots[slot];
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
        self.buffer.dirty.add(&mut self.buffer.slots, slot);
    }

    /// Completes a partly written unit from the previous location of the unit.
    fn complete_from_below(&mut self, slot: u32, below: DecodedLocation, mask: u64, out: &mut Actions) {
        self.buffer.slots[slot].have = mask;
        match below {
            DecodedLocation::Nowhere => {
                if self.config.moves {
                    out.moves.push(Move::ZeroBuffer { buffer: slot, keep: mask });
                }
                self.buffer.slots[slot].have = self.layout.all_sectors;
            }
            DecodedLocation::Buffer(moving) => {
                // The unit is being programmed: its newest data is still in RAM.
                debug_assert_eq!(self.buffer.slots[moving].holds, Holds::Moving);
                if self.config.moves {
                    out.moves.push(Move::BufferToBuffer { from: moving, to: slot, keep: mask });
                }
                self.buffer.slots[slot].lost = self.buffer.slots[moving].lost;
                self.buffer.slots[slot].have = self.layout.all_sectors;
            }
            DecodedLocation::Flash(physical) => {
                let id = self.start_operation(OperationKind::Fill, slot);
                self.operations[id].unit = physical;
                self.buffer.slots[slot].filling = true;
                self.buffer.begin_fill();
                self.buffer.slots[slot].lost = self.durability.is_lost(self.buffer.slots[slot].unit);
                self.space.blocks.pin(self.layout.block_of(physical));
                self.stats.fill_reads += 1;
                out.actions.push(Action::Read(media::ReadOp {
                    id,
                    page: self.layout.span(physical, 1),
                    bytes: 1 << self.layout.unit_shift,
                    class: Class::Host,
                }));
            }
        }
    }

    pub(crate) fn fill_done(&mut self, id: OpId, status: Status, out: &mut Actions) {
        let operation = self.operations.end(id);
        self.buffer.end_fill();
        let slot = operation.subject;
        let (block, all) = (self.layout.block_of(operation.unit), self.layout.all_sectors);
        let s = &mut self.buffer.slots[slot];
        s.filling = false;
        if s.holds == Holds::Doomed {
            self.buffer.slots.give(slot);
            self.buffer.release_write();
            self.unpin(block, out);
            self.admit(out);
            self.dispatch(out);
            return;
        }
        if s.have != all {
            let keep = s.have;
            s.have = all;
            if status.is_ok() {
                if self.config.moves {
                    let (page, _, unit) = self.layout.address(operation.unit);
                    out.moves.push(Move::FlashToBuffer { page, unit, buffer: slot, keep });
                }
            } else {
                let unit = self.buffer.slots[slot].unit;
                self.buffer.slots[slot].lost = true;
                self.lose(unit);
            }
        }
        if self.buffer.slots[slot].away {
            self.host_access(OperationKind::HostCopy, slot, 1 << self.layout.unit_shift, true, out);
        }
        let chain = std::mem::replace(&mut self.buffer.slots[slot].waiters, NIL);
        self.wake(chain, true, out);
        self.unpin(block, out);
        self.dispatch(out);
    }

    /// Marks the data of `unit` as lost; reads fail until the whole unit is rewritten.
    pub(crate) fn lose(&mut self, unit: u32) {
        if self.durability.lose(unit) {
            self.stats.lost_units += 1;
        }
    }
}
