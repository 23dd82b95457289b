//! A transfer beside which the channel has nothing to do: all that it will do is known as long as nothing else comes, since
//! its bursts enter, and are served, at even distances. So it is told when it is done, and nothing is done until then. If
//! something comes before, or time is asked for, what it has done by then is booked at once. Nothing differs but the work.

use sim::Time;

use crate::board::{Choice, RANKS, class};
use crate::channel::{Channel, NEVER};
use crate::command::CommandKind;
use crate::queue::{NONE, burst};
use crate::request::Kind;

/// What is ahead of the one transfer under way. The channel is in the state before all of it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    pub(crate) transfer: u32,
    pub(crate) rank: u32,
    pub(crate) bank: u32,
    pub(crate) row: u32,
    /// The first burst's column.
    pub(crate) first: u32,
    /// [`NEVER`] where the bank need not be closed, or opened.
    pub(crate) precharge: u64,
    pub(crate) activate: u64,
    /// The first column command, and clocks from one to the next.
    pub(crate) column: u64,
    pub(crate) gap: u64,
    /// Bursts that are queued, and those to enter behind them, of which the first may in a cycle.
    pub(crate) held: u32,
    pub(crate) left: u32,
    pub(crate) enter: u64,
    /// Room of the queue.
    pub(crate) most: u32,
    /// From this cycle on nothing is planned.
    pub(crate) limit: u64,
    /// No request is done before.
    pub(crate) at: Time,
    /// The cycle in which the last enters, which a posted write is done with; [`NEVER`] where that is not planned.
    pub(crate) accepted: u64,
    /// The transfer has not taken a place in the queue: of the first burst the plan tells as of one that has.
    pub(crate) early: bool,
    /// `accepted` was told, so that the channel has come there.
    pub(crate) told: bool,
}

impl Plan {
    /// When the burst after `entered` others may enter: one a clock, and of a full queue behind the one that makes room.
    #[inline(always)]
    pub(crate) fn entry(&self, entered: u32) -> u64 {
        let before = (self.held + entered).checked_sub(self.most);
        let room = before.map_or(0, |served| self.column + u64::from(served) * self.gap + 1);
        room.max(self.enter + u64::from(entered))
    }

    /// Bursts that enter one a clock, before the first that waits for room.
    #[inline(always)]
    fn even(&self) -> u32 {
        let room = self.most - self.held;
        match (self.enter + u64::from(room)).checked_sub(self.column + 1) {
            None => room,
            Some(_) if self.gap == 1 => u32::MAX,
            Some(late) => room + (late / (self.gap - 1)) as u32 + 1,
        }
    }

    /// Bursts in the queue when so many have entered: there are never more before.
    #[inline(always)]
    pub(crate) fn longest(&self, entered: u32) -> u64 {
        let served = if entered > 0 { self.columns_before(self.entry(entered - 1)) } else { 0 };
        u64::from(self.held + entered) - served
    }

    /// Column commands before `cycle`, if there were no end of them.
    #[inline(always)]
    fn columns_before(&self, cycle: u64) -> u64 {
        if cycle <= self.column { 0 } else { (cycle - self.column).div_ceil(self.gap) }
    }

    /// Bursts that have entered, and that are served, when `cycle` is over.
    #[inline(always)]
    fn by(&self, cycle: u64) -> (u32, u32) {
        let served = self.columns_before(cycle + 1).min(u64::from(self.held + self.left)) as u32;
        let clocks = (cycle + 1).saturating_sub(self.enter);
        let room = u64::from(self.most - self.held) + self.columns_before(cycle);
        (clocks.min(room).min(self.left.into()) as u32, served)
    }
}

impl Channel {
    /// Plans the transfer under way, if it is the only one, or others wait behind it. What comes next is known.
    #[inline(always)]
    pub(crate) fn plan(&mut self) -> bool {
        // Mostly it can be told at once that more than one bank is wanted.
        let [reads, writes] = self.ranks[0].waiting;
        if (reads | writes) & (reads | writes).wrapping_sub(1) != 0 {
            return false;
        }
        let Choice { cycle, place, .. } = self.next;
        let kind = self.direction;
        if place == Choice::HOUSE || cycle == NEVER || !self.settings.plain_page {
            return false;
        }
        let (rank, number) = (place as usize >> 8, place as usize & 0xff);
        let held = self.queues.length(kind);
        let bank = self.bank(rank, number);
        let entry = bank.head[kind as usize];
        if held != self.ranks[rank].demand || entry == NONE {
            return false;
        }
        let run = self.queues.get(entry);
        if (run.next != NONE || u32::from(run.count) != held) && !self.is_one(entry, held) {
            return false;
        }
        self.make_plan(cycle, kind, rank, number, held)
    }

    /// Whether the bursts of a kind are all of one transfer in a row, from this entry on.
    fn is_one(&self, entry: u8, bursts: u32) -> bool {
        let (mut at, mut count) = (entry, 0);
        let first = self.queues.get(entry);
        while at != NONE {
            let run = self.queues.get(at);
            let follows = u32::from(run.column) == u32::from(first.column) + count;
            if run.transfer != first.transfer || run.row != first.row || !follows {
                return false;
            }
            count += u32::from(run.count);
            at = run.next;
        }
        count == bursts
    }

    #[inline(never)]
    fn make_plan(&mut self, cycle: u64, kind: Kind, rank: usize, number: usize, held: u32) -> bool {
        let k = kind as usize;
        if self.queues.length(Kind::Read) + self.queues.length(Kind::Write) != held {
            return false;
        }
        let bank = *self.bank(rank, number);
        let run = *self.queues.get(bank.head[k]);
        let tail = *self.queues.get(bank.tail[k]);
        let transfer = self.transfers[run.transfer as usize];
        let most = self.queues.room(kind) + held;
        let gap = self.gap_of(kind);
        let mut left = 0;
        if self.waiting > 0 {
            let waits = &self.ports[transfer.request.port as usize];
            let layout = &self.regions[transfer.group as usize].layout;
            let place = layout.place(transfer.burst);
            let in_rank = place.group << self.settings.group_shift | place.bank;
            let goes_on = place.rank as usize == rank
                && in_rank as usize == number
                && tail.row == place.row
                && u32::from(tail.column) + u32::from(tail.count) == place.column;
            let first = waits.front() == Some(&run.transfer) && waits.len() == self.waiting as usize;
            if !first || !goes_on || most < 2 {
                return false;
            }
            left = transfer.to_enter.min(layout.in_row(transfer.burst));
        }
        let t = &self.config.device.timing;
        let group = number >> self.settings.group_shift;
        let board = &self.boards[rank % RANKS];
        let (mut precharge, mut activate, mut column) = (NEVER, NEVER, cycle);
        let (class, _) = board.candidate_of(number);
        if class == class::PRECHARGE {
            precharge = cycle;
            let closed = bank.next_activate.max(cycle + u64::from(t.rp)).max(cycle + u64::from(t.precharge_slots));
            activate = closed.max(board.allows(group, class::ACTIVATE));
        } else if class == class::ACTIVATE {
            activate = cycle;
        }
        if activate != NEVER {
            column = (activate + u64::from(t.rcd.max(t.activate_slots))).max(board.allows(group, k));
        }
        let enter = if held == most { 0 } else { self.enter_at.max(self.room_at[k]) };
        // The queue is never empty before the last has entered.
        if left > 0 && (enter == NEVER || enter > column + u64::from(held - 1) * gap) {
            return false;
        }
        let mut plan = Plan {
            kind,
            transfer: run.transfer,
            rank: rank as u32,
            bank: number as u32,
            row: run.row,
            first: run.column.into(),
            precharge,
            activate,
            column,
            gap,
            held,
            left,
            enter,
            most,
            limit: NEVER,
            at: Time::MAX,
            accepted: NEVER,
            early: false,
            told: false,
        };
        let last = column + u64::from(held + left - 1) * gap;
        // When refresh and rest are looked after is not to change by a plan.
        if last >= self.house_at {
            return false;
        }
        if self.waiting > 1 || left < transfer.to_enter {
            plan.limit = plan.limit.min(plan.entry(left - 1) + 1);
        }
        if plan.limit <= column + gap {
            return false;
        }
        let ends = last < plan.limit && held + left == transfer.to_serve;
        plan.at = if ends && transfer.ends_served() {
            self.data_end(last, kind).max(transfer.end)
        } else {
            self.plan_end(&plan)
        };
        if left > 0 && left == transfer.to_enter && !transfer.ends_served() && plan.entry(left - 1) < plan.limit {
            plan.accepted = plan.entry(left - 1);
            plan.at = self.clock.time(plan.accepted).max(transfer.submitted);
        }
        // Only its bursts wait: what comes behind them goes on with their numbers.
        self.queues.renumber(bank.tail[k]);
        self.plan = plan;
        self.is_planned = true;
        true
    }

    /// When the last is served, or nothing is planned any more: there is no hurry.
    #[inline(always)]
    fn plan_end(&self, plan: &Plan) -> Time {
        let last = plan.column + u64::from(plan.held + plan.left - 1) * plan.gap;
        self.clock.time(plan.limit.min(last + self.settings.shortest))
    }

    /// Time has come to what is told of the plan. A write that has entered is done; nothing else changes by that.
    #[inline(never)]
    pub(crate) fn follow_plan(&mut self, now: Time) {
        if self.plan.accepted != NEVER && !self.plan.told {
            self.plan.told = true;
            if self.plan.early {
                self.finish_early(self.plan.at);
            } else {
                self.finish(self.plan.transfer, self.plan.at);
            }
            self.plan.at = self.plan_end(&self.plan);
        }
        if self.plan.at <= now {
            self.run(self.clock.at_or_before(now));
        }
    }

    /// Books what was planned until `cycle`.
    #[inline(never)]
    pub(crate) fn settle_plan(&mut self, cycle: u64) {
        self.is_planned = false;
        let cycle = if self.plan.told { cycle.max(self.plan.accepted) } else { cycle };
        if self.plan.early {
            if cycle >= self.plan.column + u64::from(self.plan.left) * self.plan.gap {
                self.complete_early();
                return;
            }
            self.queue_early();
        }
        let plan = self.plan;
        let until = cycle.min(plan.limit - 1);
        let (rank, bank) = (plan.rank as usize, plan.bank as usize);
        let (entered, served) = plan.by(until);
        self.open_planned(&plan, until);
        if served > 0 {
            self.leave_queue(&plan, served.min(plan.held));
        }
        if entered > 0 {
            self.enter_planned(&plan, entered, served.saturating_sub(plan.held));
        }
        if served > 0 {
            self.serve_planned(&plan, served);
        }
        if entered > 0 {
            self.floor = self.floor.max(self.enter_next - 1);
            self.now = self.now.max(self.enter_next - 1);
        }
        if entered + served > 0 {
            self.enter_at = match () {
                () if self.waiting == 0 || !self.some_may_enter() => NEVER,
                () if entered < plan.left => plan.entry(entered),
                () => self.enter_next,
            };
        }
        self.consider(rank, bank);
        self.is_next_known = false;
    }

    /// The row is opened as planned, as far as that is due.
    #[inline(always)]
    pub(crate) fn open_planned(&mut self, plan: &Plan, until: u64) {
        let (rank, bank, k) = (plan.rank as usize, plan.bank as usize, plan.kind as usize);
        if plan.precharge <= until {
            self.stats.conflicts += 1;
            self.stats.steps += 1;
            self.now = plan.precharge;
            self.precharge(plan.precharge, rank, bank);
        }
        if plan.activate <= until {
            self.stats.steps += 1;
            self.now = plan.activate;
            self.activate(plan.activate, rank, bank, plan.row);
            self.bank_mut(rank, bank).hit[k] = self.bank(rank, bank).head[k];
        }
    }

    /// The first bursts that were queued leave the queue.
    #[inline(always)]
    fn leave_queue(&mut self, plan: &Plan, mut bursts: u32) {
        let bank = &mut self.boards[plan.rank as usize % RANKS].banks[plan.bank as usize % 64];
        let k = plan.kind as usize;
        self.queues.leave(plan.kind, bursts);
        while bursts > 0 {
            let head = bank.head[k];
            let (count, next) = (u32::from(self.queues.get(head).count), self.queues.get(head).next);
            if bursts < count {
                self.queues.shorten(head, bursts);
                break;
            }
            self.queues.remove(plan.kind, head);
            bank.head[k] = next;
            bursts -= count;
        }
        if bank.head[k] == NONE {
            bank.tail[k] = NONE;
        }
        bank.hit[k] = bank.head[k];
    }

    /// So many bursts enter as planned, of which the first are served already.
    #[inline(always)]
    fn enter_planned(&mut self, plan: &Plan, entered: u32, served: u32) {
        let last = plan.entry(entered - 1);
        if plan.kind == Kind::Write {
            self.draining |= plan.longest(entered) >= u64::from(self.settings.write_high);
        }
        let even = plan.even().min(entered);
        let transfer = &self.transfers[plan.transfer as usize];
        let port = transfer.request.port as usize;
        let column = self.regions[transfer.group as usize].layout.place(transfer.burst).column;
        if served < even {
            self.queue_planned(plan, column + served, plan.entry(served), 1, even - served);
        }
        let later = even.max(served);
        if later < entered {
            self.queue_planned(plan, column + later, plan.entry(later), plan.gap, entered - later);
        }
        self.ranks[plan.rank as usize].demand += entered;
        self.note_entries(last, plan.transfer, entered, plan.told);
        self.next_port = port + 1;
        self.enter_next = last + 1;
        self.stats.steps += u64::from(entered);
    }

    /// Bursts are queued, the first of them in `cycle` and the others `apart` clocks after one another.
    #[inline(always)]
    fn queue_planned(&mut self, plan: &Plan, column: u32, cycle: u64, apart: u64, bursts: u32) {
        let (kind, rank, bank) = (plan.kind, plan.rank as usize, plan.bank as usize);
        let tail = self.bank(rank, bank).tail[kind as usize];
        if tail != NONE && self.queues.join(kind, tail, cycle, apart, bursts) {
            return;
        }
        let entry = self.queues.push(kind, burst(cycle, rank, bank, plan.row, column as u16, plan.transfer));
        self.boards[rank % RANKS].banks[bank % 64].append(&mut self.queues, kind, entry);
        if bursts > 1 {
            let joined = self.queues.join(kind, entry, cycle + apart, apart, bursts - 1);
            debug_assert!(joined, "two distances in {bursts} bursts");
        }
    }

    /// So many column commands as planned, for who keeps them.
    #[cold]
    pub(crate) fn log_planned(&mut self, plan: &Plan, served: u32, id: u64) {
        let command = if plan.kind == Kind::Read { CommandKind::Read } else { CommandKind::Write };
        for burst in 0..served {
            let at = plan.column + u64::from(burst) * plan.gap;
            let place = (plan.row, plan.first + burst);
            self.note(at, command, plan.rank as usize, plan.bank as usize, place, id);
        }
    }

    /// So many column commands as planned.
    #[inline(always)]
    fn serve_planned(&mut self, plan: &Plan, served: u32) {
        let (kind, rank, bank) = (plan.kind, plan.rank as usize, plan.bank as usize);
        let last = plan.column + u64::from(served - 1) * plan.gap;
        if self.log.kept {
            self.log_planned(plan, served, self.transfers[plan.transfer as usize].request.id);
        }
        if self.bank(rank, bank).head[kind as usize] == NONE {
            self.ranks[rank].waiting[kind as usize] &= !(1 << bank);
        }
        self.ranks[rank].demand -= served;
        self.transfer_data::<true>(last, kind, rank, bank, served);
        self.leave_rank(last, rank);
        self.now = last;
        let end = self.data_end(last, kind);
        self.served::<true>(plan.transfer, end, served);
        self.stats.steps += u64::from(served);
    }
}
