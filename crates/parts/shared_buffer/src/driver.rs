//! The driver's part before and behind the queues: requests are split into commands, and commands get buffer space.
//!
//! The *request size* is the thread's, the *split size* the driver's (paper, 5.4): a command has the split size, less at
//! the end of a request, and never more than the data buffer can give.
//!
//! Who waits when the buffer is short: everybody behind the oldest request that is not yet wholly issued. Commands are
//! issued strictly in the order of requests, and within a request in the order of its sectors; a later command that
//! would fit does not overtake. So nobody starves: commands that are out complete and give their space back, and as
//! nobody else takes it, after at most all of them the oldest has its run. What that costs is space that lies free
//! while a large command waits.

use std::collections::VecDeque;
use std::fmt;

use crate::buddy::Buddy;
use crate::entry::{Command, EXTENTS_MAX, Extents, Opcode, Status};

/// What a driver does if the run that a command needs is not free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// It waits for a run of the full split size.
    Wait,
    /// It issues a shorter command into the longest run that is free, if that has at least so many sectors: fewer idle
    /// moments, more commands.
    Shrink {
        /// The shortest command that is worth it; at least 1.
        sectors_min: u32,
    },
}

/// A driver's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverConfig {
    /// Sectors of the data buffer.
    pub db_sectors: u32,
    /// The split size, in sectors; at least 1.
    pub split_sectors: u32,
    /// Extents of a command, 1 to [`EXTENTS_MAX`]; with more than one, its data may be scattered over the buffer.
    pub extents_max: u8,
    /// What happens if space is short.
    pub shortage: Shortage,
    /// Requests at most that are not finished.
    pub requests_max: u32,
    /// Commands at most that are issued and not done: as many as the submission queues have entries, say.
    pub commands_max: u32,
}

/// What a thread asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoRequest {
    /// What is asked for.
    pub opcode: Opcode,
    /// Force unit access.
    pub fua: bool,
    /// First sector of the storage.
    pub start: u64,
    /// Sectors; zero for a flush, one for an identify.
    pub sectors: u64,
    /// The caller's own; comes back with each command and with the end.
    pub token: u64,
}

/// A command that a request was split into, with its buffer space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// To be given to [`HostQueue::submit`](crate::HostQueue::submit) as the token, and to [`Driver::done`].
    pub piece: u32,
    /// The request's token.
    pub token: u64,
    /// Its first sector, counted from the start of the request.
    pub first: u64,
    /// What to submit. A write's data go into its extents before.
    pub command: Command,
}

/// A request that is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its token.
    pub token: u64,
    /// Success, or how the first command failed that did.
    pub status: Status,
    /// The commands it was split into.
    pub commands: u32,
}

/// As many requests are under way as the driver has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the driver has no room for another request")
    }
}

impl std::error::Error for Busy {}

#[derive(Clone, Copy, Debug)]
struct Active {
    request: IoRequest,
    /// Sectors issued.
    issued: u64,
    /// Commands issued, and not done.
    out: u32,
    commands: u32,
    status: Status,
}

#[derive(Clone, Copy, Debug)]
struct Out {
    /// Slot of its request.
    request: u32,
    extents: Extents,
}

/// Splits requests, and keeps the data buffer's space.
///
/// One driver serves all queue pairs: the buffer is one. It has no locks of its own.
#[derive(Debug)]
pub struct Driver {
    config: DriverConfig,
    split: u32,
    buddy: Buddy,
    /// Slots of requests that are not wholly issued, oldest first.
    waiting: VecDeque<u32>,
    requests: Slots<Active>,
    pieces: Slots<Out>,
}

impl Driver {
    /// A driver for an empty data buffer.
    ///
    /// # Panics
    /// If a parameter is out of its range.
    pub fn new(config: DriverConfig) -> Driver {
        let DriverConfig { db_sectors, split_sectors, extents_max, shortage, requests_max, commands_max } = config;
        assert!(split_sectors > 0 && requests_max > 0 && commands_max > 0, "{config:?}");
        assert!((1..=EXTENTS_MAX).contains(&usize::from(extents_max)), "{config:?}");
        assert!(!matches!(shortage, Shortage::Shrink { sectors_min: 0 }), "{config:?}");
        let buddy = Buddy::new(db_sectors);
        let split = split_sectors.min(most(&buddy, extents_max));
        Driver {
            config,
            split,
            buddy,
            waiting: VecDeque::with_capacity(requests_max as usize),
            requests: Slots::new(requests_max),
            pieces: Slots::new(commands_max),
        }
    }

    /// The parameters.
    pub const fn config(&self) -> &DriverConfig {
        &self.config
    }

    /// Sectors of a full command: the split size, or what the data buffer can give if that is less.
    pub const fn split_sectors(&self) -> u32 {
        self.split
    }

    /// The commands of a request of that many sectors with data, if space is never short.
    pub const fn commands(&self, sectors: u64) -> u64 {
        sectors.div_ceil(self.split as u64)
    }

    /// The data buffer's space.
    pub const fn buffer(&self) -> &Buddy {
        &self.buddy
    }

    /// Requests that are not finished.
    pub fn unfinished(&self) -> u32 {
        self.requests.taken()
    }

    /// Whether a request is not wholly issued: after [`issue`](Driver::issue) gave nothing, the oldest
    /// waits for space (or for a command to be done, if [`DriverConfig::commands_max`] are out).
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes a request.
    ///
    /// # Errors
    /// There are [`DriverConfig::requests_max`] already.
    ///
    /// # Panics
    /// If the sectors do not suit the opcode.
    pub fn request(&mut self, request: IoRequest) -> Result<(), Busy> {
        let fits = match request.opcode {
            Opcode::Read | Opcode::Write | Opcode::Trim => request.sectors > 0,
            Opcode::Flush => request.sectors == 0,
            Opcode::Identify => request.sectors == 1,
        };
        assert!(fits, "{request:?}");
        let active = Active { request, issued: 0, out: 0, commands: 0, status: Status::Success };
        let slot = self.requests.insert(active).ok_or(Busy)?;
        self.waiting.push_back(slot);
        Ok(())
    }

    /// The next command to issue, with its space; nothing if there is none, or if space is short. Ask only if the queue
    /// that it is meant for has room.
    pub fn issue(&mut self) -> Option<Piece> {
        let &slot = self.waiting.front()?;
        if self.pieces.is_full() {
            return None;
        }
        let Active { request, issued, .. } = *self.requests.get(slot);
        let left = request.sectors - issued;
        let (sectors, extents) = if request.opcode.has_data() {
            let extents = self.space(left.min(u64::from(self.split)) as u32)?;
            (extents.sectors() as u32, extents)
        } else {
            (u32::try_from(left).unwrap_or(u32::MAX), Extents::NONE)
        };
        let piece = self.pieces.insert(Out { request: slot, extents }).expect("there is room for a piece");
        let active = self.requests.get_mut(slot);
        active.issued += u64::from(sectors);
        active.out += 1;
        active.commands += 1;
        if active.issued == request.sectors {
            self.waiting.pop_front();
        }
        let IoRequest { opcode, fua, start, token, .. } = request;
        let command = Command { opcode, fua, start: start + issued, sectors, extents };
        Some(Piece { piece, token, first: issued, command })
    }

    /// Space for a command of that size, or of less if the driver shrinks commands.
    fn space(&mut self, sectors: u32) -> Option<Extents> {
        let runs = usize::from(self.config.extents_max);
        let whole = match runs {
            1 => self.buddy.allocate(sectors).map(|run| Extents::one(run.index, run.sectors)),
            _ => self.buddy.allocate_scattered(sectors, runs),
        };
        match (whole, self.config.shortage) {
            (None, Shortage::Shrink { sectors_min }) if self.buddy.longest_free() >= sectors_min.min(sectors) => {
                let run = self.buddy.allocate(self.buddy.longest_free().min(sectors))?;
                Some(Extents::one(run.index, run.sectors))
            }
            (whole, _) => whole,
        }
    }

    /// A command has completed, and a read's data are out of the buffer: gives its space back. The request's end, if it
    /// was the last.
    ///
    /// # Panics
    /// If no such piece is out.
    pub fn done(&mut self, piece: u32, status: Status) -> Option<Finished> {
        let Out { request, extents } = self.pieces.remove(piece);
        self.buddy.release_all(&extents);
        let active = self.requests.get_mut(request);
        active.out -= 1;
        if active.status == Status::Success {
            active.status = status;
        }
        if active.out > 0 || active.issued < active.request.sectors {
            return None;
        }
        let Active { request: IoRequest { token, .. }, commands, status, .. } = self.requests.remove(request);
        Some(Finished { token, status, commands })
    }
}

/// The longest command that an empty buffer has room for.
fn most(buddy: &Buddy, extents_max: u8) -> u32 {
    // An empty buffer is a block for each bit of its size: the largest ones.
    (0..32)
        .rev()
        .map(|order| buddy.sectors() & 1 << order)
        .filter(|&block| block > 0)
        .take(usize::from(extents_max))
        .sum()
}

/// A fixed number of slots.
#[derive(Debug)]
struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    fn new(len: u32) -> Slots<T> {
        Slots { slots: (0..len).map(|_| None).collect(), free: (0..len).rev().collect() }
    }

    fn taken(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    fn insert(&mut self, value: T) -> Option<u32> {
        let slot = self.free.pop()?;
        self.slots[slot as usize] = Some(value);
        Some(slot)
    }

    fn get(&self, slot: u32) -> &T {
        self.slots[slot as usize].as_ref().expect("a slot that is taken")
    }

    fn get_mut(&mut self, slot: u32) -> &mut T {
        self.slots[slot as usize].as_mut().expect("a slot that is taken")
    }

    fn remove(&mut self, slot: u32) -> T {
        let value = self.slots[slot as usize].take().expect("a slot that is taken");
        self.free.push(slot);
        value
    }
}
