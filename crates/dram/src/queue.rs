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
    pub(crate) column: u32,
    /// Place of its transfer.
    pub(crate) transfer: u32,
    pub(crate) rank: u8,
    /// The bank, numbered within its rank.
    pub(crate) bank: u8,
    /// The next of its kind for the same bank.
    pub(crate) next: u8,
    older: u8,
    younger: u8,
}

const EMPTY: Entry = Entry {
    order: 0,
    arrival: 0,
    row: 0,
    column: 0,
    transfer: 0,
    rank: 0,
    bank: 0,
    next: NONE,
    older: NONE,
    younger: NONE,
};

/// Ends of the list of all bursts of a kind.
#[derive(Clone, Copy)]
struct Ends {
    oldest: u8,
    youngest: u8,
    /// A bit for each free place.
    free: u64,
    length: u32,
}

/// Both queues.
pub(crate) struct Queues {
    entries: Box<[Entry; ALL]>,
    ends: [Ends; 2],
    order: u64,
}

impl Queues {
    pub(crate) fn new(reads: u32, writes: u32) -> Queues {
        let ends = |places: u32| {
            assert!((1..=64).contains(&places), "a queue of {places}");
            Ends { oldest: NONE, youngest: NONE, free: u64::MAX >> (64 - places), length: 0 }
        };
        Queues { entries: Box::new([EMPTY; ALL]), ends: [ends(reads), ends(writes)], order: 0 }
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
        self.ends[kind as usize].free != 0
    }

    #[inline(always)]
    pub(crate) fn length(&self, kind: Kind) -> u32 {
        self.ends[kind as usize].length
    }

    /// The one that has waited longest, or [`NONE`].
    #[inline(always)]
    pub(crate) fn oldest(&self, kind: Kind) -> u8 {
        self.ends[kind as usize].oldest
    }

    /// Puts a burst into a free place. Its order and its links are set here.
    #[inline(always)]
    pub(crate) fn push(&mut self, kind: Kind, entry: Entry) -> u8 {
        let ends = &mut self.ends[kind as usize];
        debug_assert!(ends.free != 0, "a full queue was asked for a place");
        let at = (ends.free.trailing_zeros() as usize + PLACES * kind as usize) as u8;
        ends.free &= ends.free - 1;
        ends.length += 1;
        let before = std::mem::replace(&mut ends.youngest, at);
        if before == NONE {
            ends.oldest = at;
        } else {
            self.entries[before as usize % ALL].younger = at;
        }
        self.entries[at as usize % ALL] =
            Entry { order: self.order, next: NONE, older: before, younger: NONE, ..entry };
        self.order += 1;
        at
    }

    /// Gives a place back.
    #[inline(always)]
    pub(crate) fn remove(&mut self, kind: Kind, at: u8) {
        let Entry { older, younger, .. } = *self.get(at);
        let ends = &mut self.ends[kind as usize];
        ends.free |= 1 << (at as usize % PLACES);
        ends.length -= 1;
        match older {
            NONE => ends.oldest = younger,
            older => self.entries[older as usize % ALL].younger = younger,
        }
        match younger {
            NONE => self.ends[kind as usize].youngest = older,
            younger => self.entries[younger as usize % ALL].older = older,
        }
    }
}

/// A burst without links, to be pushed.
#[inline(always)]
pub(crate) fn burst(arrival: u64, rank: usize, bank: usize, row: u32, column: u32, transfer: u32) -> Entry {
    Entry { arrival, row, column, transfer, rank: rank as u8, bank: bank as u8, ..EMPTY }
}
