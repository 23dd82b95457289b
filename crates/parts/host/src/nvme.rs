//! An NVMe driver modeled on Linux's nvme-pci: a queue pair per core where there are enough, a command number per queue
//! entry, an interrupt vector per queue pair.

use media::{Request, Status};
use sim::{Dense, Part, Schedule, Time};

use crate::cores::Cores;
use crate::requests::{NOBODY, Requests, Waiting};
use crate::vector::{Run, Vector};
use crate::{Completed, Completion, Config, Detection, Event, REAPED, Submission};

/// A completion queue entry, as the controller writes it into the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The command's number within its queue.
    pub cid: u16,
    /// Phase tag, which differs from that of the entry's previous content.
    pub phase: bool,
    /// Status of the command.
    pub status: Status,
}

/// A completion queue entry on its way to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The queue pair.
    pub queue: u16,
    /// Index of the entry in its completion queue.
    pub index: u16,
    /// The entry.
    pub entry: Entry,
    /// Time at which it is in memory.
    pub visible: Time,
    /// Time at which the interrupt that follows it arrives, if there is one.
    pub interrupt: Option<Time>,
}

/// An entry of a completion queue with its time of arrival.
#[derive(Clone, Copy, Debug)]
struct CompletionEntry {
    entry: Entry,
    /// Time at which the entry is in memory.
    visible: Time,
}

/// A command number and its command in the device.
#[derive(Clone, Copy, Debug)]
struct QueuedCommand {
    request: Request,
    io: u32,
    core: u16,
    /// The next free number, if this one is free.
    next: u16,
    status: Status,
}

#[derive(Clone, Debug)]
struct Pair {
    /// The first of the free command numbers, which are chained.
    free: u16,
    waiting: Waiting,
    commands: Dense<QueuedCommand>,
    /// The submission queue of command numbers, and its tail.
    sq: Dense<u16>,
    sq_tail: u16,
    /// The completion queue, its head, and the phase of a new entry.
    cq: Dense<CompletionEntry>,
    cq_head: u16,
    phase: bool,
    /// New entries in the completion queue.
    unread: u16,
    vector: Vector,
}

/// An NVMe driver.
#[derive(Clone, Debug)]
pub struct Nvme {
    cores: Cores,
    requests: Requests,
    pairs: Dense<Pair>,
    /// True if there are fewer queue pairs than cores.
    shared: bool,
    submit: Time,
    complete: Time,
    completion: Completion,
    waited: u64,
    sequence: Sequence,
}

/// Knowledge about the order in which doorbells are written.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    /// The core of all requests so far, once the sequence is settled.
    sole: u16,
    /// The core of the last request, and whether it is the core of all requests so far.
    last: u16,
    alone: bool,
    /// True once a request has ended: every program with requests at the start has submitted them.
    settled: bool,
}

/// Marks the absence of a core.
const NOBODYS: u16 = u16::MAX;

impl Sequence {
    const NEW: Sequence = Sequence { sole: NOBODYS, last: NOBODYS, alone: true, settled: false };

    /// Records a submission by `core`. Returns true if no doorbell that is not known yet can be written earlier,
    /// because all others come from the same core and later.
    #[inline]
    fn submits(&mut self, core: u16) -> bool {
        core == self.sole || self.submits_among_others(core)
    }

    #[inline]
    fn submits_among_others(&mut self, core: u16) -> bool {
        if self.last != core {
            self.alone &= self.last == NOBODYS;
            self.last = core;
        }
        let sole = self.alone && self.settled;
        self.sole = if sole { core } else { NOBODYS };
        sole
    }
}

/// Marks the absence of a free command number.
const NONE: u16 = u16::MAX;

impl Pair {
    fn new(depth: u16, core: u16) -> Pair {
        let last = depth - 2;
        let command = |cid: u16| QueuedCommand {
            request: Request::flush(),
            io: 0,
            core: 0,
            next: if cid == last { NONE } else { cid + 1 },
            status: Status::Ok,
        };
        let entry = Entry { cid: 0, phase: false, status: Status::Ok };
        Pair {
            free: 0,
            waiting: NOBODY,
            commands: Dense::new((0..=last).map(command).collect()),
            sq: Dense::new(vec![0; depth as usize]),
            sq_tail: 0,
            cq: Dense::new(vec![CompletionEntry { entry, visible: Time::ZERO }; depth as usize]),
            cq_head: 0,
            phase: true,
            unread: 0,
            vector: Vector::new(core),
        }
    }

    /// Processes all new entries; the pair is number `queue`. Returns the new head if there were any.
    #[inline(always)]
    fn reap(
        &mut self,
        now: Time,
        queue: u16,
        mut run: Run,
        cost: Time,
        cores: &mut Cores,
        s: &mut impl Schedule<Event>,
    ) -> Option<u16> {
        let first = self.cq_head;
        while self.unread > 0 {
            // SAFETY: the head starts at zero and wraps at the end of the queue, which has two places or more.
            let CompletionEntry { entry, visible } = unsafe { *self.cq.get_unchecked(self.cq_head as usize) };
            assert!(entry.phase == self.phase, "an old entry in queue {queue}");
            let command = &mut self.commands[entry.cid as usize];
            command.status = entry.status;
            run.at = run.at.max(visible);
            let done = self.vector.complete(now, &mut run, (command.core, command.io, cost), cores, s);
            s.at(REAPED, done, Event { queue, cid: entry.cid });
            self.unread -= 1;
            self.cq_head += 1;
            if self.cq_head as usize == self.cq.len() {
                self.cq_head = 0;
                self.phase = !self.phase;
            }
        }
        self.vector.enter(now, &mut run, cores, s);
        (self.cq_head != first).then_some(self.cq_head)
    }

    /// Writes the submission queue entry of command `cid`. Returns the tail.
    ///
    /// # Safety
    /// The command must exist: [`entry`](Nvme::entry) relies on that.
    #[inline]
    unsafe fn enter(&mut self, cid: u16) -> u16 {
        // SAFETY: the tail starts at zero and wraps at the end of the queue, which has two places or more.
        *unsafe { self.sq.get_unchecked_mut(self.sq_tail as usize) } = cid;
        self.sq_tail = if self.sq_tail as usize + 1 == self.sq.len() { 0 } else { self.sq_tail + 1 };
        self.sq_tail
    }

    fn reset(&mut self, core: u16) {
        *self = Pair::new(self.sq.len() as u16, core);
    }
}

fn refuse_command(cid: u16, count: usize) -> ! {
    panic!("command {cid} of {count}")
}

impl Nvme {
    /// Creates an idle host and its queues.
    ///
    /// # Panics
    /// Panics if the configuration is outside the specification's range.
    pub fn new(config: &Config) -> Nvme {
        let (pairs, depth, cores) = (config.pairs(), config.queue_depth, config.cores);
        assert!((1..=65_535).contains(&pairs), "{pairs} queue pairs, expected 1 to 65535");
        assert!((2..=65_535).contains(&depth), "queues of {depth} entries, expected 2 to 65535");
        Nvme {
            cores: Cores::new(cores, config.completion.is_polling()),
            requests: Requests::new(config.max_transfer),
            // Pairs beyond the number of cores would have no user.
            pairs: Dense::new(
                (0..pairs.min(cores)).map(|pair| Pair::new(depth as u16, (pair % cores) as u16)).collect(),
            ),
            shared: pairs < cores,
            submit: config.submit,
            complete: config.complete,
            completion: config.completion,
            waited: 0,
            sequence: Sequence::NEW,
        }
    }

    /// Exchanges the processor's cores with those of another driver.
    pub fn swap_cores(&mut self, other: &mut Nvme) {
        std::mem::swap(&mut self.cores, &mut other.cores);
    }

    /// Returns the number of queue pairs in use: those configured, at most one per core.
    pub fn pairs(&self) -> u16 {
        self.pairs.len() as u16
    }

    /// Accepts a request of `job`. Returns its queue pair, for which [`issue`](Self::issue) must be called.
    #[inline]
    pub fn submit(&mut self, io: u32, job: u16, request: Request) -> u16 {
        let core = self.cores.of(job);
        let queue = if self.shared { (usize::from(core) % self.pairs.len()) as u16 } else { core };
        let pair = &mut self.pairs[queue as usize];
        self.waited += u64::from(pair.free == NONE);
        self.requests.open(io, core, request, &mut pair.waiting);
        queue
    }

    /// Returns true if a request waits in `queue` and a command number is free.
    #[inline]
    pub fn can_issue(&self, queue: u16) -> bool {
        let pair = &self.pairs[queue as usize];
        pair.waiting.first().is_some() && pair.free != NONE
    }

    /// Returns the next command for `queue`, if a request waits and a command number is free, and the doorbell's value if
    /// it is rung `at_once`; otherwise [`enter`](Self::enter) must follow. Must be called until it returns `None`, after
    /// each submission and each end of a command.
    #[inline(always)]
    pub fn issue(
        &mut self,
        now: Time,
        queue: u16,
        at_once: bool,
        s: &mut impl Schedule<Event>,
    ) -> Option<(Submission, Option<u16>)> {
        let pair = &mut self.pairs[queue as usize];
        let io = pair.waiting.first()?;
        let cid = pair.free;
        if cid == NONE {
            return None;
        }
        let io_of = self.requests.waiting(&mut pair.waiting);
        let core = io_of.core();
        let at = self.cores.submit(now, (core, io), self.submit, s);
        // If no submission waits for this core, no other core can be faster from now on.
        let in_order = self.sequence.submits(core) || at == now + self.submit;
        let request = io_of.take(at);
        // SAFETY: the free numbers, chained through the commands, are those of commands.
        let place = unsafe { pair.commands.get_unchecked_mut(cid as usize) };
        pair.free = place.next;
        (place.request, place.io, place.core) = (request, io, core);
        // SAFETY: the command was found just now.
        let tail = at_once.then(|| unsafe { pair.enter(cid) });
        Some((Submission { cid, at, in_order, request }, tail))
    }

    /// Writes a command's submission queue entry. Returns the tail for the doorbell.
    #[inline]
    pub fn enter(&mut self, queue: u16, cid: u16) -> u16 {
        let pair = &mut self.pairs[queue as usize];
        if usize::from(cid) >= pair.commands.len() {
            refuse_command(cid, pair.commands.len());
        }
        // SAFETY: the command's number was checked just now.
        unsafe { pair.enter(cid) }
    }

    /// Returns the command number and the request of the submission queue entry at `index`.
    #[inline]
    pub fn entry(&self, queue: u16, index: u16) -> (u16, Request) {
        let pair = &self.pairs[queue as usize];
        let cid = pair.sq[usize::from(index)];
        // SAFETY: the queue holds zeros and numbers that `enter` checked; there is at least one command.
        (cid, unsafe { pair.commands.get_unchecked(cid as usize) }.request)
    }

    /// Returns the request that a command is, or is part of.
    #[inline]
    pub fn io(&self, queue: u16, cid: u16) -> u32 {
        self.pairs[queue as usize].commands[cid as usize].io
    }

    /// Handles the arrival of a completion queue entry. Returns the new head of the queue for its doorbell, if the
    /// driver consumes any entries.
    #[inline(always)]
    pub fn completion(&mut self, now: Time, delivery: Delivery, s: &mut impl Schedule<Event>) -> Option<u16> {
        let Delivery { queue, index, entry, visible, interrupt } = delivery;
        let pair = &mut self.pairs[queue as usize];
        let place = &mut pair.cq[usize::from(index)];
        assert!(place.entry.phase != entry.phase, "entry {index} of queue {queue} is not new");
        *place = CompletionEntry { entry, visible };
        pair.unread += 1;
        // The run that processes the entry.
        let Completion { by, poll, delivery, handler } = self.completion;
        let run = match by {
            Detection::Polling => Run { at: visible + poll, entry: Time::ZERO },
            Detection::Interrupt => {
                let raised = interrupt.and_then(|at| pair.vector.raised(at + delivery, handler));
                match (pair.vector.looks(visible), raised) {
                    (false, None) => return None,
                    (false, Some(run)) => run,
                    (true, None) => Run { at: visible, entry: Time::ZERO },
                    (true, Some(run)) => return self.seen_and_raised(now, queue, visible, run, s),
                }
            }
        };
        pair.reap(now, queue, run, self.complete, &mut self.cores, s)
    }

    /// Lets the handler's known run process an entry that becomes visible at `visible`, and then the `run` that its
    /// interrupt causes.
    fn seen_and_raised(
        &mut self,
        now: Time,
        queue: u16,
        visible: Time,
        run: Run,
        s: &mut impl Schedule<Event>,
    ) -> Option<u16> {
        let seen = self.reap_apart(now, queue, Run { at: visible, entry: Time::ZERO }, s);
        let at = run.at.max(self.pairs[queue as usize].vector.ends());
        self.reap_apart(now, queue, Run { at, ..run }, s).or(seen)
    }

    /// Handles an interrupt of `queue` that arrives at `at`. Returns the new head of the queue, like
    /// [`completion`](Self::completion).
    pub fn interrupt(&mut self, now: Time, queue: u16, at: Time, s: &mut impl Schedule<Event>) -> Option<u16> {
        let Completion { by: Detection::Interrupt, delivery, handler, .. } = self.completion else {
            panic!("queue {queue} is polled and interrupts")
        };
        let run = self.pairs[queue as usize].vector.raised(at + delivery, handler)?;
        self.reap_apart(now, queue, run, s)
    }

    /// Like [`Pair::reap`], for interrupts that do not come with a completion. Most do, and `reap` becomes a part
    /// of [`completion`](Self::completion).
    fn reap_apart(&mut self, now: Time, queue: u16, run: Run, s: &mut impl Schedule<Event>) -> Option<u16> {
        self.pairs[queue as usize].reap(now, queue, run, self.complete, &mut self.cores, s)
    }

    /// Returns the number of requests that found their queue full.
    pub fn waited(&self) -> u64 {
        self.waited
    }

    /// Returns the names of the timeline's rows.
    pub fn tracks(&self) -> Vec<String> {
        self.cores.tracks()
    }

    /// Returns every core and its busy time until `now`.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        self.cores.busy(now)
    }

    /// Drops all state and creates the queues again. Returns the requests that will never complete.
    pub fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.cores.power_cut(now);
        self.sequence = Sequence::NEW;
        let lost = self.requests.power_cut();
        for (core, pair) in self.pairs.iter_mut().enumerate() {
            pair.reset(core as u16);
        }
        lost
    }
}

impl Part for Nvme {
    type Event = Event;
    type Output = Option<Completed>;

    /// Handles the end of the driver's processing of a completion.
    #[inline]
    fn handle(&mut self, _: Time, event: Event, _: &mut impl Schedule<Event>, out: &mut Option<Completed>) {
        let pair = &mut self.pairs[event.queue as usize];
        let command = &mut pair.commands[event.cid as usize];
        command.next = pair.free;
        pair.free = event.cid;
        self.sequence.settled = true;
        *out = self.requests.ended(command.io, command.status);
    }
}
