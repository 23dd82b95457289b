//! Fused Compare and Write (section 6.2): the write is performed only if the comparison finds no difference, and no other
//! command changes the blocks in between.
//!
//! Both commands have a slot each and are fetched together. The pair begins when both are decoded. Commands that change
//! blocks take turns with the pairs of the same blocks, in the order in which they were decoded.

use std::collections::VecDeque;

use host_interface::{Event, Output};
use media::{Op, Request};
use sim::{Schedule, Time};

use crate::controller::{Controller, Step};
use crate::entry::{Entry, Status, opcode};

/// Values of the field FUSE.
const NORMAL: u32 = 0;
const FIRST: u32 = 1;
const SECOND: u32 = 2;

/// A pair that is under way or waits, or a command that waits for a pair.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// The tag of the command, or of the first of a pair.
    tag: u16,
    /// The tag of the second command of a pair.
    second: Option<u16>,
    runs: bool,
}

impl Turn {
    /// Returns the tag of the command that changes blocks.
    fn writer(&self) -> u16 {
        self.second.unwrap_or(self.tag)
    }
}

/// Fused commands.
#[derive(Clone, Debug, Default)]
pub(in crate::controller) struct Pairs {
    /// The submission queue whose next entry is the first of a pair, which is fetched together with the second.
    unfetched: Option<u16>,
    turns: Vec<Turn>,
}

impl Pairs {
    /// Forgets the entries of a submission queue that were not fetched.
    pub fn queue_deleted(&mut self, queue: u16) {
        self.unfetched = self.unfetched.filter(|waits| *waits != queue);
    }
}

/// Returns true if two plans change the same blocks.
fn overlap(one: &VecDeque<Request>, other: &VecDeque<Request>) -> bool {
    let changes = |request: &&Request| request.op.writes() || request.op == Op::Trim;
    let meets = |a: &Request, b: &Request| a.offset < b.end() && b.offset < a.end();
    one.iter().filter(changes).any(|a| other.iter().filter(changes).any(|b| meets(a, b)))
}

impl Controller {
    /// Returns true if the controller has fused commands: it needs two slots, and zones have no use for them.
    pub(in crate::controller) fn has_pairs(&self) -> bool {
        self.background_tag > 1 && !self.has_zones()
    }

    /// Returns the next entries to fetch. A pair is never fetched in parts, since its first command would keep a slot for
    /// as long as the second finds none: other queues wait until two slots are free.
    pub(in crate::controller) fn next_fetch(&mut self) -> Option<device::Fetch> {
        loop {
            let mut fetch = match self.pairs.unfetched {
                Some(queue) => self.device.fetch_two(queue)?,
                None => self.device.fetch()?,
            };
            self.pairs.unfetched = None;
            if self.ends_amid_pair(&fetch) {
                self.device.return_last(&mut fetch);
                self.pairs.unfetched = Some(fetch.queue);
            }
            if fetch.count > 0 {
                return Some(fetch);
            }
        }
    }

    /// Returns true if the last entry of `fetch` is the first of a pair, and more entries follow.
    fn ends_amid_pair(&self, fetch: &device::Fetch) -> bool {
        if fetch.queue == 0 || !self.has_pairs() || self.device.unfetched(fetch.queue) == 0 {
            return false;
        }
        let depth = u32::from(self.device.submission_entries(fetch.queue));
        let last = (u32::from(fetch.index) + u32::from(fetch.count) - 1) % depth;
        self.read_entry(fetch.queue, last as u16).is_some_and(|entry| entry.fused() == FIRST)
    }

    /// Opens the commands of entries fetched together from I/O queue `queue`, or from the admin queue. Returns their
    /// slots and requests.
    pub(in crate::controller) fn open_all(&mut self, now: Time, queue: u16, entries: &[Entry]) -> Vec<(u16, Request)> {
        let mut opened: Vec<(u16, Request)> = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            let pair = if queue == 0 { Ok(NORMAL) } else { self.place_in_pair(entries, at) };
            let (slot, request) = self.open(now, queue, *entry, pair.err());
            if let (Ok(SECOND), Some((first, _))) = (pair, opened.last()) {
                self.commands.join(*first, slot);
            }
            opened.push((slot, request));
        }
        opened
    }

    /// Returns the field FUSE of an entry.
    ///
    /// # Errors
    /// Fails with the status of the command if it is not part of a complete and possible pair.
    fn place_in_pair(&self, entries: &[Entry], at: usize) -> Result<u32, Status> {
        let (before, after) = (at.checked_sub(1).and_then(|at| entries.get(at)), entries.get(at + 1));
        let is = |entry: &&Entry, place: u32| entry.fused() == place;
        let (first, second) = match entries[at].fused() {
            NORMAL => return Ok(NORMAL),
            FIRST | SECOND if !self.has_pairs() => return Err(Status::INVALID_FIELD),
            FIRST => (Some(&entries[at]), after.filter(|entry| is(entry, SECOND))),
            SECOND => (before.filter(|entry| is(entry, FIRST)), Some(&entries[at])),
            _ => return Err(Status::INVALID_FIELD),
        };
        let (first, second) = first.zip(second).ok_or(Status::MISSING_FUSED)?;
        let blocks = |entry: &Entry| (entry.namespace(), entry.lba(), entry.dword(12) & 0xffff);
        let is_possible = (first.opcode(), second.opcode()) == (opcode::COMPARE, opcode::WRITE);
        let limit = self.active(first.namespace()).and_then(|namespace| self.atomicity(namespace)).unwrap_or(0);
        let is_small = first.dword(12) & 0xffff <= u32::from(limit);
        if is_possible && is_small && blocks(first) == blocks(second) {
            return Ok(entries[at].fused());
        }
        Err(Status::INVALID_FIELD)
    }

    /// Performs a decoded command of a pair: the later of the two begins the pair.
    pub(super) fn run_pair(&mut self, now: Time, tag: u16, partner: u16, s: &mut dyn Schedule<Event>) {
        let Some(other) = self.commands.in_slot(partner).and_then(|command| command.tag) else { return };
        let is_first = self.commands.of_tag(tag).entry.fused() == FIRST;
        let (first, second) = if is_first { (tag, other) } else { (other, tag) };
        let found = [first, second].map(|tag| self.prepare(tag).err());
        if found != [None, None] {
            for (tag, status) in [first, second].into_iter().zip(found) {
                self.commands.of_tag_mut(tag).status = status.unwrap_or(Status::FAILED_FUSED);
            }
            // The end of the first ends the second.
            return self.finish(now, first, s);
        }
        for tag in [first, second] {
            let command = self.commands.of_tag(tag);
            let (entry, bytes) = (command.entry, command.bytes);
            self.check_identifier(now, &entry);
            self.logs.count(&entry, bytes);
        }
        self.fetch_to_compare(now, first, s);
        self.pairs.turns.push(Turn { tag: first, second: Some(second), runs: false });
        self.take_turns(now, s);
    }

    /// Passes a command's requests to the translation layer, after the pairs of the same blocks.
    pub(super) fn start(&mut self, now: Time, tag: u16, s: &mut dyn Schedule<Event>, out: &mut Vec<Output>) {
        if !self.pairs.turns.is_empty() {
            self.pairs.turns.push(Turn { tag, second: None, runs: false });
            return self.take_turns(now, s);
        }
        self.commands.of_tag_mut(tag).runs = true;
        self.next_request(now, tag, s, out);
    }

    /// Records that a command has ended, so that those that waited for it begin.
    pub(super) fn end_turn(&mut self, now: Time, tag: u16, s: &mut dyn Schedule<Event>) {
        self.commands.of_tag_mut(tag).runs = false;
        if !self.pairs.turns.is_empty() {
            self.pairs.turns.retain(|turn| turn.second != Some(tag));
            self.take_turns(now, s);
        }
    }

    /// Begins what need not wait any longer.
    fn take_turns(&mut self, now: Time, s: &mut dyn Schedule<Event>) {
        let mut at = 0;
        while let Some(turn) = self.pairs.turns.get(at).copied() {
            if turn.runs || self.must_wait(at) {
                at += 1;
                continue;
            }
            Step::Next.at(now, u32::from(turn.tag), s);
            if turn.second.is_some() {
                self.pairs.turns[at].runs = true;
            } else {
                self.commands.of_tag_mut(turn.tag).runs = true;
                self.pairs.turns.remove(at);
            }
        }
    }

    /// Returns true if a turn waits: for an earlier pair of the same blocks; or, as a pair, for any command that changes
    /// them.
    fn must_wait(&self, at: usize) -> bool {
        let turn = self.pairs.turns[at];
        let plan = |tag: u16| &self.commands.of_tag(tag).plan;
        let own = plan(turn.writer());
        let mut earlier = self.pairs.turns[..at].iter();
        earlier.any(|other| (turn.second.or(other.second)).is_some() && overlap(own, plan(other.writer())))
            || turn.second.is_some() && self.commands.running().any(|command| overlap(own, &command.plan))
    }

    /// Returns the tag of the second command of the pair whose first command is `tag`.
    pub(super) fn second_of(&self, tag: u16) -> Option<u16> {
        let command = self.commands.of_tag(tag);
        let partner = command.partner.filter(|_| command.entry.fused() == FIRST)?;
        self.commands.in_slot(partner).and_then(|second| second.tag)
    }

    /// Continues a pair whose first command has ended, and found no difference if `matched`.
    pub(super) fn continue_pair(&mut self, now: Time, second: u16, matched: bool, s: &mut dyn Schedule<Event>) {
        let command = self.commands.of_tag_mut(second);
        if !matched && command.status == Status::SUCCESS {
            command.status = Status::FAILED_FUSED;
        }
        if command.status != Status::SUCCESS {
            return self.finish(now, second, s);
        }
        Step::Next.at(now, u32::from(second), s);
    }
}
