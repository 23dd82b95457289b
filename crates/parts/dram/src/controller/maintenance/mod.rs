//! Maintenance: commands that do not serve requests. Each policy, in a file of its own, proposes its next command, and
//! the earliest is issued.

mod bank_refresh;
mod idle;
mod need;
mod power_management;
mod refresh;
mod row_policy;

pub(crate) use need::{Need, Step};
pub use refresh::RefreshMode;
pub use row_policy::PagePolicy;

use sim::Time;

use crate::controller::Config;
use crate::state::{ChannelState, CommandKind, PerRank, PowerMode};
use need::RankUse;
use power_management::PowerManagement;
use refresh::Refresh;
use row_policy::RowPolicy;

/// Refresh, power management and row policy of a channel.
pub(crate) struct Maintenance {
    refresh: Refresh,
    power: PowerManagement,
    pub(crate) rows: RowPolicy,
    pub(crate) ranks: PerRank<RankUse>,
    /// No maintenance is due before this cycle. Every change of state that makes maintenance due earlier lowers it.
    pub(crate) next_at: u64,
}

impl Maintenance {
    pub(crate) fn new(config: &Config) -> Maintenance {
        let in_clocks = |span: Time| config.device.clock.at_or_after(span);
        Maintenance {
            refresh: Refresh::new(config),
            power: PowerManagement::new(config.power_down_after, config.self_refresh_after, in_clocks),
            rows: RowPolicy::new(config.page, in_clocks),
            ranks: PerRank::new(config.rank_count(), |_| RankUse::default()),
            next_at: 0,
        }
    }

    /// Returns a bit for each bank of a rank for which requests may be served.
    pub(crate) fn serves(&self, state: &ChannelState, rank: usize) -> u64 {
        if state.ranks[rank].state == PowerMode::Up { !self.ranks[rank].blocked } else { 0 }
    }

    /// Returns the first need of any rank. `in_use` returns for a rank a bit for each bank whose row queued requests
    /// need.
    pub(crate) fn first(&mut self, state: &ChannelState, in_use: impl Fn(usize) -> u64) -> Need {
        let mut first = Need::NOTHING;
        for rank in 0..state.ranks.len() {
            first = first.or(self.need(state, rank, &in_use));
        }
        self.next_at = first.cycle;
        first
    }

    /// Returns the next need of a rank.
    fn need(&self, state: &ChannelState, number: usize, in_use: &impl Fn(usize) -> u64) -> Need {
        let (rank, usage) = (&state.ranks[number], &self.ranks[number]);
        if rank.state != PowerMode::Up {
            return self.power.exit(state, number, usage);
        }
        let floor = state.bus_free.max(rank.ready);
        let need = self.refresh.next(state, number, floor, usage);
        let need = need.or(self.power.next(state, number, floor, usage));
        if usage.blocked != 0 { need } else { need.or(self.rows.next(state, number, floor, in_use(number))) }
    }

    /// Performs a step at its cycle.
    pub(crate) fn perform(&mut self, state: &mut ChannelState, need: Need) {
        self.next_at = 0;
        match need.step {
            Step::Block { rank, banks } => {
                self.ranks[rank as usize].blocked = banks;
                // This is no command, but its consequences come no earlier.
                state.bus_free = state.bus_free.max(need.cycle);
                state.now = need.cycle;
            }
            Step::Command { kind: CommandKind::Precharge, rank, bank } => {
                state.precharge(need.cycle, rank as usize, bank as usize);
            }
            Step::Command { kind: CommandKind::RefreshSameBank, rank, .. } => {
                state.refresh_same_bank(need.cycle, rank as usize);
                self.ranks[rank as usize].blocked = 0;
            }
            Step::Command { kind: CommandKind::RefreshBank, rank, .. } => {
                state.refresh_bank(need.cycle, rank as usize);
                self.ranks[rank as usize].blocked = 0;
            }
            Step::Command { kind, rank, .. } => {
                state.command_rank(need.cycle, kind, rank as usize);
                if kind == CommandKind::Refresh {
                    self.ranks[rank as usize].blocked = 0;
                }
            }
        }
    }

    /// Records that a row was opened at `cycle`.
    pub(crate) fn row_opened(&mut self, cycle: u64, rank: usize, bank: usize, row: u32) {
        self.next_at = self.next_at.min(self.rows.opened(cycle, rank, bank, row));
    }

    /// Records `bursts` column commands of a bank, the last at `cycle`: the row may have to be closed. If no
    /// request waits for the rank, it may be refreshed early or put to rest.
    pub(crate) fn served(&mut self, state: &ChannelState, cycle: u64, rank: usize, bank: usize, bursts: u32) {
        self.next_at = self.next_at.min(self.rows.served(cycle, rank, bank, bursts));
        let usage = &mut self.ranks[rank];
        if usage.demand == 0 {
            usage.idle_since = cycle;
            let rest = self.power.due_after(cycle);
            self.next_at = self.next_at.min(state.ranks[rank].refresh_due()).min(rest);
        }
    }
}
