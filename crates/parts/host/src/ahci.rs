//! An AHCI host bus adapter with one port, and a driver modeled on Linux's libata: 32 command slots, native command
//! queuing, and commands that cannot be queued issued alone.

use media::{Op, Request, Status};
use sim::{Client, Part, Schedule, Span, Time, Track};

use crate::slots::Slots;
use crate::{AhciConfig, Completed, Config, Event, Submission};

/// Time from the driver's write of a port register until the adapter sees it. Assumed: a chipset's adapter is a few
/// hundred nanoseconds from cores and memory.
pub const REGISTER_WRITE: Time = Time::from_ns(300);
/// Time to read a command's header and table from memory, one command at a time. Assumed for the same reason.
const COMMAND_FETCH: Time = Time::from_ns(800);
/// Time to read an entry of the list of memory regions. Assumed: several 16-byte entries are read at a time.
const REGION_FETCH: Time = Time::from_ns(20);

/// A host bus adapter's port and its driver. The end of a slot's command shows in the port's registers: PxIS is set,
/// PxSACT or PxCI cleared.
#[derive(Clone, Debug)]
pub struct Ahci {
    slots: Slots,
    /// True while a command that is not queued is in the device.
    alone: bool,
    /// Time at which the adapter has read the tables of all commands issued so far.
    fetched: Time,
    fetching: Time,
    adapter: AhciConfig,
}

impl Ahci {
    /// Creates an idle host.
    ///
    /// # Panics
    /// Panics if the configuration is outside AHCI's limits.
    pub fn new(config: &Config) -> Ahci {
        assert!(config.ahci.region > 0, "memory regions of no bytes");
        Ahci {
            slots: Slots::new(config, 0, Time::ZERO),
            alone: false,
            fetched: Time::ZERO,
            fetching: Time::ZERO,
            adapter: config.ahci.clone(),
        }
    }

    /// Exchanges the processor's cores with those of another driver.
    pub fn swap_cores(&mut self, other: &mut Ahci) {
        self.slots.swap_cores(&mut other.slots);
    }

    /// Accepts a request of `job`. [`issue`](Self::issue) must be called afterwards.
    pub fn submit(&mut self, io: u32, job: u16, request: Request) {
        self.slots.open(io, job, request);
    }

    /// Returns true if a command of this kind must be alone in the device.
    #[inline]
    pub fn is_alone(&self, op: Op) -> bool {
        match op {
            Op::Read | Op::Write => false,
            Op::Trim => !self.adapter.queued_trim,
            Op::Flush | Op::Append | Op::ZoneOpen | Op::ZoneClose | Op::ZoneFinish | Op::ZoneReset => true,
        }
    }

    /// Returns the next command that may go to the device, if any. Must be called until it returns `None`, after each
    /// submission and each end of a command. The command's doorbell is PxCI, which the adapter sees after the time of a
    /// register write.
    pub fn issue(&mut self, now: Time, s: &mut impl Schedule<Event>) -> Option<Submission> {
        let alone = self.is_alone(self.slots.first()?.op);
        if self.slots.is_full() || self.alone || (alone && !self.slots.is_empty()) {
            return None;
        }
        self.alone = alone;
        Some(self.slots.take(now, s))
    }

    /// Lets the adapter read the command in `slot`. Returns the time at which the adapter can send it.
    pub fn fetch(&mut self, now: Time, slot: u16, s: &mut impl Schedule<Event>) -> Time {
        let Request { op, bytes, .. } = self.slots.request(slot);
        let moves = matches!(op, Op::Read | Op::Write);
        let regions = if moves { bytes.div_ceil(self.adapter.region) } else { 0 };
        let length = COMMAND_FETCH + REGION_FETCH * regions;
        let from = now.max(self.fetched);
        self.fetched = from + length;
        self.fetching += length;
        let client = Client::Request(self.slots.io(slot));
        s.served(self.track(), client, "fetch", now, Span { from, to: self.fetched });
        self.fetched
    }

    /// Returns the request of the command in `slot`.
    pub fn request(&self, slot: u16) -> Request {
        self.slots.request(slot)
    }

    /// Returns the request that the command in `slot` is, or is part of.
    pub fn io(&self, slot: u16) -> u32 {
        self.slots.io(slot)
    }

    /// Handles the end of the command in `slot`, reported by the device. The port's registers show it from `visible`
    /// on, and the adapter interrupts.
    pub fn completion(&mut self, now: Time, slot: u16, status: Status, visible: Time, s: &mut impl Schedule<Event>) {
        self.slots.ended(now, slot, status, (visible, true), s);
    }

    /// Returns the number of slots with a command.
    pub fn slots_taken(&self) -> u32 {
        self.slots.taken()
    }

    /// Returns the number of requests that found all slots taken.
    pub fn waited(&self) -> u64 {
        self.slots.waited()
    }

    fn track(&self) -> Track {
        Track(u32::from(self.slots.cores.count()) * 2)
    }

    /// Returns the names of the timeline's rows: cores, then the adapter.
    pub fn tracks(&self) -> Vec<String> {
        let mut names = self.slots.cores.tracks();
        names.push("adapter".to_owned());
        names
    }

    /// Returns the busy times until `now` of every core and of the adapter.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        let mut busy = self.slots.cores.busy(now);
        busy.push(("adapter".to_owned(), self.fetching.saturating_sub(self.fetched.saturating_sub(now))));
        busy
    }

    /// Drops all state. Returns the requests that will never complete.
    pub fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.fetching -= self.fetched.saturating_sub(now);
        self.fetched = self.fetched.min(now);
        self.alone = false;
        self.slots.power_cut(now)
    }
}

impl Part for Ahci {
    type Event = Event;
    type Output = Option<Completed>;

    /// Handles the end of the driver's processing of a completion.
    #[inline]
    fn handle(&mut self, _: Time, event: Event, _: &mut impl Schedule<Event>, out: &mut Option<Completed>) {
        self.alone = false;
        *out = self.slots.reaped(event);
    }
}
