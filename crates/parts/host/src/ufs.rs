//! A UFS host controller and a driver modeled on Linux's ufshcd: one list of 32 transfer requests and a doorbell register
//! with a bit for each (UFSHCI 2.0, JESD223B), or queues in memory (multi-circular queue: UFSHCI 4.0, JESD223E), and
//! a DMA engine that accesses memory for the device.
//!
//! With queues, a doorbell is a queue's tail, and a command's end is an entry of a completion queue in place of the status in
//! its descriptor; both are 32 bytes. Linux has a pair of queues for each core, which share the tags of all commands, and
//! each pair its own interrupt where the platform passes them on (event-specific interrupts).

use media::{Op, Request, Status};
use sim::{Client, Part, Schedule, Span, Time, Track};

use crate::slots::Slots;
use crate::{Aggregation, Completed, Config, Event, Submission, UfshciConfig};

/// Bytes of a UTP transfer request descriptor, the entry of the list (JESD223B, 6.1.1).
const DESCRIPTOR: u64 = 32;
/// Bytes of a UPIU without data in a UTP command descriptor (6.1.2).
const UPIU: u64 = 32;
/// Bytes per entry of the physical region description table (6.1.2).
const REGION: u64 = 16;

/// One direction of the controller's path to memory: transfers in order, each delayed by the memory's latency.
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    free: Time,
    busy: Time,
}

impl Channel {
    /// Accepts an access due at `at`; no later access may be due earlier. Returns its interval on the bus.
    fn take(&mut self, at: Time, length: Time) -> (Time, Time) {
        let from = at.max(self.free);
        self.free = from + length;
        self.busy += length;
        (from, self.free)
    }

    /// Returns the busy time until `now`, without work accepted for later.
    ///
    /// # Panics
    /// Panics if it exceeds the time passed, which means that the model is broken.
    fn busy(&self, now: Time) -> Time {
        let busy = self.busy.saturating_sub(self.free.saturating_sub(now));
        assert!(busy <= now, "busy for {busy} of {now}");
        busy
    }

    fn power_cut(&mut self, now: Time) {
        *self = Channel { free: self.free.min(now), busy: self.busy(now) };
    }
}

/// A host controller and its driver.
#[derive(Clone, Debug)]
pub struct Ufshci {
    slots: Slots,
    read: Channel,
    write: Channel,
    controller: UfshciConfig,
    aggregation: Option<Aggregation>,
    /// Completions not yet covered by an interrupt, and the epoch they belong to.
    untold: u32,
    epoch: u16,
    interrupting: bool,
    interrupts: u64,
}

impl Ufshci {
    /// Exchanges the processor's cores with those of another driver.
    pub fn swap_cores(&mut self, other: &mut Ufshci) {
        self.slots.swap_cores(&mut other.slots);
    }

    /// Creates an idle host.
    ///
    /// # Panics
    /// Panics if the configuration is outside UFSHCI's limits.
    pub fn new(config: &Config) -> Ufshci {
        assert!(config.ufshci.region > 0, "memory regions of no bytes");
        assert!(config.ufshci.dma > 0, "a DMA that moves nothing");
        let interrupting = !config.completion.is_polling();
        let aggregation = config.ufshci.aggregation;
        Ufshci {
            slots: Slots::new(config, config.ufshci.queues, config.ufshci.invalidation_512kib),
            read: Channel::default(),
            write: Channel::default(),
            // A polling driver needs no aggregation, and a threshold of one is none.
            aggregation: (interrupting && aggregation.threshold > 1).then_some(aggregation),
            controller: config.ufshci.clone(),
            untold: 0,
            epoch: 0,
            interrupting,
            interrupts: 0,
        }
    }

    /// Accepts a request of `job`. [`issue`](Self::issue) must be called afterwards.
    pub fn submit(&mut self, io: u32, job: u16, request: Request) {
        self.slots.open(io, job, request);
    }

    /// Returns the next command, if a request waits and a slot is free. Must be called until it returns `None`, after
    /// each submission and each end of a command. The command's doorbell is a bit of UTRLDBR or its queue's tail, which the
    /// controller sees after the time of a register write.
    pub fn issue(&mut self, now: Time, s: &mut impl Schedule<Event>) -> Option<Submission> {
        self.slots.first()?;
        (!self.slots.is_full()).then(|| self.slots.take(now, s))
    }

    /// Returns the time from the driver's write of a register until the controller sees it.
    pub fn register_write(&self) -> Time {
        self.controller.register_write
    }

    /// Lets the controller read the descriptor of the command in `slot`. Returns the time of its arrival.
    pub fn read_descriptor(&mut self, now: Time, slot: u16, s: &mut impl Schedule<Event>) -> Time {
        self.read_memory(now, slot, DESCRIPTOR, "descriptor", s)
    }

    /// Lets the controller read the command in `slot` and the table of its memory regions. Returns the time of their
    /// arrival.
    pub fn read_command(&mut self, now: Time, slot: u16, s: &mut impl Schedule<Event>) -> Time {
        let Request { op, bytes, .. } = self.slots.request(slot);
        let regions = match op {
            Op::Read | Op::Write => bytes.div_ceil(self.controller.region),
            Op::Trim => 1,
            _ => 0,
        };
        self.read_memory(now, slot, UPIU + REGION * regions, "command", s)
    }

    /// Lets the controller read `bytes` of data of the command in `slot`. Returns the time of their arrival.
    pub fn read_data(&mut self, now: Time, slot: u16, bytes: u32, s: &mut impl Schedule<Event>) -> Time {
        self.read_memory(now, slot, u64::from(bytes), "data", s)
    }

    fn read_memory(
        &mut self,
        now: Time,
        slot: u16,
        bytes: u64,
        name: &'static str,
        s: &mut impl Schedule<Event>,
    ) -> Time {
        let (from, to) = self.read.take(now, Time::of_transfer(bytes, self.controller.dma));
        s.served(self.track(0), Client::Request(self.slots.io(slot)), name, now, Span { from, to });
        to + self.controller.memory_latency
    }

    /// Writes `bytes` of data of the command in `slot` to memory, which arrive at `at`, now or later. Later data from the
    /// device must not arrive before them.
    pub fn write_data(&mut self, at: Time, slot: u16, bytes: u32, s: &mut impl Schedule<Event>) {
        self.write_memory(at, Client::Command(slot.into()), u64::from(bytes), "data", s);
    }

    fn write_memory(
        &mut self,
        at: Time,
        client: Client,
        bytes: u64,
        name: &'static str,
        s: &mut impl Schedule<Event>,
    ) -> Time {
        let (from, to) = self.write.take(at, Time::of_transfer(bytes, self.controller.dma));
        s.served(self.track(1), client, name, at, Span { from, to });
        to + self.controller.memory_latency
    }

    /// Handles a command's response of `bytes`, which arrives at `at`, now or later. It is written after the data,
    /// followed by the status in the descriptor or an entry in a completion queue, and the controller interrupts or counts
    /// the completion. If this starts an aggregation time, returns its end and epoch.
    pub fn response(
        &mut self,
        now: Time,
        slot: u16,
        status: Status,
        (at, bytes): (Time, u32),
        s: &mut impl Schedule<Event>,
    ) -> Option<(Time, u16)> {
        let client = Client::Request(self.slots.io(slot));
        let visible = self.write_memory(at, client, u64::from(bytes) + DESCRIPTOR, "response", s);
        let Some(Aggregation { threshold, time }) = self.aggregation else {
            self.interrupts += u64::from(self.interrupting);
            self.slots.ended(now, slot, status, (visible, true), s);
            return None;
        };
        self.untold += 1;
        let due = self.untold >= threshold;
        self.interrupts += u64::from(due);
        if self.slots.ended(now, slot, status, (visible, due), s) {
            self.seen();
        }
        (self.untold == 1).then_some((visible + time, self.epoch))
    }

    /// Handles the end of the aggregation time of `epoch`: the controller interrupts unless the driver has seen the
    /// completions.
    pub fn aggregated(&mut self, now: Time, epoch: u16, s: &mut impl Schedule<Event>) {
        if self.epoch == epoch && self.untold > 0 {
            self.interrupts += 1;
            self.slots.interrupt(now, now, s);
            self.seen();
        }
    }

    /// Records that the driver has seen the completions, after resetting the aggregation's counter and timer
    /// (UTRIACR.CTR).
    fn seen(&mut self) {
        self.untold = 0;
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Returns the request of the command in `slot`.
    pub fn request(&self, slot: u16) -> Request {
        self.slots.request(slot)
    }

    /// Returns the request that the command in `slot` is, or is part of.
    pub fn io(&self, slot: u16) -> u32 {
        self.slots.io(slot)
    }

    /// Returns the number of slots with a command.
    pub fn slots_taken(&self) -> u32 {
        self.slots.taken()
    }

    /// Returns the number of requests that found all slots taken.
    pub fn waited(&self) -> u64 {
        self.slots.waited()
    }

    /// Returns the number of interrupts.
    pub fn interrupts(&self) -> u64 {
        self.interrupts
    }

    fn track(&self, channel: u32) -> Track {
        Track(u32::from(self.slots.cores.count()) * 2 + channel)
    }

    /// Returns the names of the timeline's rows: cores, then the controller's reads and writes of memory.
    pub fn tracks(&self) -> Vec<String> {
        let mut names = self.slots.cores.tracks();
        names.extend(["memory read", "memory write"].map(str::to_owned));
        names
    }

    /// Returns the busy times until `now` of every core and of the controller's reads and writes of memory.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        let mut busy = self.slots.cores.busy(now);
        busy.push(("memory read".to_owned(), self.read.busy(now)));
        busy.push(("memory write".to_owned(), self.write.busy(now)));
        busy
    }

    /// Drops all state. Returns the requests that will never complete.
    pub fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.read.power_cut(now);
        self.write.power_cut(now);
        self.seen();
        self.slots.power_cut(now)
    }
}

impl Part for Ufshci {
    type Event = Event;
    type Output = Option<Completed>;

    /// Handles the end of the driver's processing of a completion.
    #[inline]
    fn handle(&mut self, _: Time, event: Event, _: &mut impl Schedule<Event>, out: &mut Option<Completed>) {
        *out = self.slots.reaped(event);
    }
}
