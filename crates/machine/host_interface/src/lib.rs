//! The path between a host program and the translation layer: driver, link and the controller's front end.
//!
//! Requests enter from the program, and decoded commands leave towards the translation layer; data and completions
//! travel the other way. Driver, link and front end do not know each other: this crate passes each one's output to the
//! next.

mod ahci;
mod bridge;
mod event;
pub mod external;
pub mod hmb;
mod nvme;
mod path;
pub mod shared_buffer;
mod ufs;
mod view;

use media::{Request, Status, Tag};
use sim::{Schedule, Time};

pub use dram::strobed::StrobeStats;
pub use event::{Config, Event, Outcome, Output};

use ahci::Ahci;
use bridge::Bridge;
use event::{STEP, STEPS};
use external::External;
use host::ChipsetModel;
use nvme::Nvme;
use path::Path;
use shared_buffer::SharedBuffer;
use ufs::Ufs;

macro_rules! each {
    ($front:expr, $path:ident => $body:expr) => {
        match $front {
            HostInterface::Nvme($path) => $body,
            others => each_but_nvme!(others, $path => $body),
        }
    };
}

macro_rules! each_but_nvme {
    ($front:expr, $path:ident => $body:expr) => {
        match $front {
            HostInterface::Nvme(_) => unreachable!("an NVMe path is served by the caller"),
            HostInterface::Ahci($path) => $body,
            HostInterface::SharedBuffer($path) => $body,
            HostInterface::Ufs($path) => $body,
            HostInterface::Bridge($path) => $body,
            HostInterface::External($path) => $body,
        }
    };
}

impl sim::Part for HostInterface {
    type Event = Event;
    type Output = Vec<Output>;

    fn handle(&mut self, now: Time, event: Event, s: &mut impl Schedule<Event>, out: &mut Vec<Output>) {
        let outcome = self.outcome_of(now, event, s, out);
        out.extend(outcome.output(|tag| self.io(tag)));
    }
}

/// Utilization of a serial resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Utilization {
    /// The part: `"host"`, `"chipset"`, `"link"` or `"controller"`.
    pub part: &'static str,
    /// Name of the resource, as on the timeline.
    pub name: String,
    /// Busy time, at most `elapsed`.
    pub busy: Time,
    /// Time since the start of the run.
    pub elapsed: Time,
}

/// The host interface of a machine.
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
    /// A drive behind the bridges of a chipset, over SATA or on a DDR port of the North Bridge.
    Bridge(Box<Bridge>),
    /// A controller whose host is outside the simulation.
    External(Box<dyn External>),
}

const _: () = assert!(shared_buffer::STEPS <= STEPS);

impl HostInterface {
    /// Creates an idle path and its queues.
    ///
    /// # Panics
    /// Panics if a part does not support the configuration; see the parts.
    pub fn new(config: &Config) -> HostInterface {
        match (&config.link, config.host.chipset.model) {
            (link::Config::Pcie(_), _) => HostInterface::Nvme(Box::new(Nvme::new(config))),
            (link::Config::Sata(_), ChipsetModel::Hidden) => HostInterface::Ahci(Box::new(Ahci::new(config))),
            (link::Config::Ufs(link), _) => HostInterface::Ufs(Box::new(Ufs::new(config, link))),
            (link::Config::Sata(_) | link::Config::Ddr(_), ChipsetModel::Bridges) => {
                HostInterface::Bridge(Box::new(Bridge::new(config)))
            }
            (link::Config::Ddr(_), ChipsetModel::Hidden) => panic!("a DDR port without a North Bridge"),
            (link::Config::SharedBuffer(own), _) => {
                HostInterface::SharedBuffer(Box::new(SharedBuffer::new(config, own)))
            }
        }
    }

    /// Exchanges the cores of the processor with those of another path, so that both share one. Returns false if their
    /// drivers differ, or have no cores.
    pub fn swap_cores(&mut self, other: &mut HostInterface) -> bool {
        match (self, other) {
            (HostInterface::Nvme(one), HostInterface::Nvme(other)) => one.swap_cores(other),
            (HostInterface::Ahci(one), HostInterface::Ahci(other)) => one.swap_cores(other),
            (HostInterface::Ufs(one), HostInterface::Ufs(other)) => one.swap_cores(other),
            _ => return false,
        }
        true
    }

    /// Returns the number of event lanes.
    pub const fn lanes() -> usize {
        (STEP.0 + STEPS) as usize
    }

    /// Returns the rows of the timeline: part and name.
    pub fn tracks(&self) -> Vec<(String, String)> {
        each!(self, path => path.tracks())
    }

    /// Returns the command queues, which are counters of the timeline: part and name.
    pub fn queues(&self) -> Vec<(String, String)> {
        each!(self, path => path.queues())
    }

    /// Appends the current length of each of [`queues`](Self::queues).
    pub fn queue_lengths(&self, lengths: &mut Vec<u32>) {
        each!(self, path => path.queue_lengths(lengths));
    }

    /// Returns the busy time of every serial resource until `now`.
    ///
    /// # Panics
    /// Panics if a resource was busy for longer than the time passed, which means that the model is broken.
    pub fn utilization(&self, now: Time) -> Vec<Utilization> {
        let all = each!(self, path => path.busy(now));
        all.into_iter()
            .map(|(part, name, busy)| {
                assert!(busy <= now, "{part} {name} busy for {busy} in {now}");
                Utilization { part, name, busy, elapsed: now }
            })
            .collect()
    }

    /// Returns the link's utilization to the device and to the host.
    pub fn link(&self, now: Time) -> [link::Utilization; 2] {
        each!(self, path => path.link(now))
    }

    /// Returns the number of interrupts sent by the device; zero if the driver polls.
    pub fn interrupts(&self) -> u64 {
        each!(self, path => path.interrupts())
    }

    /// Returns true if commands wait in the controller for a single data buffer.
    pub fn has_single_buffer(&self) -> bool {
        match self {
            HostInterface::Ahci(path) => path.has_single_buffer(),
            HostInterface::Bridge(path) => path.has_single_buffer(),
            _ => false,
        }
    }

    /// Returns the number of requests that found their queue full.
    pub fn waited(&self) -> u64 {
        each!(self, path => path.waited())
    }

    /// Submits a request of `job`. `io` names it until its completion: a dense number that may be reused afterwards.
    ///
    /// # Panics
    /// Panics if `io` is in use.
    #[inline]
    pub fn submit(&mut self, now: Time, io: u32, job: u16, request: Request, s: &mut impl Schedule<Event>) {
        match self {
            HostInterface::Nvme(path) => path.submit(now, io, job, request, s),
            others => others.submit_but_nvme(now, io, job, request, s),
        }
    }

    /// Accepts a write's data: the translation layer has space for it. [`Output::Arrived`] follows.
    ///
    /// # Panics
    /// Panics if `tag` is not a write in progress.
    #[inline]
    pub fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        match self {
            HostInterface::Nvme(path) => path.ready(now, tag, s),
            others => others.ready_but_nvme(now, tag, s),
        }
    }

    /// Accepts `bytes` more of a read's data from the translation layer.
    ///
    /// # Panics
    /// Panics if `tag` is not a read in progress, or has fewer bytes left.
    #[inline]
    pub fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) {
        match self {
            HostInterface::Nvme(path) => path.data(now, tag, bytes, s),
            others => others.data_but_nvme(now, tag, bytes, s),
        }
    }

    /// Accepts the last `bytes` of a read's data, and [completes](Self::complete) the read with `status`.
    ///
    /// # Panics
    /// Panics like [`data`](Self::data) and [`complete`](Self::complete).
    #[inline]
    pub fn last_data(&mut self, now: Time, tag: Tag, bytes: u32, status: Status, s: &mut impl Schedule<Event>) {
        match self {
            HostInterface::Nvme(path) => path.last_data(now, tag, bytes, status, s),
            others => {
                others.data_but_nvme(now, tag, bytes, s);
                others.complete_but_nvme(now, tag, status, s);
            }
        }
    }

    /// Ends a command on behalf of the translation layer and frees its tag. [`Output::Completed`] follows when the last
    /// command of the request has ended.
    ///
    /// # Panics
    /// Panics if `tag` is not in progress, or succeeds without all of its data.
    #[inline]
    pub fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) {
        match self {
            HostInterface::Nvme(path) => path.complete(now, tag, status, s),
            others => others.complete_but_nvme(now, tag, status, s),
        }
    }

    /// Handles an event at its time, like [`handle`](sim::Part::handle). Returns its output, unless it appends its
    /// outputs to `out`.
    #[inline(always)]
    pub fn outcome_of(
        &mut self,
        now: Time,
        event: Event,
        s: &mut impl Schedule<Event>,
        out: &mut Vec<Output>,
    ) -> Outcome {
        match self {
            HostInterface::Nvme(path) => path.handle(now, event, s, out),
            others => {
                others.handle_but_nvme(now, event, s, out);
                Outcome::default()
            }
        }
    }

    // The code of NVMe alone is part of the event loop. That of all other paths would push the loop's state out of
    // registers: reads and writes over NVMe would take 100 instructions more.

    #[inline(never)]
    fn handle_but_nvme(&mut self, now: Time, event: Event, s: &mut impl Schedule<Event>, out: &mut Vec<Output>) {
        let outcome = match self {
            HostInterface::Nvme(_) => unreachable!("an NVMe path is served by the caller"),
            HostInterface::Ahci(path) => path.handle(now, event, s, out),
            HostInterface::SharedBuffer(path) => path.handle(now, event, s, out),
            HostInterface::Ufs(path) => path.handle(now, event, s, out),
            HostInterface::Bridge(path) => path.handle(now, event, s, out),
            HostInterface::External(path) => return path.handle(now, event, s, out),
        };
        out.extend(outcome.output(|tag| self.io(tag)));
    }

    /// Returns the request that a command is, or is part of. The command has not ended.
    ///
    /// # Panics
    /// If the tag is beyond the controller's commands, or an external host submits the commands itself.
    pub fn io(&self, tag: Tag) -> u32 {
        assert!(tag.0 <= u32::from(u16::MAX), "tag {} is beyond all controllers", tag.0);
        match self {
            HostInterface::Nvme(path) => path.io(tag),
            HostInterface::Ahci(path) => path.io(tag),
            HostInterface::SharedBuffer(path) => path.io(tag),
            HostInterface::Ufs(path) => path.io(tag),
            HostInterface::Bridge(path) => path.io(tag),
            HostInterface::External(_) => panic!("the requests of an external host have no numbers"),
        }
    }

    fn submit_but_nvme(&mut self, now: Time, io: u32, job: u16, request: Request, s: &mut impl Schedule<Event>) {
        each_but_nvme!(self, path => path.submit(now, io, job, request, s));
    }

    fn ready_but_nvme(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        each_but_nvme!(self, path => path.ready(now, tag, s));
    }

    #[inline(never)]
    fn data_but_nvme(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) {
        each_but_nvme!(self, path => path.data(now, tag, bytes, s));
    }

    #[inline(never)]
    fn complete_but_nvme(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) {
        each_but_nvme!(self, path => path.complete(now, tag, status, s));
    }

    /// Reads or writes (`store`) `bytes` of host memory for the controller's own purposes, such as a map kept there.
    /// [`Output::HostMemory`] follows, for a write when the data has left the controller.
    ///
    /// # Panics
    /// Panics on any link but PCI Express, where a device cannot access host memory.
    #[inline]
    pub fn host_memory(&mut self, now: Time, bytes: u32, store: bool, id: u32, s: &mut impl Schedule<Event>) {
        match self {
            HostInterface::Nvme(path) => path.host_memory(now, bytes, store, id, s),
            HostInterface::External(path) => {
                path.host_memory(now, external::Access { id, bytes, store, lines: None }, s)
            }
            HostInterface::Ufs(_) => panic!("a UFS device without unified memory cannot use host memory"),
            HostInterface::Ahci(_) | HostInterface::Bridge(_) => {
                panic!("a drive that is no master of a bus cannot use host memory")
            }
            HostInterface::SharedBuffer(_) => panic!("a device on the memory bus cannot use host memory"),
        }
    }

    /// Returns the bytes of the Host Memory Buffer that the controller may currently use.
    pub fn host_memory_bytes(&self) -> u64 {
        match self {
            HostInterface::Nvme(path) => path.memory.bytes(),
            HostInterface::Ahci(_)
            | HostInterface::Ufs(_)
            | HostInterface::Bridge(_)
            | HostInterface::External(_)
            | HostInterface::SharedBuffer(_) => 0,
        }
    }

    /// Switches the Host Memory Buffer on or off with a Set Features command, like the host's administrator. Returns
    /// false if such a command is already in progress or nothing would change. [`Output::HostMemorySwitched`] follows.
    pub fn switch_host_memory(&mut self, now: Time, on: bool, s: &mut impl Schedule<Event>) -> bool {
        match self {
            HostInterface::Nvme(path) => path.switch_host_memory(now, on, s),
            HostInterface::Ahci(_)
            | HostInterface::Ufs(_)
            | HostInterface::Bridge(_)
            | HostInterface::External(_)
            | HostInterface::SharedBuffer(_) => false,
        }
    }

    /// Reports that the translation layer no longer needs the Host Memory Buffer, after [`hmb::Switched::Releasing`].
    ///
    /// # Panics
    /// Panics if no release was requested.
    pub fn host_memory_released(&mut self, now: Time, s: &mut impl Schedule<Event>) {
        match self {
            HostInterface::Nvme(path) => path.host_memory_released(now),
            HostInterface::External(path) => path.host_memory_released(now, s),
            _ => panic!("release of host memory that was never lent"),
        }
    }

    /// Resets the controller and creates its queues again. The driver returns the Host Memory Buffer intact (`keep`) or
    /// provides other memory. Events scheduled earlier must not be handled any more. Returns the requests that will
    /// never complete, in ascending order, and whether the buffer still has its contents.
    pub fn reset(&mut self, now: Time, keep: bool) -> (Vec<u32>, bool) {
        match self {
            HostInterface::Nvme(path) => path.reset(now, keep),
            _ => (self.power_cut(now), true),
        }
    }

    /// Stores a command's payload in the data buffer between host and controller, at the start of a write or at the end
    /// of a read, or hands a read's payload to an external host. Returns its place in the data buffer, if there is one.
    #[inline]
    pub fn put(&mut self, tag: Tag, data: &[u8]) -> Option<u32> {
        match self {
            HostInterface::SharedBuffer(path) => Some(path.put(tag, data)),
            HostInterface::External(path) => {
                path.put(tag, data);
                None
            }
            HostInterface::Nvme(_) | HostInterface::Ahci(_) | HostInterface::Ufs(_) | HostInterface::Bridge(_) => None,
        }
    }

    /// Overwrites `data` with a write's payload as it came through the data buffer or from an external host. Does
    /// nothing on other paths, which carry no payload.
    #[inline]
    pub fn take(&mut self, tag: Tag, data: &mut [u8]) {
        match self {
            HostInterface::SharedBuffer(path) => path.take(tag, data),
            HostInterface::External(path) => path.take(tag, data),
            HostInterface::Nvme(_) | HostInterface::Ahci(_) | HostInterface::Ufs(_) | HostInterface::Bridge(_) => {}
        }
    }

    /// Returns the data of [`Output::Emptied`].
    pub fn emptied(&self) -> &[u8] {
        match self {
            HostInterface::SharedBuffer(path) => path.emptied(),
            HostInterface::Nvme(_)
            | HostInterface::Ahci(_)
            | HostInterface::Ufs(_)
            | HostInterface::Bridge(_)
            | HostInterface::External(_) => &[],
        }
    }

    /// Returns the report of a path through a shared buffer, whose ECC engines decoded and encoded these bytes, or
    /// `None` for any other path.
    pub fn shared_buffer(&self, now: Time, decoded: u64, encoded: u64) -> Option<shared_buffer::Report> {
        match self {
            HostInterface::SharedBuffer(path) => Some(path.report(now, decoded, encoded)),
            HostInterface::Nvme(_)
            | HostInterface::Ahci(_)
            | HostInterface::Ufs(_)
            | HostInterface::Bridge(_)
            | HostInterface::External(_) => None,
        }
    }

    /// Returns the counters of the READs that wait on a DDR port, or `None` for any other path.
    pub fn strobe(&self) -> Option<&StrobeStats> {
        match self {
            HostInterface::Bridge(path) => path.strobe(),
            HostInterface::Nvme(_)
            | HostInterface::Ahci(_)
            | HostInterface::SharedBuffer(_)
            | HostInterface::Ufs(_)
            | HostInterface::External(_) => None,
        }
    }

    /// Cuts the power of host and device. Everything in progress is lost, the queues are created again, and counters
    /// survive. Events scheduled earlier must not be handled any more. Returns the requests that will never complete,
    /// in ascending order.
    pub fn power_cut(&mut self, now: Time) -> Vec<u32> {
        match self {
            HostInterface::External(path) => {
                path.power_cut(now);
                Vec::new()
            }
            HostInterface::Nvme(path) => path.power_cut(now),
            HostInterface::Ahci(path) => path.power_cut(now),
            HostInterface::SharedBuffer(path) => path.power_cut(now),
            HostInterface::Ufs(path) => path.power_cut(now),
            HostInterface::Bridge(path) => path.power_cut(now),
        }
    }
}
