//! Faults served: [`Pages`] and [`Ahead`] decide, the memory fetches and keeps, the [`Region`] is the kernel. Nothing here waits,
//! but for what a thread that is alone waits for.

use std::collections::VecDeque;

use nvmm::{Answer, Permissions};

use super::ahead::{Ahead, Plan};
use super::pages::{Below, Key, Outcome, Pages, State};
use super::uffd::{Fault, Region};
use crate::cache::{BATCH, Pending};
use crate::device::Device;
use crate::engine::Places;
use crate::error::Error;
use crate::frames::{Frames, NONE};
use crate::storage::Stop;
use crate::{MapStats, Memory};

/// Most segments that leave at once.
const LEAVING: u64 = 256;
/// Requests of the controller that reading ahead leaves to faults, and those that writing back leaves to reading.
const FOR_FAULTS: usize = 8;
const FOR_READS: usize = 24;
/// Plans that wait to be read; the oldest is given up for a newer.
const PLANS: usize = 64;

/// Segments in DRAM that are not mapped: the memory's own cache.
pub(super) struct Cache<'a, D: Device>(pub &'a mut Memory<D>);

impl<D: Device> Below for Cache<'_, D> {
    fn keep(&mut self, key: Key, dirty: bool, fill: impl FnOnce(&mut [u8])) -> bool {
        let frames = &mut self.0.frames;
        let known = frames.find(key);
        if known.is_some() && !dirty {
            return true;
        }
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

/// What a segment that is wanted waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Placed,
    Asked,
    Waits,
}

/// A plan, and how many of its segments were seen to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub plan: Plan,
    pub seen: u32,
}

/// The memory and what is mapped of it.
pub(crate) struct Core<D: Device> {
    /// None: it was closed.
    pub memory: Option<Memory<D>>,
    pub path: String,
    pub pages: Pages,
    pub region: Region,
    pub ahead: Ahead,
    pub plans: VecDeque<Reading>,
    /// Segments that threads stand at.
    waiting: Vec<Key>,
    faults: Vec<Fault>,
    /// The thread that faulted last.
    last: u32,
    pub stats: MapStats,
    told: bool,
}

impl<D: Device> Core<D> {
    /// Of `memory`'s cache one part in eight stays below the mapping.
    pub fn new(mut memory: Memory<D>, region: Region) -> Result<Core<D>, Box<(Memory<D>, Error)>> {
        if let Err(error) = memory.finish().and_then(|()| memory.write_back_all()) {
            return Err(Box::new((memory, error)));
        }
        let (all, shape) = (memory.frames.count(), memory.shape());
        let below = (all / 8).max(64);
        memory.frames = Frames::new(below, shape.segment_bytes as usize);
        let count = u64::from(shape.pages) * u64::from(shape.segments);
        Ok(Core {
            pages: Pages::new(count, (all - below) as u64),
            path: memory.path.clone(),
            region,
            // Two windows are under way, and as much stays for others.
            ahead: Ahead::new((below as u32 / 4).min(256)),
            plans: VecDeque::new(),
            waiting: Vec::new(),
            faults: Vec::new(),
            last: 0,
            stats: MapStats::default(),
            told: false,
            memory: Some(memory),
        })
    }

    fn segments(&self) -> u64 {
        self.memory.as_ref().map_or(16, |memory| u64::from(memory.shape().segments))
    }

    /// A load or store cannot go on: nobody can be told but by the process' end.
    fn end(&self, why: &str) -> ! {
        eprintln!("nandram: {why}: a load or store there cannot be told, and ends the process");
        std::process::abort()
    }

    fn end_by(&self, error: &Error) -> ! {
        let text = error.to_string();
        match text.starts_with(&self.path) {
            true => self.end(&text),
            false => self.end(&format!("{}: {text}", self.path)),
        }
    }

    fn address(&self, key: Key) -> u64 {
        self.memory.as_ref().map_or(0, |memory| key * u64::from(memory.shape().segment_bytes))
    }

    /// Does all that can be done without waiting, and for a thread that is alone the waiting too. Whether there was anything
    /// for others.
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

    /// Whether reads for one thread are all there is to do: then they are waited for where they are made, since to sleep in a read
    /// costs less than to sleep until a queue says that it has ended. Threads that fault by turns are not alone, though no two of their
    /// faults be found together: each would wait for the other's read before its own.
    fn is_alone(&mut self, faults: &[Fault]) -> bool {
        let Some(fault) = faults.last() else { return false };
        let again = std::mem::replace(&mut self.last, fault.thread) == fault.thread;
        let idle = self.memory.as_ref().is_some_and(|memory| !memory.engine.storage.device().is_busy());
        again && idle && faults.len() == 1 && self.waiting.len() <= 1 && self.plans.is_empty()
    }

    /// Whether threads wait for what only time, or another's call, can bring: room on the disk, or in the memory.
    pub fn is_stuck(&self) -> bool {
        let Some(memory) = &self.memory else { return false };
        !self.waiting.is_empty() && !memory.engine.storage.device().is_busy()
    }

    /// Tries again what there was no room for.
    pub fn try_again(&mut self) {
        if !std::mem::replace(&mut self.told, true) {
            eprintln!("nandram: {}: no room to write what has to leave DRAM: threads wait until there is", self.path);
        }
        if let Some(memory) = &mut self.memory {
            memory.resume();
        }
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        let Fault { key, write, protected, thread } = fault;
        if self.memory.is_none() {
            self.end(&format!("{}: the memory is closed", self.path));
        }
        if write && self.pages.is_mapped(key) {
            self.stats.store_faults += u64::from(protected);
            self.check_permission(key, true);
        }
        let absent = !self.pages.is_mapped(key);
        if self.pages.fault(key, write, &mut self.region) == Outcome::Fetch {
            self.waiting.push(key);
        }
        if absent {
            self.stats.faults += 1;
            if let Some(plan) = self.ahead.fault(thread, key) {
                self.plan(plan);
            }
        }
    }

    pub fn plan(&mut self, plan: Plan) {
        if self.plans.len() == PLANS {
            self.plans.pop_front();
        }
        self.plans.push_back(Reading { plan, seen: 0 });
    }

    /// Permissions of a segment's page, as far as what the controller knows is in DRAM; within, none if it is not there.
    fn known(&mut self, key: Key) -> Option<Option<Permissions>> {
        let page = (key / self.segments()) as u32;
        let memory = self.memory.as_mut()?;
        if memory.last_page.is_none_or(|(last, _)| last != page) && !memory.engine.try_bring(page, &mut memory.frames) {
            return None;
        }
        match memory.ownership(page) {
            Ok(ownership) => Some(ownership),
            Err(error) => self.end_by(&error),
        }
    }

    fn check_permission(&mut self, key: Key, write: bool) -> bool {
        let address = self.address(key);
        match self.known(key) {
            None => return false,
            Some(None) => self.end_by(&Error::NotAllocated { address }),
            Some(Some(may)) if !may.read => self.end_by(&Error::NotPermitted { address, what: "read" }),
            Some(Some(may)) if write && !may.write => self.end_by(&Error::NotPermitted { address, what: "written" }),
            Some(Some(_)) => {}
        }
        true
    }

    /// What is wanted is placed or asked for. Whether anything was placed.
    fn fill(&mut self) -> bool {
        let mut any = false;
        let mut at = 0;
        while at < self.waiting.len() {
            match self.fill_one(self.waiting[at]) {
                Fill::Placed => {
                    self.waiting.swap_remove(at);
                    any = true;
                }
                Fill::Asked | Fill::Waits => at += 1,
            }
        }
        if any {
            self.told = false;
        }
        any
    }

    fn fill_one(&mut self, key: Key) -> Fill {
        let State::Wanted { write } = self.pages.state(key) else { panic!("segment {key} is waited for") };
        let memory = self.memory.as_mut().expect("it is open");
        let found = memory.frames.find(key);
        if found.is_some_and(|frame| memory.frames.is_busy(frame)) {
            return Fill::Waits;
        }
        // Of what is not known now the end will tell.
        if !self.check_permission(key, write) {
            return Fill::Waits;
        }
        let memory = self.memory.as_mut().expect("it is open");
        if let Some(frame) = found {
            // What leaves to make room takes the place of another.
            memory.frames.set_busy(frame, true);
            let room = self.make_room(1);
            let memory = self.memory.as_mut().expect("it is open");
            memory.frames.set_busy(frame, false);
            if !room {
                return Fill::Waits;
            }
            self.pages.place(key, memory.frames.bytes(frame), &mut self.region);
            memory.frames.drop_clean(frame);
            memory.hits += 1;
            return Fill::Placed;
        }
        if memory.engine.room() == 0 {
            return Fill::Waits;
        }
        let Some(frame) = memory.frames.take(key) else {
            self.write_back(true);
            return Fill::Waits;
        };
        memory.misses += 1;
        self.ask(key, &[(key, frame)]);
        Fill::Asked
    }

    /// Asks for segments of one page.
    fn ask(&mut self, key: Key, keys: &[(Key, u32)]) {
        let segments = self.segments();
        let (mut mask, mut places): (u32, Places) = (0, [NONE; 16]);
        for (key, frame) in keys {
            mask |= 1 << (key % segments);
            places[(key % segments) as usize] = *frame;
        }
        let memory = self.memory.as_mut().expect("it is open");
        memory.ask_read((key / segments) as u32, mask, places);
    }

    /// That `wanted` more can be mapped: what came first leaves.
    fn make_room(&mut self, wanted: u64) -> bool {
        if self.pages.room() < wanted {
            let count = LEAVING.min(self.pages.limit() / 8).max(wanted) as usize;
            let memory = self.memory.as_mut().expect("it is open");
            self.stats.evicted += self.pages.evict(count, &mut self.region, &mut Cache(memory)) as u64;
            self.write_back(self.pages.room() < wanted);
        }
        self.pages.room() >= wanted
    }

    /// Has what is dirty below written, if it is much, or `now`; waits for none of it.
    fn write_back(&mut self, now: bool) {
        let memory = self.memory.as_mut().expect("it is open");
        if !now && memory.frames.dirty_count() <= memory.frames.count() / 2 || memory.engine.room() <= FOR_READS {
            return;
        }
        let segments = u64::from(memory.shape().segments);
        let mut keys = std::mem::take(&mut memory.keys);
        memory.frames.dirty_keys(BATCH.min(memory.frames.count() / 4), &mut keys);
        keys.sort_unstable();
        for key in &keys {
            if memory.engine.room() <= FOR_READS {
                break;
            }
            if memory.frames.dirty_of(*key).is_some() {
                memory.ask_write((key / segments) as u32);
            }
        }
        memory.keys = keys;
    }

    /// Asks for what was planned, as far as there is room for it.
    fn read_ahead(&mut self) {
        while let Some(Reading { plan, seen }) = self.plans.front().copied() {
            let end = self.pages.count();
            let rest = Plan { first: plan.first, ..plan };
            let mut keys = rest.keys(end).skip(seen as usize).peekable();
            let Some(first) = keys.peek().copied() else {
                self.plans.pop_front();
                continue;
            };
            if self.memory.as_ref().is_none_or(|memory| memory.engine.room() <= FOR_FAULTS) {
                return;
            }
            let segments = self.segments();
            match self.known(first) {
                None => return,
                Some(Some(permissions)) if permissions.read => {}
                Some(_) => {
                    self.plans.pop_front();
                    continue;
                }
            }
            let (mut taken, mut count) = ([(0, NONE); 16], 0);
            let mut seen = seen;
            let mut full = false;
            while let Some(key) = keys.next_if(|key| key / segments == first / segments) {
                seen += 1;
                if self.pages.state(key) != State::Absent {
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
                self.ask(first, &taken[..count]);
            }
            match full {
                true => drop(self.plans.pop_front()),
                false => self.plans.front_mut().expect("it is there").seen = seen,
            }
        }
    }

    /// A segment that is below is mapped, if there is room, and unless its fault is to be noticed.
    fn place_ahead(&mut self, key: Key) {
        let memory = self.memory.as_mut().expect("it is open");
        if let Some(frame) = memory.frames.find(key).filter(|frame| !memory.frames.is_busy(*frame)) {
            memory.frames.set_busy(frame, true);
            self.place_run(key, frame, 1);
        }
    }

    /// The same of neighbours in neighbouring frames, which are busy: nobody takes them for what leaves to make room.
    fn place_run(&mut self, first: Key, frame: u32, count: u64) {
        let frames = frame..frame + count as u32;
        let keys = first..first + count;
        let held_back = |key: Key| self.pages.state(key) != State::Absent || self.ahead.is_marker(key);
        let any = keys.clone().any(held_back);
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
        // The last first: so they are taken in order again.
        for frame in frames.rev() {
            memory.frames.set_busy(frame, false);
            if placed {
                memory.frames.drop_clean(frame);
            }
        }
    }

    /// Takes what has ended; `waits` for the first, if anything is under way. Whether anything had.
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
                // What was under way is held for want of room.
                Ok(false) | Err(Stop::Full(_)) => break,
                Err(stop) => {
                    let error = memory.stopped(stop);
                    if !self.waiting.is_empty() {
                        self.end_by(&error);
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
                    self.ended(&pending, &answer);
                    stepped = true;
                }
                None => at += 1,
            }
        }
        stepped
    }

    fn ended(&mut self, pending: &Pending, answer: &Answer) {
        let memory = self.memory.as_mut().expect("it is open");
        memory.settle(answer, pending.writes, &pending.places);
        if pending.writes {
            // What is refused is dirty as before: the next sync says why.
            return;
        }
        let first = u64::from(pending.page) * self.segments();
        match answer {
            Answer::Refused(error) => {
                let alone = pending.places.iter().filter(|frame| **frame != NONE).count() == 1;
                let wanted = |key: Key| matches!(self.pages.state(key), State::Wanted { .. });
                // What was read ahead was asked for by nobody; whoever asks will do so alone.
                let mut keys = (first..).zip(pending.places).filter(|(_, frame)| *frame != NONE).map(|(key, _)| key);
                if alone && keys.any(wanted) {
                    let error = self.memory.as_ref().expect("it is open").refused(error.clone(), pending.page);
                    self.end_by(&error);
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

    /// Waits for what is being read, so that whoever calls is told of nothing that it did not ask for.
    pub fn settle(&mut self) -> Result<(), Error> {
        loop {
            let Some(memory) = &mut self.memory else { return Ok(()) };
            let Some(at) = memory.pending.iter().position(|pending| !pending.writes) else { return Ok(()) };
            let tag = memory.pending[at].tag;
            match memory.engine.answer(tag, &mut memory.frames) {
                Ok(answer) => {
                    let pending = memory.pending.swap_remove(at);
                    self.ended(&pending, &answer);
                }
                Err(stop) => return Err(memory.stopped(stop)),
            }
        }
    }
}
