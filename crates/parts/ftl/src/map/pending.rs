//! Map changes that wait for their translation unit.

use std::collections::VecDeque;

/// Changed entries of translation units that are not cached. They wait in the controller, so that loading a unit serves
/// all its changes at once (Ma, Feng and Li, "LazyFTL", SIGMOD 2011). A read of such an entry still needs its
/// translation unit.
pub(crate) struct Pending {
    max: u32,
    /// Number of waiting changes, in total and per translation unit.
    total: u32,
    of: Vec<u32>,
    /// Translation units ordered by their oldest change, possibly with some that were loaded since.
    order: VecDeque<u32>,
    queued: Vec<bool>,
}

impl Pending {
    /// Creates room for `max` changes of `units` translation units.
    pub fn new(max: u32, units: usize) -> Pending {
        Pending { max, total: 0, of: vec![0; units], order: VecDeque::new(), queued: vec![false; units] }
    }

    /// Returns the maximum number of waiting changes.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// Adds a change to translation unit `t`. If there are too many changes, returns the unit to load now, whose
    /// changes are no longer counted.
    pub fn note(&mut self, t: u32) -> Option<u32> {
        self.total += 1;
        self.of[t as usize] += 1;
        if !std::mem::replace(&mut self.queued[t as usize], true) {
            self.order.push_back(t);
        }
        while self.total > self.max {
            let oldest = self.order.pop_front().expect("waiting changes belong to a queued unit");
            self.queued[oldest as usize] = false;
            if self.take(oldest) {
                return Some(oldest);
            }
        }
        None
    }

    /// Removes the changes of translation unit `t`. Returns true if there were any.
    pub fn take(&mut self, t: u32) -> bool {
        let waited = std::mem::take(&mut self.of[t as usize]);
        self.total -= waited;
        waited > 0
    }

    /// Returns true if changes wait for translation unit `t`.
    pub fn has(&self, t: u32) -> bool {
        self.of[t as usize] > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_unit_with_the_oldest_change_comes_first_and_takes_all_of_its_own() {
        let mut pending = Pending::new(3, 4);
        assert_eq!([2, 1, 2].map(|t| pending.note(t)), [None; 3]);
        assert_eq!(pending.note(3), Some(2));
        assert_eq!([1, 2, 3].map(|t| pending.has(t)), [true, false, true]);
    }

    #[test]
    fn without_room_each_change_has_its_unit_brought_in() {
        let mut pending = Pending::new(0, 4);
        assert_eq!([2, 1, 2].map(|t| pending.note(t)), [Some(2), Some(1), Some(2)]);
    }

    proptest! {
        /// Compares it with a list of all changes in order of age.
        #[test]
        fn it_is_a_list_of_changes(max in 0u32..6, steps in prop::collection::vec((any::<bool>(), 0u32..5), 0..200)) {
            let mut pending = Pending::new(max, 5);
            let mut all: Vec<u32> = Vec::new();
            for (note, t) in steps {
                if note {
                    all.push(t);
                    let wanted = pending.note(t);
                    prop_assert_eq!(wanted.is_some(), all.len() as u32 > max);
                    if let Some(wanted) = wanted {
                        prop_assert!(all.contains(&wanted));
                        all.retain(|of| *of != wanted);
                    }
                } else {
                    prop_assert_eq!(pending.take(t), all.contains(&t));
                    all.retain(|of| *of != t);
                }
                prop_assert!((0..5).all(|t| pending.has(t) == all.contains(&t)));
                prop_assert!(all.len() as u32 <= max);
                prop_assert!(pending.order.len() <= 5, "the queue grows without bound");
            }
        }
    }
}
