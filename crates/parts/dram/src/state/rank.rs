//! Ranks: power state, refreshes, constraints, banks and activity.

use crate::request::RankKind;
use crate::state::bank::{BANKS, Bank, PerBank};
use crate::state::constraints::Constraints;
use crate::state::power::{PowerState, RankActivity};

/// Power mode of a rank, which determines whether it accepts commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PowerMode {
    Up,
    /// In power-down.
    Down,
    /// In self-refresh.
    Asleep,
}

pub(crate) struct Rank {
    pub(crate) kind: RankKind,
    pub(crate) state: PowerMode,
    /// Cycle in which it entered this mode.
    pub(crate) since: u64,
    /// False if it has no cells to refresh.
    pub(crate) refreshes: bool,
    /// Cycle in which the next refresh is due, unless it is in self-refresh.
    pub(in crate::state) refresh_due: u64,
    /// The bank of the next per-bank refresh, or that of every group for the next same-bank refresh, and the first cycle
    /// in which it may come.
    pub(crate) next_bank: u32,
    pub(crate) next_bank_at: u64,
    /// True if a refresh was done since the last self-refresh, which JEDEC requires before the next.
    pub(crate) refreshed: bool,
    /// End of the rank's last data on the bus.
    pub(crate) data_end: u64,
    /// A bit for each open bank.
    pub(crate) open: u64,
    /// For each of the last four ACTs, the cycle from which the fourth after it is allowed, and the next index.
    window: [u64; 4],
    window_at: usize,
    /// The first cycle in which it accepts any command, after a refresh or an exit.
    pub(crate) ready: u64,
    pub(crate) activity: RankActivity,
    pub(crate) constraints: Constraints,
    pub(crate) banks: PerBank<Bank>,
    /// Cycle up to which `activity` includes the clocks.
    counted: u64,
}

impl Rank {
    pub(crate) fn new(kind: RankKind, refreshes: bool, refresh_due: u64) -> Rank {
        Rank {
            kind,
            state: PowerMode::Up,
            since: 0,
            refreshes,
            refresh_due,
            next_bank: 0,
            next_bank_at: 0,
            refreshed: true,
            data_end: 0,
            open: 0,
            window: [0; 4],
            window_at: 0,
            ready: 0,
            activity: RankActivity::default(),
            constraints: Constraints::NONE,
            banks: PerBank([Bank::IDLE; BANKS]),
            counted: 0,
        }
    }

    /// Records an ACT, after which the fifth is allowed at `allowed`. Returns the cycle from which the next ACT is
    /// allowed, as the fifth of an earlier one.
    #[inline]
    pub(crate) fn fifth_after(&mut self, allowed: u64) -> u64 {
        self.window[self.window_at % 4] = allowed;
        self.window_at += 1;
        self.window[self.window_at % 4]
    }

    /// Returns when the next refresh is due; [`u64::MAX`] in self-refresh, and for ranks without cells.
    pub(crate) fn refresh_due(&self) -> u64 {
        if self.refreshes && self.state != PowerMode::Asleep { self.refresh_due } else { u64::MAX }
    }

    fn power_state(&self) -> PowerState {
        match (self.state, self.open != 0) {
            (PowerMode::Up, false) => PowerState::PrechargeStandby,
            (PowerMode::Up, true) => PowerState::ActiveStandby,
            (PowerMode::Down, false) => PowerState::PrechargePowerDown,
            (PowerMode::Down, true) => PowerState::ActivePowerDown,
            (PowerMode::Asleep, _) => PowerState::SelfRefresh,
        }
    }

    /// Adds the clocks until `cycle` to the current state. Must be called before the state changes; `cycle` may be in
    /// the future if a bank closes by itself.
    #[inline]
    pub(crate) fn count(&mut self, cycle: u64) {
        self.activity.clocks[self.power_state() as usize] += cycle.saturating_sub(self.counted);
        self.counted = self.counted.max(cycle);
    }

    /// Like [`Rank::count`], but returns the result as a copy.
    pub(crate) fn activity_at(&self, cycle: u64) -> RankActivity {
        let mut activity = self.activity;
        activity.clocks[self.power_state() as usize] += cycle.saturating_sub(self.counted);
        activity
    }

    /// Repeats the activity since `before` `times` times, over `cycles` clocks in all.
    pub(crate) fn repeat(&mut self, before: &RankActivity, times: u64, cycles: u64) {
        self.activity.repeat(before, times);
        if self.state == PowerMode::Down {
            self.since += cycles;
        }
        if self.state != PowerMode::Asleep {
            self.refresh_due += cycles;
        }
        self.ready += cycles;
        self.counted += cycles;
    }
}
