//! Frames of cached translation units: one per frame in the controller, several consecutive ones per frame in host
//! memory. Also tracks the changes that wait for a translation unit to be loaded.

use sim::{Rng, Streams};

use crate::buffer::slots::NIL;
use crate::config::{Config, Eviction};
use crate::map::entries::MapEntries;
use crate::map::miss_share::MissShare;
use crate::map::pending::Pending;
use crate::map::wanted::Wanted;
use crate::sizes;

pub(crate) const ABSENT: u32 = u32::MAX;
/// If this bit is set, the rest of a state is the number of the operation that fetches the unit.
pub(crate) const FETCHING: u32 = 1 << 31;

/// Maximum number of changed translation units or entries that wait for room in the cache while the host writes. Assumed:
/// as many as may wait to be programmed, so that loads, host programs and write-backs overlap.
const WAITING: u32 = sizes::SYSTEM_SLOTS;

#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// Its translation unit or, in host memory, its group of translation units.
    group: u32,
    /// In host memory.
    pub away: bool,
    /// Used since it was last passed over.
    used: bool,
    previous: u32,
    next: u32,
}

/// Cached translation units in frames, in order of eviction. A frame is in the controller or in host memory, and stays
/// there: its replacement reuses its memory. Host memory is large, and the directory of its contents must be small, so
/// a frame there may cover several consecutive units.
pub(crate) struct MapCache {
    pub(super) first: u32,
    shift: u32,
    user_units: u32,
    eviction: Eviction,
    /// log2 of the translation units per frame in host memory.
    group_shift: u32,
    /// Maximum and current number of frames, in the controller and in host memory.
    capacity: [u32; 2],
    used: [u32; 2],
    /// For each translation unit, its frame or the operation that fetches it.
    pub(super) state: Vec<u32>,
    /// For each translation unit, true if its copy in flash is outdated.
    pub(super) dirty: Vec<bool>,
    /// For each group of translation units, its frame in host memory.
    frame_of: Vec<u32>,
    pub(super) frames: Vec<Frame>,
    free: u32,
    newest: u32,
    oldest: u32,
    /// Translation units whose copy in flash is older than data found at a mount, or than a version lost with host
    /// memory.
    pub(super) stale: Vec<bool>,
    /// Changes to translation units that are not cached.
    pub(super) pending: Pending,
    /// The cached entries if single entries are cached instead of whole translation units; frames are then unused.
    pub(super) entries: Option<MapEntries>,
    /// Translation units that writes changed and that are to be fetched.
    pub(super) wanted: Wanted,
    pub(super) misses: MissShare,
    /// Random numbers for the initial content of a warm cache.
    pub(super) warm: Option<Rng>,
}

impl MapCache {
    pub fn new(config: &Config, streams: &Streams) -> Option<MapCache> {
        let cache = config.map_cache?;
        let count = sizes::map_units(config) as usize;
        Some(MapCache {
            first: config.user_units + sizes::journal_units(config),
            shift: sizes::map_entries(config).trailing_zeros(),
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
            pending: Pending::new(cache.updates, count),
            entries: cache.entries.map(|capacity| {
                MapEntries::new(capacity, cache.eviction, sizes::map_entries(config).trailing_zeros(), count)
            }),
            wanted: Wanted::new(count),
            misses: MissShare::default(),
            warm: cache.warm.then(|| streams.stream("ftl.map_cache")),
        })
    }

    /// Returns the translation unit of a user unit; `None` for a unit of the layer itself, whose locations are in the
    /// controller.
    #[inline]
    pub fn translation(&self, unit: u32) -> Option<u32> {
        (unit < self.user_units).then(|| unit >> self.shift)
    }

    /// Returns true if the controller has the entry of `unit`.
    pub fn is_at_hand(&self, unit: u32) -> bool {
        let Some(t) = self.translation(unit) else { return true };
        if let Some(entries) = &self.entries {
            return entries.contains(unit);
        }
        let state = self.state[t as usize];
        state != ABSENT && state & FETCHING == 0 && !self.frames[state as usize].away
    }

    /// Returns the number of translation units.
    pub fn count(&self) -> usize {
        self.state.len()
    }

    /// Returns the number of user units.
    pub fn user_units(&self) -> u32 {
        self.user_units
    }

    /// Returns the number of frames in the controller.
    pub fn own_frames(&self) -> u32 {
        self.capacity[0]
    }

    /// Returns the logical unit of translation unit `t`.
    pub fn logical_of(&self, t: u32) -> u32 {
        self.first + t
    }

    /// Returns the user units that translation unit `t` maps.
    pub fn mapped_by(&self, t: u32) -> std::ops::Range<u32> {
        let end = (u64::from(t) + 1) << self.shift;
        t << self.shift..end.min(u64::from(self.user_units)) as u32
    }

    /// Sets the number of frames allowed in host memory; existing ones stay.
    pub fn allow_away(&mut self, frames: u32) {
        self.capacity[1] = frames;
    }

    /// Returns the frames in host memory in order of eviction.
    pub fn away(&self) -> Vec<u32> {
        let some = |id: u32| (id != NIL).then_some(id);
        let list = std::iter::successors(some(self.oldest), |id| some(self.frames[*id as usize].next));
        list.filter(|id| self.frames[*id as usize].away).collect()
    }

    /// Takes `frame` out of the order of eviction and frees its number. Returns its last state.
    fn unlink(&mut self, frame: u32) -> Frame {
        let f = &mut self.frames[frame as usize];
        let was = *f;
        f.next = std::mem::replace(&mut self.free, frame);
        match was.previous {
            NIL => self.oldest = was.next,
            p => self.frames[p as usize].next = was.next,
        }
        match was.next {
            NIL => self.newest = was.previous,
            n => self.frames[n as usize].previous = was.previous,
        }
        was
    }

    /// Records a use of `frame`. Returns true if it is in host memory.
    #[inline]
    pub fn touch(&mut self, frame: u32) -> bool {
        match self.eviction {
            Eviction::Lru if self.newest != frame => return self.renew(frame),
            Eviction::Clock => self.frames[frame as usize].used = true,
            Eviction::Lru | Eviction::Fifo => {}
        }
        self.frames[frame as usize].away
    }

    /// Moves `frame`, which is not the newest, behind the newest. Returns true if it is in host memory.
    fn renew(&mut self, frame: u32) -> bool {
        let newest = std::mem::replace(&mut self.newest, frame);
        let frames = &mut *self.frames;
        let f = &mut frames[frame as usize];
        let Frame { previous, next, away, .. } = *f;
        (f.previous, f.next) = (newest, NIL);
        match previous {
            NIL => self.oldest = next,
            p => frames[p as usize].next = next,
        }
        // Only the newest frame has no next one.
        frames[next as usize].previous = previous;
        frames[newest as usize].next = frame;
        away
    }

    /// Inserts translation unit `t`, with the changes that waited for it. Returns true if it is in host memory.
    pub fn insert(&mut self, t: u32, dirty: bool) -> bool {
        let group = t >> self.group_shift;
        let (id, away) = match self.frame_of[group as usize] {
            NIL => self.add(t),
            id => (id, self.touch(id)),
        };
        let dirty = self.pending.take(t) || dirty;
        (self.state[t as usize], self.dirty[t as usize]) = (id, dirty);
        away
    }

    /// Adds a frame for translation unit `t`. Returns its number, and true if it is in host memory.
    fn add(&mut self, t: u32) -> (u32, bool) {
        let [near, _] = self.used;
        let away = match self.victim() {
            _ if near < self.capacity[0] => false,
            // The list is empty, so the new frame is evicted next.
            NIL => false,
            id if self.used[0] + self.used[1] >= self.capacity[0] + self.capacity[1] => {
                self.frames[id as usize].away || (near > self.capacity[0] && self.capacity[1] > 0)
            }
            _ => true,
        };
        let group = if away { t >> self.group_shift } else { t };
        let newest = self.newest;
        let frame = Frame { group, away, used: false, previous: newest, next: NIL };
        let id = if self.free == NIL {
            self.frames.push(frame);
            self.frames.len() as u32 - 1
        } else {
            let id = self.free;
            let place = &mut self.frames[id as usize];
            self.free = place.next;
            *place = frame;
            id
        };
        match newest {
            NIL => self.oldest = id,
            n => self.frames[n as usize].next = id,
        }
        self.newest = id;
        if away {
            self.frame_of[group as usize] = id;
        }
        self.used[usize::from(away)] += 1;
        (id, away)
    }

    /// Returns the frame to evict next.
    fn victim(&mut self) -> u32 {
        // Only the clock sets the mark.
        if self.eviction == Eviction::Clock {
            self.pass_used();
        }
        self.oldest
    }

    /// Moves used frames behind the newest, until the oldest is not used.
    fn pass_used(&mut self) {
        while let Some(passed) = self.frames.get_mut(self.oldest as usize)
            && passed.used
        {
            passed.used = false;
            if self.oldest != self.newest {
                self.renew(self.oldest);
            }
        }
    }

    /// Returns true if changes wait for room in the cache.
    pub fn lacks_room(&self) -> bool {
        let surplus = self.entries.as_ref().is_some_and(|entries| entries.len() > entries.capacity());
        surplus || !self.wanted.is_empty()
    }

    /// Returns true if so many changes wait for room that the host must not cause more.
    pub fn holds_writes(&self) -> bool {
        match &self.entries {
            Some(entries) => entries.len() > entries.capacity() + WAITING,
            None => self.wanted.len() > WAITING,
        }
    }

    /// Returns true if translation units are being read that will be written back, or replace others that will.
    pub fn is_loading(&self) -> bool {
        match &self.entries {
            Some(entries) => entries.merging as usize > entries.write_backs.len(),
            None => self.wanted.loads > 0,
        }
    }

    /// Returns the number of frames that are free.
    pub fn free_frames(&self) -> u32 {
        (self.capacity[0] + self.capacity[1]).saturating_sub(self.used[0] + self.used[1])
    }

    /// Returns the frame that translation unit `t` would take the place of; `None` if it has room.
    pub fn replaced_by(&mut self, t: u32) -> Option<u32> {
        let has_room = self.frame_of[(t >> self.group_shift) as usize] != NIL || self.free_frames() > 0;
        (!has_room).then(|| self.victim())
    }

    /// Returns the number of cached translation units, or entries, and how many fit.
    pub fn filled(&self) -> (u32, u32) {
        match &self.entries {
            Some(entries) => (entries.len(), entries.capacity()),
            None => (self.used[0] + self.used[1], self.capacity[0] + self.capacity[1]),
        }
    }

    /// Returns the number of translation units that fit, in the controller and in host memory.
    pub fn fit(&self) -> u64 {
        let [own, away] = self.capacity.map(u64::from);
        own + (away << self.group_shift)
    }

    /// Returns the frame to evict next, if there are more than fit.
    pub fn surplus(&mut self) -> Option<u32> {
        (self.used[0] + self.used[1] > self.capacity[0] + self.capacity[1]).then(|| self.victim())
    }

    /// Returns the range of translation units that `frame` covers.
    pub fn span(&self, frame: u32) -> std::ops::Range<u32> {
        let Frame { group, away, .. } = self.frames[frame as usize];
        self.span_of(group, away)
    }

    fn span_of(&self, group: u32, away: bool) -> std::ops::Range<u32> {
        let shift = if away { self.group_shift } else { 0 };
        let from = group << shift;
        from..(from + (1 << shift)).min(self.state.len() as u32)
    }

    /// Returns the number of the frame in host memory that holds or would hold translation unit `t`, and its position in
    /// the frame.
    pub fn place_away(&self, t: u32) -> (u32, u32) {
        let group = t >> self.group_shift;
        (group, t - (group << self.group_shift))
    }

    /// Returns true if translation unit `t` is in `frame`, and newer there than in flash.
    pub fn changed(&self, t: u32, frame: u32) -> bool {
        self.state[t as usize] == frame && self.dirty[t as usize]
    }

    /// Removes translation units from the start of `span`, a part of the range that `frame` covers, up to the first that is
    /// newer in the frame than in flash. Returns that one.
    pub fn next_changed(&self, frame: u32, span: &mut std::ops::Range<u32>) -> Option<u32> {
        span.find(|t| self.changed(*t, frame))
    }

    /// Drops `frame`. Returns the number by which a performer knows it, if it is in host memory.
    pub fn drop_frame(&mut self, frame: u32) -> Option<u32> {
        let Frame { group, away, .. } = self.unlink(frame);
        self.used[usize::from(away)] -= 1;
        let span = self.span_of(group, away);
        for state in &mut self.state[span.start as usize..span.end as usize] {
            if *state == frame {
                *state = ABSENT;
            }
        }
        if !away {
            return None;
        }
        self.frame_of[group as usize] = NIL;
        Some(group)
    }

    /// Drops all frames in host memory; returns the translation units whose newest version was only there.
    pub fn lose_away(&mut self) -> Vec<u32> {
        let mut lost = Vec::new();
        for frame in self.away() {
            lost.extend(self.span(frame).filter(|t| self.changed(*t, frame)));
            self.drop_frame(frame);
        }
        lost
    }
}
