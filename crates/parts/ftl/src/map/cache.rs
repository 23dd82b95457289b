//! The map in flash: the traffic of the map cache if the controller cannot hold the whole map.
//!
//! The map is divided into *translation units*, each with the entries of as many logical units as fit in one mapping
//! unit, stored in logical units of the layer itself (Gupta et al., DFTL, 2009). Only their traffic is modeled here:
//! reads of translation units that are not cached, and writes of those that changed. Lookups always use the full table,
//! which is the union of flash and cache.

use media::{Action, Class, OpId, ReadOp, Status};

use crate::buffer::slots::Holds;
use crate::config::HostMemory;
use crate::location::DecodedLocation;
use crate::map::frames::{ABSENT, FETCHING, MapCache};
use crate::request::operation::OperationKind;
use crate::{Actions, Ftl};

/// The value of `count` of a fetch that was issued for changes. Other fetches were issued for reads.
const FOR_CHANGES: u32 = 1;

/// Availability of a translation unit.
pub(crate) enum Ready {
    Now,
    /// After this operation.
    After(OpId),
}

impl Ftl {
    pub(super) fn cache(&mut self) -> &mut MapCache {
        self.map.cache.as_mut().expect("called only if the map is cached")
    }

    /// Writes changed translation units back to flash, from number `from` on, as a drive does before it is switched
    /// off. Returns `None` when none is left, else the number to continue from after the issued operations complete.
    pub fn write_back_map(&mut self, from: u32, out: &mut Actions) -> Option<u32> {
        let count = self.map.cache.as_ref().map_or(0, |cache| cache.state.len() as u32);
        if let Some(map) = &mut self.map.cache {
            while let Some(t) = map.wanted.take() {
                map.stale[t as usize] = true;
            }
        }
        for t in from..count {
            let cache = self.cache();
            let state = cache.state[t as usize];
            let at_hand = state != ABSENT && state & FETCHING == 0;
            let changed = cache.stale[t as usize] || cache.pending.has(t) || (at_hand && cache.dirty[t as usize]);
            let entries = self.caches_entries();
            if !(changed || entries && self.entries_changed(t)) {
                continue;
            }
            let logical = self.cache().first + t;
            if !self.awaits_program(logical) && self.system_slot(logical).is_none() {
                self.buffer.dirty.force();
                self.dispatch(out);
                return Some(t);
            }
            let cache = self.cache();
            cache.stale[t as usize] = false;
            let _ = cache.pending.take(t);
            if at_hand {
                cache.dirty[t as usize] = false;
            }
            if entries {
                self.entries_written_back(t);
            }
        }
        self.buffer.dirty.force();
        self.dispatch(out);
        None
    }

    /// Makes the entry of `unit` available for a read.
    pub(crate) fn map_ready(&mut self, unit: u32, out: &mut Actions) -> Ready {
        let cache = self.cache();
        let Some(t) = cache.translation(unit) else { return Ready::Now };
        if cache.entries.is_some() {
            return self.entry_ready(unit, t, out);
        }
        let state = cache.state[t as usize];
        if state != ABSENT && state & FETCHING == 0 {
            let away = cache.touch(state);
            self.stats.map_hits += 1;
            if away {
                self.stats.map_host_hits += 1;
                let id = self.host_access(OperationKind::MapLookup, t, HostMemory::LINE, false, out);
                self.moves_entries(id, unit, 1);
                return Ready::After(id);
            }
            return Ready::Now;
        }
        self.stats.map_misses += 1;
        match self.fetch(t, false, out) {
            Some(id) => Ready::After(id),
            None => Ready::Now,
        }
    }

    /// Updates the translation unit of `unit`, which has a new address in flash. If it is not cached, the change waits
    /// for it; when too many changes wait, the unit with the oldest change is loaded. The write does not wait for this.
    pub(crate) fn map_written(&mut self, unit: u32, out: &mut Actions) {
        self.map_changed(unit, 1, out);
    }

    /// Like [`map_written`](Self::map_written) for `count` units from `unit` on, all of one translation unit and changed
    /// at once.
    pub(crate) fn map_changed(&mut self, unit: u32, count: u32, out: &mut Actions) {
        let cache = self.cache();
        let Some(t) = cache.translation(unit) else { return };
        if cache.entries.is_some() {
            self.entry_written(unit, t);
            return;
        }
        let state = cache.state[t as usize];
        cache.misses.count(state == ABSENT);
        if state == ABSENT {
            if let Some(wanted) = cache.pending.note(t) {
                cache.wanted.add(wanted);
            }
        } else if state & FETCHING == 0 {
            cache.dirty[t as usize] = true;
            if cache.touch(state) {
                let id = self.host_access(OperationKind::HostCopy, t, HostMemory::LINE, true, out);
                self.moves_entries(id, unit, count);
            }
        } else {
            self.operations[OpId(state & !FETCHING)].mask = 1;
        }
    }

    /// Loads the translation units that writes changed, as far as the cache has or will have room for them. Host writes
    /// are not admitted while many wait: otherwise ever more changes would.
    pub(crate) fn fetch_wanted(&mut self, out: &mut Actions) {
        if !self.map.cache.as_deref().is_some_and(MapCache::lacks_room) {
            return;
        }
        if self.caches_entries() {
            self.fetch_wanted_entries(out);
        } else {
            self.fetch_wanted_units(out);
        }
        self.admit(out);
    }

    fn fetch_wanted_units(&mut self, out: &mut Actions) {
        while let Some(t) = self.cache().wanted.first() {
            let state = self.cache().state[t as usize];
            if state == ABSENT && !self.may_load(t, out) {
                return;
            }
            let _ = self.cache().wanted.take();
            if state == ABSENT {
                self.stats.map_misses += 1;
                self.fetch(t, true, out);
            } else if state & FETCHING != 0 {
                self.operations[OpId(state & !FETCHING)].mask = 1;
            } else {
                self.cache().dirty[t as usize] = true;
            }
        }
    }

    /// Returns true if translation unit `t` can be loaded for a change. Each load needs a free frame when it completes,
    /// or a slot in which the frame that it replaces is written back.
    fn may_load(&mut self, t: u32, out: &mut Actions) -> bool {
        let slots = self.buffer.system_free();
        let map = self.cache();
        if map.wanted.loads >= map.free_frames() + slots {
            return false;
        }
        let logical = map.first + t;
        matches!(self.place(logical), DecodedLocation::Flash(_)) || self.make_room(t, out)
    }

    /// Returns true if translation unit `t` can be cached. If it takes the place of a changed frame and there are not
    /// enough slots for that frame, as much of it as possible is written back.
    fn make_room(&mut self, t: u32, out: &mut Actions) -> bool {
        if self.cache().surplus().is_some() {
            self.evict(out);
        }
        let Some(frame) = self.cache().replaced_by(t) else { return true };
        let map = self.map.cache.as_ref().expect("called only if the map is cached");
        let needs_slot = |t: &u32| map.changed(*t, frame) && !self.awaits_program(map.first + t);
        let slots = map.span(frame).filter(needs_slot).count() as u32;
        slots <= self.buffer.system_free() || self.write_frame_back(frame, out)
    }

    /// Serves the reads that wait for translation unit `t` without caching it: there is no room. Its changes, if any,
    /// wait until there is.
    fn pass_by(&mut self, t: u32, dirty: bool) {
        let cache = self.cache();
        cache.state[t as usize] = ABSENT;
        if dirty {
            cache.wanted.add(t);
        }
    }

    /// Fetches translation unit `t`, for a change if `dirty`; returns `None` if it is available without a read.
    fn fetch(&mut self, t: u32, dirty: bool, out: &mut Actions) -> Option<OpId> {
        let reason = if dirty { FOR_CHANGES } else { 0 };
        let cache = self.cache();
        let (state, logical) = (cache.state[t as usize], cache.first + t);
        let dirty = dirty || std::mem::replace(&mut cache.stale[t as usize], false);
        if state != ABSENT && state & FETCHING != 0 {
            let id = OpId(state & !FETCHING);
            self.operations[id].mask |= u64::from(dirty);
            return Some(id);
        }
        let DecodedLocation::Flash(physical) = self.place(logical) else {
            // Never written, or still in RAM waiting to be programmed.
            if self.make_room(t, out) {
                self.cache().insert(t, dirty);
                self.evict(out);
            } else {
                self.pass_by(t, dirty);
            }
            return None;
        };
        let id = self.start_operation(OperationKind::MapRead, t);
        let operation = &mut self.operations[id];
        (operation.unit, operation.mask, operation.count) = (physical, u64::from(dirty), reason);
        assert!(id.0 & FETCHING == 0, "more than 2^31 operations in progress");
        let cache = self.cache();
        cache.state[t as usize] = FETCHING | id.0;
        cache.wanted.loads += reason;
        self.space.blocks.pin(self.layout.block_of(physical));
        self.stats.map_reads += 1;
        out.actions.push(Action::Read(ReadOp {
            id,
            page: self.layout.span(physical, 1),
            bytes: 1 << self.layout.unit_shift,
            class: Class::Map,
        }));
        Some(id)
    }

    pub(crate) fn map_read_done(&mut self, id: OpId, status: Status, out: &mut Actions) {
        if self.caches_entries() {
            self.entries_read(id, status, out);
            return;
        }
        let operation = self.operations.end(id);
        let t = operation.subject;
        if !status.is_ok() {
            // Its entries are rebuilt from the spare areas of the blocks, as in a mount (the cost of these reads is not
            // modeled); then it is written again.
            self.stats.failures += 1;
        }
        self.cache().wanted.loads -= operation.count;
        let dirty = operation.mask != 0 || !status.is_ok();
        if !self.make_room(t, out) {
            self.pass_by(t, dirty);
        } else if self.cache().insert(t, dirty) {
            let id = self.host_access(OperationKind::HostCopy, t, 1 << self.layout.unit_shift, true, out);
            self.moves_translation(id, t);
        }
        self.wake(operation.waiters, true, out);
        self.unpin(self.layout.block_of(operation.unit), out);
        self.evict(out);
        self.dispatch(out);
    }

    pub(crate) fn map_lookup_done(&mut self, id: OpId, out: &mut Actions) {
        let operation = self.operations.end(id);
        // If its line was damaged, the translation unit is looked up again.
        self.wake(operation.waiters, operation.mask == 0, out);
        self.host_access_done(out);
    }

    /// Returns true if the translation unit `logical` is already in RAM, waiting to be written; its content is taken at
    /// that time.
    pub(crate) fn awaits_program(&self, logical: u32) -> bool {
        matches!(self.place(logical), DecodedLocation::Buffer(slot) if self.buffer.slots[slot].holds == Holds::Dirty)
    }

    /// Evicts frames beyond the capacity and writes changed ones back. If no slot is free for that, frames of host memory
    /// that is being released stay a little longer.
    pub(crate) fn evict(&mut self, out: &mut Actions) {
        if self.caches_entries() {
            self.evict_entries(out);
            return;
        }
        while let Some(frame) = self.cache().surplus() {
            if !self.write_frame_back(frame, out) {
                return;
            }
            self.drop_frame(frame, out);
        }
    }

    /// Writes the changed translation units of `frame` back. Returns false if there are not enough slots.
    fn write_frame_back(&mut self, frame: u32, out: &mut Actions) -> bool {
        let map = self.cache();
        let (first, mut span) = (map.first, map.span(frame));
        while let Some(t) = self.cache().next_changed(frame, &mut span) {
            let logical = first + t;
            if !self.awaits_program(logical) && self.system_slot(logical).is_none() {
                return false;
            }
            let map = self.cache();
            map.dirty[t as usize] = false;
            if map.frames[frame as usize].away {
                let id = self.host_access(OperationKind::HostCopy, t, 1 << self.layout.unit_shift, false, out);
                self.operations[id].mask = 1;
                self.moves_translation(id, t);
            }
        }
        true
    }

    /// Drops `frame`, and frees its place in host memory.
    pub(super) fn drop_frame(&mut self, frame: u32, out: &mut Actions) {
        if let Some(frame) = self.cache().drop_frame(frame) {
            out.actions.push(Action::HostMemoryFree { frame });
        }
    }

    /// Evicts the map from host memory, as far as there are slots. Returns true when none of it is left there.
    pub(crate) fn evict_away(&mut self, out: &mut Actions) -> bool {
        for frame in self.map.cache.as_deref().map_or(Vec::new(), MapCache::away) {
            if !self.write_frame_back(frame, out) {
                return false;
            }
            self.drop_frame(frame, out);
        }
        true
    }
}
