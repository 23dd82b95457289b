//! A read that is the only request of its channel: what it will do is known when it comes, unless something else comes
//! before it is done. Then it takes its place in the queue, as if it had been there from the start; else its commands are
//! issued all at once when its data have arrived. Nothing differs but the work.

use sim::Time;

use crate::bank::CLOSED;
use crate::board::{RANKS, class};
use crate::channel::{Channel, NEVER, Transfer};
use crate::command::CommandKind;
use crate::layout::Place;
use crate::rank::State;
use crate::request::{Completion, Kind, Request};

/// A lone read, and when its commands come if it stays alone.
#[derive(Clone, Copy, Default)]
pub(crate) struct Alone {
    id: u64,
    submitted: Time,
    arrival: u64,
    group: u32,
    rank: u32,
    bank: u32,
    row: u32,
    column: u32,
    port: u8,
    /// [`NEVER`] where the bank need not be closed, or opened.
    precharge: u64,
    activate: u64,
    read: u64,
    /// When its data are there.
    pub(crate) end: Time,
}

impl Channel {
    /// Takes a read of one burst, beside which there is no work, as a lone one, if nothing else needs its rank meanwhile and
    /// no policy would do more than its commands.
    #[inline(always)]
    pub(crate) fn take_alone(&mut self, now: Time, arrival: u64, request: &Request, group: u32, first: u64) -> bool {
        if !self.settings.plain_page || self.direction != Kind::Read {
            return false;
        }
        let place = self.regions[group as usize].layout.place(first);
        let rank = place.rank as usize;
        let number = self.number_of(&place);
        if self.ranks[rank].state != State::Up || arrival < self.enter_next {
            return false;
        }
        let (precharge, activate, read) = self.commands_for(&place, number, Kind::Read, self.floor.max(arrival));
        if read >= self.house_at || read >= arrival + self.settings.age_max {
            return false;
        }
        let end = self.clock.time(read + self.gaps.to_end[0]) + self.settings.latency;
        self.is_alone = true;
        self.alone = Alone {
            id: request.id,
            submitted: now,
            arrival,
            group,
            rank: place.rank,
            bank: number as u32,
            row: place.row,
            column: place.column,
            port: request.port,
            precharge,
            activate,
            read,
            end,
        };
        self.enter_next = arrival + 1;
        self.next_port = request.port as usize + 1;
        self.now = arrival;
        self.port_stats[request.port as usize].bytes[0] += 1 << self.settings.burst_shift;
        true
    }

    /// When the commands come for a burst that nothing is beside: precharge and ACT, each [`NEVER`] where there is none, and
    /// the column command. None comes before `floor`.
    #[inline(always)]
    pub(crate) fn commands_for(&self, place: &Place, number: usize, kind: Kind, mut floor: u64) -> (u64, u64, u64) {
        let t = &self.config.device.timing;
        let (board, bank) = (&self.boards[place.rank as usize % RANKS], self.bank(place.rank as usize, number));
        let allows = |class| board.allows(place.group as usize, class);
        let (mut precharge, mut activate, mut ready) = (NEVER, NEVER, bank.next_column);
        if bank.row != place.row {
            let mut closed = bank.next_activate;
            if bank.row != CLOSED {
                precharge = bank.next_precharge.max(allows(class::PRECHARGE)).max(floor);
                closed = closed.max(precharge + u64::from(t.rp));
                floor = precharge + u64::from(t.precharge_slots);
            }
            activate = closed.max(allows(class::ACTIVATE)).max(floor);
            ready = activate + u64::from(t.rcd);
            floor = activate + u64::from(t.activate_slots);
        }
        (precharge, activate, ready.max(allows(kind as usize)).max(floor))
    }

    /// Time has come to `cycle`, or something else is to come after it: the lone read goes its way.
    pub(crate) fn settle_alone(&mut self, cycle: u64) {
        if cycle >= self.alone.read {
            let completion = self.serve_alone();
            self.done.insert(completion);
        } else {
            self.queue_alone();
        }
    }

    /// It is not alone any more: it takes its place in the queue.
    #[cold]
    #[inline(never)]
    fn queue_alone(&mut self) {
        self.is_alone = false;
        let alone = self.alone;
        let transfer = Transfer {
            request: Request { id: alone.id, port: alone.port, ..Request::default() },
            submitted: alone.submitted,
            arrival: alone.arrival,
            burst: 0,
            to_enter: 0,
            to_serve: 1,
            end: alone.submitted,
            group: alone.group,
        };
        let number = self.keep_transfer(transfer);
        self.stats.steps += 1;
        self.floor = self.floor.max(alone.arrival);
        let (rank, bank) = (alone.rank as usize, alone.bank as usize);
        self.queue_up::<true>(alone.arrival, Kind::Read, rank, bank, alone.row, alone.column as u16, number);
        self.consider(rank, bank);
        self.is_next_known = false;
    }

    /// Issues its commands.
    #[inline(always)]
    pub(crate) fn serve_alone(&mut self) -> Completion {
        self.is_alone = false;
        let Alone { id, port, rank, bank, row, column, precharge, activate, read, end, submitted, group, .. } =
            self.alone;
        let (rank, bank) = (rank as usize, bank as usize);
        self.stats.steps += 2;
        if activate != NEVER {
            if precharge != NEVER {
                self.stats.conflicts += 1;
                self.stats.steps += 1;
                self.precharge(precharge, rank, bank);
            }
            self.stats.steps += 1;
            self.activate(activate, rank, bank, row);
        }
        self.transfer_data::<false>(read, Kind::Read, rank, bank, 1);
        self.leave_rank(read, rank);
        self.note(read, CommandKind::Read, rank, bank, (row, column), id);
        self.now = read;
        self.is_next_known = false;
        self.port_stats[port as usize].note(Kind::Read, end - submitted);
        let rank_kind = self.regions[group as usize].kind;
        Completion { id, port, kind: Kind::Read, rank_kind, submitted, at: end }
    }
}
