//! The host driver's work around the queues: splits requests into commands and allocates buffer space for them.
//!
//! The thread determines the *request size*, the driver the *split size* (paper, 5.4): each command has the split size,
//! less at the end of a request, and never more than the data buffer can provide.
//!
//! If space is short, everything waits behind the oldest request that is not fully issued: commands are issued strictly
//! in the order of requests and of their sectors, and a later command that would fit does not overtake. This prevents
//! starvation: commands in flight complete and release their space, no other request takes it, and after at most all of
//! them the oldest request gets its run. The price is space that stays free while a large command waits.

use std::collections::VecDeque;
use std::fmt;

use crate::buddy::Buddy;
use crate::entry::{Command, EXTENTS_MAX, Extents, Opcode, Status};

/// The policy if the run that a command needs is not free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// Wait for a run of the full split size.
    Wait,
    /// Issue a shorter command into the longest free run if that has at least `sectors_min` sectors. This reduces idle
    /// time but increases the number of commands.
    Shrink {
        /// The shortest worthwhile command; at least 1.
        sectors_min: u32,
    },
}

/// The parameters of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverConfig {
    /// Size of the data buffer in sectors.
    pub db_sectors: u32,
    /// The split size in sectors; at least 1.
    pub split_sectors: u32,
    /// Maximum number of extents per command, 1 to [`EXTENTS_MAX`]; more than one allows scattered data.
    pub extents_max: u8,
    /// The policy if space is short.
    pub shortage: Shortage,
    /// Maximum number of unfinished requests.
    pub requests_max: u32,
    /// Maximum number of commands in flight, for example the total number of submission queue entries.
    pub commands_max: u32,
}

/// A thread's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoRequest {
    /// The operation.
    pub opcode: Opcode,
    /// Force unit access.
    pub fua: bool,
    /// First sector on the storage.
    pub start: u64,
    /// Number of sectors; zero for a flush, one for an identify.
    pub sectors: u64,
    /// Chosen by the caller; returned with each command and at the end.
    pub token: u64,
}

/// A command that results from splitting a request, with its buffer space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitCommand {
    /// The token for [`HostQueue::submit`](crate::HostQueue::submit), and the argument of [`Driver::done`].
    pub slot: u32,
    /// Token of the request.
    pub token: u64,
    /// First sector, relative to the start of the request.
    pub first: u64,
    /// The command to submit. A write's data must be copied to its extents first.
    pub command: Command,
}

/// A finished request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Token of the request.
    pub token: u64,
    /// Success, or the status of the first command to fail.
    pub status: Status,
    /// Number of commands that the request was split into.
    pub commands: u32,
}

/// The error if the maximum number of requests is unfinished.
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
    /// Commands in flight.
    in_flight: u32,
    commands: u32,
    status: Status,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    /// Slot of the request.
    request: u32,
    extents: Extents,
}

/// Splits requests and manages the space of the data buffer.
///
/// One driver serves all queue pairs, because they share the buffer. It does no locking.
#[derive(Debug)]
pub struct Driver {
    config: DriverConfig,
    split: u32,
    buddy: Buddy,
    /// Slots of requests that are not fully issued, oldest first.
    waiting: VecDeque<u32>,
    requests: Slots<Active>,
    in_flight: Slots<InFlight>,
}

impl Driver {
    /// Creates a driver for an empty data buffer.
    ///
    /// # Panics
    /// If a parameter is out of range.
    pub fn new(config: DriverConfig) -> Driver {
        let DriverConfig { db_sectors, split_sectors, extents_max, shortage, requests_max, commands_max } = config;
        assert!(split_sectors > 0 && requests_max > 0 && commands_max > 0, "{config:?}");
        assert!((1..=EXTENTS_MAX).contains(&usize::from(extents_max)), "{config:?}");
        assert!(!matches!(shortage, Shortage::Shrink { sectors_min: 0 }), "{config:?}");
        let buddy = Buddy::new(db_sectors);
        let split = split_sectors.min(longest_command(&buddy, extents_max));
        Driver {
            config,
            split,
            buddy,
            waiting: VecDeque::with_capacity(requests_max as usize),
            requests: Slots::new(requests_max),
            in_flight: Slots::new(commands_max),
        }
    }

    /// Returns the parameters.
    pub const fn config(&self) -> &DriverConfig {
        &self.config
    }

    /// Returns the size of a full command in sectors: the split size, or what the data buffer can provide if that is
    /// less.
    pub const fn split_sectors(&self) -> u32 {
        self.split
    }

    /// Returns the number of commands for a request of `sectors` sectors with data if space is never short.
    pub const fn commands(&self, sectors: u64) -> u64 {
        sectors.div_ceil(self.split as u64)
    }

    /// Returns the allocator of the data buffer.
    pub const fn buffer(&self) -> &Buddy {
        &self.buddy
    }

    /// Returns the number of unfinished requests.
    pub fn unfinished(&self) -> u32 {
        self.requests.taken()
    }

    /// Returns whether any request is not fully issued. After [`issue`](Driver::issue) returned `None`, the oldest of
    /// these waits for space, or for a completion if [`DriverConfig::commands_max`] are in flight.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Accepts a request.
    ///
    /// # Errors
    /// If [`DriverConfig::requests_max`] are unfinished.
    ///
    /// # Panics
    /// If the number of sectors does not suit the operation.
    pub fn request(&mut self, request: IoRequest) -> Result<(), Busy> {
        let fits = match request.opcode {
            Opcode::Read | Opcode::Write | Opcode::Trim => request.sectors > 0,
            Opcode::Flush => request.sectors == 0,
            Opcode::Identify => request.sectors == 1,
        };
        assert!(fits, "{request:?}");
        let active = Active { request, issued: 0, in_flight: 0, commands: 0, status: Status::Success };
        let slot = self.requests.insert(active).ok_or(Busy)?;
        self.waiting.push_back(slot);
        Ok(())
    }

    /// Returns the next command to issue, with its space, or `None` if there is none or space is short. Call this only
    /// if the target queue has room.
    pub fn issue(&mut self) -> Option<SplitCommand> {
        let &slot = self.waiting.front()?;
        if self.in_flight.is_full() {
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
        let command_slot = self.in_flight.insert(InFlight { request: slot, extents }).expect("a command slot is free");
        let active = self.requests.get_mut(slot);
        active.issued += u64::from(sectors);
        active.in_flight += 1;
        active.commands += 1;
        if active.issued == request.sectors {
            self.waiting.pop_front();
        }
        let IoRequest { opcode, fua, start, token, .. } = request;
        let command = Command { opcode, fua, start: start + issued, sectors, extents };
        Some(SplitCommand { slot: command_slot, token, first: issued, command })
    }

    /// Allocates space for a command of `sectors`, or for a shorter one if the policy permits.
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

    /// Releases the space of a completed command, after a read's data has been copied out. Returns the request if this
    /// was its last command.
    ///
    /// # Panics
    /// If no such command is in flight.
    pub fn done(&mut self, slot: u32, status: Status) -> Option<Finished> {
        let InFlight { request, extents } = self.in_flight.remove(slot);
        self.buddy.release_all(&extents);
        let active = self.requests.get_mut(request);
        active.in_flight -= 1;
        if active.status == Status::Success {
            active.status = status;
        }
        if active.in_flight > 0 || active.issued < active.request.sectors {
            return None;
        }
        let Active { request: IoRequest { token, .. }, commands, status, .. } = self.requests.remove(request);
        Some(Finished { token, status, commands })
    }
}

/// Returns the size of the longest command that an empty buffer can hold.
fn longest_command(buddy: &Buddy, extents_max: u8) -> u32 {
    // An empty buffer consists of one block per bit of its size; sum the largest ones.
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
        self.slots[slot as usize].as_ref().expect("the slot is in use")
    }

    fn get_mut(&mut self, slot: u32) -> &mut T {
        self.slots[slot as usize].as_mut().expect("the slot is in use")
    }

    fn remove(&mut self, slot: u32) -> T {
        let value = self.slots[slot as usize].take().expect("the slot is in use");
        self.free.push(slot);
        value
    }
}
