//! The reclaim units that handles write: their size, what can still be written to them, and their replacement.
//!
//! The reclaim unit of a handle consists of its open blocks for host data, one on each parallel unit.

use media::Action;

use crate::space::blocks::Use;
use crate::space::parallel_unit::WritePoint;
use crate::{Actions, Ftl};

impl Ftl {
    /// Returns the nominal bytes of a reclaim unit: a block of each parallel unit, without parity.
    pub fn reclaim_unit_bytes(&self) -> u64 {
        (u64::from(self.layout.parallel_units) * u64::from(self.layout.data_units)) << self.layout.unit_shift
    }

    /// Returns how many bytes can still be written to the reclaim unit of `handle`. Data in the write cache takes up
    /// its space already; a parallel unit without an open block will open an empty one.
    pub fn reclaim_unit_left(&self, handle: u8) -> u64 {
        let units: u64 = (0..self.layout.parallel_units).map(|pu| self.units_left_in(pu, handle)).sum();
        units.saturating_sub(u64::from(self.buffer.dirty.len_of(handle))) << self.layout.unit_shift
    }

    /// Makes `handle` write to empty blocks from now on. Its blocks that are partly written take no more programs;
    /// their last stripe stays without parity. Returns the bytes that could have been written to them.
    pub fn update_reclaim_unit_handle(&mut self, handle: u8, out: &mut Actions) -> u64 {
        let mut units = 0;
        for pu in 0..self.layout.parallel_units {
            let Some(WritePoint { block, .. }) = self.host_write_point(pu, handle) else { continue };
            units += self.units_left_in(pu, handle);
            self.abandon(block);
            self.space.parallel_units[pu as usize].forget_ahead(block);
            // Otherwise its last program closes it.
            self.close_if_written(block);
            self.collect(pu, out);
        }
        self.space.host_room.rejoin_all();
        self.dispatch(out);
        units << self.layout.unit_shift
    }

    /// Closes `block`, on whose last usable plane a program failed.
    pub(crate) fn abandon_failed(&mut self, block: u32, out: &mut Actions) {
        let handle = self.handle_that_writes(block);
        self.abandon(block);
        if let Some(handle) = handle {
            out.actions.push(Action::HandleModified { handle });
        }
    }

    /// Reports how many copies left `block`, which is erased.
    pub(crate) fn report_copies(&mut self, block: u32, out: &mut Actions) {
        if let Some((handle, units)) = self.space.placement.take_copied_out(block) {
            out.actions.push(Action::Reallocated { handle, units });
        }
    }

    fn host_write_point(&self, pu: u32, handle: u8) -> Option<WritePoint> {
        self.space.parallel_units[pu as usize].write_point(self.space.placement.host_stream(handle))
    }

    /// Returns the handle whose host data goes to `block`, if any.
    fn handle_that_writes(&self, block: u32) -> Option<u8> {
        if !self.space.placement.is_on() || self.space.blocks.usage(block) != Use::Open {
            return None;
        }
        let (pu, handle) = (self.layout.pu_of(block), self.space.placement.handle_of(block));
        let is_its = |handle: &u8| self.host_write_point(pu, *handle).is_some_and(|open| open.block == block);
        Some(handle).filter(|handle| self.space.placement.is_handle(*handle)).filter(is_its)
    }

    fn units_left_in(&self, pu: u32, handle: u8) -> u64 {
        let units = match self.host_write_point(pu, handle) {
            Some(open) => self.layout.data_after(open.end - open.next) * self.layout.program_units,
            None => self.layout.data_units,
        };
        u64::from(units)
    }
}
