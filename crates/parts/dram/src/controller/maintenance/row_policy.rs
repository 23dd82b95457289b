//! Row policies: when a row that no queued request needs is closed.
//!
//! To add a policy, add a variant here, an example to [`PagePolicy::EXAMPLES`] and what it does in each function. What a
//! policy remembers of its banks is a field of [`RowPolicy`], which [`RowPolicy::opened`] and [`RowPolicy::served`]
//! update. A controller asks in this order:
//!
//! 1. [`RowPolicy::keeps_open`]: if true, the rest is not called, and lone bursts are planned as trains.
//! 2. [`RowPolicy::opened`] and `served` return the earliest cycle in which [`RowPolicy::next`] could name a precharge;
//!    it is asked no earlier, and again after other commands.
//! 3. [`RowPolicy::next`] names the precharge itself. Banks in `in_use` must be left out.
//!
//! System files choose a policy by the key `memory.row_policy`, programs in `dram::Config`.

use sim::Time;

use crate::controller::maintenance::need::Need;
use crate::state::{ChannelState, CommandKind, NEVER, class};

/// Treatment of rows that no queued request needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PagePolicy {
    /// A row stays open until a request needs another row of the bank, or until a refresh.
    #[default]
    Open,
    /// A row is closed by the last column command that a queued request has for it (auto-precharge).
    Closed,
    /// A row is closed after this time without use.
    Timeout(Time),
}

impl PagePolicy {
    /// One policy of each kind, with which tests compare and audit controllers.
    pub const EXAMPLES: &[PagePolicy] =
        &[PagePolicy::Open, PagePolicy::Closed, PagePolicy::Timeout(Time::from_ns(150))];
}

/// A policy, with times in clocks.
pub(crate) struct RowPolicy {
    policy: PagePolicy,
    /// Clocks without use after which a row is closed; `NEVER` for a policy that closes none by itself.
    close_after: u64,
}

impl RowPolicy {
    pub(crate) fn new(policy: PagePolicy, in_clocks: impl Fn(Time) -> u64) -> RowPolicy {
        let close_after = match policy {
            PagePolicy::Timeout(span) => in_clocks(span),
            PagePolicy::Open | PagePolicy::Closed => NEVER,
        };
        RowPolicy { policy, close_after }
    }

    /// Returns true if only requests and refreshes close rows.
    pub(crate) fn keeps_open(&self) -> bool {
        match self.policy {
            PagePolicy::Open => true,
            PagePolicy::Closed | PagePolicy::Timeout(_) => false,
        }
    }

    /// Returns true if a column command closes its row when no other request is queued for it.
    pub(crate) fn closes_behind(&self) -> bool {
        match self.policy {
            PagePolicy::Closed => true,
            PagePolicy::Open | PagePolicy::Timeout(_) => false,
        }
    }

    /// Records that a row was opened at `cycle`. Returns the first cycle in which it may have to be closed.
    pub(crate) fn opened(&mut self, cycle: u64, _rank: usize, _bank: usize, _row: u32) -> u64 {
        cycle.saturating_add(self.close_after)
    }

    /// Records `bursts` column commands for the open row of a bank, the last at `cycle`: several if they were planned as
    /// one train. Returns the first cycle in which the row may have to be closed.
    pub(crate) fn served(&mut self, cycle: u64, _rank: usize, _bank: usize, _bursts: u32) -> u64 {
        cycle.saturating_add(self.close_after)
    }

    /// Returns the first precharge that the policy needs in a rank. `in_use` has a bit for each bank whose row queued
    /// requests need.
    pub(crate) fn next(&self, state: &ChannelState, number: usize, floor: u64, in_use: u64) -> Need {
        let (rank, mut need) = (&state.ranks[number], Need::NOTHING);
        if self.close_after == NEVER {
            return need;
        }
        let mut open = rank.open & !in_use;
        while open != 0 {
            let bank = open.trailing_zeros() as usize;
            open &= open - 1;
            let (limit, idle) = (rank.constraints.of_rank(class::PRECHARGE), &rank.banks[bank]);
            let cycle = (idle.used + self.close_after).max(floor).max(idle.next_precharge).max(limit);
            need = need.or(Need::bank(cycle, CommandKind::Precharge, number, bank));
        }
        need
    }
}
