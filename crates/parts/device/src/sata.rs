//! A SATA drive's front end: native command queuing, where the host's slot is the drive's tag.

use std::collections::VecDeque;

use media::{Op, Request, SECTOR, Status, Tag};
use sim::{Schedule, Time};

use crate::engine::{Engine, NONE, index};
use crate::{ARRIVED, Config, Event, FETCHED};

/// Tags of native command queuing.
pub const TAGS: u32 = 32;
/// Bytes of a block of trim ranges, 64 of them (ATA Command Set 3, DATA SET MANAGEMENT).
const RANGES: u64 = 512;
/// What a block of ranges covers at most: 65,535 sectors a range.
const RANGES_MAX: u64 = 64 * 65_535 * SECTOR;

/// A SATA drive's front end.
#[derive(Clone, Debug)]
pub struct Sata {
    engine: Engine,
    /// With a single data buffer: whose it is, and who waits for it.
    turn: Option<Turn>,
}

/// Who has the only data buffer, and who waits for it, in order.
#[derive(Clone, Debug)]
struct Turn {
    holder: u16,
    line: VecDeque<u16>,
}

impl Sata {
    /// An idle drive.
    ///
    /// # Panics
    /// If it is to hold more commands than there are tags.
    pub fn new(config: &Config) -> Sata {
        assert!(config.max_commands <= TAGS, "{} commands, but SATA has {TAGS} tags", config.max_commands);
        let turn = config
            .single_buffer
            .then(|| Turn { holder: NONE, line: VecDeque::with_capacity(config.max_commands as usize) });
        Sata { engine: Engine::new(config), turn }
    }

    /// The command in `slot` arrives at `at`.
    pub fn admit(&mut self, slot: u16, request: Request, at: Time, s: &mut impl Schedule<Event>) {
        assert!(slot < self.engine.capacity(), "slot {slot} of a drive with {} tags", self.engine.capacity());
        self.engine.admit(slot, 0, slot, &request, false);
        s.at(FETCHED, at, Event::Fetched(slot));
    }

    /// Bytes that must follow the command before it can be decoded: ranges to trim.
    pub fn fetched(&self, tag: u16) -> u64 {
        let request = self.engine.command(tag).request;
        if request.op == Op::Trim { request.bytes.div_ceil(RANGES_MAX) * RANGES } else { 0 }
    }

    /// They arrive at `at`.
    pub fn listed(&mut self, tag: u16, at: Time, s: &mut impl Schedule<Event>) {
        s.at(FETCHED, at, Event::Listed(tag));
    }

    /// All of the command is here. True if it goes to the translation layer at once; else [`Event::Decoded`] follows.
    pub fn decode(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>) -> bool {
        self.engine.decode(now, tag, s)
    }

    /// The command goes to the translation layer: what it asks. `None` if it has to wait for the data buffer; then
    /// [`next_turn`](Self::next_turn) gives it when it is its turn.
    pub fn run(&mut self, tag: u16) -> Option<Request> {
        if let Some(turn) = &mut self.turn {
            if turn.holder != NONE && turn.holder != tag {
                turn.line.push_back(tag);
                return None;
            }
            turn.holder = tag;
        }
        Some(self.engine.run(tag).request)
    }

    /// After the end of a command: the one whose turn it is now, if any waits, to be [`run`](Self::run).
    pub fn next_turn(&mut self) -> Option<u16> {
        let turn = self.turn.as_mut()?;
        if turn.holder != NONE {
            return None;
        }
        let next = turn.line.pop_front()?;
        turn.holder = next;
        Some(next)
    }

    /// `bytes` more of a read's data are in the drive. Returns the command, when its memory has passed them, and how
    /// many bytes are to be sent now: these, or with a single buffer none until all are there.
    pub fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) -> (u16, Time, u64) {
        let tag = index(tag);
        let staged = self.engine.stage(now, tag, Op::Read, u64::from(bytes), s);
        let sends = match (&self.turn, self.engine.is_whole(tag)) {
            (None, _) => u64::from(bytes),
            (Some(_), true) => self.engine.command(tag).request.bytes,
            (Some(_), false) => 0,
        };
        (tag, staged, sends)
    }

    /// The read's data that was last to be sent has left at `at`.
    pub fn sent(&mut self, tag: u16, at: Time) {
        self.engine.sent(tag, at);
    }

    /// A write's data is to be brought now: the command, how many bytes, and when its memory has passed them.
    pub fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) -> (u16, u64, Time) {
        let tag = index(tag);
        let bytes = self.engine.command(tag).request.bytes;
        (tag, bytes, self.engine.stage(now, tag, Op::Write, bytes, s))
    }

    /// A write's data is in the drive at `at`.
    pub fn arrives(&mut self, tag: u16, at: Time, s: &mut impl Schedule<Event>) {
        s.at(ARRIVED, at, Event::Arrived(tag));
    }

    /// The translation layer is done. Returns the command if the host is told at once; else [`Event::Ended`] follows.
    pub fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) -> Option<u16> {
        let tag = index(tag);
        let end = self.engine.complete(now, tag, status, s);
        if end > now {
            self.engine.end_at(tag, end, s);
        }
        (end == now).then_some(tag)
    }

    /// The host is told, and the tag is free: how the command ended. [`next_turn`](Self::next_turn) is to be asked
    /// afterwards.
    pub fn post(&mut self, tag: u16) -> Status {
        if let Some(turn) = &mut self.turn {
            assert!(turn.holder == tag, "tag {tag} ends, but tag {} has the buffer", turn.holder);
            turn.holder = NONE;
        }
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
        if let Some(turn) = &mut self.turn {
            turn.holder = NONE;
            turn.line.clear();
        }
        self.engine.power_cut(now);
    }
}
