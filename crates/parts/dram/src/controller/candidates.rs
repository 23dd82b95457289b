//! The candidate table of a rank: each bank's next command for requests, laid out for a fast search for the best.

use crate::controller::queue::NONE;
use crate::state::{BANKS, Constraints, NEVER, PerBank, class};

/// Key bits of candidates other than column commands, and of those that prepare a bank for reads during a drain of
/// writes.
pub(crate) const LATER: u64 = 1 << 63;
pub(crate) const PREPARING: u64 = LATER | 1 << 62;

/// A bank's next command.
pub(crate) struct Candidate {
    /// The first cycle in which its bank allows it.
    pub(crate) ready: u64,
    /// Sorts column commands first, then by age.
    pub(crate) key: u64,
    pub(crate) class: usize,
    pub(crate) entry: u8,
}

/// The candidates of a rank's banks, as a structure of arrays.
#[derive(Clone)]
pub(crate) struct Candidates {
    ready: PerBank<u64>,
    key: PerBank<u64>,
    /// Index of its bank group's constraint.
    limit: PerBank<u8>,
    entry: PerBank<u8>,
    /// Bit masks of the banks whose candidate is an ACT, and of those whose candidate is a precharge.
    pub(crate) activates: u64,
    pub(crate) precharges: u64,
}

impl Candidates {
    pub(crate) const EMPTY: Candidates = Candidates {
        ready: PerBank([0; BANKS]),
        key: PerBank([0; BANKS]),
        limit: PerBank([0; BANKS]),
        entry: PerBank([NONE; BANKS]),
        activates: 0,
        precharges: 0,
    };

    pub(crate) fn put(&mut self, bank: usize, group: usize, candidate: Candidate) {
        let Candidate { ready, key, class, entry } = candidate;
        (self.ready[bank], self.key[bank], self.entry[bank]) = (ready, key, entry);
        self.limit[bank] = Constraints::place(group, class);
        let bit = 1 << bank;
        self.activates &= !bit;
        self.precharges &= !bit;
        match class {
            class::ACTIVATE => self.activates |= bit,
            class::PRECHARGE => self.precharges |= bit,
            _ => {}
        }
    }

    /// Returns the class of a bank's candidate, and its entry.
    pub(crate) fn of(&self, bank: usize) -> (usize, u8) {
        (self.limit[bank] as usize % 4, self.entry[bank])
    }

    /// Returns a bank's candidate as the next step, not before `floor`.
    pub(crate) fn choice(&self, constraints: &Constraints, bank: usize, floor: u64, rank: usize) -> Choice {
        let limit = self.limit[bank];
        let allowed = constraints.of_group(limit).max(constraints.of_rank(limit as usize % 4));
        let place = Choice::place(rank, bank);
        Choice { cycle: self.ready[bank].max(allowed).max(floor), key: self.key[bank], place }
    }

    /// Returns the better of `best` and the best candidate of `class` among `banks`, not before `floor`.
    #[inline]
    pub(crate) fn best(
        &self,
        constraints: &Constraints,
        class: usize,
        mut banks: u64,
        floor: u64,
        rank: usize,
        best: Choice,
    ) -> Choice {
        let Choice { mut cycle, mut key, mut place } = best;
        // A limit of the whole rank need not be compared for each bank.
        let floor = floor.max(constraints.of_rank(class));
        if banks == 0 || floor > cycle {
            return best;
        }
        while banks != 0 {
            let bank = banks.trailing_zeros() as usize;
            banks &= banks - 1;
            let mut at = self.ready[bank];
            if class != class::PRECHARGE {
                at = at.max(constraints.of_group(self.limit[bank]));
            }
            if at <= cycle {
                let (at, its) = (at.max(floor), self.key[bank]);
                if at < cycle || its < key {
                    (cycle, key, place) = (at, its, Choice::place(rank, bank));
                }
            }
        }
        Choice { cycle, key, place }
    }
}

/// The next step and its cycle: the candidate of a bank, or [`Choice::MAINTENANCE`].
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) cycle: u64,
    pub(crate) key: u64,
    /// A candidate's rank, and its bank in the low byte.
    pub(crate) place: u32,
}

impl Choice {
    pub(crate) const NONE: Choice = Choice { cycle: NEVER, key: u64::MAX, place: 0 };
    /// Place of a maintenance step.
    pub(crate) const MAINTENANCE: u32 = u32::MAX;

    /// Encodes a bank's place.
    pub(crate) fn place(rank: usize, bank: usize) -> u32 {
        (rank << 8 | bank) as u32
    }

    pub(crate) fn is_before(&self, other: &Choice) -> bool {
        self.cycle < other.cycle || (self.cycle == other.cycle && self.key < other.key)
    }

    /// Returns a maintenance step, which comes before all candidates of the same cycle.
    pub(crate) fn maintenance(cycle: u64) -> Choice {
        Choice { cycle, key: 0, place: Choice::MAINTENANCE }
    }
}
