//! Burst trains: requests with evenly spaced bursts, decided as a whole.
//!
//! A request to an idle channel that lies in one row is served by at most one precharge, one ACT and evenly spaced
//! column commands. As long as no other request comes, all their cycles are known on its arrival. Instead of entering a
//! queue, it becomes a [`Train`], whose commands are issued together when their time has come. If another request comes
//! before the last column command, the train is undone: its request is enqueued as of its arrival, and the channel
//! catches up step by step. The state only changes then, so that both ways lead to the same commands in the same
//! cycles.
//!
//! BENCH.md shows the gain: a lone page costs less than a tenth of one that is served step by step.

use sim::Time;

use crate::controller::channel::Channel;
use crate::controller::requests::Span;
use crate::device::Place;
use crate::request::{Ack, Kind, Request};
use crate::state::{CommandKind, NEVER, PowerMode};

/// A request that is served as a whole. The channel is in the state before all its commands.
#[derive(Clone, Copy)]
pub(crate) struct Train {
    request: Request,
    submitted: Time,
    /// Cycle of its arrival.
    arrival: u64,
    /// Place of its bursts.
    span: Span,
    place: Place,
    /// The bank's number in its rank.
    bank: usize,
    /// Cycles of the precharge and the ACT, or [`NEVER`] if they are not needed.
    precharge: u64,
    activate: u64,
    /// Cycles of the first and the last column command, and the clocks between two of them.
    column: u64,
    last: u64,
    gap: u64,
    /// Cycle in which the last burst would enter the queue, when a posted write is accepted.
    entered: u64,
    /// True if its writes would fill the queue so far that a drain would begin.
    drains: bool,
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
        self.span.bursts == 1 && self.request.kind == Kind::Read
    }
}

impl Channel {
    /// Makes a train of a request to an idle channel if all its commands and their cycles are known. Returns true if it
    /// did.
    pub(crate) fn start_train(&mut self, now: Time, arrival: u64, request: &Request, span: Span) -> bool {
        let kind = request.kind;
        let Span { group, burst, bursts } = span;
        let layout = self.requests.layout(group);
        let place = layout.place(burst);
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
        // One burst enters per clock until the queue is full, then one after each that is served.
        let behind = bursts.checked_sub(room + 1).map_or(0, |served| column + u64::from(served) * gap + 1);
        let entered = (arrival + u64::from(bursts - 1)).max(behind);
        let end = if request.ends_served() {
            self.requests.data_end(&self.state, last, kind)
        } else {
            self.state.clock.time(entered)
        };
        let served = if entered > column { (entered - column).div_ceil(gap) } else { 0 };
        self.train = Some(Train {
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
            entered,
            drains: kind == Kind::Write && bursts - served as u32 >= self.settings.write_high,
            reported: false,
            at: end.max(now),
        });
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

    /// Settles the train at the end of `cycle`: completes it if it is over, or undoes it so that other commands may
    /// come after that cycle.
    pub(crate) fn settle_train(&mut self, cycle: u64) {
        match &self.train {
            Some(train) if train.last <= cycle => self.complete_train(),
            Some(_) => self.undo_train(),
            None => {}
        }
    }

    /// Issues the commands of a train that was not interrupted.
    #[inline(always)]
    fn complete_train(&mut self) {
        let Some(train) = &self.train else { return };
        let &Train { request, span, place, bank, last, entered, drains, reported, .. } = train;
        let &Train { submitted, precharge, activate, column, gap, at, .. } = train;
        self.train = None;
        let (kind, rank, bursts) = (request.kind, place.rank as usize, span.bursts);
        if self.direction != kind {
            (self.direction, self.turned) = (kind, 0);
            if kind == Kind::Write {
                self.draining = self.settings.write_high <= 1;
                self.state.stats.turns += 1;
            }
        }
        self.draining |= drains;
        if precharge != NEVER {
            self.state.stats.conflicts += 1;
            self.state.precharge(precharge, rank, bank);
        }
        if activate != NEVER {
            self.state.activate(activate, rank, bank, place.row);
        }
        if self.state.log.kept {
            let command = if kind == Kind::Read { CommandKind::Read } else { CommandKind::Write };
            for burst in 0..bursts {
                let at = column + u64::from(burst) * gap;
                self.state.note(at, command, rank, bank, (place.row, place.column + burst), request.id);
            }
        }
        self.state.column(last, kind, rank, bank, bursts);
        self.column_served(last, bursts);
        self.maintenance.served(&self.state, last, rank);
        self.state.bus_free = self.state.bus_free.max(entered);
        self.state.now = last.max(entered);
        (self.enter_next, self.next_port) = (entered + 1, request.port as usize + 1);
        self.state.stats.steps += u64::from(bursts);
        self.is_next_known = false;
        self.requests.count(request.port, kind, bursts);
        if !reported {
            self.requests.finish(&request, span.group, submitted, at);
        }
    }

    /// Enqueues the request as of its arrival.
    fn undo_train(&mut self) {
        let Some(Train { mut request, submitted, arrival, span, entered, reported, .. }) = self.train.take() else {
            return;
        };
        if reported {
            request.ack = Ack::Silent;
        }
        self.admit(submitted, arrival, request, span);
        if reported {
            self.work(entered);
        }
    }
}
