//! Which command comes next, and when: first ready, first come first served (Rixner et al., ISCA 2000).
//!
//! Each bank has one candidate: the oldest burst that its open row serves, else the precharge or activate that its oldest
//! burst needs. Of all candidates the one comes next that may come earliest; of those a column command before others, and
//! of those the oldest.

use crate::bank::{Bank, CLOSED};
use crate::channel::{Channel, NEVER};
use crate::command::CommandKind;
use crate::queue::NONE;
use crate::rank::Rank;
use crate::request::Kind;

/// Classes of commands that a rank and a bank group limit.
pub(crate) mod class {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const ACTIVATE: usize = 2;
    pub const PRECHARGE: usize = 3;
}

/// Keys of what is no column command, and of what prepares a bank for reads during a drain of writes.
const LATER: u64 = 1 << 63;
const PREPARING: u64 = LATER | 1 << 62;

/// Banks of a rank at most, and bank groups times classes.
const BANKS: usize = 64;
const LIMITS: usize = 64;

/// What a bank would do next.
struct Candidate {
    /// From when on its bank allows it.
    ready: u64,
    /// Column commands first, then by age.
    key: u64,
    class: usize,
    entry: u8,
}

/// Of one rank the banks and their candidates, and from when on it allows commands. Of fixed sizes, so that no index needs a
/// check.
#[derive(Clone)]
pub(crate) struct Board {
    pub(crate) banks: [Bank; BANKS],
    /// Of each bank its candidate, field by field; `limit` is the place of its limit.
    ready: [u64; BANKS],
    key: [u64; BANKS],
    limit: [u8; BANKS],
    entry: [u8; BANKS],
    /// A bit for each bank whose candidate is an ACT, and a precharge.
    activates: u64,
    precharges: u64,
    /// From when on the rank allows a command of each class; and each bank group, which stand four in a row.
    of_rank: [u64; 4],
    of_group: [u64; LIMITS],
}

impl Board {
    pub(crate) const EMPTY: Board = Board {
        banks: [Bank::IDLE; BANKS],
        ready: [0; BANKS],
        key: [0; BANKS],
        limit: [0; BANKS],
        entry: [NONE; BANKS],
        activates: 0,
        precharges: 0,
        of_rank: [0; 4],
        of_group: [0; LIMITS],
    };
    /// Bank groups that it has room for.
    pub(crate) const GROUPS: usize = LIMITS / 4;

    /// From when on a command of a class may come in a bank group.
    #[inline(always)]
    pub(crate) fn allows(&self, group: usize, class: usize) -> u64 {
        self.of_rank[class % 4].max(self.of_group[(group * 4 + class) % LIMITS])
    }

    /// No command of a class before `cycle`.
    #[inline(always)]
    pub(crate) fn hold(&mut self, class: usize, cycle: u64) {
        let limit = &mut self.of_rank[class % 4];
        *limit = (*limit).max(cycle);
    }

    /// No command of a class in a bank group before `cycle`.
    #[inline(always)]
    pub(crate) fn hold_group(&mut self, group: usize, class: usize, cycle: u64) {
        let limit = &mut self.of_group[(group * 4 + class) % LIMITS];
        *limit = (*limit).max(cycle);
    }

    #[inline(always)]
    fn put(&mut self, bank: usize, group: usize, candidate: Candidate) {
        let at = bank % BANKS;
        let Candidate { ready, key, class, entry } = candidate;
        (self.ready[at], self.key[at], self.entry[at]) = (ready, key, entry);
        self.limit[at] = (group * 4 + class) as u8;
        self.put_class(at, class);
    }

    #[inline(always)]
    fn put_class(&mut self, bank: usize, class: usize) {
        let bit = 1 << bank;
        self.activates &= !bit;
        self.precharges &= !bit;
        match class {
            class::ACTIVATE => self.activates |= bit,
            class::PRECHARGE => self.precharges |= bit,
            _ => {}
        }
    }

    /// A bank was closed for its candidate, which now is to open it.
    #[inline(always)]
    pub(crate) fn put_activate(&mut self, bank: usize) {
        let at = bank % BANKS;
        self.ready[at] = self.banks[at].next_activate;
        self.limit[at] = self.limit[at] & !3 | class::ACTIVATE as u8;
        self.activates |= 1 << at;
        self.precharges &= !(1 << at);
    }

    /// A bank was opened for its candidate, which now is a column command.
    #[inline(always)]
    pub(crate) fn put_column(&mut self, bank: usize, kind: Kind) {
        let at = bank % BANKS;
        self.ready[at] = self.banks[at].next_column;
        self.key[at] &= !LATER;
        self.limit[at] = self.limit[at] & !3 | kind as u8;
        self.activates &= !(1 << at);
    }

    /// Whether a bank's candidate prepares it.
    #[inline(always)]
    pub(crate) fn prepares(&self, bank: usize) -> bool {
        self.key[bank % BANKS] & PREPARING == PREPARING
    }

    /// When a bank's candidate may come, but for the command bus.
    #[inline(always)]
    fn cycle(&self, bank: usize) -> u64 {
        let limit = self.limit[bank % BANKS] as usize % LIMITS;
        self.ready[bank % BANKS].max(self.of_group[limit]).max(self.of_rank[limit % 4])
    }

    /// The best candidate of `class` of `banks`, and of what was found so far, not before `floor`.
    #[inline(always)]
    fn best(&self, class: usize, mut banks: u64, floor: u64, rank: u32, best: Choice) -> Choice {
        let Choice { mut cycle, mut key, mut place } = best;
        // What holds for the whole rank need not be asked of each bank.
        let floor = floor.max(self.of_rank[class % 4]);
        if floor > cycle {
            return best;
        }
        while banks != 0 {
            let bank = banks.trailing_zeros() as usize % BANKS;
            banks &= banks - 1;
            let mut at = self.ready[bank];
            if class != class::PRECHARGE {
                at = at.max(self.of_group[self.limit[bank] as usize % LIMITS]);
            }
            if at <= cycle {
                let (at, its) = (at.max(floor), self.key[bank]);
                if at < cycle || its < key {
                    (cycle, key, place) = (at, its, rank << 8 | bank as u32);
                }
            }
        }
        Choice { cycle, key, place }
    }
}

/// What comes next beside candidates.
#[derive(Clone, Copy)]
pub(crate) enum Do {
    /// A command to a rank, or to one of its banks.
    House { kind: CommandKind, rank: u8, bank: u8 },
    /// A rank is no longer served, so that it can be refreshed: no command.
    Block { rank: u8 },
}

/// The next step, and its cycle: the candidate of a bank, or [`Choice::HOUSE`].
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) cycle: u64,
    key: u64,
    /// Of a candidate its rank, and in the low byte its bank.
    pub(crate) place: u32,
}

impl Choice {
    pub(crate) const NONE: Choice = Choice { cycle: NEVER, key: u64::MAX, place: 0 };
    /// Place of what is no candidate.
    pub(crate) const HOUSE: u32 = u32::MAX;

    /// Something beside candidates, before all of them at the same cycle.
    pub(crate) fn house(cycle: u64) -> Choice {
        Choice { cycle, key: 0, place: Choice::HOUSE }
    }
}

impl Channel {
    /// The class of a bank's candidate, and the entry that it is for.
    #[inline(always)]
    pub(crate) fn candidate_of(&self, rank: usize, bank: usize) -> (usize, u8) {
        let board = &self.boards[rank];
        (board.limit[bank % BANKS] as usize % 4, board.entry[bank % BANKS])
    }

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
        if self.is_overdue(best.cycle) {
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
            let oldest = self.queues.get(self.queues.oldest(Kind::Write)).arrival;
            let full = writes >= self.settings.write_high || oldest + self.settings.age_max <= self.floor;
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
    fn considered(&self, rank: &Rank) -> u64 {
        let [reads, writes] = rank.waiting;
        if self.direction == Kind::Read { reads } else { reads | writes }
    }

    /// The best of all candidates.
    #[inline(always)]
    fn select(&self) -> Choice {
        // Most channels have one rank.
        if let ([rank], [board]) = (&self.ranks[..], &self.boards[..]) {
            return self.select_of(rank, board, 0, Choice::NONE);
        }
        let mut best = Choice::NONE;
        for (number, (rank, board)) in self.ranks.iter().zip(&self.boards).enumerate() {
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

    /// Whether the oldest will have waited for too long by `cycle`.
    #[inline(always)]
    fn is_overdue(&self, cycle: u64) -> bool {
        let oldest = self.queues.oldest(self.direction);
        oldest != NONE && cycle >= self.queues.get(oldest).arrival + self.settings.age_max
    }

    #[cold]
    #[inline(never)]
    fn overdue(&mut self, oldest: u8) -> Option<Choice> {
        let waits = self.queues.get(oldest);
        let (rank, bank) = (waits.rank as usize, waits.bank as usize);
        if !self.ranks[rank].serves() {
            return None;
        }
        // The oldest of all is first of its bank, so that only younger hits of the row could be before it.
        let candidate = self.candidate(rank, bank, self.bank(rank, bank).row == waits.row);
        let (key, place) = (candidate.key, (rank << 8 | bank) as u32);
        self.boards[rank].put(bank, bank >> self.settings.group_shift, candidate);
        Some(Choice { cycle: self.boards[rank].cycle(bank).max(self.floor), key, place })
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
            self.boards[rank].put(bank, bank >> self.settings.group_shift, candidate);
        } else if self.direction == Kind::Write && heads[Kind::Read as usize] != NONE {
            let candidate = self.preparation(rank, bank);
            self.boards[rank].put(bank, bank >> self.settings.group_shift, candidate);
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

    /// A burst of `kind` for `bank` has entered at `cycle`: what was to come next may not be any more.
    #[inline(always)]
    pub(crate) fn rethink(&mut self, kind: Kind, rank: usize, bank: usize, cycle: u64) {
        self.consider(rank, bank);
        if !self.is_next_known {
            return;
        }
        debug_assert!(self.next.cycle >= cycle, "a step was skipped");
        // It may turn the bus, or change what the chosen bank does.
        let turns = kind != self.direction || self.queues.length(kind) == 1 || kind == Kind::Write;
        let place = (rank << 8 | bank) as u32;
        let same = self.next.place == place || self.next.place == Choice::HOUSE;
        if turns || same || self.is_overdue(self.next.cycle) {
            self.is_next_known = false;
        } else if self.ranks[rank].serves() {
            // What may come when housekeeping is due was weighed with it.
            let board = &self.boards[rank];
            let (at, key) = (board.cycle(bank).max(self.floor), board.key[bank % BANKS]);
            if at < self.next.cycle || (at == self.next.cycle && key < self.next.key) {
                self.next = Choice { cycle: at, key, place };
            }
        }
    }
}
