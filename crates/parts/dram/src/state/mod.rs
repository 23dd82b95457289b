//! The state of a channel's devices: JEDEC's rules, and the effects of each command. No policy.
//!
//! A controller queries the first cycle of a command ([`ChannelState::commands_for`], [`ChannelState::closing_at`], …) and issues it
//! (`commands.rs`). Every command updates the constraints on later ones, the activity from which energy is computed,
//! and the log.

mod bank;
mod command;
mod commands;
mod constraints;
mod per_rank;
mod power;
mod rank;
#[cfg(test)]
mod tests;

pub(crate) use bank::{BANKS, Bank, CLOSED, PerBank};
pub(crate) use command::Log;
pub use command::{Command, CommandKind};
pub(crate) use constraints::{Constraints, GROUPS, class};
pub(crate) use per_rank::{PerRank, RANKS};
pub use power::{EnergyByUse, PowerState, RankActivity};
pub(crate) use rank::{PowerMode, Rank};

use sim::Time;

use crate::device::{Clock, DecodedAddress, Device, Timing};
use crate::request::{RankKind, RequestKind};
use crate::stats::{BankStats, ChannelStats};
use bank::Gaps;

/// A cycle after every command.
pub(crate) const NEVER: u64 = u64::MAX;

/// The ranks of a channel, their banks, and the command bus.
pub(crate) struct ChannelState {
    pub(crate) timing: Timing,
    pub(crate) clock: Clock,
    pub(crate) gaps: Gaps,
    /// Banks per rank, and the base-2 logarithm of the banks per group.
    pub(crate) banks: usize,
    pub(crate) group_shift: u32,
    pub(crate) ranks: PerRank<Rank>,
    /// The first free cycle of the command bus.
    pub(crate) bus_free: u64,
    /// Cycle of the last step.
    pub(crate) now: u64,
    pub(crate) stats: ChannelStats,
    pub(crate) log: Log,
}

impl ChannelState {
    /// Creates the state of ranks of these kinds at time zero with all banks closed. `refresh` is false if no rank is
    /// refreshed.
    pub(crate) fn new(device: &Device, kinds: &[RankKind], refresh: bool) -> ChannelState {
        let (interval, count) = (u64::from(device.timing.refi), kinds.len() as u64);
        // Staggered, so that no two ranks are refreshed at the same time.
        let due = |rank: usize| interval + interval * rank as u64 / count;
        let rank = |number: usize| {
            let kind = kinds.get(number).copied().unwrap_or_default();
            Rank::new(kind, refresh && kind == RankKind::Dram, due(number))
        };
        let ranks = PerRank::new(kinds.len(), rank);
        ChannelState {
            timing: device.timing,
            clock: device.clock,
            gaps: Gaps::new(device),
            banks: device.banks() as usize,
            group_shift: device.banks_per_group.trailing_zeros(),
            ranks,
            bus_free: 0,
            now: 0,
            stats: ChannelStats::default(),
            log: Log::default(),
        }
    }

    /// Returns the counters of each rank's banks.
    pub(crate) fn bank_stats(&self) -> impl Iterator<Item = BankStats> {
        let places = (0..self.ranks.len()).flat_map(|rank| (0..self.banks).map(move |bank| (rank, bank)));
        places.map(|(rank, bank)| {
            let Bank { bursts, activates, conflicts, .. } = *self.bank(rank, bank);
            BankStats { rank: rank as u32, bank: bank as u32, bursts, activates, conflicts }
        })
    }

    /// Counts a row that is closed because a request needs another one.
    #[inline]
    pub(crate) fn count_conflict(&mut self, rank: usize, bank: usize) {
        self.stats.conflicts += 1;
        self.ranks[rank].banks[bank].conflicts += 1;
    }

    #[inline]
    pub(crate) fn bank(&self, rank: usize, bank: usize) -> &Bank {
        &self.ranks[rank].banks[bank]
    }

    /// Returns a bank's number in its rank.
    pub(crate) fn number_of(&self, place: &DecodedAddress) -> usize {
        (place.group << self.group_shift | place.bank) as usize
    }

    /// Returns the clocks from one column command of a bank to the next of its kind.
    pub(crate) fn column_gap(&self, kind: RequestKind) -> u64 {
        self.gaps.same_bank[kind as usize]
    }

    /// Returns the minimum clocks between two column commands of any banks.
    pub(crate) fn column_gap_min(&self) -> u64 {
        self.gaps.least(self.ranks.len()).max(u64::from(self.timing.column_slots))
    }

    /// Returns the minimum clocks from a column command to the end of its data.
    pub(crate) fn data_min(&self) -> u64 {
        self.gaps.to_end[0].min(self.gaps.to_end[1])
    }

    /// Returns the end of the data of a column command.
    pub(crate) fn data_end(&self, cycle: u64, kind: RequestKind) -> Time {
        self.clock.time(cycle + self.gaps.to_end[kind as usize])
    }

    /// Returns the cycles of the commands for a burst of an otherwise idle channel: precharge and ACT, each [`NEVER`]
    /// if not needed, and the column command. None is before `floor`.
    #[inline(always)]
    pub(crate) fn commands_for(&self, place: &DecodedAddress, kind: RequestKind, mut floor: u64) -> (u64, u64, u64) {
        let (t, rank) = (&self.timing, &self.ranks[place.rank as usize]);
        let bank = &rank.banks[self.number_of(place)];
        let allows = |class| rank.constraints.allows(place.group as usize, class);
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

    /// Returns the first cycle from `cycle` on in which a rank with all banks closed accepts a command to all of them.
    pub(crate) fn closed_at(&self, rank: usize, cycle: u64) -> u64 {
        self.banks_of(rank).iter().fold(cycle, |at, bank| at.max(bank.next_activate))
    }

    /// Returns the first cycle from `cycle` on in which all banks of a rank may be precharged.
    pub(crate) fn closing_at(&self, rank: usize, cycle: u64) -> u64 {
        let limit = self.ranks[rank].constraints.of_rank(class::PRECHARGE);
        self.banks_of(rank).iter().fold(cycle.max(limit), |at, bank| at.max(bank.next_precharge))
    }

    /// Returns the first cycle in which nothing is in progress in a rank: no burst, write recovery, precharge or
    /// refresh.
    pub(crate) fn quiet_at(&self, number: usize) -> u64 {
        let rank = &self.ranks[number];
        let bank = |bank: &Bank| bank.next_activate.max(bank.next_precharge);
        let banks = self.banks_of(number).iter().map(bank).max().unwrap_or(0);
        banks.max(rank.data_end + 1).max(rank.ready)
    }

    /// Returns the first cycle from `cycle` on in which a rank can leave power-down or self-refresh.
    pub(crate) fn exit_at(&self, rank: usize, cycle: u64) -> u64 {
        let (rank, t) = (&self.ranks[rank], &self.timing);
        let rests = if rank.state == PowerMode::Asleep { t.ckesr } else { t.cke };
        cycle.max(self.bus_free).max(rank.ready).max(rank.since + u64::from(rests))
    }

    fn banks_of(&self, rank: usize) -> &[Bank] {
        &self.ranks[rank].banks.0[..self.banks]
    }

    /// Returns per-rank activity, as far as the channel has advanced.
    pub(crate) fn activity(&self, now: Time) -> Vec<RankActivity> {
        let cycle = self.clock.at_or_before(now);
        self.ranks.iter().map(|rank| rank.activity_at(cycle)).collect()
    }

    /// Returns the energy of each rank for its activity. The energy of a device's buffer belongs to the device and is
    /// not included.
    pub(crate) fn energy(&self, device: &Device, activity: &[RankActivity]) -> Vec<EnergyByUse> {
        let of = |(rank, activity): (&Rank, &RankActivity)| match rank.kind {
            RankKind::Dram => activity.energy(device),
            RankKind::Buffer => EnergyByUse::default(),
        };
        self.ranks.iter().zip(activity).map(of).collect()
    }
}
