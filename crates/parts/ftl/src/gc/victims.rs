//! The blocks being collected in a parallel unit, and the space gained from them so far.
//!
//! Pacing reads the gain after every program and every read of collection, so it is stored here and updated when a
//! victim loses a valid unit.

use crate::space::blocks::Blocks;

/// A block being collected, or collected and not yet erased.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Victim {
    pub(crate) block: u32,
    /// Valid units when it was chosen.
    pub(crate) valid: u32,
    /// A folded SLC block: its copies take room in the other blocks, and its erase gives none back there.
    pub(crate) slc: bool,
}

impl Victim {
    /// Returns the units of the block's `capacity` gained by its copies so far, with `left` valid units still in it.
    #[inline]
    pub(super) fn given_back(&self, capacity: u64, left: u32) -> u64 {
        if left == 0 {
            return capacity;
        }
        capacity * u64::from(self.valid.saturating_sub(left)) / u64::from(self.valid)
    }
}

/// Counters of all victims of a parallel unit so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Totals {
    /// Units of space gained.
    pub(super) gained: u64,
    /// Valid units copied, or superseded before that.
    pub(super) copied: u64,
}

/// Victims of a parallel unit, in the order in which they were chosen.
pub(crate) struct Victims {
    /// Each with the units gained from it.
    all: Vec<(Victim, u64)>,
    /// Sum of the units gained from each victim, if every plane is usable.
    gained: u64,
    totals: Totals,
    /// Units per block.
    capacity: u64,
}

impl Victims {
    /// Creates an empty list; a block has `capacity` units if all its planes are usable.
    pub(super) fn new(capacity: u32) -> Victims {
        Victims { all: Vec::new(), gained: 0, totals: Totals::default(), capacity: u64::from(capacity) }
    }

    /// Returns true if no block is collected or waits for its erase.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Iterates over the victims, the oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Victim> {
        self.all.iter().map(|(victim, _)| victim)
    }

    /// Returns the units gained so far from victims that are no folded SLC blocks, if every plane is usable.
    #[inline]
    pub(super) fn gained(&self, blocks: &Blocks) -> u64 {
        debug_assert_eq!(self.gained, self.count_gained(blocks), "space gained from {:?}", self.all);
        self.gained
    }

    /// Returns the counters of all victims so far that are no folded SLC blocks.
    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    /// Counts [`gained`](Self::gained) from the valid units of all victims.
    fn count_gained(&self, blocks: &Blocks) -> u64 {
        let others = self.iter().filter(|victim| !victim.slc);
        others.map(|victim| victim.given_back(self.capacity, blocks.valid(victim.block))).sum()
    }

    /// Adds a victim.
    pub(super) fn add(&mut self, victim: Victim) {
        self.all.push((victim, 0));
        self.shrank(victim.block, victim.valid);
    }

    /// Removes `block`, which was erased or is given up.
    pub(super) fn remove(&mut self, block: u32) {
        self.all.retain(|(victim, _)| victim.block != block);
        self.gained = self.all.iter().map(|(_, gained)| gained).sum();
    }

    /// Updates the gain from `block`, which has `left` valid units.
    #[inline]
    pub(crate) fn shrank(&mut self, block: u32, left: u32) {
        for (victim, gained) in self.all.iter_mut().rev() {
            if victim.block != block {
                continue;
            }
            if !victim.slc {
                let now = victim.given_back(self.capacity, left);
                self.gained += now - *gained;
                self.totals.gained += now - *gained;
                self.totals.copied += u64::from(left < victim.valid);
                *gained = now;
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Victim, Victims};

    #[test]
    fn a_victim_gives_its_block_back_in_proportion_to_its_copies() {
        let mut victims = Victims::new(100);
        victims.add(Victim { block: 7, valid: 40, slc: false });
        victims.add(Victim { block: 8, valid: 0, slc: false });
        victims.add(Victim { block: 9, valid: 10, slc: true });
        assert_eq!(victims.gained, 100);
        victims.shrank(7, 39);
        victims.shrank(9, 0);
        assert_eq!(victims.gained, 102);
        victims.shrank(7, 0);
        assert_eq!(victims.gained, 200);
        assert_eq!((victims.totals.gained, victims.totals.copied), (200, 2));
        victims.remove(8);
        assert_eq!(victims.gained, 100);
    }

    #[test]
    fn a_victim_that_was_not_copied_counts_no_copy() {
        let mut victims = Victims::new(100);
        victims.add(Victim { block: 7, valid: 40, slc: false });
        assert_eq!((victims.totals.gained, victims.totals.copied), (0, 0));
        victims.shrank(7, 40);
        assert_eq!(victims.totals.copied, 0);
        victims.shrank(7, 39);
        assert_eq!(victims.totals.copied, 1);
    }
}
