//! The map from logical units to locations, in RAM.

use std::sync::Arc;

use sim::Dense;

use super::touched::Touched;
use crate::laid::Laid;
use crate::location::Location;

const CHUNK_BITS: u32 = 16;
const CHUNK: usize = 1 << CHUNK_BITS;

/// Map from logical unit to [`Location`].
pub struct Table {
    entries: Entries,
    units: u32,
}

/// The entries of a map. The tag has a byte of its own, which is compared faster than a marker in the pointers.
#[repr(u8)]
enum Entries {
    /// Four bytes per unit, in chunks allocated on the first write to one of their units.
    Chunks(Dense<Option<Box<Chunk>>>),
    /// On a laid-out drive, entries follow its rule until they are touched.
    Laid(Box<Touched>),
}

type Chunk = [Location; CHUNK];

impl Table {
    /// Creates a map of `units` logical units, all nowhere.
    pub fn new(units: u32) -> Table {
        let chunks = (units as usize).div_ceil(CHUNK);
        let chunks = Dense::new((0..chunks).map(|_| None).collect());
        Table { entries: Entries::Chunks(chunks), units }
    }

    /// Makes all entries follow `rule`. No entry may have been set before.
    pub(crate) fn lay_out(&mut self, rule: Arc<Laid>) {
        debug_assert!(self.iter(self.units).next().is_none(), "only an empty map can be laid out");
        self.entries = Entries::Laid(Box::new(Touched::new(rule, self.units)));
    }

    /// Iterates over the entries below `end` that may differ from the initial state: all that are somewhere, or on a
    /// laid-out drive those that were touched.
    pub(crate) fn iter_touched(&self, end: u32) -> impl Iterator<Item = (u32, Location)> + '_ {
        let (touched, all) = match &self.entries {
            Entries::Laid(touched) => (Some(touched.iter()), None),
            Entries::Chunks(_) => (None, Some(self.iter(end))),
        };
        touched.into_iter().flatten().filter(move |(unit, _)| *unit < end).chain(all.into_iter().flatten())
    }

    /// Returns true if there is an entry for `unit`.
    #[inline]
    pub fn holds(&self, unit: u32) -> bool {
        unit < self.units
    }

    /// Returns the location of `unit`.
    #[inline]
    pub fn get(&self, unit: u32) -> Location {
        match &self.entries {
            Entries::Laid(touched) => touched.get(unit),
            Entries::Chunks(chunks) => match &chunks[(unit >> CHUNK_BITS) as usize] {
                Some(chunk) => chunk[unit as usize % CHUNK],
                None => Location::NOWHERE,
            },
        }
    }

    /// Returns the location of `unit`, unless it follows from the rule of a laid-out drive.
    #[inline]
    pub(crate) fn held(&self, unit: u32) -> Option<Location> {
        match &self.entries {
            Entries::Laid(touched) => touched.touched(unit),
            Entries::Chunks(_) => Some(self.get(unit)),
        }
    }

    /// Returns the location of a `unit` for which [`held`](Self::held) has none.
    #[inline]
    pub(crate) fn by_rule(&self, unit: u32) -> Location {
        match &self.entries {
            Entries::Laid(touched) => touched.by_rule(unit),
            Entries::Chunks(_) => Location::NOWHERE,
        }
    }

    /// Returns the entry of `unit`, mutable, if it was set; otherwise `None`, or an entry that names no place.
    #[inline]
    pub fn entry(&mut self, unit: u32) -> Option<&mut Location> {
        match &mut self.entries {
            Entries::Laid(touched) => touched.entry_if_touched(unit),
            Entries::Chunks(chunks) => entry_in(chunks, unit),
        }
    }

    /// Returns true if `unit` is at `home`, its newest address in flash. The caller read the unit there, so that the
    /// rule need not be evaluated for an untouched unit.
    #[inline]
    pub(crate) fn is_at(&self, unit: u32, home: Location) -> bool {
        match &self.entries {
            Entries::Laid(touched) => touched.is_at(unit, home),
            Entries::Chunks(_) => self.get(unit) == home,
        }
    }

    /// Returns the entry of `unit`, mutable, whose newest address in flash is `home`.
    #[inline]
    pub(crate) fn entry_at(&mut self, unit: u32, home: Location) -> Option<&mut Location> {
        match &mut self.entries {
            Entries::Laid(touched) => Some(touched.entry_at(unit, home)),
            Entries::Chunks(chunks) => entry_in(chunks, unit),
        }
    }

    /// Returns the entry of `unit`, mutable, creating it if needed.
    #[inline]
    pub fn entry_to_set(&mut self, unit: u32) -> &mut Location {
        match &mut self.entries {
            Entries::Laid(touched) => touched.entry(unit),
            Entries::Chunks(chunks) => {
                let chunk = chunks[(unit >> CHUNK_BITS) as usize].get_or_insert_with(nowhere);
                &mut chunk[unit as usize % CHUNK]
            }
        }
    }

    /// Sets the location of `unit`.
    #[inline]
    pub fn set(&mut self, unit: u32, location: Location) {
        *self.entry_to_set(unit) = location;
    }

    /// Returns the first unit at or after `unit` whose chunk exists (past the last unit if there is none): unwritten
    /// ranges are skipped a chunk at a time.
    pub fn next_touched(&self, unit: u64) -> u64 {
        let Entries::Chunks(chunks) = &self.entries else { return unit };
        let mut chunk = (unit >> CHUNK_BITS) as usize;
        if chunks.get(chunk).is_some_and(Option::is_some) {
            return unit;
        }
        while chunks.get(chunk).is_some_and(Option::is_none) {
            chunk += 1;
        }
        (chunk as u64) << CHUNK_BITS
    }

    /// Iterates over the units below `end` that are not nowhere, with their locations.
    pub fn iter(&self, end: u32) -> impl Iterator<Item = (u32, Location)> + '_ {
        let mut unit = 0u64;
        std::iter::from_fn(move || {
            loop {
                unit = self.next_touched(unit);
                if unit >= u64::from(end) {
                    return None;
                }
                let found = (unit as u32, self.get(unit as u32));
                unit += 1;
                if found.1 != Location::NOWHERE {
                    return Some(found);
                }
            }
        })
    }
}

/// Returns the entry of `unit` if its chunk exists.
#[inline]
fn entry_in(chunks: &mut Dense<Option<Box<Chunk>>>, unit: u32) -> Option<&mut Location> {
    let chunk = chunks[(unit >> CHUNK_BITS) as usize].as_mut()?;
    Some(&mut chunk[unit as usize % CHUNK])
}

/// Returns a chunk of units that are nowhere.
fn nowhere() -> Box<Chunk> {
    let chunk = vec![Location::NOWHERE; CHUNK].into_boxed_slice();
    chunk.try_into().unwrap_or_else(|_| unreachable!("a chunk of CHUNK entries"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untouched_chunks_cost_nothing_and_read_nowhere() {
        let mut t = Table::new(1 << 20);
        assert_eq!(t.get(77), Location::NOWHERE);
        t.set(CHUNK as u32 * 3 + 1, Location::flash(9));
        assert_eq!(t.get(CHUNK as u32 * 3 + 1), Location::flash(9));
        assert_eq!(t.get(CHUNK as u32 * 3), Location::NOWHERE);
        assert_eq!(t.next_touched(5), 3 << CHUNK_BITS);
        assert_eq!(t.next_touched(CHUNK as u64 * 3 + 7), CHUNK as u64 * 3 + 7);
        assert_eq!(t.next_touched(CHUNK as u64 * 4), 1 << 20);
        assert_eq!(t.iter(1 << 20).collect::<Vec<_>>(), [(CHUNK as u32 * 3 + 1, Location::flash(9))]);
    }
}
