//! A request that comes while its channel has nothing to do, all of it in one row: planned as it comes, before it takes any
//! place in a queue. If nothing else comes before its last burst is served, it never does; else it takes its place as if it
//! had been there from the start.

use sim::Time;

use crate::channel::{Channel, NEVER, Transfer};
use crate::plan::Plan;
use crate::rank::State;
use crate::request::{Kind, Request};

/// A request that is planned and not queued.
#[derive(Clone, Copy, Default)]
pub(crate) struct Early {
    request: Request,
    submitted: Time,
    arrival: u64,
    group: u32,
    /// Its first burst, and how many there are.
    burst: u64,
    bursts: u32,
}

impl Channel {
    /// Takes a request that nothing is beside, if its commands and their times are known.
    #[inline(never)]
    pub(crate) fn take_early(&mut self, now: Time, arrival: u64, request: &Request) -> bool {
        let (group, bursts, burst) = self.locate(request);
        let layout = &self.regions[group as usize].layout;
        let place = layout.place(burst);
        let rank = place.rank as usize;
        let kind = request.kind;
        let most = self.queues.room(kind);
        if !self.settings.plain_page
            || arrival == 0
            || arrival < self.enter_next
            || self.ranks[rank].state != State::Up
            || (bursts > 1 && (most < 2 || layout.in_row(burst) < bursts))
        {
            return false;
        }
        let number = self.number_of(&place);
        let (precharge, activate, column) = self.commands_for(&place, number, kind, self.floor.max(arrival));
        // The queue is not empty before the last has entered.
        if bursts > 1 && column <= arrival {
            return false;
        }
        let gap = self.gap_of(kind);
        let last = column + u64::from(bursts - 1) * gap;
        if last >= self.house_at {
            return false;
        }
        let mut plan = Plan {
            kind,
            early: true,
            rank: place.rank,
            bank: number as u32,
            row: place.row,
            first: place.column,
            precharge,
            activate,
            column,
            gap,
            held: 1,
            left: bursts - 1,
            enter: arrival + 1,
            most,
            limit: NEVER,
            accepted: NEVER,
            ..Plan::default()
        };
        self.early = Early { request: *request, submitted: now, arrival, group, burst, bursts };
        if request.ends_served() {
            plan.at = self.data_end(last, kind).max(now);
        } else {
            plan.accepted = self.early.entered(&plan);
            plan.at = self.clock.time(plan.accepted).max(now);
        }
        self.plan = plan;
        self.is_planned = true;
        true
    }

    /// It is not alone any more: its first burst takes its place in the queue.
    #[inline(never)]
    pub(crate) fn queue_early(&mut self) {
        let Early { request, submitted, arrival, group, burst, bursts } = self.early;
        let (kind, port) = (request.kind, request.port as usize);
        let transfer = Transfer {
            request,
            submitted,
            arrival,
            burst: burst + 1,
            to_enter: bursts - 1,
            to_serve: bursts,
            end: submitted,
            group,
        };
        let number = self.keep_transfer(transfer);
        if bursts > 1 {
            self.ports[port].push_back(number);
            self.waiting += 1;
            self.waiting_writes += u32::from(kind == Kind::Write);
            self.enter_at = arrival + 1;
        } else if !request.ends_served() && !self.plan.told {
            self.finish(number, self.plan.at);
        }
        self.note_early(arrival, 1);
        let (rank, bank) = (self.plan.rank as usize, self.plan.bank as usize);
        self.floor = self.floor.max(arrival);
        self.queue_up::<true>(arrival, kind, rank, bank, self.plan.row, self.plan.first as u16, number);
        self.consider(rank, bank);
        self.is_next_known = false;
        // The bus turns now.
        self.peek();
        self.plan.early = false;
        self.plan.transfer = number;
    }

    /// Nothing else came: all of it is done.
    #[inline(always)]
    pub(crate) fn complete_early(&mut self) {
        let (plan, early) = (self.plan, self.early);
        let (kind, rank, bank, bursts) = (plan.kind, plan.rank as usize, plan.bank as usize, early.bursts);
        let last = plan.column + u64::from(bursts - 1) * plan.gap;
        let entered = early.entered(&plan);
        let full = kind == Kind::Write && plan.longest(plan.left) >= u64::from(self.settings.write_high);
        if self.direction != kind {
            self.turn_early(kind);
        }
        self.draining |= full;
        self.open_planned(&plan, last);
        self.note_early(entered, bursts);
        if self.log.kept {
            self.log_planned(&plan, bursts, early.request.id);
        }
        self.transfer_data::<true>(last, kind, rank, bank, bursts);
        self.leave_rank(last, rank);
        self.floor = self.floor.max(entered);
        self.now = last;
        self.stats.steps += u64::from(bursts);
        self.is_next_known = false;
        if !plan.told {
            self.finish_early(plan.at);
        }
    }

    /// As the bus turns for a burst that is alone.
    #[inline(always)]
    fn turn_early(&mut self, direction: Kind) {
        if direction == Kind::Write {
            self.draining = self.settings.write_high <= 1;
            self.stats.turns += 1;
        }
        self.direction = direction;
        self.served = 0;
    }

    /// So many bursts have entered, the last of them at `cycle`.
    #[inline(always)]
    fn note_early(&mut self, cycle: u64, bursts: u32) {
        let Request { port, kind, .. } = self.early.request;
        self.now = cycle;
        self.enter_next = cycle + 1;
        self.next_port = port as usize + 1;
        self.stats.steps += u64::from(bursts);
        self.port_stats[port as usize].bytes[kind as usize] += u64::from(bursts) << self.settings.burst_shift;
    }

    /// Notes that it is done.
    pub(crate) fn finish_early(&mut self, at: Time) {
        let Early { request, submitted, group, .. } = self.early;
        self.finish_request(&request, group, submitted, at);
    }

    /// When it came.
    pub(crate) fn early_arrival(&self) -> u64 {
        self.early.arrival
    }
}

impl Early {
    /// When its last burst enters.
    #[inline(always)]
    fn entered(&self, plan: &Plan) -> u64 {
        if self.bursts > 1 { plan.entry(self.bursts - 2) } else { self.arrival }
    }
}
