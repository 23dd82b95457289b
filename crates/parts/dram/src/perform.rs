//! Commands, and what each changes.

use sim::Time;

use crate::bank::CLOSED;
use crate::board::{Choice, RANKS, class};
use crate::channel::{Channel, NEVER};
use crate::command::CommandKind;
use crate::queue::NONE;
use crate::rank::State;
use crate::request::Kind;
use crate::select::Do;

#[inline(always)]
pub(crate) fn raise(limit: &mut u64, to: u64) {
    *limit = (*limit).max(to);
}

impl Channel {
    /// Takes the next step, and of a run as many as follow until `until`.
    #[inline(always)]
    pub(crate) fn perform<const FAR: bool>(&mut self, until: u64) {
        debug_assert!(self.next.cycle >= self.now, "a step back from {} to {}", self.now, self.next.cycle);
        let cycle = self.next.cycle;
        self.now = cycle;
        self.is_next_known = false;
        self.stats.steps += 1;
        if self.next.place == Choice::HOUSE {
            self.perform_house(cycle);
            return;
        }
        let (rank, bank) = (self.next.place as usize >> 8, self.next.place as usize & 0xff);
        let (class, entry) = self.boards[rank % RANKS].candidate_of(bank);
        match class {
            class::READ => self.column::<FAR>(cycle, until, Kind::Read, rank, bank, entry),
            class::WRITE => self.column::<FAR>(cycle, until, Kind::Write, rank, bank, entry),
            class::ACTIVATE => {
                self.activate(cycle, rank, bank, self.queues.get(entry).row);
                self.boards[rank % RANKS].banks[bank % 64].find_hits(&self.queues);
                if self.boards[rank % RANKS].prepares(bank) {
                    self.consider(rank, bank);
                } else {
                    self.boards[rank % RANKS].put_column(bank, self.direction);
                }
            }
            _ => {
                self.stats.conflicts += 1;
                self.precharge(cycle, rank, bank);
                self.boards[rank % RANKS].put_activate(bank);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn perform_house(&mut self, cycle: u64) {
        match self.next_house {
            Do::House { kind, rank, bank } => self.house(cycle, kind, rank as usize, bank as usize),
            Do::Block { rank } => {
                self.ranks[rank as usize].blocked = true;
                // No command, but what follows from it comes no earlier.
                self.floor = self.floor.max(cycle);
                self.house_at = 0;
            }
        }
    }

    #[inline(always)]
    pub(crate) fn activate(&mut self, cycle: u64, rank: usize, number: usize, row: u32) {
        let t = &self.config.device.timing;
        let (near, far) = (cycle + u64::from(t.rrd_l), cycle + u64::from(t.rrd_s));
        let (window, slots) = (u64::from(t.faw), u64::from(t.activate_slots));
        let (column, precharge, again) = (u64::from(t.rcd), u64::from(t.ras), u64::from(t.rc));
        let bank = self.bank_mut(rank, number);
        debug_assert_eq!(bank.row, CLOSED, "an open bank is opened");
        bank.row = row;
        bank.used = cycle;
        bank.next_column = cycle + column;
        bank.next_precharge = cycle + precharge;
        bank.next_activate = cycle + again;
        let opened = &mut self.ranks[rank];
        if opened.open == 0 {
            opened.count(cycle);
        }
        opened.open |= 1 << number;
        opened.activity.activates += 1;
        let fifth = opened.fifth_after(cycle + window);
        let group = number >> self.settings.group_shift;
        self.boards[rank % RANKS].set(class::ACTIVATE, far.max(fifth));
        self.boards[rank % RANKS].set_group(group, class::ACTIVATE, near);
        self.floor = cycle + slots;
        self.stats.activates += 1;
        if self.settings.close_after != NEVER {
            self.house_at = self.house_at.min(cycle + self.settings.close_after);
        }
        self.note(cycle, CommandKind::Activate, rank, number, (row, 0), 0);
    }

    #[inline(always)]
    pub(crate) fn precharge(&mut self, cycle: u64, rank: usize, number: usize) {
        let t = &self.config.device.timing;
        let (closing, gap, slots) = (u64::from(t.rp), u64::from(t.ppd), u64::from(t.precharge_slots));
        let bank = self.bank_mut(rank, number);
        bank.row = CLOSED;
        bank.hit = [NONE; 2];
        raise(&mut bank.next_activate, cycle + closing);
        self.close(cycle, rank, 1 << number);
        // Where precharges need no more than their slot, the command bus sees to the gap.
        if gap > slots {
            self.boards[rank % RANKS].hold(class::PRECHARGE, cycle + gap);
        }
        self.floor = cycle + slots;
        self.note(cycle, CommandKind::Precharge, rank, number, (0, 0), 0);
    }

    /// Banks of a rank are closed.
    #[inline(always)]
    pub(crate) fn close(&mut self, cycle: u64, rank: usize, banks: u64) {
        let closed = &mut self.ranks[rank];
        debug_assert_eq!(closed.open & banks, banks, "a closed bank is closed");
        if closed.open == banks {
            closed.count(cycle);
        }
        closed.open &= !banks;
    }

    #[inline(always)]
    fn column<const FAR: bool>(&mut self, cycle: u64, until: u64, kind: Kind, rank: usize, number: usize, entry: u8) {
        let k = kind as usize;
        let waited = self.queues.get(entry);
        let (transfer, count) = (waited.transfer, waited.count);
        debug_assert_eq!(self.bank(rank, number).row, waited.row, "a column command for another row");
        let full = !self.queues.has_room(kind);
        let bank = &mut self.boards[rank % RANKS].banks[number % 64];
        bank.take::<FAR>(&mut self.queues, kind, entry);
        let closes = self.settings.closed_page && bank.hit == [NONE; 2];
        if bank.head[k] == NONE {
            self.ranks[rank].waiting[k] &= !(1 << number);
        }
        if full {
            self.room_at[k] = cycle + 1;
        }
        self.ranks[rank].demand -= 1;
        self.transfer_data::<FAR>(cycle, kind, rank, number, 1);
        self.leave_rank(cycle, rank);
        if self.log.kept {
            let command = match (kind, closes) {
                (Kind::Read, false) => CommandKind::Read,
                (Kind::Read, true) => CommandKind::ReadPrecharge,
                (Kind::Write, false) => CommandKind::Write,
                (Kind::Write, true) => CommandKind::WritePrecharge,
            };
            let id = self.transfers[transfer as usize].request.id;
            // A run has moved on to its next column.
            let served = self.queues.get(entry);
            let place = (served.row, u32::from(served.column) - u32::from(FAR && count > 1));
            self.note(cycle, command, rank, number, place, id);
        }
        if closes {
            self.close_by_itself(rank, number);
        }
        self.consider(rank, number);
        let end = self.data_end(cycle, kind);
        self.served::<FAR>(transfer, end, 1);
        if self.waiting > 0 {
            self.enter_at = self.enter_at.min(cycle + 1);
        }
        if FAR && count > 1 {
            self.serve_run(cycle, until, kind, rank, number, entry);
        }
    }

    /// When the data of a column command are through.
    #[inline(always)]
    pub(crate) fn data_end(&self, cycle: u64, kind: Kind) -> Time {
        let end = self.clock.time(cycle + self.gaps.to_end[kind as usize]);
        if kind == Kind::Read { end + self.settings.latency } else { end }
    }

    /// The last of so many column commands of a bank: what it asks of those after it, and what they count for.
    #[inline(always)]
    pub(crate) fn transfer_data<const FAR: bool>(
        &mut self,
        cycle: u64,
        kind: Kind,
        rank: usize,
        number: usize,
        bursts: u32,
    ) {
        let k = kind as usize;
        let recovered = cycle + self.gaps.to_precharge[k];
        let bank = self.bank_mut(rank, number);
        bank.used = cycle;
        raise(&mut bank.next_precharge, recovered);
        let group = number >> self.settings.group_shift;
        let ([near_read, near_write], [far_read, far_write]) = (self.gaps.same_group[k], self.gaps.same_rank[k]);
        let board = &mut self.boards[rank % RANKS];
        if kind == Kind::Read {
            board.set(class::READ, cycle + far_read);
            board.set_group(group, class::READ, cycle + near_read);
            board.hold(class::WRITE, cycle + far_write);
            board.hold_group(group, class::WRITE, cycle + near_write);
        } else {
            board.hold(class::READ, cycle + far_read);
            board.hold_group(group, class::READ, cycle + near_read);
            board.set(class::WRITE, cycle + far_write);
            board.set_group(group, class::WRITE, cycle + near_write);
        }
        if self.ranks.len() > 1 {
            let [read, write] = self.gaps.other_rank[k];
            for (other, board) in self.boards[..self.ranks.len()].iter_mut().enumerate() {
                if other != rank {
                    board.hold(class::READ, cycle + read);
                    board.hold(class::WRITE, cycle + write);
                }
            }
        }
        let served = &mut self.ranks[rank];
        raise(&mut served.data_end, cycle + self.gaps.to_end[k]);
        if kind == Kind::Read {
            served.activity.reads += u64::from(bursts);
        } else {
            served.activity.writes += u64::from(bursts);
        }
        self.stats.bursts[k] += u64::from(bursts);
        self.served += bursts;
        self.floor = cycle + self.settings.column_slots;
        if FAR {
            self.column_at = cycle + self.settings.gap_min;
        }
    }

    /// A rank was served at `cycle`. If nothing waits for it, it may now be refreshed early, or be put to rest.
    #[inline(always)]
    pub(crate) fn leave_rank(&mut self, cycle: u64, rank: usize) {
        let served = &mut self.ranks[rank];
        if served.demand == 0 {
            served.idle_since = cycle;
            let rest = cycle.saturating_add(self.settings.rest_after);
            self.house_at = self.house_at.min(served.refresh_due).min(rest);
        }
    }

    /// Auto-precharge: the bank closes as soon as it may.
    fn close_by_itself(&mut self, rank: usize, number: usize) {
        let closing = u64::from(self.config.device.timing.rp);
        let bank = self.bank_mut(rank, number);
        let closed = bank.next_precharge;
        bank.row = CLOSED;
        raise(&mut bank.next_activate, closed + closing);
        self.close(closed, rank, 1 << number);
    }

    /// A command to a rank, or a precharge that no request asked for.
    #[cold]
    #[inline(never)]
    pub(crate) fn house(&mut self, cycle: u64, kind: CommandKind, rank: usize, bank: usize) {
        self.house_at = 0;
        if kind == CommandKind::Precharge {
            self.precharge(cycle, rank, bank);
            self.consider(rank, bank);
            return;
        }
        self.command_rank(cycle, kind, rank);
        self.consider_all(rank);
    }

    /// A command to a rank. What its banks would do next is to be considered again, if anything waits for them.
    #[inline(always)]
    pub(crate) fn command_rank(&mut self, cycle: u64, kind: CommandKind, rank: usize) {
        let t = &self.config.device.timing;
        let floor = cycle + u64::from(t.precharge_slots);
        let chosen = &mut self.ranks[rank];
        let mut ready = cycle;
        match kind {
            CommandKind::PrechargeAll => {
                chosen.count(cycle);
                chosen.open = 0;
                // Of a bank that is closed the time to close it begins anew.
                for bank in &mut self.boards[rank % RANKS].banks[..self.settings.banks] {
                    bank.row = CLOSED;
                    bank.hit = [NONE; 2];
                    raise(&mut bank.next_activate, cycle + u64::from(t.rpab));
                }
            }
            CommandKind::Refresh => {
                chosen.activity.refreshes += 1;
                chosen.refresh_due += u64::from(t.refi);
                chosen.blocked = false;
                chosen.refreshed = true;
                ready = cycle + u64::from(t.rfc);
            }
            CommandKind::PowerDown => {
                chosen.count(cycle);
                (chosen.state, chosen.since) = (State::Down, cycle);
            }
            CommandKind::PowerUp => {
                chosen.count(cycle);
                (chosen.state, chosen.since) = (State::Up, cycle);
                ready = cycle + u64::from(t.xp);
            }
            CommandKind::SelfRefresh => {
                chosen.count(cycle);
                (chosen.state, chosen.since) = (State::Asleep, cycle);
            }
            CommandKind::SelfRefreshExit => {
                chosen.count(cycle);
                (chosen.state, chosen.since) = (State::Up, cycle);
                chosen.refreshed = false;
                // It refreshed itself; from here on it is the controller's task again.
                chosen.refresh_due = cycle + u64::from(t.refi);
                ready = cycle + u64::from(t.xs);
            }
            _ => unreachable!("{kind:?} is no command to a rank"),
        }
        raise(&mut chosen.ready, ready);
        for class in [class::READ, class::WRITE, class::ACTIVATE, class::PRECHARGE] {
            self.boards[rank % RANKS].hold(class, ready);
        }
        self.floor = floor;
        self.note(cycle, kind, rank, 0, (0, 0), 0);
    }
}
