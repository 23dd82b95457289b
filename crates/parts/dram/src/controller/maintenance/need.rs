//! The next step that maintenance needs, and the use of ranks by requests, on which it depends.

use crate::state::{ChannelState, CommandKind, NEVER};

/// A step of maintenance.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    /// A command to a rank or to one of its banks.
    Command { kind: CommandKind, rank: u8, bank: u8 },
    /// Stops serving requests for these banks of a rank, so that they can be refreshed. This is not a command.
    Block { rank: u8, banks: u64 },
}

/// A step, and the first cycle in which it may come.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    pub(crate) cycle: u64,
    pub(crate) step: Step,
}

impl Need {
    pub(crate) const NOTHING: Need = Need { cycle: NEVER, step: Step::Block { rank: 0, banks: 0 } };

    pub(crate) fn rank(cycle: u64, kind: CommandKind, rank: usize) -> Need {
        Need::bank(cycle, kind, rank, 0)
    }

    pub(crate) fn bank(cycle: u64, kind: CommandKind, rank: usize, bank: usize) -> Need {
        Need { cycle, step: Step::Command { kind, rank: rank as u8, bank: bank as u8 } }
    }

    pub(crate) fn block(cycle: u64, rank: usize, banks: u64) -> Need {
        Need { cycle, step: Step::Block { rank: rank as u8, banks } }
    }

    /// Returns the earlier of two needs, or this one if they tie.
    pub(crate) fn or(self, other: Need) -> Need {
        if other.cycle < self.cycle { other } else { self }
    }
}

/// Use of a rank by requests.
#[derive(Clone, Copy, Default)]
pub(crate) struct RankUse {
    /// Bursts queued for it.
    pub(crate) demand: u32,
    /// Cycle in which the last of them was served.
    pub(crate) idle_since: u64,
    /// During a forced refresh, a bit for each bank for which no request is served.
    pub(crate) blocked: u64,
}

/// Returns `kind` if all banks of the rank are closed, else the precharge that closes them, from `cycle` on.
pub(crate) fn with_all_closed(state: &ChannelState, number: usize, cycle: u64, kind: CommandKind) -> Need {
    if cycle == NEVER {
        Need::NOTHING
    } else if state.ranks[number].open == 0 {
        Need::rank(state.closed_at(number, cycle), kind, number)
    } else {
        Need::rank(state.closing_at(number, cycle), CommandKind::PrechargeAll, number)
    }
}
