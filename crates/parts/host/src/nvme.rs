//! An NVMe driver in the manner of Linux's nvme-pci: a queue pair for each core as far as they go, a command number
//! for each place in a queue, an interrupt vector for each queue pair.

use media::{Op, Request, Status};
use sim::{Dense, Schedule, Time};

use crate::cores::Cores;
use crate::requests::{NOBODY, Requests, Waiting};
use crate::vector::{Run, Vector};
use crate::{Completed, Completion, Config, Event, REAPED, Submission};

/// A completion queue entry, as the controller writes it into the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The command's number within its queue.
    pub cid: u16,
    /// Differs from what the place held before: the entry is new.
    pub phase: bool,
    /// How the command ended.
    pub status: Status,
}

/// A completion queue entry on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The queue pair.
    pub queue: u16,
    /// The place in its completion queue.
    pub index: u16,
    /// The entry.
    pub entry: Entry,
    /// When it is in memory.
    pub visible: Time,
    /// When the interrupt that follows it arrives, if one does.
    pub interrupt: Option<Time>,
}

/// A completion that the driver has processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaped {
    /// When.
    pub at: Time,
    /// The request that has ended with it, if one has.
    pub ended: Option<Completed>,
    /// A request waits for the place.
    pub waits: bool,
}

/// A place in a completion queue.
#[derive(Clone, Copy, Debug)]
struct Place {
    entry: Entry,
    /// When the entry is in memory.
    visible: Time,
}

/// A command in the device.
#[derive(Clone, Copy, Debug)]
struct Command {
    /// What it asks, if it goes through the submission queue.
    request: Request,
    /// When its doorbell was written.
    submitted: Time,
    io: u32,
    core: u16,
    /// Of a free place, the next free one.
    next: u16,
    status: Status,
    state: State,
}

impl Command {
    /// The driver has processed the completion of the command `cid`, which has ended with `status`: its place is the first of
    /// the `free`. Returns the request's end if it was its last.
    #[inline(always)]
    fn end(
        &mut self,
        cid: u16,
        status: Status,
        free: &mut u16,
        requests: &mut Requests,
        sequence: &mut Sequence,
    ) -> Option<Completed> {
        let Command { submitted, io, state, .. } = *self;
        debug_assert!(state != State::Free, "command {cid} has ended before");
        (self.state, self.next) = (State::Free, *free);
        *free = cid;
        sequence.settled = true;
        if state == State::Whole { Some(Completed { io, status, submitted }) } else { requests.ended(io, status) }
    }
}

/// What a place for a command holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// All of a request that found its place at once.
    Whole,
    /// Of a request that is kept track of.
    Part,
}

#[derive(Clone, Debug)]
struct Pair {
    /// The first of the places that hold no command, which are chained.
    free: u16,
    waiting: Waiting,
    commands: Dense<Command>,
    /// The submission queue: command numbers; and its tail.
    sq: Vec<u16>,
    sq_tail: u16,
    /// The completion queue, its head, and the phase of a new entry.
    cq: Vec<Place>,
    cq_head: u16,
    phase: bool,
    /// New entries in it.
    unread: u16,
    vector: Vector,
}

/// An NVMe driver.
#[derive(Clone, Debug)]
pub struct Nvme {
    cores: Cores,
    requests: Requests,
    pairs: Dense<Pair>,
    /// There are fewer queue pairs than cores.
    shared: bool,
    depth: u16,
    submit: Time,
    complete: Time,
    completion: Completion,
    waited: u64,
    sequence: Sequence,
}

/// What is known of the order in which doorbells are written.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    /// The core that all requests so far have come from, once whoever has something to submit from the start has done so.
    sole: u16,
    /// The core that has submitted last, and whether all requests so far have come from it.
    last: u16,
    alone: bool,
    /// A request has ended: whoever has something to submit from the start has done so.
    settled: bool,
}

/// No core.
const NOBODYS: u16 = u16::MAX;

impl Sequence {
    const NEW: Sequence = Sequence { sole: NOBODYS, last: NOBODYS, alone: true, settled: false };

    /// `core` submits. True if no doorbell that is not known yet can be written before its own: all others are of the
    /// same core and behind it.
    #[inline(always)]
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

/// No place.
const NONE: u16 = u16::MAX;

impl Pair {
    fn new(depth: u16, core: u16) -> Pair {
        let last = depth - 2;
        let command = |cid: u16| Command {
            request: Request::flush(),
            submitted: Time::ZERO,
            io: 0,
            core: 0,
            next: if cid == last { NONE } else { cid + 1 },
            status: Status::Ok,
            state: State::Free,
        };
        let entry = Entry { cid: 0, phase: false, status: Status::Ok };
        Pair {
            free: 0,
            waiting: NOBODY,
            // SAFETY: command numbers are those that were handed out, from the chain of free places.
            commands: unsafe { Dense::new((0..=last).map(command).collect()) },
            sq: vec![0; depth as usize],
            sq_tail: 0,
            cq: vec![Place { entry, visible: Time::ZERO }; depth as usize],
            cq_head: 0,
            phase: true,
            unread: 0,
            vector: Vector::new(core),
        }
    }

    /// Puts a command of the request `io` into the first free place. Returns the place.
    #[inline(always)]
    fn place(&mut self, io: u32, core: u16, state: State, at: Time) -> u16 {
        let cid = self.free;
        let place = &mut self.commands[cid as usize];
        self.free = place.next;
        (place.io, place.core, place.state, place.submitted) = (io, core, state, at);
        cid
    }

    /// Processes the entry at the completion queue's head, which is new.
    #[inline]
    fn take(
        &mut self,
        now: Time,
        queue: u16,
        run: &mut Run,
        cost: Time,
        cores: &mut Cores,
        s: &mut impl Schedule<Event>,
    ) {
        let Place { entry, visible } = self.cq[self.cq_head as usize];
        let command = &mut self.commands[entry.cid as usize];
        command.status = entry.status;
        run.at = run.at.max(visible);
        let done = self.vector.complete(now, run, (command.core, cost), cores, s);
        s.at(REAPED, done, Event { queue, cid: entry.cid });
        self.unread -= 1;
        self.cq_head += 1;
        if self.cq_head as usize == self.cq.len() {
            self.cq_head = 0;
            self.phase = !self.phase;
        }
    }

    fn reset(&mut self, core: u16) {
        *self = Pair::new(self.sq.len() as u16, core);
    }
}

impl Nvme {
    /// An idle host with its queues created.
    ///
    /// # Panics
    /// If the configuration is none that the specification has.
    pub fn new(config: &Config) -> Nvme {
        let (pairs, depth, cores) = (config.queue_pairs, config.queue_depth, config.cores);
        assert!((1..=65_535).contains(&pairs), "{pairs} queue pairs, expected 1 to 65535");
        assert!((2..=65_535).contains(&depth), "queues of {depth} entries, expected 2 to 65535");
        let polling = matches!(config.completion, Completion::Polling { .. });
        Nvme {
            cores: Cores::new(cores, polling),
            requests: Requests::new(config.max_transfer),
            // Those beyond the cores have no user.
            // SAFETY: `submit` numbers them, a core or modulo their number; that number comes back with each command.
            pairs: unsafe {
                Dense::new((0..pairs.min(cores)).map(|pair| Pair::new(depth as u16, (pair % cores) as u16)).collect())
            },
            shared: pairs < cores,
            depth: depth as u16,
            submit: config.submit,
            complete: config.complete,
            completion: config.completion,
            waited: 0,
            sequence: Sequence::NEW,
        }
    }

    /// Queue pairs in use: those of the configuration, at most one a core.
    pub fn pairs(&self) -> u16 {
        self.pairs.len() as u16
    }

    /// A request of `job`. Returns the queue pair that it takes, and its command if it is one and finds a place at
    /// once; else [`issue`](Self::issue) is to be called for the queue pair.
    #[inline(always)]
    pub fn submit(
        &mut self,
        now: Time,
        io: u32,
        job: u16,
        request: &Request,
        s: &mut impl Schedule<Event>,
    ) -> (u16, Option<Submission>) {
        debug_assert!((request.op == Op::Flush) == (request.bytes == 0), "{request:?}");
        let core = self.cores.of(job);
        let queue = if self.shared { (usize::from(core) % self.pairs.len()) as u16 } else { core };
        let pair = &mut self.pairs[queue as usize];
        if pair.waiting.first().is_none() && self.requests.is_whole(request) && pair.free != NONE {
            let at = self.cores.submit(now, core, self.submit, s);
            // Another core takes no less than this one does now, if nobody waits for it.
            let prompt = self.sequence.submits(core) || at == now + self.submit;
            let cid = pair.place(io, core, State::Whole, at);
            return (queue, Some(Submission { cid, at, prompt, request: *request }));
        }
        self.waited += u64::from(pair.free == NONE);
        self.requests.open(io, core, request.by_field(), &mut pair.waiting);
        (queue, None)
    }

    /// The next command that finds a place in `queue`, if any. To be called until there is none, after each submission
    /// and each end of a command.
    pub fn issue(&mut self, now: Time, queue: u16, s: &mut impl Schedule<Event>) -> Option<Submission> {
        let pair = &mut self.pairs[queue as usize];
        let io = pair.waiting.first()?;
        if pair.free == NONE {
            return None;
        }
        let core = self.requests.core(io);
        let at = self.cores.submit(now, core, self.submit, s);
        let prompt = self.sequence.submits(core) || at == now + self.submit;
        let request = self.requests.take(&mut pair.waiting, at);
        let cid = pair.place(io, core, State::Part, at);
        Some(Submission { cid, at, prompt, request })
    }

    /// The command, which asks `request`, will go through the submission queue.
    #[inline]
    pub fn keep(&mut self, queue: u16, cid: u16, request: Request) {
        self.pairs[queue as usize].commands[cid as usize].request = request;
    }

    /// Writes the submission queue entry of a command that was [kept](Self::keep). Returns the tail for the doorbell.
    #[inline]
    pub fn enter(&mut self, queue: u16, cid: u16) -> u16 {
        let depth = self.depth;
        let pair = &mut self.pairs[queue as usize];
        pair.sq[pair.sq_tail as usize] = cid;
        pair.sq_tail = if pair.sq_tail + 1 == depth { 0 } else { pair.sq_tail + 1 };
        pair.sq_tail
    }

    /// The submission queue entry at `index`: the command's number and what it asks.
    #[inline]
    pub fn entry(&self, queue: u16, index: u16) -> (u16, Request) {
        let pair = &self.pairs[queue as usize];
        let cid = pair.sq[index as usize];
        (cid, pair.commands[cid as usize].request)
    }

    /// The request that a command is (part) of.
    #[inline]
    pub fn io(&self, queue: u16, cid: u16) -> u32 {
        self.pairs[queue as usize].commands[cid as usize].io
    }

    /// True if nothing is in the completion queue that the driver has not taken from it.
    #[inline(always)]
    pub fn has_seen_all(&self, queue: u16) -> bool {
        self.pairs[queue as usize].unread == 0
    }

    /// Instead of [`completion`](Self::completion), where the driver [has seen all](Self::has_seen_all) else and looks: `cid`
    /// has ended with `status`, which is in memory from `visible` on, and the interrupt that follows it arrives at
    /// `interrupt`. It is gone from its queue before anybody looks at the queue's indices, which stay. If nothing else
    /// happens before the driver has processed it, and `looks_ahead`, it has on return; else [`Event`] follows.
    #[inline(always)]
    pub fn complete_at_once(
        &mut self,
        now: Time,
        (queue, cid): (u16, u16),
        status: Status,
        (visible, interrupt): (Time, Time),
        looks_ahead: bool,
        s: &mut impl Schedule<Event>,
    ) -> Option<Reaped> {
        let pair = &mut self.pairs[queue as usize];
        debug_assert!(pair.unread == 0, "others are in queue {queue}");
        let command = &mut pair.commands[cid as usize];
        let (vector, cores, work) = (&mut pair.vector, &mut self.cores, (command.core, self.complete));
        let done = match self.completion {
            // The handler is through with what it knows of: the interrupt, which follows the entry, runs it.
            Completion::Interrupt { delivery, handler } if !vector.looks(visible) => {
                debug_assert!(visible <= interrupt, "an interrupt at {interrupt} for an entry at {visible}");
                vector.complete(now, &mut Run { at: interrupt + delivery, entry: handler }, work, cores, s)
            }
            Completion::Interrupt { delivery, handler } => {
                let raised = vector.raised(interrupt + delivery, handler);
                let done = vector.complete(now, &mut Run { at: visible, entry: Time::ZERO }, work, cores, s);
                if let Some(run) = raised {
                    let at = run.at.max(vector.ends());
                    vector.enter(now, &mut Run { at, ..run }, cores, s);
                }
                done
            }
            Completion::Polling { delay } => {
                vector.complete(now, &mut Run { at: visible + delay, entry: Time::ZERO }, work, cores, s)
            }
        };
        if looks_ahead && s.skip_to(done) {
            let waits = pair.waiting.first().is_some();
            let ended = command.end(cid, status, &mut pair.free, &mut self.requests, &mut self.sequence);
            return Some(Reaped { at: done, ended, waits });
        }
        command.status = status;
        s.at(REAPED, done, Event { queue, cid });
        None
    }

    /// The controller writes a completion queue entry. Returns the new head of the queue for its doorbell, if the
    /// driver takes anything from it.
    pub fn completion(&mut self, now: Time, delivery: Delivery, s: &mut impl Schedule<Event>) -> Option<u16> {
        let Delivery { queue, index, entry, visible, interrupt } = delivery;
        let pair = &mut self.pairs[queue as usize];
        let place = &mut pair.cq[index as usize];
        assert!(place.entry.phase != entry.phase, "entry {index} of queue {queue} is not new");
        *place = Place { entry, visible };
        pair.unread += 1;
        match self.completion {
            Completion::Polling { delay } => self.reap(now, queue, Run { at: visible + delay, entry: Time::ZERO }, s),
            Completion::Interrupt { delivery, handler } => {
                let raised = interrupt.and_then(|at| pair.vector.raised(at + delivery, handler));
                let seen = if pair.vector.looks(visible) {
                    self.reap(now, queue, Run { at: visible, entry: Time::ZERO }, s)
                } else {
                    None
                };
                let Some(run) = raised else { return seen };
                let at = run.at.max(self.pairs[queue as usize].vector.ends());
                self.reap(now, queue, Run { at, ..run }, s).or(seen)
            }
        }
    }

    /// An interrupt of `queue` arrives at `at`. Returns the new head of the queue, as above.
    pub fn interrupt(&mut self, now: Time, queue: u16, at: Time, s: &mut impl Schedule<Event>) -> Option<u16> {
        let Completion::Interrupt { delivery, handler } = self.completion else {
            panic!("queue {queue} is polled and interrupts")
        };
        let run = self.pairs[queue as usize].vector.raised(at + delivery, handler)?;
        self.reap(now, queue, run, s)
    }

    /// Processes all new entries.
    fn reap(&mut self, now: Time, queue: u16, mut run: Run, s: &mut impl Schedule<Event>) -> Option<u16> {
        let pair = &mut self.pairs[queue as usize];
        let first = pair.cq_head;
        while pair.unread > 0 {
            assert!(pair.cq[pair.cq_head as usize].entry.phase == pair.phase, "an old entry in queue {queue}");
            pair.take(now, queue, &mut run, self.complete, &mut self.cores, s);
        }
        pair.vector.enter(now, &mut run, &mut self.cores, s);
        (pair.cq_head != first).then_some(pair.cq_head)
    }

    /// The driver has processed the completion of a command. Returns the request's end if it was its last, and whether
    /// a request waits for the place.
    #[inline(always)]
    pub fn reaped(&mut self, event: Event) -> (Option<Completed>, bool) {
        let pair = &mut self.pairs[event.queue as usize];
        let command = &mut pair.commands[event.cid as usize];
        let status = command.status;
        let ended = command.end(event.cid, status, &mut pair.free, &mut self.requests, &mut self.sequence);
        (ended, pair.waiting.first().is_some())
    }

    /// Requests that found their queue full when they came.
    pub fn waited(&self) -> u64 {
        self.waited
    }

    /// Names of what shows on a timeline.
    pub fn tracks(&self) -> Vec<String> {
        self.cores.tracks()
    }

    /// Every core and its busy time until `now`.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        self.cores.busy(now)
    }

    /// All is gone, and the queues are created anew. Returns the requests that will have no end.
    pub fn power_cut(&mut self, now: Time) -> Vec<u32> {
        self.cores.power_cut(now);
        self.sequence = Sequence::NEW;
        let mut lost = self.requests.power_cut();
        for (core, pair) in self.pairs.iter_mut().enumerate() {
            lost.extend(pair.commands.iter().filter(|c| c.state == State::Whole).map(|c| c.io));
            pair.reset(core as u16);
        }
        lost.sort_unstable();
        lost
    }
}
