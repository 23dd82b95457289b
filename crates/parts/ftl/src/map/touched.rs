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

/// Returns the location of an untouched unit.
#[inline]
fn by_rule(rule: &Laid, unit: u32) -> Location {
    rule.home(unit).map_or(Location::NOWHERE, Location::flash)
}

impl Touched {
    /// Creates a map of `units` logical units that follows `rule`.
    pub(crate) fn new(rule: Arc<Laid>, units: u32) -> Touched {
        let directory = Dense::new(vec![0; (units as usize).div_ceil(LEAF)]);
        let leaves = Dense::new(Vec::new());
        Touched { rule, directory, leaves, ranges: Vec::new() }
    }

    /// Returns the location of `unit`.
    #[inline]
    pub(crate) fn get(&self, unit: u32) -> Location {
        self.touched(unit).unwrap_or_else(|| self.by_rule(unit))
    }

    /// Returns the location of `unit` if it was touched.
    #[inline]
    pub(crate) fn touched(&self, unit: u32) -> Option<Location> {
        let leaf = self.directory[(unit >> LEAF_BITS) as usize];
        if leaf == 0 {
            return None;
        }
        // SAFETY: the directory holds numbers of leaves, which are never removed.
        let entry = unsafe { self.leaves.get_unchecked(leaf as usize - 1) }[unit as usize % LEAF];
        (entry != Location::UNTOUCHED).then_some(entry)
    }

    /// Returns the location of a `unit` that was not touched.
    #[inline]
    pub(crate) fn by_rule(&self, unit: u32) -> Location {
        by_rule(&self.rule, unit)
    }

    /// Returns the entry of `unit`, mutable.
    #[inline]
    pub(crate) fn entry(&mut self, unit: u32) -> &mut Location {
        let leaf = self.directory[(unit >> LEAF_BITS) as usize];
        let leaf = if leaf != 0 { leaf } else { self.add_leaf(unit >> LEAF_BITS) };
        let Touched { rule, leaves, .. } = self;
        // SAFETY: the directory holds numbers of leaves, which are never removed; a new leaf was just added.
        let entry = &mut unsafe { leaves.get_unchecked_mut(leaf as usize - 1) }[unit as usize % LEAF];
        if *entry == Location::UNTOUCHED {
            *entry = by_rule(rule, unit);
        }
        entry
    }

    /// Returns the entry of `unit`, mutable, if it or a unit near it was touched; an untouched one is
    /// [`Location::UNTOUCHED`].
    #[inline]
    pub(crate) fn entry_if_touched(&mut self, unit: u32) -> Option<&mut Location> {
        let leaf = self.directory[(unit >> LEAF_BITS) as usize];
        // SAFETY: the directory holds numbers of leaves, which are never removed.
        (leaf != 0).then(|| &mut unsafe { self.leaves.get_unchecked_mut(leaf as usize - 1) }[unit as usize % LEAF])
    }

    /// Returns true if `unit` is at `home`, its location by the rule if it was not touched.
    #[inline]
    pub(crate) fn is_at(&self, unit: u32, home: Location) -> bool {
        let leaf = self.directory[(unit >> LEAF_BITS) as usize];
        let entry = match leaf {
            0 => Location::UNTOUCHED,
            // SAFETY: the directory holds numbers of leaves, which are never removed.
            leaf => (unsafe { self.leaves.get_unchecked(leaf as usize - 1) })[unit as usize % LEAF],
        };
        debug_assert!(entry != Location::UNTOUCHED || by_rule(&self.rule, unit) == home);
        entry == home || entry == Location::UNTOUCHED
    }

    /// Like [`entry`](Self::entry), for a unit whose location by the rule is `home` if it was not touched.
    #[inline]
    pub(crate) fn entry_at(&mut self, unit: u32, home: Location) -> &mut Location {
        let leaf = self.directory[(unit >> LEAF_BITS) as usize];
        let leaf = if leaf != 0 { leaf } else { self.add_leaf(unit >> LEAF_BITS) };
        let Touched { rule, leaves, .. } = self;
        // SAFETY: the directory holds numbers of leaves, which are never removed; a new leaf was just added.
        let entry = &mut unsafe { leaves.get_unchecked_mut(leaf as usize - 1) }[unit as usize % LEAF];
        if *entry == Location::UNTOUCHED {
            debug_assert_eq!(by_rule(rule, unit), home);
            *entry = home;
        }
        entry
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
