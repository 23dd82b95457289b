//! What the driver of a shared buffer waits for, and what it tells.

use ::shared_buffer::Extents;
use sim::{Lane, Schedule, Time};

use crate::Completed;

/// What the driver waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The driver has written a command's entry and the doorbell: a piece.
    Ring(u32),
    /// The caches are ready for the next part of a request's data.
    Prepared(u32),
    /// A transfer of a request's data is set up.
    Started(u32),
    /// The interrupt of a request's transfer.
    Moved(u32),
    /// The caches are cleaned up after a part of a request's data.
    Settled(u32),
    /// The handler of a queue pair has begun.
    Reap(u16),
    /// A completion is taken: a piece.
    Taken(u32),
    /// A command of a request is done with.
    Ended(u32),
    /// Boot mode: a window is asked for.
    BootAsked,
    /// Boot mode: a window is copied.
    BootCopied,
}

/// Number of event lanes.
pub const LANES: u8 = 10;

impl Event {
    fn lane(self) -> Lane {
        Lane(match self {
            Event::Ring(_) => 0,
            Event::Prepared(_) => 1,
            Event::Started(_) => 2,
            Event::Moved(_) => 3,
            Event::Settled(_) => 4,
            Event::Reap(_) => 5,
            Event::Taken(_) => 6,
            Event::Ended(_) => 7,
            Event::BootAsked => 8,
            Event::BootCopied => 9,
        })
    }
}

/// What the driver tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// The doorbell of this queue pair was written.
    Rang(u16),
    /// The head of this queue pair's completion queue was written: the device has room again.
    Acknowledged(u16),
    /// The data of a read are out of the buffer: the command's extents are free from now on.
    Emptied {
        /// The command, as [`SharedBuffer::piece`] knows it no more.
        piece: u32,
        /// Where its data were.
        extents: Extents,
    },
    /// Boot mode: these sectors are wanted in the data buffer, from its first sector on.
    Boot {
        /// The first.
        first: u64,
        /// How many.
        sectors: u32,
    },
    /// A request has ended.
    Completed(Completed),
}

#[inline]
pub(super) fn push(s: &mut impl Schedule<Event>, at: Time, event: Event) {
    s.at(event.lane(), at, event);
}
