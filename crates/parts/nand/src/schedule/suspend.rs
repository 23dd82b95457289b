//! Suspension of programs and erases in favor of reads.

use sim::{Lane, Schedule, Time};

use crate::die::{NOWHERE, Phase};
use crate::nand::{Event, Nand, lane};
use crate::schedule::op::{NONE, OpKind, REST};

impl Nand {
    /// If reads of the host or the map wait for a die, suspends its program or erase, where allowed and worthwhile.
    #[inline]
    pub(crate) fn consider_suspension<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        if !self.tables.suspends {
            return;
        }
        let d = &self.dies[die];
        // Usually no read waits, or another one occupies the array; then there is nothing to decide.
        if Nand::urgent_waits(d) && d.phase == Phase::Busy && self.ops[d.array].kind != OpKind::Read {
            self.suspend_for_reads(now, die, s);
        }
    }

    #[inline(never)]
    fn suspend_for_reads<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        let scheduling = &self.config.scheduling;
        let d = &mut self.dies[die];
        if d.phase != Phase::Busy || d.overtaken >= scheduling.overtakes_max {
            return;
        }
        let op = &mut self.ops[d.array];
        let allowed = match op.kind {
            OpKind::Read => false,
            OpKind::Program => scheduling.program_suspend,
            OpKind::Erase => scheduling.erase_suspend,
        };
        if !allowed || op.suspensions >= scheduling.suspensions_max {
            return;
        }
        // Wait until the array has begun and the data on its way into the cache register has arrived.
        let ready = if d.input == NONE { d.begin } else { d.begin.max(d.input_ready) };
        if now < ready {
            if !d.suspend_asked {
                d.suspend_asked = true;
                s.at(Lane(lane::SUSPEND), ready, Event::Suspend(die as u16));
            }
            return;
        }
        let remaining = d.end - now;
        if remaining <= scheduling.suspend_latency {
            return;
        }
        op.suspensions += 1;
        if d.input != NONE {
            // The reads need the cache register: the controller sends the next program's data again later.
            let next = std::mem::replace(&mut d.input, NONE);
            d.queues[REST].push_front(&mut self.ops, next);
        }
        let d = &mut self.dies[die];
        d.stats.suspensions += 1;
        d.remaining = remaining;
        d.phase = Phase::Suspending;
        d.end = now + scheduling.suspend_latency;
        s.at(Lane(lane::SUSPEND), d.end, Event::Array(die as u16));
    }

    /// Returns whether the array of a die is free, so that its event is not the former end of a suspended operation.
    #[cold]
    pub(crate) fn suspension_end<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        let d = &mut self.dies[die];
        if d.end != now || d.phase != Phase::Suspending {
            return;
        }
        let (id, begin) = (d.array, d.begin);
        (d.suspended, d.array, d.phase) = (id, NONE, Phase::Idle);
        self.account(die, id, begin, now, s);
        self.advance(now, die, s);
    }

    /// Resumes the suspended operation once no read has priority.
    pub(crate) fn resume<S: Schedule<Event>>(&mut self, now: Time, die: usize, s: &mut S) {
        let d = &mut self.dies[die];
        let op = &self.ops[d.suspended];
        (d.array, d.suspended, d.phase, d.sensed) = (d.suspended, NONE, Phase::Busy, NOWHERE);
        (d.begin, d.end) = (now, now + self.config.scheduling.resume_overhead + d.remaining);
        let lane = if op.kind == OpKind::Erase { lane::ERASE } else { lane::PROGRAM };
        s.at(Lane(lane), d.end, Event::Array(die as u16));
    }
}
