//! The map from logical units to locations, in RAM.

use std::sync::Arc;

use sim::Dense;

use super::touched::Touched;
use crate::laid::Laid;
use crate::location::Location;

const CHUNK_BITS: u32 = 16;
const CHUNK: usize = 1 << CHUNK_BITS;

/// Map from logical unit to [`Location`]: four bytes per unit, in chunks allocated on the first write to one of their
/// units. A laid-out drive has no chunks: entries follow its rule until they are touched.
pub struct Table {
    chunks: Dense<Option<Box<[Location; CHUNK]>>>,
    units: u32,
    touched: Option<Box<Touched>>,
}

impl Table {
    /// Creates a map of `units` logical units, all nowhere.
    pub fn new(units: u32) -> Table {
        let chunks = (units as usize).div_ceil(CHUNK);
        // SAFETY: units requested by the host are checked against the capacity, units found in flash by `holds`.
        Table { chunks: unsafe { Dense::new((0..chunks).map(|_| None).collect()) }, units, touched: None }
    }

    /// Makes all entries follow `rule`. No entry may have been set before.
    pub(crate) fn lay_out(&mut self, rule: Arc<Laid>) {
        debug_assert!(self.chunks.iter().all(Option::is_none), "only an empty map can be laid out");
        self.touched = Some(Box::new(Touched::new(rule, self.units)));
    }

    /// Iterates over the entries below `end` that may differ from the initial state: all that are somewhere, or on a
    /// laid-out drive those that were touched.
    pub(crate) fn iter_touched(&self, end: u32) -> impl Iterator<Item = (u32, Location)> + '_ {
        let touched = self.touched.iter().flat_map(|touched| touched.iter());
        let all = self.touched.is_none().then(|| self.iter(end));
        touched.filter(move |(unit, _)| *unit < end).chain(all.into_iter().flatten())
    }

    fn get_laid(&self, unit: u32) -> Location {
        self.touched.as_ref().map_or(Location::NOWHERE, |touched| touched.get(unit))
    }

    /// Returns true if there is an entry for `unit`.
    #[inline]
    pub fn holds(&self, unit: u32) -> bool {
        ((unit >> CHUNK_BITS) as usize) < self.chunks.len()
    }

    /// Returns the location of `unit`.
    #[inline]
    pub fn get(&self, unit: u32) -> Location {
        match &self.chunks[(unit >> CHUNK_BITS) as usize] {
            Some(chunk) => chunk[unit as usize % CHUNK],
            None => self.get_laid(unit),
        }
    }

    /// Returns the entry of `unit`, mutable; `None` if nothing near it was ever written.
    #[inline]
    pub fn entry(&mut self, unit: u32) -> Option<&mut Location> {
        match &mut self.chunks[(unit >> CHUNK_BITS) as usize] {
            Some(chunk) => Some(&mut chunk[unit as usize % CHUNK]),
            None => self.touched.as_mut().map(|touched| touched.entry(unit)),
        }
    }

    /// Returns true if `unit` is at `home`, its newest address in flash. The caller read the unit there, so that the
    /// rule need not be evaluated for an untouched unit.
    #[inline]
    pub(crate) fn is_at(&self, unit: u32, home: Location) -> bool {
        match (&self.chunks[(unit >> CHUNK_BITS) as usize], &self.touched) {
            (Some(chunk), _) => chunk[unit as usize % CHUNK] == home,
            (None, Some(touched)) => touched.is_at(unit, home),
            (None, None) => false,
        }
    }

    /// Like [`entry`](Self::entry), for a unit whose newest address in flash is `home`.
    #[inline]
    pub(crate) fn entry_at(&mut self, unit: u32, home: Location) -> Option<&mut Location> {
        match &mut self.chunks[(unit >> CHUNK_BITS) as usize] {
            Some(chunk) => Some(&mut chunk[unit as usize % CHUNK]),
            None => self.touched.as_mut().map(|touched| touched.entry_at(unit, home)),
        }
    }

    /// Returns the entry of `unit`, mutable, creating it if needed.
    #[inline]
    pub fn entry_to_set(&mut self, unit: u32) -> &mut Location {
        let chunk = &mut self.chunks[(unit >> CHUNK_BITS) as usize];
        let chunk = match chunk {
            Some(chunk) => chunk,
            None => match &mut self.touched {
                Some(touched) => return touched.entry(unit),
                None => Self::materialise(chunk),
            },
        };
        &mut chunk[unit as usize % CHUNK]
    }

    /// Sets the location of `unit`.
    #[inline]
    pub fn set(&mut self, unit: u32, location: Location) {
        *self.entry_to_set(unit) = location;
    }

    fn materialise(chunk: &mut Option<Box<[Location; CHUNK]>>) -> &mut [Location; CHUNK] {
        let fresh = vec![Location::NOWHERE; CHUNK].into_boxed_slice();
        chunk.insert(fresh.try_into().unwrap_or_else(|_| unreachable!("a chunk of CHUNK entries")))
    }

    /// Returns the first unit at or after `unit` whose chunk exists (past the last unit if there is none): unwritten
    /// ranges are skipped a chunk at a time.
    pub fn next_touched(&self, unit: u64) -> u64 {
        let mut chunk = (unit >> CHUNK_BITS) as usize;
        if self.touched.is_some() || self.chunks.get(chunk).is_some_and(Option::is_some) {
            return unit;
        }
        while self.chunks.get(chunk).is_some_and(Option::is_none) {
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
