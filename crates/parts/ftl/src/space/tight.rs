//! Operation with little room left, after failures have retired most of the spare space.
//!
//! While every plane is usable, parallel units collect independently, each with its own reserve. Failures reduce room
//! unevenly, so from the first retired plane on the reserve is shared by the whole drive: host data, and copies without
//! room in their own parallel unit, go wherever room is left. When that is used up, host data goes into the blocks that
//! are open for copies, as long as collection can still empty a block. After that the drive is read-only.

use crate::space::blocks::Blocks;
use crate::space::parallel_unit::{RESERVE, Room, Stream};
use crate::space::placement;
use crate::{Actions, Ftl};

impl Ftl {
    /// Returns the units that may be programmed in the free blocks of `pu` and in its block open for copies.
    fn room_in(&self, pu: u32) -> i64 {
        let l = &self.space.parallel_units[pu as usize];
        let open = l
            .write_point(Stream::Copy)
            .map_or(0, |write_point| self.capacity(write_point.block, write_point.end - write_point.next));
        let free = l.free.iter().take(self.enough() + 1);
        open + free.map(|block| self.capacity(*block, self.layout.block_programs)).sum::<i64>()
    }

    /// Returns an upper bound on the room in units that the collection in progress in `pu` will take.
    fn demand_of(&self, pu: u32) -> i64 {
        self.gc.unit(pu).demand(&self.space.blocks)
    }

    /// Returns the room for copies in the whole drive that neither the collection in progress nor the journal needs.
    fn pool(&self) -> i64 {
        let all: i64 = (0..self.layout.parallel_units).map(|pu| self.room_in(pu) - self.demand_of(pu)).sum();
        all - i64::from(self.journal_programs() * self.layout.program_units)
    }

    /// Returns the room in units that a failed program costs beyond the planes it retires: the rest of these planes in
    /// the open block, and the program itself.
    fn failure_units(&self) -> i64 {
        i64::from(self.layout.block_units / self.layout.per_row + self.layout.program_units)
    }

    /// Returns the units of copies that fit into the room of the whole drive, even if one of their programs fails.
    pub(crate) fn pool_limit(&self, pu: u32) -> i64 {
        self.pool() - if self.gc.unit(pu).uses_all_room() { 0 } else { self.failure_units() }
    }

    fn pool_holds(&self, pu: u32, units: u32) -> bool {
        i64::from(units.next_multiple_of(self.layout.program_units)) <= self.pool_limit(pu)
    }

    /// Returns true if the pool, without `taken` free blocks of `pu`, suffices for collection to proceed.
    pub(crate) fn is_reserved_in_pool(&self, pu: u32, taken: usize) -> bool {
        let l = &self.space.parallel_units[pu as usize];
        let largest = self.space.parallel_units.iter().map(|l| l.largest).max().unwrap_or(0);
        let reserve = RESERVE as i64 * largest + self.failure_units();
        l.free.len() >= taken && self.pool() - taken as i64 * l.largest >= reserve
    }

    /// Returns the maximum number of logical units that `pu` should hold when the drive is full: its share by usable
    /// room.
    pub(crate) fn share_of(&self, pu: u32) -> i64 {
        let all = crate::sizes::all_units(&self.config);
        let planes: u64 = self.space.parallel_units.iter().map(|l| u64::from(l.planes)).sum();
        (all * u64::from(self.space.parallel_units[pu as usize].planes)).div_ceil(planes.max(1)) as i64
    }

    /// Counts the usable planes of `pu`, and determines the capacity of its largest block.
    pub(crate) fn measure(&mut self, pu: u32) {
        let blocks = pu * self.layout.blocks..(pu + 1) * self.layout.blocks;
        let main = blocks.filter(|block| !self.is_slc(*block));
        let (mut planes, mut largest) = (0, 0);
        for block in main {
            planes += self.space.blocks.usable_planes(&self.layout, block);
            largest = largest.max(self.capacity(block, self.layout.block_programs));
        }
        (self.space.parallel_units[pu as usize].planes, self.space.parallel_units[pu as usize].largest) =
            (planes, largest);
    }

    /// Returns true if the valid units of `block`, of the idle `pu`, fit into the remaining room of the whole drive.
    pub(crate) fn fits_elsewhere(&self, pu: u32, block: u32) -> bool {
        if self.space.blocks.is_whole() || self.layout.parallel_units == 1 || self.gc.unit(pu).waits_for_room() {
            return false;
        }
        self.pool_holds(pu, self.space.blocks.valid(block))
    }

    /// Returns false if copying the valid units of `block`, which have room in their own `pu`, would take room that
    /// other parallel units rely on.
    #[inline]
    pub(crate) fn fits_in_pool(&self, pu: u32, block: u32) -> bool {
        self.space.blocks.is_whole() || self.pool_holds(pu, self.space.blocks.valid(block))
    }

    /// Returns the parallel unit other than `pu` with the most room for copies beyond its own needs.
    fn donor(&self, pu: u32) -> Option<u32> {
        let spare = |other: &u32| self.room_in(*other) - self.demand_of(*other);
        let others = (0..self.layout.parallel_units).filter(|other| *other != pu && self.room_in(*other) > 0);
        others.max_by_key(spare).filter(|other| spare(other) >= i64::from(self.layout.program_units))
    }

    /// Returns room for copies of `pu` in another parallel unit.
    pub(crate) fn copy_room_elsewhere(&mut self, pu: u32) -> Option<Room> {
        if self.space.blocks.is_whole() {
            return None;
        }
        let room = self.room(self.donor(pu)?, Stream::Copy)?;
        // Reads of the victim continue, although no program in its own parallel unit completes.
        self.gc.short.report(pu);
        Some(room)
    }

    /// Retries failed programs of `pu` in other parallel units, as far as there is room.
    pub(crate) fn retry_in_pool(&mut self, pu: u32, out: &mut Actions) {
        while !self.durability.retries.none_in(pu) {
            let Some(other) = self.donor(pu) else { return };
            let before = self.room_in(other);
            self.retry_in(pu, other, out);
            if self.room_in(other) == before {
                return;
            }
        }
    }

    /// Writes one program of host data to the blocks for copies, which may supersede enough data to empty a block.
    /// Called if no operation is in progress, no block can be emptied, and the host has no room.
    pub(crate) fn squeeze(&mut self, out: &mut Actions) {
        self.choose_dirty();
        let waits = self.map.has_dirty_away() && self.bring_in(out);
        if !waits && self.has_dirty_program() && self.can_squeeze() {
            let most = (0..self.layout.parallel_units).max_by_key(|pu| self.room_in(*pu));
            if let Some(room) = most.and_then(|pu| self.room(pu, Stream::Copy)) {
                self.program_dirty(room, out);
            }
        }
    }

    /// Returns true if the remaining room holds two more programs, one of them for a retry, in addition to all dirty
    /// data and the copies of the block that has the fewest valid units.
    fn can_squeeze(&self) -> bool {
        let parallel_units = 0..self.layout.parallel_units;
        let closed =
            parallel_units.flat_map(|pu| (pu * self.layout.blocks..).zip(self.space.blocks.ranks(&self.layout, pu)));
        let closed = closed.filter(|(_, rank)| Blocks::collectable(**rank));
        let Some(least) = closed.map(|(block, _)| self.space.blocks.valid(block)).min() else { return false };
        let whole = self.layout.program_units;
        self.pool_holds(0, least.next_multiple_of(whole) + whole + self.buffer.dirty.len())
    }

    /// Chooses the data that is written next. Returns false if there is none, or its rest is being read.
    fn chooses_filled(&mut self) -> bool {
        self.choose_dirty();
        !self.buffer.dirty.is_empty() && !self.buffer.slots[self.buffer.dirty.first()].filling
    }

    /// Uses the room kept for a program failure as the last resort.
    pub(crate) fn risk_failure(&mut self, out: &mut Actions) {
        for pu in 0..self.layout.parallel_units {
            self.gc.use_all_room(pu);
        }
        self.collect_short(out);
        self.erase_empty(out);
    }

    /// Writes the remaining dirty data into the remaining room: the drive is read-only, and collection no longer needs
    /// it.
    pub(crate) fn write_last(&mut self, out: &mut Actions) {
        if self.map.has_dirty_away() {
            self.bring_all_in(out);
        }
        for pu in 0..self.layout.parallel_units {
            // The last data goes wherever there is room: nothing is collected any more.
            let placed = (0..placement::write_points(&self.config)).map(|n| Stream::Placed(n as u8));
            for stream in placed.chain([Stream::Host, Stream::Copy]) {
                while self.chooses_filled() && !self.durability.retries.any() {
                    let Some(room) = self.room(pu, stream) else { break };
                    self.program_dirty(room, out);
                }
            }
        }
    }
}
