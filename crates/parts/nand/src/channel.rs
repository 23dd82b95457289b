//! A channel: one bus, and the dies that wait for it.

use sim::{Dense, Time};

use crate::config::Scheduling;
use crate::die::Die;
use crate::schedule::op::NONE;

/// The lists of dies that wait for a channel, by priority: commands first (or last, if so configured); where reads have
/// priority, the data of reads that a host waits for; then other data in either direction.
pub(crate) const COMMANDS: usize = 0;
pub(crate) const READ_DATA: usize = 1;
pub(crate) const DATA: usize = 2;

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Channel {
    /// The end of its current use.
    pub free_at: Time,
    /// The last scheduled event that serves its waiting dies.
    pub event_at: Time,
    /// Number of entries in its lists.
    pub waiting: u32,
    lists: [List; 3],
    /// Read transfers that overtook the oldest other waiting data.
    overtaken: u32,
    /// The die whose data is leaving.
    pub moving: u32,
    /// Counters: time with data, other time, bytes out of dies, bytes into dies.
    data: Time,
    other: Time,
    bytes_out: u64,
    bytes_in: u64,
}

/// Counters of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelStats {
    /// Time occupied by commands, addresses and data.
    pub busy: Time,
    /// The part occupied by data.
    pub data: Time,
    /// Bytes read from dies.
    pub bytes_out: u64,
    /// Bytes written to dies.
    pub bytes_in: u64,
}

impl Channel {
    pub(crate) const fn new() -> Channel {
        Channel {
            free_at: Time::ZERO,
            event_at: Time::ZERO,
            waiting: 0,
            lists: [List { head: NONE, tail: NONE }; 3],
            overtaken: 0,
            moving: NONE,
            data: Time::ZERO,
            other: Time::ZERO,
            bytes_out: 0,
            bytes_in: 0,
        }
    }

    /// Returns whether a new operation may use it now.
    #[inline]
    pub(crate) fn is_free(&self, now: Time) -> bool {
        self.is_released(now) && self.waiting == 0
    }

    /// Returns whether it can go to a waiting die. (An empty transfer takes no time, but its end is still an event.)
    #[inline]
    pub(crate) fn is_released(&self, now: Time) -> bool {
        self.free_at <= now && self.moving == NONE
    }

    /// Occupies it from `now` to `end` for commands, addresses or anything but data.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, end: Time) {
        debug_assert!(self.free_at <= now, "a channel is taken at {now}, but busy until {}", self.free_at);
        self.free_at = end;
        self.other += end - now;
    }

    /// Occupies it from `now` to `end` for a program, of which `data` is the time of its data.
    #[inline]
    pub(crate) fn take_in(&mut self, now: Time, end: Time, data: Time, bytes: u64) {
        self.take(now, end - data);
        self.free_at = end;
        self.data += data;
        self.bytes_in += bytes;
    }

    /// Occupies it for `time` from `now` on for the data of a read from `die`. Returns the end, at which an event
    /// follows.
    #[inline]
    pub(crate) fn take_out(&mut self, now: Time, time: Time, die: u32, bytes: u64) -> Time {
        debug_assert!(self.free_at <= now, "a channel is taken at {now}, but busy until {}", self.free_at);
        let end = now + time;
        (self.free_at, self.event_at, self.moving) = (end, end, die);
        self.data += time;
        self.bytes_out += bytes;
        end
    }

    /// Returns the counters until `now`.
    pub(crate) fn stats_at(&self, now: Time) -> ChannelStats {
        let ahead = self.free_at.saturating_sub(now);
        ChannelStats {
            busy: self.other + self.data - ahead,
            data: self.data.saturating_sub(ahead),
            bytes_out: self.bytes_out,
            bytes_in: self.bytes_in,
        }
    }

    /// Resets it after a power cut.
    pub(crate) fn reset(&mut self, now: Time) {
        let ChannelStats { busy, data, bytes_out, bytes_in } = self.stats_at(now);
        *self = Channel { data, other: busy - data, bytes_out, bytes_in, ..Channel::new() };
    }

    /// Appends `die` to a list, unless it is in it.
    #[inline]
    pub(crate) fn enlist(&mut self, dies: &mut Dense<Die>, die: u32, list: usize) {
        let d = &mut dies[die as usize];
        if d.listed & 1 << list != 0 {
            return;
        }
        d.listed |= 1 << list;
        d.next_listed[list] = NONE;
        let l = &mut self.lists[list];
        if l.head == NONE {
            l.head = die;
        } else {
            dies[l.tail as usize].next_listed[list] = die;
        }
        l.tail = die;
        self.waiting += 1;
    }

    /// Takes the next die from its list. Returns the list, the die's number and the die.
    ///
    /// # Panics
    /// If no die waits.
    #[inline]
    pub(crate) fn next<'a>(&mut self, dies: &'a mut Dense<Die>, scheduling: &Scheduling) -> (usize, u32, &'a Die) {
        let [commands, reads, others] = self.lists.map(|l| l.head != NONE);
        let list = if commands && (scheduling.commands_first || !(reads || others)) {
            COMMANDS
        } else if reads && !(others && self.overtaken >= scheduling.overtakes_max) {
            self.overtaken += u32::from(others);
            READ_DATA
        } else {
            self.overtaken = 0;
            DATA
        };
        let die = self.lists[list].head;
        let d = &mut dies[die as usize];
        d.listed &= !(1 << list);
        self.lists[list].head = d.next_listed[list];
        self.waiting -= 1;
        (list, die, d)
    }
}
