//! The front end of a SATA drive: native command queuing, in which the host's slot is the drive's tag.

use std::collections::VecDeque;

use media::{Op, Request, SECTOR, Status, Tag};
use sim::{Part, Schedule, Time};

use crate::engine::{Engine, NONE, index};
use crate::{ARRIVED, Buffering, Config, DECODED, Event, FETCHED, Output};

/// Tags of native command queuing.
pub const TAGS: u32 = 32;
/// Bytes of a block of 64 trim ranges (ATA Command Set 3, DATA SET MANAGEMENT).
const RANGES: u64 = 512;
/// Maximum bytes covered by a block of ranges: 65,535 sectors per range.
const RANGES_MAX: u64 = 64 * 65_535 * SECTOR;

/// A SATA drive's front end.
#[derive(Clone, Debug)]
pub struct Sata {
    engine: Engine,
    /// With a single data buffer, its owner and the commands waiting for it.
    turn: Option<Turn>,
}

/// The owner of the only data buffer, and the commands waiting for it in order.
#[derive(Clone, Debug)]
struct Turn {
    holder: u16,
    line: VecDeque<u16>,
}

impl Sata {
    /// Creates an idle drive.
    ///
    /// # Panics
    /// Panics if the drive is configured for more commands than there are tags.
    pub fn new(config: &Config) -> Sata {
        assert!(config.max_commands <= TAGS, "{} commands, but SATA has {TAGS} tags", config.max_commands);
        let turn = (config.buffering == Buffering::Single)
            .then(|| Turn { holder: NONE, line: VecDeque::with_capacity(config.max_commands as usize) });
        Sata { engine: Engine::new(config), turn }
    }

    /// Returns true if the drive has a single data buffer, for which commands wait.
    pub fn has_single_buffer(&self) -> bool {
        self.turn.is_some()
    }

    /// Admits the command in `slot`, which arrives at `at`.
    pub fn admit(&mut self, slot: u16, request: Request, at: Time, s: &mut impl Schedule<Event>) {
        assert!(slot < self.engine.capacity(), "slot {slot} of a drive with {} tags", self.engine.capacity());
        self.engine.admit(slot, 0, slot, request);
        s.at(FETCHED, at, Event::Fetched(slot));
    }

    /// Schedules the arrival of ranges to trim at `at`.
    pub fn listed(&mut self, tag: u16, at: Time, s: &mut impl Schedule<Event>) {
        s.at(FETCHED, at, Event::Listed(tag));
    }

    /// Returns the bytes of trim ranges that must follow the command before it can be decoded.
    fn ranges(&self, tag: u16) -> u64 {
        let request = self.engine.command(tag).request;
        if request.op == Op::Trim { request.bytes.div_ceil(RANGES_MAX) * RANGES } else { 0 }
    }

    /// Decodes a command that has arrived completely. If decoding takes time, [`Event::Decoded`] follows.
    fn decode(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>, out: &mut Option<Output>) {
        if self.engine.decode(now, tag, s) {
            self.run(tag, out);
        }
    }

    /// Passes the command to the translation layer, or lets it wait for the single data buffer until
    /// [`next_turn`](Self::next_turn).
    fn run(&mut self, tag: u16, out: &mut Option<Output>) {
        if let Some(turn) = &mut self.turn {
            if turn.holder != NONE && turn.holder != tag {
                return turn.line.push_back(tag);
            }
            turn.holder = tag;
        }
        let request = self.engine.run(tag).request;
        *out = Some(Output::Command { tag, queue: 0, cid: tag, request });
    }

    /// Gives the data buffer to the next waiting command. Must be called after the end of a command.
    pub fn next_turn(&mut self, now: Time, s: &mut impl Schedule<Event>) {
        if let Some(turn) = &mut self.turn
            && turn.holder == NONE
            && let Some(next) = turn.line.pop_front()
        {
            turn.holder = next;
            s.at(DECODED, now, Event::Decoded(next));
        }
    }

    /// Stages `bytes` more of a read's data. Returns the command, the time at which they have passed the drive's
    /// memory, and the number of bytes to send now: with a single buffer, none until all data is staged.
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

    /// Records that the data of the read last sent has left at `at`.
    pub fn sent(&mut self, tag: u16, at: Time) {
        self.engine.sent(tag, at);
    }

    /// Stages a write's data. Returns the command, the number of bytes, and the time at which the drive's memory can
    /// accept them.
    pub fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) -> (u16, u64, Time) {
        let tag = index(tag);
        let bytes = self.engine.command(tag).request.bytes;
        (tag, bytes, self.engine.stage(now, tag, Op::Write, bytes, s))
    }

    /// Schedules the arrival of a write's data at `at`.
    pub fn arrives(&mut self, tag: u16, at: Time, s: &mut impl Schedule<Event>) {
        s.at(ARRIVED, at, Event::Arrived(tag));
    }

    /// Ends the command in the translation layer. Returns the command if the host is notified now; otherwise
    /// [`Event::Ended`] follows.
    pub fn complete(&mut self, now: Time, tag: Tag, status: Status, s: &mut impl Schedule<Event>) -> Option<u16> {
        let tag = index(tag);
        let end = self.engine.complete(now, tag, status, s);
        if end > now {
            self.engine.end_at(tag, end, s);
        }
        (end == now).then_some(tag)
    }

    /// Frees the tag of a command that the host is notified of, and returns its status. [`next_turn`](Self::next_turn)
    /// must be called afterwards.
    pub fn post(&mut self, tag: u16) -> Status {
        if let Some(turn) = &mut self.turn {
            assert!(turn.holder == tag, "tag {tag} ends while tag {} owns the data buffer", turn.holder);
            turn.holder = NONE;
        }
        self.engine.release(tag).status
    }

    /// Returns the number of commands in the drive.
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
        if let Some(turn) = &mut self.turn {
            turn.holder = NONE;
            turn.line.clear();
        }
        self.engine.power_cut(now);
    }
}

impl Part for Sata {
    type Event = Event;
    type Output = Option<Output>;

    fn handle(&mut self, now: Time, event: Event, s: &mut impl Schedule<Event>, out: &mut Option<Output>) {
        match event {
            Event::Fetched(tag) => match self.ranges(tag) {
                0 => self.decode(now, tag, s, out),
                bytes => *out = Some(Output::List { tag, bytes }),
            },
            Event::Listed(tag) => self.decode(now, tag, s, out),
            Event::Decoded(tag) => self.run(tag, out),
            Event::Arrived(tag) => *out = Some(Output::Arrived(tag)),
            Event::Ended(tag) => *out = Some(Output::Ended { tag, at: now }),
            Event::Coalesced { .. } => unreachable!("{event:?} of a SATA drive"),
        }
    }
}
