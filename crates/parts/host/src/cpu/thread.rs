//! A hardware thread: its window, store buffer, translations and private caches.

use std::collections::VecDeque;

use media::{Act, LINE, LineRequest, Step, Steps};
use sim::Time;

use super::cache::{Cache, Lookup};
use super::config::CpuConfig;
use super::units::{Fill, LlcResult, Shared};
use super::{Kernel, PAGE};

/// Maximum number of steps before other threads are scheduled.
const STEPS_PER_TURN: u32 = 4096;
/// Number of cached translations, indexed by the low bits of the page.
const TRANSLATIONS: usize = 64;
/// Stands for no fill: the time at which the line is available is already known.
const KNOWN: u16 = u16::MAX;

/// The statistics of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadStats {
    /// Number of instructions.
    pub instructions: u64,
    /// Number of loads among them.
    pub loads: u64,
    /// Number of stores among them.
    pub stores: u64,
    /// Accesses to lines that were in the first-level cache or in flight to it.
    pub l1_hits: u64,
    /// Accesses to lines that were in the second-level cache or in flight to it.
    pub l2_hits: u64,
    /// Number of faults and system calls.
    pub kernel_entries: u64,
    /// Time spent in them.
    pub kernel: Time,
    /// Time at which the last instruction retired; the current time if the thread has not ended.
    pub end: Time,
    /// Time at which the measurement began.
    pub begun: Time,
}

/// A load in the window that was unfinished at its dispatch.
struct Outstanding {
    index: u64,
    fill: u16,
    at: u64,
}

/// A store whose line was not available at its dispatch.
struct Missing {
    number: u64,
    fill: u16,
    at: u64,
}

#[derive(Clone, Copy)]
struct Translation {
    page: u64,
    frame: u64,
    /// Whether the page is known to be modified.
    stored: bool,
}

const NO_TRANSLATION: Translation = Translation { page: u64::MAX, frame: 0, stored: false };

/// An access that missed the private caches.
#[derive(Clone, Copy)]
struct Access {
    line: u64,
    store: bool,
    index: u64,
    clock: u64,
}

#[derive(Clone, Copy)]
enum ThreadState {
    /// Continues with its next step.
    Running,
    /// Looks up the last-level cache.
    LookingUp(Access),
    /// Waits for a fill; if `floor` is set, nothing is dispatched before it.
    Waiting {
        floor: bool,
    },
    /// Waits for a fill, then looks up the last-level cache again.
    WaitingForRegister(Access),
    /// Waits until memory accepts write-backs, then looks up the last-level cache again.
    WaitingForWriteBack(Access),
    /// Enters the kernel.
    Entering {
        page: u64,
        store: bool,
        fault: bool,
    },
    /// Waits for the other threads to reach the start of the measurement.
    AtBegin,
    /// Is in the kernel.
    InKernel {
        since: Time,
        /// It waits there for memory, which holds its core.
        holds_core: bool,
    },
    Ended,
}

pub(super) struct Thread {
    id: u16,
    uncached: bool,
    state: ThreadState,
    steps: Vec<Step>,
    next: usize,
    /// Time of the last dispatch, in picoseconds, and the number of instructions dispatched.
    clock: u64,
    index: u64,
    /// Number of instructions dispatched before the measurement began.
    begun_index: u64,
    /// The earliest dispatch time of the next access, or of the first instruction after the kernel.
    floor: u64,
    /// The last entry into the kernel was a fault.
    faulted: bool,
    /// Time at which the last load that left the window retired, and its instruction index.
    retired: u64,
    retired_index: u64,
    window: VecDeque<Outstanding>,
    /// Stores whose lines were not available; they drain in order.
    stores: VecDeque<Missing>,
    store_number: u64,
    /// Time at which the last drained store and all stores before it had their lines.
    stored: u64,
    misses: u32,
    /// Lines that arrived after the last dispatch, with their times. An access is looked up only after the previous one
    /// has accessed the last-level cache, so a cache may by then contain a line that had not arrived at the dispatch of
    /// the access.
    arrivals: Vec<(u64, u64)>,
    /// The latest arrival among them.
    last_arrival: u64,
    translations: [Translation; TRANSLATIONS],
    l1: Cache,
    l2: Cache,
    /// Latencies to the result of the second-level and the last-level cache, in picoseconds.
    to_l2: u64,
    to_llc: u64,
    stats: ThreadStats,
}

impl Thread {
    pub fn new(id: u16, config: &CpuConfig, uncached: bool) -> Thread {
        let (to_l2, to_llc) = config.latencies();
        Thread {
            id,
            uncached,
            state: ThreadState::Running,
            steps: Vec::new(),
            next: 0,
            clock: 0,
            index: 0,
            begun_index: 0,
            floor: 0,
            faulted: false,
            retired: 0,
            retired_index: 0,
            window: VecDeque::with_capacity(config.window.min(1024) as usize + 1),
            stores: VecDeque::with_capacity(config.stores as usize + 1),
            store_number: 0,
            stored: 0,
            misses: 0,
            arrivals: Vec::with_capacity(2 * config.misses as usize),
            last_arrival: 0,
            translations: [NO_TRANSLATION; TRANSLATIONS],
            l1: Cache::new(config.l1.size, config.l1.ways),
            l2: Cache::new(config.l2.size, config.l2.ways),
            to_l2: to_l2.ps(),
            to_llc: to_llc.ps(),
            stats: ThreadStats::default(),
        }
    }

    pub fn id(&self) -> u16 {
        self.id
    }

    /// Returns the latency to the result of the last-level cache.
    pub fn latency(&self) -> Time {
        Time::from_ps(self.to_llc)
    }

    pub fn ended(&self) -> bool {
        matches!(self.state, ThreadState::Ended)
    }

    pub fn at_begin(&self) -> bool {
        matches!(self.state, ThreadState::AtBegin)
    }

    /// Starts the measurement: all threads have reached it, and earlier activity is not counted.
    pub fn begin(&mut self, at: Time) {
        self.state = ThreadState::Running;
        self.clock = at.ps();
        self.stats = ThreadStats { begun: at, ..ThreadStats::default() };
        self.begun_index = self.index;
    }

    pub fn waits_for_write_back(&self) -> bool {
        matches!(self.state, ThreadState::WaitingForWriteBack(_))
    }

    pub fn stats(&self) -> ThreadStats {
        let end = if self.ended() { self.stats.end } else { Time::from_ps(self.clock) };
        ThreadStats { instructions: self.index - self.begun_index, end, ..self.stats }
    }

    pub fn forget_translation(&mut self, page: u64) {
        let place = &mut self.translations[page as usize % TRANSLATIONS];
        if place.page == page {
            *place = NO_TRANSLATION;
        }
    }

    pub fn drop_line(&mut self, line: u64) {
        self.l1.drop_line(line);
        self.l2.drop_line(line);
    }

    /// Marks the modified lines of the private caches as clean and appends them to `lines`.
    pub fn clean(&mut self, lines: &mut Vec<u64>) {
        self.l1.clean(lines);
        self.l2.clean(lines);
    }

    pub fn modified_lines(&self) -> usize {
        self.l1.modified() + self.l2.modified()
    }

    pub fn forget_lines(&mut self) {
        self.l1.forget();
        self.l2.forget();
    }

    /// Continues after the kernel.
    pub fn resume(&mut self, at: Time) {
        let ThreadState::InKernel { since, .. } = self.state else { panic!("thread {} is not in the kernel", self.id) };
        self.stats.kernel += at - since;
        self.state = ThreadState::Running;
        self.starts_at(at);
    }

    /// Returns whether the thread waits in the kernel for a device, or at the start of the measurement, or has ended.
    pub fn needs_no_core(&self) -> bool {
        matches!(
            self.state,
            ThreadState::InKernel { holds_core: false, .. } | ThreadState::AtBegin | ThreadState::Ended
        )
    }

    /// The thread has a core from `at` on, and dispatches nothing before.
    pub fn starts_at(&mut self, at: Time) {
        self.floor = self.floor.max(at.ps());
        // After a fault, the access is repeated; the instructions before it have been dispatched.
        if !self.faulted {
            self.clock = self.clock.max(at.ps());
        }
    }

    /// Handles an arriving line. Returns whether the thread waited for one.
    pub fn arrived(&mut self, filled: &Fill, fill: u16, at: Time) -> bool {
        self.misses -= 1;
        if self.uncached {
            // Exactly one load requested it, and loads are ordered by instruction.
            let place = self.window.binary_search_by_key(&filled.index, |load| load.index);
            let load = &mut self.window[place.expect("an unfinished load is in the window")];
            (load.fill, load.at) = (KNOWN, load.at.max(at.ps()));
            return self.continue_at(at);
        }
        let line = filled.line;
        self.l1.arrived(line, fill);
        self.l2.arrived(line, fill);
        self.arrivals.retain(|(_, arrival)| *arrival > self.clock);
        self.arrivals.push((line, at.ps()));
        self.last_arrival = self.last_arrival.max(at.ps());
        for load in self.window.iter_mut().filter(|load| load.fill == fill) {
            (load.fill, load.at) = (KNOWN, load.at.max(at.ps()));
        }
        for store in self.stores.iter_mut().filter(|store| store.fill == fill) {
            (store.fill, store.at) = (KNOWN, at.ps());
        }
        self.continue_at(at)
    }

    /// Continues after a fill at time `at`. Returns whether the thread was waiting for one.
    fn continue_at(&mut self, at: Time) -> bool {
        match self.state {
            ThreadState::Waiting { floor } => {
                if floor {
                    self.floor = at.ps();
                }
                self.state = ThreadState::Running;
                true
            }
            ThreadState::WaitingForRegister(access) => {
                self.state = ThreadState::LookingUp(Access { clock: access.clock.max(at.ps()), ..access });
                true
            }
            _ => false,
        }
    }

    /// Retires loads in order up to and including instruction `last`. Returns false if one is unfinished.
    fn retire(&mut self, last: u64, slot: u64) -> bool {
        while let Some(load) = self.window.front()
            && load.index <= last
        {
            if load.fill != KNOWN {
                return false;
            }
            self.retired = (self.retired + (load.index - self.retired_index) * slot).max(load.at);
            self.retired_index = load.index;
            self.window.pop_front();
        }
        true
    }

    /// Drains stores below `number` from the buffer in order. Returns false if one of them lacks its line.
    fn store_out(&mut self, number: u64) -> bool {
        while let Some(store) = self.stores.front()
            && store.number < number
        {
            if store.fill != KNOWN {
                return false;
            }
            self.stored = self.stored.max(store.at);
            self.stores.pop_front();
        }
        true
    }

    /// Returns when everything before instruction `index` has retired, or `None` if it is not all finished.
    fn drained(&mut self, index: u64, slot: u64) -> Option<u64> {
        self.retire(index - 1, slot).then(|| self.retired + (index - 1 - self.retired_index) * slot)
    }

    /// Executes events before `limit`, up to the first request. Returns when the thread continues; `Time::MAX` if it
    /// waits.
    pub fn run<K: Kernel, S: Steps>(
        &mut self,
        limit: Time,
        shared: &mut Shared,
        kernel: &mut K,
        steps: &mut S,
        out: &mut Vec<(Time, LineRequest)>,
    ) -> Time {
        match self.state {
            ThreadState::Running => {}
            ThreadState::LookingUp(access) | ThreadState::WaitingForWriteBack(access) => {
                if !self.look_up_llc(access, shared, out) {
                    return Time::MAX;
                }
                if !out.is_empty() {
                    return shared.now;
                }
            }
            ThreadState::Entering { page, store, fault } => return self.enter(page, store, fault, shared, kernel),
            ThreadState::Waiting { .. }
            | ThreadState::WaitingForRegister(_)
            | ThreadState::InKernel { .. }
            | ThreadState::AtBegin
            | ThreadState::Ended => {
                return Time::MAX;
            }
        }
        let (slot, window) = (shared.slot, u64::from(shared.config.window));
        for _ in 0..STEPS_PER_TURN {
            let Some(&step) = self.steps.get(self.next) else {
                self.steps.clear();
                self.next = 0;
                steps.next(self.id, &mut self.steps);
                if self.steps.is_empty() {
                    return self.end(slot);
                }
                continue;
            };
            if step.act > Act::Store {
                return self.system(&step, slot);
            }
            let count = u64::from(step.instructions) + 1;
            let index = self.index + count;
            if index > window && !self.window.is_empty() && !self.retire(index - window, slot) {
                return self.wait_for_fill(false);
            }
            // Dispatch in order at the given width, and not before the instruction that frees a place in the window has
            // retired.
            let room = (self.retired + index * slot).saturating_sub((window + self.retired_index) * slot);
            let mut clock = (self.clock + count * slot).max(room).max(self.floor);
            let store = step.act == Act::Store;
            if store {
                let room = (self.store_number + 1).saturating_sub(u64::from(shared.config.stores));
                if !self.stores.is_empty() && !self.store_out(room) {
                    return self.wait_for_fill(true);
                }
                clock = clock.max(self.stored);
            } else if step.act == Act::OrderedLoad {
                match self.drained(index, slot) {
                    Some(at) if self.store_out(self.store_number) => clock = clock.max(at).max(self.stored),
                    _ => return self.wait_for_fill(true),
                }
            }
            let page = step.address / PAGE;
            let known = self.translations[page as usize % TRANSLATIONS];
            let frame = if known.page == page && (known.stored || !store) {
                known.frame
            } else {
                match kernel.translate(self.id, page, store) {
                    Some(frame) => {
                        self.translations[page as usize % TRANSLATIONS] = Translation { page, frame, stored: store };
                        frame
                    }
                    None => return self.trap(index, clock, slot, page, store),
                }
            };
            let line = (frame * PAGE + step.address % PAGE) / LINE;
            let access = Access { line, store, index, clock };
            if self.uncached {
                let at = Time::from_ps(clock + self.to_llc).max(shared.now);
                if at >= limit {
                    self.state = ThreadState::LookingUp(access);
                    return at;
                }
                shared.now = at;
                if !self.look_up_llc(access, shared, out) {
                    return Time::MAX;
                }
                break;
            }
            if self.l1.touch(line, store) == Lookup::Hit {
                self.stats.l1_hits += 1;
                self.dispatched(&access);
                if access.clock < self.last_arrival {
                    self.await_line(&access, access.clock);
                }
                continue;
            }
            if let Some(at) = self.look_up_l2(access, shared, out) {
                if at >= limit {
                    self.state = ThreadState::LookingUp(access);
                    return at;
                }
                shared.now = shared.now.max(at);
                if !self.look_up_llc(access, shared, out) {
                    return Time::MAX;
                }
            }
            if !out.is_empty() {
                break;
            }
        }
        Time::from_ps(self.clock.max(self.floor)).max(shared.now)
    }

    fn dispatched(&mut self, access: &Access) {
        self.index = access.index;
        self.clock = access.clock;
        self.next += 1;
        self.store_number += u64::from(access.store);
        self.stats.stores += u64::from(access.store);
        self.stats.loads += u64::from(!access.store);
    }

    /// Handles a line that is not yet in the first-level cache. Returns when to look up the last-level cache if the
    /// second level misses too.
    fn look_up_l2(&mut self, access: Access, shared: &mut Shared, out: &mut Vec<(Time, LineRequest)>) -> Option<Time> {
        // Looking up again does not change the LRU order.
        match self.l1.touch(access.line, access.store) {
            Lookup::Hit => unreachable!("the first lookup was no hit"),
            Lookup::Pending(fill) => {
                self.stats.l1_hits += 1;
                self.dispatched(&access);
                self.await_fill(&access, fill, access.clock);
                return None;
            }
            Lookup::Miss => {}
        }
        let fill = match self.l2.touch(access.line, false) {
            Lookup::Hit => None,
            Lookup::Pending(fill) => Some(fill),
            Lookup::Miss => return Some(Time::from_ps(access.clock + self.to_llc).max(shared.now)),
        };
        self.stats.l2_hits += 1;
        self.insert_l1(&access, fill, shared, out);
        self.dispatched(&access);
        match fill {
            Some(fill) => self.await_fill(&access, fill, access.clock + self.to_l2),
            None if access.clock < self.last_arrival => self.await_line(&access, access.clock + self.to_l2),
            None => self.await_cache(&access, access.clock + self.to_l2),
        }
        None
    }

    /// Looks up the last-level cache. Returns false if the thread has to wait for that.
    fn look_up_llc(&mut self, access: Access, shared: &mut Shared, out: &mut Vec<(Time, LineRequest)>) -> bool {
        let result = if self.uncached {
            let Access { line, store, index, .. } = access;
            shared.access_memory(self.id, line, store, index, self.misses, out)
        } else {
            shared.look_up(self.id, access.line, self.misses, out)
        };
        let fill = match result {
            LlcResult::Hit => None,
            LlcResult::Fill(fill, new) => {
                self.misses += u32::from(new);
                Some(fill)
            }
            LlcResult::NoRegister => {
                self.state = ThreadState::WaitingForRegister(access);
                return false;
            }
            LlcResult::WriteBacksFull => {
                self.state = ThreadState::WaitingForWriteBack(access);
                return false;
            }
        };
        self.state = ThreadState::Running;
        if self.uncached {
            self.dispatched(&access);
            if let Some(fill) = fill {
                self.await_fill(&access, fill, access.clock);
            }
            return true;
        }
        if let Some(victim) = self.l2.insert(access.line, false, fill)
            && victim.dirty
        {
            shared.spill(victim.line, out);
        }
        self.insert_l1(&access, fill, shared, out);
        self.dispatched(&access);
        match fill {
            Some(fill) => self.await_fill(&access, fill, access.clock),
            None => self.await_cache(&access, (access.clock + self.to_llc).max(shared.now.ps())),
        }
        true
    }

    fn insert_l1(
        &mut self,
        access: &Access,
        fill: Option<u16>,
        shared: &mut Shared,
        out: &mut Vec<(Time, LineRequest)>,
    ) {
        if let Some(victim) = self.l1.insert(access.line, access.store, fill)
            && victim.dirty
            && self.l2.touch(victim.line, true) == Lookup::Miss
            && let Some(victim) = self.l2.insert(victim.line, true, None)
            && victim.dirty
        {
            shared.spill(victim.line, out);
        }
    }

    /// Finishes a load when its fill arrives, but not before `earliest`.
    fn await_fill(&mut self, access: &Access, fill: u16, earliest: u64) {
        if access.store {
            self.stores.push_back(Missing { number: self.store_number - 1, fill, at: 0 });
        } else {
            self.window.push_back(Outstanding { index: access.index, fill, at: earliest });
        }
    }

    /// Finishes an access to a line in a private cache at `earliest`, or when the line arrived if that was later.
    fn await_line(&mut self, access: &Access, earliest: u64) {
        let arrival = self.arrivals.iter().rev().find(|(line, _)| *line == access.line).map_or(0, |(_, at)| *at);
        if arrival <= access.clock {
            if earliest > access.clock {
                self.await_cache(access, earliest);
            }
        } else if access.store {
            self.stores.push_back(Missing { number: self.store_number - 1, fill: KNOWN, at: arrival });
        } else {
            self.window.push_back(Outstanding { index: access.index, fill: KNOWN, at: arrival.max(earliest) });
        }
    }

    /// Finishes a load at time `at`. A store spends this time in the store buffer, which hides it.
    fn await_cache(&mut self, access: &Access, at: u64) {
        if !access.store {
            self.window.push_back(Outstanding { index: access.index, fill: KNOWN, at });
        }
    }

    fn wait_for_fill(&mut self, floor: bool) -> Time {
        self.state = ThreadState::Waiting { floor };
        Time::MAX
    }

    /// Starts a page fault once everything before it has retired.
    fn trap(&mut self, index: u64, clock: u64, slot: u64, page: u64, store: bool) -> Time {
        match self.drained(index, slot) {
            Some(at) => {
                self.state = ThreadState::Entering { page, store, fault: true };
                Time::from_ps(at.max(clock))
            }
            None => self.wait_for_fill(false),
        }
    }

    /// Starts a system call once everything before it has retired.
    fn system(&mut self, step: &Step, slot: u64) -> Time {
        let index = self.index + u64::from(step.instructions) + 1;
        // A sync makes all earlier stores durable, and a rollback undoes them.
        if matches!(step.act, Act::Sync | Act::Rollback) {
            if !self.store_out(self.store_number) {
                return self.wait_for_fill(true);
            }
            self.clock = self.clock.max(self.stored);
        }
        match self.drained(index, slot) {
            Some(at) if step.act == Act::Begin => {
                self.clock = at.max(self.clock);
                self.next += 1;
                self.state = ThreadState::AtBegin;
                Time::MAX
            }
            Some(at) => {
                self.clock = at.max(self.clock + (index - self.index) * slot).max(self.floor);
                self.index = index;
                self.state = ThreadState::Entering { page: step.address / PAGE, store: false, fault: false };
                Time::from_ps(self.clock)
            }
            None => self.wait_for_fill(false),
        }
    }

    fn enter<K: Kernel>(&mut self, page: u64, store: bool, fault: bool, shared: &mut Shared, kernel: &mut K) -> Time {
        let now = shared.now;
        self.stats.kernel_entries += 1;
        self.state = ThreadState::InKernel { since: now, holds_core: false };
        self.faulted = fault;
        let until = if fault {
            kernel.fault(now, self.id, page, store)
        } else {
            self.next += 1;
            kernel.call(now, self.id, &self.steps[self.next - 1])
        };
        shared.kernel_called = true;
        match until {
            Some(at) => {
                self.resume(at);
                at
            }
            None => {
                self.state = ThreadState::InKernel { since: now, holds_core: kernel.holds_core(self.id) };
                Time::MAX
            }
        }
    }

    fn end(&mut self, slot: u64) -> Time {
        match self.drained(self.index + 1, slot) {
            Some(at) if self.store_out(self.store_number) => {
                self.state = ThreadState::Ended;
                self.stats.end = Time::from_ps(at.max(self.clock).max(self.stored));
                Time::MAX
            }
            // The program ends when the line of its last store is available.
            _ => self.wait_for_fill(true),
        }
    }
}
