//! A UFS device's front end: one queue of tasks, where the host's slot is the task's tag, and the data of writes called
//! for piece by piece (UFS 2.0, JESD220B). A logical unit's blocks are of 4 KiB and more; here what is asked for moves,
//! down to a sector, so that any trace can be played.

use std::collections::VecDeque;

use media::{Op, Request, Status, Tag};
use sim::{Schedule, Time};

use crate::engine::{Engine, index};
use crate::{ARRIVED, Config, Event, FETCHED, Utp};

/// Tasks of a queue: the host controller's doorbell has a bit for each.
pub const TASKS: u32 = 32;
/// Bytes of an UNMAP parameter list with one descriptor, whose 32-bit count of blocks covers all that a device of today
/// has (SBC-3, UNMAP command).
const UNMAP_LIST: u64 = 8 + 16;

/// Data that is wanted of the host.
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
    /// What is wanted, first come first served; the first may have been called for in part.
    calls: VecDeque<Call>,
    /// Pieces that were called for and are not here.
    outstanding: u32,
    /// By tag: bytes that are not here, and when the memory has passed those that are.
    missing: Vec<(u64, Time)>,
}

impl Ufs {
    /// An idle device.
    ///
    /// # Panics
    /// If it is to hold more commands than there are tasks, or its pieces are of no bytes.
    pub fn new(config: &Config) -> Ufs {
        assert!(config.max_commands <= TASKS, "{} commands, but UFS has {TASKS} tasks", config.max_commands);
        assert!(config.utp.segment > 0 && config.utp.ready_to_transfers > 0, "{:?}", config.utp);
        Ufs {
            engine: Engine::new(config),
            utp: config.utp,
            calls: VecDeque::with_capacity(TASKS as usize),
            outstanding: 0,
            missing: vec![(0, Time::ZERO); TASKS as usize],
        }
    }

    /// The command in `slot` arrives at `at`.
    pub fn admit(&mut self, slot: u16, request: Request, at: Time, s: &mut impl Schedule<Event>) {
        assert!(slot < self.engine.capacity(), "slot {slot} of a device with {} tasks", self.engine.capacity());
        self.engine.admit(slot, 0, slot, &request, false);
        s.at(FETCHED, at, Event::Fetched(slot));
    }

    /// The command is here. True if it can be decoded; else it is wanted what it brings: ranges to unmap.
    pub fn fetched(&mut self, now: Time, tag: u16) -> bool {
        let whole = self.engine.command(tag).request.op != Op::Trim;
        if !whole {
            self.want(tag, UNMAP_LIST, now);
        }
        whole
    }

    /// All of the command is here. True if it goes to the translation layer at once; else [`Event::Decoded`] follows.
    pub fn decode(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>) -> bool {
        self.engine.decode(now, tag, s)
    }

    /// The command goes to the translation layer.
    pub fn run(&mut self, tag: u16) -> Request {
        self.engine.run(tag).request
    }

    /// `bytes` more of a read's data are to be sent now. Returns the command and when its memory has passed them.
    pub fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) -> (u16, Time) {
        let tag = index(tag);
        (tag, self.engine.stage(now, tag, Op::Read, u64::from(bytes), s))
    }

    /// The most data of a DATA IN UPIU (bMaxDataInSize).
    pub fn segment(&self) -> u32 {
        self.utp.segment
    }

    /// The read's data that was last to be sent has left at `at`.
    pub fn sent(&mut self, tag: u16, at: Time) {
        self.engine.sent(tag, at);
    }

    /// A write's data is wanted: there is room for it.
    pub fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) {
        let tag = index(tag);
        let bytes = self.engine.command(tag).request.bytes;
        let staged = self.engine.stage(now, tag, Op::Write, bytes, s);
        self.want(tag, bytes, staged);
    }

    fn want(&mut self, tag: u16, bytes: u64, staged: Time) {
        assert!(self.missing[tag as usize].0 == 0, "tag {tag} is called for twice");
        self.missing[tag as usize] = (bytes, staged);
        self.calls.push_back(Call { tag, left: bytes });
    }

    /// The next READY TO TRANSFER to be sent, if one may be: the command and how many bytes. To be called until there
    /// is none, whenever data is wanted or has come.
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

    /// `bytes` that were called for are here. With the last of a write [`Event::Arrived`] follows, with those of a list
    /// [`Event::Listed`].
    pub fn arrived(&mut self, now: Time, tag: u16, bytes: u32, s: &mut impl Schedule<Event>) {
        assert!(self.outstanding > 0, "{bytes} bytes for tag {tag} that nobody has called for");
        self.outstanding -= 1;
        let (missing, staged) = &mut self.missing[tag as usize];
        assert!(*missing >= u64::from(bytes), "{bytes} bytes for tag {tag}, which wants {missing}");
        *missing -= u64::from(bytes);
        if *missing > 0 {
            return;
        }
        match self.engine.command(tag).request.op {
            Op::Trim => s.at(FETCHED, now.max(*staged), Event::Listed(tag)),
            _ => s.at(ARRIVED, now.max(*staged), Event::Arrived(tag)),
        }
    }

    /// The translation layer is done. Returns the command if the host is told at once; else [`Event::Ended`] follows.
    ///
    /// # Panics
    /// If data of the command is still to come.
    pub fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) -> Option<u16> {
        let tag = index(tag);
        assert!(self.missing[tag as usize].0 == 0, "tag {tag} ends while its data comes");
        let end = self.engine.complete(now, tag, status, s);
        if end > now {
            self.engine.end_at(tag, end, s);
        }
        (end == now).then_some(tag)
    }

    /// The host is told, and the tag is free: how the command ended.
    pub fn post(&mut self, tag: u16) -> Status {
        self.engine.release(tag).status
    }

    /// Commands in the controller.
    pub fn outstanding(&self) -> u32 {
        self.engine.outstanding()
    }

    /// Names of what shows on a timeline.
    pub fn tracks(&self) -> Vec<String> {
        self.engine.tracks()
    }

    /// Every processor and memory, and its busy time until `now`.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        self.engine.busy(now)
    }

    /// All commands are gone.
    pub fn power_cut(&mut self, now: Time) {
        self.engine.power_cut(now);
        self.calls.clear();
        self.outstanding = 0;
        self.missing.fill((0, Time::ZERO));
    }
}
