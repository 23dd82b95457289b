//! The parts of a request's latency.
//!
//! A new part is a variant here with its name and its place in [`Part::ALL`], the step of `live.rs` or the row of the
//! timeline (`Trace::new`) that gives it time, and its title and color in the Python package (`results/requests.py`,
//! `report/breakdown.py`).

use sim::Time;

/// Where a request's time goes. Every picosecond between arrival and completion belongs to exactly one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// Waits in its job until it is issued, and in the driver for a queue entry.
    #[default]
    Queue,
    /// Waits for a core of the host.
    HostWait,
    /// Work of the driver on a core: submission, interrupt or poll, completion.
    Host,
    /// The host's adapter, DMA engine, chipset and memory, waits included.
    Adapter,
    /// Doorbells, commands, completions and interrupts on their way, until the other side handles them.
    Messages,
    /// Waits for a processor of the controller.
    FirmwareWait,
    /// Work of the controller's processors, memory and staging paths, and waits configured for its firmware.
    Firmware,
    /// Waits for room in the controller's buffers, or for data that is on its way into one.
    Buffer,
    /// Looks up the map of a drive that caches parts of it: until the address of the data is known.
    Map,
    /// Waits for the die, or for its channel before the command.
    DieWait,
    /// The die's array reads.
    Array,
    /// Waits in the die's register for the channel.
    ChannelWait,
    /// Commands and data on the flash channel.
    Channel,
    /// Error correction of data that has left the die, other pages that rebuild it included.
    Correction,
    /// A write, flush or trim waits until flash holds the data; zone management waits for its controller time.
    Program,
    /// Waits for the link before its data.
    LinkWait,
    /// Data of the request on the link; on serial ATA and UFS also commands and status.
    Link,
}

impl Part {
    /// All parts, in the order in which a request usually meets them.
    pub const ALL: [Part; 17] = [
        Part::Queue,
        Part::HostWait,
        Part::Host,
        Part::Adapter,
        Part::Messages,
        Part::FirmwareWait,
        Part::Firmware,
        Part::Buffer,
        Part::Map,
        Part::DieWait,
        Part::Array,
        Part::ChannelWait,
        Part::Channel,
        Part::Correction,
        Part::Program,
        Part::LinkWait,
        Part::Link,
    ];

    /// Returns the part's name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Queue => "queue",
            Part::HostWait => "host_wait",
            Part::Host => "host",
            Part::Adapter => "adapter",
            Part::Messages => "messages",
            Part::FirmwareWait => "firmware_wait",
            Part::Firmware => "firmware",
            Part::Buffer => "buffer",
            Part::Map => "map",
            Part::DieWait => "die_wait",
            Part::Array => "array",
            Part::ChannelWait => "channel_wait",
            Part::Channel => "channel",
            Part::Correction => "correction",
            Part::Program => "program",
            Part::LinkWait => "link_wait",
            Part::Link => "link",
        }
    }

    /// Returns the part of the time that a request waits for this one.
    pub(super) const fn wait(self) -> Part {
        match self {
            Part::Host => Part::HostWait,
            Part::Firmware => Part::FirmwareWait,
            Part::Link => Part::LinkWait,
            other => other,
        }
    }
}

/// The time in each part, in the order of [`Part::ALL`].
pub type Parts = [Time; Part::ALL.len()];
