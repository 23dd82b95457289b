//! Idle time, which is computed when it is over, whole refresh intervals at once.

use crate::controller::maintenance::{Maintenance, Need};
use crate::state::{ChannelState, NEVER, PowerMode, RankActivity};

impl Maintenance {
    /// Performs the maintenance of all ranks until `cycle` while no request waits.
    pub(crate) fn idle(&mut self, state: &mut ChannelState, cycle: u64) {
        if self.next_at > cycle {
            return;
        }
        if !state.log.kept {
            self.skip(state, cycle);
        }
        self.walk(state, cycle);
    }

    fn walk(&mut self, state: &mut ChannelState, cycle: u64) {
        loop {
            let need: Need = self.first(state, |_| 0);
            if need.cycle > cycle || need.cycle == NEVER {
                return;
            }
            self.perform(state, need);
        }
    }

    fn walk_and_count(&mut self, state: &mut ChannelState, cycle: u64) {
        self.walk(state, cycle);
        for rank in state.ranks.iter_mut() {
            rank.count(cycle);
        }
    }

    /// Skips whole refresh intervals. Once idle time consists of one refresh per rank and interval, all intervals are
    /// alike and need only be counted.
    fn skip(&mut self, state: &mut ChannelState, until: u64) {
        let interval = u64::from(state.timing.refi);
        loop {
            let next_due = state.ranks.iter().map(|rank| rank.refresh_due()).min().unwrap_or(NEVER);
            if next_due == NEVER || next_due.max(state.now).saturating_add(3 * interval) > until {
                return;
            }
            let steps = state.stats.steps;
            if next_due <= state.now {
                // Postponed refreshes come first.
                let next = state.now + interval;
                self.walk_and_count(state, next);
                assert!(state.stats.steps > steps, "a postponed refresh is never performed");
                continue;
            }
            // Just before the next refresh is due, no command is in progress.
            let (from, to) = (next_due - 1, next_due - 1 + interval);
            self.walk_and_count(state, from);
            let (before, quiet) = (shapes(state, from), is_quiet(state, from));
            self.walk_and_count(state, to);
            assert!(state.stats.steps > steps, "a due refresh is never performed");
            let quiet = quiet && is_quiet(state, to);
            let change = self.ranks.iter().map(|usage| self.power.next_change(usage, to)).min().unwrap_or(NEVER);
            let times = (until.min(change) - to) / interval;
            if before == shapes(state, to) && quiet && times > 1 {
                self.repeat(state, &before, to, times - 1, interval);
                return;
            }
            if times <= 1 && change > until {
                return;
            }
        }
    }

    fn repeat(&mut self, state: &mut ChannelState, before: &[Shape], now: u64, times: u64, interval: u64) {
        for ((rank, usage), before) in state.ranks.iter_mut().zip(self.ranks.iter()).zip(before) {
            debug_assert!(rank.data_end <= now && usage.blocked == 0);
            rank.repeat(&before.activity, times, times * interval);
        }
        state.now = state.now.max(now) + times * interval;
        state.bus_free += times * interval;
        self.next_at = 0;
    }
}

fn is_quiet(state: &ChannelState, cycle: u64) -> bool {
    (0..state.ranks.len()).all(|rank| state.quiet_at(rank) <= cycle)
}

/// A rank's future relative to now, and its past, which is not compared.
struct Shape {
    state: PowerMode,
    since: u64,
    due: u64,
    open: u64,
    activity: RankActivity,
}

impl PartialEq for Shape {
    fn eq(&self, other: &Shape) -> bool {
        (self.state, self.since, self.due, self.open) == (other.state, other.since, other.due, other.open)
    }
}

fn shapes(state: &ChannelState, now: u64) -> Vec<Shape> {
    let of = |rank: &crate::state::Rank| Shape {
        state: rank.state,
        since: if rank.state == PowerMode::Down { now.wrapping_sub(rank.since) } else { 0 },
        due: rank.refresh_due().wrapping_sub(if rank.refreshes { now } else { 0 }),
        open: rank.open,
        activity: rank.activity,
    };
    state.ranks.iter().map(of).collect()
}
