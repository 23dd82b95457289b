//! The effects of commands. `inline(always)` here saves a lone read a tenth of its instructions.

use crate::request::RequestKind;
use crate::state::{CLOSED, ChannelState, Command, CommandKind, PowerMode, class};

fn raise(limit: &mut u64, to: u64) {
    *limit = (*limit).max(to);
}

impl ChannelState {
    /// Issues ACT.
    #[inline(always)]
    pub(crate) fn activate(&mut self, cycle: u64, rank: usize, number: usize, row: u32) {
        let t = &self.timing;
        let opened = &mut self.ranks[rank];
        let bank = &mut opened.banks[number];
        debug_assert_eq!(bank.row, CLOSED, "ACT to an open bank");
        bank.row = row;
        bank.used = cycle;
        bank.activates += 1;
        bank.next_column = cycle + u64::from(t.rcd);
        bank.next_precharge = cycle + u64::from(t.ras);
        bank.next_activate = cycle + u64::from(t.rc);
        if opened.open == 0 {
            opened.count(cycle);
        }
        opened.open |= 1 << number;
        opened.activity.activates += 1;
        let fifth = opened.fifth_after(cycle + u64::from(t.faw));
        opened.constraints.hold(class::ACTIVATE, fifth.max(cycle + u64::from(t.rrd_s)));
        opened.constraints.hold_group(number >> self.group_shift, class::ACTIVATE, cycle + u64::from(t.rrd_l));
        self.bus_free = cycle + u64::from(t.activate_slots);
        self.stats.activates += 1;
        self.step(cycle);
        self.note(cycle, CommandKind::Activate, rank, number, (row, 0), 0);
    }

    /// Issues PRE.
    #[inline(always)]
    pub(crate) fn precharge(&mut self, cycle: u64, rank: usize, number: usize) {
        let t = &self.timing;
        let (gap, slots) = (u64::from(t.ppd), u64::from(t.precharge_slots));
        let bank = &mut self.ranks[rank].banks[number];
        bank.row = CLOSED;
        raise(&mut bank.next_activate, cycle + u64::from(t.rp));
        // If the gap is no longer than the command's slot, the command bus already enforces it.
        if gap > slots {
            self.ranks[rank].constraints.hold(class::PRECHARGE, cycle + gap);
        }
        self.close(cycle, rank, 1 << number);
        self.bus_free = cycle + slots;
        self.step(cycle);
        self.note(cycle, CommandKind::Precharge, rank, number, (0, 0), 0);
    }

    /// Performs the auto-precharge of the last column command: the bank closes as soon as it may.
    pub(crate) fn auto_precharge(&mut self, rank: usize, number: usize) {
        let bank = &mut self.ranks[rank].banks[number];
        let closed = bank.next_precharge;
        bank.row = CLOSED;
        raise(&mut bank.next_activate, closed + u64::from(self.timing.rp));
        self.close(closed, rank, 1 << number);
    }

    /// Records that banks of a rank were closed.
    fn close(&mut self, cycle: u64, rank: usize, banks: u64) {
        let closed = &mut self.ranks[rank];
        debug_assert_eq!(closed.open & banks, banks, "precharge of a closed bank");
        if closed.open == banks {
            closed.count(cycle);
        }
        closed.open &= !banks;
    }

    /// Issues `bursts` column commands of a bank, the last of them at `cycle`. The caller logs them.
    #[inline(always)]
    pub(crate) fn column(&mut self, cycle: u64, kind: RequestKind, rank: usize, number: usize, bursts: u32) {
        let (k, group) = (kind as usize, number >> self.group_shift);
        let served = &mut self.ranks[rank];
        let bank = &mut served.banks[number];
        bank.used = cycle;
        bank.bursts[k] += u64::from(bursts);
        raise(&mut bank.next_precharge, cycle + self.gaps.to_precharge[k]);
        for class in [class::READ, class::WRITE] {
            served.constraints.hold(class, cycle + self.gaps.same_rank[k][class]);
            served.constraints.hold_group(group, class, cycle + self.gaps.same_group[k][class]);
        }
        raise(&mut served.data_end, cycle + self.gaps.to_end[k]);
        match kind {
            RequestKind::Read => served.activity.reads += u64::from(bursts),
            RequestKind::Write => served.activity.writes += u64::from(bursts),
        }
        if self.ranks.len() > 1 {
            let [read, write] = self.gaps.other_rank[k];
            for (other, waits) in self.ranks.iter_mut().enumerate() {
                if other != rank {
                    waits.constraints.hold(class::READ, cycle + read);
                    waits.constraints.hold(class::WRITE, cycle + write);
                }
            }
        }
        self.stats.bursts[k] += u64::from(bursts);
        self.stats.steps += u64::from(bursts);
        self.now = cycle;
        self.bus_free = cycle + u64::from(self.timing.column_slots);
    }

    /// Issues a command to a rank.
    pub(crate) fn command_rank(&mut self, cycle: u64, kind: CommandKind, number: usize) {
        let t = &self.timing;
        let rank = &mut self.ranks[number];
        let mut ready = cycle;
        if kind != CommandKind::Refresh {
            rank.count(cycle);
        }
        match kind {
            CommandKind::PrechargeAll => {
                rank.open = 0;
                // This restarts the precharge time of a bank that was already closed.
                for bank in &mut rank.banks.0[..self.banks] {
                    bank.row = CLOSED;
                    raise(&mut bank.next_activate, cycle + u64::from(t.rpab));
                }
            }
            CommandKind::Refresh => {
                rank.activity.refreshes += 1;
                // Between per-bank refreshes, it also serves for those left in this interval.
                let banks = self.banks as u64;
                rank.refresh_due += u64::from(t.refi) - u64::from(rank.next_bank) * (u64::from(t.refi) / banks);
                rank.next_bank = 0;
                rank.refreshed = true;
                ready = cycle + u64::from(t.rfc);
            }
            CommandKind::PowerDown => (rank.state, rank.since) = (PowerMode::Down, cycle),
            CommandKind::PowerUp => {
                (rank.state, rank.since) = (PowerMode::Up, cycle);
                ready = cycle + u64::from(t.xp);
            }
            CommandKind::SelfRefresh => (rank.state, rank.since) = (PowerMode::Asleep, cycle),
            CommandKind::SelfRefreshExit => {
                (rank.state, rank.since) = (PowerMode::Up, cycle);
                rank.refreshed = false;
                // The rank refreshed itself; from now on refresh is the controller's task again.
                rank.refresh_due = cycle + u64::from(t.refi);
                ready = cycle + u64::from(t.xs);
            }
            _ => unreachable!("{kind:?} is not a command to a rank"),
        }
        raise(&mut rank.ready, ready);
        for class in [class::READ, class::WRITE, class::ACTIVATE, class::PRECHARGE] {
            rank.constraints.hold(class, ready);
        }
        self.bus_free = cycle + u64::from(t.precharge_slots);
        self.step(cycle);
        self.note(cycle, kind, number, 0, (0, 0), 0);
    }

    /// Issues REFsb for the next banks in turn. It is due as often as each bank of a group needs it twice in tREFI
    /// (JESD79-5, fine granularity).
    pub(crate) fn refresh_same_bank(&mut self, cycle: u64, number: usize) {
        let (t, per_group) = (&self.timing, 1 << self.group_shift);
        let rank = &mut self.ranks[number];
        let bank = rank.next_bank;
        for refreshed in rank.banks.0[..self.banks].iter_mut().skip(bank as usize).step_by(per_group) {
            raise(&mut refreshed.next_activate, cycle + u64::from(t.rfc_sb));
        }
        rank.constraints.hold(class::ACTIVATE, cycle + u64::from(t.refsb_rd));
        rank.next_bank = (bank + 1) % per_group as u32;
        rank.next_bank_at = cycle + u64::from(t.rfc_sb);
        rank.refresh_due += u64::from(t.refi) / (2 * per_group as u64);
        rank.refreshed = true;
        rank.activity.same_bank_refreshes += 1;
        self.bus_free = cycle + u64::from(t.precharge_slots);
        self.step(cycle);
        self.note(cycle, CommandKind::RefreshSameBank, number, bank as usize, (0, 0), 0);
    }

    /// Issues REFpb for the next bank in turn. It is due as often as each bank needs it once in tREFI (JESD270-4).
    pub(crate) fn refresh_bank(&mut self, cycle: u64, number: usize) {
        let (t, banks) = (&self.timing, self.banks as u64);
        let rank = &mut self.ranks[number];
        let bank = rank.next_bank;
        raise(&mut rank.banks[bank as usize].next_activate, cycle + u64::from(t.rfc_pb));
        rank.constraints.hold(class::ACTIVATE, cycle + u64::from(t.rrefd));
        rank.next_bank = (bank + 1) % banks as u32;
        rank.next_bank_at = cycle + u64::from(t.rrefd);
        rank.refresh_due += u64::from(t.refi) / banks;
        rank.refreshed = true;
        rank.activity.bank_refreshes += 1;
        self.bus_free = cycle + u64::from(t.precharge_slots);
        self.step(cycle);
        self.note(cycle, CommandKind::RefreshBank, number, bank as usize, (0, 0), 0);
    }

    fn step(&mut self, cycle: u64) {
        self.now = cycle;
        self.stats.steps += 1;
    }

    /// Logs column commands of consecutive columns, if commands are logged: `(cycle, gap, bursts)` are the cycle of the
    /// first, the clocks between two, and their number.
    #[inline]
    pub(crate) fn note_columns(
        &mut self,
        kind: RequestKind,
        (cycle, gap, bursts): (u64, u64, u32),
        rank: usize,
        bank: usize,
        (row, column): (u32, u32),
        request: u64,
    ) {
        if self.log.kept {
            let command = if kind == RequestKind::Read { CommandKind::Read } else { CommandKind::Write };
            for burst in 0..bursts {
                let at = cycle + u64::from(burst) * gap;
                self.note(at, command, rank, bank, (row, column + burst), request);
            }
        }
    }

    /// Logs a command, if commands are logged.
    pub(crate) fn note(
        &mut self,
        cycle: u64,
        kind: CommandKind,
        rank: usize,
        bank: usize,
        (row, column): (u32, u32),
        request: u64,
    ) {
        let shift = self.group_shift;
        let (group, bank) = ((bank >> shift) as u8, (bank & ((1 << shift) - 1)) as u8);
        self.log.note(|| Command { cycle, kind, rank: rank as u8, group, bank, row, column, request });
    }
}
