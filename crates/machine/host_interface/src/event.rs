//! The configuration, events and outputs of a path.

use host::Completed;
use media::{Request, Status, Tag};
use sim::{Lane, Time};

use crate::hmb;

/// Configuration of host, link and device.
#[derive(Clone, Debug)]
pub struct Config {
    /// The host's driver and processors.
    pub host: host::Config,
    /// The link, which determines the kind of host and device: NVMe over PCI Express; AHCI and a drive over SATA;
    /// UFSHCI and a device over UniPro; the DMA of the DRAM controller and a drive on a DDR port; a driver and a shared
    /// buffer on the memory bus.
    pub link: link::Config,
    /// The controller.
    pub device: device::Config,
}

/// An event of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An event of the controller.
    Device(device::Event),
    /// An event of the driver.
    Host(host::Event),
    /// A doorbell write arrives at the controller (NVMe, UFSHCI) or the adapter (AHCI).
    Doorbell {
        /// The queue pair; zero for AHCI and UFSHCI.
        queue: u16,
        /// The command.
        cid: u16,
    },
    /// The adapter or host controller has read the command in this slot.
    Issued(u16),
    /// The controller has finished an access to host memory.
    HostMemory(u32),
    /// A step specific to one kind of path.
    Step {
        /// Number of the step.
        step: u8,
        /// Operand of the step, less than 2^24.
        of: u32,
    },
}

/// The output of an event: one of these fields, or what the event appended to the list that came with it.
///
/// It has a field for each common output, rather than a variant, because the fields stay in registers where variants
/// would share memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// [`Output::Command`]: its tag, and its operation and range. [`HostInterface::io`](crate::HostInterface::io) returns
    /// its request's number, which few callers need.
    pub command: Option<(Tag, Request)>,
    /// [`Output::Completed`].
    pub completed: Option<Completed>,
    /// [`Output::Arrived`]: its tag.
    pub arrived: Option<Tag>,
}

impl Outcome {
    /// Returns the output, if there is one. `io` returns the number of the request that a command is, or is part of.
    pub(crate) fn output(self, io: impl Fn(Tag) -> u32) -> Option<Output> {
        let Outcome { command, completed, arrived } = self;
        let command = command.map(|(tag, request)| Output::Command { tag, io: io(tag), request });
        let completed =
            completed.map(|Completed { io, status, submitted }| Output::Completed { io, status, submitted });
        command.or(completed).or(arrived.map(|tag| Output::Arrived { tag }))
    }
}

/// An output of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A command for the translation layer, after fetch, decoding and firmware work.
    Command {
        /// The command's tag in the controller, valid until it ends.
        tag: Tag,
        /// The request that the command is, or is part of.
        io: u32,
        /// The command's operation and range: those of one part if the request was split.
        request: Request,
    },
    /// All data of the write is in the controller's buffer.
    Arrived {
        /// The command.
        tag: Tag,
    },
    /// An access to host memory has ended.
    HostMemory {
        /// The caller's name for the access.
        id: u32,
        /// False if it loaded other data than was stored there.
        intact: bool,
    },
    /// The Host Memory Buffer has been switched on, or is to be switched off
    /// ([`HostInterface::host_memory_released`](crate::HostInterface::host_memory_released)).
    HostMemorySwitched(hmb::Switched),
    /// The payload of a read has left the data buffer. It can be read until the next call to the path.
    Emptied {
        /// Its place in the data buffer, as returned by [`HostInterface::put`](crate::HostInterface::put).
        place: u32,
    },
    /// The request has ended and the program has been notified.
    Completed {
        /// The request.
        io: u32,
        /// Final status; if the request was split, that of the first part that failed.
        status: Status,
        /// Time at which the driver rang the doorbell (the last one, if the request was split). Submission latency ends
        /// here.
        submitted: Time,
    },
}

pub(crate) const HOST_LANE: u8 = device::LANES;
pub(crate) const DOORBELL: Lane = Lane(HOST_LANE + host::LANES);
pub(crate) const ISSUED: Lane = Lane(DOORBELL.0 + 1);
pub(crate) const MEMORY: Lane = Lane(ISSUED.0 + 1);
/// The first lane for [`Event::Step`].
pub(crate) const STEP: Lane = Lane(MEMORY.0 + 1);
/// Number of lanes for steps. A path uses as many as it has sources of events.
pub(crate) const STEPS: u8 = 12;
