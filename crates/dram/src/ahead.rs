//! When a channel is to be called next: no request may be done before.

use sim::Time;

use crate::channel::{Channel, NEVER, Transfer};
use crate::request::Kind;

impl Channel {
    /// When [`Channel::advance`] is to be called next at the latest: no request is done before. `None` while nothing is
    /// asked for. The time may turn out to be too early; it is never too late.
    #[inline]
    pub fn next_event(&mut self) -> Option<Time> {
        let done = self.done.front().map(|done| done.at);
        if self.is_alone {
            return Some(done.map_or(self.alone.end, |done| done.min(self.alone.end)));
        }
        if !self.has_work() {
            return done;
        }
        let command = self.peek();
        // What enters may be done at once only if it is a write, or reads what a write holds that is queued by then.
        let cycle = if self.waiting_writes > 0 || (self.waiting > 0 && self.queues.length(Kind::Write) > 0) {
            self.enter_at.min(command.saturating_add(1))
        } else {
            self.enter_at.min(command).saturating_add(self.settings.shortest)
        };
        self.no_earlier(done, cycle)
    }

    /// As [`Channel::next_event`], but later where long requests are under way: it counts the bursts that are to be moved
    /// before any request is done. Who goes by it submits at a clock's edge before the channel has come to that edge, where
    /// who goes by `next_event` may do so after it.
    #[inline]
    pub fn next_done(&mut self) -> Option<Time> {
        if !self.goes_far {
            self.go_far();
        }
        if self.is_alone || !self.has_work() {
            return self.next_event();
        }
        let command = self.peek();
        let cycle = self.soonest_served(command).min(self.soonest_entered(command));
        self.no_earlier(self.done.front().map(|done| done.at), cycle)
    }

    /// A request has come.
    #[cold]
    pub(crate) fn count_far(&mut self, transfer: &Transfer) {
        self.has_long |= transfer.to_serve > 1;
        self.ending[usize::from(transfer.to_serve > 1)] += u32::from(transfer.ends_served());
    }

    /// From now on what is under way is counted, and may form runs.
    #[cold]
    fn go_far(&mut self) {
        self.goes_far = true;
        for transfer in self.transfers.iter().filter(|transfer| transfer.to_serve > 0 && transfer.ends_served()) {
            self.ending[usize::from(transfer.to_serve > 1)] += 1;
        }
    }

    /// When `cycle` is, or what is done already.
    #[inline(always)]
    fn no_earlier(&self, done: Option<Time>, cycle: u64) -> Option<Time> {
        let next = if cycle >= NEVER - 1 { Time::MAX } else { self.clock.time(cycle) };
        Some(done.map_or(next, |done| done.min(next)))
    }

    /// No request is done by being served before this cycle.
    #[inline(always)]
    fn soonest_served(&self, command: u64) -> u64 {
        let first = self.enter_at.min(command).max(self.column_at).saturating_add(self.settings.shortest);
        let [reads, writes] = [Kind::Read, Kind::Write].map(|kind| self.queues.length(kind));
        // Reads that enter may have bursts that need none served.
        let forwards = self.waiting > self.waiting_writes && self.waiting_writes + writes > 0;
        if self.ending[0] > 0 || forwards {
            return first;
        }
        let bursts = if self.ending[1] == 0 {
            // All are done by entering; when they have, there is no hurry.
            if self.waiting > 0 {
                return NEVER;
            }
            reads + writes
        } else {
            let large = self.transfers.iter().filter(|transfer| transfer.to_serve > 0 && transfer.ends_served());
            large.map(|transfer| transfer.to_serve).min().unwrap_or(1)
        };
        first.saturating_add(u64::from(bursts.saturating_sub(1)) * self.settings.gap_min)
    }

    /// No request is done by entering before this cycle: writes are, and reads of what a write holds that is queued by then.
    #[inline(always)]
    fn soonest_entered(&self, command: u64) -> u64 {
        if self.waiting_writes == 0 && (self.waiting == 0 || self.queues.length(Kind::Write) == 0) {
            return NEVER;
        }
        let first = self.enter_at.min(command.saturating_add(1));
        // What enters may have its command before what is next now.
        let column = self.enter_at.min(command).max(self.column_at);
        // The first of a port is first to be done: its bursts enter one a clock, and those without room behind others.
        let of = |number: &u32| {
            let transfer = &self.transfers[*number as usize];
            let (left, kind) = (transfer.to_enter, transfer.request.kind);
            let over = left.saturating_sub(self.queues.room(kind));
            // Of reads some may need no room.
            let behind = if kind == Kind::Write && over > 0 {
                column.saturating_add(1 + u64::from(over - 1) * self.settings.gap_min)
            } else {
                0
            };
            first.saturating_add(u64::from(left) - 1).max(behind)
        };
        self.ports.iter().filter_map(|port| port.front()).map(of).min().unwrap_or(NEVER)
    }
}
