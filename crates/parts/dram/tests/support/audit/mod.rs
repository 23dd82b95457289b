//! An auditor of command streams that checks the states and timing rules of the standards, independently of the
//! controller.
//!
//! It receives one command after another and reports every rule that a command violates. Apart from the timing table,
//! it shares no code with the controller it audits: it records the times of past events and looks back from each
//! command.

pub mod rule;

use dram::{Command, CommandKind, Device, Timing};
use rule::Rule;

/// A command that violates a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The violated rule.
    pub rule: Rule,
    /// The command that came too early or in a wrong state.
    pub command: Command,
    /// For a timing rule, the first cycle that it allows; for [`Rule::Refi`], the last.
    pub allowed: u64,
}

#[derive(Clone, Default)]
struct BankPast {
    row: Option<u32>,
    activate: Option<u64>,
    read: Option<u64>,
    write: Option<u64>,
    /// Time of its last or scheduled precharge, and whether it was a precharge of all banks.
    precharge: Option<(u64, bool)>,
}

#[derive(Clone, Default)]
struct RankPast {
    banks: Vec<BankPast>,
    /// Cycle and group of the last ACTs, most recent first; four at most.
    activates: Vec<(u64, u8)>,
    precharge: Option<u64>,
    refresh: Option<u64>,
    /// The last REFsb of each bank number of a group; empty until the first.
    same_bank: Vec<Option<u64>>,
    /// The last REFpb of each bank, and their number; empty until the first.
    by_bank: Vec<(Option<u64>, u64)>,
    down: Option<u64>,
    asleep: Option<u64>,
    up: Option<u64>,
    woken: Option<u64>,
    /// Last read and write of each bank group.
    read: Vec<Option<u64>>,
    write: Vec<Option<u64>>,
    /// Start of the count of refreshes.
    counted_from: u64,
    refreshes: u64,
}

/// The auditor of one channel.
pub struct Checker {
    t: Timing,
    burst: u64,
    ranks: Vec<RankPast>,
    refreshed: Vec<bool>,
    bus_free: u64,
    command: Command,
    found: Vec<Violation>,
}

impl Checker {
    /// Creates an auditor for a channel of ranks of `device` in the state after reset. `refreshed` tells which ranks
    /// need refresh.
    pub fn new(device: &Device, refreshed: &[bool]) -> Checker {
        let rank = RankPast {
            banks: vec![BankPast::default(); device.banks() as usize],
            read: vec![None; device.bank_groups as usize],
            write: vec![None; device.bank_groups as usize],
            ..RankPast::default()
        };
        Checker {
            t: device.timing,
            burst: u64::from(device.burst_length.div_ceil(device.transfers_per_clock)),
            ranks: vec![rank; refreshed.len()],
            refreshed: refreshed.to_vec(),
            bus_free: 0,
            command: Command::default(),
            found: Vec::new(),
        }
    }

    /// Checks the next command of the stream and appends its violations to `violations`.
    ///
    /// # Panics
    /// Panics if its rank, group or bank does not exist.
    pub fn check(&mut self, command: &Command, violations: &mut Vec<Violation>) {
        self.command = *command;
        self.at_least(Rule::CommandBus, Some(self.bus_free), 0);
        let rank = command.rank as usize;
        self.power(rank);
        self.refresh_gap(rank);
        match command.kind {
            CommandKind::Activate => self.activate(rank),
            CommandKind::Read | CommandKind::ReadPrecharge => self.read(rank),
            CommandKind::Write | CommandKind::WritePrecharge => self.write(rank),
            CommandKind::Precharge => self.precharge(rank, Some(self.bank_number())),
            CommandKind::PrechargeAll => self.precharge(rank, None),
            CommandKind::Refresh => self.refresh(rank),
            CommandKind::RefreshSameBank => self.refresh_same_bank(rank),
            CommandKind::RefreshBank => self.refresh_bank(rank),
            CommandKind::PowerDown => self.power_down(rank),
            CommandKind::SelfRefresh => self.self_refresh(rank),
            CommandKind::PowerUp => self.ranks[rank].up = Some(command.cycle),
            CommandKind::SelfRefreshExit => {
                let rank = &mut self.ranks[rank];
                (rank.woken, rank.counted_from, rank.refreshes) = (Some(command.cycle), command.cycle, 0);
                rank.by_bank.iter_mut().for_each(|(_, refreshes)| *refreshes = 0);
            }
        }
        let slots = match command.kind {
            CommandKind::Activate => self.t.activate_slots,
            CommandKind::Read | CommandKind::ReadPrecharge => self.t.column_slots,
            CommandKind::Write | CommandKind::WritePrecharge => self.t.column_slots,
            _ => self.t.precharge_slots,
        };
        self.bus_free = command.cycle + u64::from(slots);
        violations.append(&mut self.found);
    }

    fn bank_number(&self) -> usize {
        let rank = &self.ranks[self.command.rank as usize];
        self.command.group as usize * (rank.banks.len() / rank.read.len()) + self.command.bank as usize
    }

    /// Requires the command at least `gap` clocks after `past`, if that happened.
    fn at_least(&mut self, rule: Rule, past: Option<u64>, gap: u64) {
        if let Some(past) = past
            && self.command.cycle < past + gap
        {
            self.found.push(Violation { rule, command: self.command, allowed: past + gap });
        }
    }

    fn state(&mut self, rule: Rule, holds: bool) {
        if !holds {
            self.found.push(Violation { rule, command: self.command, allowed: 0 });
        }
    }

    /// Checks that the rank is powered up, or is being woken, and has been for long enough.
    fn power(&mut self, rank: usize) {
        let past = &self.ranks[rank];
        let is_after = |a: Option<u64>, b: Option<u64>| a.is_some() && (b.is_none() || a >= b);
        let (down, asleep) = (is_after(past.down, past.up), is_after(past.asleep, past.woken));
        let (up_at, woken_at, down_at, asleep_at) = (past.up, past.woken, past.down, past.asleep);
        match self.command.kind {
            CommandKind::PowerUp => {
                self.state(Rule::PoweredDown, down && !asleep);
                self.at_least(Rule::Cke, down_at, u64::from(self.t.cke));
            }
            CommandKind::SelfRefreshExit => {
                self.state(Rule::PoweredDown, asleep);
                self.at_least(Rule::CkeSr, asleep_at, u64::from(self.t.ckesr));
            }
            kind => {
                self.state(Rule::PoweredDown, !down && !asleep);
                self.at_least(Rule::Xp, up_at, u64::from(self.t.xp));
                self.at_least(Rule::Xs, woken_at, u64::from(self.t.xs));
                if kind == CommandKind::PowerDown {
                    self.at_least(Rule::Cke, up_at, u64::from(self.t.cke));
                }
            }
        }
    }

    /// Checks at every command that no refresh is missing.
    fn refresh_gap(&mut self, rank: usize) {
        let past = &self.ranks[rank];
        let asleep = past.asleep.is_some() && (past.woken.is_none() || past.asleep > past.woken);
        if !self.refreshed[rank] || asleep || self.command.kind == CommandKind::SelfRefreshExit {
            return;
        }
        let (interval, owed_max) = (u64::from(self.t.refi), u64::from(self.t.refresh_postpone_max));
        if !past.same_bank.is_empty() {
            // Each bank is refreshed twice in tREFI.
            let last = past.same_bank.iter().map(|last| last.unwrap_or(0).max(past.counted_from)).min();
            let latest = last.unwrap_or(0) + (2 * owed_max + 1) * interval / 2;
            if self.command.cycle > latest {
                self.found.push(Violation { rule: Rule::Refi, command: self.command, allowed: latest });
            }
            return;
        }
        let (mut last, mut refreshes) = (past.refresh.unwrap_or(0).max(past.counted_from), past.refreshes);
        if let Some(least) = past.by_bank.iter().map(|(_, refreshes)| *refreshes).min() {
            last = past.by_bank.iter().map(|(at, _)| at.unwrap_or(0).max(last)).min().unwrap_or(last);
            refreshes += least;
        }
        // The refresh due now is not yet postponed.
        let by_count = past.counted_from + (refreshes + owed_max + 2) * interval;
        let latest = (last + (owed_max + 1) * interval).min(by_count);
        if self.command.cycle > latest {
            self.found.push(Violation { rule: Rule::Refi, command: self.command, allowed: latest });
        }
    }

    fn closed_for_long(&mut self, rank: usize, bank: usize) {
        if let Some((precharge, all)) = self.ranks[rank].banks[bank].precharge {
            if all {
                self.at_least(Rule::RpAll, Some(precharge), u64::from(self.t.rpab));
            } else {
                self.at_least(Rule::Rp, Some(precharge), u64::from(self.t.rp));
            }
        }
    }

    fn activate(&mut self, rank: usize) {
        let number = self.bank_number();
        let (cycle, group) = (self.command.cycle, self.command.group);
        let bank = self.ranks[rank].banks[number].clone();
        self.state(Rule::ActivateOpen, bank.row.is_none());
        self.at_least(Rule::Rc, bank.activate, u64::from(self.t.rc));
        self.closed_for_long(rank, number);
        self.at_least(Rule::Rfc, self.ranks[rank].refresh, u64::from(self.t.rfc));
        let own = self.ranks[rank].same_bank.get(self.command.bank as usize).copied().flatten();
        self.at_least(Rule::RfcSb, own, u64::from(self.t.rfc_sb));
        let any = self.ranks[rank].same_bank.iter().copied().max().flatten();
        self.at_least(Rule::RefsbRd, any, u64::from(self.t.refsb_rd));
        let own = self.ranks[rank].by_bank.get(number).and_then(|(at, _)| *at);
        self.at_least(Rule::RfcPb, own, u64::from(self.t.rfc_pb));
        self.at_least(Rule::Rrefd, self.last_by_bank(rank), u64::from(self.t.rrefd));
        for (past, of) in self.ranks[rank].activates.clone() {
            let (rule, gap) = if of == group { (Rule::RrdL, self.t.rrd_l) } else { (Rule::RrdS, self.t.rrd_s) };
            self.at_least(rule, Some(past), u64::from(gap));
        }
        let fourth = self.ranks[rank].activates.get(3).map(|(past, _)| *past);
        self.at_least(Rule::Faw, fourth, u64::from(self.t.faw));
        let past = &mut self.ranks[rank];
        past.activates.insert(0, (cycle, group));
        past.activates.truncate(4);
        let bank = &mut past.banks[number];
        bank.activate = Some(cycle);
        bank.row = Some(self.command.row);
        (bank.read, bank.write) = (None, None);
    }

    fn refresh_same_bank(&mut self, rank: usize) {
        let groups = self.ranks[rank].read.len();
        let per_group = self.ranks[rank].banks.len() / groups;
        for group in 0..groups {
            let number = group * per_group + self.command.bank as usize;
            let is_closed = self.ranks[rank].banks[number].row.is_none();
            self.state(Rule::AllClosed, is_closed);
            self.closed_for_long(rank, number);
        }
        let last = self.ranks[rank].same_bank.iter().copied().max().flatten();
        self.at_least(Rule::RfcSb, last, u64::from(self.t.rfc_sb));
        self.at_least(Rule::Rfc, self.ranks[rank].refresh, u64::from(self.t.rfc));
        let past = &mut self.ranks[rank];
        past.same_bank.resize(per_group, None);
        past.same_bank[self.command.bank as usize] = Some(self.command.cycle);
    }

    fn last_by_bank(&self, rank: usize) -> Option<u64> {
        self.ranks[rank].by_bank.iter().filter_map(|(at, _)| *at).max()
    }

    fn refresh_bank(&mut self, rank: usize) {
        let number = self.bank_number();
        let per_group = self.ranks[rank].banks.len() / self.ranks[rank].read.len();
        let bank = self.ranks[rank].banks[number].clone();
        self.state(Rule::AllClosed, bank.row.is_none());
        self.closed_for_long(rank, number);
        self.at_least(Rule::Rc, bank.activate, u64::from(self.t.rc));
        for (past, of) in self.ranks[rank].activates.clone() {
            let same = usize::from(of) == number / per_group;
            let (rule, gap) = if same { (Rule::RrdL, self.t.rrd_l) } else { (Rule::RrdS, self.t.rrd_s) };
            self.at_least(rule, Some(past), u64::from(gap));
        }
        let own = self.ranks[rank].by_bank.get(number).and_then(|(at, _)| *at);
        self.at_least(Rule::RfcPb, own, u64::from(self.t.rfc_pb));
        self.at_least(Rule::Rrefd, self.last_by_bank(rank), u64::from(self.t.rrefd));
        self.at_least(Rule::Rfc, self.ranks[rank].refresh, u64::from(self.t.rfc));
        let past = &mut self.ranks[rank];
        past.by_bank.resize(past.banks.len(), (None, 0));
        let (at, refreshes) = &mut past.by_bank[number];
        (*at, *refreshes) = (Some(self.command.cycle), *refreshes + 1);
    }

    fn column(&mut self, rank: usize) {
        let bank = self.ranks[rank].banks[self.bank_number()].clone();
        self.state(Rule::RowOpen, bank.row == Some(self.command.row));
        self.at_least(Rule::Rcd, bank.activate, u64::from(self.t.rcd));
    }

    /// Returns the latest end of a read's data on the bus.
    fn read_end(&self, read: u64) -> u64 {
        read + u64::from(self.t.cl) + u64::from(self.t.dqsck) + self.burst
    }

    fn write_end(&self, write: u64) -> u64 {
        write + u64::from(self.t.cwl) + self.burst
    }

    fn read(&mut self, rank: usize) {
        self.column(rank);
        for group in 0..self.ranks[rank].read.len() {
            let same = group == self.command.group as usize;
            let (rule, gap) = if same { (Rule::CcdL, self.t.ccd_l) } else { (Rule::CcdS, self.t.ccd_s) };
            self.at_least(rule, self.ranks[rank].read[group], u64::from(gap));
            let written = self.ranks[rank].write[group].map(|write| self.write_end(write));
            let (rule, gap) = if same { (Rule::WtrL, self.t.wtr_l) } else { (Rule::WtrS, self.t.wtr_s) };
            self.at_least(rule, written, u64::from(self.t.write_lag) + u64::from(gap));
        }
        // Its data may begin at CL.
        self.other_ranks(rank, |checker, read| read.map(|read| checker.read_end(read) - u64::from(checker.t.dqsck)));
        let (number, cycle) = (self.bank_number(), self.command.cycle);
        let past = &mut self.ranks[rank];
        past.read[self.command.group as usize] = Some(cycle);
        past.banks[number].read = Some(cycle);
        self.close_by_itself(rank, CommandKind::ReadPrecharge);
    }

    fn write(&mut self, rank: usize) {
        self.column(rank);
        for group in 0..self.ranks[rank].read.len() {
            let same = group == self.command.group as usize;
            let (rule, gap) = if same { (Rule::CcdLWr, self.t.ccd_l_wr) } else { (Rule::CcdS, self.t.ccd_s) };
            self.at_least(rule, self.ranks[rank].write[group], u64::from(gap));
            let (rule, gap) = if same { (Rule::CcdL, self.t.ccd_l) } else { (Rule::CcdS, self.t.ccd_s) };
            self.at_least(rule, self.ranks[rank].read[group], u64::from(gap));
            // Its data begins at CWL, after the read's data and the bubble.
            if let Some(read) = self.ranks[rank].read[group] {
                let free = read + u64::from(self.t.cl) + self.burst + u64::from(self.t.rtw);
                self.at_least(Rule::Rtw, Some(free.saturating_sub(u64::from(self.t.cwl))), 0);
            }
        }
        self.other_ranks(rank, |checker, read| read.map(|read| checker.read_end(read)));
        let (number, cycle) = (self.bank_number(), self.command.cycle);
        let past = &mut self.ranks[rank];
        past.write[self.command.group as usize] = Some(cycle);
        past.banks[number].write = Some(cycle);
        self.close_by_itself(rank, CommandKind::WritePrecharge);
    }

    /// Checks that the data bus has been free of other ranks' data for tRTRS when this command's data begins.
    fn other_ranks(&mut self, rank: usize, read_end: impl Fn(&Checker, Option<u64>) -> Option<u64>) {
        let reads = matches!(self.command.kind, CommandKind::Read | CommandKind::ReadPrecharge);
        let begins = u64::from(if reads { self.t.cl } else { self.t.cwl });
        for other in (0..self.ranks.len()).filter(|other| *other != rank) {
            let read = self.ranks[other].read.iter().copied().max().flatten();
            let write = self.ranks[other].write.iter().copied().max().flatten();
            let ends = [read_end(self, read), write.map(|write| self.write_end(write))];
            for end in ends.into_iter().flatten() {
                let allowed = (end + u64::from(self.t.rtrs)).saturating_sub(begins);
                self.at_least(Rule::Rtrs, Some(allowed), 0);
            }
        }
    }

    /// Returns the first cycles at which a bank may be precharged, by rule.
    fn recovered(&self, bank: &BankPast) -> [(Rule, Option<u64>); 3] {
        let lag = u64::from(self.t.write_lag) + u64::from(self.t.wr);
        [
            (Rule::Ras, bank.activate.map(|past| past + u64::from(self.t.ras))),
            (Rule::Rtp, bank.read.map(|past| past + u64::from(self.t.rtp))),
            (Rule::Wr, bank.write.map(|past| self.write_end(past) + lag)),
        ]
    }

    fn close_by_itself(&mut self, rank: usize, kind: CommandKind) {
        if self.command.kind == kind {
            let number = self.bank_number();
            let times = self.recovered(&self.ranks[rank].banks[number]);
            let closes = times.into_iter().filter_map(|(_, time)| time).max();
            let bank = &mut self.ranks[rank].banks[number];
            bank.precharge = closes.map(|cycle| (cycle, false));
            bank.row = None;
        }
    }

    fn precharge(&mut self, rank: usize, only: Option<usize>) {
        let cycle = self.command.cycle;
        self.at_least(Rule::Ppd, self.ranks[rank].precharge, u64::from(self.t.ppd));
        self.at_least(Rule::Rfc, self.ranks[rank].refresh, u64::from(self.t.rfc));
        for number in 0..self.ranks[rank].banks.len() {
            if only.is_some_and(|only| only != number) {
                continue;
            }
            if self.ranks[rank].banks[number].row.is_some() {
                for (rule, time) in self.recovered(&self.ranks[rank].banks[number]) {
                    self.at_least(rule, time, 0);
                }
            }
            // For a bank that was already closed, the precharge period also starts at its last precharge (JESD79-3F and
            // -4B, PRECHARGE).
            let bank = &mut self.ranks[rank].banks[number];
            bank.row = None;
            bank.precharge = Some((cycle, only.is_none()));
        }
        self.ranks[rank].precharge = Some(cycle);
    }

    fn all_closed(&mut self, rank: usize) {
        let closed = self.ranks[rank].banks.iter().all(|bank| bank.row.is_none());
        self.state(Rule::AllClosed, closed);
        for bank in 0..self.ranks[rank].banks.len() {
            self.closed_for_long(rank, bank);
        }
        self.at_least(Rule::Rfc, self.ranks[rank].refresh, u64::from(self.t.rfc));
        self.at_least(Rule::RfcPb, self.last_by_bank(rank), u64::from(self.t.rfc_pb));
    }

    fn refresh(&mut self, rank: usize) {
        self.all_closed(rank);
        self.ranks[rank].refresh = Some(self.command.cycle);
        self.ranks[rank].refreshes += 1;
    }

    /// Checks that data transfers have ended and writes have recovered.
    fn at_rest(&mut self, rank: usize) {
        for group in 0..self.ranks[rank].read.len() {
            // RL + BL/2 + 1 and WL + BL/2 + tWR (JESD79-3F and -4B, power-down entry).
            let read = self.ranks[rank].read[group].map(|read| self.read_end(read) + 1);
            self.at_least(Rule::RdPden, read, 0);
            let lag = u64::from(self.t.write_lag) + u64::from(self.t.wr);
            let write = self.ranks[rank].write[group].map(|write| self.write_end(write) + lag);
            self.at_least(Rule::WrPden, write, 0);
        }
    }

    fn power_down(&mut self, rank: usize) {
        self.at_rest(rank);
        self.ranks[rank].down = Some(self.command.cycle);
    }

    fn self_refresh(&mut self, rank: usize) {
        self.all_closed(rank);
        self.at_rest(rank);
        let past = &self.ranks[rank];
        let same_bank = past.same_bank.iter().copied().max().flatten();
        let any = past.refresh.max(same_bank).max(self.last_by_bank(rank));
        let refreshed = past.woken.is_none() || any > past.woken;
        self.state(Rule::RefreshAwake, refreshed);
        self.at_least(Rule::RfcSb, same_bank, u64::from(self.t.rfc_sb));
        self.ranks[rank].asleep = Some(self.command.cycle);
    }
}
