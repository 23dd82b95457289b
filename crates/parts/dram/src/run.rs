//! Many bursts of a transfer at once, where each would enter, or be served, as the one before it: nothing else could come
//! between. What comes out is what single steps make, command for command and clock for clock; only the work is less.

use crate::board::Choice;
use crate::channel::{Channel, NEVER};
use crate::command::CommandKind;
use crate::queue::NONE;
use crate::request::{Ack, Kind};

/// The transfer that alone waits, and where its next burst goes on with a run.
struct Next {
    transfer: u32,
    port: usize,
    rank: usize,
    kind: Kind,
    /// The run that it goes on with.
    run: u8,
    /// Bursts that are to enter, and how many of these are in the run's row.
    left: u32,
    in_row: u32,
}

/// What was done of a run.
struct Bursts {
    served: u32,
    /// Bursts that entered, and when the last of them did.
    entered: u32,
    entered_at: u64,
    /// Bursts that there is room for.
    room: u32,
    /// The queue was full when the last was served.
    full: bool,
}

impl Channel {
    /// The transfer whose bursts alone can enter, if the next goes on with a run and nothing is in its way.
    #[inline(always)]
    fn next_of_run(&self) -> Option<Next> {
        // The one that entered last, beside which no port has anything.
        let port = self.next_port.checked_sub(1)?;
        let waits = &self.ports[port];
        let number = *waits.front()?;
        let transfer = &self.transfers[number as usize];
        if transfer.to_enter < 2 || waits.len() != self.waiting as usize {
            return None;
        }
        let layout = &self.regions[transfer.group as usize].layout;
        let kind = transfer.request.kind;
        let place = layout.place(transfer.burst);
        let number_in_rank = (place.group << self.settings.group_shift | place.bank) as usize;
        let bank = self.bank(place.rank as usize, number_in_rank);
        let run = bank.tail[kind as usize];
        // Behind bursts of the other kind it might have to wait, or be answered from the queue.
        if run == NONE || bank.head[1 - kind as usize] != NONE {
            return None;
        }
        self.goes_on(run, number, place.row, place.column as u16).then(|| Next {
            transfer: number,
            port,
            rank: place.rank as usize,
            kind,
            run,
            left: transfer.to_enter,
            in_row: layout.in_row(transfer.burst),
        })
    }

    /// Lets bursts of a run enter, one a clock, until `until`, which is not after the next command. False if fewer than two
    /// can.
    #[inline]
    pub(crate) fn enter_run(&mut self, until: u64) -> bool {
        if !self.has_long || until <= self.enter_at {
            return false;
        }
        let Some(next) = self.next_of_run() else { return false };
        let (from, kind) = (self.enter_at, next.kind);
        let clocks = u32::try_from(until - from + 1).unwrap_or(u32::MAX);
        let mut bursts = next.left.min(next.in_row).min(self.queues.room(kind)).min(clocks);
        let turns = kind == Kind::Write && self.direction == Kind::Read && self.served >= self.settings.turn_min;
        if turns {
            // So many may turn the bus.
            bursts = bursts.min(self.settings.write_high.saturating_sub(self.queues.length(kind) + 1));
        }
        if bursts < 2 || from < self.room_at[kind as usize] {
            return false;
        }
        let last = from + u64::from(bursts) - 1;
        if self.next.cycle >= self.queues.overdue_at(self.direction) {
            return false;
        }
        if turns && self.floor.max(last) >= self.queues.overdue_at(kind) {
            return false;
        }
        if !self.queues.join(kind, next.run, from, 1, bursts) {
            return false;
        }
        self.draining |= kind == Kind::Write
            && self.direction == Kind::Write
            && self.queues.length(kind) >= self.settings.write_high;
        self.floor = self.floor.max(last);
        self.ranks[next.rank].demand += bursts;
        self.note_entries(last, next.transfer, bursts, false);
        self.now = last;
        self.enter_next = last + 1;
        self.stats.steps += u64::from(bursts);
        self.enter_at = if self.some_may_enter() { last + 1 } else { NEVER };
        true
    }

    /// Bursts of a transfer have left its port, the last of them at `cycle`; a posted write is done with its last, unless
    /// that was told before.
    #[inline(always)]
    pub(crate) fn note_entries(&mut self, cycle: u64, number: u32, bursts: u32, told: bool) {
        let entered = &mut self.transfers[number as usize];
        let crate::request::Request { port, kind, ack, .. } = entered.request;
        entered.burst += u64::from(bursts);
        entered.to_enter -= bursts;
        let last = entered.to_enter == 0;
        self.port_stats[port as usize].bytes[kind as usize] += u64::from(bursts) << self.settings.burst_shift;
        if last {
            self.ports[port as usize].pop_front();
            self.waiting -= 1;
            self.waiting_writes -= u32::from(kind == Kind::Write);
            if kind == Kind::Write && ack == Ack::Accepted && !told {
                let at = self.clock.time(cycle).max(self.transfers[number as usize].submitted);
                self.finish(number, at);
            }
        }
    }

    /// A burst of the run of `entry` was served at `cycle`, and some are left: serves more of them, but not the last, as
    /// long as nothing else comes between until `until`. Meanwhile bursts of the one transfer that waits enter, as there is
    /// room for them.
    pub(crate) fn serve_run(&mut self, cycle: u64, until: u64, kind: Kind, rank: usize, number: usize, entry: u8) {
        let k = kind as usize;
        let gap = self.gap_of(kind);
        if until < cycle + gap {
            return;
        }
        let mut next = None;
        if self.waiting > 0 {
            next = self.next_of_run();
            if next.as_ref().is_none_or(|next| next.kind != kind) || self.enter_at != cycle + 1 {
                return;
            }
        }
        let latest = until.min(self.house_at.saturating_sub(1)).min(self.queues.overdue_at(kind).saturating_sub(1));
        if latest < cycle + gap {
            return;
        }
        let run = *self.queues.get(entry);
        let (alone, older) = self.before_others(rank, number, kind, gap, run.order);
        let most = (latest.min(alone).saturating_sub(cycle) / gap)
            .min(older)
            .min(self.before_turn(cycle, gap))
            .min(u32::MAX.into()) as u32;
        if most == 0 {
            return;
        }
        let (room, mut least) = (self.queues.room(kind), self.queues.room(kind));
        let mut bursts = Bursts { served: 0, entered: 0, entered_at: 0, room, full: false };
        let longest = self.queues.length(kind) + room;
        while self.go_on(&mut bursts, next.as_ref(), kind, entry, (cycle, gap, most)) {
            least = least.min(if bursts.full { 0 } else { bursts.room - 1 });
        }
        if bursts.served == 0 {
            return;
        }
        let last = cycle + u64::from(bursts.served) * gap;
        if self.log.kept {
            let command = if kind == Kind::Read { CommandKind::Read } else { CommandKind::Write };
            let id = self.transfers[run.transfer as usize].request.id;
            for burst in 0..bursts.served {
                let at = cycle + u64::from(burst + 1) * gap;
                self.note(at, command, rank, number, (run.row, u32::from(run.column) + burst), id);
            }
        }
        // As it was looked at after each of them.
        self.draining |= kind == Kind::Write && longest - least >= self.settings.write_high;
        if let Some(next) = &next {
            self.ranks[next.rank].demand += bursts.entered;
        }
        self.ranks[rank].demand -= bursts.served;
        self.transfer_data::<true>(last, kind, rank, number, bursts.served);
        self.leave_rank(last, rank);
        self.consider(rank, number);
        let end = self.data_end(last, kind);
        self.served::<true>(run.transfer, end, bursts.served);
        self.stats.steps += u64::from(bursts.served + bursts.entered);
        self.now = last;
        if let Some(next) = &next {
            if bursts.full {
                self.room_at[k] = last + 1;
            }
            if bursts.entered > 0 {
                self.note_entries(bursts.entered_at, next.transfer, bursts.entered, false);
                self.next_port = next.port + 1;
                self.enter_next = bursts.entered_at + 1;
            }
            self.enter_at = if self.waiting > 0 { last + 1 } else { NEVER };
        }
    }

    /// Serves more bursts of a run, and lets others enter before each, as long as that goes the same way. False if nothing
    /// was done. `cycle` is when the one before all of them was served, `gap` the clocks between two, and `most` so many are
    /// to be served.
    #[inline(always)]
    fn go_on(
        &mut self,
        bursts: &mut Bursts,
        next: Option<&Next>,
        kind: Kind,
        entry: u8,
        (cycle, gap, most): (u64, u64, u32),
    ) -> bool {
        let last = cycle + u64::from(bursts.served) * gap;
        let mut serve = (most - bursts.served).min(u32::from(self.queues.get(entry).count) - 1);
        if serve == 0 {
            return false;
        }
        if let Some(next) = next
            && bursts.entered < next.left
        {
            // What comes after the row, or after the transfer, goes another way; it might enter before the next is served.
            let ends = next.in_row >= next.left && self.waiting == 1;
            let enter = if ends { next.left } else { next.left.min(next.in_row) - 1 };
            let mut enter = enter.saturating_sub(bursts.entered);
            let apart = if bursts.room == 1 {
                // The queue was full: one enters behind each that is served.
                serve = serve.min(enter);
                enter = serve;
                gap
            } else {
                serve = 1;
                let all = bursts.room.min(gap as u32);
                if enter < all && !ends {
                    return false;
                }
                enter = enter.min(all);
                1
            };
            if enter == 0 || !self.queues.join(kind, next.run, last + 1, apart, enter) {
                return false;
            }
            bursts.entered += enter;
            bursts.entered_at = last + 1 + u64::from(enter - 1) * apart;
            bursts.full = bursts.room == 1 || bursts.room == enter;
            bursts.room = if bursts.room == 1 { 1 } else { bursts.room - enter + 1 };
        } else {
            bursts.full = false;
            bursts.room += serve;
        }
        self.queues.shorten(entry, serve);
        self.queues.leave(kind, serve);
        bursts.served += serve;
        true
    }

    /// How many bursts, `gap` clocks apart, the bus can go on with in its direction before it is to be asked again whether
    /// it should turn. One was just served at `cycle`.
    #[inline(always)]
    fn before_turn(&self, cycle: u64, gap: u64) -> u64 {
        let s = &self.settings;
        let (reads, writes) = (self.queues.length(Kind::Read), self.queues.length(Kind::Write));
        let least = u64::from(s.turn_min.saturating_sub(self.served));
        match self.direction {
            Kind::Read if writes == 0 => u32::MAX.into(),
            Kind::Read if writes >= s.write_high => least,
            Kind::Read => {
                let overdue = self.queues.overdue_at(Kind::Write).saturating_sub(1 + s.column_slots);
                (overdue.saturating_sub(cycle) / gap).min(u32::MAX.into())
            }
            Kind::Write if reads == 0 => u32::MAX.into(),
            Kind::Write if !self.draining && writes < s.write_high => 0,
            Kind::Write => {
                let enough = s.write_queue.saturating_sub(self.served).min(writes.saturating_sub(s.write_low));
                least.max(enough.into())
            }
        }
    }

    /// What other banks let a run of column commands of `kind` do, `gap` clocks apart, of which the next is number `order`:
    /// so many of them, and none after a cycle. The column commands of others come after it as long as they are younger and
    /// may come no sooner.
    #[inline(always)]
    fn before_others(&self, rank: usize, number: usize, kind: Kind, gap: u64, order: u64) -> (u64, u64) {
        let (mut best, mut most) = (Choice::NONE, u64::MAX);
        let (k, shift) = (kind as usize, self.settings.group_shift);
        for (other, (ranks, board)) in self.ranks.iter().zip(self.boards.iter()).enumerate() {
            if !ranks.serves() {
                continue;
            }
            let ours = if other == rank { 1 << number } else { 0 };
            let banks = self.considered(ranks) & !ours;
            let mut columns = banks & !board.activates & !board.precharges;
            let apart = if other == rank { self.gaps.same_rank[k][k] } else { self.gaps.other_rank[k][k] };
            while columns != 0 {
                let bank = columns.trailing_zeros() as usize;
                columns &= columns - 1;
                let near = other == rank && bank >> shift == number >> shift;
                let sooner =
                    apart.max(if near { self.gaps.same_group[k][k] } else { self.settings.column_slots }) < gap;
                most = if sooner { 0 } else { most.min(board.key(bank).saturating_sub(order)) };
            }
            best = board.soonest(banks, other as u32, best);
        }
        (best.cycle, most)
    }
}
