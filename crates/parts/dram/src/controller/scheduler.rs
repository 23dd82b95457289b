//! The scheduler: first ready, first come first served (Rixner et al., ISCA 2000).
//!
//! Each bank has one candidate: the oldest burst that hits its open row, else the precharge or activate that its oldest
//! burst needs. The next command is the candidate that may come earliest; among those a column command before others,
//! and among those the oldest.

use sim::rarely;

use crate::controller::candidates::{Candidate, Choice, LATER, PREPARING};
use crate::controller::channel::Channel;
use crate::controller::queue::NONE;
use crate::request::RequestKind;
use crate::state::{CLOSED, NEVER, class};

impl Channel {
    /// Returns the cycle of the next step, which is then in `next`, or [`NEVER`] if there is none.
    pub(crate) fn peek(&mut self) -> u64 {
        if !self.is_next_known {
            self.choose();
        }
        self.next.cycle
    }

    pub(crate) fn choose(&mut self) {
        if self.direction == RequestKind::Write || self.queues.length(RequestKind::Write) > 0 {
            self.turn();
        }
        self.next = self.select();
        self.is_next_known = true;
        if self.next.cycle >= self.queues.overdue_at(self.direction) {
            rarely(self, |it| it.prefer_overdue());
        }
        if self.next.cycle >= self.maintenance.next_at {
            rarely(self, |it| it.prefer_maintenance());
        }
    }

    /// Makes the command that the oldest burst needs the next step, if that burst is overdue.
    fn prefer_overdue(&mut self) {
        if self.queues.is_overdue(self.direction, self.next.cycle) {
            self.next = self.overdue(self.queues.oldest(self.direction)).unwrap_or(self.next);
        }
    }

    /// Makes the next maintenance step the next one, if it comes no later than the command chosen.
    fn prefer_maintenance(&mut self) {
        let queues = &self.queues;
        let need = self.maintenance.first(&self.state, |rank| queues.in_use(rank));
        if need.cycle <= self.next.cycle && need.cycle != NEVER {
            self.next_need = need;
            self.next = Choice::maintenance(need.cycle);
        }
    }

    /// Turns the bus if the rules require it: there are writes, or there were.
    #[inline(never)]
    fn turn(&mut self) {
        let (reads, writes) = (self.queues.length(RequestKind::Read), self.queues.length(RequestKind::Write));
        if self.direction == RequestKind::Read {
            let full =
                writes >= self.settings.write_high || self.queues.is_overdue(RequestKind::Write, self.state.bus_free);
            if reads == 0 || (full && self.turned >= self.settings.turn_min) {
                self.draining = full;
                self.state.stats.turns += 1;
                self.turn_to(RequestKind::Write);
            }
        } else {
            self.draining |= writes >= self.settings.write_high;
            let enough = self.turned >= self.settings.turn_min
                && (writes <= self.settings.write_low || self.turned >= self.settings.write_queue);
            if reads > 0 && (writes == 0 || !self.draining || enough) {
                self.turn_to(RequestKind::Read);
            }
        }
    }

    fn turn_to(&mut self, direction: RequestKind) {
        self.direction = direction;
        self.turned = 0;
        for rank in 0..self.candidates.len() {
            self.consider_all(rank);
        }
    }

    /// Returns the banks of a rank with possible commands. During a drain, these include banks for which only reads
    /// wait.
    fn considered(&self, rank: usize) -> u64 {
        let reads = self.queues.waiting(rank, RequestKind::Read);
        if self.direction == RequestKind::Read { reads } else { reads | self.queues.waiting(rank, RequestKind::Write) }
    }

    /// Returns the ranks with such banks.
    fn considered_ranks(&self) -> u32 {
        let reads = self.queues.waiting_ranks(RequestKind::Read);
        if self.direction == RequestKind::Read { reads } else { reads | self.queues.waiting_ranks(RequestKind::Write) }
    }

    /// Returns the best of all candidates.
    #[inline]
    fn select(&self) -> Choice {
        let (mut best, floor) = (Choice::NONE, self.state.bus_free);
        let kind = self.direction as usize;
        let mut ranks = self.considered_ranks();
        while ranks != 0 {
            let rank = ranks.trailing_zeros() as usize;
            ranks &= ranks - 1;
            let banks = self.considered(rank) & self.maintenance.serves(&self.state, rank);
            let (table, constraints) = (&self.candidates[rank], &self.state.ranks[rank].constraints);
            let columns = banks & !table.activates & !table.precharges;
            best = table.best(constraints, kind, columns, floor, rank, best);
            best = table.best(constraints, class::PRECHARGE, banks & table.precharges, floor, rank, best);
            // ACTs delay one another, so the search can usually skip them.
            best = table.best(constraints, class::ACTIVATE, banks & table.activates, floor, rank, best);
        }
        best
    }

    /// Returns the number of bursts, the next included, that are served before [`Channel::turn`] may turn the bus.
    pub(crate) fn before_turn(&self) -> u32 {
        let (s, turned) = (&self.settings, self.turned);
        let (reads, writes) = (self.queues.length(RequestKind::Read), self.queues.length(RequestKind::Write));
        let least = s.turn_min.saturating_sub(turned);
        match self.direction {
            RequestKind::Read if writes >= s.write_high => least,
            // Until a write is overdue.
            RequestKind::Read => u32::MAX,
            RequestKind::Write if reads == 0 => u32::MAX,
            RequestKind::Write => {
                least.max(s.write_queue.saturating_sub(turned).min(writes.saturating_sub(s.write_low)))
            }
        }
    }

    /// Returns how long the hits of a bank, of which the next has number `order`, stay the choice of [`Channel::select`]:
    /// the last cycle, at most `latest`, and the number of bursts.
    pub(crate) fn before_others(&self, rank: usize, bank: usize, order: u64, mut latest: u64) -> (u64, u64) {
        let (k, mut older) = (self.direction as usize, u64::MAX);
        let (gap, group) = (self.state.column_gap(self.direction), bank >> self.state.group_shift);
        let group_mask = (u64::MAX >> (64 - (1 << self.state.group_shift))) << (group << self.state.group_shift);
        for (other_rank, table) in self.candidates.iter().enumerate() {
            let constraints = &self.state.ranks[other_rank].constraints;
            let mut banks = self.considered(other_rank) & self.maintenance.serves(&self.state, other_rank);
            if other_rank == rank {
                banks &= !(1 << bank);
                // Hits in other groups come between where bank groups are further apart than banks.
                let columns = banks & !table.activates & !table.precharges;
                if self.state.gaps.same_rank[k][k] < gap && columns & !group_mask != 0 {
                    return (0, 0);
                }
            }
            while banks != 0 {
                let other = banks.trailing_zeros() as usize;
                banks &= banks - 1;
                let choice = table.choice(constraints, other, 0, other_rank);
                if choice.cycle > latest {
                    continue;
                }
                if table.of(other).0 != k {
                    // A column command comes before an ACT or a precharge of the same cycle.
                    latest = choice.cycle;
                    continue;
                }
                let near = other_rank == rank && other >> self.state.group_shift == group;
                let apart = match () {
                    () if other_rank != rank => self.state.gaps.other_rank[k][k],
                    () if near => self.state.gaps.same_group[k][k].max(self.state.gaps.same_rank[k][k]),
                    () => self.state.gaps.same_rank[k][k],
                };
                if apart.max(u64::from(self.state.timing.column_slots)) < gap || choice.key < order {
                    latest = choice.cycle.saturating_sub(1);
                } else {
                    older = older.min(choice.key - order);
                }
            }
        }
        (latest, older)
    }

    /// Returns the command that the oldest burst needs.
    fn overdue(&mut self, oldest: u8) -> Option<Choice> {
        if oldest == NONE {
            return None;
        }
        let waits = self.queues.get(oldest);
        let (rank, bank) = (waits.rank as usize, waits.bank as usize);
        if self.maintenance.serves(&self.state, rank) >> bank & 1 == 0 {
            return None;
        }
        // The oldest burst is first in its bank, so that only younger hits of the row could come before it.
        self.consider_hits(rank, bank, self.state.bank(rank, bank).row == waits.row);
        Some(self.choice(rank, bank))
    }

    /// Returns a bank's candidate as the next step.
    fn choice(&self, rank: usize, bank: usize) -> Choice {
        let constraints = &self.state.ranks[rank].constraints;
        self.candidates[rank].choice(constraints, bank, self.state.bus_free, rank)
    }

    /// Returns the next command of a bank with waiting bursts. If `hits` is false, bursts that hit the open row are
    /// ignored.
    fn candidate(&self, rank: usize, number: usize, hits: bool) -> Candidate {
        let direction = self.direction as usize;
        let (bank, waits) = (self.state.bank(rank, number), self.queues.bank(rank, number));
        let (head, hit) = (waits.head[direction], waits.hit[direction]);
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

    /// Recomputes a bank's candidate.
    pub(crate) fn consider(&mut self, rank: usize, bank: usize) {
        self.consider_hits(rank, bank, true);
    }

    /// Recomputes a bank's candidate. If `hits` is false, bursts that hit the open row are ignored.
    fn consider_hits(&mut self, rank: usize, bank: usize, hits: bool) {
        let heads = self.queues.bank(rank, bank).head;
        if heads[self.direction as usize] != NONE {
            let candidate = self.candidate(rank, bank, hits);
            self.candidates[rank].put(bank, bank >> self.state.group_shift, candidate);
        } else if self.direction == RequestKind::Write && heads[RequestKind::Read as usize] != NONE {
            let candidate = self.preparation(rank, bank);
            self.candidates[rank].put(bank, bank >> self.state.group_shift, candidate);
        }
    }

    /// Recomputes the candidates of all banks of a rank.
    pub(crate) fn consider_all(&mut self, rank: usize) {
        let mut banks = self.considered(rank);
        while banks != 0 {
            self.consider(rank, banks.trailing_zeros() as usize);
            banks &= banks - 1;
        }
    }

    /// Returns the command that opens the row for waiting reads during a drain, for a bank without waiting writes.
    fn preparation(&self, rank: usize, number: usize) -> Candidate {
        let (bank, waits) = (self.state.bank(rank, number), self.queues.bank(rank, number));
        let (head, hit) = (waits.head[RequestKind::Read as usize], waits.hit[RequestKind::Read as usize]);
        let key = PREPARING | self.queues.get(head).order;
        if bank.row == CLOSED {
            Candidate { ready: bank.next_activate, key, class: class::ACTIVATE, entry: head }
        } else {
            // If its open row already serves them, the bank waits until the bus turns.
            let ready = if hit == NONE { bank.next_precharge } else { NEVER };
            Candidate { ready, key, class: class::PRECHARGE, entry: head }
        }
    }

    /// Updates the next step after a burst of `kind` for `bank` has entered. `changes` is true if the bank's candidate
    /// may have changed.
    pub(crate) fn rethink(&mut self, kind: RequestKind, rank: usize, bank: usize, changes: bool) {
        if changes {
            self.consider(rank, bank);
        }
        if !self.is_next_known {
            return;
        }
        let length = self.queues.length(kind);
        // The burst may turn the bus, but not if it is another write of a drain, or a read in addition to others.
        let turns = match (kind, self.direction) {
            _ if length == 1 => true,
            (RequestKind::Read, _) => false,
            (RequestKind::Write, RequestKind::Write) => {
                self.draining |= length >= self.settings.write_high;
                false
            }
            (RequestKind::Write, RequestKind::Read) if self.turned < self.settings.turn_min => false,
            (RequestKind::Write, RequestKind::Read) => {
                length >= self.settings.write_high || self.queues.is_overdue(RequestKind::Write, self.state.bus_free)
            }
        };
        // Its bank may have another candidate now.
        let same = changes && (self.next.place == Choice::MAINTENANCE || self.next.place == Choice::place(rank, bank));
        if turns || same || self.queues.is_overdue(self.direction, self.next.cycle) {
            self.is_next_known = false;
        } else if changes && (kind == RequestKind::Read || self.direction == RequestKind::Write) {
            let found = self.choice(rank, bank);
            if found.is_before(&self.next) && self.maintenance.serves(&self.state, rank) >> bank & 1 != 0 {
                // If it comes before the step chosen, it also comes before the maintenance considered then.
                self.next = found;
            }
        }
    }
}
