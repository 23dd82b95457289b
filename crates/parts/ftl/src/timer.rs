//! What the layer does when nothing happens: dirty data goes to flash, and idle time begins.

use sim::Time;

use crate::buffer::NIL;
use crate::{Actions, Ftl};

impl Ftl {
    /// When [`timer`](Self::timer) is to be called, if nothing else happens before.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        let idle = self.idle_at().filter(|at| *at < Time::MAX);
        let written = self.write_out_at().filter(|at| *at < Time::MAX);
        let written = written.map_or(idle, |at| Some(idle.map_or(at, |idle| idle.min(at))));
        match &self.read_copies {
            None => written,
            Some(copies) => {
                let read = copies.due(self.config.buffers.idle).filter(|at| *at < Time::MAX);
                written.map_or(read, |at| Some(read.map_or(at, |due| due.min(at))))
            }
        }
    }

    /// When collection begins to work ahead, if no command comes before.
    fn idle_at(&self) -> Option<Time> {
        let due = self.idle_due && !self.space_queue.is_held();
        due.then(|| self.last_command.saturating_add(self.config.collection.idle))
    }

    /// When dirty data goes to flash, if nothing is written before. While writes wait for room, or their data is on its way,
    /// the host is still writing.
    fn write_out_at(&self) -> Option<Time> {
        let pauses = self.space_queue.is_empty() && self.reserved == 0;
        let waits = self.dirty.head != NIL && !self.config.buffers.protected && pauses;
        waits.then(|| self.last_write.saturating_add(self.config.buffers.idle))
    }

    /// Nothing was written for a while: what is dirty goes to flash. Nothing was read: so do copies of what was.
    pub fn timer(&mut self, now: Time, out: &mut Actions) {
        self.copies_timer(now, out);
        if self.write_out_at().is_some_and(|at| at <= now) {
            self.force_epoch = self.epoch;
            self.last_write = now;
            self.dispatch(out);
        }
        if self.idle_at().is_some_and(|at| at <= now) {
            (self.idle, self.idle_due) = (true, false);
            if self.refresh.is_on() {
                self.look_at_refresh(now, out);
            }
            for pu in 0..self.layout.parallel_units {
                self.collect(pu, out);
            }
            self.dispatch(out);
        }
    }
}
