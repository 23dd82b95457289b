//! When a channel is to be called next: no request may be done before.

use sim::Time;

use crate::bank::CLOSED;
use crate::channel::{Channel, NEVER, Transfer};
use crate::queue::NONE;
use crate::request::{Ack, Kind};

impl Channel {
    /// When [`Channel::advance`] is to be called next at the latest: no request is done before. `None` while nothing is
    /// asked for. The time may turn out to be too early; it is never too late.
    #[inline]
    pub fn next_event(&mut self) -> Option<Time> {
        if self.is_planned {
            self.leave_plan();
        }
        let done = self.done.first();
        if self.is_alone {
            return Some(done.min(self.alone.end));
        }
        if !self.has_work() {
            return (done != Time::MAX).then_some(done);
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
        if !self.is_planned {
            if self.is_alone || !self.has_work() {
                return self.next_event();
            }
            self.peek();
        }
        if self.is_planned || self.plan() {
            return Some(self.done.first().min(self.plan.at));
        }
        let command = self.next.cycle;
        let entered = self.soonest_entered(command);
        let done = self.done.first();
        if self.has_through || self.ending == [0; 2] || self.waiting > self.waiting_writes {
            return self.no_earlier(done, self.soonest_served(command).min(entered));
        }
        let served = self.clock.time(self.soonest_read(command)) + self.settings.latency;
        self.no_earlier(done.min(served), entered)
    }

    /// Who asks goes step by step.
    #[cold]
    #[inline(never)]
    fn leave_plan(&mut self) {
        if self.plan.early {
            self.settle_plan(self.early_arrival() - 1);
        } else if self.plan.told {
            self.settle_plan(0);
        }
        self.is_planned = false;
    }

    /// A request has come.
    pub(crate) fn count_far(&mut self, transfer: &Transfer) {
        self.has_long |= transfer.to_serve > 1;
        self.has_through |= transfer.request.ack == Ack::Written && transfer.request.kind == Kind::Write;
        self.ending[usize::from(transfer.to_serve > 1)] += u32::from(transfer.ends_served());
    }

    /// From now on what is under way is counted, and may form runs.
    #[cold]
    fn go_far(&mut self) {
        self.goes_far = true;
        for transfer in self.transfers.iter().filter(|transfer| transfer.to_serve > 0 && transfer.ends_served()) {
            self.ending[usize::from(transfer.to_serve > 1)] += 1;
            self.has_through |= transfer.request.kind == Kind::Write;
        }
    }

    /// When `cycle` is, or what is done already.
    #[inline(always)]
    fn no_earlier(&self, done: Time, cycle: u64) -> Option<Time> {
        let next = if cycle >= NEVER - 1 { Time::MAX } else { self.clock.time(cycle) };
        Some(done.min(next))
    }

    /// No read is done before this cycle, all of which have entered: each bank that reads wait for has to be opened first, or
    /// closed and opened.
    #[inline(always)]
    fn soonest_read(&self, command: u64) -> u64 {
        let t = &self.config.device.timing;
        let (open, close) = (u64::from(t.rcd), u64::from(t.rp + t.rcd));
        let mut soonest = NEVER;
        for (rank, board) in self.ranks.iter().zip(self.boards.iter()) {
            let mut banks = rank.waiting[Kind::Read as usize];
            while banks != 0 {
                let bank = &board.banks[banks.trailing_zeros() as usize % 64];
                banks &= banks - 1;
                let column = match () {
                    () if bank.row == CLOSED => bank.next_activate.max(command) + open,
                    () if bank.hit[Kind::Read as usize] == NONE => bank.next_precharge.max(command) + close,
                    () => bank.next_column.max(command),
                };
                soonest = soonest.min(column);
            }
        }
        let mut bursts = 1;
        if self.ending[0] == 0 {
            let large = self.transfers.iter().filter(|transfer| transfer.to_serve > 0 && transfer.ends_served());
            bursts = large.map(|transfer| transfer.to_serve).min().unwrap_or(1);
        }
        let first = soonest.max(self.column_at).saturating_add(self.gaps.to_end[Kind::Read as usize]);
        first.saturating_add(u64::from(bursts - 1) * self.settings.gap_min)
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
