//! An NVMe controller: submission and completion queues in the host's memory, doorbells, arbitration, interrupts.

use media::{Op, Request, SECTOR, Status, Tag};
use sim::{Schedule, Time};

use crate::arbiter::Arbiter;
use crate::engine::{Engine, NONE, index};
use crate::pair::{Completion, EMPTY, Ended, Fetch, Pair};
use crate::{ARRIVED, COALESCED, Coalescing, Config, Event, FETCHED};

/// Bytes of an address in a list of memory pages (4.1.1).
const PAGE_ADDRESS: u64 = 8;
/// Bytes of a range of Dataset Management (NVM Command Set Specification 1.0, 3.2.3), and the most that it covers.
const RANGE: u64 = 16;
const RANGE_MAX: u64 = u32::MAX as u64 * SECTOR;

/// An NVMe controller.
#[derive(Clone, Debug)]
pub struct Nvme {
    engine: Engine,
    pairs: Vec<Pair>,
    /// Entries of each queue.
    depth: u16,
    /// The first of the free tags, which are chained, and how many there are.
    free: u16,
    room: u32,
    arbiter: Arbiter,
    fetch_burst: u32,
    /// Interrupts are on: the host does not poll; and there is one for each completion.
    interrupts: bool,
    interrupts_each: bool,
    coalescing: Option<Coalescing>,
    host_page: u64,
    /// Most bytes of a transfer that needs no list.
    unlisted: u64,
    interrupts_sent: u64,
    /// How far the end of a command that is not yet here is away at least; see [`complete`](Nvme::complete).
    horizon: Time,
    /// Half the tags.
    room_half: u32,
    /// Commands that are not decoded and wait for an event to be.
    undecoded: u32,
    /// Commands that will be posted by an event.
    unposted: u32,
    /// Commands in the controller that are not reads.
    others: u32,
    /// Every step is an event: see [`stepwise`](Nvme::stepwise).
    stepwise: bool,
    posts_at_once: bool,
    /// What can be foreseen is: ending a command takes no processor's time, so that all work of the processors comes in
    /// the order in which it becomes known; and not every step is to be an event.
    foresees: bool,
}

impl Nvme {
    /// A controller with `pairs` queue pairs of `depth` entries, created by a host that wants `interrupts` or polls; it
    /// cannot learn anything from the host in less than `round_trip`.
    ///
    /// # Panics
    /// If the configuration is none that the specification has.
    pub fn new(config: &Config, pairs: u16, depth: u16, interrupts: bool, round_trip: Time) -> Nvme {
        assert!(pairs > 0, "a controller without queues");
        assert!(depth >= 2, "a queue of {depth} entries, expected 2 and more");
        assert!(config.fetch_burst > 0, "a fetch burst of no entries");
        assert!(config.host_page.is_power_of_two(), "a memory page of {} bytes", config.host_page);
        if let Some(Coalescing { threshold, time }) = config.coalescing {
            let fits = (2..=256).contains(&threshold) && time > Time::ZERO;
            assert!(fits, "coalescing of {threshold} completions in {time}, expected 2 to 256 in more than 0s");
        }
        let mut nvme = Nvme {
            engine: Engine::new(config),
            pairs: vec![EMPTY; pairs as usize],
            depth,
            free: NONE,
            room: 0,
            arbiter: Arbiter::new(config.arbitration, config.arbitration_burst, &config.priorities, pairs),
            fetch_burst: config.fetch_burst,
            interrupts,
            interrupts_each: interrupts && config.coalescing.is_none(),
            coalescing: config.coalescing,
            host_page: u64::from(config.host_page),
            unlisted: 2 * u64::from(config.host_page),
            interrupts_sent: 0,
            horizon: Nvme::horizon(config, round_trip),
            room_half: config.max_commands.div_ceil(2),
            undecoded: 0,
            unposted: 0,
            others: 0,
            stepwise: false,
            posts_at_once: config.coalescing.is_none(),
            foresees: config.firmware.complete == Time::ZERO,
        };
        nvme.foresees &= !nvme.engine.reorders();
        nvme.free_all();
        nvme
    }

    /// All tags are free, the lowest first.
    fn free_all(&mut self) {
        (self.free, self.room) = (NONE, 0);
        for tag in (0..self.engine.capacity()).rev() {
            self.engine.chain(tag, self.free);
            self.free = tag;
            self.room += 1;
        }
    }

    /// The least time from a doorbell to the end of a command that is not a read.
    fn horizon(config: &Config, round_trip: Time) -> Time {
        let firmware = config.firmware;
        round_trip + firmware.flush.min(round_trip + firmware.write.min(firmware.trim))
    }

    /// Makes an event of every step, also of those that can be foreseen. The result is the same, later: this is what
    /// the shortcuts are tested against.
    pub fn stepwise(&mut self) {
        (self.stepwise, self.foresees, self.posts_at_once) = (true, false, false);
    }

    /// True if a command that comes now is fetched at once: nothing waits before it and there is room.
    #[inline]
    pub fn at_once(&self) -> bool {
        self.arbiter.waiting() == 0 && self.room > 0 && !self.stepwise
    }

    /// True if commands wait to be fetched.
    #[inline]
    pub fn waits(&self) -> bool {
        self.arbiter.waiting() > 0
    }

    /// The host has written the submission queue's tail doorbell.
    #[inline]
    pub fn doorbell(&mut self, queue: u16, tail: u16) {
        assert!(tail < self.depth, "a doorbell value of {tail} for a queue of {} entries", self.depth);
        let pair = &mut self.pairs[queue as usize];
        let new = if tail >= pair.sq_tail { tail - pair.sq_tail } else { tail + (self.depth - pair.sq_tail) };
        pair.sq_tail = tail;
        debug_assert!(self.arbiter.pending(queue) + u32::from(new) < u32::from(self.depth), "queue {queue} overflows");
        self.arbiter.add(queue, u32::from(new));
    }

    /// The next entries to read, if any wait and there is room for them.
    #[inline]
    pub fn fetch(&mut self) -> Option<Fetch> {
        let room = self.room.min(self.fetch_burst);
        let (queue, count) = self.arbiter.next(room)?;
        let pair = &mut self.pairs[queue as usize];
        let index = pair.sq_head;
        let head = u32::from(index) + count;
        let depth = u32::from(self.depth);
        pair.sq_head = (if head >= depth { head - depth } else { head }) as u16;
        Some(Fetch { queue, index, count: count as u16 })
    }

    /// Instead of [`doorbell`](Self::doorbell), [`fetch`](Self::fetch) and [`admit`](Self::admit), where a command
    /// comes [`at_once`](Self::at_once): its entry arrives at `at`; it is `cid` and asks `request`. It is gone from its
    /// queue before anybody looks at the queue's indices, which stay. `first` says that no entry that is not known yet
    /// can arrive earlier.
    ///
    /// If so, and if no other work of the processors can come before it, it is decoded on the spot. If then nothing else
    /// happens before that is done, and `looks_ahead`, it goes to the translation layer: its tag and the time are returned.
    #[inline(always)]
    pub fn admit_one(
        &mut self,
        queue: u16,
        at: Time,
        first: bool,
        (cid, request): (u16, &Request),
        looks_ahead: bool,
        s: &mut impl Schedule<Event>,
    ) -> Option<(u16, Time)> {
        if first && self.undecoded == 0 && self.foresees && self.list(request) == 0 {
            let decoded = self.engine.decodes(at, request, s);
            if looks_ahead && s.skip_to(decoded) {
                return Some((self.take(queue, cid, request, true), decoded));
            }
            let tag = self.take(queue, cid, request, false);
            self.engine.decoded_at(tag, decoded, s);
        } else {
            let tag = self.take(queue, cid, request, false);
            self.undecoded += 1;
            s.at(FETCHED, at, Event::Fetched(tag));
        }
        None
    }

    /// The entries of `fetch` arrive at `at`; `entry` reads one: its number and what it asks.
    pub fn admit(
        &mut self,
        fetch: Fetch,
        at: Time,
        entry: impl Fn(u16) -> (u16, Request),
        s: &mut impl Schedule<Event>,
    ) {
        let (mut first, mut last, mut place) = (NONE, NONE, fetch.index);
        for _ in 0..fetch.count {
            let (cid, request) = entry(place);
            let tag = self.take(fetch.queue, cid, &request, false);
            if first == NONE {
                first = tag;
            } else {
                self.engine.chain(last, tag);
            }
            last = tag;
            place = if place + 1 == self.depth { 0 } else { place + 1 };
        }
        self.undecoded += u32::from(fetch.count);
        s.at(FETCHED, at, Event::Fetched(first));
    }

    /// Gives a command a tag; if it `runs`, it is decoded already.
    #[inline(always)]
    fn take(&mut self, queue: u16, cid: u16, request: &Request, runs: bool) -> u16 {
        let tag = self.free;
        self.room -= 1;
        self.free = self.engine.admit(tag, queue, cid, request, runs);
        self.others += u32::from(request.op != Op::Read);
        tag
    }

    /// Bytes of the list that a command points to: addresses of its data, ranges to trim.
    #[inline(always)]
    fn list(&self, request: &Request) -> u32 {
        if request.bytes <= self.unlisted && request.op != Op::Trim { 0 } else { self.long_list(*request) }
    }

    #[cold]
    fn long_list(&self, request: Request) -> u32 {
        let bytes = match request.op {
            Op::Trim => request.bytes.div_ceil(RANGE_MAX) * RANGE,
            _ => (request.bytes.div_ceil(self.host_page) - 1) * PAGE_ADDRESS,
        };
        bytes as u32
    }

    /// The command that was fetched after this one, if any, and the bytes of the list that this one points to and that
    /// must be read before it can be decoded.
    #[inline]
    pub fn fetched(&self, tag: u16) -> (Option<u16>, u32) {
        let command = self.engine.command(tag);
        ((command.next != NONE).then_some(command.next), self.list(&command.request))
    }

    /// The list of the command arrives at `at`.
    pub fn listed(&mut self, tag: u16, at: Time, s: &mut impl Schedule<Event>) {
        s.at(FETCHED, at, Event::Listed(tag));
    }

    /// All of the command is here. True if it goes to the translation layer at once; else [`Event::Decoded`] follows.
    #[inline]
    pub fn decode(&mut self, now: Time, tag: u16, s: &mut impl Schedule<Event>) -> bool {
        self.undecoded -= 1;
        self.engine.decode(now, tag, s)
    }

    /// The command goes to the translation layer: its queue, its number there and what it asks.
    #[inline(always)]
    pub fn run(&mut self, tag: u16) -> (u16, u16, Request) {
        let command = self.engine.run(tag);
        (command.queue, command.cid, command.request)
    }

    /// `bytes` more of a read's data are to be sent now. Returns the command and when its memory has passed them.
    #[inline(always)]
    pub fn data(&mut self, now: Time, tag: Tag, bytes: u32, s: &mut impl Schedule<Event>) -> (u16, Time) {
        let tag = index(tag);
        (tag, self.engine.stage(now, tag, Op::Read, u64::from(bytes), s))
    }

    /// The read's data that was last to be sent has left at `at`.
    #[inline]
    pub fn sent(&mut self, tag: u16, at: Time) {
        self.engine.sent(tag, at);
    }

    /// A write's data is to be brought now: the command, how many bytes, and when its memory has passed them.
    #[inline]
    pub fn ready(&mut self, now: Time, tag: Tag, s: &mut impl Schedule<Event>) -> (u16, u64, Time) {
        let tag = index(tag);
        let bytes = self.engine.command(tag).request.bytes;
        (tag, bytes, self.engine.stage(now, tag, Op::Write, bytes, s))
    }

    /// A write's data is in the controller at `at`.
    #[inline]
    pub fn arrives(&mut self, tag: u16, at: Time, s: &mut impl Schedule<Event>) {
        s.at(ARRIVED, at, Event::Arrived(tag));
    }

    /// The translation layer is done. Returns the command and when its completion is to be posted, if that is to be
    /// done on the spot; else [`Event::Ended`] follows.
    ///
    /// A completion that is due later is posted on the spot where nothing can come before it: only reads are in the
    /// controller, whose data leaves in order; nothing else that is not here yet can end before; and nobody waits for
    /// the tag.
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
        if self.foresees_end(now, end) {
            return Some((tag, end));
        }
        self.ends_at(tag, end, s);
        None
    }

    /// [`sent`](Self::sent) and [`complete`](Self::complete) in one: the read's data that was last to be sent has left
    /// at `at`, and the translation layer is done. Returns when the command ends: its completion is to be posted on the
    /// spot if that [is foreseen](Self::foresees_end), or else then, by an event if need be ([`ends_at`](Self::ends_at)).
    #[inline(always)]
    pub fn finish(&mut self, now: Time, tag: u16, at: Time, status: Status, s: &mut impl Schedule<Event>) -> Time {
        self.engine.finish(now, tag, at, status, s)
    }

    /// Nothing delays the end of a read behind its data: no memory of the controller, no firmware.
    #[inline(always)]
    pub fn is_direct(&self) -> bool {
        self.engine.is_direct()
    }

    /// [`data`](Self::data) and [`finish`](Self::finish) in one, where that [is direct](Self::is_direct): the last `bytes` of a
    /// read's data have left at `at`. Returns the command, and when it ends.
    #[inline(always)]
    pub fn deliver(&mut self, now: Time, tag: Tag, bytes: u32, at: Time, status: Status) -> (u16, Time) {
        let tag = index(tag);
        (tag, self.engine.deliver(now, tag, u64::from(bytes), at, status))
    }

    /// True if the completion of a command that ends at `end` is to be posted on the spot.
    #[inline(always)]
    pub fn foresees_end(&self, now: Time, end: Time) -> bool {
        let foreseen = || self.others == 0 && self.unposted == 0 && self.foresees && self.room >= self.room_half;
        end == now || (end <= now + self.horizon && foreseen())
    }

    /// The command ends at `end`, which is an event: [`Event::Ended`] follows.
    #[inline(always)]
    pub fn ends_at(&mut self, tag: u16, end: Time, s: &mut impl Schedule<Event>) {
        self.unposted += 1;
        self.engine.end_at(tag, end, s);
    }

    /// The time to post the command's completion has come.
    pub fn ended(&mut self) {
        self.unposted -= 1;
    }

    /// The command's completion is posted at `at`, now or soon, and its tag is free.
    #[inline(always)]
    pub fn release(&mut self, at: Time, tag: u16, s: &mut impl Schedule<Event>) -> Ended {
        let command = self.engine.release(tag);
        let (queue, cid, status) = (command.queue, command.cid, command.status);
        command.next = self.free;
        self.free = tag;
        self.room += 1;
        self.others -= u32::from(command.request.op != Op::Read);
        let interrupt = self.interrupts_each || (self.interrupts && self.tell(at, queue, s));
        self.interrupts_sent += u64::from(interrupt);
        Ended { queue, cid, status, interrupt }
    }

    /// True if completions may be taken by the host without a look at the completion queue, where it is empty.
    #[inline]
    pub fn posts_at_once(&self) -> bool {
        self.posts_at_once
    }

    /// The completion queue entry of a command that has ended, and its place.
    pub fn post(&mut self, queue: u16, cid: u16, status: Status) -> (u16, Completion) {
        let pair = &mut self.pairs[queue as usize];
        let place = pair.cq_tail;
        let entry = Completion { cid, sq_head: pair.sq_head, phase: pair.phase, status };
        pair.cq_tail += 1;
        if pair.cq_tail == self.depth {
            pair.cq_tail = 0;
            pair.phase = !pair.phase;
        }
        assert!(pair.cq_tail != pair.cq_head, "completion queue {queue} overflows");
        (place, entry)
    }

    /// Counts a completion. True if an interrupt is due.
    fn tell(&mut self, at: Time, queue: u16, s: &mut impl Schedule<Event>) -> bool {
        let Some(Coalescing { threshold, time }) = self.coalescing else { return true };
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

    /// The aggregation time that began in `epoch` is over. True if an interrupt is due.
    pub fn coalesced(&mut self, queue: u16, epoch: u16) -> bool {
        let pair = &mut self.pairs[queue as usize];
        let due = pair.epoch == epoch && pair.untold > 0;
        if due {
            pair.untold = 0;
            pair.epoch = pair.epoch.wrapping_add(1);
            self.interrupts_sent += 1;
        }
        due
    }

    /// The host has written the completion queue's head doorbell. If it has seen everything, no interrupt is owed.
    #[inline]
    pub fn seen(&mut self, queue: u16, head: u16) {
        let pair = &mut self.pairs[queue as usize];
        pair.cq_head = head;
        if head == pair.cq_tail && pair.untold > 0 {
            pair.untold = 0;
            pair.epoch = pair.epoch.wrapping_add(1);
        }
    }

    /// Interrupts sent so far.
    pub fn interrupts_sent(&self) -> u64 {
        self.interrupts_sent
    }

    /// Entries of the submission queue that the controller knows of and has not fetched.
    pub fn unfetched(&self, queue: u16) -> u32 {
        self.arbiter.pending(queue)
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

    /// Commands, queues and doorbells are gone; the queues are created anew, empty.
    pub fn power_cut(&mut self, now: Time) {
        self.engine.power_cut(now);
        self.pairs.fill(EMPTY);
        self.arbiter.clear();
        self.free_all();
        (self.undecoded, self.unposted, self.others) = (0, 0, 0);
    }
}
