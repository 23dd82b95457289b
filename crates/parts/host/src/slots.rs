//! The driver's side of host controllers with command slots, AHCI and UFSHCI: the driver sets a register bit to issue a
//! command, and the controller clears it when the command has ended.

use media::{Op, Request, Status};
use sim::{Schedule, Time};

use crate::caches::maintenance;
use crate::cores::Cores;
use crate::dma::SLOTS;
use crate::requests::{NOBODY, Requests, Waiting};
use crate::vector::{Run, Vector};
use crate::{Completed, Completion, Config, Detection, Event, REAPED, Submission};

/// A command in a slot.
#[derive(Clone, Copy, Debug)]
struct SlotCommand {
    request: Request,
    io: u32,
    core: u16,
    status: Status,
    /// Time at which its end is visible in the controller's registers.
    visible: Time,
}

/// Command slots, the requests that wait for one, and the interrupt handler that finds ended slots.
#[derive(Clone, Debug)]
pub struct Slots {
    pub(crate) cores: Cores,
    requests: Requests,
    waiting: Waiting,
    commands: [SlotCommand; SLOTS as usize],
    /// Bit masks of slots: those without a command, and those whose command has ended unseen by the driver.
    free: u32,
    ended: u32,
    /// Bit mask of all slots in use.
    all: u32,
    vector: Vector,
    submit: Time,
    complete: Time,
    /// CPU time to maintain 512 KiB of caches.
    invalidation: Time,
    completion: Completion,
    waited: u64,
}

impl Slots {
    /// Exchanges the processor's cores with those of another driver.
    pub(crate) fn swap_cores(&mut self, other: &mut Slots) {
        std::mem::swap(&mut self.cores, &mut other.cores);
    }

    /// Creates free slots. The driver spends `invalidation` per 512 KiB of caches that are not coherent with the
    /// controller.
    ///
    /// # Panics
    /// Panics if there are no slots or more than a register has.
    pub fn new(config: &Config, invalidation: Time) -> Slots {
        let depth = config.queue_depth;
        assert!((1..=SLOTS).contains(&depth), "{depth} command slots, expected 1 to {SLOTS}");
        let all = u32::MAX >> (SLOTS - depth);
        let command =
            SlotCommand { request: Request::flush(), io: 0, core: 0, status: Status::Ok, visible: Time::ZERO };
        Slots {
            cores: Cores::new(config.cores, config.completion.is_polling()),
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

    /// Accepts a request of `job`.
    pub fn open(&mut self, io: u32, job: u16, request: Request) {
        self.waited += u64::from(self.free == 0);
        self.requests.open(io, self.cores.of(job), request, &mut self.waiting);
    }

    /// Returns the operation and range of the request that has waited longest.
    pub fn first(&self) -> Option<Request> {
        self.waiting.first().map(|io| self.requests.request(io))
    }

    /// Returns true if no slot is free.
    pub fn is_full(&self) -> bool {
        self.free == 0
    }

    /// Returns true if all slots are free.
    pub fn is_empty(&self) -> bool {
        self.free == self.all
    }

    /// Returns the number of slots with a command.
    pub fn taken(&self) -> u32 {
        (self.all & !self.free).count_ones()
    }

    /// Assigns a slot to the next command of the request that has waited longest; the request's core submits it.
    ///
    /// # Panics
    /// Panics if no request waits or no slot is free.
    pub fn take(&mut self, now: Time, s: &mut impl Schedule<Event>) -> Submission {
        let io = self.waiting.first().expect("a request waits");
        assert!(self.free != 0, "a slot is free");
        let slot = self.free.trailing_zeros();
        self.free &= !(1 << slot);
        let core = self.requests.core(io);
        let next = self.requests.next(io);
        let moves = next.op.has_data();
        let cost = self.submit + if moves { maintenance(self.invalidation, next.bytes) } else { Time::ZERO };
        let at = self.cores.submit(now, (core, io), cost, s);
        let request = self.requests.take(&mut self.waiting, at);
        self.commands[slot as usize] = SlotCommand { request, io, core, status: Status::Ok, visible: Time::ZERO };
        Submission { cid: slot as u16, at, in_order: at == now + cost, request }
    }

    /// Returns the request of the command in `slot`.
    pub fn request(&self, slot: u16) -> Request {
        self.commands[slot as usize].request
    }

    /// Returns the request that the command in `slot` is, or is part of.
    pub fn io(&self, slot: u16) -> u32 {
        self.commands[slot as usize].io
    }

    /// Handles the end of the command in `slot`. The controller's registers show it from `visible` on, and an interrupt
    /// follows if `interrupts` is set and the driver does not poll. Returns true if the driver reads the registers.
    pub fn ended(
        &mut self,
        now: Time,
        slot: u16,
        status: Status,
        (visible, interrupts): (Time, bool),
        s: &mut impl Schedule<Event>,
    ) -> bool {
        let bit = 1u32.checked_shl(slot.into()).unwrap_or(0);
        assert!(self.all & !(self.free | self.ended) & bit != 0, "slot {slot} has no command to end");
        self.ended |= bit;
        let command = &mut self.commands[slot as usize];
        (command.status, command.visible) = (status, visible);
        let Completion { by, poll, delivery, handler } = self.completion;
        match by {
            Detection::Polling => {
                self.reap(now, Run { at: visible + poll, entry: Time::ZERO }, s);
                true
            }
            Detection::Interrupt => {
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

    /// Handles an interrupt at `at` for commands that have ended before.
    ///
    /// # Panics
    /// Panics if the driver polls.
    pub fn interrupt(&mut self, now: Time, at: Time, s: &mut impl Schedule<Event>) {
        let Completion { by: Detection::Interrupt, delivery, handler, .. } = self.completion else {
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
            let SlotCommand { io, core, visible, request, .. } = self.commands[slot as usize];
            run.at = run.at.max(visible);
            // Lines prefetched while the data was in flight are dropped.
            let read = request.op == Op::Read;
            let cost = self.complete + if read { maintenance(self.invalidation, request.bytes) } else { Time::ZERO };
            let done = self.vector.complete(now, &mut run, (core, io, cost), &mut self.cores, s);
            s.at(REAPED, done, Event { queue: 0, cid: slot as u16 });
        }
        self.vector.enter(now, &mut run, &mut self.cores, s);
    }

    /// Frees the slot of a command that the driver has processed. Returns the completion of its request if it was the
    /// last.
    pub fn reaped(&mut self, event: Event) -> Option<Completed> {
        self.free |= 1 << event.cid;
        let command = self.commands[event.cid as usize];
        self.requests.ended(command.io, command.status)
    }

    /// Returns the number of requests that found all slots taken.
    pub fn waited(&self) -> u64 {
        self.waited
    }

    /// Drops all state. Returns the requests that will never complete.
    pub fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.cores.power_cut(now);
        (self.waiting, self.free, self.ended) = (NOBODY, self.all, 0);
        self.vector = Vector::new(0);
        self.requests.power_cut()
    }
}
