//! Timers: write dirty data to flash and begin idle time after periods without commands.

use sim::{Part, Schedule, Time, Timer};

use crate::{Actions, Ftl};

impl Ftl {
    /// Returns the time at which to call [`timer`](Self::timer) if nothing else happens before.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        // While commands wait for room, neither idle time nor writing out is due.
        let serves_all = self.requests.queue.is_empty();
        let due = serves_all && (self.requests.activity.is_idle_due() || !self.buffer.dirty.is_empty());
        if due || self.buffer.has_read_copies() { self.next_due() } else { None }
    }

    /// Returns the first of the times at which idle time, writing out and programming read copies are due.
    fn next_due(&self) -> Option<Time> {
        let idle = self.idle_at().filter(|at| *at < Time::MAX);
        let written = self.write_out_at().filter(|at| *at < Time::MAX);
        let written = written.map_or(idle, |at| Some(idle.map_or(at, |idle| idle.min(at))));
        let read = self.buffer.copies_due(self.config.buffers.idle).filter(|at| *at < Time::MAX);
        written.map_or(read, |at| Some(read.map_or(at, |due| due.min(at))))
    }

    /// Returns the time at which collection begins to work ahead if no command arrives before. While commands wait for
    /// room, the host may be silent only because the drive is slow, so there is no such time.
    fn idle_at(&self) -> Option<Time> {
        self.requests.activity.idle_at(self.config.collection.idle).filter(|_| self.requests.queue.is_empty())
    }

    /// Returns the time at which dirty data is written to flash if no write arrives before. While writes wait for room
    /// or for their data, the host is still writing.
    fn write_out_at(&self) -> Option<Time> {
        let waits = !self.buffer.dirty.is_empty() && !self.config.buffers.protected;
        let waits = waits && self.requests.queue.is_empty() && !self.buffer.expects_data();
        waits.then(|| self.requests.activity.written_for(self.config.buffers.idle))
    }

    /// Handles a timer: writes dirty data to flash if the host has not written for a while, programs gathered read
    /// copies if it has not read, and begins idle time.
    pub fn timer(&mut self, now: Time, out: &mut Actions) {
        self.copies_timer(now, out);
        if self.write_out_at().is_some_and(|at| at <= now) {
            self.buffer.dirty.force();
            self.requests.activity.write(now);
            self.dispatch(out);
        }
        if self.idle_at().is_some_and(|at| at <= now) {
            if self.requests.queue.take_waited() {
                // Commands have waited since the last one arrived: the idle period begins now at the earliest.
                self.requests.activity.command(now);
                return;
            }
            self.begin_idle();
            if self.gc.refresh.is_on() {
                self.look_at_refresh(now, out);
            }
            for pu in 0..self.layout.parallel_units {
                self.collect(pu, out);
            }
            self.dispatch(out);
        }
    }
}

impl Part for Ftl {
    type Event = Timer;
    type Output = Actions;

    fn handle(&mut self, now: Time, _: Timer, _: &mut impl Schedule<Timer>, out: &mut Actions) {
        self.timer(now, out);
    }

    fn next_timer(&self) -> Option<Time> {
        Ftl::next_timer(self)
    }
}
