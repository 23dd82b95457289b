//! Activity of ranks, counted from their commands.

use dram::{Command, CommandKind as K, PowerState, RankActivity};

/// State of a rank after the commands so far.
#[derive(Clone, Default)]
struct Rank {
    open: u32,
    down: bool,
    asleep: bool,
    since: u64,
    did: RankActivity,
}

impl Rank {
    fn state(&self) -> PowerState {
        match (self.asleep, self.down, self.open) {
            (true, ..) => PowerState::SelfRefresh,
            (_, true, 0) => PowerState::PrechargePowerDown,
            (_, true, _) => PowerState::ActivePowerDown,
            (_, _, 0) => PowerState::PrechargeStandby,
            _ => PowerState::ActiveStandby,
        }
    }

    /// Adds the clocks until `cycle` to `state`.
    fn count(&mut self, state: PowerState, cycle: u64) {
        self.did.clocks[state as usize] += cycle.saturating_sub(self.since);
        self.since = cycle;
    }
}

/// Returns the activity of `ranks` ranks until `cycle`, or until the last state change by the commands, which must be
/// in order of time.
pub fn activity(commands: &[Command], ranks: usize, cycle: u64) -> Vec<RankActivity> {
    let mut all = vec![Rank::default(); ranks];
    for command in commands {
        let rank = &mut all[command.rank as usize];
        let before = rank.state();
        match command.kind {
            K::Activate => (rank.open, rank.did.activates) = (rank.open + 1, rank.did.activates + 1),
            K::Precharge => rank.open -= 1,
            K::PrechargeAll => rank.open = 0,
            K::Read => rank.did.reads += 1,
            K::Write => rank.did.writes += 1,
            K::Refresh => rank.did.refreshes += 1,
            K::RefreshSameBank => rank.did.same_bank_refreshes += 1,
            K::PowerDown => rank.down = true,
            K::PowerUp => rank.down = false,
            K::SelfRefresh => rank.asleep = true,
            K::SelfRefreshExit => rank.asleep = false,
            K::ReadPrecharge | K::WritePrecharge => panic!("{command:?} where rows stay open"),
        }
        if rank.state() != before {
            rank.count(before, command.cycle);
        }
    }
    let ended = |mut rank: Rank| {
        rank.count(rank.state(), cycle);
        rank.did
    };
    all.into_iter().map(ended).collect()
}

/// Returns the possible error of the clocks with all banks closed, if they are counted in the order of `decided`: zero
/// if rows were opened and closed in that order, else the clocks for which banks were closed to open other rows.
pub fn uncertain(decided: &[Command], rank: u8) -> u64 {
    let opens = |command: &&Command| matches!(command.kind, K::Activate | K::Precharge | K::PrechargeAll);
    let rows: Vec<&Command> = decided.iter().filter(|command| command.rank == rank).filter(opens).collect();
    if rows.is_sorted_by_key(|command| command.cycle) {
        return 0;
    }
    let reopened = |(number, closed): (usize, &&Command)| {
        let next = |command: &&&Command| (command.group, command.bank) == (closed.group, closed.bank);
        (closed.kind == K::Precharge)
            .then(|| rows[number + 1..].iter().find(next).map_or(0, |open| open.cycle - closed.cycle))
    };
    rows.iter().enumerate().filter_map(reopened).sum()
}
