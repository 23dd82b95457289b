//! What each bank of a rank would do next, and from when on the rank allows it: laid out for finding the best quickly.

use crate::bank::Bank;
use crate::channel::NEVER;
use crate::queue::NONE;
use crate::request::Kind;

/// Classes of commands that a rank and a bank group limit.
pub(crate) mod class {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const ACTIVATE: usize = 2;
    pub const PRECHARGE: usize = 3;
}

/// Keys of what is no column command, and of what prepares a bank for reads during a drain of writes.
pub(crate) const LATER: u64 = 1 << 63;
pub(crate) const PREPARING: u64 = LATER | 1 << 62;

/// Ranks of a channel at most.
pub(crate) const RANKS: usize = 16;
/// Banks of a rank at most, and bank groups times classes.
pub(crate) const BANKS: usize = 64;
const LIMITS: usize = 64;

/// What a bank would do next.
pub(crate) struct Candidate {
    /// From when on its bank allows it.
    pub(crate) ready: u64,
    /// Column commands first, then by age.
    pub(crate) key: u64,
    pub(crate) class: usize,
    pub(crate) entry: u8,
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
    pub(crate) activates: u64,
    pub(crate) precharges: u64,
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

    /// No command of a class before `cycle`, which is later than what was allowed: the class of what was just issued.
    #[inline(always)]
    pub(crate) fn set(&mut self, class: usize, cycle: u64) {
        debug_assert!(self.of_rank[class % 4] < cycle, "a command came too early");
        self.of_rank[class % 4] = cycle;
    }

    /// The same for a bank group.
    #[inline(always)]
    pub(crate) fn set_group(&mut self, group: usize, class: usize, cycle: u64) {
        debug_assert!(self.of_group[(group * 4 + class) % LIMITS] < cycle, "a command came too early");
        self.of_group[(group * 4 + class) % LIMITS] = cycle;
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
    pub(crate) fn put(&mut self, bank: usize, group: usize, candidate: Candidate) {
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

    /// The key of a bank's candidate: of a column command its age.
    #[inline(always)]
    pub(crate) fn key(&self, bank: usize) -> u64 {
        self.key[bank % BANKS]
    }

    /// When a bank's candidate may come, but for the command bus.
    #[inline(always)]
    fn cycle(&self, bank: usize) -> u64 {
        let limit = self.limit[bank % BANKS] as usize % LIMITS;
        self.ready[bank % BANKS].max(self.of_group[limit]).max(self.of_rank[limit % 4])
    }

    /// The class of a bank's candidate, and the entry that it is for.
    #[inline(always)]
    pub(crate) fn candidate_of(&self, bank: usize) -> (usize, u8) {
        (self.limit[bank % BANKS] as usize % 4, self.entry[bank % BANKS])
    }

    /// A bank's candidate as the next step, not before `floor`.
    #[inline(always)]
    pub(crate) fn choice(&self, bank: usize, floor: u64, rank: usize) -> Choice {
        let place = Choice::place(rank, bank);
        Choice { cycle: self.cycle(bank).max(floor), key: self.key[bank % BANKS], place }
    }

    /// The candidate of `banks`, all of which are to be opened or closed, that may come first.
    #[inline(always)]
    pub(crate) fn soonest(&self, banks: u64, rank: u32, best: Choice) -> Choice {
        let best = self.best(class::PRECHARGE, banks & self.precharges, 0, rank, best);
        self.best(class::ACTIVATE, banks & self.activates, 0, rank, best)
    }

    /// The best candidate of `class` of `banks`, and of what was found so far, not before `floor`.
    #[inline(always)]
    pub(crate) fn best(&self, class: usize, mut banks: u64, floor: u64, rank: u32, best: Choice) -> Choice {
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

    /// A bank's place.
    #[inline(always)]
    pub(crate) fn place(rank: usize, bank: usize) -> u32 {
        (rank << 8 | bank) as u32
    }

    #[inline(always)]
    pub(crate) fn is_before(&self, other: &Choice) -> bool {
        self.cycle < other.cycle || (self.cycle == other.cycle && self.key < other.key)
    }

    /// Something beside candidates, before all of them at the same cycle.
    pub(crate) fn house(cycle: u64) -> Choice {
        Choice { cycle, key: 0, place: Choice::HOUSE }
    }
}
