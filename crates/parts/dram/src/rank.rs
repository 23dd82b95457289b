//! Ranks: whether they are up, what waits for them, what they owe in refreshes and what they have done.

use std::ops::{Deref, DerefMut, Index, IndexMut};

use crate::board::RANKS;
use crate::power::{PowerState, RankActivity};
use crate::request::RankKind;

/// Whether a rank takes commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Up,
    /// In power-down since a cycle.
    Down,
    /// In self-refresh.
    Asleep,
}

pub(crate) struct Rank {
    pub(crate) kind: RankKind,
    pub(crate) state: State,
    /// When it went into this state.
    pub(crate) since: u64,
    /// A refresh is forced: nothing else is issued to it.
    pub(crate) blocked: bool,
    /// False: it has no cells to refresh.
    pub(crate) refreshes: bool,
    /// When the next refresh is due.
    pub(crate) refresh_due: u64,
    /// A refresh was done since it woke from self-refresh, as JEDEC asks before it may sleep again.
    pub(crate) refreshed: bool,
    /// Bursts queued for it.
    pub(crate) demand: u32,
    /// When the last of them was served.
    pub(crate) idle_since: u64,
    /// When the last data of it were on the bus.
    pub(crate) data_end: u64,
    /// A bit for each bank that reads, that writes wait for; and for each that is open.
    pub(crate) waiting: [u64; 2],
    pub(crate) open: u64,
    /// Of the last four ACT when each allows the fourth after it, and which is next.
    pub(crate) window: [u64; 4],
    pub(crate) window_at: usize,
    /// From when on it takes any command: after a refresh or an exit.
    pub(crate) ready: u64,
    pub(crate) activity: RankActivity,
    /// Until when `activity` counts the clocks.
    counted: u64,
}

impl Rank {
    pub(crate) fn new(kind: RankKind, refreshes: bool, refresh_due: u64) -> Rank {
        Rank {
            kind,
            state: State::Up,
            since: 0,
            blocked: false,
            refreshes,
            refresh_due,
            refreshed: true,
            demand: 0,
            idle_since: 0,
            data_end: 0,
            waiting: [0; 2],
            open: 0,
            window: [0; 4],
            window_at: 0,
            ready: 0,
            activity: RankActivity::default(),
            counted: 0,
        }
    }

    /// Notes an ACT, after which the fifth may come at `allowed`; returns when the one after this may, being the fifth
    /// of an earlier one.
    #[inline(always)]
    pub(crate) fn fifth_after(&mut self, allowed: u64) -> u64 {
        self.window[self.window_at % 4] = allowed;
        self.window_at += 1;
        self.window[self.window_at % 4]
    }

    /// Commands for what waits may be issued.
    #[inline(always)]
    pub(crate) fn serves(&self) -> bool {
        self.state == State::Up && !self.blocked
    }

    fn power_state(&self) -> PowerState {
        match (self.state, self.open != 0) {
            (State::Up, false) => PowerState::PrechargeStandby,
            (State::Up, true) => PowerState::ActiveStandby,
            (State::Down, false) => PowerState::PrechargePowerDown,
            (State::Down, true) => PowerState::ActivePowerDown,
            (State::Asleep, _) => PowerState::SelfRefresh,
        }
    }

    /// Counts the clocks until `cycle` for the state that it was in. Called before the state changes; `cycle` may be
    /// ahead of the present where a bank closes by itself.
    #[inline(always)]
    pub(crate) fn count(&mut self, cycle: u64) {
        self.activity.clocks[self.power_state() as usize] += cycle.saturating_sub(self.counted);
        self.counted = self.counted.max(cycle);
    }

    /// As [`Rank::count`], for a copy.
    pub(crate) fn activity_at(&self, cycle: u64) -> RankActivity {
        let mut activity = self.activity;
        activity.clocks[self.power_state() as usize] += cycle.saturating_sub(self.counted);
        activity
    }

    /// Moves what lies ahead by `cycles`, as if as much time had gone by.
    pub(crate) fn shift(&mut self, cycles: u64) {
        if self.state == State::Down {
            self.since += cycles;
        }
        self.refresh_due += cycles;
        self.ready += cycles;
        self.counted += cycles;
    }
}

/// The ranks of a channel: a slice of those there are. A single one is found without a check.
pub(crate) struct RankTable {
    all: Box<[Rank; RANKS]>,
    count: usize,
}

impl RankTable {
    pub(crate) fn new(ranks: Vec<Rank>) -> RankTable {
        let count = ranks.len();
        assert!((1..=RANKS).contains(&count), "{count} ranks");
        let mut ranks = ranks.into_iter();
        let absent = || Rank::new(RankKind::Buffer, false, u64::MAX);
        RankTable { all: Box::new(std::array::from_fn(|_| ranks.next().unwrap_or_else(absent))), count }
    }
}

impl Deref for RankTable {
    type Target = [Rank];
    #[inline(always)]
    fn deref(&self) -> &[Rank] {
        &self.all[..self.count]
    }
}

impl DerefMut for RankTable {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [Rank] {
        &mut self.all[..self.count]
    }
}

impl Index<usize> for RankTable {
    type Output = Rank;
    #[inline(always)]
    fn index(&self, rank: usize) -> &Rank {
        debug_assert!(rank < self.count, "rank {rank} of {}", self.count);
        &self.all[rank % RANKS]
    }
}

impl IndexMut<usize> for RankTable {
    #[inline(always)]
    fn index_mut(&mut self, rank: usize) -> &mut Rank {
        debug_assert!(rank < self.count, "rank {rank} of {}", self.count);
        &mut self.all[rank % RANKS]
    }
}
