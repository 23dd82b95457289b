//! The driver's side of host controllers with command slots, AHCI and UFSHCI. The driver sets a register bit to issue a
//! command, and the controller clears it when the command has ended; or it writes commands to queues, and finds those that
//! have ended in others.

use media::{Op, Request, Status};
use sim::{Schedule, Time};

use crate::caches::maintenance;
use crate::cores::Cores;
use crate::dma::SLOTS;
use crate::requests::{NOBODY, Requests, Waiting};
use crate::slot_set::{SLOTS_MAX, SlotSet};
use crate::vector::{Run, Vector};
use crate::{Completed, Completion, Config, Detection, Event, REAPED, Submission};

/// A command in a slot.
#[derive(Clone, Copy, Debug)]
struct SlotCommand {
    request: Request,
    io: u32,
    core: u16,
    status: Status,
    /// Time at which its end is visible to the driver.
    visible: Time,
}

/// Commands that have ended unseen by the driver, and their interrupt: those of the register, or of a queue.
#[derive(Clone, Copy, Debug)]
struct Ends {
    ended: SlotSet,
    vector: Vector,
}

impl Ends {
    /// Creates the empty ends of the queue `number`, which interrupts the first core that uses it.
    fn new(number: u32) -> Ends {
        Ends { ended: SlotSet::default(), vector: Vector::new(number as u16) }
    }
}

/// Command slots, the requests that wait for one, and the interrupt handler that finds ended slots.
#[derive(Clone, Debug)]
pub struct Slots {
    pub(crate) cores: Cores,
    requests: Requests,
    waiting: Waiting,
    commands: Vec<SlotCommand>,
    /// Slots without a command.
    free: SlotSet,
    /// One, or one of each queue. Core `c` uses queue `c` modulo their number.
    ends: Vec<Ends>,
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

    /// Creates free slots, whose commands end in `queues` queues or, if there are none, in a register. The driver spends
    /// `invalidation` per 512 KiB of caches that are not coherent with the controller.
    ///
    /// # Panics
    /// Panics if there are no slots or more than there may be.
    pub fn new(config: &Config, queues: u32, invalidation: Time) -> Slots {
        let (depth, most) = (config.queue_depth, if queues == 0 { SLOTS } else { SLOTS_MAX });
        assert!((1..=most).contains(&depth), "{depth} command slots, expected 1 to {most}");
        let command =
            SlotCommand { request: Request::flush(), io: 0, core: 0, status: Status::Ok, visible: Time::ZERO };
        Slots {
            cores: Cores::new(config.cores, config.completion.is_polling()),
            requests: Requests::new(config.max_transfer),
            waiting: NOBODY,
            commands: vec![command; depth as usize],
            free: SlotSet::first(depth),
            ends: (0..queues.clamp(1, config.cores)).map(Ends::new).collect(),
            submit: config.submit,
            complete: config.complete,
            invalidation,
            completion: config.completion,
            waited: 0,
        }
    }

    /// Accepts a request of `job`.
    pub fn open(&mut self, io: u32, job: u16, request: Request) {
        self.waited += u64::from(self.free.is_empty());
        self.requests.open(io, self.cores.of(job), request, &mut self.waiting);
    }

    /// Returns the operation and range of the request that has waited longest.
    pub fn first(&self) -> Option<Request> {
        self.waiting.first().map(|io| self.requests.request(io))
    }

    /// Returns true if no slot is free.
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Returns true if all slots are free.
    pub fn is_empty(&self) -> bool {
        self.taken() == 0
    }

    /// Returns the number of slots with a command.
    pub fn taken(&self) -> u32 {
        self.commands.len() as u32 - self.free.len()
    }

    /// Assigns a slot to the next command of the request that has waited longest; the request's core submits it.
    ///
    /// # Panics
    /// Panics if no request waits or no slot is free.
    pub fn take(&mut self, now: Time, s: &mut impl Schedule<Event>) -> Submission {
        let io = self.waiting.first().expect("a request waits");
        let slot = self.free.lowest().expect("a slot is free");
        self.free.remove(slot);
        let core = self.requests.core(io);
        let next = self.requests.next(io);
        let moves = next.op.has_data();
        let cost = self.submit + if moves { maintenance(self.invalidation, next.bytes) } else { Time::ZERO };
        let at = self.cores.submit(now, (core, io), cost, s);
        let request = self.requests.take(&mut self.waiting, at);
        self.commands[usize::from(slot)] = SlotCommand { request, io, core, status: Status::Ok, visible: Time::ZERO };
        Submission { cid: slot, at, in_order: at == now + cost, request }
    }

    /// Returns the request of the command in `slot`.
    pub fn request(&self, slot: u16) -> Request {
        self.commands[slot as usize].request
    }

    /// Returns the request that the command in `slot` is, or is part of.
    pub fn io(&self, slot: u16) -> u32 {
        self.commands[slot as usize].io
    }

    /// Handles the end of the command in `slot`. Register or queue show it from `visible` on, and an interrupt follows if
    /// `interrupts` is set and the driver does not poll. Returns true if the driver looks.
    pub fn ended(
        &mut self,
        now: Time,
        slot: u16,
        status: Status,
        (visible, interrupts): (Time, bool),
        s: &mut impl Schedule<Event>,
    ) -> bool {
        let command = &mut self.commands[slot as usize];
        let queue = usize::from(command.core) % self.ends.len();
        let Ends { ended, vector } = &mut self.ends[queue];
        assert!(!self.free.contains(slot) && !ended.contains(slot), "slot {slot} has no command to end");
        ended.insert(slot);
        (command.status, command.visible) = (status, visible);
        let Completion { by, poll, delivery, handler } = self.completion;
        match by {
            Detection::Polling => {
                self.reap(now, queue, Run { at: visible + poll, entry: Time::ZERO }, s);
                true
            }
            Detection::Interrupt => {
                let raised = if interrupts { vector.raised(visible + delivery, handler) } else { None };
                let looks = vector.looks(visible);
                if looks {
                    self.reap(now, queue, Run { at: visible, entry: Time::ZERO }, s);
                }
                if let Some(run) = raised {
                    self.reap(now, queue, Run { at: run.at.max(self.ends[queue].vector.ends()), ..run }, s);
                }
                looks || interrupts
            }
        }
    }

    /// Handles an interrupt at `at` for commands that have ended before, in the register.
    ///
    /// # Panics
    /// Panics if the driver polls.
    pub fn interrupt(&mut self, now: Time, at: Time, s: &mut impl Schedule<Event>) {
        let Completion { by: Detection::Interrupt, delivery, handler, .. } = self.completion else {
            panic!("an interrupt to a driver that polls")
        };
        let vector = self.ends[0].vector;
        if let Some(run) = vector.raised(at + delivery, handler) {
            self.reap(now, 0, Run { at: run.at.max(vector.ends()), ..run }, s);
        }
    }

    /// Processes all slots that have ended in a queue.
    fn reap(&mut self, now: Time, queue: usize, mut run: Run, s: &mut impl Schedule<Event>) {
        let Ends { ended, vector } = &mut self.ends[queue];
        while let Some(slot) = ended.lowest() {
            ended.remove(slot);
            let SlotCommand { io, core, visible, request, .. } = self.commands[slot as usize];
            run.at = run.at.max(visible);
            // Lines prefetched while the data was in flight are dropped.
            let read = request.op == Op::Read;
            let cost = self.complete + if read { maintenance(self.invalidation, request.bytes) } else { Time::ZERO };
            let done = vector.complete(now, &mut run, (core, io, cost), &mut self.cores, s);
            s.at(REAPED, done, Event { queue: 0, cid: slot });
        }
        vector.enter(now, &mut run, &mut self.cores, s);
    }

    /// Frees the slot of a command that the driver has processed. Returns the completion of its request if it was the
    /// last.
    pub fn reaped(&mut self, event: Event) -> Option<Completed> {
        let command = self.commands[event.cid as usize];
        self.free.insert(event.cid);
        self.requests.ended(command.io, command.status)
    }

    /// Returns the number of requests that found all slots taken.
    pub fn waited(&self) -> u64 {
        self.waited
    }

    /// Drops all state. Returns the requests that will never complete.
    pub fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.cores.power_cut(now);
        (self.waiting, self.free) = (NOBODY, SlotSet::first(self.commands.len() as u32));
        (0..).zip(&mut self.ends).for_each(|(number, ends)| *ends = Ends::new(number));
        self.requests.power_cut()
    }
}
