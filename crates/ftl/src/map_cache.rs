//! The map in flash, and the cache of it where the controller cannot hold it all.
//!
//! The map is cut into *translation units*, each the entries of as many logical units as fit in one mapping unit, and
//! kept in logical units of the layer's own (Gupta et al., DFTL, 2009). What is charged here is their traffic: reads of
//! those that are not at hand, writes of those that changed. Look-ups themselves go to the whole table, which is what
//! flash and cache hold together.

use media::{Action, Class, OpId, ReadOp, Status};

use crate::buffer::{Holds, NIL};
use crate::command::Kind;
use crate::config::{Config, Eviction, HostMemory};
use crate::journal;
use crate::location::Place;
use crate::{Actions, Ftl};

/// Bytes of a map entry.
const ENTRY: u32 = 4;

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
    group: u32,
    /// In the host's memory.
    away: bool,
    /// Used since it was last passed over.
    used: bool,
    previous: u32,
    next: u32,
}

/// Translation units at hand, in frames of some consecutive ones, in the order in which they make way. A frame is in the
/// controller or in the host's memory, and stays there: what takes the place of a frame takes its memory.
pub(crate) struct MapCache {
    first: u32,
    shift: u32,
    user_units: u32,
    eviction: Eviction,
    /// log2 of the translation units of a frame.
    group_shift: u32,
    /// Frames there may be and are, in the controller and in the host's memory.
    capacity: [u32; 2],
    used: [u32; 2],
    /// Of each translation unit: its frame, or the operation that fetches it.
    state: Vec<u32>,
    /// Its copy in flash is older.
    dirty: Vec<bool>,
    frame_of: Vec<u32>,
    frames: Vec<Frame>,
    free: u32,
    newest: u32,
    oldest: u32,
    /// Translation units whose copy in flash is older than data found at a mount, or than what the host's memory had.
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
            eviction: cache.eviction,
            group_shift: cache.frame_units.trailing_zeros(),
            capacity: [cache.frames.max(1), 0],
            used: [0, 0],
            state: vec![ABSENT; count],
            dirty: vec![false; count],
            frame_of: vec![NIL; count.div_ceil(cache.frame_units as usize)],
            frames: Vec::new(),
            free: NIL,
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

    /// Logical unit of translation unit `t`.
    pub(crate) fn logical_of(&self, t: u32) -> u32 {
        self.first + t
    }

    /// The user's units that translation unit `t` maps.
    pub(crate) fn mapped_by(&self, t: u32) -> std::ops::Range<u32> {
        let end = (u64::from(t) + 1) << self.shift;
        t << self.shift..end.min(u64::from(self.user_units)) as u32
    }

    /// From now on so many frames may be in the host's memory; those that are there stay.
    pub(crate) fn allow_away(&mut self, frames: u32) {
        self.capacity[1] = frames;
    }

    /// Frames in the host's memory, those that make way first before the others.
    pub(crate) fn away(&self) -> Vec<u32> {
        let some = |id: u32| (id != NIL).then_some(id);
        let list = std::iter::successors(some(self.oldest), |id| some(self.frames[*id as usize].next));
        list.filter(|id| self.frames[*id as usize].away).collect()
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
        match self.eviction {
            Eviction::Lru if self.newest != frame => {
                self.unlink(frame);
                self.link_newest(frame);
            }
            Eviction::Clock => self.frames[frame as usize].used = true,
            Eviction::Lru | Eviction::Fifo => {}
        }
    }

    /// Translation unit `t` is at hand. Returns whether it is in the host's memory.
    fn insert(&mut self, t: u32, dirty: bool) -> bool {
        let group = t >> self.group_shift;
        let id = match self.frame_of[group as usize] {
            NIL => self.add(group),
            id => {
                self.touch(id);
                id
            }
        };
        (self.state[t as usize], self.dirty[t as usize]) = (id, dirty);
        self.frames[id as usize].away
    }

    /// A frame for `group`.
    fn add(&mut self, group: u32) -> u32 {
        let [near, _] = self.used;
        let away = match self.victim() {
            _ if near < self.capacity[0] => false,
            // It is the next to make way.
            NIL => false,
            id if self.used[0] + self.used[1] >= self.capacity[0] + self.capacity[1] => {
                self.frames[id as usize].away || (near > self.capacity[0] && self.capacity[1] > 0)
            }
            _ => true,
        };
        let frame = Frame { group, away, used: false, previous: NIL, next: NIL };
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
        self.frame_of[group as usize] = id;
        self.used[usize::from(away)] += 1;
        id
    }

    /// The frame that is the next to make way.
    fn victim(&mut self) -> u32 {
        while self.oldest != NIL && self.frames[self.oldest as usize].used {
            let passed = self.oldest;
            self.frames[passed as usize].used = false;
            self.unlink(passed);
            self.link_newest(passed);
        }
        self.oldest
    }

    /// It, if there are more than fit.
    fn surplus(&mut self) -> Option<u32> {
        (self.used[0] + self.used[1] > self.capacity[0] + self.capacity[1]).then(|| self.victim())
    }

    /// The translation units that `frame` has room for.
    fn span(&self, frame: u32) -> std::ops::Range<u32> {
        let from = self.frames[frame as usize].group << self.group_shift;
        from..(from + (1 << self.group_shift)).min(self.state.len() as u32)
    }

    /// Translation unit `t` is in `frame`, and newer there than in flash.
    fn changed(&self, t: u32, frame: u32) -> bool {
        self.state[t as usize] == frame && self.dirty[t as usize]
    }

    fn drop_frame(&mut self, frame: u32) {
        let Frame { group, away, .. } = self.frames[frame as usize];
        self.unlink(frame);
        self.used[usize::from(away)] -= 1;
        for t in self.span(frame) {
            if self.state[t as usize] == frame {
                self.state[t as usize] = ABSENT;
            }
        }
        self.frame_of[group as usize] = NIL;
        self.frames[frame as usize].next = self.free;
        self.free = frame;
    }

    /// The host's memory is gone: the translation units that it alone had the newest of.
    pub(crate) fn lose_away(&mut self) -> Vec<u32> {
        let mut lost = Vec::new();
        for frame in self.away() {
            lost.extend(self.span(frame).filter(|t| self.changed(*t, frame)));
            self.drop_frame(frame);
        }
        lost
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
            let changed = cache.stale[t as usize] || (at_hand && cache.dirty[t as usize]);
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
                cache.dirty[t as usize] = false;
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

    /// `unit` has a new place in flash: its translation unit changes, and is brought in if it is not at hand. The
    /// write does not wait for it.
    pub(crate) fn map_written(&mut self, unit: u32, out: &mut Actions) {
        let cache = self.cache();
        let Some(t) = cache.translation(unit) else { return };
        let state = cache.state[t as usize];
        if state == ABSENT {
            self.map_wanted.push(t);
            self.stirred = true;
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
        self.pump(out);
    }

    pub(crate) fn map_lookup_done(&mut self, id: OpId, out: &mut Actions) {
        let operation = self.operations.end(id);
        self.wake(operation.waiters, true, out);
        self.host_access_done(out);
    }

    /// True if the translation unit `logical` is in RAM already, to be written: as it will be then.
    fn awaits_program(&self, logical: u32) -> bool {
        matches!(self.place(logical), Place::Buffer(slot) if self.slots[slot].holds == Holds::Dirty)
    }

    /// Makes the cache fit: what changed is written back. Where no slot is free for that, it stays a little longer.
    pub(crate) fn evict(&mut self, out: &mut Actions) {
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
