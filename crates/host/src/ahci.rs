//! An AHCI host bus adapter with one port, and its driver in the manner of Linux's libata: 32 command slots, native
//! command queuing, commands that are not queued issued alone.

use media::{Op, Request, Status};
use sim::{Schedule, Time, Track};

use crate::cores::Cores;
use crate::requests::{NOBODY, Requests, Waiting};
use crate::vector::{Run, Vector};
use crate::{AhciConfig, Completed, Completion, Config, Event, REAPED, Submission};

/// Command slots of a port (AHCI 1.3.1, 1.1).
pub const SLOTS: u32 = 32;

/// A command in a slot.
#[derive(Clone, Copy, Debug)]
struct Command {
    request: Request,
    io: u32,
    core: u16,
    status: Status,
    /// When its end is visible in the port's registers.
    visible: Time,
}

/// A host bus adapter's port and its driver.
#[derive(Clone, Debug)]
pub struct Ahci {
    cores: Cores,
    requests: Requests,
    waiting: Waiting,
    commands: [Command; SLOTS as usize],
    /// Slots, a bit each: without a command; with a command that has ended and that the driver has not seen (PxIS set,
    /// PxSACT or PxCI clear).
    free: u32,
    ended: u32,
    /// All slots that are used.
    slots: u32,
    /// A command that is not queued is in the device.
    alone: bool,
    vector: Vector,
    /// When the adapter has read the tables of all commands issued so far.
    fetched: Time,
    fetching: Time,
    adapter: AhciConfig,
    submit: Time,
    complete: Time,
    completion: Completion,
    waited: u64,
}

impl Ahci {
    /// An idle host.
    ///
    /// # Panics
    /// If the configuration is none that AHCI has.
    pub fn new(config: &Config) -> Ahci {
        let depth = config.queue_depth;
        assert!((1..=SLOTS).contains(&depth), "{depth} command slots, expected 1 to {SLOTS}");
        assert!(config.ahci.region > 0, "memory regions of no bytes");
        let slots = u32::MAX >> (SLOTS - depth);
        let command = Command { request: Request::flush(), io: 0, core: 0, status: Status::Ok, visible: Time::ZERO };
        let polling = matches!(config.completion, Completion::Polling { .. });
        Ahci {
            cores: Cores::new(config.cores, polling),
            requests: Requests::new(config.max_transfer),
            waiting: NOBODY,
            commands: [command; SLOTS as usize],
            free: slots,
            ended: 0,
            slots,
            alone: false,
            vector: Vector::new(0),
            fetched: Time::ZERO,
            fetching: Time::ZERO,
            adapter: config.ahci.clone(),
            submit: config.submit,
            complete: config.complete,
            completion: config.completion,
            waited: 0,
        }
    }

    /// A request of `job`. [`issue`](Self::issue) is to be called after it.
    pub fn submit(&mut self, io: u32, job: u16, request: Request) {
        self.waited += u64::from(self.free == 0);
        self.requests.open(io, self.cores.of(job), request, &mut self.waiting);
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
        let io = self.waiting.first()?;
        let alone = self.is_alone(self.requests.request(io).op);
        if self.free == 0 || self.alone || (alone && self.free != self.slots) {
            return None;
        }
        let slot = self.free.trailing_zeros();
        self.free &= !(1 << slot);
        self.alone = alone;
        let core = self.requests.core(io);
        let at = self.cores.submit(now, core, self.submit, s);
        let request = self.requests.take(&mut self.waiting, at);
        self.commands[slot as usize] = Command { request, io, core, status: Status::Ok, visible: Time::ZERO };
        Some(Submission { cid: slot as u16, at, prompt: at == now + self.submit, request })
    }

    /// From the driver's write of a register to the adapter's seeing it.
    pub fn register_write(&self) -> Time {
        self.adapter.register_write
    }

    /// The adapter reads the command in `slot`. Returns when it has it and can send it.
    pub fn fetch(&mut self, now: Time, slot: u16, s: &mut impl Schedule<Event>) -> Time {
        let bytes = self.commands[slot as usize].request.bytes;
        let moves = matches!(self.commands[slot as usize].request.op, Op::Read | Op::Write);
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
        self.commands[slot as usize].request
    }

    /// The request that the command in `slot` is (part) of.
    pub fn io(&self, slot: u16) -> u32 {
        self.commands[slot as usize].io
    }

    /// The device has told the adapter that the command in `slot` has ended; the port's registers show it from
    /// `visible` on, and the adapter interrupts.
    pub fn completion(&mut self, now: Time, slot: u16, status: Status, visible: Time, s: &mut impl Schedule<Event>) {
        assert!(self.free & 1 << slot == 0 && self.ended & 1 << slot == 0, "slot {slot} has no command to end");
        self.ended |= 1 << slot;
        let command = &mut self.commands[slot as usize];
        (command.status, command.visible) = (status, visible);
        match self.completion {
            Completion::Polling { delay } => self.reap(now, Run { at: visible + delay, entry: Time::ZERO }, s),
            Completion::Interrupt { delivery, handler } => {
                let raised = self.vector.raised(visible + delivery, handler);
                if self.vector.looks(visible) {
                    self.reap(now, Run { at: visible, entry: Time::ZERO }, s);
                }
                if let Some(run) = raised {
                    self.reap(now, Run { at: run.at.max(self.vector.ends()), ..run }, s);
                }
            }
        }
    }

    /// Processes all slots that have ended.
    fn reap(&mut self, now: Time, mut run: Run, s: &mut impl Schedule<Event>) {
        while self.ended != 0 {
            let slot = self.ended.trailing_zeros();
            self.ended &= !(1 << slot);
            let Command { core, visible, .. } = self.commands[slot as usize];
            run.at = run.at.max(visible);
            let done = self.vector.complete(now, &mut run, (core, self.complete), &mut self.cores, s);
            s.at(REAPED, done, Event { queue: 0, cid: slot as u16 });
        }
        self.vector.enter(now, &mut run, &mut self.cores, s);
    }

    /// The driver has processed the end of a command. Returns the request's end if it was its last.
    pub fn reaped(&mut self, event: Event) -> Option<Completed> {
        self.free |= 1 << event.cid;
        self.alone = false;
        let command = self.commands[event.cid as usize];
        self.requests.ended(command.io, command.status)
    }

    /// Requests that found all slots taken when they came.
    pub fn waited(&self) -> u64 {
        self.waited
    }

    fn track(&self) -> Track {
        Track(u32::from(self.cores.count()) * 2)
    }

    /// Names of what shows on a timeline: cores, then the adapter.
    pub fn tracks(&self) -> Vec<String> {
        let mut names = self.cores.tracks();
        names.push("adapter".to_owned());
        names
    }

    /// Every core, then the adapter, and its busy time until `now`.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        let mut busy = self.cores.busy(now);
        busy.push(("adapter".to_owned(), self.fetching.saturating_sub(self.fetched.saturating_sub(now))));
        busy
    }

    /// All is gone. Returns the requests that will have no end.
    pub fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.cores.power_cut(now);
        self.fetching -= self.fetched.saturating_sub(now);
        self.fetched = self.fetched.min(now);
        (self.waiting, self.free, self.ended, self.alone) = (NOBODY, self.slots, 0, false);
        self.vector = Vector::new(0);
        self.requests.power_cut()
    }
}
