//! A kernel with all data in memory and without devices. Where memory is flash, syncs reach it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use host::cpu::{Effects, Kernel, PAGE};
use host::linux::{LinuxConfig, Resident};
use media::{Act, Step};
use serde_json::{Map, Value, json};
use sim::{Energy, Histogram, Streams, Time};
use workload::program::{InitialState, Programs};

use super::run::World;

/// The kernel, and calls on their way to main memory.
pub(super) struct InMemory {
    kernel: Resident,
    effects: Effects,
    /// Whether memory keeps what a sync makes durable.
    keeps: bool,
    /// Calls on their way to memory, by time of arrival and order.
    agenda: BinaryHeap<Reverse<(Time, u64, u16)>>,
    order: u64,
    /// The call that each thread made last, and when.
    calls: Vec<(Step, Time)>,
    syncs: Histogram,
    rollbacks: Histogram,
}

impl InMemory {
    /// Creates a kernel for `programs`; `keeps` if main memory serves syncs.
    pub fn new(programs: &Programs, config: LinuxConfig, keeps: bool, streams: &Streams) -> InMemory {
        let mut kernel = Resident::new(config, &super::drive::areas(programs), streams);
        for region in programs.regions().iter().filter(|region| region.initial == InitialState::Written) {
            kernel.was_written(region.base / PAGE, region.bytes.div_ceil(PAGE));
        }
        InMemory {
            kernel,
            effects: Effects::default(),
            keeps,
            agenda: BinaryHeap::new(),
            order: 0,
            calls: vec![Default::default(); usize::from(programs.threads())],
            syncs: Histogram::default(),
            rollbacks: Histogram::default(),
        }
    }
}

impl Kernel for InMemory {
    fn translate(&mut self, thread: u16, page: u64, store: bool) -> Option<u64> {
        self.kernel.translate(thread, page, store)
    }
    fn fault(&mut self, now: Time, thread: u16, page: u64, store: bool) -> Option<Time> {
        self.kernel.fault(now, thread, page, store)
    }
    fn call(&mut self, now: Time, thread: u16, step: &Step) -> Option<Time> {
        let at = self.kernel.call(now, thread, step)?;
        if !self.keeps || !matches!(step.act, Act::Sync | Act::Rollback | Act::Permanent) {
            return Some(at);
        }
        self.order += 1;
        self.agenda.push(Reverse((at, self.order, thread)));
        self.calls[usize::from(thread)] = (*step, now);
        None
    }
}

impl World for InMemory {
    fn next_event(&self) -> Option<Time> {
        self.agenda.peek().map(|Reverse((at, ..))| *at)
    }
    fn advance(&mut self, now: Time) {
        while let Some(Reverse((at, _, thread))) = self.agenda.peek().copied()
            && at <= now
        {
            self.agenda.pop();
            self.effects.calls.push((thread, self.calls[usize::from(thread)].0));
        }
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
        if self.keeps {
            let spread = |h: &Histogram| json!({ "mean": h.mean_ns(), "stddev": h.stddev_ns(), "N": h.count() });
            kernel["sync_ns"] = spread(&self.syncs);
            kernel["rollback_ns"] = spread(&self.rollbacks);
        }
        let mut all = Map::new();
        all.insert("kernel".to_owned(), kernel);
        (all, Map::new())
    }
    fn begin(&mut self, _: Time) {
        self.kernel.reset_stats();
        (self.syncs, self.rollbacks) = (Histogram::default(), Histogram::default());
    }
}
