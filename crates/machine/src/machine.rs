//! A composed machine in virtual time: one flat event loop over its parts.

use ftl::{Actions, Ftl};
use media::{Action, EraseOp, Op, OpId, ProgramOp, Request, Status, Tag};
use nand::{Done, Kind, Nand, PayloadKind, TagBuffers, UnitWrite};
use sim::{EventQueue, Lane, Schedule, Streams, Time, Timeline, Track};

use crate::compose::Parts;
use crate::front::{self, Front};
use crate::verify::Checker;

#[path = "power.rs"]
mod power;
pub use power::PowerCut;

/// What the machine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Front(front::Event),
    Nand(nand::Event),
    /// The translation layer's timer.
    Timer,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request, as the caller named it.
    pub io: u32,
    /// How it ended.
    pub status: Status,
    /// When the driver had handed it over: submission latency ends here.
    pub submitted: Time,
    /// When the program knew.
    pub at: Time,
}

/// Host, link, controller, translation layer and flash, put together.
pub struct Machine {
    world: World,
    front: Front,
    ftl: Ftl,
    nand: Nand,
    data: TagBuffers,
    out: Actions,
    outputs: Vec<front::Output>,
    done: Vec<Done>,
    /// Barriers to be answered: on flash, what is done is durable.
    barriers: Vec<OpId>,
    programs: Vec<Option<ProgramOp>>,
    erases: Vec<Option<EraseOp>>,
    units: Vec<UnitWrite>,
    timer: Time,
    /// With payload kept: what every sector must read.
    checker: Option<Checker>,
    events: u64,
}

/// The queue and the timeline: what the parts see of the world.
struct World {
    queue: EventQueue<Event>,
    timeline: Option<Box<Timeline>>,
    nand_tracks: u32,
}

const NAND_LANES: u8 = Front::lanes() as u8;
const TIMER: Lane = Lane(NAND_LANES + Nand::LANES as u8);

struct FrontView<'a>(&'a mut World);
struct NandView<'a>(&'a mut World);

impl Schedule<front::Event> for FrontView<'_> {
    #[inline]
    fn at(&mut self, lane: Lane, when: Time, event: front::Event) {
        self.0.queue.push(lane, when, Event::Front(event));
    }
    #[inline]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        if let Some(timeline) = &mut self.0.timeline {
            timeline.span(track, name, from, to);
        }
    }
}

impl Schedule<nand::Event> for NandView<'_> {
    #[inline]
    fn at(&mut self, lane: Lane, when: Time, event: nand::Event) {
        self.0.queue.push(Lane(NAND_LANES + lane.0), when, Event::Nand(event));
    }
    #[inline]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        if let Some(timeline) = &mut self.0.timeline {
            timeline.span(Track(self.0.nand_tracks + track.0), name, from, to);
        }
    }
}

impl Machine {
    /// A machine of `parts`, at time zero, over flash that `nand` holds.
    pub fn new(parts: &Parts, ftl: Ftl, nand: Nand) -> Machine {
        let front = Front::new(&parts.front);
        Machine {
            world: World {
                queue: EventQueue::new(TIMER.0 as usize + 1),
                timeline: None,
                nand_tracks: front.tracks().len() as u32,
            },
            front,
            data: TagBuffers::new(parts.nand.payload),
            checker: (parts.nand.payload == PayloadKind::Stamp)
                .then(|| Checker::new(parts.user_bytes, u64::from(parts.nand.geometry.unit_bytes))),
            ftl,
            nand,
            out: Actions::default(),
            outputs: Vec::new(),
            done: Vec::new(),
            barriers: Vec::new(),
            programs: Vec::new(),
            erases: Vec::new(),
            units: Vec::new(),
            timer: Time::MAX,
            events: 0,
        }
    }

    /// A machine of `parts` with erased flash.
    ///
    /// # Errors
    /// If the parts do not fit together.
    pub fn erased(parts: &Parts, streams: &Streams) -> Result<Machine, ftl::config::ConfigError> {
        let (nand, ftl, _) = parts.mount(parts.erased_store(streams), streams)?;
        Ok(Machine::new(parts, ftl, nand))
    }

    /// Keeps a timeline of at most `limit` spans from now on.
    pub fn keep_timeline(&mut self, limit: usize) {
        let mut timeline = Timeline::new(limit);
        for (part, name) in self.front.tracks().into_iter().chain(self.nand.tracks()) {
            timeline.add_track(&part, &name);
        }
        self.world.timeline = Some(Box::new(timeline));
    }

    /// The timeline, if one was kept.
    pub fn timeline(&self) -> Option<&Timeline> {
        self.world.timeline.as_deref()
    }

    /// The time of the last event.
    pub fn now(&self) -> Time {
        self.world.queue.now()
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The translation layer.
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    /// The translation layer, to reset its counts or plant a bug.
    pub fn ftl_mut(&mut self) -> &mut Ftl {
        &mut self.ftl
    }

    /// The flash.
    pub fn nand(&self) -> &Nand {
        &self.nand
    }

    /// What was checked of the data read, where payload is kept.
    pub fn checker(&self) -> Option<&Checker> {
        self.checker.as_ref()
    }

    /// The same, to keep its log.
    pub fn checker_mut(&mut self) -> Option<&mut Checker> {
        self.checker.as_mut()
    }

    /// Host, link and controller.
    pub fn front(&self) -> &Front {
        &self.front
    }

    /// A request of `job`. `io` names it until it has ended: a dense number, free for reuse afterwards.
    #[inline]
    pub fn submit(&mut self, now: Time, io: u32, job: u16, request: Request) {
        self.front.submit(now, io, job, request, &mut FrontView(&mut self.world));
    }

    /// When the next event comes.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        self.world.queue.next_time()
    }

    /// Handles the events up to `until`, and stops after one that ended a request. True if it stopped there.
    #[inline]
    pub fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        while self.world.queue.next_time().is_some_and(|at| at <= until) {
            let Some((now, event)) = self.world.queue.pop() else { break };
            self.events += 1;
            match event {
                Event::Front(event) => {
                    self.front.handle(now, event, &mut FrontView(&mut self.world), &mut self.outputs);
                    self.outputs(now, completions);
                }
                Event::Nand(event) => {
                    self.nand.handle(now, event, &mut NandView(&mut self.world), &mut self.done);
                    self.flash_done(now);
                }
                Event::Timer => {
                    self.timer = Time::MAX;
                    self.ftl.timer(now, &mut self.out);
                    self.perform(now);
                }
            }
            if !completions.is_empty() {
                return true;
            }
        }
        false
    }

    /// What the path above the translation layer says.
    #[inline]
    fn outputs(&mut self, now: Time, completions: &mut Vec<Completion>) {
        let mut i = 0;
        while i < self.outputs.len() {
            match self.outputs[i] {
                front::Output::Command { tag, io, request } => {
                    if let Some(checker) = &mut self.checker {
                        let sectors = if request.op == Op::Trim { 0 } else { request.bytes / media::SECTOR };
                        checker.begin(tag, io, &request, self.data.open(tag, sectors as u32));
                    }
                    self.ftl.command(now, tag, &request, &mut self.out);
                }
                front::Output::Arrived { tag } => {
                    if let Some(checker) = &mut self.checker {
                        checker.arrived(tag, self.data.data(tag));
                    }
                    self.ftl.arrived(now, tag, &mut self.out);
                }
                front::Output::HostMemory { id } => {
                    self.ftl.done(OpId(id), Status::Ok, self.nand.store(), &mut self.out);
                }
                front::Output::Completed { io, status, submitted } => {
                    completions.push(Completion { io, status, submitted, at: now });
                }
            }
            i += 1;
        }
        self.outputs.clear();
        self.perform(now);
    }

    /// Flash operations that ended: what they did is done to the contents, then the translation layer is told.
    #[inline]
    fn flash_done(&mut self, now: Time) {
        if self.done.is_empty() {
            return;
        }
        self.flash_ends();
        self.perform(now);
    }

    #[inline]
    fn flash_ends(&mut self) {
        let mut i = 0;
        while i < self.done.len() {
            let Done { id, status, kind } = self.done[i];
            match kind {
                Kind::Read => {}
                Kind::Program => self.program_ended(id, status),
                Kind::Erase => {
                    let op = self.erases[id.0 as usize].take().expect("an erase under way");
                    match status {
                        Status::Ok => self.nand.store_mut().erase(op.block),
                        _ => self.nand.store_mut().tear_erase(op.block),
                    }
                }
            }
            self.ftl.done(id, status, self.nand.store(), &mut self.out);
            i += 1;
        }
        self.done.clear();
    }

    #[inline]
    fn program_ended(&mut self, id: OpId, status: Status) {
        let op = self.programs[id.0 as usize].take().expect("a program under way");
        if status != Status::Ok {
            self.nand.store_mut().tear(op.page, op.slc);
            return;
        }
        crate::fast::apply_program(&self.ftl, self.nand.store_mut(), &op, &mut self.units);
    }

    /// Performs what the translation layer wants.
    #[inline]
    fn perform(&mut self, now: Time) {
        loop {
            for movement in self.out.moves.drain(..) {
                self.nand.store_mut().apply(&movement, &mut self.data);
            }
            let mut i = 0;
            while i < self.out.actions.len() {
                let action = self.out.actions[i];
                self.act(now, action);
                i += 1;
            }
            self.out.actions.clear();
            if self.barriers.is_empty() {
                break;
            }
            for id in std::mem::take(&mut self.barriers) {
                self.ftl.done(id, Status::Ok, self.nand.store(), &mut self.out);
            }
        }
        if let Some(at) = self.ftl.next_timer() {
            let at = at.max(now);
            if self.timer == Time::MAX {
                self.timer = at;
                self.world.queue.push(TIMER, at, Event::Timer);
            }
        }
    }

    #[inline]
    fn act(&mut self, now: Time, action: Action) {
        let front = &mut FrontView(&mut self.world);
        match action {
            Action::Read(op) => self.nand.submit_read(now, op, &mut NandView(&mut self.world)),
            Action::Program(op) => {
                remember(&mut self.programs, op.id, op);
                self.nand.submit_program(now, op, &mut NandView(&mut self.world));
            }
            Action::Erase(op) => {
                remember(&mut self.erases, op.id, op);
                self.nand.submit_erase(now, op, &mut NandView(&mut self.world));
            }
            Action::Retire(block) => self.nand.store_mut().mark_bad(block),
            Action::Barrier(id) => self.barriers.push(id),
            Action::MapFetch { id, bytes, store } => self.front.host_memory(now, bytes, store, id.0, front),
            Action::Ready { tag } => self.front.ready(now, tag, front),
            Action::Data { tag, bytes } => self.front.data(now, tag, bytes, front),
            Action::Complete { tag, status } => {
                self.front.complete(now, tag, status, front);
                if status == Status::Ok {
                    self.check(tag);
                }
            }
        }
    }

    /// With payload kept, a read that ended well must have found what was written.
    #[inline]
    fn check(&mut self, tag: Tag) {
        if let Some(checker) = &mut self.checker {
            if checker.request(tag).op == Op::Read {
                checker.read(tag, self.data.data(tag));
            }
        }
    }
}

#[inline]
fn remember<T>(table: &mut Vec<Option<T>>, id: OpId, op: T) {
    let at = id.0 as usize;
    if at >= table.len() {
        table.resize_with(at + 1, || None);
    }
    debug_assert!(table[at].is_none(), "operation {at} is under way twice");
    table[at] = Some(op);
}
