//! Processor cores: submissions run one after the other, interrupts stop them.

use std::collections::VecDeque;

use sim::{Dense, Schedule, Time, Track};

/// A stretch of a core's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its start.
    pub from: Time,
    /// Its end; for a submission with the interrupts that came between.
    pub to: Time,
}

impl Span {
    /// Pushes this work back by an interrupt that is not over when it starts; false if it is due only after its end.
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

/// A core. Work of programs is done in order of arrival. Interrupts come first: they wait for each other only, and
/// push back what they interrupt. They are known before they are due (a completion is on its way), so that the end of
/// a program's work is known when it is accepted, but for an interrupt that becomes known later and is due before: the
/// time that it takes is then taken from the work that follows.
#[derive(Clone, Debug)]
pub struct Core {
    /// When the accepted work of programs is done.
    free: Time,
    /// When the last known interrupt is done.
    interrupts_end: Time,
    /// Interrupts that are due when no accepted work runs: the last, and those before it that are not yet over.
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
    /// Work of a program, `length` long, from `now` on.
    #[inline(always)]
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

    /// Pushes a program's work back by the interrupts that stop it.
    #[inline(never)]
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

    /// An interrupt's work, `length` long, due at `at` (now or later), after those that were known before.
    #[inline(always)]
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

    /// The last interrupt is not the last any more.
    #[inline(never)]
    fn remember(&mut self) {
        self.ahead.push_back(self.last);
    }

    /// Busy time until `now`; what is accepted for later is not in it.
    ///
    /// # Panics
    /// If that is more than has passed: the model is broken.
    pub fn busy(&self, now: Time) -> Time {
        let busy = self.busy.saturating_sub(self.free.max(self.interrupts_end).saturating_sub(now));
        assert!(busy <= now, "busy for {busy} in {now}");
        busy
    }

    /// Forgets what is accepted for later than `now`.
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
    /// Cores poll when they have nothing else to do.
    polling: bool,
}

impl Cores {
    /// `count` idle cores, which poll when they have nothing else to do, or do not.
    ///
    /// # Panics
    /// If there are none, or more than 65,535.
    pub fn new(count: u32, polling: bool) -> Cores {
        assert!((1..=65_535).contains(&count), "{count} cores, expected 1 to 65535");
        // SAFETY: cores are numbered by `of`, and kept with what was submitted on them.
        Cores { cores: unsafe { Dense::new(vec![Core::default(); count as usize]) }, polling }
    }

    /// How many.
    pub fn count(&self) -> u16 {
        self.cores.len() as u16
    }

    /// The core that `job` runs on.
    #[inline(always)]
    pub fn of(&self, job: u16) -> u16 {
        let job = usize::from(job);
        (if job < self.cores.len() { job } else { job % self.cores.len() }) as u16
    }

    /// Submission of a command on `core`.
    #[inline(always)]
    pub fn submit<E>(&mut self, now: Time, core: u16, length: Time, s: &mut impl Schedule<E>) -> Time {
        let span = self.cores[core as usize].run(now, length);
        s.span(Track(u32::from(core) * 2), "submit", span.from, span.to);
        span.to
    }

    /// Work of an interrupt, or of a poll that has found something, on `core`.
    #[inline(always)]
    pub fn interrupt<E>(&mut self, now: Time, core: u16, at: Time, length: Time, s: &mut impl Schedule<E>) -> Span {
        let span = self.cores[core as usize].interrupt(now, at, length);
        s.span(Track(u32::from(core) * 2 + 1), "complete", span.from, span.to);
        span
    }

    /// Names of what shows on a timeline: two rows a core.
    pub fn tracks(&self) -> Vec<String> {
        (0..self.cores.len()).flat_map(|core| [format!("core {core}"), format!("core {core} completions")]).collect()
    }

    /// Every core and its busy time until `now`. A core that polls and has ever submitted anything is never idle.
    pub fn busy(&self, now: Time) -> Vec<(String, Time)> {
        let busy = |core: &Core| if self.polling && core.busy > Time::ZERO { now } else { core.busy(now) };
        self.cores.iter().enumerate().map(|(i, core)| (format!("core {i}"), busy(core))).collect()
    }

    /// Forgets what is accepted for later than `now`.
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
        // Starts before it, is interrupted, goes on.
        assert_eq!(core.run(ns(5), ns(10)), span(5, 19));
        // Not yet due: waits for nobody.
        assert_eq!(core.interrupt(ns(6), ns(30), ns(4)), span(30, 34));
        assert_eq!(core.run(ns(20), ns(5)), span(20, 25));
        // Starts while it runs.
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
        /// Against a core that is stepped by the nanosecond and serves interrupts first. Interrupts become known
        /// before any work that they could stop is accepted, so that both must agree exactly.
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
