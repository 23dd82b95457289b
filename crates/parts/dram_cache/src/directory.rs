//! The directory: which page is in which frame, in sets of ways ordered by recency. It holds the same information as
//! the tags in DRAM; [`super::tags`] decides when the controller knows it.

use sim::Dense;

/// An entry is one word. From the low bits: page number plus one (0: never used), way, number of the fetch that fills or
/// filled it, flags. The entries of a set are ordered by recency, most recent first (by arrival, where pages are read
/// once); entries never used are last, and their way is their position.
type Entry = u64;

const PAGE_BITS: u32 = 36;
const PAGE: u64 = (1 << PAGE_BITS) - 1;
const WAY_BITS: u32 = 8;
const FETCH: u32 = PAGE_BITS + WAY_BITS;
const FETCH_BITS: u32 = 16;
const DIRTY: u64 = 1 << 60;
const FILLING: u64 = 1 << 61;
const PREFETCHED: u64 = 1 << 62;
/// Its last line was read, and it is clean, where pages are read once.
const CONSUMED: u64 = 1 << 63;

/// Limits: ways per set, concurrent fetches, and pages.
pub(super) const WAYS: u32 = 1 << WAY_BITS;
pub(super) const FETCHES: u32 = 1 << FETCH_BITS;
pub(super) const PAGES: u64 = PAGE - 1;

/// Returns whether an entry is that of `page`.
fn is_of(entry: Entry, page: u64) -> bool {
    (entry ^ (page + 1)) << (Entry::BITS - PAGE_BITS) == 0
}

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Absent; this many ways of its set were ever used.
    Absent(usize),
    /// Present, at this position in its set's order.
    Here(usize),
    /// On its way, by this fetch.
    Coming(u32),
}

/// An evicted page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// The page.
    pub page: u64,
    /// Whether it was dirty, so it must be written back.
    pub dirty: bool,
    /// Whether it was prefetched and never requested.
    pub unused: bool,
}

/// The effect of using a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touched {
    pub frame: u64,
    /// Whether the set's tags changed.
    pub changed: bool,
    /// Whether it was prefetched and this is its first request.
    pub first: bool,
}

pub(super) struct Directory {
    entries: Dense<Entry>,
    ways: usize,
    mask: u64,
}

impl Directory {
    pub fn new(sets: u32, ways: u32) -> Directory {
        assert!(sets.is_power_of_two() && (1..=WAYS).contains(&ways), "{sets} sets of {ways} ways");
        let ways = ways as usize;
        let entries = Dense::new(vec![0; sets as usize * ways]);
        Directory { entries, ways, mask: u64::from(sets - 1) }
    }

    /// Returns the set of `page`.
    pub fn set_of(&self, page: u64) -> u32 {
        (page & self.mask) as u32
    }

    fn set(&self, page: u64) -> &[Entry] {
        let first = (page & self.mask) as usize * self.ways;
        // SAFETY: the mask is the number of sets, a power of two, less one, and each set has all of its ways.
        unsafe { self.entries.get_unchecked(first..first + self.ways) }
    }

    fn set_mut(&mut self, page: u64) -> &mut [Entry] {
        let first = (page & self.mask) as usize * self.ways;
        // SAFETY: like `set`.
        unsafe { self.entries.get_unchecked_mut(first..first + self.ways) }
    }

    /// Looks up `page`. Changes nothing.
    pub fn find(&self, page: u64) -> Found {
        let set = self.set(page);
        let at = set.iter().position(|entry| is_of(*entry, page) || *entry == 0);
        let Some(at) = at else { return Found::Absent(set.len()) };
        match set[at] {
            0 => Found::Absent(at),
            entry if entry & FILLING == 0 => Found::Here(at),
            entry => Found::Coming((entry >> FETCH) as u32 & (FETCHES - 1)),
        }
    }

    /// The frames of all first ways come first, then those of all second ways: neighboring sets lie in neighboring
    /// frames, and so on different channels, however many of their ways are in use.
    fn frame(&self, page: u64, entry: Entry) -> u64 {
        (entry >> PAGE_BITS & (u64::from(WAYS) - 1)) * (self.mask + 1) + (page & self.mask)
    }

    /// Uses `page`, which is `at` this position of its set's order; a `write` makes it dirty.
    pub fn touch(&mut self, page: u64, at: usize, write: bool) -> Touched {
        let set = self.set_mut(page);
        let old = set[at];
        let new = (old | if write { DIRTY } else { 0 }) & !PREFETCHED;
        if at > 0 {
            set.copy_within(..at, 1);
        }
        set[0] = new;
        Touched { frame: self.frame(page, new), changed: at > 0 || new != old, first: old & PREFETCHED != 0 }
    }

    /// Uses `page` like [`Directory::touch`], where pages are read once: it stays in its position, or becomes the first to
    /// leave if this `ends` it. Returns whether this made room, too.
    pub fn touch_once(&mut self, page: u64, at: usize, write: bool, ends: bool) -> (Touched, bool) {
        let set = self.set_mut(page);
        let old = set[at];
        let mut new = (old | if write { DIRTY } else { 0 }) & !PREFETCHED;
        let consumed = ends && new & (DIRTY | CONSUMED) == 0;
        if write {
            new &= !CONSUMED;
        }
        if consumed {
            new |= CONSUMED;
            let end = set.iter().position(|entry| *entry == 0).unwrap_or(set.len());
            // The way of an entry is in it, so that only its position changes.
            set.copy_within(at + 1..end, at);
            set[end - 1] = new;
        } else {
            set[at] = new;
        }
        let touched = Touched { frame: self.frame(page, new), changed: new != old, first: old & PREFETCHED != 0 };
        (touched, consumed)
    }

    /// Notes a request for `page`, which is on its way. Returns whether it is the first.
    pub fn touch_coming(&mut self, page: u64) -> bool {
        let at = self.position(page);
        self.touch(page, at, false).first
    }

    /// Like [`Directory::touch_coming`], where pages are read once.
    pub fn touch_coming_once(&mut self, page: u64, ends: bool) -> bool {
        let at = self.position(page);
        self.touch_once(page, at, false, ends).0.first
    }

    /// Lets `page` leave first if it is in the cache, or on its way, and was prefetched for nothing.
    pub fn release(&mut self, page: u64) {
        let set = self.set_mut(page);
        let is_unread = |entry: &Entry| is_of(*entry, page) && *entry & (PREFETCHED | DIRTY) == PREFETCHED;
        let Some(at) = set.iter().position(is_unread) else { return };
        let entry = set[at] | CONSUMED;
        let end = set.iter().position(|entry| *entry == 0).unwrap_or(set.len());
        set.copy_within(at + 1..end, at);
        set[end - 1] = entry;
    }

    /// Returns whether a prefetch of `page` finds room where pages are read once: an unused frame, or one whose page was
    /// consumed.
    pub fn has_room(&self, page: u64) -> bool {
        self.set(page).iter().any(|entry| *entry == 0 || *entry & (CONSUMED | FILLING) == CONSUMED)
    }

    fn position(&self, page: u64) -> usize {
        let at = self.set(page).iter().position(|entry| is_of(*entry, page));
        at.unwrap_or_else(|| panic!("page {page} is not in its set"))
    }

    /// Makes room for `page`, whose set has `used` ways in use: takes an unused frame, or evicts the least recently
    /// used page that is not on its way. Returns the frame and the evicted page; `None` if the whole set is on its way.
    pub fn insert(&mut self, page: u64, used: usize, fetch: u32, prefetched: bool) -> Option<(u64, Option<Victim>)> {
        let set = self.set_mut(page);
        // Unused entries are last; the first of them has its position as its way.
        let at = if used < set.len() { used } else { set.iter().rposition(|entry| entry & FILLING == 0)? };
        let old = set[at];
        let way = if old == 0 { at as u64 } else { old >> PAGE_BITS & (u64::from(WAYS) - 1) };
        let flags = FILLING | if prefetched { PREFETCHED } else { 0 };
        set.copy_within(..at, 1);
        set[0] = (page + 1) | way << PAGE_BITS | u64::from(fetch) << FETCH | flags;
        let victim = (old != 0).then_some(Victim {
            page: (old & PAGE).wrapping_sub(1),
            dirty: old & DIRTY != 0,
            unused: old & PREFETCHED != 0,
        });
        Some((self.frame(page, way << PAGE_BITS), victim))
    }

    /// Injects a fault: the tag of the evicted page stays, next to that of `page` in its frame, and another one is lost.
    #[cfg(feature = "injected-faults")]
    pub fn keep_tag(&mut self, page: u64, evicted: u64) {
        let set = self.set_mut(page);
        let way = set[0] & u64::from(WAYS - 1) << PAGE_BITS;
        if let Some(lost) = set.iter().rposition(|entry| *entry & (FILLING | DIRTY) == 0) {
            set[lost] = (evicted + 1) | way;
        }
    }

    /// Marks `page` as arrived, and dirty if `dirty`.
    pub fn filled(&mut self, page: u64, dirty: bool) {
        let at = self.position(page);
        let entry = &mut self.set_mut(page)[at];
        *entry = *entry & !FILLING | if dirty { DIRTY } else { 0 };
    }

    /// Returns number and frame of the least recently used dirty page in the set of `page`, if it is among the `cold`
    /// least recently used ones, and marks it clean.
    pub fn clean_cold(&mut self, page: u64, cold: u32) -> Option<(u64, u64)> {
        let ways = self.ways;
        let set = self.set_mut(page);
        let from = ways.saturating_sub(cold as usize);
        let entry = set[from..].iter_mut().rfind(|entry| **entry & (DIRTY | FILLING) == DIRTY)?;
        *entry &= !DIRTY;
        let entry = *entry;
        Some(((entry & PAGE) - 1, self.frame(page, entry)))
    }

    /// Forgets all pages, none of which is on its way. Returns the sets that had any.
    pub fn forget(&mut self) -> Vec<u32> {
        let mut sets = Vec::new();
        for set in 0..=self.mask as usize {
            let entries = self.entries.part_mut(set * self.ways, self.ways);
            if entries[0] != 0 {
                assert!(entries.iter().all(|entry| entry & FILLING == 0), "set {set} has a page on its way");
                entries.fill(0);
                sets.push(set as u32);
            }
        }
        sets
    }

    /// Appends the dirty pages of `set` to `pages`; `false` if there is no such set.
    pub fn dirty_pages(&self, set: u32, pages: &mut Vec<u64>) -> bool {
        let exists = u64::from(set) <= self.mask;
        if exists {
            let entries = self.entries.part(set as usize * self.ways, self.ways).iter();
            pages.extend(entries.filter(|entry| **entry & (DIRTY | FILLING) == DIRTY).map(|entry| (entry & PAGE) - 1));
        }
        exists
    }

    /// Returns the number of dirty pages in all sets.
    pub fn dirty(&self) -> u64 {
        let entries = self.entries.part(0, self.ways * (self.mask as usize + 1)).iter();
        entries.filter(|entry| **entry & DIRTY != 0).count() as u64
    }

    /// Marks `page` as clean and returns its frame; `None` if it is absent, on its way, or clean already.
    pub fn clean(&mut self, page: u64) -> Option<u64> {
        let entry = self.set_mut(page).iter_mut().find(|entry| is_of(**entry, page))?;
        if *entry & (DIRTY | FILLING) != DIRTY {
            return None;
        }
        *entry &= !DIRTY;
        let entry = *entry;
        Some(self.frame(page, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use sim::Streams;

    /// An obvious implementation of the cache.
    struct Obvious {
        sets: BTreeMap<u64, Vec<(u64, bool, bool)>>,
        ways: usize,
        count: u64,
    }

    impl Obvious {
        /// Returns whether the page was present, and the evicted page with its dirty flag.
        fn access(&mut self, page: u64, write: bool) -> Option<(bool, Option<(u64, bool)>)> {
            let set = self.sets.entry(page % self.count).or_default();
            if let Some(at) = set.iter().position(|(p, ..)| *p == page) {
                let (_, dirty, coming) = set.remove(at);
                set.insert(0, (page, dirty || write, coming));
                return Some((true, None));
            }
            let mut victim = None;
            if set.len() == self.ways {
                let at = set.iter().rposition(|(.., coming)| !coming)?;
                let (page, dirty, _) = set.remove(at);
                victim = Some((page, dirty));
            }
            set.insert(0, (page, write, true));
            Some((false, victim))
        }
    }

    #[test]
    fn it_does_what_the_obvious_cache_does() {
        for (seed, ways, sets) in [(1, 1, 1), (2, 2, 4), (3, 4, 8), (4, 16, 2), (5, 3, 2)] {
            let mut rng = Streams::new(seed).stream("directory");
            let mut directory = Directory::new(sets, ways);
            let mut obvious = Obvious { sets: BTreeMap::new(), ways: ways as usize, count: u64::from(sets) };
            let mut coming: Vec<(u64, bool)> = Vec::new();
            let mut frames: BTreeMap<u64, u64> = BTreeMap::new();
            for step in 0..20_000 {
                if !coming.is_empty() && rng.below(3) == 0 {
                    let (page, dirty) = coming.swap_remove(rng.below(coming.len() as u64) as usize);
                    directory.filled(page, dirty);
                    let set = obvious.sets.get_mut(&(page % u64::from(sets))).expect("it is coming");
                    let entry = set.iter_mut().find(|(p, ..)| *p == page).expect("it is coming");
                    (entry.1, entry.2) = (entry.1 || dirty, false);
                    continue;
                }
                let (page, write) = (rng.below(u64::from(sets * ways) * 2), rng.below(3) == 0);
                match directory.find(page) {
                    Found::Coming(_) => {
                        directory.touch_coming(page);
                        let at = coming.iter().position(|(p, _)| *p == page).expect("it is coming");
                        coming[at].1 |= write;
                        assert_eq!(obvious.access(page, false), Some((true, None)), "step {step}");
                    }
                    Found::Here(at) => {
                        let touched = directory.touch(page, at, write);
                        assert_eq!(frames.get(&touched.frame), Some(&page), "step {step}");
                        assert_eq!(obvious.access(page, write), Some((true, None)), "step {step}");
                    }
                    Found::Absent(used) => {
                        let mut before = obvious.access(page, false);
                        let got = directory.insert(page, used, 7, false);
                        if let Some((frame, victim)) = got {
                            assert_eq!(frames.insert(frame, page), victim.map(|v| v.page), "step {step}");
                            coming.push((page, write));
                        }
                        let got = got.map(|(_, victim)| (false, victim.map(|v| (v.page, v.dirty))));
                        assert_eq!(got, before.take(), "step {step} of {seed}");
                    }
                }
            }
            assert!(frames.len() as u64 == u64::from(sets * ways));
        }
    }

    #[test]
    fn the_coldest_changed_page_is_cleaned_once() {
        let mut directory = Directory::new(1, 4);
        for page in 0..4 {
            directory.insert(page, page as usize, 0, false).expect("room");
            directory.filled(page, page < 2);
        }
        // In order of recency: 3, 2, 1, 0.
        assert_eq!(directory.clean_cold(0, 1), Some((0, 0)));
        assert_eq!(directory.clean_cold(0, 1), None);
        assert_eq!(directory.clean_cold(0, 4), Some((1, 1)));
        assert_eq!(directory.clean_cold(0, 4), None);
        let (_, victim) = directory.insert(9, 4, 0, false).expect("room");
        assert_eq!(victim, Some(Victim { page: 0, dirty: false, unused: false }));
    }
}
