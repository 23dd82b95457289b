//! Commands to the drive, and the handling of their completions.

use media::{LINE, LineKind, Op};
use sim::Time;

use super::frames::{DIRTY, LOCKED, MAPPED, MARKED, NONE, RECLAIM, WRITEBACK};
use super::{DriveCommand, KernelEvent, Linux, ON_FILE, Operation, SWAPPED};
use crate::cpu::PAGE;

/// Maximum pages of a command, 128 KiB. Assumed for every machine: as much as the maximum readahead, and the size of an access in
/// NVMM, "Effect of Prefetching".
const COMMAND_PAGES: u32 = 32;

/// The purpose of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    Write,
    Journal,
    Flush,
}

/// A command in flight.
#[derive(Clone, Debug)]
pub(super) struct Io {
    purpose: Purpose,
    page: u64,
    pages: u32,
    frames: Vec<u32>,
    /// The thread that waits for the command, unless the waiters of its frames do.
    waiter: Option<u16>,
    /// The thread on whose core the command was submitted.
    thread: u16,
    submitted: Time,
    duration: Time,
}

impl Linux {
    /// Creates a command, which is submitted to the drive at time `at`.
    pub(super) fn command(
        &mut self,
        purpose: Purpose,
        page: u64,
        pages: u32,
        frames: Vec<u32>,
        waiter: Option<u16>,
        at: Time,
    ) {
        let io = Io { purpose, page, pages, frames, waiter, thread: self.running, submitted: at, duration: Time::ZERO };
        let id = self.free_ios.pop().unwrap_or(self.ios.len() as u32);
        match self.ios.get_mut(id as usize) {
            Some(place) => *place = io,
            None => self.ios.push(io),
        }
        let locks = self.config.lock > Time::ZERO;
        self.schedule(at, if locks { KernelEvent::Lock(id) } else { KernelEvent::Submit(id) });
    }

    pub(super) fn submit(&mut self, now: Time, id: u32) {
        let io = &mut self.ios[id as usize];
        io.submitted = now;
        let op = match io.purpose {
            Purpose::Read => Op::Read,
            Purpose::Write | Purpose::Journal => Op::Write,
            Purpose::Flush => Op::Flush,
        };
        self.stats.commands += 1;
        if io.purpose == Purpose::Write {
            let lines = io.frames.iter().flat_map(|frame| lines(*frame));
            self.effects.lines.extend(lines.map(|address| (address, LineKind::Fill)));
        }
        self.commands.push(DriveCommand { id, op, page: io.page, pages: io.pages });
    }

    /// Handles the completion of a command by the drive.
    pub fn done(&mut self, now: Time, id: u32) {
        let io = &mut self.ios[id as usize];
        io.duration = now - io.submitted;
        // One core handles the interrupts of a vector, one after another.
        let vector = usize::from(io.thread % self.config.vectors);
        let at = now.max(self.vectors[vector]) + self.config.draw(self.config.complete, &mut self.rng);
        self.vectors[vector] = at;
        self.schedule(at, KernelEvent::Completed(id));
    }

    pub(super) fn completed(&mut self, now: Time, id: u32) {
        let io = &mut self.ios[id as usize];
        let (purpose, waiter, duration, frames) = (io.purpose, io.waiter, io.duration, std::mem::take(&mut io.frames));
        self.free_ios.push(id);
        for &frame in &frames {
            match purpose {
                Purpose::Read => self.page_read(now, frame, duration),
                _ => self.page_written(frame),
            }
        }
        if let Some(thread) = waiter
            && let Operation::Sync { phase, left } = self.callers[usize::from(thread)].operation
        {
            self.callers[usize::from(thread)].operation = Operation::Sync { phase, left: left - 1 };
            if left == 1 {
                self.wake(now, 1 << thread);
            }
        }
        self.wake_starved(now);
        if self.throttled != 0 && !self.too_dirty() {
            let mask = std::mem::take(&mut self.throttled);
            self.wake(now, mask);
        }
    }

    fn page_read(&mut self, now: Time, frame: u32, duration: Time) {
        let lines = lines(frame).map(|address| (address, LineKind::WriteBack));
        self.effects.overwritten.push(u64::from(frame));
        self.effects.lines.extend(lines);
        let frame = self.frames.get_mut(frame);
        frame.flags &= !LOCKED;
        let waiters = std::mem::take(&mut frame.waiters);
        for thread in 0..self.callers.len() {
            if waiters & 1 << thread != 0 {
                self.callers[thread].hardware = Some(duration);
            }
        }
        self.wake(now, waiters);
    }

    fn page_written(&mut self, number: u32) {
        let frame = self.frames.get_mut(number);
        let reclaim = frame.is(RECLAIM);
        frame.flags &= !(WRITEBACK | RECLAIM);
        self.reclaiming -= u32::from(reclaim);
        // Keep the page if it has been used in the meantime.
        if reclaim && frame.flags & (MAPPED | DIRTY) == 0 && frame.waiters == 0 {
            self.drop_clean(number);
        }
    }

    /// Frees a clean frame. Its page remains where it was read from or written to.
    pub(super) fn drop_clean(&mut self, number: u32) {
        let frame = self.frames.get(number);
        debug_assert_eq!(frame.flags & (DIRTY | LOCKED | WRITEBACK), 0, "{frame:?}");
        self.places[frame.page as usize] = if frame.slot == NONE { ON_FILE } else { SWAPPED | frame.slot };
        self.frames.release(number);
    }

    /// Reads the pages of a file from `first` on that are not in memory, including `wanted` in any case. Marks page
    /// `mark`, whose use triggers further readahead. Returns when the thread has submitted the reads, or `None` if it
    /// waits for a frame.
    pub(super) fn read_in(
        &mut self,
        thread: u16,
        wanted: u64,
        first: u64,
        pages: u32,
        mark: u64,
        at: Time,
    ) -> Option<Time> {
        let flags = self.file_flags(wanted);
        let frame = self.allocate(wanted, LOCKED | flags, thread)?;
        self.places[wanted as usize] = frame;
        Some(self.read_rest(Some((wanted, frame)), first, pages, mark, at))
    }

    /// Reads pages that no thread waits for, as far as frames are free.
    pub(super) fn read_without_waiting(&mut self, first: u64, pages: u32, mark: u64, at: Time) -> Time {
        self.read_rest(None, first, pages, mark, at)
    }

    fn read_rest(&mut self, wanted: Option<(u64, u32)>, first: u64, pages: u32, mark: u64, at: Time) -> Time {
        let (mut frames, mut at) = (Vec::new(), at);
        for page in first..first + u64::from(pages) {
            let frame = match wanted {
                Some((wanted, frame)) if wanted == page => frame,
                _ if self.places[page as usize] != ON_FILE => continue,
                _ => {
                    let flags = self.file_flags(page) | LOCKED;
                    let Some(frame) = self.try_allocate(page, flags) else { break };
                    self.places[page as usize] = frame;
                    frame
                }
            };
            if page == mark {
                self.frames.get_mut(frame).flags |= MARKED;
            }
            at += self.config.draw(self.config.page, &mut self.rng);
            frames.push((page, frame));
        }
        if let Some((page, frame)) = wanted
            && !frames.contains(&(page, frame))
        {
            frames.push((page, frame));
            frames.sort_unstable();
        }
        self.read_frames(&frames, at)
    }

    /// Reads frames from pages of the drive, with one command per run of adjacent pages. Returns when the last is
    /// submitted.
    fn read_frames(&mut self, frames: &[(u64, u32)], at: Time) -> Time {
        self.stats.pages_read += frames.len() as u64;
        let mut at = at;
        for run in runs(frames, COMMAND_PAGES) {
            at += self.config.draw(self.config.submit, &mut self.rng);
            let list = run.iter().map(|(_, frame)| *frame).collect();
            self.command(Purpose::Read, run[0].0, run.len() as u32, list, None, at);
        }
        at
    }

    /// Reads frames from slots of the swap area. Returns when the last is submitted: each page has a bio of its own, unlike a
    /// file's pages (`get_swap_bio` in mm/page_io.c of Linux 3.5).
    pub(super) fn read_slots(&mut self, frames: &[(u64, u32)], at: Time) -> Time {
        self.stats.pages_read += frames.len() as u64;
        let longest = if self.config.swap_merge { COMMAND_PAGES } else { 1 };
        let mut at = at;
        for run in runs(frames, longest) {
            for _ in run {
                at += self.config.draw(self.config.submit, &mut self.rng);
            }
            let list = run.iter().map(|(_, frame)| *frame).collect();
            self.command(Purpose::Read, run[0].0, run.len() as u32, list, None, at);
        }
        at
    }

    /// Writes frames to pages of the drive, on behalf of thread `waiter` if given. Returns the number of commands,
    /// and when the last is submitted.
    pub(super) fn write_frames(&mut self, mut frames: Vec<(u64, u32)>, waiter: Option<u16>, at: Time) -> (u32, Time) {
        self.stats.pages_written += frames.len() as u64;
        frames.sort_unstable();
        let (mut at, mut commands) = (at, 0);
        for run in runs(&frames, COMMAND_PAGES) {
            at += self.config.draw(self.config.submit, &mut self.rng);
            let list = run.iter().map(|(_, frame)| *frame).collect();
            self.command(Purpose::Write, run[0].0, run.len() as u32, list, waiter, at);
            commands += 1;
        }
        (commands, at)
    }
}

/// Returns the addresses of the lines in a frame.
fn lines(frame: u32) -> impl Iterator<Item = u64> {
    let base = u64::from(frame) * PAGE;
    (0..PAGE / LINE).map(move |line| base + line * LINE)
}

/// Splits a list into runs of adjacent pages of at most `longest` pages.
fn runs(frames: &[(u64, u32)], longest: u32) -> Vec<&[(u64, u32)]> {
    let mut all = Vec::new();
    let mut first = 0;
    for at in 1..=frames.len() {
        let ends = at == frames.len() || frames[at].0 != frames[at - 1].0 + 1 || at - first == longest as usize;
        if ends && at > first {
            all.push(&frames[first..at]);
            first = at;
        }
    }
    all
}
