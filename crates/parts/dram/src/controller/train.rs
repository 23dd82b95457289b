//! Burst trains: requests with evenly spaced bursts, decided as a whole.
//!
//! A request to an idle channel that lies in one row is served by at most one precharge, one ACT and evenly spaced
//! column commands. As long as no other request comes, all their cycles are known on its arrival. Instead of entering a
//! queue, it becomes a [`Train`], whose commands are issued together when their time has come. If another request comes
//! before the last column command, the train is split: what is due is issued, the rest is queued. The state only changes
//! then, so that both ways lead to the same commands in the same cycles.
//!
//! Trains among queued requests are in `queued_train.rs`. BENCH.md shows the gain.

use sim::Time;

use crate::controller::channel::{Channel, Transfer};
use crate::controller::queue::Arrivals;
use crate::controller::requests::Span;
use crate::device::DecodedAddress;
use crate::request::{Ack, Request, RequestKind};
use crate::state::{NEVER, PowerMode};

/// A request that is served as a whole. The channel is in the state before all its commands.
#[derive(Clone, Copy)]
pub(crate) struct Train {
    request: Request,
    submitted: Time,
    /// Cycle of its arrival.
    arrival: u64,
    /// Place of its bursts.
    span: Span,
    place: DecodedAddress,
    /// The bank's number in its rank.
    bank: usize,
    /// Cycles of the precharge and the ACT, or [`NEVER`] if they are not needed.
    precharge: u64,
    activate: u64,
    /// Cycles of the first and the last column command, and the clocks between two of them.
    column: u64,
    last: u64,
    gap: u64,
    /// Number of bursts that the queue has room for.
    room: u32,
    /// True once the acceptance of a posted write has been reported.
    reported: bool,
    /// Time at which the channel must be called next.
    pub(crate) at: Time,
}

impl Train {
    /// Returns true if its request has a completion that was not reported.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.reported && !self.request.is_silent()
    }

    /// Returns true for a read of one burst, whose only future event is the arrival of its data.
    pub(crate) fn is_lone_read(&self) -> bool {
        self.span.bursts == 1 && self.request.kind == RequestKind::Read
    }

    /// Returns the cycle in which a burst would enter the queue: one enters per clock until the queue is full, then one
    /// behind each that is served.
    fn entry(&self, burst: u32) -> u64 {
        let behind = burst.checked_sub(self.room).map_or(0, |served| self.column + u64::from(served) * self.gap + 1);
        behind.max(self.arrival + u64::from(burst))
    }

    /// Returns the first burst that enters behind one that is served, if that is later than one per clock.
    fn first_behind(&self) -> u64 {
        let early = (self.arrival + u64::from(self.room)).saturating_sub(self.column + 1);
        let more = if early == 0 {
            0
        } else {
            early.checked_div(self.gap - 1).map_or(NEVER, |_| early.div_ceil(self.gap - 1))
        };
        more.saturating_add(self.room.into())
    }

    /// Returns the number of bursts in the queue after so many have entered.
    fn queued(&self, entered: u32) -> u32 {
        let waited = self.entry(entered - 1).saturating_sub(self.column);
        entered - waited.div_ceil(self.gap) as u32
    }

    /// Returns the numbers of bursts that are served and that have entered by the end of `cycle`, which is before the last
    /// column command.
    fn progress(&self, cycle: u64) -> (u32, u32) {
        let columns = |cycle: u64| (cycle + 1).saturating_sub(self.column).div_ceil(self.gap);
        let room = u64::from(self.room) + columns(cycle.saturating_sub(1));
        let entered = (cycle + 1).saturating_sub(self.arrival).min(room).min(self.span.bursts.into());
        (columns(cycle) as u32, entered as u32)
    }
}

impl Channel {
    /// Makes a train of a request to an idle channel if all its commands and their cycles are known. Returns true if it
    /// did.
    pub(crate) fn start_train(&mut self, now: Time, arrival: u64, request: &Request, span: Span) -> bool {
        let kind = request.kind;
        let Span { group, burst, bursts } = span;
        let layout = self.requests.layout(group);
        let place = layout.place_apart(burst);
        let room = self.queues.room(kind);
        let rank = &self.state.ranks[place.rank as usize];
        let fits = bursts == 1 || (room >= 2 && layout.in_row(burst) >= bursts);
        if !fits
            || !self.maintenance.rows.keeps_open()
            || rank.state != PowerMode::Up
            || arrival < self.enter_next.max(self.room_at[kind as usize])
        {
            return false;
        }
        let bank = self.state.number_of(&place);
        let (precharge, activate, column) = self.state.commands_for(&place, kind, self.state.bus_free.max(arrival));
        let gap = self.state.column_gap(kind);
        let last = column + u64::from(bursts - 1) * gap;
        // Maintenance would come in between, or the queue would be empty before the last burst has entered.
        if last >= self.maintenance.next_at || (bursts > 1 && column <= arrival) {
            return false;
        }
        let train = self.train.insert(Train {
            request: *request,
            submitted: now,
            arrival,
            span,
            place,
            bank,
            precharge,
            activate,
            column,
            last,
            gap,
            room,
            reported: false,
            at: now,
        });
        let end = if request.ends_served() {
            self.requests.data_end(&self.state, last, kind)
        } else {
            self.state.clock.time(train.entry(bursts - 1))
        };
        train.at = end.max(now);
        true
    }

    /// Advances to `now`: reports the acceptance of a posted write, or ends the train.
    pub(crate) fn follow_train(&mut self, now: Time) {
        let Some(train) = &mut self.train else { return };
        if train.at > now {
            return;
        }
        if !train.request.ends_served() && !train.reported {
            train.reported = true;
            let Train { request, span, submitted, at, last, .. } = *train;
            train.at = self.state.clock.time(last + self.settings.shortest);
            self.requests.finish(&request, span.group, submitted, at);
        }
        // Only the end is left: all commands have been issued.
        if train.at <= now {
            self.complete_train();
        }
    }

    /// Settles the train at the end of `cycle`: completes it if it is over, or splits it so that other commands may come
    /// after that cycle.
    #[inline]
    pub(crate) fn settle_train(&mut self, cycle: u64) {
        if self.train.is_some() {
            self.end_train(cycle);
        }
    }

    fn end_train(&mut self, cycle: u64) {
        match &self.train {
            Some(train) if train.last <= cycle => self.complete_train(),
            Some(_) => self.split_train(cycle),
            None => {}
        }
    }

    /// Issues the commands of a train that was not interrupted.
    #[inline(always)]
    fn complete_train(&mut self) {
        let Some(&Train { request, submitted, span, place, bank, last, reported, at, .. }) = self.train.as_ref() else {
            return;
        };
        self.issue_train(last, span.bursts, span.bursts);
        self.train = None;
        self.maintenance.served(&self.state, last, place.rank as usize, bank, span.bursts);
        if !reported {
            self.requests.finish(&request, span.group, submitted, at);
        }
    }

    /// Issues what is due until `cycle`: these numbers of bursts are served and have entered.
    #[inline(always)]
    fn issue_train(&mut self, cycle: u64, served: u32, entered: u32) {
        let Some(train) = &self.train else { return };
        let &Train { ref request, place, bank, precharge, activate, column, gap, .. } = train;
        let (kind, rank, port, id) = (request.kind, place.rank as usize, request.port, request.id);
        let drains = kind == RequestKind::Write && train.queued(entered) >= self.settings.write_high;
        let entry = train.entry(entered - 1);
        if self.direction != kind {
            (self.direction, self.turned) = (kind, 0);
            if kind == RequestKind::Write {
                self.draining = self.settings.write_high <= 1;
                self.state.stats.turns += 1;
            }
        }
        self.draining |= drains;
        if precharge <= cycle {
            self.state.count_conflict(rank, bank);
            self.state.precharge(precharge, rank, bank);
        }
        if activate <= cycle {
            self.state.activate(activate, rank, bank, place.row);
        }
        if served > 0 {
            let last = column + u64::from(served - 1) * gap;
            self.state.note_columns(kind, (column, gap, served), rank, bank, (place.row, place.column), id);
            self.state.column(last, kind, rank, bank, served);
            self.column_served(last, served);
        }
        self.state.bus_free = self.state.bus_free.max(entry);
        self.state.now = self.state.now.max(entry);
        (self.enter_next, self.next_port) = (entry + 1, port as usize + 1);
        self.state.stats.steps += u64::from(entered);
        self.is_next_known = false;
        self.requests.count(port, kind, entered);
    }

    /// Issues what is due until `cycle` and queues the rest.
    fn split_train(&mut self, cycle: u64) {
        let Some(train) = &mut self.train else { return };
        let mut cycle = cycle;
        if train.reported {
            // Its last burst has entered, and its completion was reported.
            train.request.ack = Ack::Silent;
            cycle = cycle.max(train.entry(train.span.bursts - 1));
        }
        if train.last <= cycle {
            return self.complete_train();
        }
        let train = *train;
        let Train { request, submitted, arrival, span, place, bank, .. } = train;
        let (served, entered) = train.progress(cycle);
        if entered > 0 {
            self.issue_train(cycle, served, entered);
        }
        self.train = None;
        if entered == 0 {
            return self.admit(submitted, arrival, &request, span);
        }
        let (Span { group, burst, bursts }, rank) = (span, place.rank as usize);
        let end = served.checked_sub(1).map_or(submitted, |last| {
            self.requests.data_end(&self.state, train.column + u64::from(last) * train.gap, request.kind)
        });
        let (to_enter, to_serve) = (bursts - entered, bursts - served);
        let burst = burst + u64::from(entered);
        let number =
            self.keep_transfer(Transfer { request, submitted, arrival, burst, to_enter, to_serve, end, group });
        self.queue_train(&train, number, served, entered);
        self.maintenance.ranks[rank].demand += entered - served;
        if self.state.bank(rank, bank).row == place.row {
            self.queues.opened(rank, bank, place.row);
        }
        self.consider(rank, bank);
        if to_enter > 0 {
            self.ports[request.port as usize].push_back(number);
            self.waiting += 1;
            self.waiting_writes += u32::from(request.kind == RequestKind::Write);
            if self.some_may_enter() {
                self.enter_at = train.entry(entered);
            }
        } else if request.kind == RequestKind::Write && request.ack == Ack::Accepted {
            let accepted = self.state.clock.time(train.entry(bursts - 1));
            self.requests.finish(&request, group, submitted, accepted.max(submitted));
        }
    }

    /// Queues the bursts `from..to` of a train as one run, or as two if the queue was full in between.
    fn queue_train(&mut self, train: &Train, transfer: u32, from: u32, to: u32) {
        let kind = train.request.kind;
        let even = train.first_behind().clamp(from.into(), to.into()) as u32;
        let place = DecodedAddress { column: train.place.column + from, ..train.place };
        if even > from {
            let arrivals = Arrivals { cycle: train.entry(from), apart: 1, bursts: even - from };
            self.queues.push_run(kind, arrivals, &place, train.bank, transfer);
        }
        if to > even {
            let arrivals = Arrivals { cycle: train.entry(even), apart: train.gap, bursts: to - even };
            if even > from {
                self.queues.extend_newest(kind, arrivals);
            } else {
                self.queues.push_run(kind, arrivals, &place, train.bank, transfer);
            }
        }
    }
}
