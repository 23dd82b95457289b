//! A kernel that manages memory as Linux does, as far as a program that faults or reads files feels it: page cache and swap,
//! reclaim from an active and an inactive list, on-demand readahead, clusters of swap, write-back and fsync.
//!
//! Each step costs processor time of its own, with a spread ([`Cost`]); a thread pays for what it does itself, and waits for
//! what others do. Reclaim and write-back in the background are another core's. Not modelled: locks that threads contend
//! for, other work for a core whose thread waits, huge pages.
//!
//! [`Linux`] is a state machine: the processor calls it as its [`Kernel`], it says what it wants of the drive
//! ([`Linux::commands`]) and is told when that is done ([`Linux::done`]).

mod call;
mod config;
mod fault;
mod frames;
mod io;
pub mod readahead;
mod reclaim;
mod resident;
mod swap;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use media::{Act, Step};
use sim::{Histogram, Rng, Streams, Time};

use crate::cpu::{Effects, Kernel, PAGE};
pub use config::{Cost, LinuxConfig};
use frames::{CACHED, DIRTY, Frames, LOCKED, MAPPED, REFERENCED};
use io::Io;
use readahead::ReadAhead;
pub use resident::Resident;
use swap::Swap;

/// What an area of virtual memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AreaKind {
    /// The program's own: swapped.
    Anonymous,
    /// A file, mapped.
    Mapped,
    /// A file that is read and written by calls.
    File,
}

/// Virtual memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Its first page.
    pub first: u64,
    /// Its pages.
    pub pages: u64,
    /// What it is.
    pub kind: AreaKind,
}

/// What the kernel asks of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its number; no two under way have the same.
    pub id: u32,
    /// What.
    pub op: media::Op,
    /// The first page of the drive.
    pub page: u64,
    /// How many; zero for a flush.
    pub pages: u32,
}

/// What it did.
#[derive(Clone, Debug, Default)]
pub struct LinuxStats {
    /// Faults that waited for the drive.
    pub major_faults: u64,
    /// Other faults.
    pub minor_faults: u64,
    /// Calls.
    pub calls: u64,
    /// Pages read of files, and of the swap area.
    pub pages_read: u64,
    /// Of the swap area.
    pub pages_swapped_in: u64,
    /// Pages written.
    pub pages_written: u64,
    /// To the swap area.
    pub pages_swapped_out: u64,
    /// Commands to the drive.
    pub commands: u64,
    /// From a major fault to its end.
    pub access: Histogram,
    /// From the doorbell to the interrupt, of the commands that major faults waited for.
    pub hardware: Histogram,
}

/// What a page is in: a frame's number, or
const ABSENT: u32 = u32::MAX;
/// in its file alone, or
const ON_FILE: u32 = u32::MAX - 1;
/// with a slot's number, in the swap area alone.
const SWAPPED: u32 = 1 << 31;

/// What a thread is doing here.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Nothing,
    Fault { page: u64, store: bool, since: Time, slept: bool },
    Call { write: bool, next: u64, end: u64, partial: bool },
    Sync { phase: u8, left: u32 },
}

#[derive(Clone, Debug)]
struct Caller {
    doing: Doing,
    /// The drive's time of what it waited for last.
    hardware: Option<Time>,
    readahead: ReadAhead,
    /// First page of the file that it has opened.
    opened: u64,
    /// Pages that it changed since its last sync.
    dirtied: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A command is handed to the drive.
    Submit(u32),
    /// The software has noticed a command's end.
    Ended(u32),
    /// A thread goes on.
    Go(u16),
}

/// The kernel.
pub struct Linux {
    config: LinuxConfig,
    rng: Rng,
    areas: Vec<Area>,
    places: Vec<u32>,
    frames: Frames,
    swap: Swap,
    callers: Vec<Caller>,
    /// Threads that wait for a free frame, and for fewer dirty pages.
    starved: u64,
    throttled: u64,
    /// Frames to be freed when they are written.
    reclaiming: u32,
    /// Dirty pages of files, and the order in which they became so.
    dirty: u32,
    dirtied: VecDeque<u32>,
    /// Misses of mapped files less hits.
    mapped_misses: u32,
    ios: Vec<Io>,
    free_ios: Vec<u32>,
    journal: u64,
    agenda: BinaryHeap<Reverse<(Time, u64, Event)>>,
    order: u64,
    now: Time,
    /// The thread that asked for something last.
    running: u16,
    /// When each vector's core is done with what has ended.
    vectors: Vec<Time>,
    stats: LinuxStats,
    /// For the processor and memory.
    pub effects: Effects,
    /// For the drive, now.
    pub commands: Vec<Command>,
}

/// Pages of the journal, behind the swap area.
const JOURNAL: u64 = 1024;

impl Linux {
    /// A kernel with empty memory, for `threads` threads in these areas, which begin at page 0. All of files, and nothing of
    /// anonymous memory, is on the drive.
    pub fn new(config: LinuxConfig, areas: Vec<Area>, threads: u16, streams: &Streams) -> Linux {
        let pages = areas.iter().map(|area| area.first + area.pages).max().unwrap_or(0);
        let mut places = vec![ABSENT; pages as usize];
        for area in areas.iter().filter(|area| area.kind != AreaKind::Anonymous) {
            places[area.first as usize..(area.first + area.pages) as usize].fill(ON_FILE);
        }
        let caller = Caller {
            doing: Doing::Nothing,
            hardware: None,
            readahead: ReadAhead::default(),
            opened: 0,
            dirtied: Vec::new(),
        };
        Linux {
            rng: streams.stream("host.linux"),
            frames: Frames::new(config.frames),
            swap: Swap::new(pages as u32 + config.frames),
            callers: vec![caller; usize::from(threads)],
            config,
            areas,
            places,
            starved: 0,
            throttled: 0,
            reclaiming: 0,
            dirty: 0,
            dirtied: VecDeque::new(),
            mapped_misses: 0,
            ios: Vec::new(),
            free_ios: Vec::new(),
            journal: 0,
            agenda: BinaryHeap::new(),
            order: 0,
            now: Time::ZERO,
            running: 0,
            vectors: vec![Time::ZERO; usize::from(config.vectors)],
            stats: LinuxStats::default(),
            effects: Effects::default(),
            commands: Vec::new(),
        }
    }

    /// Pages that the drive must have: those of files and programs, the swap area, the journal.
    pub fn drive_pages(&self) -> u64 {
        self.journal_first() + JOURNAL
    }

    fn swap_first(&self) -> u64 {
        self.places.len() as u64
    }

    fn journal_first(&self) -> u64 {
        2 * self.swap_first() + u64::from(self.config.frames)
    }

    /// What it did.
    pub fn stats(&self) -> &LinuxStats {
        &self.stats
    }

    /// What was done so far is not to be counted.
    pub fn reset_stats(&mut self) {
        self.stats = LinuxStats::default();
    }

    /// Anonymous memory from page `first` on was written before, from its beginning to its end: the last of it is in memory, and
    /// the rest in the swap area, in the order in which it went there.
    pub fn was_written(&mut self, first: u64, pages: u64) {
        let (_, high) = self.config.watermarks();
        for page in first..first + pages {
            assert_eq!(self.places[page as usize], ABSENT, "page {page:#x} was written before");
            if self.frames.free() <= high {
                let Some(frame) = self.frames.oldest(false) else { break };
                let old = self.frames.get(frame).page;
                let slot = self.swap.take(old);
                self.places[old as usize] = SWAPPED | slot;
                self.frames.release(frame);
            }
            let frame = self.frames.take(page as u32, MAPPED | DIRTY).expect("more are free");
            self.places[page as usize] = frame;
        }
    }

    /// Pages from `first` on were allocated, and never written: nothing of them is to be read from the drive.
    pub fn is_allocated(&mut self, first: u64, pages: u64) {
        self.places[first as usize..(first + pages) as usize].fill(ABSENT);
    }

    /// When it has something to do next.
    pub fn next_event(&self) -> Option<Time> {
        self.agenda.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Comes to `now`.
    pub fn advance(&mut self, now: Time) {
        self.now = now;
        while let Some(Reverse((at, _, event))) = self.agenda.peek().copied()
            && at <= now
        {
            self.agenda.pop();
            match event {
                Event::Submit(io) => self.hand_over(at, io),
                Event::Ended(io) => self.ended(at, io),
                Event::Go(thread) => {
                    if let Some(at) = self.go(thread, at) {
                        self.effects.resumed.push((thread, at));
                    }
                }
            }
        }
    }

    fn at(&mut self, when: Time, event: Event) {
        self.order += 1;
        self.agenda.push(Reverse((when, self.order, event)));
    }

    fn area(&self, page: u64) -> AreaKind {
        let area = self.areas.iter().find(|area| (area.first..area.first + area.pages).contains(&page));
        area.unwrap_or_else(|| panic!("page {page:#x} is in no area")).kind
    }

    /// Threads of a mask go on once they are switched to.
    fn wake(&mut self, now: Time, mask: u64) {
        for thread in 0..self.callers.len() as u16 {
            if mask & 1 << thread != 0 {
                let at = now + self.config.wake.draw(&mut self.rng);
                self.at(at, Event::Go(thread));
            }
        }
    }

    /// A thread goes on with what it does; when it is done with it, or `None` if it waits.
    fn go(&mut self, thread: u16, at: Time) -> Option<Time> {
        self.running = thread;
        let done = match self.callers[usize::from(thread)].doing {
            Doing::Nothing => unreachable!("thread {thread} does nothing here"),
            Doing::Fault { .. } => self.go_on_fault(thread, at),
            Doing::Call { .. } => self.go_on_call(thread, at),
            Doing::Sync { .. } => self.go_on_sync(thread, at),
        };
        if done.is_some() {
            self.callers[usize::from(thread)].doing = Doing::Nothing;
        }
        done
    }
}

impl Kernel for Linux {
    fn translate(&mut self, _: u16, page: u64, store: bool) -> Option<u64> {
        let place = self.places[page as usize];
        if place >= SWAPPED {
            return None;
        }
        let frame = self.frames.get_mut(place);
        if frame.flags & MAPPED != 0 {
            frame.flags |= REFERENCED | if store { DIRTY } else { 0 };
            return Some(u64::from(place));
        }
        (frame.flags & (CACHED | LOCKED) == CACHED).then_some(u64::from(place))
    }

    fn fault(&mut self, now: Time, thread: u16, page: u64, store: bool) -> Option<Time> {
        self.now = now;
        let caller = &mut self.callers[usize::from(thread)];
        caller.doing = Doing::Fault { page, store, since: now, slept: false };
        caller.hardware = None;
        let at = now + self.config.fault.draw(&mut self.rng);
        self.go(thread, at)
    }

    fn call(&mut self, now: Time, thread: u16, step: &Step) -> Option<Time> {
        self.now = now;
        self.stats.calls += 1;
        let at = now + self.config.call.draw(&mut self.rng);
        let (first, bytes) = (step.address / PAGE, u64::from(step.bytes));
        let caller = &mut self.callers[usize::from(thread)];
        if step.act == Act::Sync {
            caller.doing = Doing::Sync { phase: 0, left: 0 };
            return self.go(thread, at);
        }
        if bytes == 0 {
            // A file is opened, or closed: who reads it next begins anew.
            (caller.readahead, caller.opened) = (ReadAhead::default(), first);
            return Some(at);
        }
        let (write, end) = (step.act == Act::Write, (step.address + bytes).div_ceil(PAGE));
        let partial = write && !step.address.is_multiple_of(PAGE);
        caller.doing = Doing::Call { write, next: first, end, partial };
        self.go(thread, at)
    }
}
