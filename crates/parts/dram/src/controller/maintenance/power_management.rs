//! Power management: when an idle rank is powered down or put into self-refresh, and when it is woken.

use sim::Time;

use crate::controller::maintenance::need::{Need, RankUse, with_all_closed};
use crate::state::{ChannelState, CommandKind, NEVER, PowerMode, Rank};

/// Idle times, in clocks, after which a rank rests.
pub(crate) struct PowerManagement {
    power_down_after: u64,
    self_refresh_after: u64,
}

impl PowerManagement {
    pub(crate) fn new(
        power_down_after: Option<Time>,
        self_refresh_after: Option<Time>,
        in_clocks: impl Fn(Time) -> u64,
    ) -> PowerManagement {
        PowerManagement {
            power_down_after: power_down_after.map_or(NEVER, &in_clocks),
            self_refresh_after: self_refresh_after.map_or(NEVER, in_clocks),
        }
    }

    /// Returns the first cycle in which a rank idle since `cycle` may rest.
    pub(crate) fn due_after(&self, cycle: u64) -> u64 {
        cycle.saturating_add(self.power_down_after.min(self.self_refresh_after))
    }

    /// Returns the next need of a powered-up rank: power-down, self-refresh, or the precharge before it.
    pub(crate) fn next(&self, state: &ChannelState, number: usize, floor: u64, usage: &RankUse) -> Need {
        if usage.demand > 0 {
            return Need::NOTHING;
        }
        let rank = &state.ranks[number];
        let sleep = self.sleep_at(rank, usage);
        let need = with_all_closed(state, number, floor.max(sleep), CommandKind::SelfRefresh);
        let down = usage.idle_since.saturating_add(self.power_down_after);
        if down >= rank.refresh_due().min(sleep) {
            return need;
        }
        need.or(Need::rank(floor.max(down).max(state.quiet_at(number)), CommandKind::PowerDown, number))
    }

    /// Returns when a resting rank is woken: for a request, for a refresh, or to rest deeper.
    pub(crate) fn exit(&self, state: &ChannelState, number: usize, usage: &RankUse) -> Need {
        let rank = &state.ranks[number];
        let (kind, wake) = match rank.state {
            _ if usage.demand > 0 && rank.state == PowerMode::Asleep => (CommandKind::SelfRefreshExit, 0),
            _ if usage.demand > 0 => (CommandKind::PowerUp, 0),
            PowerMode::Asleep => return Need::NOTHING,
            _ => (CommandKind::PowerUp, rank.refresh_due().min(self.sleep_at(rank, usage))),
        };
        if wake == NEVER { Need::NOTHING } else { Need::rank(state.exit_at(number, wake), kind, number) }
    }

    /// Returns when an idle rank enters self-refresh. JEDEC requires a refresh since the last one.
    fn sleep_at(&self, rank: &Rank, usage: &RankUse) -> u64 {
        if rank.refreshed { usage.idle_since.saturating_add(self.self_refresh_after) } else { NEVER }
    }

    /// Returns when an idle rank next changes its behavior.
    pub(crate) fn next_change(&self, usage: &RankUse, now: u64) -> u64 {
        let after = |span: u64| {
            let at = usage.idle_since.saturating_add(span);
            if at > now { at } else { NEVER }
        };
        after(self.power_down_after).min(after(self.self_refresh_after)).max(now)
    }
}
