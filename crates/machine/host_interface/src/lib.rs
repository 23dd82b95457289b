//! The path between a host program and the translation layer: driver, link and the controller's front end.
//!
//! Requests go in at the top, decoded commands come out at the bottom, data and completions come in there and go out
//! at the top. The three parts do not know each other: what one says, this hands to the next.

mod ahci;
mod bridge;
pub mod hmb;
mod nvme;
pub mod shared_buffer;
mod ufs;

use media::{Request, Status, Tag};
use sim::{Lane, Schedule, Time, Track};

use ahci::Ahci;
use bridge::Bridge;
use nvme::Nvme;
use shared_buffer::SharedBuffer;
use ufs::Ufs;

/// Host, link and device.
#[derive(Clone, Debug)]
pub struct Config {
    /// The host's driver and processors.
    pub host: host::Config,
    /// The link, which says what the host and the device are: NVMe over PCI Express, AHCI and a drive over SATA,
    /// UFSHCI and a device over UniPro, the DMA of the DRAM controller and a drive on a DDR port, a driver and a shared
    /// buffer on the memory bus.
    pub link: link::Config,
    /// The controller.
    pub device: device::Config,
}

/// What the path waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The controller's.
    Device(device::Event),
    /// The driver's.
    Host(host::Event),
    /// The write of a doorbell is at the controller (NVMe, UFSHCI) or the adapter (AHCI).
    Doorbell {
        /// The queue pair; zero for AHCI and UFSHCI.
        queue: u16,
        /// The command.
        cid: u16,
    },
    /// The adapter or host controller has read the command in this slot.
    Issued(u16),
    /// The controller has read or written host memory.
    HostMemory(u32),
    /// A step of a path that numbers its own.
    Step {
        /// Which step.
        step: u8,
        /// Of what: below 2^24.
        of: u32,
    },
}

/// What the path tells the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A command for the translation layer: fetched, decoded, its firmware work done.
    Command {
        /// The command's identity in the controller until it has ended.
        tag: Tag,
        /// The request that it is, or is part of.
        io: u32,
        /// What is asked. Of a split request, a part.
        request: Request,
    },
    /// All data of the write is in the controller's buffer.
    Arrived {
        /// The command.
        tag: Tag,
    },
    /// The access to host memory has ended.
    HostMemory {
        /// As it was asked for.
        id: u32,
    },
    /// The Host Memory Buffer is switched on, or is to be switched off ([`HostInterface::host_memory_released`]).
    HostMemorySwitched(hmb::Switched),
    /// The payload of a read has left the data buffer that was between; it is there to be seen until the path is told
    /// anything else.
    Emptied {
        /// Its place, as [`HostInterface::put`] said.
        place: u32,
    },
    /// The request has ended, and the program knows.
    Completed {
        /// The request.
        io: u32,
        /// How it ended; if it was split, the first part that did not end well.
        status: Status,
        /// When the driver rang the doorbell (the last, if it was split): submission latency ends here.
        submitted: Time,
    },
}

/// How busy a serial resource was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Utilisation {
    /// The part: `"host"`, `"chipset"`, `"link"` or `"controller"`.
    pub part: &'static str,
    /// The resource, as on the timeline.
    pub name: String,
    /// Busy time, at most `elapsed`.
    pub busy: Time,
    /// Time since the start of the run.
    pub elapsed: Time,
}

/// The path of a machine.
#[derive(Debug)]
pub enum HostInterface {
    /// NVMe over PCI Express.
    Nvme(Box<Nvme>),
    /// AHCI and SATA.
    Ahci(Box<Ahci>),
    /// A shared buffer on the memory bus.
    SharedBuffer(Box<SharedBuffer>),
    /// UFSHCI and UFS.
    Ufs(Box<Ufs>),
    /// A drive behind the bridges of a chipset: over SATA, or on a DDR port of the North Bridge.
    Bridge(Box<Bridge>),
}

const HOST_LANE: u8 = device::LANES;
const DOORBELL: Lane = Lane(HOST_LANE + host::LANES);
const ISSUED: Lane = Lane(DOORBELL.0 + 1);
const MEMORY: Lane = Lane(ISSUED.0 + 1);
/// The first lane for [`Event::Step`].
const STEP: Lane = Lane(MEMORY.0 + 1);
/// Lanes of steps: a path uses as many as it has sources of events.
const STEPS: u8 = 12;
const _: () = assert!(shared_buffer::STEPS <= STEPS);

macro_rules! each {
    ($front:expr, $path:ident => $body:expr) => {
        match $front {
            HostInterface::Nvme($path) => $body,
            HostInterface::Ahci($path) => $body,
            HostInterface::SharedBuffer($path) => $body,
            HostInterface::Ufs($path) => $body,
            HostInterface::Bridge($path) => $body,
        }
    };
}

impl HostInterface {
    /// An idle path, its queues created.
    ///
    /// # Panics
    /// If a part has no such configuration; see the parts.
    pub fn new(config: &Config) -> HostInterface {
        match (&config.link, &config.host.chipset) {
            (link::Config::Pcie(_), _) => HostInterface::Nvme(Box::new(Nvme::new(config))),
            (link::Config::Sata(_), None) => HostInterface::Ahci(Box::new(Ahci::new(config))),
            (link::Config::Ufs(link), _) => HostInterface::Ufs(Box::new(Ufs::new(config, link))),
            (link::Config::Sata(_) | link::Config::Ddr(_), Some(chipset)) => {
                HostInterface::Bridge(Box::new(Bridge::new(config, chipset)))
            }
            (link::Config::Ddr(_), None) => panic!("a DDR port without a North Bridge"),
            (link::Config::SharedBuffer(own), _) => {
                HostInterface::SharedBuffer(Box::new(SharedBuffer::new(config, own)))
            }
        }
    }

    /// Makes an event of every step, also of those that can be foreseen. The answers are the same and come later: this
    /// is what the shortcuts are tested against.
    pub fn stepwise(&mut self) {
        if let HostInterface::Nvme(path) = self {
            path.device.stepwise();
        }
    }

    /// Number of event lanes.
    pub const fn lanes() -> usize {
        (STEP.0 + STEPS) as usize
    }

    /// Rows of the timeline: part and name.
    pub fn tracks(&self) -> Vec<(String, String)> {
        each!(self, path => path.tracks())
    }

    /// Queues of commands, as counters of the timeline: part and name.
    pub fn queues(&self) -> Vec<(String, String)> {
        each!(self, path => path.queues())
    }

    /// Appends how many are in each of [`queues`](Self::queues).
    pub fn queue_lengths(&self, lengths: &mut Vec<u32>) {
        each!(self, path => path.queue_lengths(lengths));
    }

    /// Busy time of every serial resource until `now`.
    ///
    /// # Panics
    /// If one was busy for longer than has passed: the model is broken.
    pub fn utilisation(&self, now: Time) -> Vec<Utilisation> {
        let all = each!(self, path => path.busy(now));
        all.into_iter()
            .map(|(part, name, busy)| {
                assert!(busy <= now, "{part} {name} busy for {busy} in {now}");
                Utilisation { part, name, busy, elapsed: now }
            })
            .collect()
    }

    /// What the link has carried: to the device, to the host.
    pub fn link(&self, now: Time) -> [link::Utilisation; 2] {
        each!(self, path => path.link(now))
    }

    /// Interrupts that the device has sent; zero where the driver polls.
    pub fn interrupts(&self) -> u64 {
        each!(self, path => path.interrupts())
    }

    /// Requests that found their queue full when they came.
    pub fn waited(&self) -> u64 {
        each!(self, path => path.waited())
    }

    /// A request of `job`. `io` names it until it has completed: a dense number, free for reuse afterwards. If it is one
    /// command, and nothing happens before the controller has decoded it ([`Schedule::skip_to`]), then that is returned
    /// instead of an [`Output::Command`]: the command, and when it goes to the translation layer.
    ///
    /// # Panics
    /// If `io` is in use, where that is noticed: by a request that is split or waits.
    #[inline(always)]
    pub fn submit(
        &mut self,
        now: Time,
        io: u32,
        job: u16,
        request: &Request,
        s: &mut impl Schedule<Event>,
    ) -> Option<(Tag, Time)> {
        if let HostInterface::Nvme(path) = self {
            return path.submit(now, io, job, request, s);
        }
        self.submit_elsewhere(now, io, job, request.by_field(), s);
        None
    }

    #[inline(never)]
    fn submit_elsewhere(&mut self, now: Time, io: u32, job: u16, request: Request, s: &mut impl Schedule<Event>) {
        match self {
            HostInterface::Nvme(_) => unreachable!("submitted before"),
            HostInterface::Ahci(path) => path.submit(now, io, job, request, s),
            HostInterface::SharedBuffer(path) => path.submit(now, io, job, request, s),
            HostInterface::Ufs(path) => path.submit(now, io, job, request, s),
            HostInterface::Bridge(path) => path.submit(now, io, job, request, s),
        }
    }

    /// An event is due. What it leads to is returned, if that is one thing as it is for most, or added to `out`.
    #[inline(always)]
    pub fn handle(
        &mut self,
        now: Time,
        event: Event,
        s: &mut impl Schedule<Event>,
        out: &mut Vec<Output>,
    ) -> Option<Output> {
        match self {
            HostInterface::Nvme(path) => return path.handle(now, event, s, out),
            HostInterface::Ahci(path) => path.handle(now, event, s, out),
            HostInterface::Ufs(path) => path.handle(now, event, s, out),
            HostInterface::Bridge(path) => path.handle(now, event, s, out),
            HostInterface::SharedBuffer(path) => path.handle(now, event, s, out),
        }
        None
    }

    /// From the translation layer: there is space for the write's data. [`Output::Arrived`] follows.
    ///
    /// # Panics
    /// If `tag` is no write that runs.
    #[inline]
    pub fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        each!(self, path => path.ready(now, tag, s));
    }

    /// From the translation layer: `bytes` more of the read are in the controller.
    ///
    /// # Panics
    /// If `tag` is no read that runs, or it did not ask for so many.
    #[inline]
    pub fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) {
        each!(self, path => path.data(now, tag, bytes, s));
    }

    /// [`data`](Self::data) and [`complete`](Self::complete) in one: the last data of a read, and its end. If nothing
    /// happens before its request ends ([`Schedule::skip_to`]), that is returned instead of an [`Output::Completed`], and
    /// when.
    ///
    /// # Panics
    /// As they do.
    #[inline(always)]
    pub fn deliver(
        &mut self,
        now: Time,
        tag: Tag,
        bytes: u32,
        status: Status,
        s: &mut impl Schedule<Event>,
    ) -> Option<(host::Completed, Time)> {
        if let HostInterface::Nvme(path) = self {
            return path.deliver(now, tag, bytes, status, s);
        }
        self.data(now, tag, bytes, s);
        self.complete(now, tag, status, s);
        None
    }

    /// From the translation layer: the command has ended. [`Output::Completed`] follows, when the last command of its
    /// request has ended; the tag is used again.
    ///
    /// # Panics
    /// If `tag` does not run, or ends well without all of its data.
    #[inline]
    pub fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) {
        each!(self, path => path.complete(now, tag, status, s));
    }

    /// The controller reads `bytes` of host memory, or writes them (`store`), for purposes of its own: a map that is
    /// kept there. [`Output::HostMemory`] follows, for a write when the data has left.
    ///
    /// # Panics
    /// On any link but PCI Express, where a device cannot.
    #[inline]
    pub fn host_memory(&mut self, now: Time, bytes: u32, store: bool, id: u32, s: &mut impl Schedule<Event>) {
        match self {
            HostInterface::Nvme(path) => path.host_memory(now, bytes, store, id, s),
            HostInterface::Ufs(_) => panic!("a UFS device without unified memory cannot use host memory"),
            HostInterface::Ahci(_) | HostInterface::Bridge(_) => {
                panic!("a drive that is no master of a bus cannot use host memory")
            }
            HostInterface::SharedBuffer(_) => panic!("a device on the memory bus cannot use host memory"),
        }
    }

    /// Bytes of the Host Memory Buffer that the controller may use now.
    pub fn host_memory_bytes(&self) -> u64 {
        match self {
            HostInterface::Nvme(path) => path.memory.bytes(),
            HostInterface::Ahci(_)
            | HostInterface::Ufs(_)
            | HostInterface::Bridge(_)
            | HostInterface::SharedBuffer(_) => 0,
        }
    }

    /// The host's administrator switches the Host Memory Buffer on or off: a Set Features command. False if one is under
    /// way already, or there is nothing to switch. [`Output::HostMemorySwitched`] follows.
    pub fn switch_host_memory(&mut self, now: Time, on: bool, s: &mut impl Schedule<Event>) -> bool {
        match self {
            HostInterface::Nvme(path) => path.switch_host_memory(now, on, s),
            HostInterface::Ahci(_)
            | HostInterface::Ufs(_)
            | HostInterface::Bridge(_)
            | HostInterface::SharedBuffer(_) => false,
        }
    }

    /// From the translation layer: it needs nothing of the Host Memory Buffer any more, as it was told to see to.
    ///
    /// # Panics
    /// If it was not.
    pub fn host_memory_released(&mut self, now: Time) {
        match self {
            HostInterface::Nvme(path) => path.host_memory_released(now),
            _ => panic!("host memory is released that was never lent"),
        }
    }

    /// The controller is reset, and its queues are created anew; the driver returns the Host Memory Buffer as it was
    /// (`keep`), or gives other memory. Events scheduled before must not be handed in any more. Returns the requests that
    /// will never complete, ascending, and whether the buffer has what was in it.
    pub fn reset(&mut self, now: Time, keep: bool) -> (Vec<u32>, bool) {
        match self {
            HostInterface::Nvme(path) => path.reset(now, keep),
            _ => (self.power_cut(now), true),
        }
    }

    /// With payload kept, and a data buffer between host and controller: the data of a command that begins as a write, or
    /// ends as a read, is put there. Returns its place; `None` where there is no such buffer.
    #[inline]
    pub fn put(&mut self, tag: Tag, data: &[u8]) -> Option<u32> {
        match self {
            HostInterface::SharedBuffer(path) => Some(path.put(tag, data)),
            HostInterface::Nvme(_) | HostInterface::Ahci(_) | HostInterface::Ufs(_) | HostInterface::Bridge(_) => None,
        }
    }

    /// The data of a write as it has come through such a buffer; unchanged where there is none.
    #[inline]
    pub fn take(&self, tag: Tag, data: &mut [u8]) {
        if let HostInterface::SharedBuffer(path) = self {
            path.take(tag, data);
        }
    }

    /// The data of [`Output::Emptied`].
    pub fn emptied(&self) -> &[u8] {
        match self {
            HostInterface::SharedBuffer(path) => path.emptied(),
            HostInterface::Nvme(_) | HostInterface::Ahci(_) | HostInterface::Ufs(_) | HostInterface::Bridge(_) => &[],
        }
    }

    /// What a path through a shared buffer counted, behind which so many bytes were decoded and encoded; `None` of any
    /// other.
    pub fn shared_buffer(&self, now: Time, decoded: u64, encoded: u64) -> Option<shared_buffer::Report> {
        match self {
            HostInterface::SharedBuffer(path) => Some(path.report(now, decoded, encoded)),
            HostInterface::Nvme(_) | HostInterface::Ahci(_) | HostInterface::Ufs(_) | HostInterface::Bridge(_) => None,
        }
    }

    /// The power is cut, of host and device. Everything under way is gone, and the queues are created anew; what was
    /// counted stays. Events scheduled before must not be handed in any more. Returns the requests that will never
    /// complete, ascending.
    pub fn power_cut(&mut self, now: Time) -> Vec<u32> {
        each!(self, path => path.power_cut(now))
    }
}

/// Rows of the link on the timeline, by direction.
const LINK: [&str; 2] = ["to device", "to host"];

/// Rows of the timeline of a path with a [`link::Link`]: part and name.
fn rows(host: Vec<String>, device: Vec<String>) -> Vec<(String, String)> {
    let parts = [("host", host), ("link", LINK.map(str::to_owned).to_vec()), ("controller", device)];
    parts.into_iter().flat_map(|(part, names)| names.into_iter().map(move |n| (part.to_owned(), n))).collect()
}

/// A serial resource of a path: its part, its name, its busy time.
type Busy = (&'static str, String, Time);

/// Busy times of a path with a [`link::Link`].
fn busy(host: Vec<(String, Time)>, link: [link::Utilisation; 2], device: Vec<(String, Time)>) -> Vec<Busy> {
    let host = host.into_iter().map(|(name, busy)| ("host", name, busy));
    let link = LINK.into_iter().zip(link).map(|(name, way)| ("link", name.to_owned(), way.busy));
    let device = device.into_iter().map(|(name, busy)| ("controller", name, busy));
    host.chain(link).chain(device).collect()
}

/// A part's view of the world: its events and rows among those of the path.
struct Part<'a, S> {
    s: &'a mut S,
    tracks: u32,
}

impl<S: Schedule<Event>> Schedule<device::Event> for Part<'_, S> {
    const WATCHED: bool = S::WATCHED;

    #[inline(always)]
    fn at(&mut self, lane: Lane, when: Time, event: device::Event) {
        self.s.at(lane, when, Event::Device(event));
    }
    #[inline(always)]
    fn skip_to(&mut self, when: Time) -> bool {
        self.s.skip_to(when)
    }
    #[inline]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.s.span(Track(self.tracks + track.0), name, from, to);
    }
}

impl<S: Schedule<Event>> Schedule<host::Event> for Part<'_, S> {
    const WATCHED: bool = S::WATCHED;

    #[inline(always)]
    fn at(&mut self, lane: Lane, when: Time, event: host::Event) {
        self.s.at(Lane(HOST_LANE + lane.0), when, Event::Host(event));
    }
    #[inline(always)]
    fn skip_to(&mut self, when: Time) -> bool {
        self.s.skip_to(when)
    }
    #[inline]
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.s.span(Track(self.tracks + track.0), name, from, to);
    }
}

/// First rows of the link and of the controller on the timeline; those of the host are the first.
#[derive(Clone, Copy, Debug)]
struct Tracks {
    link: u32,
    device: u32,
}

impl Tracks {
    fn behind(host: &[String]) -> Tracks {
        Tracks { link: host.len() as u32, device: host.len() as u32 + 2 }
    }
}

/// The host's view of the world.
#[inline]
fn host_part<S>(s: &mut S) -> Part<'_, S> {
    Part { s, tracks: 0 }
}

/// The controller's view of the world.
#[inline]
fn device_part<S>(s: &mut S, tracks: Tracks) -> Part<'_, S> {
    Part { s, tracks: tracks.device }
}

/// Moves a command's data and shows it on the timeline.
#[inline]
fn transfer(
    link: &mut link::Link,
    now: Time,
    direction: link::Direction,
    bytes: u64,
    tracks: Tracks,
    s: &mut impl Schedule<Event>,
) -> link::Transfer {
    link.data(now, direction, bytes, |way, span| {
        s.span(Track(tracks.link + way as u32), "data", span.from, span.to);
    })
}
