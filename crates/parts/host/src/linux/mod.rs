//! A kernel that manages memory like Linux, as seen by programs that fault or read files: page cache and swap, reclaim
//! from an active and an inactive list, on-demand readahead, swap clusters, write-back and fsync.
//!
//! Each step costs processor time with a random spread ([`LinuxConfig`]); a thread pays for its own steps, and waits for
//! those of others. Reclaim runs on one other core, which takes `kernel.page` per evicted page and `kernel.submit` per
//! command, and write-back on another. Not modeled: lock contention between threads, reclaim by a thread that needs a
//! frame, other work on a core whose thread waits, and huge pages.
//!
//! [`Linux`] is a state machine: the processor calls it as its [`Kernel`], it issues commands to the drive
//! ([`Linux::commands`]), and the caller reports their completion ([`Linux::done`]).

mod call;
mod config;
mod fault;
mod frames;
mod io;
pub mod readahead;
mod reclaim;
mod resident;
mod restart;
mod structures;
mod swap;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use media::{Act, Step};
use sim::{Histogram, Rng, Streams, Time};

use crate::cpu::{Effects, Kernel, PAGE};
pub use config::{Fsync, LinuxConfig};
use frames::{CACHED, DIRTY, Frames, LOCKED, MAPPED, REFERENCED};
use io::Io;
use readahead::ReadAhead;
pub use resident::Resident;
pub use structures::{Structures, Touch};
use swap::Swap;

/// The kind of an area of virtual memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AreaKind {
    /// The program's own memory, which is swapped.
    Anonymous,
    /// A mapped file.
    Mapped,
    /// A file that is read and written by system calls.
    File,
}

/// An area of virtual memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// First page.
    pub first: u64,
    /// Number of pages.
    pub pages: u64,
    /// The kind of the area.
    pub kind: AreaKind,
}

/// A command to the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveCommand {
    /// ID of the command, unique among the commands in flight.
    pub id: u32,
    /// The operation.
    pub op: media::Op,
    /// First page on the drive.
    pub page: u64,
    /// Number of pages; zero for a flush.
    pub pages: u32,
}

/// The statistics of the kernel.
#[derive(Clone, Debug, Default)]
pub struct LinuxStats {
    /// Faults that waited for the drive.
    pub major_faults: u64,
    /// Other faults.
    pub minor_faults: u64,
    /// System calls.
    pub calls: u64,
    /// Pages read from files and from the swap area.
    pub pages_read: u64,
    /// Pages read from the swap area.
    pub pages_swapped_in: u64,
    /// Pages written to files and to the swap area.
    pub pages_written: u64,
    /// Pages written to the swap area.
    pub pages_swapped_out: u64,
    /// Commands to the drive.
    pub commands: u64,
    /// Duration of major faults.
    pub access: Histogram,
    /// Duration of fsync and msync.
    pub sync: Histogram,
    /// Time from the doorbell to the interrupt for commands that major faults waited for.
    pub hardware: Histogram,
}

/// Place of a page that is nowhere yet. Other places are frame numbers and the following two.
const ABSENT: u32 = u32::MAX;
/// Place of a page that is only in its file.
const ON_FILE: u32 = u32::MAX - 1;
/// Flag of a place: the page is only in the swap area, in the slot given by the other bits.
const SWAPPED: u32 = 1 << 31;

/// The kernel operation of a thread.
#[derive(Clone, Copy, Debug)]
enum Operation {
    None,
    Fault { page: u64, store: bool, since: Time, slept: bool },
    Call { write: bool, next: u64, end: u64, partial: bool },
    Sync { phase: u8, left: u32 },
}

#[derive(Clone, Debug)]
struct Caller {
    operation: Operation,
    /// The drive's time for the last command that the thread waited for.
    hardware: Option<Time>,
    readahead: ReadAhead,
    /// First page of the file that the thread opened last.
    opened: u64,
    /// Time of the thread's last call, and the page that it named.
    called: Time,
    named: u64,
    /// Pages that the thread has modified since its last sync.
    dirtied: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KernelEvent {
    /// A command needs the lock of the queue.
    Lock(u32),
    /// A command is submitted to the drive.
    Submit(u32),
    /// The software has processed a completion.
    Completed(u32),
    /// A thread continues.
    Continue(u16),
}

/// The state of the kernel.
pub struct Linux {
    config: LinuxConfig,
    rng: Rng,
    areas: Vec<Area>,
    places: Vec<u32>,
    frames: Frames,
    swap: Swap,
    callers: Vec<Caller>,
    /// Threads that wait for a free frame, and threads that wait for fewer dirty pages.
    starved: u64,
    throttled: u64,
    /// Number of frames that will be freed once they are written.
    reclaiming: u32,
    /// Number of dirty file pages, and the order in which they became dirty.
    dirty: u32,
    dirtied: VecDeque<u32>,
    /// Misses minus hits of mapped files.
    mapped_misses: u32,
    ios: Vec<Io>,
    free_ios: Vec<u32>,
    journal: u64,
    agenda: BinaryHeap<Reverse<(Time, u64, KernelEvent)>>,
    order: u64,
    now: Time,
    /// The thread that entered the kernel last.
    running: u16,
    /// Time at which the lock of the queue becomes free.
    locked: Time,
    /// Time at which the core that reclaims pages has finished its work so far.
    reclaimer: Time,
    /// Time at which each vector's core has finished the completions so far.
    vectors: Vec<Time>,
    stats: LinuxStats,
    /// Effects on the processor and memory, for the caller.
    pub effects: Effects,
    /// New commands to the drive, for the caller.
    pub commands: Vec<DriveCommand>,
}

/// Size of the journal in pages; it follows the swap area.
const JOURNAL: u64 = 1024;

impl Linux {
    /// Creates a kernel with `frames` empty page frames for `threads` threads with the given areas, which start at page 0.
    /// The drive has all files, and no anonymous memory.
    pub fn new(config: LinuxConfig, frames: u32, areas: Vec<Area>, threads: u16, streams: &Streams) -> Linux {
        let pages = areas.iter().map(|area| area.first + area.pages).max().unwrap_or(0);
        let mut places = vec![ABSENT; pages as usize];
        for area in areas.iter().filter(|area| area.kind != AreaKind::Anonymous) {
            places[area.first as usize..(area.first + area.pages) as usize].fill(ON_FILE);
        }
        let caller = Caller {
            operation: Operation::None,
            hardware: None,
            readahead: ReadAhead::default(),
            opened: 0,
            called: Time::ZERO,
            named: 0,
            dirtied: Vec::new(),
        };
        Linux {
            rng: streams.stream("host.linux"),
            frames: Frames::new(frames),
            swap: Swap::new(pages as u32 + frames),
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
            locked: Time::ZERO,
            reclaimer: Time::ZERO,
            vectors: vec![Time::ZERO; usize::from(config.vectors)],
            stats: LinuxStats::default(),
            effects: Effects::default(),
            commands: Vec::new(),
        }
    }

    /// Returns the number of pages that the drive must have: for files and programs, the swap area, and the journal.
    pub fn drive_pages(&self) -> u64 {
        self.journal_first() + JOURNAL
    }

    fn swap_first(&self) -> u64 {
        self.places.len() as u64
    }

    fn journal_first(&self) -> u64 {
        2 * self.swap_first() + u64::from(self.frames.total())
    }

    /// Returns the statistics.
    pub fn stats(&self) -> &LinuxStats {
        &self.stats
    }

    /// Resets the statistics.
    pub fn reset_stats(&mut self) {
        self.stats = LinuxStats::default();
    }

    /// Sets up anonymous memory as if it had been written sequentially: the last pages are in memory, and the others in
    /// the swap area, in the order in which they were evicted.
    pub fn was_written(&mut self, first: u64, pages: u64) {
        let (_, high) = self.frames.watermarks();
        for page in first..first + pages {
            assert_eq!(self.places[page as usize], ABSENT, "page {page:#x} was written before");
            if self.frames.free() <= high {
                let Some(frame) = self.frames.oldest(false) else { break };
                let old = self.frames.get(frame).page;
                let slot = self.swap.take(old);
                self.places[old as usize] = SWAPPED | slot;
                self.frames.release(frame);
            }
            let frame = self.frames.take(page as u32, MAPPED | DIRTY).expect("a frame is free");
            self.places[page as usize] = frame;
        }
    }

    /// Marks pages as allocated but never written, so that they are not read from the drive.
    pub fn is_allocated(&mut self, first: u64, pages: u64) {
        self.places[first as usize..(first + pages) as usize].fill(ABSENT);
    }

    /// Returns the time of the next event.
    pub fn next_event(&self) -> Option<Time> {
        self.agenda.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Processes events up to `now`.
    pub fn advance(&mut self, now: Time) {
        self.now = now;
        while let Some(Reverse((at, _, event))) = self.agenda.peek().copied()
            && at <= now
        {
            self.agenda.pop();
            match event {
                KernelEvent::Lock(io) => {
                    let at = at.max(self.locked) + self.config.draw(self.config.lock, &mut self.rng);
                    self.locked = at;
                    self.schedule(at, KernelEvent::Submit(io));
                }
                KernelEvent::Submit(io) => self.submit(at, io),
                KernelEvent::Completed(io) => self.completed(at, io),
                KernelEvent::Continue(thread) => {
                    if let Some(at) = self.continue_thread(thread, at) {
                        self.effects.resumed.push((thread, at));
                    }
                }
            }
        }
    }

    fn schedule(&mut self, when: Time, event: KernelEvent) {
        self.order += 1;
        self.agenda.push(Reverse((when, self.order, event)));
    }

    fn area_of(&self, page: u64) -> &Area {
        let area = self.areas.iter().find(|area| (area.first..area.first + area.pages).contains(&page));
        area.unwrap_or_else(|| panic!("page {page:#x} is in no area"))
    }

    fn area(&self, page: u64) -> AreaKind {
        self.area_of(page).kind
    }

    /// Wakes the threads of a mask, which continue after a context switch.
    fn wake(&mut self, now: Time, mask: u64) {
        for thread in 0..self.callers.len() as u16 {
            if mask & 1 << thread != 0 {
                let at = now + self.config.draw(self.config.wake, &mut self.rng);
                self.schedule(at, KernelEvent::Continue(thread));
            }
        }
    }

    /// Continues a thread's operation. Returns when it is finished, or `None` if the thread waits.
    fn continue_thread(&mut self, thread: u16, at: Time) -> Option<Time> {
        self.running = thread;
        let operation = self.callers[usize::from(thread)].operation;
        let done = match operation {
            Operation::None => unreachable!("thread {thread} has no operation"),
            Operation::Fault { .. } => self.continue_fault(thread, at),
            Operation::Call { .. } => self.continue_call(thread, at),
            Operation::Sync { .. } => self.continue_sync(thread, at),
        };
        if let Some(done) = done {
            if matches!(operation, Operation::Sync { .. }) {
                self.stats.sync.record(done - self.callers[usize::from(thread)].called);
            }
            self.callers[usize::from(thread)].operation = Operation::None;
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
        caller.operation = Operation::Fault { page, store, since: now, slept: false };
        caller.hardware = None;
        let at = now + self.config.draw(self.config.fault, &mut self.rng);
        self.continue_thread(thread, at)
    }

    fn call(&mut self, now: Time, thread: u16, step: &Step) -> Option<Time> {
        self.now = now;
        self.stats.calls += 1;
        let at = now + self.config.draw(self.config.call, &mut self.rng);
        let (first, bytes) = (step.address / PAGE, u64::from(step.bytes));
        let caller = &mut self.callers[usize::from(thread)];
        (caller.called, caller.named) = (now, first);
        match step.act {
            Act::Rollback => {
                self.restart();
                return Some(at);
            }
            Act::Permanent => return Some(at),
            _ => {}
        }
        if step.act == Act::Sync {
            caller.operation = Operation::Sync { phase: 0, left: 0 };
            return self.continue_thread(thread, at);
        }
        if bytes == 0 {
            // A file is opened or closed: start a new readahead state.
            (caller.readahead, caller.opened) = (ReadAhead::default(), first);
            return Some(at);
        }
        let (write, end) = (step.act == Act::Write, (step.address + bytes).div_ceil(PAGE));
        let partial = write && !step.address.is_multiple_of(PAGE);
        caller.operation = Operation::Call { write, next: first, end, partial };
        self.continue_thread(thread, at)
    }
}
