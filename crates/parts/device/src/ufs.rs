//! The front end of a UFS device: one queue of tasks, in which the host's slot is the task's tag, and segments of write
//! data requested by the device (UFS 2.0, JESD220B). A logical unit has blocks of at least 4 KiB; here requests
//! transfer their exact size, down to a sector, so that any trace can be played.

use std::collections::VecDeque;

use media::{Op, Request, Status, Tag};
use sim::{Part, Schedule, Time};

use crate::engine::{Engine, index};
use crate::{ARRIVED, Config, Event, FETCHED, Output, Utp};

/// Maximum number of tasks (JESD220F: bQueueDepth has a byte).
pub const TASKS_MAX: u32 = 255;
/// Bytes of an UNMAP parameter list with one descriptor, whose 32-bit block count covers the whole of any current
/// device (SBC-3, UNMAP command).
const UNMAP_LIST: u64 = 8 + 16;

/// Data that the device needs from the host.
#[derive(Clone, Copy, Debug)]
struct Call {
    tag: u16,
    left: u64,
}

/// A UFS device's front end.
#[derive(Clone, Debug)]
pub struct Ufs {
    engine: Engine,
    utp: Utp,
    /// Data to request, first come first served. Part of the first entry may already have been requested.
    calls: VecDeque<Call>,
    /// Segments requested and not yet received.
    outstanding: u32,
    /// By tag, the bytes not yet received, and the time at which the memory has passed those received.
    missing: Vec<(u64, Time)>,
}

impl Ufs {
    /// Creates an idle device.
    ///
    /// # Panics
    /// Panics if the device is configured for more commands than there are tasks, or for empty segments.
    pub fn new(config: &Config) -> Ufs {
        let tasks = config.max_commands;
        assert!(tasks <= TASKS_MAX, "{tasks} commands, but UFS has {TASKS_MAX} tasks");
        assert!(config.utp.segment > 0 && config.utp.ready_to_transfers > 0, "{:?}", config.utp);
        Ufs {
            engine: Engine::new(config),
            utp: config.utp,
            calls: VecDeque::with_capacity(tasks as usize),
            outstanding: 0,
            missing: vec![(0, Time::ZERO); tasks as usize],
        }
    }

    /// Admits the command in `slot`, which arrives at `at`.
    pub fn admit(&mut self, slot: u16, request: Request, at: Time, s: &mut impl Schedule<Event>) {
        assert!(slot < self.engine.capacity(), "slot {slot} of a device with {} tasks", self.engine.capacity());
        self.engine.admit(slot, 0, slot, request);
        s.at(FETCHED, at, Event::Fetched(slot));
    }

    /// Passes the command to the translation layer.
    fn run(&mut self, tag: u16) -> Output {
        Output::Command { tag, queue: 0, cid: tag, request: self.engine.run(tag).request }
    }

    /// Stages `bytes` more of a read's data. Returns the command and the time at which they have passed the device's
    /// memory.
    pub fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) -> (u16, Time) {
        let tag = index(tag);
        (tag, self.engine.stage(now, tag, Op::Read, u64::from(bytes), s))
    }

    /// Returns the maximum data of a DATA IN UPIU (bMaxDataInSize).
    pub fn segment(&self) -> u32 {
        self.utp.segment
    }

    /// Records that the data of the read last sent has left at `at`.
    pub fn sent(&mut self, tag: u16, at: Time) {
        self.engine.sent(tag, at);
    }

    /// Requests a write's data, for which there is room.
    pub fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        let tag = index(tag);
        let bytes = self.engine.command(tag).request.bytes;
        let staged = self.engine.stage(now, tag, Op::Write, bytes, s);
        self.want(tag, bytes, staged);
    }

    fn want(&mut self, tag: u16, bytes: u64, staged: Time) {
        assert!(self.missing[tag as usize].0 == 0, "the data of tag {tag} is requested twice");
        self.missing[tag as usize] = (bytes, staged);
        self.calls.push_back(Call { tag, left: bytes });
    }

    /// Returns the next READY TO TRANSFER to send, if one is allowed, as command and bytes. Must be called until it
    /// returns `None` whenever data is requested or has arrived.
    pub fn call(&mut self) -> Option<(u16, u32)> {
        if self.outstanding == self.utp.ready_to_transfers {
            return None;
        }
        let first = self.calls.front_mut()?;
        let bytes = first.left.min(u64::from(self.utp.segment));
        let tag = first.tag;
        first.left -= bytes;
        if first.left == 0 {
            self.calls.pop_front();
        }
        self.outstanding += 1;
        Some((tag, bytes as u32))
    }

    /// Handles the arrival of `bytes` of requested data. With the last of a write [`Event::Arrived`] follows, with the
    /// last of a list [`Event::Listed`].
    pub fn arrived(&mut self, now: Time, tag: u16, bytes: u32, s: &mut impl Schedule<Event>) {
        assert!(self.outstanding > 0, "{bytes} bytes for tag {tag} that were not requested");
        self.outstanding -= 1;
        let (missing, staged) = &mut self.missing[tag as usize];
        assert!(*missing >= u64::from(bytes), "{bytes} bytes for tag {tag}, which expects {missing}");
        *missing -= u64::from(bytes);
        if *missing > 0 {
            return;
        }
        match self.engine.command(tag).request.op {
            Op::Trim => s.at(FETCHED, now.max(*staged), Event::Listed(tag)),
            _ => s.at(ARRIVED, now.max(*staged), Event::Arrived(tag)),
        }
    }

    /// Ends the command in the translation layer. Returns the command if the host is notified now; otherwise
    /// [`Event::Ended`] follows.
    ///
    /// # Panics
    /// Panics if data of the command is still in flight.
    pub fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) -> Option<u16> {
        let tag = index(tag);
        assert!(self.missing[tag as usize].0 == 0, "tag {tag} ends while its data is in flight");
        let end = self.engine.complete(now, tag, status, s);
        if end > now {
            self.engine.end_at(tag, end, s);
        }
        (end == now).then_some(tag)
    }

    /// Frees the tag of a command that the host is notified of, and returns its status.
    pub fn post(&mut self, tag: u16) -> Status {
        self.engine.release(tag).status
    }

    /// Returns the number of commands in the device.
    pub fn outstanding(&self) -> u32 {
        self.engine.outstanding()
    }

    /// Returns the names of the timeline's rows.
    pub fn tracks(&self) -> Vec<String> {
        self.engine.tracks()
    }

    /// Returns every processor and memory with its busy time until `now`.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        self.engine.busy(now)
    }

    /// Drops all commands.
    pub fn power_cut(&mut self, now: Time) {
        self.engine.power_cut(now);
        self.calls.clear();
        self.outstanding = 0;
        self.missing.fill((0, Time::ZERO));
    }
}

impl Part for Ufs {
    type Event = Event;
    type Output = Option<Output>;

    fn handle(&mut self, now: Time, event: Event, s: &mut impl Schedule<Event>, out: &mut Option<Output>) {
        match event {
            Event::Fetched(tag) if self.engine.command(tag).request.op == Op::Trim => {
                self.want(tag, UNMAP_LIST, now);
                *out = Some(Output::List { tag, bytes: UNMAP_LIST });
            }
            Event::Fetched(tag) | Event::Listed(tag) => {
                if self.engine.decode(now, tag, s) {
                    *out = Some(self.run(tag));
                }
            }
            Event::Decoded(tag) => *out = Some(self.run(tag)),
            Event::Arrived(tag) => *out = Some(Output::Arrived(tag)),
            Event::Ended(tag) => *out = Some(Output::Ended { tag, at: now }),
            Event::Coalesced { .. } => unreachable!("{event:?} of a UFS device"),
        }
    }
}
