//! The backlog of requests that are not booked as short reads, and the ranks' maintenance.

use sim::Time;

use super::InOrder;
use crate::controller::requests::Span;
use crate::device::Place;
use crate::request::{Ack, Completion, Kind, Request};
use crate::state::{CommandKind, NEVER, PowerMode};

/// Maximum number of refreshes that are issued one by one while there is no other work.
const LONG: u64 = 4;
/// Maximum number of requests that may be deferred while the time of their service makes no difference.
const LATER: usize = 64;

/// A request of the backlog.
pub(super) struct Pending {
    id: u64,
    submitted: Time,
    /// Cycle of its arrival.
    arrival: u64,
    /// Its next burst, numbered within its group of ranks, and the number of bursts left.
    pub burst: u64,
    pub left: u32,
    /// Number of these bursts that are consecutive in the row.
    in_row: u32,
    pub group: u32,
    place: Place,
    /// The bank's number in its rank.
    bank: u8,
    port: u8,
    pub kind: Kind,
    /// True if it is done when its last burst has been served.
    ends_served: bool,
}

/// A posted write that has not been accepted.
pub(super) struct Posted {
    request: Request,
    submitted: Time,
    /// Cycle of its arrival.
    arrival: u64,
    group: u32,
    /// Total number of write bursts that must have been served before it is accepted.
    after: u64,
}

impl InOrder {
    /// Appends a request to the backlog. Returns its completion if the request is already done.
    pub(super) fn append(
        &mut self,
        now: Time,
        arrival: u64,
        request: &Request,
        Span { group, burst, bursts }: Span,
    ) -> Option<Completion> {
        let is_posted = request.kind == Kind::Write && request.ack == Ack::Accepted;
        let after = self.asked.saturating_sub(u64::from(self.requests.config.write_queue));
        // A request may stay deferred if the difference is not observable.
        let waits = request.ends_served() || (is_posted && after > self.written) || self.backlog.len() >= LATER;
        if waits || self.rests || self.needed_at < arrival {
            self.come_to(arrival);
        }
        let (place, bank, in_row) = self.place_of(group, burst);
        let Request { id, port, kind, .. } = *request;
        self.backlog.push_back(Pending {
            id,
            submitted: now,
            arrival,
            burst,
            left: bursts,
            in_row,
            group,
            place,
            bank: bank as u8,
            port,
            kind,
            ends_served: request.ends_served(),
        });
        self.ending += u32::from(request.ends_served());
        if request.kind == Kind::Write {
            self.asked += u64::from(bursts);
        }
        if is_posted && after <= self.written {
            return Some(self.requests.completion(request, group, now, self.state.clock.time(arrival)));
        }
        if is_posted {
            self.posted.push_back(Posted { request: *request, submitted: now, arrival, group, after });
        }
        None
    }

    /// Performs all work before `cycle` that does not depend on later requests.
    pub(super) fn come_to(&mut self, cycle: u64) {
        if !self.backlog.is_empty() {
            self.serve(cycle, u32::MAX);
        }
        if self.needed_at < cycle {
            self.look_after_ranks(cycle);
        }
    }

    /// Performs the ranks' maintenance before `cycle`.
    fn look_after_ranks(&mut self, cycle: u64) {
        // Repeated maintenance in idle time is counted rather than simulated.
        let is_long = self.refresh_at.saturating_add(LONG * self.interval) < cycle;
        if self.backlog.is_empty() && (self.rests || is_long) {
            let free = self.state.bus_free;
            self.maintenance.idle(&mut self.state, cycle - 1);
            // If there was no maintenance, reads may still be booked between earlier ones.
            if self.state.bus_free != free {
                self.behind = self.state.bus_free;
                self.look_for_refresh();
            }
        }
        if self.refresh_at < cycle {
            self.refresh(cycle);
        }
        self.needed_at = if self.rests { self.refresh_at.min(self.maintenance.next_at) } else { self.refresh_at };
    }

    /// Serves the backlog: commands before `until`, and at most `most` bursts.
    pub(super) fn serve(&mut self, until: u64, mut most: u32) {
        while let Some(front) = self.backlog.front()
            && most > 0
        {
            let state = &mut self.state;
            let begin = state.bus_free.max(front.arrival);
            if begin >= until {
                return;
            }
            let Pending { kind, left, in_row, place, .. } = *front;
            let (rank, bank) = (place.rank as usize, front.bank as usize);
            let (precharge, activate, column) = state.commands_for(&place, kind, begin);
            let is_up = state.ranks[rank].state == PowerMode::Up;
            let first = if is_up { precharge.min(activate).min(column) } else { state.exit_at(rank, begin) };
            if first >= until {
                return;
            }
            if self.refresh_at <= first {
                self.refresh(self.refresh_at + 1);
                continue;
            }
            if !is_up {
                self.wake(begin, rank);
                continue;
            }
            if precharge != NEVER {
                state.stats.conflicts += 1;
                state.precharge(precharge, rank, bank);
            }
            let before = until.min(self.refresh_at);
            if activate != NEVER {
                if activate >= before {
                    self.follow();
                    continue;
                }
                state.activate(activate, rank, bank, place.row);
            }
            if column >= before {
                self.follow();
                continue;
            }
            let gap = state.column_gap(kind);
            let mut bursts = left.min(in_row).min(most);
            let mut last = column + u64::from(bursts - 1) * gap;
            if last >= before {
                bursts = ((before - 1 - column) / gap) as u32 + 1;
                last = column + u64::from(bursts - 1) * gap;
            }
            state.column(last, kind, rank, bank, bursts);
            if state.log.kept {
                let command = if kind == Kind::Read { CommandKind::Read } else { CommandKind::Write };
                for number in 0..bursts {
                    let at = column + u64::from(number) * gap;
                    state.note(at, command, rank, bank, (place.row, place.column + number), front.id);
                }
            }
            most -= bursts;
            self.passed = 0;
            self.leave(last, rank, bank, bursts);
            self.follow();
            if kind == Kind::Write {
                self.accept(column, gap, bursts);
            }
            self.move_on(last, bursts);
        }
    }

    /// Makes later bookings come after the commands issued so far.
    fn follow(&mut self) {
        self.behind = self.state.bus_free;
        self.state.now = self.state.bus_free - 1;
    }

    /// Advances past `bursts` bursts of the first request, the last of which was served at `last`.
    fn move_on(&mut self, last: u64, bursts: u32) {
        let Some(front) = self.backlog.front_mut() else { return };
        front.burst += u64::from(bursts);
        front.left -= bursts;
        if front.left > 0 {
            front.in_row -= bursts;
            front.place.column += bursts;
            if front.in_row == 0 {
                let (group, burst) = (front.group, front.burst);
                let (place, bank, in_row) = self.place_of(group, burst);
                if let Some(front) = self.backlog.front_mut() {
                    (front.place, front.bank, front.in_row) = (place, bank as u8, in_row);
                }
            }
            return;
        }
        if front.ends_served {
            let Pending { id, port, kind, submitted, group, .. } = *front;
            self.ending -= 1;
            let end = self.requests.data_end(&self.state, last, kind);
            let completion =
                self.requests.completion(&Request { id, port, kind, ..Request::default() }, group, submitted, end);
            self.requests.complete(completion);
        }
        self.backlog.pop_front();
    }

    /// Records served write bursts, starting at `column`, `gap` clocks apart, and accepts posted writes that now have
    /// room.
    fn accept(&mut self, column: u64, gap: u64, bursts: u32) {
        let read = Some(self.state.stats.bursts[Kind::Read as usize]);
        self.state.stats.turns += u64::from(read != self.read_before);
        self.read_before = read;
        let before = self.written;
        self.written += u64::from(bursts);
        while let Some(Posted { request, submitted, arrival, group, after }) = self.posted.front()
            && *after <= self.written
        {
            let cycle = (column + (after - before - 1) * gap + 1).max(*arrival);
            self.requests.finish(request, *group, *submitted, self.state.clock.time(cycle));
            self.posted.pop_front();
        }
    }

    /// Returns a lower bound for the next completion of a request in the backlog.
    pub(super) fn soonest(&self) -> Time {
        let (state, Some(front)) = (&self.state, self.backlog.front()) else { return Time::MAX };
        let Pending { kind, left, arrival, .. } = *front;
        let begin = state.bus_free.max(arrival);
        let (.., column) = state.commands_for(&front.place, kind, begin);
        let even = u64::from(left.min(front.in_row));
        let after = |bursts: u64| {
            let gap = if bursts <= even { state.column_gap(kind) } else { state.column_gap_min() };
            column + (bursts - 1) * gap
        };
        let accepted = self.posted.front().map(|posted| (after(posted.after - self.written) + 1).max(posted.arrival));
        let mut served = None;
        if self.ending > 0 {
            let mut bursts = 0;
            for pending in &self.backlog {
                bursts += u64::from(pending.left);
                if pending.ends_served {
                    break;
                }
            }
            served = Some(after(bursts) + state.data_min());
        }
        accepted.into_iter().chain(served).min().map_or(Time::MAX, |cycle| state.clock.time(cycle))
    }

    /// Performs the refreshes due before `until`.
    pub(super) fn refresh(&mut self, until: u64) {
        while self.refresh_at < until {
            self.maintenance.refresh_now(&mut self.state, self.refresh_rank);
            self.behind = self.state.bus_free;
            self.look_for_refresh();
        }
    }

    pub(super) fn look_for_refresh(&mut self) {
        let due = |rank: usize| (self.state.ranks[rank].refresh_due(), rank);
        self.needed_at = 0;
        (self.refresh_at, self.refresh_rank) = (0..self.state.ranks.len()).map(due).min().unwrap_or((NEVER, 0));
    }

    /// Wakes a rank for a request at `cycle`.
    pub(super) fn wake(&mut self, cycle: u64, rank: usize) {
        self.maintenance.wake(&mut self.state, cycle, rank);
        self.follow();
        // After self-refresh, the controller refreshes the rank again.
        self.look_for_refresh();
    }

    /// Returns the place of a burst in a group of ranks, its bank's number in its rank, and the number of consecutive
    /// bursts in the row starting there.
    fn place_of(&self, group: u32, burst: u64) -> (Place, usize, u32) {
        let layout = self.requests.layout(group);
        let place = layout.place(burst);
        (place, self.state.number_of(&place), layout.in_row(burst))
    }
}
