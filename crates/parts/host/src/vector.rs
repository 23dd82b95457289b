//! An interrupt vector and the handler behind it.

use sim::{Schedule, Time};

use crate::cores::Cores;

/// Where a queue's completions are processed.
///
/// Interrupts are edges, remembered once: one that comes before the handler has started is part of that run; one that
/// comes while it runs makes it run again. A running handler also processes what becomes visible meanwhile, so that a
/// run may find nothing left to do, which costs its time all the same, as it does in Linux.
#[derive(Clone, Copy, Debug)]
pub struct Vector {
    core: u16,
    /// When the last run that is known has started, or will.
    started: Time,
    /// When it is done with what it knows of.
    ends: Time,
}

/// A look at the queue: by a run of the handler that may have yet to pay for being entered, or by a poll.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Not before this.
    pub at: Time,
    /// What entering and leaving the handler takes.
    pub entry: Time,
}

impl Vector {
    /// A vector that interrupts `core`.
    pub const fn new(core: u16) -> Vector {
        Vector { core, started: Time::ZERO, ends: Time::ZERO }
    }

    /// The handler, as far as its runs are known, finds what becomes visible at `visible` without an interrupt for it.
    #[inline]
    pub fn looks(&self, visible: Time) -> bool {
        visible <= self.ends
    }

    /// The run that an interrupt at `at` causes, if it causes one; to enter and leave it takes `handler`.
    #[inline]
    pub fn raised(&self, at: Time, handler: Time) -> Option<Run> {
        (at > self.started || self.ends == Time::ZERO).then_some(Run { at: at.max(self.ends), entry: handler })
    }

    /// In `run`, the completion of a command that was submitted on `core` takes `cost` of that core's time. Returns
    /// when it is done.
    #[inline(always)]
    pub fn complete<E>(
        &mut self,
        now: Time,
        run: &mut Run,
        (core, cost): (u16, Time),
        cores: &mut Cores,
        s: &mut impl Schedule<E>,
    ) -> Time {
        if core != self.core {
            self.enter(now, run, cores, s);
        }
        let span = cores.interrupt(now, core, run.at, run.entry + cost, s);
        if run.entry > Time::ZERO {
            self.started = span.from;
            run.entry = Time::ZERO;
        }
        self.ends = self.ends.max(span.to);
        span.to
    }

    /// Pays for entering the handler, if nothing has: its own core does, for completions of another or for none.
    pub fn enter<E>(&mut self, now: Time, run: &mut Run, cores: &mut Cores, s: &mut impl Schedule<E>) {
        if run.entry > Time::ZERO {
            let span = cores.interrupt(now, self.core, run.at, run.entry, s);
            *run = Run { at: span.to, entry: Time::ZERO };
            self.started = span.from;
            self.ends = self.ends.max(span.to);
        }
    }

    /// When the handler is done with what it knows of.
    #[inline]
    pub fn ends(&self) -> Time {
        self.ends
    }
}
