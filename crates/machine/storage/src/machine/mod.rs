//! A composed drive in virtual time: one event loop over its parts.

use media::{Actions, OpId, Status};
use nand::{Nand, PageSpan, PayloadKind, TagBuffers};
use read_ahead::ReadAhead;
use sim::{Client, EventQueue, Lane, Rng, Schedule, Span, Streams, Time, Timeline, Track, rarely};

use crate::run::verify::Checker;
use host_interface::HostInterface;
use system::parts::{Parts, Translation};

mod advance;
mod ahead;
mod event;
mod external;
mod mirror;
mod observer;
mod perform;
mod placement;
mod power;
mod queue_tracks;
mod reset;
mod tracing;
use event::Event;
pub use mirror::Mirror;
use observer::Observer;
pub use placement::PlacementBytes;
pub use power::PowerCut;
use queue_tracks::QueueTracks;

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The caller's name for the request.
    pub io: u32,
    /// The request's final status.
    pub status: Status,
    /// Time at which the driver had submitted the request; its submission latency ends here.
    pub submitted: Time,
    /// Time at which the program was notified.
    pub at: Time,
}

/// Host, link, controller, translation layer and flash as one machine.
pub struct Machine {
    world: World,
    host_interface: HostInterface,
    ftl: Translation,
    nand: Nand,
    /// The drive's read-ahead, if it has one.
    ahead: Option<Box<ReadAhead>>,
    data: TagBuffers,
    out: Actions,
    outputs: Vec<host_interface::Output>,
    /// Barriers to answer. A finished flash program is durable, so each is answered at once.
    barriers: Vec<OpId>,
    /// There are barriers, or commands that may have made something due to be read ahead.
    later: bool,
    timer: Time,
    /// The expected contents of every sector, if payload is kept.
    checker: Option<Box<Checker>>,
    /// The queues shown on the timeline, if one is kept.
    queue_tracks: Option<Box<QueueTracks>>,
    /// The host is outside the simulation and exchanges payload with the controller.
    external: bool,
    /// Commands concern more than the parts: payload is checked or exchanged, streams are read ahead, or a trace is kept.
    attended: bool,
    /// Reads and erases go to the flash alone: there is no read-ahead and no trace.
    plain_reads: bool,
    /// A copy of the flash outside the simulation, if one is kept.
    mirror: Option<Box<dyn Mirror>>,
    /// Map entries on their way to or from an external host's memory.
    entries: Vec<u8>,
}

/// The part of a machine that its parts reach through `Schedule`: the event queue and the recorders.
struct World {
    queue: EventQueue<Event>,
    observer: Option<Box<Observer>>,
    nand_tracks: u32,
}

const NAND_LANES: u8 = HostInterface::lanes() as u8;
const TIMER: Lane = Lane(NAND_LANES + Nand::LANES as u8);
const AHEAD: Lane = Lane(TIMER.0 + 1);
const LANES: usize = AHEAD.0 as usize + 1;

impl World {
    #[inline]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        if let Some(observer) = &mut self.observer {
            rarely(observer, move |it| it.span(track, name, from, to));
        }
    }
}

/// The world as seen by the host interface.
struct HostInterfaceView<'a>(&'a mut World);
/// The world as seen by the flash.
struct NandView<'a>(&'a mut World);

impl Schedule<host_interface::Event> for HostInterfaceView<'_> {
    #[inline]
    fn at(&mut self, lane: Lane, when: Time, event: host_interface::Event) {
        self.0.queue.push(lane, when, Event::HostInterface(event));
    }
    #[inline]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.0.span(track, name, from, to);
    }
    #[inline]
    fn served(&mut self, track: Track, client: Client, name: &'static str, since: Time, span: Span) {
        if let Some(observer) = &mut self.0.observer {
            observer.interface(track, client, since, span, name);
        }
    }
}

impl Schedule<nand::Event> for NandView<'_> {
    #[inline]
    fn at(&mut self, lane: Lane, when: Time, event: nand::Event) {
        self.0.queue.push(Lane(NAND_LANES + lane.0), when, Event::Flash(event));
    }
    #[inline]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.0.span(Track(self.0.nand_tracks + track.0), name, from, to);
    }
    #[inline]
    fn served(&mut self, track: Track, client: Client, name: &'static str, _: Time, span: Span) {
        let first = self.0.nand_tracks;
        if let Some(observer) = &mut self.0.observer {
            observer.flash(track, client, span, first, name);
        }
    }
}

impl Machine {
    /// Creates a machine of `parts` at time zero over the flash `nand`.
    pub fn new(parts: &Parts, ftl: Translation, nand: Nand) -> Machine {
        Machine::with_interface(parts, HostInterface::new(&parts.host_interface), ftl, nand)
    }

    fn with_interface(parts: &Parts, host_interface: HostInterface, ftl: Translation, nand: Nand) -> Machine {
        let external = matches!(host_interface, HostInterface::External(_));
        let geometry = &parts.nand.geometry;
        let (unit, page) = (u64::from(geometry.unit_bytes), u64::from(geometry.page_bytes));
        let ahead = ReadAhead::new(&parts.read_ahead, unit, page).map(Box::new);
        let mut machine = Machine {
            world: World {
                queue: EventQueue::new(LANES),
                observer: None,
                nand_tracks: host_interface.tracks().len() as u32,
            },
            external,
            attended: external || ahead.is_some() || parts.nand.payload == PayloadKind::Stamp,
            plain_reads: ahead.is_none() && parts.nand.span == PageSpan::ONE,
            host_interface,
            ahead,
            data: TagBuffers::new(parts.nand.payload),
            checker: (parts.nand.payload == PayloadKind::Stamp)
                .then(|| Box::new(Checker::new(parts.user_bytes, u64::from(parts.nand.geometry.unit_bytes)))),
            ftl,
            nand,
            out: Actions::default(),
            outputs: Vec::new(),
            barriers: Vec::new(),
            later: false,
            timer: Time::MAX,
            queue_tracks: None,
            mirror: None,
            entries: Vec::new(),
        };
        machine.start();
        machine.enable_host_memory();
        machine
    }

    /// Lets the translation layer start what the mount left to do.
    fn start(&mut self) {
        let now = self.now();
        self.ftl.start(&mut self.out);
        self.perform(now);
    }

    /// Holds in RAM what a long run of random overwrites does, each unit with the contents that it has.
    pub fn hold_overwrites(&mut self, rng: &mut Rng) {
        self.ftl.hold_overwrites(rng, &mut self.out);
        self.perform(self.now());
    }

    /// Creates a machine of `parts` with erased flash.
    ///
    /// # Errors
    /// Fails if the parts do not fit together.
    pub fn erased(parts: &Parts, streams: &Streams) -> Result<Machine, ftl::config::ConfigError> {
        let (nand, ftl, _) = parts.mount(parts.erased_store(streams), streams)?;
        Ok(Machine::new(parts, ftl, nand))
    }

    /// Keeps a timeline from now on, of at most `limit` spans and as many changes of queue lengths.
    pub fn keep_timeline(&mut self, limit: usize) {
        let mut timeline = Timeline::new(limit);
        for (part, name) in self.host_interface.tracks().into_iter().chain(self.nand.tracks()) {
            timeline.add_track(&part, &name);
        }
        self.queue_tracks = Some(Box::new(QueueTracks::new(&self.host_interface, &self.nand, &mut timeline)));
        self.world.observer.get_or_insert_default().timeline = Some(timeline);
    }

    /// Returns the timeline, if one is kept.
    pub fn timeline(&self) -> Option<&Timeline> {
        self.world.observer.as_ref()?.timeline.as_ref()
    }

    /// Returns the time of the last event.
    pub fn now(&self) -> Time {
        self.world.queue.now()
    }

    /// Returns the translation layer.
    pub fn ftl(&self) -> &Translation {
        &self.ftl
    }

    /// Returns the translation layer, to reset its counters or inject a fault.
    pub fn ftl_mut(&mut self) -> &mut Translation {
        &mut self.ftl
    }

    /// Returns the counters of the read-ahead, if the drive reads ahead.
    pub fn read_ahead_stats(&self) -> Option<read_ahead::Stats> {
        self.ahead.as_ref().map(|ahead| ahead.stats())
    }

    /// Returns the flash.
    pub fn nand(&self) -> &Nand {
        &self.nand
    }

    /// Returns the checker of read data, if payload is kept.
    pub fn checker(&self) -> Option<&Checker> {
        self.checker.as_deref()
    }

    /// Returns the checker for changes, such as keeping a log.
    pub fn checker_mut(&mut self) -> Option<&mut Checker> {
        self.checker.as_deref_mut()
    }

    /// Exchanges the cores of the host's processor with those of another drive's host, so that both drives share one.
    /// Returns false if there are none to share.
    pub(crate) fn swap_cores(&mut self, other: &mut Machine) -> bool {
        self.host_interface.swap_cores(&mut other.host_interface)
    }

    /// Returns the host interface: driver, link and controller front end.
    pub fn host_interface(&self) -> &HostInterface {
        &self.host_interface
    }
}
