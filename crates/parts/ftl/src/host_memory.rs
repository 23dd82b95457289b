//! Memory of the host that the controller may use: enabled, given back in order, or lost from one moment to the next.
//!
//! Three things may be there: frames of the map's cache, clean data, and data on its way to flash. Each access is an
//! [`Action::HostMemory`]. What is written to flash from there is brought into the controller first and is nowhere else
//! then: so that no program ever waits for the host, and no copy in flash is superseded by data that may yet be lost.
//!
//! When the host's memory is lost, so is what only it had: clean data, which flash has too; data that was not flushed,
//! as of any volatile write cache; and what changed of the map since it was last written to flash. The last is found
//! again as a mount finds it, in the spare areas of the pages programmed since.

use std::ops::Range;

use media::{Action, Flash, OpId, PARITY, PageAddr, SECTOR, Tag};
use sim::Time;

use crate::admission::Queue;
use crate::buffer::{Holds, NIL};
use crate::command::Kind;
use crate::location::{Location, Place};
use crate::{Actions, Delivery, Ftl, InjectedFault};

/// What the layer keeps of the host's memory.
#[derive(Default)]
pub(crate) struct HostMemory {
    /// It may be used.
    pub enabled: bool,
    /// It was asked for, and is being emptied.
    releasing: bool,
    /// Accesses under way.
    accesses: u32,
    /// Dirty slots there, and clean ones.
    pub dirty: u32,
    pub clean: u32,
    /// Dirty data is on its way from there to be programmed.
    pub bringing: bool,
}

/// What was lost with the host's memory, and what it took to find the map again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostMemoryLoss {
    /// Units of data that were not in flash.
    pub dirty_units: u32,
    /// Translation units of which only the host's memory had the newest.
    pub translation_units: u32,
    /// Entries of the map found again.
    pub entries: u32,
    /// Pages whose spare area was read for that.
    pub pages_read: u64,
    /// Most of them that one die had to read.
    pub pages_of_busiest_die: u64,
}

impl HostMemoryLoss {
    /// Time that the reads take with all dies at work, each reading its pages one after another in `page_read`.
    pub fn time(&self, page_read: Time) -> Time {
        page_read * self.pages_of_busiest_die
    }
}

impl Ftl {
    /// The host's memory may be used from now on; it holds nothing.
    ///
    /// # Panics
    /// If none is configured, or it is enabled already.
    pub fn enable_host_memory(&mut self) {
        let memory = self.config.host_memory.expect("host memory is enabled only where some is configured");
        let own = &mut self.host_memory;
        assert!(!own.enabled && !own.releasing, "the host's memory is enabled twice");
        own.enabled = true;
        self.write_limit += memory.write;
        if let Some(map) = &mut self.map {
            map.allow_away(memory.map_frames);
        }
    }

    /// The host wants its memory back: what only it has is brought in or written to flash.
    /// [`Action::HostMemoryReleased`] follows.
    pub fn release_host_memory(&mut self, out: &mut Actions) {
        assert!(self.host_memory.enabled, "host memory is given back that is not enabled");
        self.disable();
        self.host_memory.releasing = true;
        self.drop_clean_away();
        // Data written since stays in the controller: what is dirty there now is all there will be.
        self.force_epoch = self.epoch;
        self.dispatch(out);
    }

    /// The controller is reset: it keeps its own memory and forgets its commands. The host's memory comes back as it was
    /// (`kept`; NVMe: memory return), or is lost, and to be enabled again.
    pub fn controller_reset(&mut self, kept: bool, flash: &impl Flash) -> HostMemoryLoss {
        let mut lost = self.forget_commands();
        if self.host_memory.releasing {
            // The command that asked for it is gone. What is still there is lost.
            self.host_memory.releasing = false;
        } else if kept || !self.host_memory.enabled {
            return HostMemoryLoss::default();
        } else {
            self.disable();
        }
        if let Some(map) = &mut self.map {
            lost.extend(map.lose_away());
        }
        self.drop_clean_away();
        let dirty_units = self.lose_dirty();
        lost.sort_unstable();
        lost.dedup();
        let mut loss = HostMemoryLoss { dirty_units, ..self.find_entries(&lost, flash) };
        loss.translation_units = lost.len() as u32;
        loss
    }

    /// Nothing more goes to the host's memory.
    fn disable(&mut self) {
        self.host_memory.enabled = false;
        self.write_limit -= self.config.host_memory.map_or(0, |memory| memory.write);
        if let Some(map) = &mut self.map {
            map.allow_away(0);
        }
    }

    /// Goes on after a reset.
    pub fn resume(&mut self, out: &mut Actions) {
        if self.map.is_some() {
            self.evict(out);
        }
        self.dispatch(out);
    }

    /// Units that may hold data on its way to flash in the host's memory, and clean data.
    #[inline]
    pub(crate) fn room_away(&self) -> (u32, u32) {
        match &self.config.host_memory {
            Some(memory) if self.host_memory.enabled => (memory.write, memory.read),
            _ => (0, 0),
        }
    }

    /// Asks for an access to `bytes` of the host's memory.
    pub(crate) fn host_access(&mut self, kind: Kind, subject: u32, bytes: u32, store: bool, out: &mut Actions) -> OpId {
        let memory = self.config.host_memory.as_ref().expect("a frame or slot in the host's memory");
        let bytes = memory.stored(bytes);
        let stats = &mut self.stats;
        if store {
            stats.host_memory_stores += 1;
            stats.host_memory_store_bytes += u64::from(bytes);
        } else {
            stats.host_memory_loads += 1;
            stats.host_memory_load_bytes += u64::from(bytes);
        }
        self.host_memory.accesses += 1;
        let id = self.start_operation(kind, subject);
        out.actions.push(Action::HostMemory { id, bytes, store });
        id
    }

    /// An access has ended.
    pub(crate) fn host_access_done(&mut self, out: &mut Actions) {
        self.host_memory.accesses -= 1;
        if self.host_memory.releasing {
            self.go_on_releasing(out);
        }
    }

    pub(crate) fn host_copy_done(&mut self, id: OpId, out: &mut Actions) {
        self.operations.free(id);
        self.host_access_done(out);
    }

    pub(crate) fn host_load_done(&mut self, id: OpId, out: &mut Actions) -> Delivery {
        let operation = self.operations.end(id);
        self.host_access_done(out);
        self.account(Tag(operation.subject), u64::from(operation.bytes))
    }

    pub(crate) fn orphan_done(&mut self, id: OpId, out: &mut Actions) {
        let operation = self.operations.end(id);
        self.unpin(self.layout.block_of(operation.unit), out);
    }

    /// Once nothing is left there, says so.
    pub(crate) fn go_on_releasing(&mut self, out: &mut Actions) {
        if !self.host_memory.releasing || !self.evict_away(out) {
            return;
        }
        if self.read_only && self.host_memory.dirty > 0 {
            self.bring_all_in(out);
        }
        if self.host_memory.dirty == 0 && self.host_memory.accesses == 0 {
            self.host_memory.releasing = false;
            out.actions.push(Action::HostMemoryReleased);
        }
    }

    /// True while it is being emptied.
    #[inline(always)]
    pub(crate) fn is_releasing(&self) -> bool {
        self.host_memory.releasing
    }

    /// True if the data of buffer `slot` is in the host's memory: what a test that takes it away has to spoil.
    #[doc(hidden)]
    pub fn is_away(&self, slot: u32) -> bool {
        self.slots[slot].away
    }

    /// True while the host's memory may be used.
    pub fn uses_host_memory(&self) -> bool {
        self.host_memory.enabled
    }

    // ---- data ----

    /// A dirty slot gets its data in the controller, if there is room, else in the host's memory.
    pub(crate) fn place_dirty(&mut self, slot: u32) {
        let (room, _) = self.room_away();
        let near = self.write_used - self.reserved - self.host_memory.dirty;
        let away = near > self.config.buffers.write && self.host_memory.dirty < room;
        self.slots[slot].away = away;
        self.host_memory.dirty += u32::from(away);
    }

    /// What of `units`, which the command `tag` has just written, is in the host's memory, goes there: posted, and so
    /// there before the command's completion is.
    #[cold]
    pub(crate) fn store_away(&mut self, tag: Tag, units: Range<u32>, out: &mut Actions) {
        let mut sectors = 0;
        for unit in units {
            if let Place::Buffer(slot) = self.place(unit)
                && self.slots[slot].away
            {
                sectors += self.part(tag, unit).sectors;
            }
        }
        if sectors > 0 {
            self.host_access(Kind::HostCopy, NIL, sectors * SECTOR as u32, true, out);
        }
    }

    /// A clean copy of `unit` in the host's memory is not brought in to be written over: flash has it too.
    #[cold]
    pub(crate) fn drop_clean_of(&mut self, unit: u32) {
        if let Place::Buffer(slot) = self.place(unit)
            && self.slots[slot].holds == Holds::Clean
            && self.slots[slot].away
        {
            self.drop_clean(slot);
        }
    }

    /// The same as [`place_dirty`](Self::place_dirty) of a clean slot, which is in its list already.
    pub(crate) fn place_clean(&mut self, slot: u32, out: &mut Actions) {
        let (_, room) = self.room_away();
        let near = self.clean.len - self.host_memory.clean;
        let away = near > self.config.buffers.read && room > 0;
        if away {
            self.slots[slot].away = true;
            self.host_memory.clean += 1;
            self.host_access(Kind::HostCopy, slot, 1 << self.unit_shift, true, out);
        }
    }

    /// `slot` is about to be given back, or brought in.
    #[inline]
    pub(crate) fn leave_host_memory(&mut self, slot: u32) {
        let s = &mut self.slots[slot];
        if std::mem::replace(&mut s.away, false) {
            match s.holds {
                Holds::Clean => self.host_memory.clean -= 1,
                Holds::Dirty => self.host_memory.dirty -= 1,
                holds => unreachable!("{holds:?} data in the host's memory"),
            }
        }
    }

    /// Brings in what the next program needs of the host's memory. True if there is something to wait for.
    pub(crate) fn bring_in(&mut self, out: &mut Actions) -> bool {
        let (mut slot, mut looked, mut count) = (self.dirty.head, 0, 0);
        let mut chosen = [NIL; 64];
        while slot != NIL && looked < self.layout.program_units && !self.slots[slot].filling {
            if self.slots[slot].away {
                chosen[count as usize] = slot;
                count += 1;
            }
            looked += 1;
            slot = self.slots.next(slot);
        }
        if count == 0 {
            return false;
        }
        let id = self.host_access(Kind::BringIn, NIL, count << self.unit_shift, false, out);
        self.operations[id].count = count;
        for (i, slot) in (0..count).zip(chosen) {
            self.operations.set_slot(id, i, slot);
            self.slots[slot].filling = true;
        }
        self.host_memory.bringing = true;
        true
    }

    pub(crate) fn bring_in_done(&mut self, id: OpId, out: &mut Actions) {
        self.end_bring_in(id, true);
        self.admit(out);
        self.host_access_done(out);
        self.dispatch(out);
    }

    /// What was on its way is in the controller (`came`), or stays where it was.
    fn end_bring_in(&mut self, id: OpId, came: bool) {
        for i in 0..self.operations[id].count {
            let slot = self.operations.slot(id, i);
            self.slots[slot].filling = false;
            if self.slots[slot].holds == Holds::Doomed {
                self.slots.give(slot);
                self.write_used -= 1;
            } else if came {
                self.leave_host_memory(slot);
            }
        }
        self.operations.free(id);
        self.host_memory.bringing = false;
    }

    /// The drive takes no more writes, so that nothing makes room for what it acknowledged: it is kept all the same.
    fn bring_all_in(&mut self, out: &mut Actions) {
        if self.host_memory.bringing {
            return;
        }
        let mut slot = self.dirty.head;
        while slot != NIL {
            if self.slots[slot].away {
                self.host_access(Kind::HostCopy, slot, 1 << self.unit_shift, false, out);
                self.leave_host_memory(slot);
            }
            slot = self.slots.next(slot);
        }
    }

    /// Flash has it too.
    fn drop_clean_away(&mut self) {
        let mut slot = self.clean.head;
        while slot != NIL {
            let next = self.slots.next(slot);
            if self.slots[slot].away {
                self.drop_clean(slot);
            }
            slot = next;
        }
    }

    // ---- reset and loss ----

    /// No command is under way any more. Returns the translation units that were on their way from the host's memory.
    fn forget_commands(&mut self) -> Vec<u32> {
        let mut coming = Vec::new();
        for id in self.operations.under_way() {
            match self.operations[id].kind {
                Kind::WholeRead | Kind::HostRead => self.operations[id].kind = Kind::Orphan,
                Kind::MapRead | Kind::Fill => self.operations[id].waiters = NIL,
                Kind::BringIn => self.end_bring_in(id, false),
                Kind::HostCopy if self.operations[id].mask != 0 => coming.push(self.operations.end(id).subject),
                Kind::MapLookup | Kind::HostCopy | Kind::HostLoad | Kind::Barrier => self.operations.free(id),
                Kind::Program | Kind::CollectRead | Kind::Erase | Kind::Orphan | Kind::Free => {}
                Kind::Parity | Kind::Rebuild => {}
                Kind::CopiesProgram | Kind::CopiesErase => {}
            }
        }
        self.host_memory.accesses = 0;
        self.commands.forget();
        self.fragments = crate::read::Pieces::new();
        self.slots.forget_waiters();
        self.write_used -= self.reserved;
        self.reserved = 0;
        self.end_combining();
        self.space_queue = Queue::EMPTY;
        self.durable.clear();
        self.sealed = 0;
        coming
    }

    /// Data in the host's memory that was on its way to flash is gone: its units are what was handed to flash before.
    fn lose_dirty(&mut self) -> u32 {
        let mut lost = 0;
        let mut slot = self.dirty.head;
        while slot != NIL {
            let next = self.slots.next(slot);
            if self.slots[slot].away {
                lost += 1;
                self.leave_host_memory(slot);
                self.slots.remove(&mut self.dirty, slot);
                let (unit, home) = (self.slots[slot].unit, self.slots[slot].home);
                let before = self.under_program(unit, home);
                self.table.set(unit, before.map_or(home, Location::buffer));
                if self.slots[slot].filling {
                    self.slots[slot].holds = Holds::Doomed;
                } else {
                    self.slots.give(slot);
                    self.write_used -= 1;
                }
            }
            slot = next;
        }
        lost
    }

    /// The slot from which `unit` is being programmed at `home`, or will be once more where that failed (nowhere): until
    /// then its data is in RAM alone.
    fn under_program(&self, unit: u32, home: Location) -> Option<u32> {
        let mut found = None;
        for id in self.operations.under_way() {
            let operation = &self.operations[id];
            if operation.kind != Kind::Program {
                continue;
            }
            for slot in self.operations.slots(id).iter().copied().filter(|slot| *slot != NIL) {
                let s = &self.slots[slot];
                if s.unit == unit && s.home == home && found.is_none_or(|(at, _)| at < operation.sequence) {
                    found = Some((operation.sequence, slot));
                }
            }
        }
        found.map(|(_, slot)| slot)
    }

    /// Of the translation units `lost` only the host's memory had the newest. Their entries that are younger than their
    /// copies in flash are looked for in spare areas: the highest sequence number of a unit is the unit.
    fn find_entries(&mut self, lost: &[u32], flash: &impl Flash) -> HostMemoryLoss {
        let mut loss = HostMemoryLoss::default();
        let Some(map) = &mut self.map else { return loss };
        for t in lost {
            map.stale[*t as usize] = true;
        }
        let map = self.map.as_ref().expect("there is a map");
        let mut since = u64::MAX;
        // Where each entry was: to be found again, or forgotten.
        let mut forgotten: Vec<(u32, Location)> = Vec::new();
        for t in lost {
            let written = match self.place(map.logical_of(*t)) {
                Place::Flash(physical) => self.sequence_in(physical, flash),
                _ => 0,
            };
            since = since.min(written);
            for unit in map.mapped_by(*t) {
                let location = self.table.get(unit);
                if let Place::Flash(physical) = location.place(self.slots.count())
                    && self.sequence_in(physical, flash) > written
                {
                    forgotten.push((unit, location));
                }
            }
        }
        for (unit, _) in &forgotten {
            self.table.set(*unit, Location::NOWHERE);
        }
        if forgotten.is_empty() || self.injected == InjectedFault::HostMapForgotten {
            return loss;
        }
        loss.entries = forgotten.len() as u32;
        let by_die = self.rebuild(&forgotten, since, flash);
        loss.pages_read = by_die.iter().sum();
        loss.pages_of_busiest_die = by_die.into_iter().max().unwrap_or(0);
        for (unit, was) in forgotten {
            assert_eq!(self.table.get(unit), was, "unit {unit} is found elsewhere than it was");
        }
        loss
    }

    /// Looks for the units of `forgotten` (ascending) in all pages that were programmed after `since`. Returns how many
    /// pages that took of each die.
    fn rebuild(&mut self, forgotten: &[(u32, Location)], since: u64, flash: &impl Flash) -> Vec<u64> {
        let mut newest = vec![0u64; forgotten.len()];
        let mut by_die = vec![0u64; self.config.geometry.all_dies() as usize];
        for block in 0..self.layout.all_blocks() {
            for position in 0..self.layout.per_row {
                let at = self.layout.block_at(block, position);
                for plane in at.planes.iter() {
                    // Pages are programmed in order, so that the youngest are the last.
                    for page in (0..flash.block(at.die, plane, at.block).programmed).rev() {
                        let program = page * self.layout.per_row + position;
                        let at = PageAddr { page, ..self.layout.page(block, program) };
                        by_die[at.die as usize] += 1;
                        let spare = flash.logical(at, plane);
                        if spare.is_empty() {
                            continue;
                        }
                        let sequence = flash.sequence(at, plane);
                        if sequence <= since {
                            break;
                        }
                        let first = at.planes.0.trailing_zeros();
                        let base = self.layout.unit_of(block, program) + (plane - first) * self.layout.page_units;
                        for (i, unit) in (0u32..).zip(spare).filter(|(_, unit)| **unit < PARITY) {
                            let Ok(entry) = forgotten.binary_search_by_key(unit, |(unit, _)| *unit) else { continue };
                            if sequence > newest[entry] {
                                newest[entry] = sequence;
                                self.table.set(*unit, Location::flash(base + i));
                            }
                        }
                    }
                }
            }
        }
        by_die
    }

    /// Sequence number of the program that wrote flash unit `physical`.
    fn sequence_in(&self, physical: u32, flash: &impl Flash) -> u64 {
        let (page, plane, _) = self.layout.address(physical);
        flash.sequence(page, plane)
    }
}
