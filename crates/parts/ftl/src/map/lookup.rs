//! Lookups, changes and write-backs of the map if single entries are cached.
//!
//! A lookup that misses reads the sector of its entry from the translation unit in flash. Lookups of the same
//! translation unit join the read in progress, and each caches only its own entry. (The read transfers one sector even
//! if a lookup that joins it needs another.) Evicting a changed entry also writes back the other changes of its
//! translation unit: the unit is read in full, unless it is still in RAM, and written.

use media::{Action, Class, OpId, ReadOp, SECTOR, Status};

use crate::buffer::slots::NIL;
use crate::location::DecodedLocation;
use crate::map::cache::Ready;
use crate::map::entries::MapEntries;
use crate::map::frames::{ABSENT, FETCHING};
use crate::request::operation::OperationKind;
use crate::sizes::SYSTEM_SLOTS;
use crate::{Actions, Ftl};

/// The translation unit is read in full and written back with its changes.
const MERGES: u64 = 1;
/// After this read, the translation unit is read in full to be written back.
const MERGES_NEXT: u64 = 2;

impl Ftl {
    /// Returns the cached entries, if single entries are cached.
    pub(crate) fn entries(&mut self) -> &mut MapEntries {
        self.map.cache.as_mut().and_then(|map| map.entries.as_mut()).expect("called only if entries are cached")
    }

    /// Returns the state of translation unit `t`, which includes a read in progress, and its logical unit.
    fn translation_state(&self, t: u32) -> (u32, u32) {
        let map = self.map.cache.as_ref().expect("called only if the map is cached");
        (map.state[t as usize], map.first + t)
    }

    /// Returns true if single map entries are cached.
    pub(crate) fn caches_entries(&self) -> bool {
        self.map.cache.as_ref().is_some_and(|map| map.entries.is_some())
    }

    /// Makes the entry of `unit`, in translation unit `t`, available for a read.
    pub(crate) fn entry_ready(&mut self, unit: u32, t: u32, out: &mut Actions) -> Ready {
        if self.entries().look_up(unit) {
            self.stats.map_hits += 1;
            return Ready::Now;
        }
        self.stats.map_misses += 1;
        if let Some(id) = self.fetch_entries(t, out) {
            return Ready::After(id);
        }
        self.cache_unchanged(unit);
        self.evict_entries(out);
        Ready::Now
    }

    /// Caches the entry of `unit`, which a read looked up, unless the cache is full and cannot write changes back.
    fn cache_unchanged(&mut self, unit: u32) {
        let entries = self.entries();
        if entries.merging < SYSTEM_SLOTS || entries.len() < entries.capacity() {
            entries.insert(unit, false);
        }
    }

    /// Updates the entry of `unit`, which has a new address in flash. If the entry was not cached, the old one must be
    /// read to find the copy that is no longer valid; the write does not wait for that.
    pub(crate) fn entry_written(&mut self, unit: u32, t: u32) {
        let entries = self.entries();
        let cached = entries.look_up(unit);
        entries.insert(unit, true);
        self.cache().misses.count(!cached);
        if !cached {
            self.cache().wanted.add_entry_of(t);
        }
    }

    /// Reads the entries that writes superseded.
    pub(crate) fn fetch_wanted_entries(&mut self, out: &mut Actions) {
        while let Some(t) = self.cache().wanted.take() {
            self.stats.map_misses += 1;
            self.fetch_entries(t, out);
        }
        self.evict_entries(out);
    }

    /// Reads the sector of an entry of translation unit `t`; returns `None` if the unit needs no read.
    fn fetch_entries(&mut self, t: u32, out: &mut Actions) -> Option<OpId> {
        let (state, logical) = self.translation_state(t);
        if state != ABSENT {
            return Some(OpId(state & !FETCHING));
        }
        if self.entries().write_backs.contains(&t) {
            return None;
        }
        let DecodedLocation::Flash(physical) = self.place(logical) else { return None };
        let stale = self.map.cache.as_mut().is_some_and(|map| std::mem::replace(&mut map.stale[t as usize], false));
        self.entries().merging += u32::from(stale);
        Some(self.read_translation(t, physical, SECTOR as u32, if stale { MERGES_NEXT } else { 0 }, out))
    }

    fn read_translation(&mut self, t: u32, physical: u32, bytes: u32, mask: u64, out: &mut Actions) -> OpId {
        let id = self.start_operation(OperationKind::MapRead, t);
        let operation = &mut self.operations[id];
        (operation.unit, operation.mask) = (physical, mask);
        assert!(id.0 & FETCHING == 0, "more than 2^31 operations in progress");
        if let Some(map) = &mut self.map.cache {
            map.state[t as usize] = FETCHING | id.0;
        }
        self.space.blocks.pin(self.layout.block_of(physical));
        self.stats.map_reads += 1;
        out.actions.push(Action::Read(ReadOp { id, page: self.layout.span(physical, 1), bytes, class: Class::Map }));
        id
    }

    pub(crate) fn entries_read(&mut self, id: OpId, status: Status, out: &mut Actions) {
        let operation = self.operations.end(id);
        let (t, mut mask) = (operation.subject, operation.mask);
        if let Some(map) = &mut self.map.cache {
            map.state[t as usize] = ABSENT;
        }
        if !status.is_ok() {
            // The entries are rebuilt from the spare areas of the blocks, as in a mount (the cost of these reads is not
            // modeled); then the unit is written again.
            self.stats.failures += 1;
            self.entries().merging += u32::from(mask == 0);
            mask = MERGES;
        }
        let mut chain = operation.waiters;
        while chain != NIL {
            let (unit, next) = self.requests.fragments.waiting(chain);
            self.cache_unchanged(unit);
            chain = next;
        }
        self.wake(operation.waiters, true, out);
        self.unpin(self.layout.block_of(operation.unit), out);
        if mask & MERGES != 0 {
            self.entries().write_backs.push(t);
        } else if mask & MERGES_NEXT != 0 {
            self.entries().merging -= 1;
            self.start_merge(t, out);
        }
        self.evict_entries(out);
        self.dispatch(out);
    }

    /// Writes translation unit `t` back, at once if no read is needed first.
    pub(crate) fn start_merge(&mut self, t: u32, out: &mut Actions) {
        self.entries().merging += 1;
        let (state, logical) = self.translation_state(t);
        if state != ABSENT {
            let operation = &mut self.operations[OpId(state & !FETCHING)];
            if operation.mask == 0 {
                operation.mask = MERGES_NEXT;
            } else {
                // The write-back in preparation includes these changes.
                self.entries().merging -= 1;
            }
            return;
        }
        if self.entries().write_backs.contains(&t) || self.awaits_program(logical) {
            self.entries().merging -= 1;
            return;
        }
        match self.place(logical) {
            DecodedLocation::Flash(physical) => {
                self.read_translation(t, physical, 1 << self.layout.unit_shift, MERGES, out);
            }
            _ => self.entries().write_backs.push(t),
        }
    }

    /// Evicts entries beyond the capacity and passes complete translation units to the programs. While too many
    /// write-backs are in progress, changed entries stay beyond the capacity; soon host writes wait for them.
    pub(crate) fn evict_entries(&mut self, out: &mut Actions) {
        loop {
            self.hand_over();
            let Some((unit, dirty)) = self.entries().surplus() else { return };
            if dirty {
                if self.entries().merging >= SYSTEM_SLOTS {
                    return;
                }
                let t = self.map.cache.as_ref().and_then(|map| map.translation(unit)).expect("a user unit");
                self.entries().clean(t);
                self.start_merge(t, out);
            }
            self.entries().remove(unit);
        }
    }

    /// Moves translation units that are ready to be written into slots.
    fn hand_over(&mut self) {
        while let Some(t) = self.entries().write_backs.pop() {
            let (_, logical) = self.translation_state(t);
            if !self.awaits_program(logical) && self.system_slot(logical).is_none() {
                self.entries().write_backs.push(t);
                return;
            }
            self.entries().merging -= 1;
        }
    }

    /// Returns true if translation unit `t` in flash is older than the cached changes.
    pub(crate) fn entries_changed(&mut self, t: u32) -> bool {
        let entries = self.entries();
        entries.has_dirty(t) || entries.write_backs.contains(&t)
    }

    /// Notes that translation unit `t` is being written with all its changes.
    pub(crate) fn entries_written_back(&mut self, t: u32) {
        let entries = self.entries();
        entries.clean(t);
        if let Some(at) = entries.write_backs.iter().position(|other| *other == t) {
            entries.write_backs.swap_remove(at);
            entries.merging -= 1;
        }
    }

    /// Fills the cache as a long run of uniform random lookups would leave it: with unchanged parts of the map drawn at
    /// random. Has no effect unless the configuration requests a warm cache.
    pub fn warm_map(&mut self) {
        let Some(map) = &mut self.map.cache else { return };
        let Some(mut rng) = map.warm.take() else { return };
        let (entries, all) = match &map.entries {
            Some(entries) => (entries.capacity(), map.user_units()),
            None => (map.own_frames(), map.count() as u32),
        };
        let count = entries.min(all);
        // Floyd's sampling algorithm: each step adds one new element.
        for last in all - count..all {
            let drawn = rng.below(u64::from(last) + 1) as u32;
            match &mut map.entries {
                Some(entries) => {
                    let unit = if entries.contains(drawn) { last } else { drawn };
                    entries.insert(unit, false);
                }
                None => {
                    let t = if map.state[drawn as usize] == ABSENT { drawn } else { last };
                    map.insert(t, false);
                }
            }
        }
    }
}
