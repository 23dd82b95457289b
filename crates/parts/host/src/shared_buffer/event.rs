//! Events and outputs of the driver of a shared buffer.

use ::shared_buffer::Extents;
use sim::{Lane, Schedule, Time};

use crate::Completed;

/// An event of the driver. The number is a command's (`Ring`, `Taken`), a queue pair's (`Reap`) or a request's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverEvent {
    /// The driver has written a command's entry and the doorbell.
    Ring(u32),
    /// The caches are ready for the next fragment of a request's data.
    Prepared(u32),
    /// A transfer of a request's data has been set up.
    Started(u32),
    /// The interrupt of a request's transfer.
    Moved(u32),
    /// The caches have been maintained after a fragment of a request's data.
    Settled(u32),
    /// The handler of a queue pair has started.
    Reap(u16),
    /// A completion has been taken from its queue.
    Taken(u32),
    /// The driver has processed the end of one of a request's commands.
    Ended(u32),
    /// Boot mode: a window has been requested.
    BootAsked,
    /// Boot mode: a window has been copied.
    BootCopied,
}

/// Number of event lanes.
pub const LANES: u8 = 10;

impl DriverEvent {
    fn lane(self) -> Lane {
        Lane(match self {
            DriverEvent::Ring(_) => 0,
            DriverEvent::Prepared(_) => 1,
            DriverEvent::Started(_) => 2,
            DriverEvent::Moved(_) => 3,
            DriverEvent::Settled(_) => 4,
            DriverEvent::Reap(_) => 5,
            DriverEvent::Taken(_) => 6,
            DriverEvent::Ended(_) => 7,
            DriverEvent::BootAsked => 8,
            DriverEvent::BootCopied => 9,
        })
    }
}

/// An output of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// The doorbell of this queue pair was written.
    Rang(u16),
    /// The head of this queue pair's completion queue was written, so the device has room again.
    Acknowledged(u16),
    /// A read's data has left the buffer; the command's extents are free from now on.
    Emptied {
        /// Number of the command, which [`SharedBuffer::piece`] no longer knows.
        piece: u32,
        /// The extents that held its data.
        extents: Extents,
    },
    /// Boot mode: the device is to read these sectors into the data buffer, starting at the buffer's first sector.
    Boot {
        /// First sector.
        first: u64,
        /// Number of sectors.
        sectors: u32,
    },
    /// A request has ended.
    Completed(Completed),
}

#[inline]
pub(super) fn push(s: &mut impl Schedule<DriverEvent>, at: Time, event: DriverEvent) {
    s.at(event.lane(), at, event);
}
