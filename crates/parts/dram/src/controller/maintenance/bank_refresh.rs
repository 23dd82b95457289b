//! Refresh of some banks while the others are served.
//!
//! * Same-bank refresh of DDR5 (REFsb, JESD79-5 4.13): one bank of every bank group. It requires fine granularity: each
//!   bank is refreshed twice in tREFI, so that over all banks of a group a command is due every `tREFI / (2 * banks)`.
//! * Per-bank refresh of HBM (REFpb, JESD270-4): one bank, each once in tREFI. Refreshes of different banks overlap.
//!
//! *When not to use it:* if requests go to few banks, they wait as long, and more often.

use crate::controller::maintenance::need::{Need, RankUse};
use crate::state::{ChannelState, CommandKind, NEVER, class};

/// Returns a bit for each bank whose turn it is to be refreshed by the command `kind`.
fn in_turn(state: &ChannelState, number: usize, kind: CommandKind) -> u64 {
    let next = state.ranks[number].next_bank as usize;
    if kind == CommandKind::RefreshBank {
        return 1 << next;
    }
    let groups = state.banks >> state.group_shift;
    (0..groups).fold(0, |bits, group| bits | 1 << (group << state.group_shift | next))
}

/// Returns the next need of a powered-up rank for the banks whose turn it is: blocking them, closing them, or the
/// refresh by the command `kind`.
pub(crate) fn next(
    state: &ChannelState,
    number: usize,
    floor: u64,
    usage: &RankUse,
    due: u64,
    kind: CommandKind,
) -> Need {
    if due == NEVER {
        return Need::NOTHING;
    }
    let rank = &state.ranks[number];
    let mask = in_turn(state, number, kind);
    if usage.demand > 0 && usage.blocked == 0 {
        return Need::block(due.max(floor), number, mask);
    }
    let (cycle, mut banks) = (due.max(floor), mask);
    let (mut close, mut refresh) = (Need::NOTHING, cycle.max(rank.next_bank_at));
    while banks != 0 {
        let bank = banks.trailing_zeros() as usize;
        banks &= banks - 1;
        let (state, limit) = (&rank.banks[bank], rank.constraints.of_rank(class::PRECHARGE));
        if rank.open >> bank & 1 != 0 {
            let cycle = cycle.max(state.next_precharge).max(limit);
            close = close.or(Need::bank(cycle, CommandKind::Precharge, number, bank));
        }
        refresh = refresh.max(state.next_activate);
    }
    if kind == CommandKind::RefreshBank {
        // It opens rows like an ACT, and keeps the same distance from others.
        let group = rank.next_bank as usize >> state.group_shift;
        refresh = refresh.max(rank.constraints.allows(group, class::ACTIVATE));
    }
    if close.cycle != NEVER { close } else { Need::rank(refresh, kind, number) }
}
