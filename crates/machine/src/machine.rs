//! A composed machine in virtual time: one flat event loop over its parts.

use ftl::{Actions, Delivery, Ftl};
use media::{Action, Op, OpId, Request, Status, Tag};
use nand::{Done, Nand, PayloadKind, TagBuffers};
use sim::{EventQueue, Lane, Schedule, Streams, Time, Timeline, Track};

use crate::compose::Parts;
use crate::front::{self, Front};
use crate::verify::Checker;

#[path = "event.rs"]
mod event;
#[path = "perform.rs"]
mod perform;
#[path = "power.rs"]
mod power;
#[path = "queue_tracks.rs"]
mod queue_tracks;
use event::{Event, Kind};
pub use power::PowerCut;
use queue_tracks::QueueTracks;

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
    /// To be answered: on flash, what is done is durable.
    barriers: Vec<OpId>,
    timer: Time,
    /// With payload kept: what every sector must read.
    checker: Option<Checker>,
    /// With a timeline kept: the queues on it.
    queue_tracks: Option<Box<QueueTracks>>,
}

/// The queue and the timeline: what the parts see of the world.
struct World {
    queue: EventQueue<Event>,
    /// Events handled so far; and until when they are to be.
    events: u64,
    until: Time,
    timeline: Option<Box<Timeline>>,
    nand_tracks: u32,
}

const NAND_LANES: u8 = Front::lanes() as u8;
const TIMER: Lane = Lane(NAND_LANES + Nand::LANES as u8);

impl World {
    #[inline(always)]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        if self.timeline.is_some() {
            self.keep_span(track, name, from, to);
        }
    }

    #[cold]
    #[inline(never)]
    fn keep_span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.timeline.as_mut().expect("a timeline is kept").span(track, name, from, to);
    }
}

struct FrontView<'a>(&'a mut World);
struct NandView<'a>(&'a mut World);

impl Schedule<front::Event> for FrontView<'_> {
    #[inline(always)]
    fn at(&mut self, lane: Lane, when: Time, event: front::Event) {
        self.0.queue.push(lane, when, event.into());
    }
    #[inline(always)]
    fn skip_to(&mut self, when: Time) -> bool {
        let skips = when <= self.0.until && self.0.queue.skip_to(when);
        self.0.events += u64::from(skips);
        skips
    }
    #[inline(always)]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.0.span(track, name, from, to);
    }
}

impl Schedule<nand::Event> for NandView<'_> {
    #[inline(always)]
    fn at(&mut self, lane: Lane, when: Time, event: nand::Event) {
        self.0.queue.push(Lane(NAND_LANES + lane.0), when, event.into());
    }
    #[inline(always)]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.0.span(Track(self.0.nand_tracks + track.0), name, from, to);
    }
}

impl Machine {
    /// A machine of `parts`, at time zero, over flash that `nand` holds.
    pub fn new(parts: &Parts, ftl: Ftl, nand: Nand) -> Machine {
        let front = Front::new(&parts.front);
        Machine {
            world: World {
                queue: EventQueue::new(TIMER.0 as usize + 1),
                events: 0,
                until: Time::ZERO,
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
            barriers: Vec::new(),
            timer: Time::MAX,
            queue_tracks: None,
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

    /// Keeps a timeline of at most `limit` spans, and as many steps of queues' lengths, from now on.
    pub fn keep_timeline(&mut self, limit: usize) {
        let mut timeline = Timeline::new(limit);
        for (part, name) in self.front.tracks().into_iter().chain(self.nand.tracks()) {
            timeline.add_track(&part, &name);
        }
        self.queue_tracks = Some(Box::new(QueueTracks::new(&self.front, &self.nand, &mut timeline)));
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
        self.world.events
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
    #[inline(always)]
    pub fn submit(&mut self, now: Time, io: u32, job: u16, request: Request) {
        self.front.submit(now, io, job, request, &mut FrontView(&mut self.world));
    }

    /// When the next event comes.
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        self.world.queue.next_time()
    }

    /// Handles the events up to `until`, and stops after one that ended a request. True if it stopped there.
    pub fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        let first = self.next_end(until, completions);
        completions.splice(0..0, first);
        first.is_some()
    }

    /// Handles the events up to `until`, and stops after one that ended a request, which is returned; if several ended
    /// together, those after the first are added to `others`.
    #[inline(always)]
    pub fn next_end(&mut self, until: Time, others: &mut Vec<Completion>) -> Option<Completion> {
        if self.queue_tracks.is_some() {
            return self.next_end_watched(until, others);
        }
        self.world.until = until;
        while let Some((now, event)) = self.world.queue.pop_until(until) {
            self.world.events += 1;
            let of = event.of as u16;
            // What every read has each by itself, so that what handles it knows which it is.
            let end = match (event.kind, &self.front) {
                (Kind::Array, _) => {
                    self.flash_event(now, nand::Event::Array(of));
                    continue;
                }
                (Kind::Transfer, _) => {
                    self.flash_event(now, nand::Event::Transfer(of));
                    continue;
                }
                (Kind::Decoded, Front::Nvme(_)) => {
                    self.decoded(now, of);
                    continue;
                }
                (Kind::Arrived, Front::Nvme(_)) => {
                    self.arrived(now, Tag(u32::from(of)));
                    self.perform(now);
                    continue;
                }
                (Kind::Wake, _) => {
                    self.flash_event(now, nand::Event::Wake(of));
                    continue;
                }
                (Kind::Ended, Front::Nvme(_)) => self.ended(now, of),
                (Kind::Reaped, Front::Nvme(_)) => self.reaped(now, event.of),
                _ => self.other_event(now, event, others),
            };
            if end.is_some() {
                return end;
            }
        }
        None
    }

    fn front_event(&mut self, now: Time, event: front::Event, completions: &mut Vec<Completion>) {
        match self.front.handle(now, event, &mut FrontView(&mut self.world), &mut self.outputs) {
            Some(front::Output::Completed { io, status, submitted }) => {
                completions.push(Completion { io, status, submitted, at: now });
            }
            Some(front::Output::Command { tag, io, request }) => self.command(now, tag, io, &request),
            Some(output) => self.outputs.push(output),
            None => {}
        }
        if !self.outputs.is_empty() {
            self.outputs(now, completions);
        }
    }

    #[inline(always)]
    fn decoded(&mut self, now: Time, tag: u16) {
        let Front::Nvme(path) = &mut self.front else { unreachable!("an event of NVMe") };
        let (tag, io, request) = path.decoded(tag);
        self.command(now, tag, io, &request);
    }

    #[inline(always)]
    fn ended(&mut self, now: Time, tag: u16) -> Option<Completion> {
        let Front::Nvme(path) = &mut self.front else { unreachable!("an event of NVMe") };
        let (ended, at) = path.ended(now, tag, &mut FrontView(&mut self.world))?;
        let host::Completed { io, status, submitted } = ended;
        Some(Completion { io, status, submitted, at })
    }

    #[inline(always)]
    fn reaped(&mut self, now: Time, of: u32) -> Option<Completion> {
        let Front::Nvme(path) = &mut self.front else { unreachable!("an event of NVMe") };
        let event = host::Event { queue: (of >> 16) as u16, cid: of as u16 };
        let host::Completed { io, status, submitted } = path.reaped(now, event, &mut FrontView(&mut self.world))?;
        Some(Completion { io, status, submitted, at: now })
    }

    /// A command for the translation layer. Most are reads that it answers with a read of flash.
    #[inline(always)]
    fn command(&mut self, now: Time, tag: Tag, io: u32, request: &Request) {
        if self.checker.is_some() {
            self.check_command(tag, io, *request);
        }
        match self.ftl.command(now, tag, request, &mut self.out) {
            Some(read) => self.nand.submit_read(now, read, &mut NandView(&mut self.world)),
            None => self.perform(now),
        }
    }

    #[inline(always)]
    fn flash_event(&mut self, now: Time, event: nand::Event) {
        if let Some(done) = self.nand.handle(now, event, &mut NandView(&mut self.world)) {
            self.flash_done(now, done);
        }
    }

    /// An event that is rare, or is on a path that is. Returns the first of the requests that it ended.
    #[inline(never)]
    fn other_event(&mut self, now: Time, event: Event, completions: &mut Vec<Completion>) -> Option<Completion> {
        if let Some(event) = event.of_flash() {
            self.flash_event(now, event);
            return None;
        }
        if event.kind == Kind::Timer {
            self.timer = Time::MAX;
            self.ftl.timer(now, &mut self.out);
            self.perform(now);
            return None;
        }
        self.front_event(now, event.of_front(), completions);
        (!completions.is_empty()).then(|| completions.remove(0))
    }

    /// What the path above the translation layer says.
    fn outputs(&mut self, now: Time, completions: &mut Vec<Completion>) {
        let mut asked = false;
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            asked |= !matches!(output, front::Output::Completed { .. });
            match output {
                front::Output::Completed { io, status, submitted } => {
                    completions.push(Completion { io, status, submitted, at: now });
                }
                front::Output::Command { tag, io, request } => {
                    self.check_command(tag, io, request);
                    let read = self.ftl.command(now, tag, &request, &mut self.out);
                    self.out.actions.extend(read.map(Action::Read));
                }
                front::Output::Arrived { tag } => self.arrived(now, tag),
                front::Output::HostMemory { id } => self.ftl_done(OpId(id)),
                front::Output::Emptied { place } => {
                    if let Some(checker) = &mut self.checker {
                        checker.read_from(place, self.front.emptied());
                    }
                }
            }
        }
        self.outputs = outputs;
        if asked {
            self.perform(now);
        }
    }

    /// The data of a write are in the controller.
    #[inline(always)]
    fn arrived(&mut self, now: Time, tag: Tag) {
        if let Some(checker) = &mut self.checker {
            self.front.take(tag, self.data.data_mut(tag));
            checker.arrived(tag, self.data.data(tag));
        }
        self.ftl.arrived(now, tag, &mut self.out);
    }

    /// With payload kept, a command's data are made or awaited.
    #[inline(never)]
    fn check_command(&mut self, tag: Tag, io: u32, request: Request) {
        if let Some(checker) = &mut self.checker {
            let sectors = if request.op == Op::Trim { 0 } else { request.bytes / media::SECTOR };
            let data = self.data.open(tag, sectors as u32);
            checker.begin(tag, io, &request, data);
            if request.op == Op::Write {
                self.front.put(tag, data);
            }
        }
    }

    /// A flash operation has ended: what it did is done to the contents, then the translation layer is told.
    #[inline(always)]
    fn flash_done(&mut self, now: Time, done: Done) {
        let Done { id, status, kind } = done;
        if kind != nand::Kind::Read {
            self.write_ended(done);
        }
        let Some(delivery) = self.ftl.done(id, status, self.nand.store(), &mut self.out) else {
            return self.perform(now);
        };
        if !(self.out.actions.is_empty() && self.out.moves.is_empty()) {
            self.perform(now);
        }
        let Delivery { tag, bytes, end } = delivery;
        let view = &mut FrontView(&mut self.world);
        match end {
            Some(status) => {
                self.front.deliver(now, tag, bytes, status, view);
                if self.checker.is_some() {
                    self.check_end(tag, status);
                }
            }
            None => self.front.data(now, tag, bytes, view),
        }
    }

    /// A program or an erase has ended: what it did is done to the contents.
    #[inline(never)]
    fn write_ended(&mut self, done: Done) {
        let Done { id, status, kind } = done;
        let (page, slc) = self.nand.place_of(id);
        let store = self.nand.store_mut();
        match (kind, status) {
            (nand::Kind::Program, Status::Ok) => crate::fast::apply_program(&self.ftl, store, id, page, slc),
            (nand::Kind::Program, _) => store.tear(page, slc),
            (_, Status::Ok) => store.erase(page.block()),
            _ => store.tear_erase(page.block()),
        }
    }

    /// What the host's memory or a barrier was asked for is done.
    fn ftl_done(&mut self, id: OpId) {
        let delivery = self.ftl.done(id, Status::Ok, self.nand.store(), &mut self.out);
        self.out.actions.extend(delivery.into_iter().flat_map(Delivery::actions));
    }

    /// A command has ended: with payload kept, a read that ended well must have found what was written.
    #[inline(never)]
    fn check_end(&mut self, tag: Tag, status: Status) {
        if let Some(checker) = &mut self.checker
            && status == Status::Ok
            && checker.request(tag).op == Op::Read
        {
            // As it comes to the host, if it has a buffer to pass.
            let found = self.data.data(tag);
            match self.front.put(tag, found) {
                Some(place) => checker.keep(tag, place),
                None => checker.read(tag, found),
            }
        }
    }

    /// Performs what the translation layer wants, and sets its timer.
    #[inline(always)]
    fn perform(&mut self, now: Time) {
        if !(self.out.actions.is_empty() && self.out.moves.is_empty()) {
            self.perform_actions(now);
        }
        if self.timer == Time::MAX
            && let Some(at) = self.ftl.next_timer()
        {
            self.timer = at.max(now);
            self.world.queue.push(TIMER, self.timer, Event::default());
        }
    }
}
