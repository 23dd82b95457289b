//! A UFS host controller (UFSHCI 2.0, JESD223B) and its driver in the manner of Linux's ufshcd: one list of 32 transfer
//! requests, a doorbell register with a bit for each, a DMA engine that reads and writes memory for the device.

use media::{Op, Request, Status};
use sim::{Schedule, Time, Track};

use crate::slots::Slots;
use crate::{Aggregation, Completed, Completion, Config, Event, Submission, UfshciConfig};

/// Bytes of a UTP transfer request descriptor, the entry of the list (JESD223B, 6.1.1).
const DESCRIPTOR: u64 = 32;
/// Bytes of a UPIU without data, as it lies in a UTP command descriptor (6.1.2).
const UPIU: u64 = 32;
/// Bytes of an entry of the physical region description table (6.1.2).
const REGION: u64 = 16;

/// One direction of the controller's way to memory: bytes in order, each access late by memory's latency.
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    free: Time,
    busy: Time,
}

impl Channel {
    /// An access due at `at`; whoever comes after must not be due before it. Returns its time on the bus.
    fn take(&mut self, at: Time, length: Time) -> (Time, Time) {
        let from = at.max(self.free);
        self.free = from + length;
        self.busy += length;
        (from, self.free)
    }

    /// Busy time until `now`; what is accepted for later is not in it.
    ///
    /// # Panics
    /// If that is more than has passed: the model is broken.
    fn busy(&self, now: Time) -> Time {
        let busy = self.busy.saturating_sub(self.free.saturating_sub(now));
        assert!(busy <= now, "busy for {busy} in {now}");
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
    /// Ends that no interrupt has told of, and which series of them it is.
    untold: u32,
    epoch: u16,
    interrupting: bool,
    interrupts: u64,
}

impl Ufshci {
    /// An idle host.
    ///
    /// # Panics
    /// If the configuration is none that UFSHCI has.
    pub fn new(config: &Config) -> Ufshci {
        assert!(config.ufshci.region > 0, "memory regions of no bytes");
        assert!(config.ufshci.dma > 0, "a DMA that moves nothing");
        let interrupting = matches!(config.completion, Completion::Interrupt { .. });
        Ufshci {
            slots: Slots::new(config, config.ufshci.invalidation_512kib),
            read: Channel::default(),
            write: Channel::default(),
            // Where the driver polls there is nothing to aggregate; of one there is nothing to wait for.
            aggregation: config.ufshci.aggregation.filter(|a| interrupting && a.threshold > 1),
            controller: config.ufshci.clone(),
            untold: 0,
            epoch: 0,
            interrupting,
            interrupts: 0,
        }
    }

    /// A request of `job`. [`issue`](Self::issue) is to be called after it.
    pub fn submit(&mut self, io: u32, job: u16, request: Request) {
        self.slots.open(io, job, request);
    }

    /// The next command, if any that waits finds a slot. To be called until there is none, after each submission and
    /// each end of a command. Its doorbell is a bit of UTRLDBR; the controller sees it a register write later.
    pub fn issue(&mut self, now: Time, s: &mut impl Schedule<Event>) -> Option<Submission> {
        self.slots.first()?;
        (!self.slots.is_full()).then(|| self.slots.take(now, s))
    }

    /// From the driver's write of a register to the controller's seeing it.
    pub fn register_write(&self) -> Time {
        self.controller.register_write
    }

    /// The controller reads a transfer request's descriptor. Returns when it has it and knows where the rest is.
    pub fn read_descriptor(&mut self, now: Time, s: &mut impl Schedule<Event>) -> Time {
        self.read_memory(now, DESCRIPTOR, "descriptor", s)
    }

    /// The controller reads the command in `slot` and the table of its memory regions. Returns when it has them.
    pub fn read_command(&mut self, now: Time, slot: u16, s: &mut impl Schedule<Event>) -> Time {
        let Request { op, bytes, .. } = self.slots.request(slot);
        let regions = match op {
            Op::Read | Op::Write => bytes.div_ceil(self.controller.region),
            Op::Trim => 1,
            Op::Flush => 0,
        };
        self.read_memory(now, UPIU + REGION * regions, "command", s)
    }

    /// The controller reads `bytes` of data. Returns when it has them.
    pub fn read_data(&mut self, now: Time, bytes: u32, s: &mut impl Schedule<Event>) -> Time {
        self.read_memory(now, u64::from(bytes), "data", s)
    }

    fn read_memory(&mut self, now: Time, bytes: u64, name: &'static str, s: &mut impl Schedule<Event>) -> Time {
        let (from, to) = self.read.take(now, Time::of_transfer(bytes, self.controller.dma));
        s.span(self.track(0), name, from, to);
        to + self.controller.memory_latency
    }

    /// `bytes` of data arrive at `at`, now or later, and are written to memory; whatever the device sends next must not
    /// arrive before them.
    pub fn write_data(&mut self, at: Time, bytes: u32, s: &mut impl Schedule<Event>) {
        self.write_memory(at, u64::from(bytes), "data", s);
    }

    fn write_memory(&mut self, at: Time, bytes: u64, name: &'static str, s: &mut impl Schedule<Event>) -> Time {
        let (from, to) = self.write.take(at, Time::of_transfer(bytes, self.controller.dma));
        s.span(self.track(1), name, from, to);
        to + self.controller.memory_latency
    }

    /// The command's response of `bytes` arrives at `at`, now or later: it is written behind the data, then the status
    /// into the descriptor; the doorbell's bit goes, and the controller interrupts, or counts. Returns the end of the
    /// aggregation time that starts with it, and its epoch, if one starts.
    pub fn response(
        &mut self,
        now: Time,
        slot: u16,
        status: Status,
        (at, bytes): (Time, u32),
        s: &mut impl Schedule<Event>,
    ) -> Option<(Time, u16)> {
        let visible = self.write_memory(at, u64::from(bytes) + DESCRIPTOR, "response", s);
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

    /// The aggregation time that began in `epoch` is over: the controller interrupts, if the driver has not looked.
    pub fn aggregated(&mut self, now: Time, epoch: u16, s: &mut impl Schedule<Event>) {
        if self.epoch == epoch && self.untold > 0 {
            self.interrupts += 1;
            self.slots.interrupt(now, now, s);
            self.seen();
        }
    }

    /// The driver has looked, and has reset the aggregation's counter and time before (UTRIACR.CTR).
    fn seen(&mut self) {
        self.untold = 0;
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// What the command in `slot` asks.
    pub fn request(&self, slot: u16) -> Request {
        self.slots.request(slot)
    }

    /// The request that the command in `slot` is (part) of.
    pub fn io(&self, slot: u16) -> u32 {
        self.slots.io(slot)
    }

    /// The driver has processed the end of a command. Returns the request's end if it was its last.
    pub fn reaped(&mut self, event: Event) -> Option<Completed> {
        self.slots.reaped(event)
    }

    /// Slots with a command.
    pub fn slots_taken(&self) -> u32 {
        self.slots.taken()
    }

    /// Requests that found all slots taken when they came.
    pub fn waited(&self) -> u64 {
        self.slots.waited()
    }

    /// Interrupts so far.
    pub fn interrupts(&self) -> u64 {
        self.interrupts
    }

    fn track(&self, channel: u32) -> Track {
        Track(u32::from(self.slots.cores.count()) * 2 + channel)
    }

    /// Names of what shows on a timeline: cores, then the controller's reads and writes of memory.
    pub fn tracks(&self) -> Vec<String> {
        let mut names = self.slots.cores.tracks();
        names.extend(["memory read", "memory write"].map(str::to_owned));
        names
    }

    /// Every core, then the controller's reads and writes of memory, and its busy time until `now`.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        let mut busy = self.slots.cores.busy(now);
        busy.push(("memory read".to_owned(), self.read.busy(now)));
        busy.push(("memory write".to_owned(), self.write.busy(now)));
        busy
    }

    /// All is gone. Returns the requests that will have no end.
    pub fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.read.power_cut(now);
        self.write.power_cut(now);
        self.seen();
        self.slots.power_cut(now)
    }
}
