//! An AHCI host bus adapter with one port, and its driver in the manner of Linux's libata: 32 command slots, native
//! command queuing, commands that are not queued issued alone.

use media::{Op, Request, Status};
use sim::{Schedule, Time, Track};

use crate::slots::Slots;
use crate::{AhciConfig, Completed, Config, Event, Submission};

/// A host bus adapter's port and its driver. A slot's end shows in the port's registers: PxIS set, PxSACT or PxCI clear.
#[derive(Clone, Debug)]
pub struct Ahci {
    slots: Slots,
    /// A command that is not queued is in the device.
    alone: bool,
    /// When the adapter has read the tables of all commands issued so far.
    fetched: Time,
    fetching: Time,
    adapter: AhciConfig,
}

impl Ahci {
    /// An idle host.
    ///
    /// # Panics
    /// If the configuration is none that AHCI has.
    pub fn new(config: &Config) -> Ahci {
        assert!(config.ahci.region > 0, "memory regions of no bytes");
        Ahci {
            slots: Slots::new(config, Time::ZERO),
            alone: false,
            fetched: Time::ZERO,
            fetching: Time::ZERO,
            adapter: config.ahci.clone(),
        }
    }

    /// A request of `job`. [`issue`](Self::issue) is to be called after it.
    pub fn submit(&mut self, io: u32, job: u16, request: Request) {
        self.slots.open(io, job, request);
    }

    /// True if a command of this kind must be alone in the device.
    #[inline]
    pub fn is_alone(&self, op: Op) -> bool {
        match op {
            Op::Read | Op::Write => false,
            Op::Trim => !self.adapter.queued_trim,
            Op::Flush => true,
        }
    }

    /// The next command that may go to the device, if any. To be called until there is none, after each submission and
    /// each end of a command. Its doorbell is PxCI; the adapter sees it a register write later.
    pub fn issue(&mut self, now: Time, s: &mut impl Schedule<Event>) -> Option<Submission> {
        let alone = self.is_alone(self.slots.first()?.op);
        if self.slots.is_full() || self.alone || (alone && !self.slots.is_empty()) {
            return None;
        }
        self.alone = alone;
        Some(self.slots.take(now, s))
    }

    /// From the driver's write of a register to the adapter's seeing it.
    pub fn register_write(&self) -> Time {
        self.adapter.register_write
    }

    /// The adapter reads the command in `slot`. Returns when it has it and can send it.
    pub fn fetch(&mut self, now: Time, slot: u16, s: &mut impl Schedule<Event>) -> Time {
        let Request { op, bytes, .. } = self.slots.request(slot);
        let moves = matches!(op, Op::Read | Op::Write);
        let regions = if moves { bytes.div_ceil(self.adapter.region) } else { 0 };
        let length = self.adapter.command_fetch + self.adapter.region_fetch * regions;
        let from = now.max(self.fetched);
        self.fetched = from + length;
        self.fetching += length;
        s.span(self.track(), "fetch", from, self.fetched);
        self.fetched
    }

    /// What the command in `slot` asks.
    pub fn request(&self, slot: u16) -> Request {
        self.slots.request(slot)
    }

    /// The request that the command in `slot` is (part) of.
    pub fn io(&self, slot: u16) -> u32 {
        self.slots.io(slot)
    }

    /// The device has told the adapter that the command in `slot` has ended; the port's registers show it from
    /// `visible` on, and the adapter interrupts.
    pub fn completion(&mut self, now: Time, slot: u16, status: Status, visible: Time, s: &mut impl Schedule<Event>) {
        self.slots.ended(now, slot, status, (visible, true), s);
    }

    /// The driver has processed the end of a command. Returns the request's end if it was its last.
    pub fn reaped(&mut self, event: Event) -> Option<Completed> {
        self.alone = false;
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

    fn track(&self) -> Track {
        Track(u32::from(self.slots.cores.count()) * 2)
    }

    /// Names of what shows on a timeline: cores, then the adapter.
    pub fn tracks(&self) -> Vec<String> {
        let mut names = self.slots.cores.tracks();
        names.push("adapter".to_owned());
        names
    }

    /// Every core, then the adapter, and its busy time until `now`.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        let mut busy = self.slots.cores.busy(now);
        busy.push(("adapter".to_owned(), self.fetching.saturating_sub(self.fetched.saturating_sub(now))));
        busy
    }

    /// All is gone. Returns the requests that will have no end.
    pub fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.fetching -= self.fetched.saturating_sub(now);
        self.fetched = self.fetched.min(now);
        self.alone = false;
        self.slots.power_cut(now)
    }
}
