//! An NVMe controller: submission and completion queues in host memory, doorbells, arbitration, interrupts.

use media::{Op, Request, SECTOR, Status, Tag};
use sim::{Part, Schedule, Time};

use crate::arbiter::Arbiter;
use crate::engine::{Engine, NONE, index};
use crate::pair::{Completion, Ended, Fetch, Pair};
use crate::{ARRIVED, COALESCED, Coalescing, Config, Event, FETCHED, Output};

#[path = "host_queues.rs"]
mod host_queues;
pub use host_queues::InvalidDoorbell;

/// Bytes of a memory page (CC.MPS is 0). Given: the page size of x86, and the smallest of NVMe.
pub const MEMORY_PAGE: u64 = 4096;
/// Maximum bytes of a transfer without a list.
const UNLISTED: u64 = 2 * MEMORY_PAGE;
/// Bytes per address in a list of memory pages (4.1.1).
const PAGE_ADDRESS: u64 = 8;
/// Bytes per range of Dataset Management (NVM Command Set Specification 1.0, 3.2.3), and the maximum bytes that a range
/// covers.
const RANGE: u64 = 16;
const RANGE_MAX: u64 = u32::MAX as u64 * SECTOR;

/// The last data of a read, on its way to the host.
#[derive(Debug)]
#[must_use = "the read completes with `complete_read`"]
pub struct LastData {
    tag: u16,
    /// Time at which all data of the read has passed the controller's memory.
    staged: Time,
}

impl LastData {
    /// Returns the read's tag.
    #[inline]
    pub fn tag(&self) -> u16 {
        self.tag
    }
}

/// An NVMe controller.
#[derive(Clone, Debug)]
pub struct Nvme {
    engine: Engine,
    pairs: Vec<Pair>,
    /// The first of the free tags, which are chained, and their number.
    free: u16,
    room: u32,
    arbiter: Arbiter,
    fetch_burst: u32,
    /// True if the host uses interrupts rather than polling.
    interrupts: bool,
    coalescing: Option<Coalescing>,
    interrupts_sent: u64,
    /// Minimum time from now to the end of a command that has not yet reached the controller; see
    /// [`ends_next`](Nvme::ends_next).
    horizon: Time,
    /// Half the number of tags.
    room_half: u32,
    /// Commands waiting for their entry or their list.
    undecoded: u32,
    /// Commands whose completion waits for [`Event::Ended`].
    unposted: u32,
    /// Commands in the controller other than reads.
    others: u32,
    /// True if the processors only decode, so that their work begins in the order in which commands arrive.
    decodes_in_order: bool,
}

impl Nvme {
    /// Creates a controller with `pairs` queue pairs of `depth` entries, for a host that uses `interrupts` or polls. No
    /// information reaches the controller from the host in less than `round_trip`.
    ///
    /// # Panics
    /// Panics if the configuration is outside the specification's range.
    pub fn new(config: &Config, pairs: u16, depth: u16, interrupts: bool, round_trip: Time) -> Nvme {
        assert!(pairs > 0, "a controller without queues");
        assert!(depth >= 2, "a queue of {depth} entries, expected 2 and more");
        assert!(config.fetch_burst > 0, "a fetch burst of no entries");
        let coalescing = config.coalescing.is_on().then_some(config.coalescing);
        if let Some(Coalescing { threshold, time }) = coalescing {
            let fits = (2..=256).contains(&threshold) && time > Time::ZERO;
            assert!(fits, "coalescing of {threshold} completions in {time}, expected 2 to 256 in more than 0s");
        }
        let mut nvme = Nvme {
            engine: Engine::new(config),
            pairs: vec![Pair::new(depth); pairs as usize],
            free: NONE,
            room: 0,
            arbiter: Arbiter::new(
                config.arbitration,
                config.weights,
                config.arbitration_burst,
                &config.priorities,
                pairs,
            ),
            fetch_burst: config.fetch_burst,
            interrupts,
            coalescing,
            interrupts_sent: 0,
            horizon: Nvme::horizon(config, round_trip),
            room_half: config.max_commands.div_ceil(2),
            undecoded: 0,
            unposted: 0,
            others: 0,
            decodes_in_order: false,
        };
        nvme.decodes_in_order = config.firmware.complete == Time::ZERO && !nvme.engine.reorders();
        nvme.free_all();
        nvme
    }

    /// Frees all tags, with the lowest first in the chain.
    fn free_all(&mut self) {
        (self.free, self.room) = (NONE, 0);
        for tag in (0..self.engine.capacity()).rev() {
            self.engine.chain(tag, self.free);
            self.free = tag;
            self.room += 1;
        }
    }

    /// Returns the minimum time from a doorbell to the end of a command other than a read.
    fn horizon(config: &Config, round_trip: Time) -> Time {
        let firmware = config.firmware;
        round_trip + firmware.flush.min(round_trip + firmware.write.min(firmware.trim))
    }

    /// Returns true if a command whose doorbell is written now will be fetched as soon as the doorbell arrives, because
    /// no command waits and a tag is free.
    #[inline]
    pub fn fetches_at_once(&self) -> bool {
        self.arbiter.waiting() == 0 && self.room > 0
    }

    /// Returns true if commands wait to be fetched.
    #[inline]
    pub fn waits(&self) -> bool {
        self.arbiter.waiting() > 0
    }

    /// Handles a write of the submission queue's tail doorbell.
    #[inline]
    pub fn doorbell(&mut self, queue: u16, tail: u16) {
        let pair = &mut self.pairs[queue as usize];
        let depth = pair.sq_depth;
        assert!(tail < depth, "a doorbell value of {tail} for a queue of {depth} entries");
        let new = if tail >= pair.sq_tail { tail - pair.sq_tail } else { tail + (depth - pair.sq_tail) };
        pair.sq_tail = tail;
        debug_assert!(self.arbiter.pending(queue) + u32::from(new) < u32::from(depth), "queue {queue} overflows");
        self.arbiter.add(queue, u32::from(new));
    }

    /// Returns the next entries to fetch, if any wait and there is room for them.
    #[inline]
    pub fn fetch(&mut self) -> Option<Fetch> {
        let room = self.room.min(self.fetch_burst);
        let (queue, count) = self.arbiter.next(room)?;
        Some(self.pairs[queue as usize].take_entries(queue, count))
    }

    /// Handles the doorbell of a command and returns its fetch that is [fetched at once](Self::fetches_at_once). There is no competing queue, so
    /// this takes no turn of the arbitration.
    #[inline]
    pub fn fetch_at_once(&mut self, queue: u16, tail: u16) -> Fetch {
        let pair = &mut self.pairs[queue as usize];
        if tail >= pair.sq_depth {
            refuse_doorbell(tail, pair.sq_depth);
        }
        let index = pair.sq_head;
        debug_assert_eq!(tail, (index + 1) % pair.sq_depth, "commands wait in queue {queue}");
        (pair.sq_head, pair.sq_tail) = (tail, tail);
        Fetch { queue, index, count: 1 }
    }

    /// Admits the entries of `fetch`, which arrive at `at`. `entry` reads an entry and returns its number and request.
    /// `in_order` means that no entry fetched later can arrive earlier.
    ///
    /// A command that arrives in order, with no other processor work possible before it, is assigned its processor now
    /// for the time of its arrival; for others [`Event::Fetched`] follows.
    #[inline(always)]
    pub fn admit(
        &mut self,
        fetch: Fetch,
        (at, in_order): (Time, bool),
        entry: impl Fn(u16) -> (u16, Request),
        s: &mut impl Schedule<Event>,
    ) {
        let (mut place, depth) = (fetch.index, self.pairs[fetch.queue as usize].sq_depth);
        for _ in 0..fetch.count {
            let (cid, request) = entry(place);
            let tag = self.take(fetch.queue, cid, request);
            if in_order && self.undecoded == 0 && self.decodes_in_order && is_short(&request) {
                self.engine.decode_request(at, tag, &request, s);
            } else {
                self.undecoded += 1;
                s.at(FETCHED, at, Event::Fetched(tag));
            }
            place = if place + 1 == depth { 0 } else { place + 1 };
        }
    }

    /// Assigns a tag to a command.
    #[inline]
    fn take(&mut self, queue: u16, cid: u16, request: Request) -> u16 {
        let tag = self.free;
        self.room -= 1;
        self.others += u32::from(request.op != Op::Read);
        self.free = self.engine.admit(tag, queue, cid, request);
        tag
    }

    /// Returns the bytes of the list that a command points to: addresses of its data or ranges to trim.
    #[inline]
    fn list(&self, request: &Request) -> u32 {
        let bytes = match request.op {
            Op::Trim => request.bytes.div_ceil(RANGE_MAX) * RANGE,
            _ if request.op.manages_zones() || request.bytes <= UNLISTED => 0,
            _ => (request.bytes.div_ceil(MEMORY_PAGE) - 1) * PAGE_ADDRESS,
        };
        bytes as u32
    }

    /// Schedules the arrival of the command's list at `at`.
    pub fn listed(&mut self, tag: u16, at: Time, s: &mut impl Schedule<Event>) {
        s.at(FETCHED, at, Event::Listed(tag));
    }

    /// Handles the arrival of a command, whose list may still be missing.
    fn fetched(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>, out: &mut Option<Output>) {
        match self.list(&self.engine.command(tag).request) {
            0 => self.decode(now, tag, s, out),
            bytes => *out = Some(Output::List { tag, bytes: u64::from(bytes) }),
        }
    }

    /// Decodes a command that has arrived completely. If decoding takes time, [`Event::Decoded`] follows.
    fn decode(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>, out: &mut Option<Output>) {
        self.undecoded -= 1;
        if self.engine.decode(now, tag, s) {
            *out = Some(self.run(tag));
        }
    }

    /// Returns the queue pair of a command and its number there.
    #[inline]
    pub fn entry_of(&self, tag: Tag) -> (u16, u16) {
        let command = self.engine.command(index(tag));
        (command.queue, command.cid)
    }

    /// Passes the command to the translation layer.
    #[inline]
    fn run(&mut self, tag: u16) -> Output {
        let command = self.engine.run(tag);
        Output::Command { tag, queue: command.queue, cid: command.cid, request: command.request }
    }

    /// Stages `bytes` more of a read's data. Returns the command and the time at which the data have
    /// passed the controller's memory.
    #[inline]
    pub fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) -> (u16, Time) {
        let tag = index(tag);
        (tag, self.engine.stage(now, tag, Op::Read, u64::from(bytes), s))
    }

    /// Like [`data`](Self::data), for the last data of a read, which ends with `status`:
    /// [`complete_read`](Self::complete_read) must follow.
    #[inline]
    pub fn last_data(
        &mut self,
        now: Time,
        tag: Tag,
        bytes: u32,
        status: Status,
        s: &mut impl Schedule<Event>,
    ) -> LastData {
        let tag = index(tag);
        LastData { tag, staged: self.engine.stage_last(now, tag, u64::from(bytes), status, s) }
    }

    /// Records that the data of the read last staged has left at `at`.
    #[inline]
    pub fn sent(&mut self, tag: u16, at: Time) {
        self.engine.sent(tag, at);
    }

    /// Stages a write's data. Returns the command, the number of bytes, and the time at which the controller's memory
    /// can accept them.
    #[inline]
    pub fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) -> (u16, u64, Time) {
        let tag = index(tag);
        let bytes = self.engine.command(tag).request.bytes;
        (tag, bytes, self.engine.stage(now, tag, Op::Write, bytes, s))
    }

    /// Schedules the arrival of a write's data at `at`.
    #[inline]
    pub fn arrives(&mut self, tag: u16, at: Time, s: &mut impl Schedule<Event>) {
        s.at(ARRIVED, at, Event::Arrived(tag));
    }

    /// Ends the command in the translation layer. Returns the command and the time to post its completion if its
    /// position among the others is known; otherwise [`Event::Ended`] follows.
    #[inline]
    pub fn complete(
        &mut self,
        now: Time,
        tag: Tag,
        status: Status,
        s: &mut impl Schedule<Event>,
    ) -> Option<(u16, Time)> {
        let tag = index(tag);
        let end = self.engine.complete(now, tag, status, s);
        self.end(now, tag, end, s).then_some((tag, end))
    }

    /// Like [`complete`](Self::complete), for a read whose last data leaves at `sent`, or as soon as it is staged. Returns
    /// the command and the time to post its completion, if its position is known.
    #[inline]
    pub fn complete_read(
        &mut self,
        now: Time,
        LastData { tag, staged }: LastData,
        sent: Time,
        s: &mut impl Schedule<Event>,
    ) -> Option<(u16, Time)> {
        let end = self.engine.end_of(now, tag, sent.max(staged), s);
        self.end(now, tag, end, s).then_some((tag, end))
    }

    /// Returns true if a command that ends at `end` has a known position among the others; otherwise [`Event::Ended`]
    /// follows.
    #[inline]
    fn end(&mut self, now: Time, tag: u16, end: Time, s: &mut impl Schedule<Event>) -> bool {
        let next = self.ends_next(now, end);
        if !next {
            self.unposted += 1;
            self.engine.end_at(tag, end, s);
        }
        next
    }

    /// Returns true if no other command can end before one that ends at `end`: the controller contains only reads,
    /// whose data leaves in order, a command that has not arrived cannot end earlier, and no command waits for the tag.
    #[inline]
    fn ends_next(&self, now: Time, end: Time) -> bool {
        let in_order =
            || self.others == 0 && self.unposted == 0 && self.decodes_in_order && self.room >= self.room_half;
        end == now || (end <= now + self.horizon && in_order())
    }

    /// Frees the tag of a command whose completion is posted at `at`, now or soon.
    #[inline]
    pub fn release(&mut self, at: Time, tag: u16, s: &mut impl Schedule<Event>) -> Ended {
        self.release_to(at, tag, Some, s)
    }

    /// Like [`release`](Self::release), for a completion in the queue that `coalesced` returns for the command's, whose
    /// interrupts are coalesced, or in a queue that does not coalesce.
    #[inline(always)]
    pub(crate) fn release_to(
        &mut self,
        at: Time,
        tag: u16,
        coalesced: impl Fn(u16) -> Option<u16>,
        s: &mut impl Schedule<Event>,
    ) -> Ended {
        let command = self.engine.release(tag);
        let (queue, cid, status) = (command.queue, command.cid, command.status);
        command.next = self.free;
        self.free = tag;
        self.room += 1;
        self.others -= u32::from(command.request.op != Op::Read);
        let interrupt = self.interrupts
            && match (self.coalescing, coalesced(queue)) {
                (Some(coalescing), Some(queue)) => self.coalesce(coalescing, at, queue, s),
                _ => true,
            };
        self.interrupts_sent += u64::from(interrupt);
        Ended { queue, cid, status, interrupt }
    }

    /// Returns the completion queue entry of a command that has ended, and its index.
    #[inline]
    pub fn post(&mut self, queue: u16, cid: u16, status: Status) -> (u16, Completion) {
        self.post_to(queue, queue, cid, status)
    }

    /// Like [`post`](Self::post), for a command of submission queue `from` and an entry of completion queue `to`.
    #[inline]
    pub(crate) fn post_to(&mut self, from: u16, to: u16, cid: u16, status: Status) -> (u16, Completion) {
        let sq_head = self.pairs[from as usize].sq_head;
        let pair = &mut self.pairs[to as usize];
        let (place, queue) = (pair.cq_tail, to);
        let entry = Completion { cid, sq_head, phase: pair.phase, status };
        pair.cq_tail += 1;
        if pair.cq_tail == pair.cq_depth {
            pair.cq_tail = 0;
            pair.phase = !pair.phase;
        }
        assert!(pair.cq_tail != pair.cq_head, "completion queue {queue} overflows");
        (place, entry)
    }

    /// Counts a completion whose interrupts are coalesced. Returns true if an interrupt is due.
    fn coalesce(&mut self, coalescing: Coalescing, at: Time, queue: u16, s: &mut impl Schedule<Event>) -> bool {
        let Coalescing { threshold, time } = coalescing;
        let pair = &mut self.pairs[queue as usize];
        pair.untold += 1;
        if pair.untold >= threshold {
            pair.untold = 0;
            pair.epoch = pair.epoch.wrapping_add(1);
            return true;
        }
        if pair.untold == 1 {
            s.at(COALESCED, at + time, Event::Coalesced { queue, epoch: pair.epoch });
        }
        false
    }

    /// Handles the end of the aggregation time of `epoch`. Returns true if an interrupt is due.
    fn coalesced(&mut self, queue: u16, epoch: u16) -> bool {
        let pair = &mut self.pairs[queue as usize];
        let due = pair.epoch == epoch && pair.untold > 0;
        if due {
            pair.untold = 0;
            pair.epoch = pair.epoch.wrapping_add(1);
            self.interrupts_sent += 1;
        }
        due
    }

    /// Handles a write of the completion queue's head doorbell. If the host has seen all entries, no interrupt is
    /// pending any more.
    #[inline]
    pub fn seen(&mut self, queue: u16, head: u16) {
        let pair = &mut self.pairs[queue as usize];
        if head >= pair.cq_depth {
            refuse_doorbell(head, pair.cq_depth);
        }
        pair.cq_head = head;
        if head == pair.cq_tail && pair.untold > 0 {
            pair.untold = 0;
            pair.epoch = pair.epoch.wrapping_add(1);
        }
    }

    /// Returns the number of interrupts sent.
    pub fn interrupts_sent(&self) -> u64 {
        self.interrupts_sent
    }

    /// Returns the entries of the submission queue that the controller knows of but has not fetched.
    pub fn unfetched(&self, queue: u16) -> u32 {
        self.arbiter.pending(queue)
    }

    /// Returns the number of commands in the controller.
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

    /// Drops all commands and doorbells and creates the queues again, empty.
    pub fn power_cut(&mut self, now: Time) {
        self.engine.power_cut(now);
        for pair in &mut self.pairs {
            *pair = pair.emptied();
        }
        self.arbiter.clear();
        self.free_all();
        (self.undecoded, self.unposted, self.others) = (0, 0, 0);
    }
}

/// Returns true if a command certainly has no [list](Nvme::list), which needs no division.
#[inline]
fn is_short(request: &Request) -> bool {
    request.op != Op::Trim && request.bytes <= UNLISTED
}

fn refuse_doorbell(value: u16, entries: u16) -> ! {
    panic!("a doorbell value of {value} for a queue of {entries} entries")
}

impl Part for Nvme {
    type Event = Event;
    type Output = Option<Output>;

    #[inline]
    fn handle(&mut self, now: Time, event: Event, s: &mut impl Schedule<Event>, out: &mut Option<Output>) {
        match event {
            Event::Decoded(tag) => *out = Some(self.run(tag)),
            Event::Ended(tag) => {
                self.unposted -= 1;
                *out = Some(Output::Ended { tag, at: now });
            }
            _ => self.handle_other(now, event, s, out),
        }
    }
}

impl Nvme {
    /// Handles an event that not every command has.
    fn handle_other(&mut self, now: Time, event: Event, s: &mut impl Schedule<Event>, out: &mut Option<Output>) {
        match event {
            Event::Decoded(_) | Event::Ended(_) => unreachable!("{event:?} is no rare event"),
            Event::Fetched(tag) => self.fetched(now, tag, s, out),
            Event::Listed(tag) => self.decode(now, tag, s, out),
            Event::Arrived(tag) => *out = Some(Output::Arrived(tag)),
            Event::Coalesced { queue, epoch } => {
                if self.coalesced(queue, epoch) {
                    *out = Some(Output::Interrupt(queue));
                }
            }
        }
    }
}
