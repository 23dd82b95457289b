//! What ranks need beside service: refresh, power-down, self-refresh, and rows closed that nobody uses. And idle time,
//! which is caught up with when it is over.

use crate::bank::Bank;
use crate::board::{Choice, RANKS, class};
use crate::channel::{Channel, NEVER};
use crate::command::CommandKind;
use crate::queue::NONE;
use crate::rank::{Rank, State};
use crate::select::Do;

/// Something to do at a cycle.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    pub(crate) cycle: u64,
    what: Do,
}

const NOTHING: Need = Need { cycle: NEVER, what: Do::Block { rank: 0 } };

/// A command to a rank at a cycle.
fn command(cycle: u64, kind: CommandKind, rank: usize) -> Need {
    Need { cycle, what: Do::House { kind, rank: rank as u8, bank: 0 } }
}

fn earlier(a: Need, b: Need) -> Need {
    if b.cycle < a.cycle { b } else { a }
}

impl Channel {
    /// The next step: `best`, or what a rank needs, if that comes no later.
    #[cold]
    #[inline(never)]
    pub(crate) fn keep_house(&mut self, best: Choice) -> Choice {
        let first = self.look_after_house();
        if first.cycle > best.cycle || first.cycle == NEVER {
            return best;
        }
        self.next_house = first.what;
        Choice::house(first.cycle)
    }

    /// What some rank needs first.
    #[inline(never)]
    pub(crate) fn look_after_house(&mut self) -> Need {
        let mut first = NOTHING;
        for rank in 0..self.ranks.len() {
            first = earlier(first, self.need(rank));
        }
        self.house_at = first.cycle;
        first
    }

    /// What a rank needs next.
    fn need(&self, number: usize) -> Need {
        let (rank, t) = (&self.ranks[number], &self.config.device.timing);
        let floor = self.floor.max(rank.ready);
        match rank.state {
            State::Asleep if rank.demand == 0 => NOTHING,
            State::Asleep => command(floor.max(rank.since + u64::from(t.ckesr)), CommandKind::SelfRefreshExit, number),
            State::Down => {
                let wake = if rank.demand > 0 { 0 } else { refresh_due(rank).min(self.sleep_at(rank)) };
                let cycle = floor.max(rank.since + u64::from(t.cke)).max(wake);
                if wake == NEVER { NOTHING } else { command(cycle, CommandKind::PowerUp, number) }
            }
            State::Up => self.need_while_up(number, floor),
        }
    }

    fn need_while_up(&self, number: usize, floor: u64) -> Need {
        let rank = &self.ranks[number];
        let due = refresh_due(rank);
        let mut need = if rank.demand > 0 && !rank.blocked {
            let cycle = due.saturating_add(self.settings.postpone).max(floor);
            Need { cycle, what: Do::Block { rank: number as u8 } }
        } else {
            self.with_all_closed(number, floor.max(due), CommandKind::Refresh)
        };
        if rank.demand == 0 {
            let sleep = self.sleep_at(rank);
            need = earlier(need, self.with_all_closed(number, floor.max(sleep), CommandKind::SelfRefresh));
            let down = rank.idle_since.saturating_add(self.settings.power_down_after);
            if down < due.min(sleep) {
                let cycle = floor.max(down).max(self.quiet_at(number));
                need = earlier(need, command(cycle, CommandKind::PowerDown, number));
            }
        }
        if self.settings.close_after != NEVER && !rank.blocked {
            need = earlier(need, self.stale_row(number, floor));
        }
        need
    }

    /// When an idle rank goes into self-refresh.
    fn sleep_at(&self, rank: &Rank) -> u64 {
        if rank.refreshed { rank.idle_since.saturating_add(self.settings.self_refresh_after) } else { NEVER }
    }

    /// `kind` once all banks of the rank are closed, or the precharge that closes them, from `cycle` on.
    fn with_all_closed(&self, number: usize, cycle: u64, kind: CommandKind) -> Need {
        if cycle == NEVER {
            return NOTHING;
        }
        if self.ranks[number].open == 0 {
            return command(self.closed_at(number, cycle), kind, number);
        }
        command(self.closing_at(number, cycle), CommandKind::PrechargeAll, number)
    }

    /// When a rank all of whose banks were closed takes a command, from `cycle` on.
    #[inline(always)]
    fn closed_at(&self, number: usize, cycle: u64) -> u64 {
        self.banks_of(number).iter().fold(cycle, |at, bank| at.max(bank.next_activate))
    }

    /// When all banks of a rank may be closed, from `cycle` on.
    #[inline(always)]
    fn closing_at(&self, number: usize, cycle: u64) -> u64 {
        let limit = self.boards[number % RANKS].allows(0, class::PRECHARGE);
        self.banks_of(number).iter().fold(cycle.max(limit), |at, bank| at.max(bank.next_precharge))
    }

    fn banks_of(&self, rank: usize) -> &[Bank] {
        &self.boards[rank % RANKS].banks[..self.settings.banks]
    }

    /// From when on nothing is under way in a rank: no burst, no write recovery, no precharge, no refresh.
    fn quiet_at(&self, number: usize) -> u64 {
        let rank = &self.ranks[number];
        let bank = |bank: &Bank| bank.next_activate.max(bank.next_precharge);
        let banks = self.banks_of(number).iter().map(bank).max().unwrap_or(0);
        banks.max(rank.data_end + 1).max(rank.ready)
    }

    /// The precharge of the row that is unused for longest.
    fn stale_row(&self, number: usize, floor: u64) -> Need {
        let mut need = NOTHING;
        let mut open = self.ranks[number].open;
        while open != 0 {
            let in_rank = open.trailing_zeros() as usize;
            open &= open - 1;
            let bank = &self.banks_of(number)[in_rank];
            if bank.hit != [NONE; 2] {
                continue;
            }
            let limit = self.boards[number % RANKS].allows(0, class::PRECHARGE);
            let stale = bank.used + self.settings.close_after;
            let cycle = stale.max(floor).max(bank.next_precharge).max(limit);
            let what = Do::House { kind: CommandKind::Precharge, rank: number as u8, bank: in_rank as u8 };
            need = earlier(need, Need { cycle, what });
        }
        need
    }

    /// When a rank's next refresh is due, or [`NEVER`].
    pub(crate) fn refresh_due(&self, rank: usize) -> u64 {
        refresh_due(&self.ranks[rank])
    }

    /// Refreshes a rank, where nothing waits in a queue.
    #[inline]
    pub(crate) fn refresh_rank(&mut self, rank: usize) {
        let due = self.refresh_due(rank);
        assert!(due != NEVER, "no refresh is due in self-refresh");
        if self.ranks[rank].state == State::Down {
            let (chosen, t) = (&self.ranks[rank], &self.config.device.timing);
            let at = self.floor.max(chosen.ready).max(due).max(chosen.since + u64::from(t.cke));
            self.step_rank(at, CommandKind::PowerUp, rank);
        }
        let from = |channel: &Channel| channel.floor.max(channel.ranks[rank].ready).max(due);
        if self.ranks[rank].open != 0 {
            self.step_rank(self.closing_at(rank, from(self)), CommandKind::PrechargeAll, rank);
        }
        self.step_rank(self.closed_at(rank, from(self)), CommandKind::Refresh, rank);
    }

    #[inline(always)]
    fn step_rank(&mut self, cycle: u64, kind: CommandKind, rank: usize) {
        self.now = cycle;
        self.stats.steps += 1;
        self.house_at = 0;
        self.command_rank(cycle, kind, rank);
    }

    /// When a rank that rests can be woken, from `cycle` on.
    pub(crate) fn exit_at(&self, rank: usize, cycle: u64) -> u64 {
        let (rank, t) = (&self.ranks[rank], &self.config.device.timing);
        let rests = if rank.state == State::Asleep { t.ckesr } else { t.cke };
        cycle.max(self.floor).max(rank.ready).max(rank.since + u64::from(rests))
    }

    /// Issues the command that a rank needs next.
    pub(crate) fn step_of(&mut self, rank: usize) {
        self.issue(self.need(rank));
    }

    fn issue(&mut self, need: Need) {
        let Do::House { kind, rank, bank } = need.what else { unreachable!("nothing waits in a queue") };
        self.now = need.cycle;
        self.stats.steps += 1;
        self.house(need.cycle, kind, rank as usize, bank as usize);
    }

    /// Nothing waits: does what ranks need until `cycle`.
    pub(crate) fn idle(&mut self, cycle: u64) {
        if self.house_at > cycle {
            return;
        }
        if !self.log.kept {
            self.skip(cycle);
        }
        loop {
            if self.peek() > cycle {
                return;
            }
            self.perform::<false>(self.next.cycle);
        }
    }

    /// Once all that happens in idle time is one refresh of each rank an interval, one interval is like the next: they are
    /// counted, not walked through.
    fn skip(&mut self, until: u64) {
        let interval = u64::from(self.config.device.timing.refi);
        loop {
            let next_due = self.ranks.iter().map(refresh_due).min().unwrap_or(NEVER);
            if next_due == NEVER || next_due.max(self.now).saturating_add(3 * interval) > until {
                return;
            }
            let steps = self.stats.steps;
            if next_due <= self.now {
                // Refreshes are owed: they come first.
                self.idle_until(self.now + interval);
                assert!(self.stats.steps > steps, "a refresh is owed and does not come");
                continue;
            }
            // Nothing is under way just before the next refresh is due.
            let (from, to) = (next_due - 1, next_due - 1 + interval);
            self.idle_until(from);
            let (before, quiet) = (self.shapes(from), self.is_quiet(from));
            self.idle_until(to);
            assert!(self.stats.steps > steps, "a refresh is due and does not come");
            let quiet = quiet && self.is_quiet(to);
            let change = self.ranks.iter().map(|rank| self.next_change(rank, to)).min().unwrap_or(NEVER);
            let times = (until.min(change) - to) / interval;
            if before == self.shapes(to) && quiet && times > 1 {
                self.repeat(&before, to, times - 1, interval);
                return;
            }
            if times <= 1 && change > until {
                return;
            }
        }
    }

    fn is_quiet(&self, cycle: u64) -> bool {
        (0..self.ranks.len()).all(|rank| self.quiet_at(rank) <= cycle)
    }

    fn idle_until(&mut self, cycle: u64) {
        loop {
            if self.peek() > cycle {
                break;
            }
            self.perform::<false>(self.next.cycle);
        }
        for rank in self.ranks.iter_mut() {
            rank.count(cycle);
        }
    }

    /// When an idle rank does something else than so far.
    fn next_change(&self, rank: &Rank, now: u64) -> u64 {
        let after = |span: u64| {
            let at = rank.idle_since.saturating_add(span);
            if at > now { at } else { NEVER }
        };
        after(self.settings.power_down_after).min(after(self.settings.self_refresh_after)).max(now)
    }

    /// Of each rank what tells its future, relative to `now`; and, not compared, what it has done.
    fn shapes(&self, now: u64) -> Vec<Shape> {
        let of = |rank: &Rank| Shape {
            state: rank.state,
            since: if rank.state == State::Down { now.wrapping_sub(rank.since) } else { 0 },
            due: refresh_due(rank).wrapping_sub(if rank.refreshes { now } else { 0 }),
            open: rank.open,
            activity: rank.activity,
        };
        self.ranks.iter().map(of).collect()
    }

    fn repeat(&mut self, before: &[Shape], now: u64, times: u64, interval: u64) {
        for (rank, before) in self.ranks.iter_mut().zip(before) {
            debug_assert!(rank.data_end <= now && !rank.blocked);
            let asleep = rank.state == State::Asleep;
            let due = rank.refresh_due;
            rank.activity.repeat(&before.activity, times);
            rank.shift(times * interval);
            if asleep {
                rank.refresh_due = due;
            }
        }
        self.now = self.now.max(now) + times * interval;
        self.floor += times * interval;
        self.is_next_known = false;
        self.house_at = 0;
    }
}

/// When the next refresh is due; never in self-refresh, and for what has no cells.
fn refresh_due(rank: &Rank) -> u64 {
    if rank.refreshes && rank.state != State::Asleep { rank.refresh_due } else { NEVER }
}

struct Shape {
    state: State,
    since: u64,
    due: u64,
    open: u64,
    activity: crate::power::RankActivity,
}

impl PartialEq for Shape {
    fn eq(&self, other: &Shape) -> bool {
        (self.state, self.since, self.due, self.open) == (other.state, other.since, other.due, other.open)
    }
}
