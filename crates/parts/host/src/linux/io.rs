//! Commands to the drive, and what their ends mean.

use media::{LINE, LineKind, Op};
use sim::Time;

use super::frames::{DIRTY, LOCKED, MAPPED, MARKED, NONE, RECLAIM, WRITEBACK};
use super::{Command, Doing, Event, Linux, ON_FILE, SWAPPED};
use crate::cpu::PAGE;

/// What a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Read,
    Write,
    Journal,
    Flush,
}

/// A command under way.
#[derive(Clone, Debug)]
pub(super) struct Io {
    what: What,
    page: u64,
    pages: u32,
    frames: Vec<u32>,
    /// The thread that waits for it, if it is not the frames' waiters.
    of: Option<u16>,
    /// The thread on whose core it was made.
    thread: u16,
    submitted: Time,
    took: Time,
}

impl Linux {
    /// Makes a command, handed to the drive at `at`.
    pub(super) fn command(&mut self, what: What, page: u64, pages: u32, frames: Vec<u32>, of: Option<u16>, at: Time) {
        let io = Io { what, page, pages, frames, of, thread: self.running, submitted: at, took: Time::ZERO };
        let id = self.free_ios.pop().unwrap_or(self.ios.len() as u32);
        match self.ios.get_mut(id as usize) {
            Some(place) => *place = io,
            None => self.ios.push(io),
        }
        self.at(at, Event::Submit(id));
    }

    pub(super) fn hand_over(&mut self, now: Time, id: u32) {
        let io = &mut self.ios[id as usize];
        io.submitted = now;
        let op = match io.what {
            What::Read => Op::Read,
            What::Write | What::Journal => Op::Write,
            What::Flush => Op::Flush,
        };
        self.stats.commands += 1;
        if io.what == What::Write {
            let lines = io.frames.iter().flat_map(|frame| lines(*frame));
            self.effects.lines.extend(lines.map(|address| (address, LineKind::Fill)));
        }
        self.commands.push(Command { id, op, page: io.page, pages: io.pages });
    }

    /// The drive is done with a command.
    pub fn done(&mut self, now: Time, id: u32) {
        let io = &mut self.ios[id as usize];
        io.took = now - io.submitted;
        // Interrupts of one vector are one core's, and wait for each other.
        let vector = usize::from(io.thread % self.config.vectors);
        let at = now.max(self.vectors[vector]) + self.config.complete.draw(&mut self.rng);
        self.vectors[vector] = at;
        self.at(at, Event::Ended(id));
    }

    pub(super) fn ended(&mut self, now: Time, id: u32) {
        let io = &mut self.ios[id as usize];
        let (what, of, took, frames) = (io.what, io.of, io.took, std::mem::take(&mut io.frames));
        self.free_ios.push(id);
        for &frame in &frames {
            match what {
                What::Read => self.page_read(now, frame, took),
                _ => self.page_written(frame),
            }
        }
        if let Some(thread) = of
            && let Doing::Sync { phase, left } = self.callers[usize::from(thread)].doing
        {
            self.callers[usize::from(thread)].doing = Doing::Sync { phase, left: left - 1 };
            if left == 1 {
                self.wake(now, 1 << thread);
            }
        }
        self.feed_starved(now);
        if self.throttled != 0 && !self.too_dirty() {
            let mask = std::mem::take(&mut self.throttled);
            self.wake(now, mask);
        }
    }

    fn page_read(&mut self, now: Time, frame: u32, took: Time) {
        let lines = lines(frame).map(|address| (address, LineKind::WriteBack));
        self.effects.overwritten.push(u64::from(frame));
        self.effects.lines.extend(lines);
        let frame = self.frames.get_mut(frame);
        frame.flags &= !LOCKED;
        let waiters = std::mem::take(&mut frame.waiters);
        for thread in 0..self.callers.len() {
            if waiters & 1 << thread != 0 {
                self.callers[thread].hardware = Some(took);
            }
        }
        self.wake(now, waiters);
    }

    fn page_written(&mut self, number: u32) {
        let frame = self.frames.get_mut(number);
        let reclaim = frame.is(RECLAIM);
        frame.flags &= !(WRITEBACK | RECLAIM);
        self.reclaiming -= u32::from(reclaim);
        // Who has used it meanwhile keeps it.
        if reclaim && frame.flags & (MAPPED | DIRTY) == 0 && frame.waiters == 0 {
            self.drop_clean(number);
        }
    }

    /// A clean frame is free; its page is where it was read from, or written to.
    pub(super) fn drop_clean(&mut self, number: u32) {
        let frame = self.frames.get(number);
        debug_assert_eq!(frame.flags & (DIRTY | LOCKED | WRITEBACK), 0, "{frame:?}");
        self.places[frame.page as usize] = if frame.slot == NONE { ON_FILE } else { SWAPPED | frame.slot };
        self.frames.release(number);
    }

    /// Reads pages of a file, from `first` on, as far as they are not there; the `wanted` one at any rate. The one behind which
    /// more is to be read is `mark`. When the thread has asked for them; `None` if it waits for a frame.
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

    /// The same of pages that nobody waits for, as far as there are frames.
    pub(super) fn read_if_easy(&mut self, first: u64, pages: u32, mark: u64, at: Time) -> Time {
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
                    let Some(frame) = self.allocate_if_easy(page, flags) else { break };
                    self.places[page as usize] = frame;
                    frame
                }
            };
            if page == mark {
                self.frames.get_mut(frame).flags |= MARKED;
            }
            at += self.config.page.draw(&mut self.rng);
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

    /// Reads frames from pages of the drive, neighbours with one command. When the last is handed over.
    pub(super) fn read_frames(&mut self, frames: &[(u64, u32)], at: Time) -> Time {
        self.stats.pages_read += frames.len() as u64;
        let mut at = at;
        for run in runs(frames, self.config.command_pages) {
            at += self.config.submit.draw(&mut self.rng);
            let list = run.iter().map(|(_, frame)| *frame).collect();
            self.command(What::Read, run[0].0, run.len() as u32, list, None, at);
        }
        at
    }

    /// Writes frames to pages of the drive; `of` waits for it. How many commands that are.
    pub(super) fn write_frames(&mut self, mut frames: Vec<(u64, u32)>, of: Option<u16>, at: Time) -> u32 {
        self.stats.pages_written += frames.len() as u64;
        frames.sort_unstable();
        let (mut at, mut commands) = (at, 0);
        for run in runs(&frames, self.config.command_pages) {
            at += self.config.submit.draw(&mut self.rng);
            let list = run.iter().map(|(_, frame)| *frame).collect();
            self.command(What::Write, run[0].0, run.len() as u32, list, of, at);
            commands += 1;
        }
        commands
    }
}

/// The lines of a frame, by address.
fn lines(frame: u32) -> impl Iterator<Item = u64> {
    let base = u64::from(frame) * PAGE;
    (0..PAGE / LINE).map(move |line| base + line * LINE)
}

/// Runs of neighbouring pages, none longer than `most`.
fn runs(frames: &[(u64, u32)], most: u32) -> Vec<&[(u64, u32)]> {
    let mut all = Vec::new();
    let mut first = 0;
    for at in 1..=frames.len() {
        let ends = at == frames.len() || frames[at].0 != frames[at - 1].0 + 1 || at - first == most as usize;
        if ends && at > first {
            all.push(&frames[first..at]);
            first = at;
        }
    }
    all
}
