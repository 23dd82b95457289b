//! Serves faults: [`Pages`] and [`Ahead`] decide, the memory fetches and stores the data, and the [`Region`] calls the
//! kernel. Nothing here blocks, except for a read on behalf of the only active thread.

use std::collections::VecDeque;
use std::ops::Range;

use nvmm::{Answer, Permissions};

use super::ahead::{Ahead, Readahead};
use super::pages::{BackingCache, Key, Outcome, Pages, SegmentState};
use super::uffd::{Fault, Region};
use crate::cache::frames::{Frames, NONE};
use crate::cache::{BATCH, Pending};
use crate::device::Device;
use crate::engine::Places;
use crate::error::Error;
use crate::storage::Stop;
use crate::{MapStats, Memory};

/// Maximum number of segments evicted at once.
const EVICTED: u64 = 256;
/// Controller requests that read-ahead leaves free for faults, and that write-back leaves free for reads.
const RESERVED_FOR_FAULTS: usize = 8;
const RESERVED_FOR_READS: usize = 24;
/// Maximum number of queued read-ahead plans; a new one replaces the oldest.
const MAX_PLANS: usize = 64;

/// The memory's own DRAM cache, which holds segments that are not mapped.
pub(super) struct Cache<'a, D: Device>(pub &'a mut Memory<D>);

impl<D: Device> BackingCache for Cache<'_, D> {
    fn store(&mut self, key: Key, dirty: bool, fill: impl FnOnce(&mut [u8])) -> bool {
        let frames = &mut self.0.frames;
        let known = frames.find(key);
        if known.is_some() && !dirty {
            return true;
        }
        let is_more = dirty && frames.dirty_of(key).is_none();
        if is_more && self.0.unwritten() >= self.0.frames.count() as u64 - self.0.window() {
            return false;
        }
        let frames = &mut self.0.frames;
        let Some(frame) = known.or_else(|| frames.take(key)) else { return false };
        fill(frames.bytes_mut(frame));
        if known.is_none() {
            frames.set_busy(frame, false);
        }
        if dirty {
            frames.set_dirty(frame, true);
        }
        true
    }
}

/// The progress of a requested segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Placed,
    Submitted,
    Blocked,
}

/// A read-ahead plan, and how many of its segments have been processed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ActivePlan {
    pub plan: Readahead,
    pub handled: u32,
}

/// A memory and the address range that it is mapped to. The pager and the callers share it under a lock.
pub(crate) struct Mapping<D: Device> {
    /// `None` once closed.
    pub memory: Option<Memory<D>>,
    pub path: String,
    pub pages: Pages,
    pub region: Region,
    pub ahead: Ahead,
    pub plans: VecDeque<ActivePlan>,
    /// Segments that faulting threads wait for.
    waiting: Vec<Key>,
    faults: Vec<Fault>,
    /// The ID of the thread that faulted last.
    last: u32,
    pub stats: MapStats,
    warned: bool,
}

impl<D: Device> Mapping<D> {
    /// Reserves one eighth of the cache's frames for the memory's own cache, and the rest for mapped segments.
    pub fn new(mut memory: Memory<D>, region: Region) -> Result<Mapping<D>, Box<(Memory<D>, Error)>> {
        if let Err(error) = memory.finish().and_then(|()| memory.write_back_all()) {
            return Err(Box::new((memory, error)));
        }
        let (all, shape) = (memory.frames.count(), memory.shape());
        let below = (all / 8).max(64);
        memory.frames = Frames::new(below, shape.segment_bytes as usize);
        let count = u64::from(shape.pages) * u64::from(shape.segments);
        Ok(Mapping {
            pages: Pages::new(count, (all - below) as u64),
            path: memory.path.clone(),
            region,
            // Two windows can be in flight while half of the cache remains for other segments.
            ahead: Ahead::new((below as u32 / 4).min(256)),
            plans: VecDeque::new(),
            waiting: Vec::new(),
            faults: Vec::new(),
            last: 0,
            stats: MapStats::default(),
            warned: false,
            memory: Some(memory),
        })
    }

    fn segments(&self) -> u64 {
        self.memory.as_ref().map_or(16, |memory| u64::from(memory.shape().segments))
    }

    /// Aborts the process, because a load or store cannot return an error.
    fn abort(&self, why: &str) -> ! {
        eprintln!("nandram: {why}: cannot report this error to the faulting load or store; aborting");
        std::process::abort()
    }

    fn abort_with(&self, error: &Error) -> ! {
        let text = error.to_string();
        match text.starts_with(&self.path) {
            true => self.abort(&text),
            false => self.abort(&format!("{}: {text}", self.path)),
        }
    }

    fn address(&self, key: Key) -> u64 {
        self.memory.as_ref().map_or(0, |memory| key * u64::from(memory.shape().segment_bytes))
    }

    /// Does all work that is possible without waiting, and waits for a read of the only active thread. Returns whether
    /// other threads may soon have work for the pager.
    pub fn serve(&mut self) -> bool {
        self.faults.clear();
        let mut faults = std::mem::take(&mut self.faults);
        self.region.faults(&mut faults).expect("the descriptor is ours, and open");
        for fault in &faults {
            self.fault(*fault);
        }
        let alone = self.is_alone(&faults);
        let mut any = !faults.is_empty();
        self.faults = faults;
        loop {
            let filled = self.fill();
            self.read_ahead();
            let ended = self.collect(alone && !self.waiting.is_empty());
            if !filled && !ended {
                return any && !alone;
            }
            any = true;
        }
    }

    /// Returns whether a read for one thread is the only work. Such a read is executed synchronously, since sleeping in
    /// the read costs less than sleeping until the ring reports its completion. Threads that fault alternately do not
    /// qualify, even if no two of their faults are handled together: each would wait for the other's read first.
    fn is_alone(&mut self, faults: &[Fault]) -> bool {
        let Some(fault) = faults.last() else { return false };
        let again = std::mem::replace(&mut self.last, fault.thread) == fault.thread;
        let idle = self.memory.as_ref().is_some_and(|memory| !memory.engine.storage.device().is_busy());
        again && idle && faults.len() == 1 && self.waiting.len() <= 1 && self.plans.is_empty()
    }

    /// Returns whether faulting threads wait for something that no I/O in flight will provide: space on the disk or in
    /// the memory.
    pub fn is_stuck(&self) -> bool {
        let Some(memory) = &self.memory else { return false };
        !self.waiting.is_empty() && !memory.engine.storage.device().is_busy()
    }

    /// Retries the requests that found no space.
    pub fn retry(&mut self) {
        if !std::mem::replace(&mut self.warned, true) {
            eprintln!(
                "nandram: {}: no space to write evicted pages back; faulting threads wait until there is",
                self.path
            );
        }
        if let Some(memory) = &mut self.memory {
            memory.retry_deferred();
        }
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        let Fault { key, write, protected, thread } = fault;
        if self.memory.is_none() {
            self.abort(&format!("{}: the memory is closed", self.path));
        }
        if write && self.pages.is_mapped(key) {
            self.stats.store_faults += u64::from(protected);
            self.check_permission(key, true);
        }
        let absent = !self.pages.is_mapped(key);
        let around = if protected { self.writable_around(key) } else { key..key + 1 };
        if self.pages.fault(key, write, around, &mut self.region) == Outcome::Fetch {
            self.waiting.push(key);
        }
        if absent {
            self.stats.faults += 1;
            if let Some(plan) = self.ahead.fault(thread, key) {
                self.plan(plan);
            }
        }
    }

    pub fn plan(&mut self, plan: Readahead) {
        if self.plans.len() == MAX_PLANS {
            self.plans.pop_front();
        }
        self.plans.push_back(ActivePlan { plan, handled: 0 });
    }

    /// Returns the permissions of the segment's page (`Some(None)` if it is not allocated), or `None` if its table
    /// entry is not in DRAM yet.
    fn cached_permissions(&mut self, key: Key) -> Option<Option<Permissions>> {
        let page = (key / self.segments()) as u32;
        let memory = self.memory.as_mut()?;
        if memory.last_page.is_none_or(|(last, _)| last != page)
            && !memory.engine.try_load_entry(page, &mut memory.frames)
        {
            return None;
        }
        match memory.ownership(page) {
            Ok(ownership) => Some(ownership),
            Err(error) => self.abort_with(&error),
        }
    }

    fn check_permission(&mut self, key: Key, write: bool) -> bool {
        let address = self.address(key);
        match self.cached_permissions(key) {
            None => return false,
            Some(None) => self.abort_with(&Error::NotAllocated { address }),
            Some(Some(may)) if !may.read => self.abort_with(&Error::NotPermitted { address, what: "read" }),
            Some(Some(may)) if write && !may.write => {
                self.abort_with(&Error::NotPermitted { address, what: "written" })
            }
            Some(Some(_)) => {}
        }
        true
    }

    /// Returns the segments that a store fault makes writable: those around `key` whose pages may be written, as that of
    /// `key` may.
    fn writable_around(&mut self, key: Key) -> Range<Key> {
        let (segments, around) = (self.segments(), self.pages.around(key));
        let (mut first, mut end) = (key / segments, key / segments + 1);
        while around.start < first * segments && self.may_write(first - 1) {
            first -= 1;
        }
        while end * segments < around.end && self.may_write(end) {
            end += 1;
        }
        around.start.max(first * segments)..around.end.min(end * segments)
    }

    /// Returns whether a page is known to be writable.
    fn may_write(&mut self, page: u64) -> bool {
        let Some(memory) = &mut self.memory else { return false };
        memory.engine.try_load_entry(page as u32, &mut memory.frames)
            && matches!(memory.ownership(page as u32), Ok(Some(permissions)) if permissions.write)
    }

    /// Maps or requests the segments that threads wait for. Returns whether any was mapped.
    fn fill(&mut self) -> bool {
        let mut any = false;
        let mut at = 0;
        while at < self.waiting.len() {
            match self.fill_one(self.waiting[at]) {
                Fill::Placed => {
                    self.waiting.swap_remove(at);
                    any = true;
                }
                Fill::Submitted | Fill::Blocked => at += 1,
            }
        }
        if any {
            self.warned = false;
        }
        any
    }

    fn fill_one(&mut self, key: Key) -> Fill {
        let SegmentState::Requested { write } = self.pages.state(key) else { panic!("segment {key} is waited for") };
        let memory = self.memory.as_mut().expect("it is open");
        let found = memory.frames.find(key);
        if found.is_some_and(|frame| memory.frames.is_busy(frame)) {
            return Fill::Blocked;
        }
        // If the table entry is not in DRAM yet, its arrival triggers another attempt.
        if !self.check_permission(key, write) {
            return Fill::Blocked;
        }
        let memory = self.memory.as_mut().expect("it is open");
        if let Some(frame) = found {
            // Pin the frame: making room moves evicted segments into the cache and could reuse it.
            memory.frames.set_busy(frame, true);
            let room = self.make_room(1);
            let memory = self.memory.as_mut().expect("it is open");
            memory.frames.set_busy(frame, false);
            if !room {
                return Fill::Blocked;
            }
            self.pages.place(key, memory.frames.bytes(frame), &mut self.region);
            memory.frames.drop_clean(frame);
            memory.hits += 1;
            return Fill::Placed;
        }
        if memory.engine.room() == 0 {
            return Fill::Blocked;
        }
        let Some(frame) = memory.frames.take(key) else {
            self.write_back(true);
            return Fill::Blocked;
        };
        memory.misses += 1;
        self.submit_read(key, &[(key, frame)]);
        Fill::Submitted
    }

    /// Submits a read of segments of one page.
    fn submit_read(&mut self, key: Key, keys: &[(Key, u32)]) {
        let segments = self.segments();
        let (mut mask, mut places): (u32, Places) = (0, [NONE; 16]);
        for (key, frame) in keys {
            mask |= 1 << (key % segments);
            places[(key % segments) as usize] = *frame;
        }
        let memory = self.memory.as_mut().expect("it is open");
        memory.submit_read((key / segments) as u32, mask, places);
    }

    /// Makes room for `wanted` more mapped segments by evicting the oldest. Returns whether there is room now.
    fn make_room(&mut self, wanted: u64) -> bool {
        if self.pages.room() < wanted {
            let count = EVICTED.min(self.pages.limit() / 8).max(wanted) as usize;
            let memory = self.memory.as_mut().expect("it is open");
            self.stats.evicted += self.pages.evict(count, &mut self.region, &mut Cache(memory)) as u64;
            self.write_back(self.pages.room() < wanted);
        }
        self.pages.room() >= wanted
    }

    /// Starts writing back dirty cached segments if there are many, or if `now` is set, without waiting.
    fn write_back(&mut self, now: bool) {
        let memory = self.memory.as_mut().expect("it is open");
        if !now && memory.frames.dirty_count() <= memory.frames.count() / 2
            || memory.engine.room() <= RESERVED_FOR_READS
        {
            return;
        }
        let segments = u64::from(memory.shape().segments);
        let mut keys = std::mem::take(&mut memory.keys);
        memory.frames.dirty_keys(BATCH.min(memory.frames.count() / 4), &mut keys);
        keys.sort_unstable();
        for key in &keys {
            if memory.engine.room() <= RESERVED_FOR_READS {
                break;
            }
            if memory.frames.dirty_of(*key).is_some() {
                memory.submit_write((key / segments) as u32);
            }
        }
        memory.keys = keys;
    }

    /// Submits planned read-ahead, as far as there is room.
    fn read_ahead(&mut self) {
        while let Some(ActivePlan { plan, handled }) = self.plans.front().copied() {
            let end = self.pages.count();
            let rest = Readahead { first: plan.first, ..plan };
            let mut keys = rest.keys(end).skip(handled as usize).peekable();
            let Some(first) = keys.peek().copied() else {
                self.plans.pop_front();
                continue;
            };
            if self.memory.as_ref().is_none_or(|memory| memory.engine.room() <= RESERVED_FOR_FAULTS) {
                return;
            }
            let segments = self.segments();
            match self.cached_permissions(first) {
                None => return,
                Some(Some(permissions)) if permissions.read => {}
                Some(_) => {
                    self.plans.pop_front();
                    continue;
                }
            }
            let (mut taken, mut count) = ([(0, NONE); 16], 0);
            let mut handled = handled;
            let mut full = false;
            while let Some(key) = keys.next_if(|key| key / segments == first / segments) {
                handled += 1;
                if self.pages.state(key) != SegmentState::Absent {
                    continue;
                }
                let memory = self.memory.as_mut().expect("it is open");
                if memory.frames.find(key).is_some() {
                    self.place_ahead(key);
                    continue;
                }
                let Some(frame) = memory.frames.take(key) else {
                    full = true;
                    break;
                };
                (taken[count], count) = ((key, frame), count + 1);
            }
            if count > 0 {
                self.submit_read(first, &taken[..count]);
            }
            match full {
                true => drop(self.plans.pop_front()),
                false => self.plans.front_mut().expect("it is there").handled = handled,
            }
        }
    }

    /// Maps a cached segment if there is room, unless a fault there must be observed.
    fn place_ahead(&mut self, key: Key) {
        let memory = self.memory.as_mut().expect("it is open");
        if let Some(frame) = memory.frames.find(key).filter(|frame| !memory.frames.is_busy(*frame)) {
            memory.frames.set_busy(frame, true);
            self.place_run(key, frame, 1);
        }
    }

    /// Maps `count` consecutive segments from consecutive frames. The frames are busy, so that making room does not
    /// reuse them.
    fn place_run(&mut self, first: Key, frame: u32, count: u64) {
        let frames = frame..frame + count as u32;
        let keys = first..first + count;
        let must_fault = |key: Key| self.pages.state(key) != SegmentState::Absent || self.ahead.is_marker(key);
        let any = keys.clone().any(must_fault);
        if any && count > 1 {
            return keys.zip(frames).for_each(|(key, frame)| self.place_run(key, frame, 1));
        }
        let placed = !any && self.make_room(count);
        let memory = self.memory.as_mut().expect("it is open");
        if placed {
            let bytes = memory.frames.bytes_of(frame, count as usize);
            self.pages.place_ahead(first, count, bytes, &mut self.region);
            self.stats.read_ahead += count;
        }
        // Free them in reverse, so that they are taken in ascending order again.
        for frame in frames.rev() {
            memory.frames.set_busy(frame, false);
            if placed {
                memory.frames.drop_clean(frame);
            }
        }
    }

    /// Processes completed operations, waiting for the first if `waits` is set and any is in flight. Returns whether
    /// there were any.
    fn collect(&mut self, waits: bool) -> bool {
        let Some(memory) = &mut self.memory else { return false };
        let mut stepped = false;
        loop {
            let waits = waits && !stepped && memory.engine.storage.device().is_busy();
            let step = match waits {
                true => memory.engine.step(&mut memory.frames).map(|()| true),
                false => memory.engine.try_step(&mut memory.frames),
            };
            match step {
                Ok(true) => stepped = true,
                // Requests in flight are deferred for lack of space.
                Ok(false) | Err(Stop::Full(_)) => break,
                Err(stop) => {
                    let error = memory.stopped(stop);
                    if !self.waiting.is_empty() {
                        self.abort_with(&error);
                    }
                    return false;
                }
            }
        }
        let mut at = 0;
        while let Some(memory) = &mut self.memory
            && at < memory.pending.len()
        {
            match memory.engine.take_answer(memory.pending[at].tag) {
                Some(answer) => {
                    let pending = memory.pending.swap_remove(at);
                    self.request_ended(&pending, &answer);
                    stepped = true;
                }
                None => at += 1,
            }
        }
        stepped
    }

    fn request_ended(&mut self, pending: &Pending, answer: &Answer) {
        let memory = self.memory.as_mut().expect("it is open");
        memory.settle(answer, pending.writes, &pending.places);
        if pending.writes {
            // A refused write leaves its segments dirty; the next sync reports the error.
            return;
        }
        let first = u64::from(pending.page) * self.segments();
        match answer {
            Answer::Refused(error) => {
                let alone = pending.places.iter().filter(|frame| **frame != NONE).count() == 1;
                let wanted = |key: Key| matches!(self.pages.state(key), SegmentState::Requested { .. });
                // Errors of read-ahead are ignored: an access to such a segment will read it alone and meet the error.
                let mut keys = (first..).zip(pending.places).filter(|(_, frame)| *frame != NONE).map(|(key, _)| key);
                if alone && keys.any(wanted) {
                    let error = self.memory.as_ref().expect("it is open").convert_error(error.clone(), pending.page);
                    self.abort_with(&error);
                }
            }
            _ => {
                let frames = pending.places.iter().filter(|frame| **frame != NONE);
                let memory = self.memory.as_mut().expect("it is open");
                frames.for_each(|frame| memory.frames.set_busy(*frame, true));
                let mut run: Option<(Key, u32, u64)> = None;
                for (key, frame) in (first..).zip(pending.places).filter(|(_, frame)| *frame != NONE) {
                    match &mut run {
                        Some((first, start, count)) if *first + *count == key && *start + *count as u32 == frame => {
                            *count += 1;
                        }
                        _ => {
                            if let Some((first, start, count)) = run.replace((key, frame, 1)) {
                                self.place_run(first, start, count);
                            }
                        }
                    }
                }
                if let Some((first, start, count)) = run {
                    self.place_run(first, start, count);
                }
            }
        }
    }

    /// Waits for all reads in flight, so that the caller does not see errors of requests that are not its own.
    pub fn settle(&mut self) -> Result<(), Error> {
        loop {
            let Some(memory) = &mut self.memory else { return Ok(()) };
            let Some(at) = memory.pending.iter().position(|pending| !pending.writes) else { return Ok(()) };
            let tag = memory.pending[at].tag;
            match memory.engine.answer(tag, &mut memory.frames) {
                Ok(answer) => {
                    let pending = memory.pending.swap_remove(at);
                    self.request_ended(&pending, &answer);
                }
                Err(stop) => return Err(memory.stopped(stop)),
            }
        }
    }
}
