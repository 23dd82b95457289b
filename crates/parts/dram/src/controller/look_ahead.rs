//! Lower bounds for a channel's next completion, which tell when it must be called next.

use sim::Time;

use crate::controller::channel::Channel;
use crate::request::RequestKind;
use crate::state::{Bank, NEVER, Rank};

impl Channel {
    /// Returns the latest time at which [`Channel::advance`] must be called next: no request is done earlier. `None`
    /// while nothing is requested. The time may be too early, but is never too late.
    pub fn next_event(&mut self) -> Option<Time> {
        let done = self.requests.done.first();
        if let Some(train) = &self.train {
            if train.is_lone_read() {
                return Some(done.min(train.at));
            }
            self.settle_train(0);
        }
        if !self.has_work() {
            return (done != Time::MAX).then_some(done);
        }
        let command = self.peek();
        // An entering burst can be done immediately only if it is a write, or reads data of a write that is queued by
        // then.
        let cycle = if self.waiting_writes > 0 || (self.waiting > 0 && self.queues.length(RequestKind::Write) > 0) {
            self.enter_at.min(command.saturating_add(1))
        } else {
            self.enter_at.min(command).saturating_add(self.settings.shortest)
        };
        self.no_earlier(done, cycle)
    }

    /// Like [`Channel::next_event`], but later while long requests are in progress: it counts the bursts that must be
    /// transferred before any request is done. `None` if no completion is pending, even while accepted writes wait to be
    /// served: the next request, or a query, serves them. A caller that uses it submits at a clock edge before the channel has
    /// advanced to that edge, while with `next_event` the channel may already have done so.
    pub fn next_done(&mut self) -> Option<Time> {
        self.goes_far = true;
        let done = self.requests.done.first();
        let awaits = match &self.train {
            Some(train) if train.is_awaited() => return Some(done.min(train.at)),
            Some(_) => false,
            None => self.waiting > 0 || self.ending != [0; 2],
        };
        if !awaits {
            return (done != Time::MAX).then_some(done);
        }
        let command = self.peek();
        let entered = self.soonest_entered(command);
        if self.has_through || self.ending == [0; 2] || self.waiting > self.waiting_writes {
            return self.no_earlier(done, self.soonest_served(command).min(entered));
        }
        let first = command.max(self.column_at).saturating_add(self.state.gaps.to_end[RequestKind::Read as usize]);
        let at_port = |cycle| self.state.clock.time(cycle) + self.requests.config.latency;
        // Data that is already on its way comes before that of a read that is still queued.
        if done <= at_port(first) {
            return self.no_earlier(done, entered);
        }
        self.no_earlier(done.min(at_port(self.soonest_read(command))), entered)
    }

    /// Returns the earlier of the time of `cycle` and the first known completion.
    fn no_earlier(&self, done: Time, cycle: u64) -> Option<Time> {
        let next = if cycle >= NEVER - 1 { Time::MAX } else { self.state.clock.time(cycle) };
        Some(done.min(next))
    }

    /// Returns a lower bound for the end of any queued read: each bank with waiting reads may first have to be opened,
    /// or closed and opened.
    #[inline(never)]
    fn soonest_read(&self, command: u64) -> u64 {
        let t = &self.state.timing;
        let (open, close) = (u64::from(t.rcd), u64::from(t.rp + t.rcd));
        let mut soonest = NEVER;
        let mut ranks = self.queues.waiting_ranks(RequestKind::Read);
        while ranks != 0 {
            let number = ranks.trailing_zeros() as usize;
            ranks &= ranks - 1;
            let rank = &self.state.ranks[number];
            let reads = self.queues.waiting(number, RequestKind::Read);
            let hits = self.queues.hits(number, RequestKind::Read);
            soonest = soonest_of(rank, hits, command, 0, soonest, |bank| bank.next_column);
            soonest = soonest_of(rank, reads & !rank.open, command, open, soonest, |bank| bank.next_activate);
            soonest = soonest_of(rank, reads & rank.open & !hits, command, close, soonest, |bank| bank.next_precharge);
        }
        let mut bursts = 1;
        if self.ending[0] == 0 {
            let large = self.transfers.iter().filter(|transfer| transfer.to_serve > 0 && transfer.ends_served());
            bursts = large.map(|transfer| transfer.to_serve).min().unwrap_or(1);
        }
        let first = soonest.max(self.column_at).saturating_add(self.state.gaps.to_end[RequestKind::Read as usize]);
        first.saturating_add(u64::from(bursts - 1) * self.settings.gap_min)
    }

    /// Returns a lower bound for the next request that is done by being served.
    #[inline(never)]
    fn soonest_served(&self, command: u64) -> u64 {
        let first = self.enter_at.min(command).max(self.column_at).saturating_add(self.settings.shortest);
        // Entering reads may have bursts that are forwarded and need no service.
        let forwards =
            self.waiting > self.waiting_writes && self.waiting_writes + self.queues.length(RequestKind::Write) > 0;
        if self.ending[0] > 0 || forwards {
            return first;
        }
        if self.ending[1] == 0 {
            // All requests are done by entering.
            return NEVER;
        }
        let large = self.transfers.iter().filter(|transfer| transfer.to_serve > 0 && transfer.ends_served());
        let bursts = large.map(|transfer| transfer.to_serve).min().unwrap_or(1);
        first.saturating_add(u64::from(bursts.saturating_sub(1)) * self.settings.gap_min)
    }

    /// Returns a lower bound for the next request that is done by entering: writes, and reads of data of a write that
    /// is queued by then.
    #[inline]
    fn soonest_entered(&self, command: u64) -> u64 {
        if self.waiting_writes == 0 && (self.waiting == 0 || self.queues.length(RequestKind::Write) == 0) {
            return NEVER;
        }
        self.soonest_entry(command)
    }

    fn soonest_entry(&self, command: u64) -> u64 {
        let first = self.enter_at.min(command.saturating_add(1));
        // An entering burst may have its command before the currently next one.
        let column = self.enter_at.min(command).max(self.column_at);
        // The first request of a port is done first: its bursts enter one per clock, and those without room after
        // others have left.
        let of = |number: &u32| {
            let transfer = &self.transfers[*number as usize];
            let (left, kind) = (transfer.to_enter, transfer.request.kind);
            let over = left.saturating_sub(self.queues.room(kind));
            // Some reads may need no room.
            let behind = if kind == RequestKind::Write && over > 0 {
                column.saturating_add(1 + u64::from(over - 1) * self.settings.gap_min)
            } else {
                0
            };
            first.saturating_add(u64::from(left) - 1).max(behind)
        };
        self.ports.iter().filter_map(|port| port.front()).map(of).min().unwrap_or(NEVER)
    }
}

/// Returns the earlier of `soonest` and the first column command of any of these `banks`, which comes `after` clocks
/// behind their `next` command. None comes before `command`.
#[inline]
fn soonest_of(
    rank: &Rank,
    mut banks: u64,
    command: u64,
    after: u64,
    mut soonest: u64,
    next: impl Fn(&Bank) -> u64,
) -> u64 {
    // No bank is sooner than one whose command may come first.
    while banks != 0 && soonest > command + after {
        soonest = soonest.min(next(&rank.banks[banks.trailing_zeros() as usize]).max(command) + after);
        banks &= banks - 1;
    }
    soonest
}
