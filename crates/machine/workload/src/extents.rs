//! A set of byte ranges, and whether it covers another range.

use std::collections::BTreeMap;

/// Maximum number of ranges that are kept apart; beyond it further ranges are dropped, so that the set may cover less than
/// was inserted but never more.
const RANGES: usize = 1 << 20;

/// Disjoint ranges of bytes, by their start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extents {
    ranges: BTreeMap<u64, u64>,
}

impl Extents {
    /// Adds `bytes` bytes from `start` on.
    pub fn insert(&mut self, start: u64, bytes: u64) {
        let (mut from, mut to) = (start, start.saturating_add(bytes));
        while let Some((first, end)) = self.ranges.range(..=to).next_back().map(|(first, end)| (*first, *end))
            && end >= from
        {
            self.ranges.remove(&first);
            (from, to) = (from.min(first), to.max(end));
        }
        if self.ranges.len() < RANGES {
            self.ranges.insert(from, to);
        }
    }

    /// Returns true if all `bytes` bytes from `start` on were added.
    pub fn covers(&self, start: u64, bytes: u64) -> bool {
        let end = start.saturating_add(bytes);
        self.ranges.range(..=start).next_back().is_some_and(|(_, to)| *to >= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_set_covers_what_a_bitmap_has(ranges in prop::collection::vec((0u64..60, 1u64..9), 0..30), from in 0u64..60, bytes in 1u64..12) {
            let (mut extents, mut bits) = (Extents::default(), [false; 80]);
            for (start, length) in ranges {
                extents.insert(start, length);
                bits[start as usize..(start + length) as usize].fill(true);
            }
            let all = bits[from as usize..(from + bytes) as usize].iter().all(|bit| *bit);
            prop_assert_eq!(extents.covers(from, bytes), all);
        }
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let mut extents = Extents::default();
        extents.insert(0, 10);
        extents.insert(10, 10);
        extents.insert(u64::MAX, 10);
        assert!(extents.covers(5, 10) && !extents.covers(5, 16));
    }
}
