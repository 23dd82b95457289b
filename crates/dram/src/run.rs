//! Many bursts of a transfer at once, where each would enter, or be served, as the one before it: nothing else could come
//! between. What comes out is what single steps make, command for command and clock for clock; only the work is less.

use crate::board::{Choice, RANKS};
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
        let Some(next) = self.next_of_run() else { return false };
        let (from, kind) = (self.enter_at, next.kind);
        let clocks = u32::try_from(until - from + 1).unwrap_or(u32::MAX);
        let bursts = next.left.min(next.in_row).min(self.queues.room(kind)).min(clocks);
        if bursts < 2 || from < self.room_at[kind as usize] {
            return false;
        }
        let last = from + u64::from(bursts) - 1;
        if self.next.cycle >= self.queues.overdue_at(self.direction) {
            return false;
        }
        if kind == Kind::Write && self.direction == Kind::Read {
            // So many may turn the bus.
            let full = self.queues.length(kind) + bursts >= self.settings.write_high;
            if full || self.floor.max(last) >= self.queues.overdue_at(kind) {
                return false;
            }
        }
        if !self.queues.join(kind, next.run, from, 1, bursts) {
            return false;
        }
        self.draining |= kind == Kind::Write
            && self.direction == Kind::Write
            && self.queues.length(kind) >= self.settings.write_high;
        self.floor = self.floor.max(last);
        self.ranks[next.rank].demand += bursts;
        self.note_entries(last, next.transfer, bursts);
        self.now = last;
        self.enter_next = last + 1;
        self.stats.steps += u64::from(bursts);
        self.enter_at = if self.some_may_enter() { last + 1 } else { NEVER };
        true
    }

    /// Bursts of a transfer have left its port, the last of them at `cycle`; a posted write is done with its last.
    #[inline(always)]
    pub(crate) fn note_entries(&mut self, cycle: u64, number: u32, bursts: u32) {
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
            if kind == Kind::Write && ack == Ack::Accepted {
                let at = self.clock.time(cycle).max(self.transfers[number as usize].submitted);
                self.finish(number, at);
            }
        }
    }

    /// A burst of the run of `entry` was served at `cycle`, and some are left: serves more of them, but not the last, as
    /// long as nothing else comes between until `until`. Behind each another burst enters, if the queue is full and one
    /// transfer alone waits.
    pub(crate) fn serve_run(&mut self, cycle: u64, until: u64, kind: Kind, rank: usize, number: usize, entry: u8) {
        let k = kind as usize;
        let gap = self.gaps.same_group[k][k].max(self.gaps.same_rank[k][k]).max(self.settings.column_slots);
        let run = *self.queues.get(entry);
        let mut most = u64::from(run.count) - 1;
        let next = if self.waiting > 0 {
            let Some(next) = self.next_of_run() else { return };
            let full = self.queues.room(kind) == 1 && self.room_at[k] == cycle + 1 && self.enter_at == cycle + 1;
            if next.kind != kind || !full || gap < 2 {
                return;
            }
            most = most.min(u64::from(next.left) - 1).min(u64::from(next.in_row));
            Some(next)
        } else {
            None
        };
        let latest = until.min(self.house_at.saturating_sub(1)).min(self.queues.overdue_at(kind).saturating_sub(1));
        most = most.min(latest.saturating_sub(cycle) / gap).min(self.before_turn(cycle, gap, next.is_some()));
        if most == 0 {
            return;
        }
        most = most.min(self.before_others(rank, number).saturating_sub(cycle) / gap);
        let bursts = most as u32;
        if bursts == 0 {
            return;
        }
        if let Some(next) = &next {
            if !self.queues.join(kind, next.run, cycle + 1, gap, bursts) {
                return;
            }
            self.ranks[next.rank].demand += bursts;
        }
        let last = cycle + most * gap;
        if self.log.kept {
            let command = if kind == Kind::Read { CommandKind::Read } else { CommandKind::Write };
            let id = self.transfers[run.transfer as usize].request.id;
            for burst in 0..bursts {
                let at = cycle + u64::from(burst + 1) * gap;
                self.note(at, command, rank, number, (run.row, u32::from(run.column) + burst), id);
            }
        }
        if kind == Kind::Write {
            // As it was looked at after each of them.
            let most = self.queues.length(kind) - if next.is_some() { bursts - 1 } else { 0 };
            self.draining |= most >= self.settings.write_high;
        }
        self.queues.get_mut(entry).shorten(bursts);
        self.queues.leave(kind, bursts);
        self.ranks[rank].demand -= bursts;
        self.transfer_data(last, kind, rank, number, bursts);
        self.consider(rank, number);
        let end = self.data_end(last, kind);
        self.served(run.transfer, end, bursts);
        self.now = last;
        self.stats.steps += most;
        if let Some(next) = &next {
            self.note_entries(last, next.transfer, bursts);
            self.next_port = next.port + 1;
            self.room_at[k] = last + 1;
            self.enter_at = last + 1;
            self.enter_next = last - gap + 2;
            self.stats.steps += most;
        }
    }

    /// How many bursts, `gap` clocks apart, the bus can go on with in its direction before it is to be asked again whether
    /// it should turn. One was just served at `cycle`; `refilled`: for each another enters.
    #[inline(always)]
    fn before_turn(&self, cycle: u64, gap: u64, refilled: bool) -> u64 {
        let s = &self.settings;
        let (reads, writes) = (self.queues.length(Kind::Read), self.queues.length(Kind::Write));
        let least = u64::from(s.turn_min.saturating_sub(self.served));
        if self.direction == Kind::Read {
            return if writes == 0 {
                NEVER
            } else if writes >= s.write_high {
                least
            } else {
                let overdue = self.queues.overdue_at(Kind::Write).saturating_sub(1 + s.column_slots);
                overdue.saturating_sub(cycle) / gap
            };
        }
        if reads == 0 {
            return NEVER;
        }
        if !self.draining && writes < s.write_high {
            return 0;
        }
        let low = match refilled {
            true if writes > s.write_low => u32::MAX,
            _ => writes.saturating_sub(s.write_low),
        };
        least.max(u64::from(s.write_queue.saturating_sub(self.served).min(low)))
    }

    /// Until when no other bank has anything to do: never, if there is a column command that could come as soon as ours.
    #[inline(always)]
    fn before_others(&self, rank: usize, number: usize) -> u64 {
        let mut best = Choice::NONE;
        for (other, (ranks, board)) in self.ranks.iter().zip(self.boards.iter()).enumerate() {
            if !ranks.serves() {
                continue;
            }
            let ours = if other == rank { 1 << number } else { 0 };
            let banks = self.considered(ranks) & !ours;
            if banks & !board.activates & !board.precharges != 0 {
                return 0;
            }
            best = board.soonest(banks, other as u32, best);
        }
        debug_assert!(rank < RANKS);
        best.cycle
    }
}
