//! A machine with a OneNAND, on-chip SRAM and a paging policy, in virtual time.
//!
//! A program requests one line after another. The operations of the policy for a request (loads, moves, discards, a
//! read) are executed in order, one after another. With `host.paging.overlap`, moves proceed in the background while
//! the array loads another page and while the program reads from SRAM. A load still waits for a free buffer, and a read
//! waits for its page and, in a buffer, for the bus. Each operation therefore occurs as often as without overlap,
//! starts no later, and consumes the same energy.

use std::collections::VecDeque;

use device::{OneNand, OneNandConfig};
use host::{Sram, SramConfig};
use media::{Class, OpId, PageAddr, PlaneMask, ReadOp};
use nand::{Nand, PayloadKind};
use pager::policy::{Lines, Online};
use pager::{Cost, Costs, Counts, Memory, Weights};
use sim::{Energy, EventQueue, Lane, Schedule, Streams, Time, Timeline, Track};

use system::System;
use system::parts;

/// An operation of the policy for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Load(u32),
    Move(u32),
    DiscardFromBuffer(u32),
    DiscardFromSram(u32),
    ReadBuffer(u32),
    ReadSram(u32),
}

#[derive(Default)]
struct Steps(Vec<Step>);

impl Memory for Steps {
    fn load(&mut self, page: u32) {
        self.0.push(Step::Load(page));
    }
    fn move_to_sram(&mut self, page: u32) {
        self.0.push(Step::Move(page));
    }
    fn discard_from_buffer(&mut self, page: u32) {
        self.0.push(Step::DiscardFromBuffer(page));
    }
    fn discard_from_sram(&mut self, page: u32) {
        self.0.push(Step::DiscardFromSram(page));
    }
    fn read_buffer(&mut self, page: u32) {
        self.0.push(Step::ReadBuffer(page));
    }
    fn read_sram(&mut self, page: u32) {
        self.0.push(Step::ReadSram(page));
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Event {
    Flash(nand::Event),
    /// The completion of what the program waits for: a line fetch or a move.
    #[default]
    Program,
    /// The end of the current move, unless it was delayed meanwhile.
    Moved,
}

const PROGRAM: Lane = Lane(Nand::LANES as u8);
const MOVED: Lane = Lane(PROGRAM.0 + 1);

struct World {
    queue: EventQueue<Event>,
    events: u64,
    timeline: Option<Box<Timeline>>,
}

impl Schedule<nand::Event> for World {
    fn at(&mut self, lane: Lane, when: Time, event: nand::Event) {
        self.queue.push(lane, when, Event::Flash(event));
    }
    fn span(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        self.note(Track(FLASH + track.0), name, from, to);
    }
}

/// Tracks of the timeline.
const BUS: Track = Track(0);
const PORT: Track = Track(1);
const FLASH: u32 = 2;

impl World {
    fn note(&mut self, track: Track, name: &'static str, from: Time, to: Time) {
        if let Some(timeline) = &mut self.timeline {
            timeline.span(track, name, from, to);
        }
    }
}

/// The configuration of a paging machine.
#[derive(Clone, Debug)]
pub struct PagingParts {
    /// The flash array.
    pub nand: nand::Config,
    /// The OneNAND buffers and bus.
    pub onenand: OneNandConfig,
    /// The SRAM frames.
    pub sram: SramConfig,
    /// The requests of the instruction cache.
    pub lines: Lines,
}

impl PagingParts {
    /// Returns the parts of `system`.
    ///
    /// # Panics
    /// If the system has no OneNAND; callers must check first.
    pub fn new(system: &System) -> PagingParts {
        assert_eq!(system.link.kind, system::LinkType::OneNand, "expected a OneNAND link");
        PagingParts {
            nand: parts::flash(system, system.geometry(), PayloadKind::None, 0),
            onenand: system.onenand,
            sram: system.sram,
            lines: system.paging.lines,
        }
    }

    /// Returns the number of SRAM frames.
    pub fn frames(&self) -> u32 {
        self.sram.frames(self.page_bytes())
    }

    /// Returns the cost of one operation of each kind without overlap, measured by executing each once on the parts.
    pub fn costs(&self) -> Costs {
        let page = self.page_bytes();
        let read = |bytes| {
            let mut onenand = OneNand::new(&self.onenand);
            let time = onenand.burst(bytes);
            Cost { time, energy: onenand.energy() }
        };
        let sram = |bytes| {
            let mut sram = Sram::new(&self.sram, page);
            let time = sram.access(bytes);
            Cost { time, energy: sram.energy() }
        };
        let (out, into) = (read(page), sram(page));
        Costs {
            flash_to_buffer: self.load(),
            buffer_to_sram: Cost { time: out.time + into.time, energy: out.energy + into.energy },
            buffer_read: read(self.lines.bytes),
            sram_read: sram(self.lines.bytes),
        }
    }

    fn page_bytes(&self) -> u64 {
        u64::from(self.nand.geometry.page_bytes)
    }

    /// Returns the cost of a load by an idle array.
    fn load(&self) -> Cost {
        let mut nand = Nand::new(&self.nand, &Streams::new(0));
        let mut world = World { queue: EventQueue::new(MOVED.0 as usize + 1), events: 0, timeline: None };
        nand.submit_read(Time::ZERO, self.read(0), &mut world);
        loop {
            let (now, event) = world.queue.pop().expect("a read ends");
            if let Event::Flash(event) = event
                && nand.handle(now, event, &mut world).is_some()
            {
                return Cost { time: now, energy: nand.energy(now).total() };
            }
        }
    }

    /// Returns the read of an image page; the image is stored page after page in the array.
    fn read(&self, page: u32) -> ReadOp {
        let geometry = &self.nand.geometry;
        let (block, inside) = (page / geometry.pages, page % geometry.pages);
        let (plane, block) = (block % geometry.planes, block / geometry.planes);
        let (die, block) = (block % geometry.all_dies(), block / geometry.all_dies());
        ReadOp {
            id: OpId(0),
            page: PageAddr { die: die as u16, planes: PlaneMask(1 << plane), block, page: inside },
            bytes: geometry.page_bytes,
            class: Class::Host,
        }
    }

    /// Returns the number of pages in the array.
    pub fn pages(&self) -> u64 {
        (self.nand.geometry.bytes() / u128::from(self.nand.geometry.page_bytes)) as u64
    }
}

/// The current move. `end` is postponed when the move is delayed.
#[derive(Clone, Copy, Debug)]
struct Moving {
    page: u32,
    begun: Time,
    end: Time,
}

/// The memory of a program.
pub struct OneNandMachine {
    parts: PagingParts,
    world: World,
    nand: Nand,
    onenand: OneNand,
    sram: Sram,
    policy: Online,
    steps: Steps,
    /// The page that the array is loading.
    loading: Option<u32>,
    /// Pages waiting to be moved, in order; used only with `overlap`.
    moves: VecDeque<u32>,
    /// The current move.
    moving: Option<Moving>,
    /// Counts of the executed operations.
    counts: Counts,
    /// Loads that remained uncorrectable after all retries; the program receives the data as they are.
    lost: u64,
}

impl OneNandMachine {
    /// Creates an idle machine. `policy` must have the same numbers of frames and buffers as `parts`.
    pub fn new(parts: PagingParts, policy: Online, streams: &Streams) -> OneNandMachine {
        OneNandMachine {
            world: World { queue: EventQueue::new(MOVED.0 as usize + 1), events: 0, timeline: None },
            nand: Nand::new(&parts.nand, streams),
            onenand: OneNand::new(&parts.onenand),
            sram: Sram::new(&parts.sram, parts.page_bytes()),
            policy,
            parts,
            steps: Steps::default(),
            loading: None,
            moves: VecDeque::new(),
            moving: None,
            counts: Counts::default(),
            lost: 0,
        }
    }

    /// Creates the policy named by `system`.
    pub fn policy(system: &System, parts: &PagingParts) -> Online {
        let paging = &system.paging;
        let weights = Weights::time(&parts.costs());
        let policy = Online::new(paging.name(), parts.frames(), parts.onenand.buffers, paging.reading, &weights);
        policy.expect("systems name online policies")
    }

    /// Records a timeline of at most `limit` spans from now on.
    pub fn keep_timeline(&mut self, limit: usize) {
        let mut timeline = Timeline::new(limit);
        timeline.add_track("link", "bus");
        timeline.add_track("host", "SRAM");
        for (part, name) in self.nand.tracks() {
            timeline.add_track(&part, &name);
        }
        self.world.timeline = Some(Box::new(timeline));
    }

    /// Returns the timeline, if one is recorded.
    pub fn timeline(&self) -> Option<&Timeline> {
        self.world.timeline.as_deref()
    }

    /// Returns the time of the last event.
    pub fn now(&self) -> Time {
        self.world.queue.now()
    }

    /// Makes room for pages `0..pages` of the program.
    pub fn grow(&mut self, pages: u32) {
        self.policy.grow(pages);
    }

    /// Fetches a line of `page` for the program. Returns the time at which the program receives it.
    pub fn request(&mut self, page: u32) -> Time {
        self.steps.0.clear();
        self.policy.request(page, &mut self.steps);
        for number in 0..self.steps.0.len() {
            let step = self.steps.0[number];
            if self.parts.lines.overlap { self.overlapped(step) } else { self.sequential(step) }
        }
        self.now()
    }

    // -- without overlap

    fn sequential(&mut self, step: Step) {
        let now = self.now();
        match step {
            Step::Load(page) => {
                self.load(page);
                self.run_until(|machine| machine.loading.is_none());
            }
            Step::Move(page) => {
                let bytes = self.parts.page_bytes();
                let out = self.onenand.burst(bytes);
                let both = out + self.sram.access(bytes);
                self.world.note(BUS, "move", now, now + both);
                self.wait(both);
                self.end_move(page);
            }
            Step::DiscardFromBuffer(page) => self.onenand.discard(page),
            Step::DiscardFromSram(page) => self.sram.discard(page),
            Step::ReadBuffer(page) => self.read_buffer(page),
            Step::ReadSram(page) => self.read_sram(page),
        }
    }

    // -- with overlap

    fn overlapped(&mut self, step: Step) {
        match step {
            Step::Load(page) => {
                // A page that the policy has moved may still be in its buffer.
                self.run_until(|machine| machine.onenand.has_free_buffer());
                self.load(page);
            }
            Step::Move(page) => {
                self.moves.push_back(page);
                self.begin_move();
            }
            Step::DiscardFromBuffer(page) => self.onenand.discard(page),
            Step::DiscardFromSram(page) => {
                self.run_until(|machine| machine.sram.holds(page));
                self.sram.discard(page);
            }
            Step::ReadBuffer(page) => {
                self.run_until(|machine| machine.onenand.is_ready(page) && machine.moving.is_none());
                self.read_buffer(page);
            }
            Step::ReadSram(page) => {
                self.run_until(|machine| machine.sram.holds(page));
                self.read_sram(page);
            }
        }
    }

    /// Starts the first pending move if its page is loaded and the bus is free.
    fn begin_move(&mut self) {
        let Some(&page) = self.moves.front() else { return };
        if self.moving.is_none() && self.onenand.is_ready(page) {
            self.moves.pop_front();
            let bytes = self.parts.page_bytes();
            let out = self.onenand.burst(bytes);
            let end = self.now() + out + self.sram.access(bytes);
            self.moving = Some(Moving { page, begun: self.now(), end });
            self.world.queue.push(MOVED, end, Event::Moved);
        }
    }

    fn end_move(&mut self, page: u32) {
        self.onenand.discard(page);
        self.sram.put(page);
        self.counts.buffer_to_sram += 1;
    }

    /// Delays the current move: an SRAM access of the program takes precedence on the shared port.
    fn hold_up(&mut self, by: Time) {
        if let Some(moving) = &mut self.moving {
            moving.end += by;
        }
    }

    // -- common

    fn load(&mut self, page: u32) {
        assert!(self.loading.is_none(), "the array loads one page at a time");
        self.onenand.load(page);
        self.loading = Some(page);
        let now = self.now();
        self.nand.submit_read(now, self.parts.read(page), &mut self.world);
        self.counts.flash_to_buffer += 1;
    }

    fn read_buffer(&mut self, page: u32) {
        assert!(self.onenand.is_ready(page), "page {page} is read from a buffer but is not in one");
        let time = self.onenand.burst(self.parts.lines.bytes);
        self.counts.buffer_reads += 1;
        let now = self.now();
        self.world.note(BUS, "fetch", now, now + time);
        self.wait(time);
    }

    fn read_sram(&mut self, page: u32) {
        assert!(self.sram.holds(page), "page {page} is read from SRAM but is not there");
        let time = self.sram.access(self.parts.lines.bytes);
        self.hold_up(time);
        self.counts.sram_reads += 1;
        let now = self.now();
        self.world.note(PORT, "fetch", now, now + time);
        self.wait(time);
    }

    /// Advances the program by `time`.
    fn wait(&mut self, time: Time) {
        let now = self.now();
        self.world.queue.push(PROGRAM, now + time, Event::Program);
        while self.handle() != Event::Program {}
    }

    fn run_until(&mut self, mut holds: impl FnMut(&OneNandMachine) -> bool) {
        while !holds(self) {
            self.handle();
        }
    }

    /// Handles the next event.
    fn handle(&mut self) -> Event {
        let (now, event) = self.world.queue.pop().expect("a pending operation has an event");
        self.world.events += 1;
        match event {
            Event::Program => {}
            Event::Flash(flash) => {
                if let Some(done) = self.nand.handle(now, flash, &mut self.world) {
                    self.lost += u64::from(!done.status.is_ok());
                    let page = self.loading.take().expect("a read that ends was a load");
                    self.onenand.loaded(page);
                    self.begin_move();
                }
            }
            Event::Moved => {
                let Moving { page, begun, end } = self.moving.expect("a move that ends was under way");
                if end > now {
                    self.world.queue.push(MOVED, end, Event::Moved);
                } else {
                    self.world.note(BUS, "move", begun, end);
                    self.moving = None;
                    self.end_move(page);
                    self.begin_move();
                }
            }
        }
        event
    }

    /// Completes all pending operations.
    pub fn finish(&mut self) {
        self.run_until(|machine| machine.moving.is_none() && machine.moves.is_empty() && machine.loading.is_none());
    }

    // -- results

    /// Returns the counts of the executed operations.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the number of uncorrectable page loads.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the number of handled events.
    pub fn events(&self) -> u64 {
        self.world.events
    }

    /// Returns the flash array.
    pub fn nand(&self) -> &Nand {
        &self.nand
    }

    /// Returns the buffers and their bus.
    pub fn onenand(&self) -> &OneNand {
        &self.onenand
    }

    /// Returns the SRAM.
    pub fn sram(&self) -> &Sram {
        &self.sram
    }

    /// Returns the total energy so far.
    pub fn energy(&self) -> Energy {
        self.nand.energy(self.now()).total() + self.onenand.energy() + self.sram.energy()
    }
}
