//! The map of a laid-out drive: the rule, and the entries that differ from it.

use std::sync::Arc;

use sim::Dense;

use crate::laid::Laid;
use crate::location::Location;

const LEAF_BITS: u32 = 4;
const LEAF: usize = 1 << LEAF_BITS;

/// Touched entries, in leaves of one cache line each; all others follow the rule.
pub(crate) struct Touched {
    rule: Arc<Laid>,
    /// For each leaf's range of units, the index of the leaf in `leaves` plus one, or 0 if no unit was touched. Zeroed
    /// memory that is never accessed occupies none.
    directory: Dense<u32>,
    leaves: Dense<[Location; LEAF]>,
    /// Range of units of each leaf.
    ranges: Vec<u32>,
}

impl Touched {
    /// Creates a map of `units` logical units that follows `rule`.
    pub(crate) fn new(rule: Arc<Laid>, units: u32) -> Touched {
        // SAFETY: the table that contains this map is accessed only with units that it holds.
        let directory = unsafe { Dense::new(vec![0; (units as usize).div_ceil(LEAF)]) };
        // SAFETY: the directory holds the indices of leaves, assigned as they are added.
        let leaves = unsafe { Dense::new(Vec::new()) };
        Touched { rule, directory, leaves, ranges: Vec::new() }
    }

    #[inline]
    fn by_rule(&self, unit: u32) -> Location {
        self.rule.home(unit).map_or(Location::NOWHERE, Location::flash)
    }

    /// Returns the location of `unit`.
    #[inline]
    pub(crate) fn get(&self, unit: u32) -> Location {
        let leaf = self.directory[(unit >> LEAF_BITS) as usize];
        if leaf != 0 {
            let entry = self.leaves[leaf as usize - 1][unit as usize % LEAF];
            if entry != Location::UNTOUCHED {
                return entry;
            }
        }
        self.by_rule(unit)
    }

    /// Returns the entry of `unit`, mutable.
    #[inline]
    pub(crate) fn entry(&mut self, unit: u32) -> &mut Location {
        let leaf = self.directory[(unit >> LEAF_BITS) as usize];
        let leaf = if leaf != 0 { leaf } else { self.add_leaf(unit >> LEAF_BITS) };
        let at = (leaf as usize - 1, unit as usize % LEAF);
        if self.leaves[at.0][at.1] == Location::UNTOUCHED {
            self.leaves[at.0][at.1] = self.by_rule(unit);
        }
        &mut self.leaves[at.0][at.1]
    }

    /// Returns the entry of `unit`, mutable, if it or a unit near it was touched; an untouched one is
    /// [`Location::UNTOUCHED`].
    #[inline]
    pub(crate) fn entry_if_touched(&mut self, unit: u32) -> Option<&mut Location> {
        let leaf = self.directory[(unit >> LEAF_BITS) as usize];
        (leaf != 0).then(|| &mut self.leaves[leaf as usize - 1][unit as usize % LEAF])
    }

    /// Returns true if `unit` is at `home`, its location by the rule if it was not touched.
    #[inline]
    pub(crate) fn is_at(&self, unit: u32, home: Location) -> bool {
        let leaf = self.directory[(unit >> LEAF_BITS) as usize];
        let entry = if leaf == 0 { Location::UNTOUCHED } else { self.leaves[leaf as usize - 1][unit as usize % LEAF] };
        debug_assert!(entry != Location::UNTOUCHED || self.by_rule(unit) == home);
        entry == home || entry == Location::UNTOUCHED
    }

    /// Like [`entry`](Self::entry), for a unit whose location by the rule is `home` if it was not touched.
    #[inline]
    pub(crate) fn entry_at(&mut self, unit: u32, home: Location) -> &mut Location {
        let leaf = self.directory[(unit >> LEAF_BITS) as usize];
        let leaf = if leaf != 0 { leaf } else { self.add_leaf(unit >> LEAF_BITS) };
        let at = (leaf as usize - 1, unit as usize % LEAF);
        if self.leaves[at.0][at.1] == Location::UNTOUCHED {
            debug_assert_eq!(self.by_rule(unit), home);
            self.leaves[at.0][at.1] = home;
        }
        &mut self.leaves[at.0][at.1]
    }

    fn add_leaf(&mut self, range: u32) -> u32 {
        self.leaves.push([Location::UNTOUCHED; LEAF]);
        self.ranges.push(range);
        let leaf = self.leaves.len() as u32;
        self.directory[range as usize] = leaf;
        leaf
    }

    /// Iterates over the touched entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Location)> + '_ {
        self.ranges.iter().zip(self.leaves.iter()).flat_map(|(range, leaf)| {
            let units = (range << LEAF_BITS)..;
            units.zip(leaf.iter().copied()).filter(|(_, entry)| *entry != Location::UNTOUCHED)
        })
    }
}
