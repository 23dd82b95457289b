//! A set-associative write-back cache without data: which lines it has, in order of use.

use super::config::CacheConfig;

/// A line that is changed.
const DIRTY: u64 = 1;
/// A line that memory has not sent yet; the number of its fill is above.
const PENDING: u64 = 2;
const FILL: u32 = 2;
const FILL_BITS: u64 = 0xffff << FILL;
/// The line's number is above all that.
const NUMBER: u32 = 18;
const EMPTY: u64 = u64::MAX;

/// Lines have numbers below this: addresses below 2^51.
pub const LINES: u64 = 1 << 45;

/// What became of a line that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It is there.
    Hit,
    /// It is on its way: the number of its fill.
    Pending(u16),
    /// It is not there.
    Miss,
}

/// A line that had to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its number.
    pub line: u64,
    /// It is changed.
    pub dirty: bool,
}

/// The lines of a cache. A set's words are in order of use, the last used first.
#[derive(Clone, Debug)]
pub struct Cache {
    words: Vec<u64>,
    ways: usize,
    mask: u64,
}

impl Cache {
    /// An empty cache.
    ///
    /// # Panics
    /// If its sets are not a power of two.
    pub fn new(config: &CacheConfig) -> Cache {
        let (sets, ways) = (config.sets(), config.ways as usize);
        assert!(sets.is_power_of_two() && (1..=64).contains(&ways), "{config:?} has {sets} sets");
        Cache { words: vec![EMPTY; sets as usize * ways], ways, mask: sets - 1 }
    }

    #[inline(always)]
    fn set(&mut self, line: u64) -> &mut [u64] {
        let first = (line & self.mask) as usize * self.ways;
        &mut self.words[first..first + self.ways]
    }

    #[inline(always)]
    fn state(word: u64) -> Look {
        if word & PENDING == 0 { Look::Hit } else { Look::Pending((word >> FILL) as u16) }
    }

    /// Uses a line, and changes it if `dirty`.
    #[inline(always)]
    pub fn touch(&mut self, line: u64, dirty: bool) -> Look {
        debug_assert!(line < LINES, "line {line:#x}");
        let set = self.set(line);
        if set[0] >> NUMBER == line {
            set[0] |= u64::from(dirty);
            return Cache::state(set[0]);
        }
        let Some(at) = set.iter().position(|word| word >> NUMBER == line) else { return Look::Miss };
        let word = set[at] | u64::from(dirty);
        // One after another: a call of memmove would take longer.
        let mut newer = word;
        for word in &mut set[..=at] {
            std::mem::swap(word, &mut newer);
        }
        Cache::state(word)
    }

    /// Takes a line in, as the last used; `fill` is on its way, if it is. The one that has to go for it.
    #[inline]
    pub fn insert(&mut self, line: u64, dirty: bool, fill: Option<u16>) -> Option<Victim> {
        let pending = fill.map_or(0, |fill| PENDING | (u64::from(fill) << FILL));
        let word = (line << NUMBER) | pending | u64::from(dirty);
        let set = self.set(line);
        debug_assert!(set.iter().all(|word| word >> NUMBER != line), "line {line:#x} is there");
        let last = set[set.len() - 1];
        set.copy_within(0..set.len() - 1, 1);
        set[0] = word;
        (last != EMPTY).then_some(Victim { line: last >> NUMBER, dirty: last & DIRTY != 0 })
    }

    /// A line's fill has come; nothing if the line has gone meanwhile.
    pub fn arrived(&mut self, line: u64, fill: u16) {
        let set = self.set(line);
        if let Some(word) = set.iter_mut().find(|word| **word >> NUMBER == line)
            && *word & PENDING != 0
            && (*word >> FILL) as u16 == fill
        {
            *word &= !(PENDING | FILL_BITS);
        }
    }

    /// Forgets a line: true if it was there and changed.
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
    use sim::Time;

    use super::*;

    fn two_ways() -> Cache {
        Cache::new(&CacheConfig { bytes: 256, ways: 2, latency: Time::ZERO })
    }

    #[test]
    fn the_least_recently_used_goes() {
        let mut cache = two_ways();
        assert_eq!(cache.insert(0, true, None), None);
        assert_eq!(cache.insert(2, false, None), None);
        assert_eq!(cache.touch(0, false), Look::Hit);
        assert_eq!(cache.insert(4, false, None), Some(Victim { line: 2, dirty: false }));
        assert_eq!(cache.touch(2, false), Look::Miss);
        assert_eq!(cache.insert(6, false, None), Some(Victim { line: 0, dirty: true }));
    }

    #[test]
    fn a_line_on_its_way_is_known_by_its_fill() {
        let mut cache = two_ways();
        cache.insert(1, false, Some(9));
        assert_eq!(cache.touch(1, true), Look::Pending(9));
        cache.arrived(1, 8);
        assert_eq!(cache.touch(1, false), Look::Pending(9));
        cache.arrived(1, 9);
        assert_eq!(cache.touch(1, false), Look::Hit);
        assert!(cache.drop_line(1), "it was changed");
        assert_eq!(cache.touch(1, false), Look::Miss);
        assert!(!cache.drop_line(1));
    }
}
