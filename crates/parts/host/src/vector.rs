//! An interrupt vector and its handler.

use sim::{Schedule, Time};

use crate::cores::Cores;

/// The interrupt vector of a queue, and the state of its handler.
///
/// Interrupts are edge-triggered and latched once: an interrupt before the handler has started is part of that run, and
/// one during the run causes another. A running handler also processes completions that become visible meanwhile, so
/// the next run may find nothing. Such a run still costs its time, as in Linux.
#[derive(Clone, Copy, Debug)]
pub struct Vector {
    core: u16,
    /// Start of the last known run.
    started: Time,
    /// End of the known work of that run.
    ends: Time,
}

/// A check of the queue: a run of the handler that may still have to pay for its entry, or a poll.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Earliest time of the check.
    pub at: Time,
    /// Time to enter and leave the handler.
    pub entry: Time,
}

impl Vector {
    /// Creates a vector that interrupts `core`.
    pub const fn new(core: u16) -> Vector {
        Vector { core, started: Time::ZERO, ends: Time::ZERO }
    }

    /// Returns true if a known run of the handler finds a completion that becomes visible at `visible`, without an
    /// interrupt of its own.
    #[inline]
    pub fn looks(&self, visible: Time) -> bool {
        visible <= self.ends
    }

    /// Returns the run caused by an interrupt at `at`, if it causes one; `handler` is the time to enter and leave the
    /// handler.
    #[inline]
    pub fn raised(&self, at: Time, handler: Time) -> Option<Run> {
        (at > self.started || self.ends == Time::ZERO).then_some(Run { at: at.max(self.ends), entry: handler })
    }

    /// Processes, in `run`, the completion of a command of request `io` submitted on `core`, which takes `cost` of that
    /// core's time. Returns the end.
    #[inline(always)]
    pub fn complete<E>(
        &mut self,
        now: Time,
        run: &mut Run,
        (core, io, cost): (u16, u32, Time),
        cores: &mut Cores,
        s: &mut impl Schedule<E>,
    ) -> Time {
        if core != self.core {
            self.enter(now, run, cores, s);
        }
        let span = cores.complete(now, (core, io), run.at, run.entry + cost, s);
        if run.entry > Time::ZERO {
            self.started = span.from;
            run.entry = Time::ZERO;
        }
        self.ends = self.ends.max(span.to);
        span.to
    }

    /// Charges the entry of the handler to its own core, if not yet charged: for completions of another core, or if
    /// there were none.
    #[inline]
    pub fn enter<E>(&mut self, now: Time, run: &mut Run, cores: &mut Cores, s: &mut impl Schedule<E>) {
        // Most runs process a completion, which has charged the entry.
        if run.entry > Time::ZERO {
            let span = cores.interrupt(now, self.core, run.at, run.entry, s);
            *run = Run { at: span.to, entry: Time::ZERO };
            self.started = span.from;
            self.ends = self.ends.max(span.to);
        }
    }

    /// Returns the end of the handler's known work.
    #[inline]
    pub fn ends(&self) -> Time {
        self.ends
    }
}
