//! A read that is the only request of its channel: what it will do is known when it comes, unless something else comes
//! before it is done. Then it takes its place in the queue, as if it had been there from the start; else its commands are
//! issued all at once when its data have arrived. Nothing differs but the work.

use sim::Time;

use crate::bank::CLOSED;
use crate::channel::{Channel, NEVER, Transfer};
use crate::command::CommandKind;
use crate::rank::State;
use crate::request::{Completion, Kind, Request};
use crate::select::class;

/// A lone read, and when its commands come if it stays alone.
#[derive(Clone, Copy)]
pub(crate) struct Alone {
    request: Request,
    submitted: Time,
    arrival: u64,
    group: u32,
    rank: u32,
    bank: u32,
    row: u32,
    column: u32,
    /// [`NEVER`] where the bank need not be closed, or opened.
    precharge: u64,
    activate: u64,
    read: u64,
    /// When its data are there.
    pub(crate) end: Time,
}

impl Channel {
    /// Takes a request of one burst as a lone read, if it is one, nothing else needs its rank meanwhile, and no policy would
    /// do more than its commands.
    #[inline(always)]
    pub(crate) fn take_alone(&mut self, now: Time, arrival: u64, request: &Request, group: u32, first: u64) -> bool {
        if request.kind != Kind::Read || self.has_work() || !self.settings.plain_page || self.direction != Kind::Read {
            return false;
        }
        let place = self.regions[group as usize].layout.place(first);
        let rank = place.rank as usize;
        let number = (place.group << self.settings.group_shift | place.bank) as usize;
        if self.ranks[rank].state != State::Up || arrival < self.enter_next {
            return false;
        }
        let t = &self.config.device.timing;
        let (board, bank) = (&self.boards[rank], self.bank(rank, number));
        let allows = |class| board.allows(place.group as usize, class);
        let mut floor = self.floor.max(arrival);
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
        let read = ready.max(allows(class::READ)).max(floor);
        if read >= self.house_at || read >= arrival + self.settings.age_max {
            return false;
        }
        let end = self.clock.time(read + self.gaps.to_end[0]) + self.settings.latency;
        let (rank, bank) = (place.rank, number as u32);
        let (row, column) = (place.row, place.column);
        let request = *request;
        let alone =
            Alone { request, submitted: now, arrival, group, rank, bank, row, column, precharge, activate, read, end };
        self.alone = Some(alone);
        self.enter_next = arrival + 1;
        self.next_port = request.port as usize + 1;
        self.now = arrival;
        self.port_stats[request.port as usize].bytes[0] += 1 << self.settings.burst_shift;
        true
    }

    /// Time has come to `cycle`, or something else is to come after it: the lone read goes its way.
    pub(crate) fn settle_alone(&mut self, cycle: u64) {
        let Some(alone) = self.alone.take() else { return };
        if cycle >= alone.read {
            let completion = self.serve_alone(&alone);
            self.done.push_back(completion);
        } else {
            self.queue_alone(&alone);
        }
    }

    /// It is not alone any more: it takes its place in the queue.
    #[cold]
    #[inline(never)]
    fn queue_alone(&mut self, alone: &Alone) {
        let transfer = Transfer {
            request: alone.request,
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
        self.queue_up(alone.arrival, Kind::Read, rank, bank, alone.row, alone.column, number);
        self.consider(rank, bank);
        self.is_next_known = false;
    }

    /// Issues its commands.
    #[inline(always)]
    pub(crate) fn serve_alone(&mut self, alone: &Alone) -> Completion {
        let (rank, bank) = (alone.rank as usize, alone.bank as usize);
        self.stats.steps += 2;
        if alone.activate != NEVER {
            if alone.precharge != NEVER {
                self.stats.conflicts += 1;
                self.stats.steps += 1;
                self.precharge(alone.precharge, rank, bank);
            }
            self.stats.steps += 1;
            self.activate(alone.activate, rank, bank, alone.row);
        }
        self.transfer_data(alone.read, Kind::Read, rank, bank);
        let Request { id, port, .. } = alone.request;
        self.note(alone.read, CommandKind::Read, rank, bank, (alone.row, alone.column), id);
        self.now = alone.read;
        self.is_next_known = false;
        self.port_stats[port as usize].note(Kind::Read, alone.end - alone.submitted);
        let rank_kind = self.regions[alone.group as usize].kind;
        Completion { id, port, kind: Kind::Read, rank_kind, submitted: alone.submitted, at: alone.end }
    }
}
