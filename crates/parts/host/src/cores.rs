//! Processor cores, which run submissions in order and suspend them for interrupts.

use std::collections::VecDeque;

use sim::{Client, Dense, Schedule, Time, Track};

/// An interval of a core's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Start of the interval.
    pub from: Time,
    /// End of the interval; for a submission, this includes interrupts in between.
    pub to: Time,
}

impl Span {
    /// Delays this work by an interrupt that is not over when the work starts. Returns false if the interrupt is due
    /// only after the work's end.
    #[inline]
    fn stopped_by(&mut self, interrupt: Span) -> bool {
        if interrupt.from >= self.to && interrupt.from > self.from {
            return false;
        }
        let start = interrupt.from.max(self.from);
        let lost = interrupt.to - start;
        if start == self.from {
            self.from += lost;
        }
        self.to += lost;
        true
    }
}

/// A core. Programs' work runs in order of arrival. Interrupts have priority: they only wait for each other, and delay
/// the work they interrupt. They are known before they are due, because a completion is announced when it is sent, so
/// the end of a program's work is usually known when the work is accepted. If an interrupt becomes known later but is
/// due earlier, its time delays the following work instead.
#[derive(Clone, Debug)]
pub struct Core {
    /// End of the programs' accepted work.
    free: Time,
    /// End of the last known interrupt.
    interrupts_end: Time,
    /// Interrupts due when no accepted work runs: the last one, and earlier ones that are not over yet.
    last: Span,
    ahead: VecDeque<Span>,
    busy: Time,
}

const NEVER: Span = Span { from: Time::ZERO, to: Time::ZERO };

impl Default for Core {
    fn default() -> Self {
        let ahead = VecDeque::with_capacity(16);
        Core { free: Time::ZERO, interrupts_end: Time::ZERO, last: NEVER, ahead, busy: Time::ZERO }
    }
}

impl Core {
    /// Runs a program's work of `length`, starting at `now` or later.
    #[inline]
    pub fn run(&mut self, now: Time, length: Time) -> Span {
        let from = now.max(self.free);
        let mut span = Span { from, to: from + length };
        if self.last.to > from {
            span = self.stop(span);
        }
        self.free = span.to;
        self.busy += length;
        span
    }

    /// Delays a program's work by the interrupts that suspend it.
    fn stop(&mut self, mut work: Span) -> Span {
        while let Some(interrupt) = self.ahead.front().copied() {
            if interrupt.to > work.from && !work.stopped_by(interrupt) {
                return work;
            }
            self.ahead.pop_front();
        }
        if work.stopped_by(self.last) {
            self.last = NEVER;
        }
        work
    }

    /// Runs an interrupt's work of `length`, due at `at` (now or later), after all interrupts known before.
    #[inline]
    pub fn interrupt(&mut self, now: Time, at: Time, length: Time) -> Span {
        let from = at.max(self.interrupts_end);
        let to = from + length;
        self.interrupts_end = to;
        self.busy += length;
        if from < self.free {
            self.free += length;
        } else if self.last.to == from {
            self.last.to = to;
        } else {
            if self.last.to > now {
                self.remember();
            }
            self.last = Span { from, to };
        }
        Span { from, to }
    }

    /// Queues the last interrupt, before a new one replaces it.
    fn remember(&mut self) {
        self.ahead.push_back(self.last);
    }

    /// Returns the busy time until `now`, without work accepted for later.
    ///
    /// # Panics
    /// Panics if it exceeds the time passed, which means that the model is broken.
    pub fn busy(&self, now: Time) -> Time {
        let busy = self.busy.saturating_sub(self.free.max(self.interrupts_end).saturating_sub(now));
        assert!(busy <= now, "busy for {busy} of {now}");
        busy
    }

    /// Cancels work accepted for after `now`.
    pub fn power_cut(&mut self, now: Time) {
        self.busy = self.busy(now);
        self.free = self.free.min(now);
        self.interrupts_end = self.interrupts_end.min(now);
        self.ahead.clear();
        self.last = NEVER;
    }
}

/// The cores of a host.
#[derive(Clone, Debug)]
pub struct Cores {
    cores: Dense<Core>,
    /// True if cores poll when they have no other work.
    polling: bool,
}

impl Cores {
    /// Creates `count` idle cores. With `polling`, they poll when they have no other work.
    ///
    /// # Panics
    /// Panics if there are no cores or more than 65,535.
    pub fn new(count: u32, polling: bool) -> Cores {
        assert!((1..=65_535).contains(&count), "{count} cores, expected 1 to 65535");
        Cores { cores: Dense::new(vec![Core::default(); count as usize]), polling }
    }

    /// Returns the number of cores.
    pub fn count(&self) -> u16 {
        self.cores.len() as u16
    }

    /// Returns the core that `job` runs on.
    #[inline]
    pub fn of(&self, job: u16) -> u16 {
        let job = usize::from(job);
        (if job < self.cores.len() { job } else { job % self.cores.len() }) as u16
    }

    /// Runs the submission of a command of request `io` on `core`.
    #[inline]
    pub fn submit<E>(&mut self, now: Time, (core, io): (u16, u32), length: Time, s: &mut impl Schedule<E>) -> Time {
        let span = self.cores[core as usize].run(now, length);
        let Span { from, to } = span;
        s.served(Track(u32::from(core) * 2), Client::Request(io), "submit", now, sim::Span { from, to });
        to
    }

    /// Runs the work of an interrupt, or of a successful poll, on `core`.
    #[inline]
    pub fn interrupt<E>(&mut self, now: Time, core: u16, at: Time, length: Time, s: &mut impl Schedule<E>) -> Span {
        let span = self.cores[core as usize].interrupt(now, at, length);
        s.span(Track(u32::from(core) * 2 + 1), "complete", span.from, span.to);
        span
    }

    /// Like [`interrupt`](Self::interrupt), for the completion of request `io`.
    #[inline]
    pub fn complete<E>(
        &mut self,
        now: Time,
        (core, io): (u16, u32),
        at: Time,
        length: Time,
        s: &mut impl Schedule<E>,
    ) -> Span {
        let span = self.cores[core as usize].interrupt(now, at, length);
        let Span { from, to } = span;
        s.served(Track(u32::from(core) * 2 + 1), Client::Request(io), "complete", at, sim::Span { from, to });
        span
    }

    /// Returns the names of the timeline's rows: two per core.
    pub fn tracks(&self) -> Vec<String> {
        (0..self.cores.len()).flat_map(|core| [format!("core {core}"), format!("core {core} completions")]).collect()
    }

    /// Returns every core and its busy time until `now`. A polling core that has ever submitted anything is never idle.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        let busy = |core: &Core| if self.polling && core.busy > Time::ZERO { now } else { core.busy(now) };
        self.cores.iter().enumerate().map(|(i, core)| (format!("core {i}"), busy(core))).collect()
    }

    /// Cancels work accepted for after `now`.
    pub fn power_cut(&mut self, now: Time) {
        for core in &mut self.cores {
            core.power_cut(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ns(n: u64) -> Time {
        Time::from_ns(n)
    }

    fn span(from: u64, to: u64) -> Span {
        Span { from: ns(from), to: ns(to) }
    }

    #[test]
    fn programs_take_turns() {
        let mut core = Core::default();
        assert_eq!(core.run(ns(5), ns(10)), span(5, 15));
        assert_eq!(core.run(ns(6), ns(10)), span(15, 25));
        assert_eq!(core.run(ns(40), ns(10)), span(40, 50));
        assert_eq!(core.busy(ns(50)), ns(30));
    }

    #[test]
    fn an_interrupt_stops_a_program() {
        let mut core = Core::default();
        assert_eq!(core.interrupt(ns(0), ns(8), ns(4)), span(8, 12));
        // Starts before it, is interrupted, continues.
        assert_eq!(core.run(ns(5), ns(10)), span(5, 19));
        // Not yet due: does not wait.
        assert_eq!(core.interrupt(ns(6), ns(30), ns(4)), span(30, 34));
        assert_eq!(core.run(ns(20), ns(5)), span(20, 25));
        // Starts while the interrupt runs.
        assert_eq!(core.run(ns(31), ns(5)), span(34, 39));
    }

    #[test]
    fn an_interrupt_that_is_known_too_late_takes_its_time_from_what_follows() {
        let mut core = Core::default();
        assert_eq!(core.run(ns(0), ns(100)), span(0, 100));
        assert_eq!(core.interrupt(ns(10), ns(20), ns(5)), span(20, 25));
        assert_eq!(core.run(ns(50), ns(10)), span(105, 115));
        assert_eq!(core.busy(ns(115)), ns(115));
    }

    proptest! {
        /// Compares with a core that is stepped by the nanosecond and serves interrupts first. Interrupts become known
        /// before any work that they could delay is accepted, so both must agree exactly.
        #[test]
        fn interrupts_first_programs_in_order(
            interrupts in prop::collection::vec((0u64..30, 1u64..8), 0..20),
            work in prop::collection::vec((0u64..30, 1u64..20), 0..20),
        ) {
            let mut core = Core::default();
            let (mut at, mut due) = (0, Vec::new());
            for (pause, length) in interrupts {
                at += pause;
                due.push((at, length));
                core.interrupt(Time::ZERO, ns(at), ns(length));
            }
            let (mut at, mut programs) = (0, Vec::new());
            for (pause, length) in work {
                at += pause;
                programs.push((at, length, core.run(ns(at), ns(length)).to));
            }
            let (mut now, mut next) = (0, 0);
            for (arrives, mut left, end) in programs {
                while left > 0 {
                    match due.get_mut(next) {
                        Some((at, length)) if *at <= now => {
                            *length -= 1;
                            next += usize::from(*length == 0);
                        }
                        _ if arrives <= now => left -= 1,
                        _ => {}
                    }
                    now += 1;
                }
                prop_assert_eq!(end, ns(now));
            }
        }
    }
}
