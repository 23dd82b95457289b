//! The write cache that a long run of random overwrites leaves: without room, its data on the way to flash.

use media::Move;
use sim::Rng;

use crate::buffer::slots::NIL;
use crate::location::{DecodedLocation, Location};
use crate::request::operation::OperationKind;
use crate::{Actions, Ftl};

impl Ftl {
    /// Holds in RAM what a long run of random overwrites does: the parts of the map that changed last, and a write cache
    /// without room, whose units have the contents that they have in flash, as writes of the same data that were
    /// acknowledged before. The caller performs the actions. The write cache stays empty if writes complete only once
    /// they are in flash.
    pub fn hold_overwrites(&mut self, rng: &mut Rng, out: &mut Actions) {
        self.map.hold_changes(rng);
        let buffers = &self.config.buffers;
        if !(buffers.write_back || buffers.protected) || self.durability.is_read_only() {
            return;
        }
        for _ in 0..self.buffer.write_limit() {
            let unit = rng.below(u64::from(self.config.user_units)) as u32;
            self.hold(unit, out);
        }
        self.destage(out);
        self.dispatch_pending(out);
    }

    /// Takes the contents of `unit` in flash as newer data, if they are in flash alone and there is room.
    fn hold(&mut self, unit: u32, out: &mut Actions) {
        let home = self.map.table.get(unit);
        let DecodedLocation::Flash(physical) = home.place(self.buffer.slots.count()) else { return };
        if self.durability.is_lost(unit) || !self.reserve(1) {
            return;
        }
        self.buffer.data_arrived(1);
        self.buffer.drop_read_copy(unit);
        let slot = self.buffer.dirty.take(&mut self.buffer.slots, unit, home, self.layout.all_sectors, 0);
        self.map.table.set(unit, Location::buffer(slot));
        if self.map.has_host_memory() {
            self.place_dirty(slot);
            if self.buffer.slots[slot].away {
                self.host_access(OperationKind::HostCopy, NIL, 1 << self.layout.unit_shift, true, out);
            }
        }
        if self.config.moves {
            let (page, _, unit) = self.layout.address(physical);
            out.moves.push(Move::FlashToBuffer { page, unit, buffer: slot, keep: 0 });
        }
    }
}
