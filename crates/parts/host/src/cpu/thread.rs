//! A hardware thread: its window, store buffer, translations and own caches.

use std::collections::VecDeque;

use media::{Act, LINE, LineRequest, Step, Steps};
use sim::Time;

use super::cache::{Cache, Look};
use super::config::CpuConfig;
use super::units::{Below, Fill, Shared};
use super::{Kernel, PAGE};

/// Steps in a row before others have their turn.
const TURN: u32 = 4096;
/// Translations that are kept, by the page's low bits.
const TRANSLATIONS: usize = 64;
/// No fill: it is known when the line is there.
const KNOWN: u16 = u16::MAX;

/// What a thread did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadStats {
    /// Instructions of the program.
    pub instructions: u64,
    /// Loads among them.
    pub loads: u64,
    /// Stores among them.
    pub stores: u64,
    /// Accesses that its first cache had, or had asked for.
    pub l1_hits: u64,
    /// Accesses that its second cache had, or had asked for.
    pub l2_hits: u64,
    /// Faults and calls.
    pub kernel_entries: u64,
    /// Time in them.
    pub kernel: Time,
    /// When its last instruction retired; so far, if it has not ended.
    pub end: Time,
    /// When it began to be measured.
    pub begun: Time,
}

/// A load in the window that was not done when it was dispatched.
struct Outstanding {
    index: u64,
    fill: u16,
    at: u64,
}

/// A store whose line was not there when it was dispatched.
struct Missing {
    number: u64,
    fill: u16,
    at: u64,
}

#[derive(Clone, Copy)]
struct Translation {
    page: u64,
    frame: u64,
    /// The page is known to be changed.
    stored: bool,
}

const NO_TRANSLATION: Translation = Translation { page: u64::MAX, frame: 0, stored: false };

/// An access that is on its way below the thread's caches.
#[derive(Clone, Copy)]
struct Access {
    line: u64,
    store: bool,
    index: u64,
    clock: u64,
}

#[derive(Clone, Copy)]
enum State {
    /// Goes on with its next step.
    Running,
    /// Asks the last cache.
    Asking(Access),
    /// Waits for a fill; what is dispatched then is not before it, if so.
    Waiting {
        floor: bool,
    },
    /// Waits for a fill, to ask the last cache again.
    WaitingToAsk(Access),
    /// Waits until memory takes lines back, to ask the last cache again.
    NoRoom(Access),
    /// Enters the kernel.
    Entering {
        page: u64,
        store: bool,
        fault: bool,
    },
    /// Waits for the other threads to come as far.
    AtBegin,
    /// Is in the kernel, since.
    InKernel(Time),
    Ended,
}

pub(super) struct Thread {
    id: u16,
    uncached: bool,
    state: State,
    steps: Vec<Step>,
    next: usize,
    /// When the last instruction was dispatched, in picoseconds; and how many were.
    clock: u64,
    index: u64,
    /// How many when it began to be measured.
    begun_index: u64,
    /// Before this the next access, or what follows the kernel, is not dispatched.
    floor: u64,
    /// When the last load that left the window retired, and which instruction that was.
    retired: u64,
    retired_index: u64,
    window: VecDeque<Outstanding>,
    /// Stores whose lines were not there; they leave in order.
    stores: VecDeque<Missing>,
    store_number: u64,
    /// When the last of them that left had its line, and all before it theirs.
    stored: u64,
    misses: u32,
    /// Lines that came later than the last dispatch, and when. An access is looked up when the one before it has asked the
    /// last cache, so caches can have a line by then that was not there when the access was dispatched.
    came: Vec<(u64, u64)>,
    /// The latest of them.
    last_came: u64,
    translations: [Translation; TRANSLATIONS],
    l1: Cache,
    l2: Cache,
    /// Picoseconds to the second cache's answer, and to the last's.
    to_l2: u64,
    to_llc: u64,
    stats: ThreadStats,
}

impl Thread {
    pub fn new(id: u16, config: &CpuConfig) -> Thread {
        let to_l2 = (config.l1.latency + config.l2.latency).ps();
        Thread {
            id,
            uncached: config.uncached >> id & 1 != 0,
            state: State::Running,
            steps: Vec::new(),
            next: 0,
            clock: 0,
            index: 0,
            begun_index: 0,
            floor: 0,
            retired: 0,
            retired_index: 0,
            window: VecDeque::with_capacity(config.window.min(1024) as usize + 1),
            stores: VecDeque::with_capacity(config.stores as usize + 1),
            store_number: 0,
            stored: 0,
            misses: 0,
            came: Vec::with_capacity(2 * config.misses as usize),
            last_came: 0,
            translations: [NO_TRANSLATION; TRANSLATIONS],
            l1: Cache::new(&config.l1),
            l2: Cache::new(&config.l2),
            to_l2,
            to_llc: to_l2 + config.llc.latency.ps(),
            stats: ThreadStats::default(),
        }
    }

    pub fn id(&self) -> u16 {
        self.id
    }

    pub fn ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    pub fn at_begin(&self) -> bool {
        matches!(self.state, State::AtBegin)
    }

    /// All have come as far: what was done before is not measured.
    pub fn begin(&mut self, at: Time) {
        self.state = State::Running;
        self.clock = at.ps();
        self.stats = ThreadStats { begun: at, ..ThreadStats::default() };
        self.begun_index = self.index;
    }

    pub fn waits_for_room(&self) -> bool {
        matches!(self.state, State::NoRoom(_))
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

    /// Goes on after the kernel.
    pub fn resume(&mut self, at: Time) {
        let State::InKernel(since) = self.state else { panic!("thread {} is not in the kernel", self.id) };
        self.stats.kernel += at - since;
        self.state = State::Running;
        self.floor = at.ps();
    }

    /// A line has come; true if the thread waited for one.
    pub fn arrived(&mut self, filled: &Fill, fill: u16, at: Time) -> bool {
        self.misses -= 1;
        if self.uncached {
            // One load has asked for it, and loads are in order.
            let place = self.window.binary_search_by_key(&filled.index, |load| load.index);
            let load = &mut self.window[place.expect("a load is in the window until it is done")];
            (load.fill, load.at) = (KNOWN, load.at.max(at.ps()));
            return self.go_on(at);
        }
        let line = filled.line;
        self.l1.arrived(line, fill);
        self.l2.arrived(line, fill);
        self.came.retain(|(_, came)| *came > self.clock);
        self.came.push((line, at.ps()));
        self.last_came = self.last_came.max(at.ps());
        for load in self.window.iter_mut().filter(|load| load.fill == fill) {
            (load.fill, load.at) = (KNOWN, load.at.max(at.ps()));
        }
        for store in self.stores.iter_mut().filter(|store| store.fill == fill) {
            (store.fill, store.at) = (KNOWN, at.ps());
        }
        self.go_on(at)
    }

    /// A line that the thread may have waited for came at `at`. True if it goes on.
    fn go_on(&mut self, at: Time) -> bool {
        match self.state {
            State::Waiting { floor } => {
                if floor {
                    self.floor = at.ps();
                }
                self.state = State::Running;
                true
            }
            State::WaitingToAsk(access) => {
                self.state = State::Asking(Access { clock: access.clock.max(at.ps()), ..access });
                true
            }
            _ => false,
        }
    }

    /// Loads leave the window in order up to, and with, instruction `last`. False if one of them is not done.
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

    /// Stores below `number` leave their buffer in order. False if one of them does not have its line.
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

    /// When everything before instruction `index` has retired, if it is all done.
    fn drained(&mut self, index: u64, slot: u64) -> Option<u64> {
        self.retire(index - 1, slot).then(|| self.retired + (index - 1 - self.retired_index) * slot)
    }

    /// Executes what is due before `limit`, at most to the first request. When it goes on; never, if it waits.
    pub fn run<K: Kernel, S: Steps>(
        &mut self,
        limit: Time,
        shared: &mut Shared,
        kernel: &mut K,
        steps: &mut S,
        out: &mut Vec<(Time, LineRequest)>,
    ) -> Time {
        match self.state {
            State::Running => {}
            State::Asking(access) | State::NoRoom(access) => {
                if !self.ask(access, shared, out) {
                    return Time::MAX;
                }
                if !out.is_empty() {
                    return shared.now;
                }
            }
            State::Entering { page, store, fault } => return self.enter(page, store, fault, shared, kernel),
            State::Waiting { .. } | State::WaitingToAsk(_) | State::InKernel(_) | State::AtBegin | State::Ended => {
                return Time::MAX;
            }
        }
        let (slot, window) = (shared.slot, u64::from(shared.config.window));
        for _ in 0..TURN {
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
                return self.wait(false);
            }
            // In order and as wide, and not before what makes room in the window has retired.
            let room = (self.retired + index * slot).saturating_sub((window + self.retired_index) * slot);
            let mut clock = (self.clock + count * slot).max(room).max(self.floor);
            let store = step.act == Act::Store;
            if store {
                let room = (self.store_number + 1).saturating_sub(u64::from(shared.config.stores));
                if !self.stores.is_empty() && !self.store_out(room) {
                    return self.wait(true);
                }
                clock = clock.max(self.stored);
            } else if step.act == Act::OrderedLoad {
                match self.drained(index, slot) {
                    Some(at) if self.store_out(self.store_number) => clock = clock.max(at).max(self.stored),
                    _ => return self.wait(true),
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
                    self.state = State::Asking(access);
                    return at;
                }
                shared.now = at;
                if !self.ask(access, shared, out) {
                    return Time::MAX;
                }
                break;
            }
            if self.l1.touch(line, store) == Look::Hit {
                self.stats.l1_hits += 1;
                self.dispatched(&access);
                if access.clock < self.last_came {
                    self.await_line(&access, access.clock);
                }
                continue;
            }
            if let Some(at) = self.look_further(access, shared, out) {
                if at >= limit {
                    self.state = State::Asking(access);
                    return at;
                }
                shared.now = shared.now.max(at);
                if !self.ask(access, shared, out) {
                    return Time::MAX;
                }
            }
            if !out.is_empty() {
                break;
            }
        }
        Time::from_ps(self.clock.max(self.floor)).max(shared.now)
    }

    #[inline(always)]
    fn dispatched(&mut self, access: &Access) {
        self.index = access.index;
        self.clock = access.clock;
        self.next += 1;
        self.store_number += u64::from(access.store);
        self.stats.stores += u64::from(access.store);
        self.stats.loads += u64::from(!access.store);
    }

    /// The first cache does not have it, or not yet. When the last is asked, if the second does not either.
    fn look_further(
        &mut self,
        access: Access,
        shared: &mut Shared,
        out: &mut Vec<(Time, LineRequest)>,
    ) -> Option<Time> {
        // What the first cache has is not moved by looking again.
        match self.l1.touch(access.line, access.store) {
            Look::Hit => unreachable!("it was looked for"),
            Look::Pending(fill) => {
                self.stats.l1_hits += 1;
                self.dispatched(&access);
                self.await_fill(&access, fill, access.clock);
                return None;
            }
            Look::Miss => {}
        }
        let fill = match self.l2.touch(access.line, false) {
            Look::Hit => None,
            Look::Pending(fill) => Some(fill),
            Look::Miss => return Some(Time::from_ps(access.clock + self.to_llc).max(shared.now)),
        };
        self.stats.l2_hits += 1;
        self.take_in_l1(&access, fill, shared, out);
        self.dispatched(&access);
        match fill {
            Some(fill) => self.await_fill(&access, fill, access.clock + self.to_l2),
            None if access.clock < self.last_came => self.await_line(&access, access.clock + self.to_l2),
            None => self.await_cache(&access, access.clock + self.to_l2),
        }
        None
    }

    /// Asks the last cache. False if that has to wait.
    fn ask(&mut self, access: Access, shared: &mut Shared, out: &mut Vec<(Time, LineRequest)>) -> bool {
        let below = if self.uncached {
            let Access { line, store, index, .. } = access;
            shared.ask_memory(self.id, line, store, index, self.misses, out)
        } else {
            shared.ask(self.id, access.line, self.misses, out)
        };
        let fill = match below {
            Below::Hit => None,
            Below::Fill(fill, new) => {
                self.misses += u32::from(new);
                Some(fill)
            }
            Below::NoRegister => {
                self.state = State::WaitingToAsk(access);
                return false;
            }
            Below::NoRoom => {
                self.state = State::NoRoom(access);
                return false;
            }
        };
        self.state = State::Running;
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
        self.take_in_l1(&access, fill, shared, out);
        self.dispatched(&access);
        match fill {
            Some(fill) => self.await_fill(&access, fill, access.clock),
            None => self.await_cache(&access, (access.clock + self.to_llc).max(shared.now.ps())),
        }
        true
    }

    fn take_in_l1(
        &mut self,
        access: &Access,
        fill: Option<u16>,
        shared: &mut Shared,
        out: &mut Vec<(Time, LineRequest)>,
    ) {
        if let Some(victim) = self.l1.insert(access.line, access.store, fill)
            && victim.dirty
            && self.l2.touch(victim.line, true) == Look::Miss
            && let Some(victim) = self.l2.insert(victim.line, true, None)
            && victim.dirty
        {
            shared.spill(victim.line, out);
        }
    }

    /// A load is done when its line has come, and not before `least`.
    fn await_fill(&mut self, access: &Access, fill: u16, least: u64) {
        if access.store {
            self.stores.push_back(Missing { number: self.store_number - 1, fill, at: 0 });
        } else {
            self.window.push_back(Outstanding { index: access.index, fill, at: least });
        }
    }

    /// A thread's own cache has the line: an access is done at `least`, or when the line came if that was later.
    #[cold]
    fn await_line(&mut self, access: &Access, least: u64) {
        let came = self.came.iter().rev().find(|(line, _)| *line == access.line).map_or(0, |(_, at)| *at);
        if came <= access.clock {
            if least > access.clock {
                self.await_cache(access, least);
            }
        } else if access.store {
            self.stores.push_back(Missing { number: self.store_number - 1, fill: KNOWN, at: came });
        } else {
            self.window.push_back(Outstanding { index: access.index, fill: KNOWN, at: came.max(least) });
        }
    }

    /// A load is done at `at`. A store is in the buffer meanwhile, whose length hides it.
    fn await_cache(&mut self, access: &Access, at: u64) {
        if !access.store {
            self.window.push_back(Outstanding { index: access.index, fill: KNOWN, at });
        }
    }

    fn wait(&mut self, floor: bool) -> Time {
        self.state = State::Waiting { floor };
        Time::MAX
    }

    /// A page is not there: a fault, once everything before has retired.
    fn trap(&mut self, index: u64, clock: u64, slot: u64, page: u64, store: bool) -> Time {
        match self.drained(index, slot) {
            Some(at) => {
                self.state = State::Entering { page, store, fault: true };
                Time::from_ps(at.max(clock))
            }
            None => self.wait(false),
        }
    }

    /// A call of the system, once everything before has retired.
    fn system(&mut self, step: &Step, slot: u64) -> Time {
        let index = self.index + u64::from(step.instructions) + 1;
        match self.drained(index, slot) {
            Some(at) if step.act == Act::Begin => {
                self.clock = at.max(self.clock);
                self.next += 1;
                self.state = State::AtBegin;
                Time::MAX
            }
            Some(at) => {
                self.clock = at.max(self.clock + (index - self.index) * slot).max(self.floor);
                self.index = index;
                self.state = State::Entering { page: step.address / PAGE, store: false, fault: false };
                Time::from_ps(self.clock)
            }
            None => self.wait(false),
        }
    }

    fn enter<K: Kernel>(&mut self, page: u64, store: bool, fault: bool, shared: &mut Shared, kernel: &mut K) -> Time {
        let now = shared.now;
        self.stats.kernel_entries += 1;
        self.state = State::InKernel(now);
        let until = if fault {
            kernel.fault(now, self.id, page, store)
        } else {
            self.next += 1;
            kernel.call(now, self.id, &self.steps[self.next - 1])
        };
        shared.kernel_asked = true;
        match until {
            Some(at) => {
                self.resume(at);
                at
            }
            None => Time::MAX,
        }
    }

    fn end(&mut self, slot: u64) -> Time {
        match self.drained(self.index + 1, slot) {
            Some(at) if self.store_out(self.store_number) => {
                self.state = State::Ended;
                self.stats.end = Time::from_ps(at.max(self.clock).max(self.stored));
                Time::MAX
            }
            // A store that comes last ends the program when its line is there.
            _ => self.wait(true),
        }
    }
}
