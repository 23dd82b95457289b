//! The map in flash, and the cache of it where the controller cannot hold it all.
//!
//! The map is cut into *translation units*, each the entries of as many logical units as fit in one mapping unit, and
//! kept in logical units of the layer's own (Gupta et al., DFTL, 2009). What is charged here is their traffic: reads of
//! those that are not at hand, writes of those that changed. Look-ups themselves go to the whole table, which is what
//! flash and cache hold together.

use media::{Action, Class, OpId, ReadOp, Status};

use crate::buffer::{Holds, NIL};
use crate::command::Kind;
use crate::config::{Config, MapPlace};
use crate::journal;
use crate::location::Place;
use crate::{Actions, Ftl};

/// Bytes of a map entry.
const ENTRY: u32 = 4;
/// Bytes that one look-up in the host's memory moves: a cache line.
const LINE: u32 = 64;

const ABSENT: u32 = u32::MAX;
/// With this bit, the rest of a state is the operation that fetches the unit.
const FETCHING: u32 = 1 << 31;

/// Whether a translation unit can be used.
pub(crate) enum Ready {
    Now,
    /// After this operation.
    After(OpId),
}

fn entries(config: &Config) -> u32 {
    config.geometry.unit_bytes / ENTRY
}

/// Logical units that the map in flash takes: none where the controller holds it all.
pub(crate) fn units(config: &Config) -> u32 {
    if config.map_cache.is_some() { config.user_units.div_ceil(entries(config)) } else { 0 }
}

#[derive(Clone, Copy)]
struct Frame {
    unit: u32,
    dirty: bool,
    previous: u32,
    next: u32,
}

/// Translation units at hand, least recently used first to go.
pub(crate) struct MapCache {
    first: u32,
    shift: u32,
    user_units: u32,
    place: MapPlace,
    capacity: u32,
    state: Vec<u32>,
    frames: Vec<Frame>,
    free: u32,
    used: u32,
    newest: u32,
    oldest: u32,
    /// Translation units whose copy in flash is older than data found at a mount.
    pub(crate) stale: Vec<bool>,
}

impl MapCache {
    pub(crate) fn new(config: &Config) -> Option<MapCache> {
        let cache = config.map_cache?;
        let count = units(config) as usize;
        Some(MapCache {
            first: config.user_units + journal::units(config),
            shift: entries(config).trailing_zeros(),
            user_units: config.user_units,
            place: cache.place,
            capacity: cache.units.max(1),
            state: vec![ABSENT; count],
            frames: Vec::new(),
            free: NIL,
            used: 0,
            newest: NIL,
            oldest: NIL,
            stale: vec![false; count],
        })
    }

    /// The translation unit of a user's unit; `None` for a unit of the layer's own, whose places are in the controller.
    #[inline]
    fn translation(&self, unit: u32) -> Option<u32> {
        (unit < self.user_units).then(|| unit >> self.shift)
    }

    /// Translation units.
    pub(crate) fn count(&self) -> usize {
        self.state.len()
    }

    pub(crate) fn translation_of(&self, unit: u32) -> Option<u32> {
        self.translation(unit)
    }

    fn unlink(&mut self, frame: u32) {
        let Frame { previous, next, .. } = self.frames[frame as usize];
        match previous {
            NIL => self.oldest = next,
            p => self.frames[p as usize].next = next,
        }
        match next {
            NIL => self.newest = previous,
            n => self.frames[n as usize].previous = previous,
        }
    }

    fn link_newest(&mut self, frame: u32) {
        let newest = self.newest;
        let f = &mut self.frames[frame as usize];
        (f.previous, f.next) = (newest, NIL);
        match newest {
            NIL => self.oldest = frame,
            n => self.frames[n as usize].next = frame,
        }
        self.newest = frame;
    }

    fn touch(&mut self, frame: u32) {
        if self.newest != frame {
            self.unlink(frame);
            self.link_newest(frame);
        }
    }

    fn insert(&mut self, t: u32, dirty: bool) {
        let frame = Frame { unit: t, dirty, previous: NIL, next: NIL };
        let id = if self.free == NIL {
            self.frames.push(frame);
            self.frames.len() as u32 - 1
        } else {
            let id = self.free;
            self.free = self.frames[id as usize].next;
            self.frames[id as usize] = frame;
            id
        };
        self.link_newest(id);
        self.state[t as usize] = id;
        self.used += 1;
    }

    /// The least recently used, if there are more than fit.
    fn surplus(&self) -> Option<(u32, Frame)> {
        (self.used > self.capacity).then(|| (self.oldest, self.frames[self.oldest as usize]))
    }

    fn drop_oldest(&mut self) {
        let frame = self.oldest;
        self.unlink(frame);
        self.state[self.frames[frame as usize].unit as usize] = ABSENT;
        self.frames[frame as usize].next = self.free;
        self.free = frame;
        self.used -= 1;
    }
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
            let changed = cache.stale[t as usize] || (at_hand && cache.frames[state as usize].dirty);
            if !changed {
                continue;
            }
            let logical = cache.first + t;
            if !self.awaits_program(logical) && self.system_slot(logical).is_none() {
                self.force_epoch = self.epoch;
                self.pump(out);
                return Some(t);
            }
            let cache = self.cache();
            cache.stale[t as usize] = false;
            if at_hand {
                cache.frames[state as usize].dirty = false;
            }
        }
        self.force_epoch = self.epoch;
        self.pump(out);
        None
    }

    /// A read needs the entry of `unit`.
    pub(crate) fn map_ready(&mut self, unit: u32, out: &mut Actions) -> Ready {
        let cache = self.cache();
        let Some(t) = cache.translation(unit) else { return Ready::Now };
        let state = cache.state[t as usize];
        if state != ABSENT && state & FETCHING == 0 {
            cache.touch(state);
            let in_host = cache.place == MapPlace::Host;
            self.stats.map_hits += 1;
            if in_host {
                let id = self.start_operation(Kind::MapLookup, t);
                out.actions.push(Action::MapFetch { id, bytes: LINE, store: false });
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

    /// `unit` has a new place in flash: its translation unit changes, and is brought in if it is not at hand. The
    /// write does not wait for it.
    pub(crate) fn map_written(&mut self, unit: u32, out: &mut Actions) {
        let cache = self.cache();
        let Some(t) = cache.translation(unit) else { return };
        let state = cache.state[t as usize];
        if state == ABSENT {
            self.map_wanted.push(t);
        } else if state & FETCHING == 0 {
            cache.touch(state);
            cache.frames[state as usize].dirty = true;
            if cache.place == MapPlace::Host {
                self.move_map(t, LINE, true, out);
            }
        } else {
            self.operations[OpId(state & !FETCHING)].mask = 1;
        }
    }

    /// Brings in the translation units that writes changed.
    pub(crate) fn fetch_wanted(&mut self, out: &mut Actions) {
        while let Some(t) = self.map_wanted.pop() {
            let state = self.cache().state[t as usize];
            if state == ABSENT {
                self.stats.map_misses += 1;
                self.fetch(t, true, out);
            } else if state & FETCHING != 0 {
                self.operations[OpId(state & !FETCHING)].mask = 1;
            } else {
                self.cache().frames[state as usize].dirty = true;
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
        let operation = self.operations.end(id);
        let t = operation.subject;
        if status != Status::Ok {
            // Its entries are rebuilt from the spare areas of the blocks, as a mount does it (what those reads cost is
            // not counted); then it is written anew.
            self.stats.failures += 1;
        }
        self.cache().insert(t, operation.mask != 0 || status != Status::Ok);
        if self.cache().place == MapPlace::Host {
            let bytes = 1 << self.unit_shift;
            self.move_map(t, bytes, true, out);
        }
        self.wake(operation.waiters, true, out);
        self.unpin(self.layout.block_of(operation.unit), out);
        self.evict(out);
        self.pump(out);
    }

    pub(crate) fn map_lookup_done(&mut self, id: OpId, out: &mut Actions) {
        let operation = self.operations.end(id);
        self.wake(operation.waiters, true, out);
    }

    /// `bytes` of the map cross the link; nobody waits for it.
    fn move_map(&mut self, t: u32, bytes: u32, store: bool, out: &mut Actions) {
        let id = self.start_operation(Kind::MapLookup, t);
        out.actions.push(Action::MapFetch { id, bytes, store });
    }

    /// True if the translation unit `logical` is in RAM already, to be written: as it will be then.
    fn awaits_program(&self, logical: u32) -> bool {
        matches!(self.place(logical), Place::Buffer(slot) if self.slots[slot].holds == Holds::Dirty)
    }

    /// Makes the cache fit: what changed is written back. Where no slot is free for that, it stays a little longer.
    fn evict(&mut self, out: &mut Actions) {
        while let Some((_, frame)) = self.cache().surplus() {
            if frame.dirty {
                let logical = self.cache().first + frame.unit;
                if !self.awaits_program(logical) && self.system_slot(logical).is_none() {
                    return;
                }
                if self.cache().place == MapPlace::Host {
                    let bytes = 1 << self.unit_shift;
                    self.move_map(frame.unit, bytes, false, out);
                }
            }
            self.cache().drop_oldest();
        }
    }
}
