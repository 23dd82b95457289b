//! The read and the write queue of a channel: bursts that wait, in order of age and, within each bank, of arrival.

use crate::request::Kind;

/// No entry.
pub(crate) const NONE: u8 = u8::MAX;
/// Places of a queue. Those of reads come first, then those of writes.
const PLACES: usize = 64;
const ALL: usize = 2 * PLACES;

/// One burst that waits.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Which burst entered before which.
    pub(crate) order: u64,
    /// The cycle it entered in.
    pub(crate) arrival: u64,
    pub(crate) row: u32,
    /// Place of its transfer.
    pub(crate) transfer: u32,
    pub(crate) column: u16,
    pub(crate) rank: u8,
    /// The bank, numbered within its rank.
    pub(crate) bank: u8,
    /// The next of its kind for the same bank.
    pub(crate) next: u8,
}

const EMPTY: Entry = Entry { order: 0, arrival: 0, row: 0, transfer: 0, column: 0, rank: 0, bank: 0, next: NONE };

/// The places of one queue.
#[derive(Clone, Copy)]
struct Places {
    all: u64,
    /// A bit for each free place.
    free: u64,
    length: u32,
    /// No burst is overdue before this: the oldest at some time entered so long ago.
    overdue_at: u64,
}

/// Both queues.
pub(crate) struct Queues {
    entries: Box<[Entry; ALL]>,
    places: [Places; 2],
    order: u64,
    age_max: u64,
}

impl Queues {
    pub(crate) fn new(reads: u32, writes: u32, age_max: u64) -> Queues {
        let places = |count: u32| {
            assert!((1..=64).contains(&count), "a queue of {count}");
            let all = u64::MAX >> (64 - count);
            Places { all, free: all, length: 0, overdue_at: u64::MAX }
        };
        Queues { entries: Box::new([EMPTY; ALL]), places: [places(reads), places(writes)], order: 0, age_max }
    }

    #[inline(always)]
    pub(crate) fn get(&self, entry: u8) -> &Entry {
        debug_assert_ne!(entry, NONE);
        &self.entries[entry as usize % ALL]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, entry: u8) -> &mut Entry {
        debug_assert_ne!(entry, NONE);
        &mut self.entries[entry as usize % ALL]
    }

    #[inline(always)]
    pub(crate) fn has_room(&self, kind: Kind) -> bool {
        self.places[kind as usize].free != 0
    }

    #[inline(always)]
    pub(crate) fn length(&self, kind: Kind) -> u32 {
        self.places[kind as usize].length
    }

    /// Whether a burst will have waited for too long by `cycle`.
    #[inline(always)]
    pub(crate) fn is_overdue(&mut self, kind: Kind, cycle: u64) -> bool {
        cycle >= self.places[kind as usize].overdue_at && self.is_oldest_overdue(kind, cycle)
    }

    /// The one found to be the oldest may be gone: who is it now?
    #[cold]
    #[inline(never)]
    fn is_oldest_overdue(&mut self, kind: Kind, cycle: u64) -> bool {
        let oldest = self.oldest(kind);
        let overdue_at = if oldest == NONE { u64::MAX } else { self.get(oldest).arrival + self.age_max };
        self.places[kind as usize].overdue_at = overdue_at;
        cycle >= overdue_at
    }

    /// The one that has waited longest, or [`NONE`]. Looks at all.
    pub(crate) fn oldest(&self, kind: Kind) -> u8 {
        let Places { all, free, .. } = self.places[kind as usize];
        let taken = (0..PLACES).filter(|place| (all & !free) >> place & 1 == 1);
        let entries = taken.map(|place| (place + PLACES * kind as usize) as u8);
        entries.min_by_key(|entry| self.get(*entry).order).unwrap_or(NONE)
    }

    /// Puts a burst into a free place. Its order is set here.
    #[inline(always)]
    pub(crate) fn push(&mut self, kind: Kind, entry: Entry) -> u8 {
        let places = &mut self.places[kind as usize];
        debug_assert!(places.free != 0, "a full queue was asked for a place");
        let at = (places.free.trailing_zeros() as usize + PLACES * kind as usize) as u8;
        places.free &= places.free - 1;
        if places.length == 0 {
            places.overdue_at = entry.arrival + self.age_max;
        }
        places.length += 1;
        self.entries[at as usize % ALL] = Entry { order: self.order, next: NONE, ..entry };
        self.order += 1;
        at
    }

    /// Gives a place back.
    #[inline(always)]
    pub(crate) fn remove(&mut self, kind: Kind, at: u8) {
        let places = &mut self.places[kind as usize];
        places.free |= 1 << (at as usize % PLACES);
        places.length -= 1;
    }
}

/// A burst to be pushed.
#[inline(always)]
pub(crate) fn burst(arrival: u64, rank: usize, bank: usize, row: u32, column: u16, transfer: u32) -> Entry {
    Entry { arrival, row, column, transfer, rank: rank as u8, bank: bank as u8, ..EMPTY }
}
