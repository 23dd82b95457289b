//! A kernel with all data in memory and without devices. Where memory is flash, syncs reach it, and so do accesses to the
//! kernel's own memory.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use host::cpu::{Effects, Kernel, PAGE};
use host::linux::{Fsync, LinuxConfig, Resident, Structures, Touch};
use media::{Act, Step};
use serde_json::{Map, Value, json};
use sim::{Energy, Histogram, Streams, Time};
use workload::program::{Backing, InitialState, Programs};

use super::frames::Frames;
use super::run::World;

/// The kernel, and calls on their way to main memory.
pub(super) struct InMemory {
    kernel: Resident,
    effects: Effects,
    /// Whether memory keeps what a sync makes durable.
    keeps: bool,
    /// First address and end of each file whose fsync only returns.
    unsynced: Vec<(u64, u64)>,
    /// When calls reach memory and when threads go on, by time and order.
    agenda: BinaryHeap<Reverse<(Time, u64, ThreadEvent)>>,
    order: u64,
    /// The kernel's own memory, if main memory holds it.
    own: Option<OwnMemory>,
    /// The call that each thread made last, and when.
    calls: Vec<(Step, Time)>,
    /// When each thread entered its fault, until it leaves; and how long faults took.
    entered: Vec<Option<Time>>,
    fault_times: Histogram,
    syncs: Histogram,
    rollbacks: Histogram,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ThreadEvent {
    /// Main memory serves the thread's call.
    Call(u16),
    /// A thread makes its next access to the kernel's memory, or leaves the kernel.
    Continue(u16),
}

/// The kernel's own memory, and the accesses to it that threads have still to make.
struct OwnMemory {
    structures: Structures,
    /// Placement of pages; `None`: consecutive.
    frames: Option<Frames>,
    left: Vec<VecDeque<Touch>>,
    /// When each thread made its last access, and how long accesses took.
    since: Vec<Time>,
    accesses: Histogram,
}

impl OwnMemory {
    fn new(structures: Structures, frames: Option<Frames>, threads: u16) -> OwnMemory {
        let threads = usize::from(threads);
        let (left, since) = (vec![VecDeque::new(); threads], vec![Time::ZERO; threads]);
        OwnMemory { structures, frames, left, since, accesses: Histogram::default() }
    }

    fn physical(&self, page: u64) -> u64 {
        self.frames.as_ref().map_or(page, |frames| frames.place(page * PAGE) / PAGE)
    }

    fn enter_fault(&mut self, thread: u16, page: u64) {
        let touches = self.structures.of_fault(page, self.physical(page));
        self.left[usize::from(thread)].extend(touches);
    }

    fn enter_call(&mut self, thread: u16, step: &Step) {
        let end = (step.address + u64::from(step.bytes)).div_ceil(PAGE);
        for page in step.address / PAGE..end {
            let touches = self.structures.of_call(page, self.physical(page));
            self.left[usize::from(thread)].extend(touches);
        }
    }
}

impl InMemory {
    /// Creates a kernel for `programs`; `keeps` if main memory serves syncs. `structures`: where main memory has the kernel's
    /// own memory, if it does, and the placement of its pages.
    pub fn new(
        programs: &Programs,
        config: LinuxConfig,
        keeps: bool,
        structures: Option<(Structures, Option<Frames>)>,
        streams: &Streams,
    ) -> InMemory {
        let mut kernel = Resident::new(config, &super::drive::areas(programs), streams);
        for region in programs.regions().iter().filter(|region| region.initial == InitialState::Written) {
            kernel.was_written(region.base / PAGE, region.bytes.div_ceil(PAGE));
        }
        let files = programs.regions().iter().filter(|region| region.backing == Backing::File);
        let unsynced = match config.fsync {
            Fsync::Sync => Vec::new(),
            Fsync::Call => files.map(|file| (file.base, file.base + file.bytes)).collect(),
        };
        InMemory {
            unsynced,
            kernel,
            effects: Effects::default(),
            keeps,
            agenda: BinaryHeap::new(),
            order: 0,
            own: structures.map(|(structures, frames)| OwnMemory::new(structures, frames, programs.threads())),
            calls: vec![Default::default(); usize::from(programs.threads())],
            entered: vec![None; usize::from(programs.threads())],
            fault_times: Histogram::default(),
            syncs: Histogram::default(),
            rollbacks: Histogram::default(),
        }
    }

    fn schedule(&mut self, at: Time, event: ThreadEvent) {
        self.order += 1;
        self.agenda.push(Reverse((at, self.order, event)));
    }

    /// Returns whether a call is an fsync that does not reach memory.
    fn only_returns(&self, step: &Step) -> bool {
        step.act == Act::Sync && self.unsynced.iter().any(|(first, end)| (*first..*end).contains(&step.address))
    }
}

impl Kernel for InMemory {
    fn translate(&mut self, thread: u16, page: u64, store: bool) -> Option<u64> {
        self.kernel.translate(thread, page, store)
    }
    fn fault(&mut self, now: Time, thread: u16, page: u64, store: bool) -> Option<Time> {
        let at = self.kernel.fault(now, thread, page, store)?;
        let Some(own) = &mut self.own else {
            self.fault_times.record(at - now);
            return Some(at);
        };
        own.enter_fault(thread, page);
        self.entered[usize::from(thread)] = Some(now);
        self.schedule(at, ThreadEvent::Continue(thread));
        None
    }
    fn call(&mut self, now: Time, thread: u16, step: &Step) -> Option<Time> {
        let at = self.kernel.call(now, thread, step)?;
        if !matches!(step.act, Act::Sync | Act::Rollback | Act::Permanent) {
            let Some(own) = self.own.as_mut().filter(|_| step.bytes > 0) else { return Some(at) };
            own.enter_call(thread, step);
            self.schedule(at, ThreadEvent::Continue(thread));
        } else if self.keeps && !self.only_returns(step) {
            self.schedule(at, ThreadEvent::Call(thread));
            self.calls[usize::from(thread)] = (*step, now);
        } else {
            return Some(at);
        }
        None
    }
    fn holds_core(&self, thread: u16) -> bool {
        self.own.as_ref().is_some_and(|own| !own.left[usize::from(thread)].is_empty())
    }
}

impl World for InMemory {
    fn next_event(&self) -> Option<Time> {
        self.agenda.peek().map(|Reverse((at, ..))| *at)
    }
    fn advance(&mut self, now: Time) {
        while let Some(Reverse((at, _, event))) = self.agenda.peek().copied()
            && at <= now
        {
            self.agenda.pop();
            match event {
                ThreadEvent::Call(thread) => self.effects.calls.push((thread, self.calls[usize::from(thread)].0)),
                ThreadEvent::Continue(thread) => {
                    let own = self.own.as_mut().expect("only accesses to the kernel's memory are continued");
                    match own.left[usize::from(thread)].pop_front() {
                        Some(touch) => {
                            own.since[usize::from(thread)] = at;
                            self.effects.accesses.push((thread, touch.address, touch.store));
                        }
                        None => {
                            if let Some(entered) = self.entered[usize::from(thread)].take() {
                                self.fault_times.record(at - entered);
                            }
                            self.effects.resumed.push((thread, at));
                        }
                    }
                }
            }
        }
    }
    fn accessed(&mut self, thread: u16, at: Time) {
        let own = self.own.as_mut().expect("an access to the kernel's memory");
        own.accesses.record(at - own.since[usize::from(thread)]);
        self.schedule(at, ThreadEvent::Continue(thread));
    }
    fn called(&mut self, thread: u16, at: Time) {
        let (step, since) = self.calls[usize::from(thread)];
        match step.act {
            Act::Sync => self.syncs.record(at - since),
            Act::Rollback => self.rollbacks.record(at - since),
            _ => {}
        }
    }
    fn effects(&mut self) -> &mut Effects {
        &mut self.effects
    }
    fn energy(&self, _: Time) -> Option<(Energy, Energy)> {
        None
    }
    fn report(&mut self, _: Time) -> (Map<String, Value>, Map<String, Value>) {
        let (faults, calls) = self.kernel.counted();
        let mut kernel = json!({ "faults": faults, "calls": calls });
        let spread = |h: &Histogram| json!({ "mean": h.mean_ns(), "stddev": h.stddev_ns(), "N": h.count() });
        if self.keeps {
            kernel["sync_ns"] = spread(&self.syncs);
            kernel["rollback_ns"] = spread(&self.rollbacks);
        }
        kernel["fault_ns"] = spread(&self.fault_times);
        if let Some(own) = &self.own {
            kernel["structure_ns"] = spread(&own.accesses);
        }
        let mut all = Map::new();
        all.insert("kernel".to_owned(), kernel);
        (all, Map::new())
    }
    fn begin(&mut self, _: Time) {
        self.kernel.reset_stats();
        (self.syncs, self.rollbacks) = (Histogram::default(), Histogram::default());
        self.fault_times = Histogram::default();
        if let Some(own) = &mut self.own {
            own.accesses = Histogram::default();
        }
    }
}
