//! The map in flash: what its cache reads and writes there, where the controller cannot hold it all.
//!
//! The map is cut into *translation units*, each the entries of as many logical units as fit in one mapping unit, and
//! kept in logical units of the layer's own (Gupta et al., DFTL, 2009). What is charged here is their traffic: reads of
//! those that are not at hand, writes of those that changed. Look-ups themselves go to the whole table, which is what
//! flash and cache hold together.

use media::{Action, Class, OpId, ReadOp, Status};

use crate::buffer::Holds;
use crate::command::Kind;
use crate::config::HostMemory;
use crate::location::Place;
use crate::map_frames::{ABSENT, FETCHING, MapCache};
use crate::{Actions, Ftl};

/// Whether a translation unit can be used.
pub(crate) enum Ready {
    Now,
    /// After this operation.
    After(OpId),
}

impl Ftl {
    fn cache(&mut self) -> &mut MapCache {
        self.map.as_mut().expect("asked for only where the map is cached")
    }

    /// Writes translation units that changed back to flash, from number `from` on, as a drive does before it is switched
    /// off. `None` once none is left; else the number to go on from, when what was asked for is done.
    pub fn write_back_map(&mut self, from: u32, out: &mut Actions) -> Option<u32> {
        let count = self.map.as_ref().map_or(0, |cache| cache.state.len() as u32);
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
                self.force_epoch = self.epoch;
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
        self.force_epoch = self.epoch;
        self.dispatch(out);
        None
    }

    /// A read needs the entry of `unit`.
    pub(crate) fn map_ready(&mut self, unit: u32, out: &mut Actions) -> Ready {
        let cache = self.cache();
        let Some(t) = cache.translation(unit) else { return Ready::Now };
        if cache.entries.is_some() {
            return self.entry_ready(unit, t, out);
        }
        let state = cache.state[t as usize];
        if state != ABSENT && state & FETCHING == 0 {
            cache.touch(state);
            let away = cache.frames[state as usize].away;
            self.stats.map_hits += 1;
            if away {
                self.stats.map_host_hits += 1;
                return Ready::After(self.host_access(Kind::MapLookup, t, HostMemory::LINE, false, out));
            }
            return Ready::Now;
        }
        self.stats.map_misses += 1;
        match self.fetch(t, false, out) {
            Some(id) => Ready::After(id),
            None => Ready::Now,
        }
    }

    /// `unit` has a new place in flash: its translation unit changes. If it is not at hand, the change waits for it, and
    /// once there are too many that wait, the unit with the oldest of them is brought in. The write waits for none of it.
    pub(crate) fn map_written(&mut self, unit: u32, out: &mut Actions) {
        let cache = self.cache();
        let Some(t) = cache.translation(unit) else { return };
        if cache.entries.is_some() {
            self.entry_written(unit, t);
            return;
        }
        let state = cache.state[t as usize];
        if state == ABSENT {
            if let Some(wanted) = cache.pending.note(t) {
                self.map_wanted.push(wanted);
                self.has_work = true;
            }
        } else if state & FETCHING == 0 {
            cache.touch(state);
            cache.dirty[t as usize] = true;
            if cache.frames[state as usize].away {
                self.host_access(Kind::HostCopy, t, HostMemory::LINE, true, out);
            }
        } else {
            self.operations[OpId(state & !FETCHING)].mask = 1;
        }
    }

    /// Brings in the translation units that writes changed.
    pub(crate) fn fetch_wanted(&mut self, out: &mut Actions) {
        if self.caches_entries() {
            self.fetch_wanted_entries(out);
            return;
        }
        while let Some(t) = self.map_wanted.pop() {
            let state = self.cache().state[t as usize];
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

    /// Has translation unit `t` fetched; `None` if it is at hand without a read.
    fn fetch(&mut self, t: u32, dirty: bool, out: &mut Actions) -> Option<OpId> {
        let cache = self.cache();
        let (state, logical) = (cache.state[t as usize], cache.first + t);
        let dirty = dirty || std::mem::replace(&mut cache.stale[t as usize], false);
        if state != ABSENT && state & FETCHING != 0 {
            let id = OpId(state & !FETCHING);
            self.operations[id].mask |= u64::from(dirty);
            return Some(id);
        }
        let Place::Flash(physical) = self.place(logical) else {
            // Never written yet, or still in RAM on its way out.
            self.cache().insert(t, dirty);
            self.evict(out);
            return None;
        };
        let id = self.start_operation(Kind::MapRead, t);
        let operation = &mut self.operations[id];
        (operation.unit, operation.mask) = (physical, u64::from(dirty));
        assert!(id.0 & FETCHING == 0, "more than 2^31 operations under way");
        self.cache().state[t as usize] = FETCHING | id.0;
        self.blocks.pin(self.layout.block_of(physical));
        self.stats.map_reads += 1;
        out.actions.push(Action::Read(ReadOp {
            id,
            page: self.layout.span(physical, 1),
            bytes: 1 << self.unit_shift,
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
        if status != Status::Ok {
            // Its entries are rebuilt from the spare areas of the blocks, as a mount does it (what those reads cost is
            // not counted); then it is written anew.
            self.stats.failures += 1;
        }
        if self.cache().insert(t, operation.mask != 0 || status != Status::Ok) {
            self.host_access(Kind::HostCopy, t, 1 << self.unit_shift, true, out);
        }
        self.wake(operation.waiters, true, out);
        self.unpin(self.layout.block_of(operation.unit), out);
        self.evict(out);
        self.dispatch(out);
    }

    pub(crate) fn map_lookup_done(&mut self, id: OpId, out: &mut Actions) {
        let operation = self.operations.end(id);
        self.wake(operation.waiters, true, out);
        self.host_access_done(out);
    }

    /// True if the translation unit `logical` is in RAM already, to be written: as it will be then.
    pub(crate) fn awaits_program(&self, logical: u32) -> bool {
        matches!(self.place(logical), Place::Buffer(slot) if self.slots[slot].holds == Holds::Dirty)
    }

    /// Makes the cache fit: what changed is written back. Where no slot is free for that, it stays a little longer.
    pub(crate) fn evict(&mut self, out: &mut Actions) {
        if self.caches_entries() {
            self.evict_entries(out);
            return;
        }
        while let Some(frame) = self.cache().surplus() {
            if !self.write_frame_back(frame, out) {
                return;
            }
            self.cache().drop_frame(frame);
        }
    }

    /// What of `frame` changed goes to flash. False if there is no slot for all of it.
    fn write_frame_back(&mut self, frame: u32, out: &mut Actions) -> bool {
        for t in self.cache().span(frame) {
            if !self.cache().changed(t, frame) {
                continue;
            }
            let logical = self.cache().first + t;
            if !self.awaits_program(logical) && self.system_slot(logical).is_none() {
                return false;
            }
            self.cache().dirty[t as usize] = false;
            if self.cache().frames[frame as usize].away {
                let id = self.host_access(Kind::HostCopy, t, 1 << self.unit_shift, false, out);
                self.operations[id].mask = 1;
            }
        }
        true
    }

    /// Takes the map out of the host's memory, as far as there are slots. True once none of it is there.
    pub(crate) fn evict_away(&mut self, out: &mut Actions) -> bool {
        for frame in self.map.as_ref().map_or(Vec::new(), MapCache::away) {
            if !self.write_frame_back(frame, out) {
                return false;
            }
            self.cache().drop_frame(frame);
        }
        true
    }
}
