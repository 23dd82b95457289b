//! Refresh: when a rank is refreshed, and how long refreshes are postponed while requests wait.

use crate::controller::Config;
use crate::controller::maintenance::bank_refresh;
use crate::controller::maintenance::need::{Need, RankUse, with_all_closed};
use crate::state::{ChannelState, CommandKind};

keys::words! {
    /// The command that refreshes DRAM.
    #[derive(Default)]
    RefreshMode {
        /// REF: all banks of a rank at once.
        #[default]
        AllBank = "all-bank",
        /// REFsb (DDR5): one bank of every group, while the others are served.
        SameBank = "same-bank",
        /// REFpb (HBM): one bank at a time, while the others are served; REF for ranks that are not in use.
        PerBank = "per-bank",
    }
}

/// Refresh of a channel's ranks.
pub(crate) struct Refresh {
    mode: RefreshMode,
    /// Clocks by which a refresh may be late while requests wait.
    postpone: u64,
    /// Clocks without a request after which a rank is refreshed as a whole in spite of per-bank refresh, so that it can
    /// power down in between. Assumed: as long as the refresh takes.
    unused: u64,
}

impl Refresh {
    pub(crate) fn new(config: &Config) -> Refresh {
        let t = &config.device.timing;
        // A refresh that can no longer be postponed still waits until all banks have recovered and closed, after other
        // ranks.
        let closing = 4 * u64::from(t.rc + t.cwl + t.wr + t.rpab + t.xp);
        let postponed = u64::from(config.refresh_postpone) * u64::from(t.refi);
        Refresh { mode: config.refresh_mode, postpone: postponed.saturating_sub(closing), unused: u64::from(t.rfc) }
    }

    /// Returns the next need of a powered-up rank: blocking banks, closing them, or the refresh.
    pub(crate) fn next(&self, state: &ChannelState, number: usize, floor: u64, usage: &RankUse) -> Need {
        let due = state.ranks[number].refresh_due();
        let of_banks = |kind| bank_refresh::next(state, number, floor, usage, due, kind);
        match self.mode {
            RefreshMode::AllBank => {}
            RefreshMode::SameBank => return of_banks(CommandKind::RefreshSameBank),
            RefreshMode::PerBank if usage.demand > 0 || due < usage.idle_since.saturating_add(self.unused) => {
                return of_banks(CommandKind::RefreshBank);
            }
            RefreshMode::PerBank => {}
        }
        if usage.demand > 0 && usage.blocked == 0 {
            return Need::block(due.saturating_add(self.postpone).max(floor), number, u64::MAX);
        }
        with_all_closed(state, number, floor.max(due), CommandKind::Refresh)
    }
}
