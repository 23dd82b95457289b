//! A set of command slots.

/// Maximum number of slots: UFS queues at most 255 tasks (JESD220F, bQueueDepth has a byte).
pub const SLOTS_MAX: u32 = 255;

const WORDS: usize = SLOTS_MAX.div_ceil(64) as usize;

/// A set of slot numbers below 256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotSet([u64; WORDS]);

impl SlotSet {
    /// Returns the set of the first `count` slots.
    pub fn first(count: u32) -> SlotSet {
        let mut set = SlotSet::default();
        (0..count as u16).for_each(|slot| set.insert(slot));
        set
    }

    /// Returns the lowest number.
    #[inline]
    pub fn lowest(&self) -> Option<u16> {
        let word = self.0.iter().position(|word| *word != 0)?;
        Some((word * 64) as u16 + self.0[word].trailing_zeros() as u16)
    }

    /// Adds `slot`.
    #[inline]
    pub fn insert(&mut self, slot: u16) {
        self.0[usize::from(slot / 64)] |= 1 << (slot % 64);
    }

    /// Removes `slot`.
    #[inline]
    pub fn remove(&mut self, slot: u16) {
        self.0[usize::from(slot / 64)] &= !(1 << (slot % 64));
    }

    /// Returns true if `slot` is in the set.
    pub fn contains(&self, slot: u16) -> bool {
        self.0[usize::from(slot / 64)] >> (slot % 64) & 1 == 1
    }

    /// Returns true if the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Returns the number of slots in the set.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(first in 0..=SLOTS_MAX, changes in prop::collection::vec((0..256u16, any::<bool>()), 0..300)) {
            let (mut set, mut obvious) = (SlotSet::first(first), (0..first as u16).collect::<BTreeSet<u16>>());
            for (slot, added) in changes {
                if added {
                    set.insert(slot);
                    obvious.insert(slot);
                } else {
                    set.remove(slot);
                    obvious.remove(&slot);
                }
                prop_assert_eq!(set.lowest(), obvious.first().copied());
                prop_assert_eq!((set.len(), set.is_empty()), (obvious.len() as u32, obvious.is_empty()));
                prop_assert_eq!(set.contains(slot), added);
            }
        }
    }
}
