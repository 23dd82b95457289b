//! Host memory buffer: host memory that the controller may use. It is enabled, returned in an orderly way, or lost at
//! any moment.
//!
//! The memory holds frames of the map cache, clean data, and data on its way to flash. Each access is an
//! [`Action::HostMemory`]. Data to be written to flash is first moved into the controller and removed from host memory,
//! so that no program waits for the host, and no copy in flash is superseded by data that may still be lost.
//!
//! When host memory is lost, so are the clean data, of which flash has a copy; the data that was not flushed, as in any
//! volatile write cache; and the map changes since the last write to flash. These changes are recovered as in a mount,
//! from the spare areas of the pages programmed since.

use std::ops::Range;

use media::{Action, Flash, OpId, PARITY, PageAddr, SECTOR, Tag};
use sim::Time;

use crate::buffer::slots::{Holds, NIL, Owner, Slot};
use crate::location::{DecodedLocation, Location};
use crate::request::operation::OperationKind;
use crate::{Actions, Ftl, InjectedFault};

/// State of the host memory buffer.
#[derive(Default)]
pub(crate) struct HostMemory {
    /// The memory may be used.
    pub(super) enabled: bool,
    /// The host requested it back, and it is being emptied.
    releasing: bool,
    /// Accesses in progress.
    accesses: u32,
    /// Dirty and clean slots whose data is in host memory.
    pub(super) dirty: u32,
    pub(super) clean: u32,
    /// Dirty data is being loaded into the controller to be programmed.
    pub(super) bringing: bool,
}

/// Losses with the host memory, and the cost of recovering the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostMemoryLoss {
    /// Units of data that were not in flash.
    pub dirty_units: u32,
    /// Translation units whose newest version was only in host memory.
    pub translation_units: u32,
    /// Map entries recovered.
    pub entries: u32,
    /// Pages whose spare area was read for the recovery.
    pub pages_read: u64,
    /// Largest number of these pages on one die.
    pub pages_of_busiest_die: u64,
}

impl HostMemoryLoss {
    /// Returns the duration of the reads if all dies work in parallel and each reads its pages one after another in
    /// `page_read`.
    pub fn time(&self, page_read: Time) -> Time {
        page_read * self.pages_of_busiest_die
    }
}

impl Ftl {
    /// Enables the host memory, which holds nothing yet.
    ///
    /// # Panics
    /// If none is configured, or it is already enabled.
    pub fn enable_host_memory(&mut self) {
        let memory = self.config.host_memory.expect("host memory must be configured before it is enabled");
        let own = &mut self.map.host;
        assert!(!own.enabled && !own.releasing, "host memory is already enabled or still being released");
        own.enabled = true;
        self.buffer.add_lent(memory.write);
        if let Some(map) = &mut self.map.cache {
            map.allow_away(memory.map_frames);
        }
    }

    /// Enables `memory`, which holds nothing yet and may be less than the configured host memory: a host need not lend
    /// as much as the controller prefers.
    ///
    /// # Panics
    /// If it is more than configured at the mount, or host memory is already enabled.
    pub fn enable_lent_memory(&mut self, memory: crate::config::HostMemory) {
        self.config.host_memory = Some(memory);
        self.enable_host_memory();
    }

    /// Starts to return the host memory: data that exists only there is loaded or written to flash.
    /// [`Action::HostMemoryReleased`] follows.
    pub fn release_host_memory(&mut self, out: &mut Actions) {
        assert!(self.map.host.enabled, "host memory is released while not enabled");
        self.disable();
        self.map.host.releasing = true;
        self.drop_clean_away();
        // Data written from now on stays in the controller, so the dirty data in host memory only shrinks.
        self.buffer.dirty.force();
        self.dispatch(out);
    }

    /// Resets the controller, which keeps its own memory and drops its commands. The host memory returns unchanged if
    /// `kept` (NVMe: memory return); otherwise it is lost, and must be enabled again.
    pub fn controller_reset(&mut self, kept: bool, flash: &impl Flash) -> HostMemoryLoss {
        let mut lost = self.forget_commands();
        if self.map.host.releasing {
            // The command that requested the memory is gone. Data still there is lost.
            self.map.host.releasing = false;
        } else if kept || !self.map.host.enabled {
            return HostMemoryLoss::default();
        } else {
            self.disable();
        }
        if let Some(map) = &mut self.map.cache {
            lost.extend(map.lose_away());
        }
        self.drop_clean_away();
        let dirty_units = self.lose_dirty(flash);
        lost.sort_unstable();
        lost.dedup();
        let mut loss = HostMemoryLoss { dirty_units, ..self.find_entries(&lost, flash) };
        loss.translation_units = lost.len() as u32;
        loss
    }

    /// Stops storing to host memory.
    fn disable(&mut self) {
        self.map.host.enabled = false;
        self.buffer.remove_lent(self.config.host_memory.map_or(0, |memory| memory.write));
        if let Some(map) = &mut self.map.cache {
            map.allow_away(0);
        }
    }

    /// Resumes work after a reset.
    pub fn resume(&mut self, out: &mut Actions) {
        if self.map.cache.is_some() {
            self.evict(out);
        }
        self.dispatch(out);
    }

    /// Returns the units of host memory that may hold dirty data and clean data.
    #[inline]
    pub(crate) fn room_away(&self) -> (u32, u32) {
        match &self.config.host_memory {
            Some(memory) if self.map.host.enabled => (memory.write, memory.read),
            _ => (0, 0),
        }
    }

    /// Issues an access to `bytes` of host memory.
    pub(crate) fn host_access(
        &mut self,
        kind: OperationKind,
        subject: u32,
        bytes: u32,
        store: bool,
        out: &mut Actions,
    ) -> OpId {
        let memory = self.config.host_memory.as_ref().expect("host memory is accessed only if configured");
        let bytes = memory.stored(bytes);
        let stats = &mut self.stats;
        if store {
            stats.host_memory_stores += 1;
            stats.host_memory_store_bytes += u64::from(bytes);
        } else {
            stats.host_memory_loads += 1;
            stats.host_memory_load_bytes += u64::from(bytes);
        }
        self.map.host.accesses += 1;
        let id = self.start_operation(kind, subject);
        out.actions.push(Action::HostMemory { id, bytes, store });
        id
    }

    /// Handles the end of an access.
    pub(crate) fn host_access_done(&mut self, out: &mut Actions) {
        self.map.host.accesses -= 1;
        if self.map.host.releasing {
            self.go_on_releasing(out);
        }
    }

    pub(crate) fn host_copy_done(&mut self, id: OpId, out: &mut Actions) {
        self.operations.free(id);
        self.host_access_done(out);
    }

    pub(crate) fn host_load_done(&mut self, id: OpId, out: &mut Actions) -> (Tag, u32) {
        let operation = self.operations.end(id);
        self.host_access_done(out);
        (Tag(operation.subject), operation.bytes)
    }

    pub(crate) fn orphan_done(&mut self, id: OpId, out: &mut Actions) {
        let operation = self.operations.end(id);
        self.unpin(self.layout.block_of(operation.unit), out);
    }

    /// Continues to empty the host memory, and reports it released once it is empty.
    pub(crate) fn go_on_releasing(&mut self, out: &mut Actions) {
        if !self.map.host.releasing || !self.evict_away(out) {
            return;
        }
        if self.durability.is_read_only() && self.map.host.dirty > 0 {
            self.bring_all_in(out);
        }
        if self.map.host.dirty == 0 && self.map.host.accesses == 0 {
            self.map.host.releasing = false;
            out.actions.push(Action::HostMemoryReleased);
        }
    }

    /// Returns true while the host memory is being emptied.
    #[inline]
    pub(crate) fn is_releasing(&self) -> bool {
        self.map.host.releasing
    }

    /// Returns true if the data of buffer `slot` is in host memory, for tests that destroy it.
    #[doc(hidden)]
    pub fn is_away(&self, slot: u32) -> bool {
        self.buffer.slots[slot].away
    }

    /// Returns true while host memory is enabled.
    pub fn uses_host_memory(&self) -> bool {
        self.map.host.enabled
    }

    // ---- data ----

    /// Places the data of a dirty slot in the controller if there is room, else in host memory.
    pub(crate) fn place_dirty(&mut self, slot: u32) {
        let (room, _) = self.room_away();
        let near = self.buffer.write_stored() - self.map.host.dirty;
        let away = near > self.config.buffers.write && self.map.host.dirty < room;
        self.buffer.slots[slot].away = away;
        self.map.host.dirty += u32::from(away);
    }

    /// Stores the part of `units` that is placed in host memory, after the command `tag` wrote them. The write is
    /// posted, and thus arrives before the command's completion.
    pub(crate) fn store_away(&mut self, tag: Tag, units: Range<u32>, out: &mut Actions) {
        let mut sectors = 0;
        for unit in units {
            if let DecodedLocation::Buffer(slot) = self.place(unit)
                && self.buffer.slots[slot].away
            {
                sectors += self.part(tag, unit).sectors;
            }
        }
        if sectors > 0 {
            self.host_access(OperationKind::HostCopy, NIL, sectors * SECTOR as u32, true, out);
        }
    }

    /// Drops a clean copy of `unit` in host memory, which would otherwise be loaded only to be overwritten; flash has
    /// the data too.
    pub(crate) fn drop_clean_of(&mut self, unit: u32) {
        if let DecodedLocation::Buffer(slot) = self.place(unit)
            && self.buffer.slots[slot].holds == Holds::Clean
            && self.buffer.slots[slot].away
        {
            self.drop_clean(slot);
        }
    }

    /// Places the data of a clean slot, which is already in its list, like [`place_dirty`](Self::place_dirty).
    pub(crate) fn place_clean(&mut self, slot: u32, out: &mut Actions) {
        let (_, room) = self.room_away();
        let near = self.buffer.clean().len - self.map.host.clean;
        let away = near > self.config.buffers.read && room > 0;
        if away {
            self.buffer.slots[slot].away = true;
            self.map.host.clean += 1;
            self.host_access(OperationKind::HostCopy, slot, 1 << self.layout.unit_shift, true, out);
        }
    }

    /// Updates the counts when the data of `slot` leaves host memory, dropped or loaded.
    #[inline]
    pub(crate) fn leave_host_memory(&mut self, slot: u32) {
        let s = &mut self.buffer.slots[slot];
        if std::mem::replace(&mut s.away, false) {
            match s.holds {
                Holds::Clean => self.map.host.clean -= 1,
                Holds::Dirty => self.map.host.dirty -= 1,
                holds => unreachable!("{holds:?} data in host memory"),
            }
        }
    }

    /// Loads the data in host memory that the next program needs. Returns true if a load was issued.
    pub(crate) fn bring_in(&mut self, out: &mut Actions) -> bool {
        let (mut slot, mut looked, mut count) = (self.buffer.dirty.first(), 0, 0);
        let mut chosen = [NIL; 64];
        while slot != NIL && looked < self.layout.program_units && !self.buffer.slots[slot].filling {
            if self.buffer.slots[slot].away {
                chosen[count as usize] = slot;
                count += 1;
            }
            looked += 1;
            slot = self.buffer.slots.next(slot);
        }
        if count == 0 {
            return false;
        }
        let id = self.host_access(OperationKind::BringIn, NIL, count << self.layout.unit_shift, false, out);
        self.operations[id].count = count;
        for (i, slot) in (0..count).zip(chosen) {
            self.operations.set_slot(id, i, slot);
            self.buffer.slots[slot].filling = true;
        }
        self.map.host.bringing = true;
        true
    }

    pub(crate) fn bring_in_done(&mut self, id: OpId, out: &mut Actions) {
        self.end_bring_in(id, true);
        self.admit(out);
        self.host_access_done(out);
        self.dispatch(out);
    }

    /// Ends the load `id`: its data is in the controller (`came`), or stays in host memory.
    fn end_bring_in(&mut self, id: OpId, came: bool) {
        for i in 0..self.operations[id].count {
            let slot = self.operations.slot(id, i);
            self.buffer.slots[slot].filling = false;
            if self.buffer.slots[slot].holds == Holds::Doomed {
                self.buffer.slots.give(slot);
                self.buffer.release_write();
            } else if came {
                self.leave_host_memory(slot);
            }
        }
        self.operations.free(id);
        self.map.host.bringing = false;
    }

    /// Loads all dirty data. The drive is read-only, so at most some of it is still programmed, but it was acknowledged and must
    /// be kept.
    pub(crate) fn bring_all_in(&mut self, out: &mut Actions) {
        if self.map.host.bringing {
            return;
        }
        let mut slot = self.buffer.dirty.first();
        while slot != NIL {
            if self.buffer.slots[slot].away {
                self.host_access(OperationKind::HostCopy, slot, 1 << self.layout.unit_shift, false, out);
                self.leave_host_memory(slot);
            }
            slot = self.buffer.slots.next(slot);
        }
    }

    /// Drops all clean data in host memory, of which flash has a copy.
    fn drop_clean_away(&mut self) {
        let mut slot = self.buffer.clean().head;
        while slot != NIL {
            let next = self.buffer.slots.next(slot);
            if self.buffer.slots[slot].away {
                self.drop_clean(slot);
            }
            slot = next;
        }
    }

    // ---- reset and loss ----

    /// Drops all commands. Returns the translation units that were being loaded from host memory.
    fn forget_commands(&mut self) -> Vec<u32> {
        let mut coming = Vec::new();
        for id in self.operations.under_way() {
            match self.operations[id].kind {
                OperationKind::HostRead => self.operations[id].kind = OperationKind::Orphan,
                OperationKind::MapRead | OperationKind::Fill => self.operations[id].waiters = NIL,
                OperationKind::BringIn => self.end_bring_in(id, false),
                OperationKind::HostCopy if self.operations[id].mask != 0 => {
                    coming.push(self.operations.end(id).subject)
                }
                OperationKind::MapLookup
                | OperationKind::HostCopy
                | OperationKind::HostLoad
                | OperationKind::Barrier => self.operations.free(id),
                OperationKind::Program
                | OperationKind::Ahead
                | OperationKind::CollectRead
                | OperationKind::Erase
                | OperationKind::Orphan
                | OperationKind::Free => {}
                OperationKind::Parity | OperationKind::Rebuild => {}
                OperationKind::CopiesProgram | OperationKind::CopiesErase => {}
            }
        }
        self.map.host.accesses = 0;
        self.requests.forget();
        self.buffer.slots.forget_waiters();
        self.buffer.drop_reservations();
        self.end_combining();
        self.durability.durable_queue.clear();
        coming
    }

    /// Drops dirty data in host memory, so that its units revert to their last copy handed to flash. If collection
    /// could not read that copy while the newer data existed, it marked its own copy as lost; that copy is now the
    /// newest, and reads of the unit fail.
    fn lose_dirty(&mut self, flash: &impl Flash) -> u32 {
        let mut lost = 0;
        let mut slot = self.buffer.dirty.first();
        while slot != NIL {
            let next = self.buffer.slots.next(slot);
            if self.buffer.slots[slot].away {
                lost += 1;
                self.leave_host_memory(slot);
                self.buffer.dirty.remove(&mut self.buffer.slots, slot);
                let (unit, home) = (self.buffer.slots[slot].unit, self.buffer.slots[slot].home);
                let before = self.under_program(unit, home);
                self.map.table.set(unit, before.map_or(home, Location::buffer));
                let in_ram = before.or_else(|| self.read_copy(unit, home));
                if in_ram.map_or_else(|| self.is_lost_in(home, flash), |slot| self.buffer.slots[slot].lost) {
                    self.lose(unit);
                }
                if self.buffer.slots[slot].filling {
                    self.buffer.slots[slot].holds = Holds::Doomed;
                } else {
                    self.buffer.slots.give(slot);
                    self.buffer.release_write();
                }
            }
            slot = next;
        }
        lost
    }

    /// Returns the slot with the copy of `unit` that collection read at `home` and has not programmed yet.
    fn read_copy(&self, unit: u32, home: Location) -> Option<u32> {
        let is_copy = |slot: &u32| {
            let Slot { unit: of, home: from, holds, owner, .. } = self.buffer.slots[*slot];
            (of, from, holds, owner) == (unit, home, Holds::Moving, Owner::Copy)
        };
        (0..self.buffer.slots.count()).find(is_copy)
    }

    /// Returns true if the copy in flash at `home` stands for data that could not be read.
    pub(crate) fn is_lost_in(&self, home: Location, flash: &impl Flash) -> bool {
        let DecodedLocation::Flash(physical) = home.place(self.buffer.slots.count()) else { return false };
        let (page, plane, unit) = self.layout.address(physical);
        flash.lost(page, plane, unit)
    }

    /// Returns the slot from which `unit` is being programmed at `home`, or will be again after a failure (if `home` is
    /// nowhere). Until then its data is in RAM only.
    fn under_program(&self, unit: u32, home: Location) -> Option<u32> {
        let mut found = None;
        for id in self.operations.under_way() {
            let operation = &self.operations[id];
            if operation.kind != OperationKind::Program {
                continue;
            }
            for slot in self.operations.slots(id).iter().copied().filter(|slot| *slot != NIL) {
                let s = &self.buffer.slots[slot];
                if s.unit == unit && s.home == home && found.is_none_or(|(at, _)| at < operation.sequence) {
                    found = Some((operation.sequence, slot));
                }
            }
        }
        found.map(|(_, slot)| slot)
    }

    /// Recovers the translation units `lost`, whose newest version was only in host memory. Their entries newer than
    /// their copies in flash are searched for in the spare areas; the copy of a unit with the highest sequence number
    /// wins.
    pub(super) fn find_entries(&mut self, lost: &[u32], flash: &impl Flash) -> HostMemoryLoss {
        let mut loss = HostMemoryLoss::default();
        let Some(map) = &mut self.map.cache else { return loss };
        for t in lost {
            map.stale[*t as usize] = true;
        }
        let map = self.map.cache.as_ref().expect("the map exists, as checked above");
        let mut since = u64::MAX;
        // Previous location of each entry, to be recovered or forgotten.
        let mut forgotten: Vec<(u32, Location)> = Vec::new();
        for t in lost {
            let written = match self.place(map.logical_of(*t)) {
                DecodedLocation::Flash(physical) => self.sequence_in(physical, flash),
                _ => 0,
            };
            since = since.min(written);
            for unit in map.mapped_by(*t) {
                let location = self.map.table.get(unit);
                if let DecodedLocation::Flash(physical) = location.place(self.buffer.slots.count())
                    && self.sequence_in(physical, flash) > written
                {
                    forgotten.push((unit, location));
                }
            }
        }
        for (unit, _) in &forgotten {
            self.map.table.set(*unit, Location::NOWHERE);
        }
        if forgotten.is_empty() || self.injected.is(InjectedFault::HostMapForgotten) {
            return loss;
        }
        loss.entries = forgotten.len() as u32;
        let by_die = self.rebuild(&forgotten, since, flash);
        loss.pages_read = by_die.iter().sum();
        loss.pages_of_busiest_die = by_die.into_iter().max().unwrap_or(0);
        for (unit, was) in forgotten {
            assert_eq!(self.map.table.get(unit), was, "recovery found unit {unit} at another location");
        }
        loss
    }

    /// Searches all pages programmed after `since` for the units of `forgotten` (ascending). Returns the number of
    /// pages read from each die.
    fn rebuild(&mut self, forgotten: &[(u32, Location)], since: u64, flash: &impl Flash) -> Vec<u64> {
        let mut newest = vec![0u64; forgotten.len()];
        let mut by_die = vec![0u64; self.config.geometry.all_dies() as usize];
        for block in 0..self.layout.all_blocks() {
            for position in 0..self.layout.per_row {
                let at = self.layout.block_at(block, position);
                for plane in at.planes.iter() {
                    // Pages are programmed in order, so the newest are the last.
                    for page in (0..flash.block(at.die, plane, at.block).programmed).rev() {
                        let program = page * self.layout.per_row + position;
                        let at = PageAddr { page, ..self.layout.page(block, program) };
                        by_die[at.die as usize] += 1;
                        let spare = flash.logical(at, plane);
                        if spare.is_empty() {
                            continue;
                        }
                        let sequence = self.space.placement.sequence(flash.sequence(at, plane));
                        if sequence <= since {
                            break;
                        }
                        let first = at.planes.0.trailing_zeros();
                        let base = self.layout.unit_of(block, program) + (plane - first) * self.layout.page_units;
                        for (i, unit) in (0u32..).zip(spare).filter(|(_, unit)| **unit < PARITY) {
                            let Ok(entry) = forgotten.binary_search_by_key(unit, |(unit, _)| *unit) else { continue };
                            if sequence > newest[entry] {
                                newest[entry] = sequence;
                                self.map.table.set(*unit, Location::flash(base + i));
                            }
                        }
                    }
                }
            }
        }
        by_die
    }

    /// Returns the sequence number of the program that wrote flash unit `physical`.
    fn sequence_in(&self, physical: u32, flash: &impl Flash) -> u64 {
        let (page, plane, _) = self.layout.address(physical);
        self.space.placement.sequence(flash.sequence(page, plane))
    }
}
