//! What is served while no read is booked, and what ranks need.

use sim::Time;

use super::InOrder;
use crate::channel::{Channel, NEVER};
use crate::command::CommandKind;
use crate::layout::Place;
use crate::rank::State;
use crate::request::{Ack, Completion, Kind, Request};

/// Refreshes that are issued one by one at most, where nothing else is to be done.
const LONG: u64 = 4;
/// Requests that may be left for later at most, where it makes no difference when they are served.
const LATER: usize = 64;

/// A request of the backlog.
pub(super) struct Pending {
    id: u64,
    submitted: Time,
    /// The cycle it came in.
    arrival: u64,
    /// The next of its bursts, numbered within its group of ranks, and how many are left.
    pub burst: u64,
    pub left: u32,
    /// How many of those lie one behind the other in the row.
    in_row: u32,
    pub group: u32,
    place: Place,
    /// The bank's number in its rank.
    bank: u8,
    port: u8,
    pub kind: Kind,
    /// It is done when its last burst is served.
    ends_served: bool,
}

/// A posted write that is not accepted.
pub(super) struct Posted {
    request: Request,
    submitted: Time,
    /// The cycle it came in.
    arrival: u64,
    group: u32,
    /// So many write bursts are to be served first, of all that ever came.
    after: u64,
}

impl InOrder {
    /// A request joins the backlog. If that is all that was asked for, it is done.
    #[inline(always)]
    pub(super) fn append(
        &mut self,
        now: Time,
        arrival: u64,
        request: Request,
        group: u32,
        burst: u64,
        bursts: u32,
    ) -> Option<Completion> {
        let is_posted = request.kind == Kind::Write && request.ack == Ack::Accepted;
        let after = self.asked.saturating_sub(u64::from(self.channel.settings.write_queue));
        // What waits may go on waiting where nobody can tell.
        let waits = request.ends_served() || (is_posted && after > self.written) || self.backlog.len() >= LATER;
        if waits || self.rests || self.needed_at < arrival {
            self.come_to(arrival);
        }
        let (place, bank, in_row) = self.channel.place_of(group, burst);
        let Request { id, port, kind, .. } = request;
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
            return Some(self.channel.completion(&request, group, now, self.channel.clock.time(arrival)));
        }
        if is_posted {
            self.posted.push_back(Posted { request, submitted: now, arrival, group, after });
        }
        None
    }

    /// Does all that comes before `cycle` and has no need to wait for what may come yet.
    #[inline(always)]
    pub(super) fn come_to(&mut self, cycle: u64) {
        if !self.backlog.is_empty() {
            self.serve(cycle, u32::MAX);
        }
        if self.needed_at < cycle {
            self.look_after_ranks(cycle);
        }
    }

    /// Does what ranks need before `cycle`.
    #[cold]
    #[inline(never)]
    fn look_after_ranks(&mut self, cycle: u64) {
        // What comes again and again in idle time is counted there, not walked through.
        let is_long = self.refresh_at.saturating_add(LONG * self.interval) < cycle;
        if self.backlog.is_empty() && (self.rests || is_long) {
            let floor = self.channel.floor;
            self.channel.is_next_known = false;
            self.channel.idle(cycle - 1);
            // While nothing was needed, reads are still booked between those before.
            if self.channel.floor != floor {
                self.behind = self.channel.floor;
                self.look_for_refresh();
            }
        }
        if self.refresh_at < cycle {
            self.refresh(cycle);
        }
        self.needed_at = if self.rests { self.refresh_at.min(self.channel.house_at) } else { self.refresh_at };
    }

    /// Serves the backlog: its commands before `until`, and `most` of its bursts.
    #[inline(never)]
    pub(super) fn serve(&mut self, until: u64, mut most: u32) {
        while let Some(front) = self.backlog.front()
            && most > 0
        {
            let channel = &mut self.channel;
            let begin = channel.floor.max(front.arrival);
            if begin >= until {
                return;
            }
            let Pending { kind, left, in_row, place, .. } = *front;
            let (rank, bank) = (place.rank as usize, front.bank as usize);
            let (precharge, activate, column) = channel.commands_for(&place, bank, kind, begin);
            let is_up = channel.ranks[rank].state == State::Up;
            let first = if is_up { precharge.min(activate).min(column) } else { channel.exit_at(rank, begin) };
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
                channel.stats.conflicts += 1;
                channel.stats.steps += 1;
                channel.precharge(precharge, rank, bank);
            }
            let before = until.min(self.refresh_at);
            if activate != NEVER {
                if activate >= before {
                    self.follow();
                    continue;
                }
                channel.stats.steps += 1;
                channel.activate(activate, rank, bank, place.row);
            }
            if column >= before {
                self.follow();
                continue;
            }
            let gap = channel.gap_of(kind);
            let mut bursts = left.min(in_row).min(most);
            let mut last = column + u64::from(bursts - 1) * gap;
            if last >= before {
                bursts = ((before - 1 - column) / gap) as u32 + 1;
                last = column + u64::from(bursts - 1) * gap;
            }
            channel.transfer_data::<false>(last, kind, rank, bank, bursts);
            channel.stats.steps += u64::from(bursts);
            if channel.log.kept {
                let command = if kind == Kind::Read { CommandKind::Read } else { CommandKind::Write };
                for number in 0..bursts {
                    let at = column + u64::from(number) * gap;
                    channel.note(at, command, rank, bank, (place.row, place.column + number), front.id);
                }
            }
            most -= bursts;
            self.passed = 0;
            self.leave(last, rank);
            self.follow();
            if kind == Kind::Write {
                self.accept(column, gap, bursts);
            }
            self.move_on(last, bursts);
        }
    }

    /// What is booked from now on comes behind what was issued.
    #[inline(always)]
    fn follow(&mut self) {
        self.behind = self.channel.floor;
        self.channel.now = self.channel.floor - 1;
    }

    /// Bursts of the first of the backlog were served, the last of them at `last`.
    #[inline(always)]
    fn move_on(&mut self, last: u64, bursts: u32) {
        let Some(front) = self.backlog.front_mut() else { return };
        front.burst += u64::from(bursts);
        front.left -= bursts;
        if front.left > 0 {
            front.in_row -= bursts;
            front.place.column += bursts;
            if front.in_row == 0 {
                let (place, bank, in_row) = self.channel.place_of(front.group, front.burst);
                (front.place, front.bank, front.in_row) = (place, bank as u8, in_row);
            }
            return;
        }
        if front.ends_served {
            let Pending { id, port, kind, submitted, group, .. } = *front;
            self.ending -= 1;
            let end = self.channel.data_end(last, kind);
            let completion =
                self.channel.completion(&Request { id, port, kind, ..Request::default() }, group, submitted, end);
            self.channel.tell(completion);
        }
        self.backlog.pop_front();
    }

    /// Write bursts were served, from `column` on, `gap` clocks apart: there is room for others.
    #[inline(always)]
    fn accept(&mut self, column: u64, gap: u64, bursts: u32) {
        let read = Some(self.channel.stats.bursts[Kind::Read as usize]);
        self.channel.stats.turns += u64::from(read != self.read_before);
        self.read_before = read;
        let before = self.written;
        self.written += u64::from(bursts);
        while let Some(Posted { request, submitted, arrival, group, after }) = self.posted.front()
            && *after <= self.written
        {
            let cycle = (column + (after - before - 1) * gap + 1).max(*arrival);
            self.channel.finish_request(request, *group, *submitted, self.channel.clock.time(cycle));
            self.posted.pop_front();
        }
    }

    /// No request of the backlog is done before.
    #[inline(never)]
    pub(super) fn soonest(&self) -> Time {
        let (channel, Some(front)) = (&self.channel, self.backlog.front()) else { return Time::MAX };
        let Pending { kind, left, arrival, .. } = *front;
        let begin = channel.floor.max(arrival);
        let (.., column) = channel.commands_for(&front.place, front.bank as usize, kind, begin);
        let even = u64::from(left.min(front.in_row));
        let after = |bursts: u64| {
            let gap = if bursts <= even { channel.gap_of(kind) } else { channel.settings.gap_min };
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
            served = Some(after(bursts) + channel.settings.shortest);
        }
        accepted.into_iter().chain(served).min().map_or(Time::MAX, |cycle| channel.clock.time(cycle))
    }

    /// Does the refreshes that are due before `until`.
    #[cold]
    #[inline(never)]
    pub(super) fn refresh(&mut self, until: u64) {
        while self.refresh_at < until {
            self.channel.refresh_rank(self.refresh_rank);
            self.behind = self.channel.floor;
            self.look_for_refresh();
        }
    }

    pub(super) fn look_for_refresh(&mut self) {
        let due = |rank: usize| (self.channel.refresh_due(rank), rank);
        self.needed_at = 0;
        (self.refresh_at, self.refresh_rank) = (0..self.channel.ranks.len()).map(due).min().unwrap_or((NEVER, 0));
        self.channel.is_next_known = false;
    }

    /// A rank that something was asked of at `cycle` takes commands again.
    #[cold]
    #[inline(never)]
    pub(super) fn wake(&mut self, cycle: u64, rank: usize) {
        self.channel.floor = self.channel.floor.max(cycle);
        self.channel.ranks[rank].demand = 1;
        while self.channel.ranks[rank].state != State::Up {
            self.channel.step_of(rank);
        }
        self.channel.ranks[rank].demand = 0;
        self.follow();
        // Out of self-refresh it is to be refreshed again.
        self.look_for_refresh();
    }
}

impl Channel {
    /// Where a burst of a group of ranks is, its bank's number in its rank, and how many of those from it on lie one behind
    /// the other in the row.
    #[inline(always)]
    fn place_of(&self, group: u32, burst: u64) -> (Place, usize, u32) {
        let layout = &self.regions[group as usize].layout;
        let place = layout.place(burst);
        (place, self.number_of(&place), layout.in_row(burst))
    }
}
