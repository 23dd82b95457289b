//! Which command comes next, and when: first ready, first come first served (Rixner et al., ISCA 2000).
//!
//! Each bank has one candidate: the oldest burst that its open row serves, else the precharge or activate that its oldest
//! burst needs. Of all candidates the one comes next that may come earliest; of those a column command before others, and
//! of those the oldest.

use crate::bank::CLOSED;
use crate::board::{Board, Candidate, Choice, LATER, PREPARING, RANKS, class};
use crate::channel::{Channel, NEVER};
use crate::command::CommandKind;
use crate::queue::NONE;
use crate::rank::Rank;
use crate::request::Kind;

/// What comes next beside candidates.
#[derive(Clone, Copy)]
pub(crate) enum Do {
    /// A command to a rank, or to one of its banks.
    House { kind: CommandKind, rank: u8, bank: u8 },
    /// A rank is no longer served, so that it can be refreshed: no command.
    Block { rank: u8 },
}

impl Channel {
    /// The cycle of the next step, which is then in `next`; [`NEVER`] where nothing is ahead.
    #[inline(never)]
    pub(crate) fn peek(&mut self) -> u64 {
        if !self.is_next_known {
            self.choose();
        }
        self.next.cycle
    }

    #[inline(always)]
    pub(crate) fn choose(&mut self) {
        self.turn();
        let mut best = self.select();
        if self.queues.is_overdue(self.direction, best.cycle) {
            best = self.overdue(self.queues.oldest(self.direction)).unwrap_or(best);
        }
        if best.cycle >= self.house_at {
            best = self.keep_house(best);
        }
        self.next = best;
        self.is_next_known = true;
    }

    /// Turns the bus where it should.
    #[inline(always)]
    fn turn(&mut self) {
        let (reads, writes) = (self.queues.length(Kind::Read), self.queues.length(Kind::Write));
        if self.direction == Kind::Read {
            if writes == 0 {
                return;
            }
            let full = writes >= self.settings.write_high || self.queues.is_overdue(Kind::Write, self.floor);
            if reads == 0 || (full && self.served >= self.settings.turn_min) {
                self.draining = full;
                self.stats.turns += 1;
                self.turn_to(Kind::Write);
            }
        } else {
            self.draining |= writes >= self.settings.write_high;
            let enough = self.served >= self.settings.turn_min
                && (writes <= self.settings.write_low || self.served >= self.settings.write_queue);
            if reads > 0 && (writes == 0 || !self.draining || enough) {
                self.turn_to(Kind::Read);
            }
        }
    }

    fn turn_to(&mut self, direction: Kind) {
        self.direction = direction;
        self.served = 0;
        for rank in 0..self.ranks.len() {
            self.consider_all(rank);
        }
    }

    /// The banks of a rank that something may be done for: during a drain also those that only reads wait for.
    #[inline(always)]
    pub(crate) fn considered(&self, rank: &Rank) -> u64 {
        let [reads, writes] = rank.waiting;
        if self.direction == Kind::Read { reads } else { reads | writes }
    }

    /// The best of all candidates.
    #[inline(always)]
    fn select(&self) -> Choice {
        // Most channels have one rank.
        if self.ranks.len() == 1 {
            return self.select_of(&self.ranks[0], &self.boards[0], 0, Choice::NONE);
        }
        let mut best = Choice::NONE;
        for (number, (rank, board)) in self.ranks.iter().zip(self.boards.iter()).enumerate() {
            best = self.select_of(rank, board, number as u32, best);
        }
        best
    }

    #[inline(always)]
    fn select_of(&self, rank: &Rank, board: &Board, number: u32, best: Choice) -> Choice {
        if !rank.serves() {
            return best;
        }
        let (banks, floor) = (self.considered(rank), self.floor);
        let columns = banks & !board.activates & !board.precharges;
        let best = match self.direction {
            Kind::Read => board.best(class::READ, columns, floor, number, best),
            Kind::Write => board.best(class::WRITE, columns, floor, number, best),
        };
        let best = board.best(class::PRECHARGE, banks & board.precharges, floor, number, best);
        // ACTs wait for one another, so that they are mostly not looked at.
        board.best(class::ACTIVATE, banks & board.activates, floor, number, best)
    }

    /// What the oldest needs.
    #[cold]
    #[inline(never)]
    fn overdue(&mut self, oldest: u8) -> Option<Choice> {
        if oldest == NONE {
            return None;
        }
        let waits = self.queues.get(oldest);
        let (rank, bank) = (waits.rank as usize, waits.bank as usize);
        if !self.ranks[rank].serves() {
            return None;
        }
        // The oldest of all is first of its bank, so that only younger hits of the row could be before it.
        let candidate = self.candidate(rank, bank, self.bank(rank, bank).row == waits.row);
        let board = &mut self.boards[rank % RANKS];
        board.put(bank, bank >> self.settings.group_shift, candidate);
        Some(board.choice(bank, self.floor, rank))
    }

    /// What a bank, for which something waits, would do next; with `hits` false, although its row serves some.
    #[inline(always)]
    fn candidate(&self, rank: usize, number: usize, hits: bool) -> Candidate {
        let direction = self.direction as usize;
        let bank = self.bank(rank, number);
        let (head, hit) = (bank.head[direction], bank.hit[direction]);
        debug_assert_ne!(head, NONE);
        if bank.row == CLOSED {
            let key = LATER | self.queues.get(head).order;
            Candidate { ready: bank.next_activate, key, class: class::ACTIVATE, entry: head }
        } else if hits && hit != NONE {
            let key = self.queues.get(hit).order;
            Candidate { ready: bank.next_column, key, class: direction, entry: hit }
        } else {
            let key = LATER | self.queues.get(head).order;
            Candidate { ready: bank.next_precharge, key, class: class::PRECHARGE, entry: head }
        }
    }

    /// Finds a bank's candidate anew.
    #[inline(always)]
    pub(crate) fn consider(&mut self, rank: usize, bank: usize) {
        let heads = self.bank(rank, bank).head;
        if heads[self.direction as usize] != NONE {
            let candidate = self.candidate(rank, bank, true);
            self.boards[rank % RANKS].put(bank, bank >> self.settings.group_shift, candidate);
        } else if self.direction == Kind::Write && heads[Kind::Read as usize] != NONE {
            let candidate = self.preparation(rank, bank);
            self.boards[rank % RANKS].put(bank, bank >> self.settings.group_shift, candidate);
        }
    }

    /// Finds the candidates of all of a rank's banks anew.
    pub(crate) fn consider_all(&mut self, rank: usize) {
        let mut banks = self.considered(&self.ranks[rank]);
        while banks != 0 {
            self.consider(rank, banks.trailing_zeros() as usize);
            banks &= banks - 1;
        }
    }

    /// What a bank that no write waits for does for its reads while writes are drained: it opens their row.
    #[inline]
    fn preparation(&self, rank: usize, number: usize) -> Candidate {
        let bank = self.bank(rank, number);
        let (head, hit) = (bank.head[Kind::Read as usize], bank.hit[Kind::Read as usize]);
        let key = PREPARING | self.queues.get(head).order;
        if bank.row == CLOSED {
            Candidate { ready: bank.next_activate, key, class: class::ACTIVATE, entry: head }
        } else {
            // With a row that serves them it waits for the bus to turn.
            let ready = if hit == NONE { bank.next_precharge } else { NEVER };
            Candidate { ready, key, class: class::PRECHARGE, entry: head }
        }
    }

    /// A burst of `kind` for `bank` has entered: what was to come next may not be any more. `changes`: the bank may do
    /// something else.
    #[inline(always)]
    pub(crate) fn rethink(&mut self, kind: Kind, rank: usize, bank: usize, changes: bool) {
        if changes {
            self.consider(rank, bank);
        }
        if !self.is_next_known {
            return;
        }
        let length = self.queues.length(kind);
        // It may turn the bus: one more write to a drain, or read beside others, does not.
        let turns = match (kind, self.direction) {
            _ if length == 1 => true,
            (Kind::Read, _) => false,
            (Kind::Write, Kind::Write) => {
                self.draining |= length >= self.settings.write_high;
                false
            }
            (Kind::Write, Kind::Read) if self.served < self.settings.turn_min => false,
            (Kind::Write, Kind::Read) => {
                length >= self.settings.write_high || self.queues.is_overdue(Kind::Write, self.floor)
            }
        };
        // Its bank's candidate may be another now.
        let same = changes && (self.next.place == Choice::HOUSE || self.next.place == Choice::place(rank, bank));
        if turns || same || self.queues.is_overdue(self.direction, self.next.cycle) {
            self.is_next_known = false;
        } else if changes && (kind == Kind::Read || self.direction == Kind::Write) {
            let found = self.boards[rank % RANKS].choice(bank, self.floor, rank);
            if found.is_before(&self.next) && self.ranks[rank].serves() {
                // Before what was chosen, it is before what housekeeping was weighed against it, too.
                self.next = found;
            }
        }
    }
}
