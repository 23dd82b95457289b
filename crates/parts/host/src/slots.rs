//! The part of a driver that host controllers with command slots have in common: a bit a command by which the driver
//! hands it over, and by whose going it finds that it has ended. AHCI and UFSHCI are of that kind.

use media::{Op, Request, Status};
use sim::{Schedule, Time};

use crate::caches::maintenance;
use crate::cores::Cores;
use crate::requests::{NOBODY, Requests, Waiting};
use crate::vector::{Run, Vector};
use crate::{Completed, Completion, Config, Event, REAPED, Submission};

/// Most slots: a register has 32 bits (AHCI 1.3.1, 1.1; UFSHCI 2.0, JESD223B, UTRLDBR).
pub const SLOTS: u32 = 32;

/// A command in a slot.
#[derive(Clone, Copy, Debug)]
struct Command {
    request: Request,
    io: u32,
    core: u16,
    status: Status,
    /// When its end is visible in the controller's registers.
    visible: Time,
}

/// Command slots, the requests that wait for one, and the handler that looks for slots that have ended.
#[derive(Clone, Debug)]
pub struct Slots {
    pub(crate) cores: Cores,
    requests: Requests,
    waiting: Waiting,
    commands: [Command; SLOTS as usize],
    /// Slots, a bit each: without a command; with a command that has ended and that the driver has not seen.
    free: u32,
    ended: u32,
    /// All slots that are used.
    all: u32,
    vector: Vector,
    submit: Time,
    complete: Time,
    /// CPU time to maintain 512 KiB of the caches.
    invalidation: Time,
    completion: Completion,
    waited: u64,
}

impl Slots {
    /// Free slots. The driver spends `invalidation` for each 512 KiB of caches that do not see the controller's accesses.
    ///
    /// # Panics
    /// If there are none, or more than a register has.
    pub fn new(config: &Config, invalidation: Time) -> Slots {
        let depth = config.queue_depth;
        assert!((1..=SLOTS).contains(&depth), "{depth} command slots, expected 1 to {SLOTS}");
        let all = u32::MAX >> (SLOTS - depth);
        let command = Command { request: Request::flush(), io: 0, core: 0, status: Status::Ok, visible: Time::ZERO };
        let polling = matches!(config.completion, Completion::Polling { .. });
        Slots {
            cores: Cores::new(config.cores, polling),
            requests: Requests::new(config.max_transfer),
            waiting: NOBODY,
            commands: [command; SLOTS as usize],
            free: all,
            ended: 0,
            all,
            vector: Vector::new(0),
            submit: config.submit,
            complete: config.complete,
            invalidation,
            completion: config.completion,
            waited: 0,
        }
    }

    /// A request of `job` comes.
    pub fn open(&mut self, io: u32, job: u16, request: Request) {
        self.waited += u64::from(self.free == 0);
        self.requests.open(io, self.cores.of(job), request, &mut self.waiting);
    }

    /// What the request asks that waits longest.
    pub fn first(&self) -> Option<Request> {
        self.waiting.first().map(|io| self.requests.request(io))
    }

    /// No slot is free.
    pub fn is_full(&self) -> bool {
        self.free == 0
    }

    /// All slots are free.
    pub fn is_empty(&self) -> bool {
        self.free == self.all
    }

    /// Slots with a command.
    pub fn taken(&self) -> u32 {
        (self.all & !self.free).count_ones()
    }

    /// The next command of the request that waits longest takes a slot; its core hands it over.
    ///
    /// # Panics
    /// If nothing waits or no slot is free.
    pub fn take(&mut self, now: Time, s: &mut impl Schedule<Event>) -> Submission {
        let io = self.waiting.first().expect("a request waits");
        assert!(self.free != 0, "a slot is free");
        let slot = self.free.trailing_zeros();
        self.free &= !(1 << slot);
        let core = self.requests.core(io);
        let next = self.requests.next(io);
        let moves = matches!(next.op, Op::Read | Op::Write);
        let cost = self.submit + if moves { maintenance(self.invalidation, next.bytes) } else { Time::ZERO };
        let at = self.cores.submit(now, core, cost, s);
        let request = self.requests.take(&mut self.waiting, at);
        self.commands[slot as usize] = Command { request, io, core, status: Status::Ok, visible: Time::ZERO };
        Submission { cid: slot as u16, at, prompt: at == now + cost, request }
    }

    /// What the command in `slot` asks.
    pub fn request(&self, slot: u16) -> Request {
        self.commands[slot as usize].request
    }

    /// The request that the command in `slot` is (part) of.
    pub fn io(&self, slot: u16) -> u32 {
        self.commands[slot as usize].io
    }

    /// The command in `slot` has ended; the controller's registers show it from `visible` on, and it interrupts if
    /// `interrupts` and the driver does not poll. True if the driver has looked.
    pub fn ended(
        &mut self,
        now: Time,
        slot: u16,
        status: Status,
        (visible, interrupts): (Time, bool),
        s: &mut impl Schedule<Event>,
    ) -> bool {
        assert!(self.free & 1 << slot == 0 && self.ended & 1 << slot == 0, "slot {slot} has no command to end");
        self.ended |= 1 << slot;
        let command = &mut self.commands[slot as usize];
        (command.status, command.visible) = (status, visible);
        match self.completion {
            Completion::Polling { delay } => {
                self.reap(now, Run { at: visible + delay, entry: Time::ZERO }, s);
                true
            }
            Completion::Interrupt { delivery, handler } => {
                let raised = if interrupts { self.vector.raised(visible + delivery, handler) } else { None };
                let looks = self.vector.looks(visible);
                if looks {
                    self.reap(now, Run { at: visible, entry: Time::ZERO }, s);
                }
                if let Some(run) = raised {
                    self.reap(now, Run { at: run.at.max(self.vector.ends()), ..run }, s);
                }
                looks || interrupts
            }
        }
    }

    /// The controller interrupts at `at` for commands that have ended before.
    ///
    /// # Panics
    /// If the driver polls.
    pub fn interrupt(&mut self, now: Time, at: Time, s: &mut impl Schedule<Event>) {
        let Completion::Interrupt { delivery, handler } = self.completion else {
            panic!("an interrupt to a driver that polls")
        };
        if let Some(run) = self.vector.raised(at + delivery, handler) {
            self.reap(now, Run { at: run.at.max(self.vector.ends()), ..run }, s);
        }
    }

    /// Processes all slots that have ended.
    fn reap(&mut self, now: Time, mut run: Run, s: &mut impl Schedule<Event>) {
        while self.ended != 0 {
            let slot = self.ended.trailing_zeros();
            self.ended &= !(1 << slot);
            let Command { core, visible, request, .. } = self.commands[slot as usize];
            run.at = run.at.max(visible);
            // What was fetched ahead while the data were on their way is dropped.
            let read = request.op == Op::Read;
            let cost = self.complete + if read { maintenance(self.invalidation, request.bytes) } else { Time::ZERO };
            let done = self.vector.complete(now, &mut run, (core, cost), &mut self.cores, s);
            s.at(REAPED, done, Event { queue: 0, cid: slot as u16 });
        }
        self.vector.enter(now, &mut run, &mut self.cores, s);
    }

    /// The driver has processed the end of a command. Returns the request's end if it was its last.
    pub fn reaped(&mut self, event: Event) -> Option<Completed> {
        self.free |= 1 << event.cid;
        let command = self.commands[event.cid as usize];
        self.requests.ended(command.io, command.status)
    }

    /// Requests that found all slots taken when they came.
    pub fn waited(&self) -> u64 {
        self.waited
    }

    /// All is gone. Returns the requests that will have no end.
    pub fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.cores.power_cut(now);
        (self.waiting, self.free, self.ended) = (NOBODY, self.all, 0);
        self.vector = Vector::new(0);
        self.requests.power_cut()
    }
}
