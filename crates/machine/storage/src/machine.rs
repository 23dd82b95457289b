//! A composed machine in virtual time: one flat event loop over its parts.

use ftl::{Actions, Delivery, Ftl};
use media::{Action, Op, OpId, Request, Status, Tag};
use nand::{Done, Nand, PayloadKind, TagBuffers};
use sim::{EventQueue, Lane, Schedule, Streams, Time, Timeline, Track};

use crate::verify::Checker;
use host_interface::HostInterface;
use host_interface::hmb::Switched;
use system::parts::Parts;

#[path = "advance.rs"]
mod advance;
#[path = "event.rs"]
mod event;
#[path = "perform.rs"]
mod perform;
#[path = "power.rs"]
mod power;
#[path = "queue_tracks.rs"]
mod queue_tracks;
#[path = "reset.rs"]
mod reset;
use advance::end;
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
    host_interface: HostInterface,
    ftl: Ftl,
    nand: Nand,
    data: TagBuffers,
    out: Actions,
    outputs: Vec<host_interface::Output>,
    /// To be answered: on flash, what is done is durable.
    barriers: Vec<OpId>,
    timer: Time,
    /// With payload kept: what every sector must read.
    checker: Option<Box<Checker>>,
    /// With a timeline kept: the queues on it.
    queue_tracks: Option<Box<QueueTracks>>,
}

/// The queue and the timeline: what the parts see of the world.
struct World {
    queue: EventQueue<Event>,
    /// What the queue's count of events is to be corrected by; and until when events are to be handled.
    uncounted: u64,
    until: Time,
    timeline: Option<Box<Timeline>>,
    nand_tracks: u32,
}

const NAND_LANES: u8 = HostInterface::lanes() as u8;
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

/// What the path above the translation layer sees of the world; without `SPANS` no timeline, because none is kept.
struct HostInterfaceView<'a, const SPANS: bool>(&'a mut World);
/// What the flash sees of it.
struct NandView<'a, const SPANS: bool>(&'a mut World);

impl<const SPANS: bool> Schedule<host_interface::Event> for HostInterfaceView<'_, SPANS> {
    const WATCHED: bool = SPANS;

    #[inline(always)]
    fn at(&mut self, lane: Lane, when: Time, event: host_interface::Event) {
        self.0.queue.push(lane, when, event.into());
    }
    #[inline(always)]
    fn skip_to(&mut self, when: Time) -> bool {
        when <= self.0.until && self.0.queue.skip_to(when)
    }
    #[inline(always)]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        if SPANS {
            self.0.span(track, name, from, to);
        }
    }
}

impl<const SPANS: bool> Schedule<nand::Event> for NandView<'_, SPANS> {
    const WATCHED: bool = SPANS;

    #[inline(always)]
    fn at(&mut self, lane: Lane, when: Time, event: nand::Event) {
        self.0.queue.push(Lane(NAND_LANES + lane.0), when, event.into());
    }
    #[inline(always)]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        if SPANS {
            self.0.span(Track(self.0.nand_tracks + track.0), name, from, to);
        }
    }
}

impl Machine {
    /// A machine of `parts`, at time zero, over flash that `nand` holds.
    pub fn new(parts: &Parts, ftl: Ftl, nand: Nand) -> Machine {
        let host_interface = HostInterface::new(&parts.host_interface);
        let mut machine = Machine {
            world: World {
                queue: EventQueue::new(TIMER.0 as usize + 1),
                uncounted: 0,
                until: Time::ZERO,
                timeline: None,
                nand_tracks: host_interface.tracks().len() as u32,
            },
            host_interface,
            data: TagBuffers::new(parts.nand.payload),
            checker: (parts.nand.payload == PayloadKind::Stamp)
                .then(|| Box::new(Checker::new(parts.user_bytes, u64::from(parts.nand.geometry.unit_bytes)))),
            ftl,
            nand,
            out: Actions::default(),
            outputs: Vec::new(),
            barriers: Vec::new(),
            timer: Time::MAX,
            queue_tracks: None,
        };
        machine.ftl.warm_map();
        machine.enable_host_memory();
        machine
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
        for (part, name) in self.host_interface.tracks().into_iter().chain(self.nand.tracks()) {
            timeline.add_track(&part, &name);
        }
        self.queue_tracks = Some(Box::new(QueueTracks::new(&self.host_interface, &self.nand, &mut timeline)));
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
        self.world.queue.come().wrapping_sub(self.world.uncounted)
    }

    /// So many events were handled so far: what else came out of the queue was not.
    fn handled(&mut self, events: u64) {
        self.world.uncounted = self.world.queue.come().wrapping_sub(events);
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
        self.checker.as_deref()
    }

    /// The same, to keep its log.
    pub fn checker_mut(&mut self) -> Option<&mut Checker> {
        self.checker.as_deref_mut()
    }

    /// Host, link and controller.
    pub fn host_interface(&self) -> &HostInterface {
        &self.host_interface
    }

    /// What the path above the translation layer says.
    fn outputs(&mut self, now: Time, completions: &mut Vec<Completion>) {
        let mut asked = false;
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            asked |= !matches!(output, host_interface::Output::Completed { .. });
            match output {
                host_interface::Output::Completed { io, status, submitted } => {
                    completions.push(Completion { io, status, submitted, at: now });
                }
                host_interface::Output::Command { tag, io, request } => {
                    self.check_command(tag, io, request);
                    let read = self.ftl.command(now, tag, &request, &mut self.out);
                    self.out.actions.extend(read.map(Action::Read));
                }
                host_interface::Output::Arrived { tag } => self.arrived(now, tag),
                host_interface::Output::HostMemory { id } => self.ftl_done(OpId(id)),
                host_interface::Output::HostMemorySwitched(Switched::Enabled) => self.ftl.enable_host_memory(),
                host_interface::Output::HostMemorySwitched(Switched::Releasing) => {
                    self.ftl.release_host_memory(&mut self.out)
                }
                host_interface::Output::Emptied { place } => {
                    if let Some(checker) = &mut self.checker {
                        checker.read_from(place, self.host_interface.emptied());
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
            self.host_interface.take(tag, self.data.data_mut(tag));
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
                self.host_interface.put(tag, data);
            }
        }
    }

    /// A flash operation has ended: what it did is done to the contents, then the translation layer is told. Returns the
    /// request that has ended by that, if nothing else happens before.
    #[inline(always)]
    fn flash_done<const SPANS: bool>(&mut self, now: Time, done: Done) -> Option<Completion> {
        let Done { id, status, kind } = done;
        if kind != nand::Kind::Read {
            self.write_ended(now, done);
            return None;
        }
        self.read_done::<SPANS>(now, id, status)
    }

    /// A read of flash has ended.
    #[inline(always)]
    fn read_done<const SPANS: bool>(&mut self, now: Time, id: OpId, status: Status) -> Option<Completion> {
        // Most reads are all that a command asks.
        let Some((tag, bytes)) = self.ftl.whole_read_done(id, &mut self.out) else {
            return self.other_read_done(now, id, status);
        };
        if !self.out.actions.is_empty() {
            self.perform(now);
        }
        self.deliver::<SPANS>(now, tag, bytes, status)
    }

    /// A read of flash has ended that is not all of a command's.
    #[inline(never)]
    fn other_read_done(&mut self, now: Time, id: OpId, status: Status) -> Option<Completion> {
        let Some(Delivery { tag, bytes, end }) = self.ftl.done(id, status, self.nand.store(), &mut self.out) else {
            self.perform(now);
            return None;
        };
        if !(self.out.actions.is_empty() && self.out.moves.is_empty()) {
            self.perform(now);
        }
        if let Some(status) = end {
            return self.deliver::<true>(now, tag, bytes, status);
        }
        self.host_interface.data(now, tag, bytes, &mut HostInterfaceView::<true>(&mut self.world));
        None
    }

    /// The last data of a read of the host are in the controller.
    #[inline(always)]
    fn deliver<const SPANS: bool>(&mut self, now: Time, tag: Tag, bytes: u32, status: Status) -> Option<Completion> {
        let ended =
            self.host_interface.deliver(now, tag, bytes, status, &mut HostInterfaceView::<SPANS>(&mut self.world));
        if self.checker.is_some() {
            self.check_end(tag, status);
        }
        ended.map(end)
    }

    /// A program or an erase has ended.
    #[inline(never)]
    fn write_ended(&mut self, now: Time, done: Done) {
        let Done { id, status, kind } = done;
        let (page, slc) = self.nand.place_of(id);
        let plain = kind == nand::Kind::Program && status == Status::Ok && self.ftl.is_plain(id);
        let sequence = self.ftl.program_sequence(id);
        match plain.then(|| self.nand.store_mut().program_plain(page, sequence, slc)).flatten() {
            Some(spare) => self.ftl.program_done(id, Some(spare), &mut self.out),
            None => {
                self.apply_write(done);
                self.ftl.done(id, status, self.nand.store(), &mut self.out);
            }
        }
        self.perform(now);
    }

    /// What a program or an erase did is done to the contents.
    #[inline(never)]
    fn apply_write(&mut self, done: Done) {
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
            match self.host_interface.put(tag, found) {
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
