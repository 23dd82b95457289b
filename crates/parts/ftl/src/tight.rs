//! What a drive does with little room left, after failures have retired most of its spare.
//!
//! While every plane is usable, parallel units collect by themselves and each keeps a reserve of its own. Failures take
//! room unevenly, so from the first retired plane on the reserve belongs to the whole drive: the host's data, and copies
//! that have no room in their own parallel unit, go where room is left. When even that is used up, host data goes into the
//! blocks that are open for copies, as long as collection can still empty a block. Then the drive is read-only.

use crate::blocks::Blocks;
use crate::buffer::NIL;
use crate::parallel_unit::{RESERVE, Room, Stream};
use crate::{Actions, Ftl};

impl Ftl {
    /// Units that may be programmed in the free blocks of `pu` and in its block open for copies.
    fn room_in(&self, pu: u32) -> i64 {
        let l = &self.parallel_units[pu as usize];
        let open = l.write_points[Stream::Copy as usize]
            .map_or(0, |write_point| self.capacity(write_point.block, write_point.end - write_point.next));
        let free = l.free.iter().take(self.enough() + 1);
        open + free.map(|block| self.capacity(*block, self.layout.block_programs)).sum::<i64>()
    }

    /// Units of room that the collection under way in `pu` will take, at most.
    fn demand_of(&self, pu: u32) -> i64 {
        let l = &self.parallel_units[pu as usize];
        let left: u32 = [l.scan, l.fold].iter().flatten().map(|scan| self.blocks.valid(scan.block)).sum();
        i64::from(left.max(l.in_flight))
    }

    /// Room for copies in all of the drive that no collection under way needs, and no page of the journal.
    fn pool(&self) -> i64 {
        let all: i64 = (0..self.layout.parallel_units).map(|pu| self.room_in(pu) - self.demand_of(pu)).sum();
        all - i64::from(self.journal_programs() * self.layout.program_units)
    }

    /// Units of room that a failed program costs beyond the planes it retires: what was left of them in the open block,
    /// and the program itself.
    fn failure_units(&self) -> i64 {
        i64::from(self.layout.block_units / self.layout.per_row + self.layout.program_units)
    }

    /// Units of copies that fit into the room of the whole drive, though one of their programs may fail.
    pub(crate) fn pool_limit(&self, pu: u32) -> i64 {
        self.pool() - if self.parallel_units[pu as usize].reckless { 0 } else { self.failure_units() }
    }

    fn pool_holds(&self, pu: u32, units: u32) -> bool {
        i64::from(units.next_multiple_of(self.layout.program_units)) <= self.pool_limit(pu)
    }

    /// True if the pool, without `taken` free blocks of `pu`, holds what collection needs to go on.
    #[cold]
    pub(crate) fn is_reserved_in_pool(&self, pu: u32, taken: usize) -> bool {
        let l = &self.parallel_units[pu as usize];
        let largest = self.parallel_units.iter().map(|l| l.largest).max().unwrap_or(0);
        let reserve = RESERVE as i64 * largest + self.failure_units();
        l.free.len() >= taken && self.pool() - taken as i64 * l.largest >= reserve
    }

    /// Logical units that `pu` should hold at most when the drive is full: a share by its usable room.
    pub(crate) fn share_of(&self, pu: u32) -> i64 {
        let all = crate::all_units(&self.config);
        let planes: u64 = self.parallel_units.iter().map(|l| u64::from(l.planes)).sum();
        (all * u64::from(self.parallel_units[pu as usize].planes)).div_ceil(planes.max(1)) as i64
    }

    /// Counts the planes of `pu` that can be used, and finds what its largest block holds.
    pub(crate) fn measure(&mut self, pu: u32) {
        let blocks = pu * self.layout.blocks..(pu + 1) * self.layout.blocks;
        let main = blocks.filter(|block| !self.is_slc(*block));
        let (mut planes, mut largest) = (0, 0);
        for block in main {
            planes += self.blocks.usable_planes(&self.layout, block);
            largest = largest.max(self.capacity(block, self.layout.block_programs));
        }
        (self.parallel_units[pu as usize].planes, self.parallel_units[pu as usize].largest) = (planes, largest);
    }

    /// True if the valid units of `block`, of the idle `pu`, fit into what the whole drive has left.
    pub(crate) fn fits_elsewhere(&self, pu: u32, block: u32) -> bool {
        let l = &self.parallel_units[pu as usize];
        let waits = (l.in_flight > 0 || !l.victims.is_empty()) && !l.emergency;
        if self.blocks.is_whole() || self.layout.parallel_units == 1 || waits {
            return false;
        }
        self.pool_holds(pu, self.blocks.valid(block))
    }

    /// False if the valid units of `block`, which have room in their own `pu`, would take what others rely on.
    #[inline]
    pub(crate) fn fits_in_pool(&self, pu: u32, block: u32) -> bool {
        self.blocks.is_whole() || self.pool_holds(pu, self.blocks.valid(block))
    }

    /// The parallel unit other than `pu` with the most room for copies that it does not need itself.
    fn donor(&self, pu: u32) -> Option<u32> {
        let spare = |other: &u32| self.room_in(*other) - self.demand_of(*other);
        let others = (0..self.layout.parallel_units).filter(|other| *other != pu && self.room_in(*other) > 0);
        others.max_by_key(spare).filter(|other| spare(other) >= i64::from(self.layout.program_units))
    }

    /// Room for copies of `pu` in another parallel unit.
    #[cold]
    pub(crate) fn copy_room_elsewhere(&mut self, pu: u32) -> Option<Room> {
        if self.blocks.is_whole() {
            return None;
        }
        let room = self.room(self.donor(pu)?, Stream::Copy)?;
        // Reads of the victim go on, though no program of its own parallel unit ends.
        self.short_lanes.push(pu);
        self.has_work = true;
        Some(room)
    }

    /// Tries failed programs of `pu` again in other parallel units, as far as there is room.
    pub(crate) fn retry_in_pool(&mut self, pu: u32, out: &mut Actions) {
        while !self.parallel_units[pu as usize].retry.is_empty() {
            let Some(other) = self.donor(pu) else { return };
            let before = self.room_in(other);
            self.retry_in(pu, other, out);
            if self.room_in(other) == before {
                return;
            }
        }
    }

    /// Nothing is under way, no block can be emptied, and the host has no room: one program of its data goes into the
    /// blocks of copies, which may supersede enough to empty one.
    #[cold]
    pub(crate) fn squeeze(&mut self, out: &mut Actions) {
        self.host_stalled = false;
        if self.destages() && self.can_squeeze() {
            let most = (0..self.layout.parallel_units).max_by_key(|pu| self.room_in(*pu));
            if let Some(room) = most.and_then(|pu| self.room(pu, Stream::Copy)) {
                self.program_dirty(room, out);
            }
        }
        self.host_stalled = true;
    }

    /// True if the room left holds two more programs, one to be tried again, beside all that is dirty and the copies of
    /// the block that needs the least.
    fn can_squeeze(&self) -> bool {
        let parallel_units = 0..self.layout.parallel_units;
        let closed = parallel_units.flat_map(|pu| (pu * self.layout.blocks..).zip(self.blocks.ranks(&self.layout, pu)));
        let closed = closed.filter(|(_, rank)| Blocks::collectable(**rank));
        let Some(least) = closed.map(|(block, _)| self.blocks.valid(block)).min() else { return false };
        let whole = self.layout.program_units;
        self.pool_holds(0, least.next_multiple_of(whole) + whole + self.dirty.len)
    }

    /// Nothing else is left: room that was kept for a failure is used.
    #[cold]
    pub(crate) fn risk_failure(&mut self, out: &mut Actions) {
        for pu in 0..self.layout.parallel_units {
            self.parallel_units[pu as usize].reckless = true;
            self.short_lanes.push(pu);
        }
        self.collect_short(out);
        self.erase_empty(out);
    }

    /// The drive takes no more writes: collection needs no room from now on, so that what is dirty goes into what is left.
    #[cold]
    pub(crate) fn write_last(&mut self, out: &mut Actions) {
        for pu in 0..self.layout.parallel_units {
            for stream in [Stream::Host, Stream::Copy] {
                while self.dirty.head != NIL && !self.slots[self.dirty.head].filling && self.retries == 0 {
                    let Some(room) = self.room(pu, stream) else { break };
                    self.program_dirty(room, out);
                }
            }
        }
    }
}
