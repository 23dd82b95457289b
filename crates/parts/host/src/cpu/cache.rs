//! A set-associative write-back cache that tracks lines but no data, with LRU replacement.

use media::LINE;

/// The line is modified.
const DIRTY: u64 = 1;
/// The line's fill is still in flight; the bits above contain its fill number.
const PENDING: u64 = 2;
const FILL: u32 = 2;
const FILL_BITS: u64 = 0xffff << FILL;
/// Position of the line number, above all flags.
const NUMBER: u32 = 18;
const EMPTY: u64 = u64::MAX;

/// Limit of line numbers, which corresponds to addresses below 2^51.
pub const LINES: u64 = 1 << 45;

/// The result of looking up a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The line is in the cache.
    Hit,
    /// The line is in flight, with this fill number.
    Pending(u16),
    /// The line is not in the cache.
    Miss,
}

/// An evicted line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// The line number.
    pub line: u64,
    /// Whether the line is modified.
    pub dirty: bool,
}

/// The lines of a cache. Each set's words are in LRU order, the most recently used first.
#[derive(Clone, Debug)]
pub struct Cache {
    words: Vec<u64>,
    ways: usize,
    mask: u64,
}

impl Cache {
    /// Creates an empty cache of `bytes` bytes with `ways` lines per set.
    ///
    /// # Panics
    /// If the number of sets is not a power of two, or that of ways not in 1 to 64.
    pub fn new(bytes: u64, ways: u32) -> Cache {
        assert!((1..=64).contains(&ways), "{ways} ways, expected 1 to 64");
        let (sets, ways) = (bytes / LINE / u64::from(ways), ways as usize);
        assert!(sets.is_power_of_two(), "{bytes} bytes of {ways} ways are {sets} sets");
        Cache { words: vec![EMPTY; sets as usize * ways], ways, mask: sets - 1 }
    }

    fn set(&mut self, line: u64) -> &mut [u64] {
        let first = (line & self.mask) as usize * self.ways;
        &mut self.words[first..first + self.ways]
    }

    fn state(word: u64) -> Lookup {
        if word & PENDING == 0 { Lookup::Hit } else { Lookup::Pending((word >> FILL) as u16) }
    }

    /// Looks up a line and marks it as most recently used, and as modified if `dirty` is set.
    pub fn touch(&mut self, line: u64, dirty: bool) -> Lookup {
        debug_assert!(line < LINES, "line {line:#x}");
        let set = self.set(line);
        if set[0] >> NUMBER == line {
            set[0] |= u64::from(dirty);
            return Cache::state(set[0]);
        }
        let Some(at) = set.iter().position(|word| word >> NUMBER == line) else { return Lookup::Miss };
        let word = set[at] | u64::from(dirty);
        // Shift words one at a time; for so few, a call of memmove would take longer.
        let mut newer = word;
        for word in &mut set[..=at] {
            std::mem::swap(word, &mut newer);
        }
        Cache::state(word)
    }

    /// Inserts a line as the most recently used, in flight if `fill` is given. Returns the evicted line, if any.
    pub fn insert(&mut self, line: u64, dirty: bool, fill: Option<u16>) -> Option<Victim> {
        let pending = fill.map_or(0, |fill| PENDING | (u64::from(fill) << FILL));
        let word = (line << NUMBER) | pending | u64::from(dirty);
        let set = self.set(line);
        debug_assert!(set.iter().all(|word| word >> NUMBER != line), "line {line:#x} is already cached");
        let last = set[set.len() - 1];
        set.copy_within(0..set.len() - 1, 1);
        set[0] = word;
        (last != EMPTY).then_some(Victim { line: last >> NUMBER, dirty: last & DIRTY != 0 })
    }

    /// Marks a line as present when its fill arrives. Ignored if the line has been evicted since.
    pub fn arrived(&mut self, line: u64, fill: u16) {
        let set = self.set(line);
        if let Some(word) = set.iter_mut().find(|word| **word >> NUMBER == line)
            && *word & PENDING != 0
            && (*word >> FILL) as u16 == fill
        {
            *word &= !(PENDING | FILL_BITS);
        }
    }

    /// Marks all modified lines as clean, except those in flight, and appends them to `lines`.
    pub fn clean(&mut self, lines: &mut Vec<u64>) {
        for word in self.words.iter_mut().filter(|word| **word != EMPTY && **word & (DIRTY | PENDING) == DIRTY) {
            *word &= !DIRTY;
            lines.push(*word >> NUMBER);
        }
    }

    /// Returns the number of modified lines.
    pub fn modified(&self) -> usize {
        self.words.iter().filter(|word| **word != EMPTY && **word & DIRTY != 0).count()
    }

    /// Removes all lines, modified or not, except those in flight.
    pub fn forget(&mut self) {
        for set in self.words.chunks_exact_mut(self.ways) {
            let mut kept = 0;
            for at in 0..set.len() {
                let word = std::mem::replace(&mut set[at], EMPTY);
                if word != EMPTY && word & PENDING != 0 {
                    set[kept] = word;
                    kept += 1;
                }
            }
        }
    }

    /// Removes a line. Returns whether it was present and modified.
    pub fn drop_line(&mut self, line: u64) -> bool {
        let set = self.set(line);
        let Some(at) = set.iter().position(|word| word >> NUMBER == line) else { return false };
        let dirty = set[at] & DIRTY != 0;
        set.copy_within(at + 1.., at);
        let last = set.len() - 1;
        set[last] = EMPTY;
        dirty
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_ways() -> Cache {
        Cache::new(256, 2)
    }

    #[test]
    fn the_least_recently_used_line_is_evicted() {
        let mut cache = two_ways();
        assert_eq!(cache.insert(0, true, None), None);
        assert_eq!(cache.insert(2, false, None), None);
        assert_eq!(cache.touch(0, false), Lookup::Hit);
        assert_eq!(cache.insert(4, false, None), Some(Victim { line: 2, dirty: false }));
        assert_eq!(cache.touch(2, false), Lookup::Miss);
        assert_eq!(cache.insert(6, false, None), Some(Victim { line: 0, dirty: true }));
    }

    #[test]
    fn a_line_in_flight_is_identified_by_its_fill() {
        let mut cache = two_ways();
        cache.insert(1, false, Some(9));
        assert_eq!(cache.touch(1, true), Lookup::Pending(9));
        cache.arrived(1, 8);
        assert_eq!(cache.touch(1, false), Lookup::Pending(9));
        cache.arrived(1, 9);
        assert_eq!(cache.touch(1, false), Lookup::Hit);
        assert!(cache.drop_line(1), "the line was modified");
        assert_eq!(cache.touch(1, false), Lookup::Miss);
        assert!(!cache.drop_line(1));
    }

    #[test]
    fn cleaning_and_forgetting_spare_lines_in_flight() {
        let mut cache = two_ways();
        cache.insert(0, true, None);
        cache.insert(1, true, Some(7));
        cache.insert(3, false, None);
        let mut lines = Vec::new();
        assert_eq!(cache.modified(), 2);
        cache.clean(&mut lines);
        assert_eq!((lines.as_slice(), cache.modified()), ([0].as_slice(), 1));
        cache.clean(&mut lines);
        assert_eq!(lines, [0], "a clean line is not written back again");
        cache.forget();
        assert_eq!([0, 1, 3].map(|line| cache.touch(line, false)), [Lookup::Miss, Lookup::Pending(7), Lookup::Miss]);
        cache.arrived(1, 7);
        cache.clean(&mut lines);
        assert_eq!(lines, [0, 1]);
    }
}
