//! The read and the write queue of a channel: bursts that wait, in order of age and, within each bank, of arrival.
//!
//! Bursts of a transfer that entered one after another and lie one behind the other in a row are one entry, a run: it takes
//! as much room as they do, and is served burst by burst as they would be. They entered at even distances, of which there
//! are two at most: one a clock, until the queue was full, then one behind each that was served.

use crate::request::Kind;

/// No entry.
pub(crate) const NONE: u8 = u8::MAX;
/// Places of a queue. Those of reads come first, then those of writes.
const PLACES: usize = 64;
const ALL: usize = 2 * PLACES;

/// A burst that waits, and those of its run behind it.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Which burst entered before which. Those of a run are numbered one after the other.
    pub(crate) order: u64,
    /// The cycle it entered in.
    pub(crate) arrival: u64,
    pub(crate) row: u32,
    /// Place of its transfer.
    pub(crate) transfer: u32,
    pub(crate) column: u16,
    /// Bursts of the run.
    pub(crate) count: u8,
    pub(crate) rank: u8,
    /// The bank, numbered within its rank.
    pub(crate) bank: u8,
    /// The next of its kind for the same bank.
    pub(crate) next: u8,
}

const EMPTY: Entry =
    Entry { order: 0, arrival: 0, row: 0, transfer: 0, column: 0, count: 1, rank: 0, bank: 0, next: NONE };

/// When the bursts of a run entered: it says nothing of a single one, most of which never join others.
#[derive(Clone, Copy)]
struct Times {
    /// The cycle in which the first burst did that came at another distance.
    later: u64,
    /// Clocks from a burst to the next, before and after that.
    stride: u16,
    later_stride: u16,
    /// Bursts before that.
    first: u8,
}

const EVEN: Times = Times { later: 0, stride: 0, later_stride: 0, first: 1 };

impl Entry {
    /// Whether a burst of its run is in this column of its row.
    #[inline(always)]
    pub(crate) fn covers(&self, row: u32, column: u32) -> bool {
        self.row == row && column.wrapping_sub(u32::from(self.column)) < u32::from(self.count)
    }
}

impl Times {
    /// The first `bursts` of the run `of` are served; some are left.
    #[inline(always)]
    fn shorten(&mut self, of: &mut Entry, bursts: u32) {
        debug_assert!(bursts < u32::from(of.count), "a run of {} lost {bursts}", of.count);
        of.order += u64::from(bursts);
        of.column += bursts as u16;
        of.count -= bursts as u8;
        if bursts < u32::from(self.first) {
            of.arrival += u64::from(bursts) * u64::from(self.stride);
            self.first -= bursts as u8;
        } else {
            let gone = u64::from(bursts) - u64::from(self.first);
            of.arrival = self.later + gone * u64::from(self.later_stride);
            (self.stride, self.first) = (self.later_stride, of.count);
        }
    }

    /// Notes when bursts join the run `of`, the first in `cycle` and the others `apart` clocks after one another. False if
    /// they come at a third distance.
    #[inline(always)]
    fn extend(&mut self, of: &mut Entry, cycle: u64, apart: u64, bursts: u32) -> bool {
        let more = bursts as u8;
        if of.count == 1 {
            *self = EVEN;
        }
        if of.count == self.first {
            if goes_on(&mut self.stride, of.count, cycle - of.arrival, apart, bursts) {
                self.first += more;
            } else {
                (self.later, self.later_stride) = (cycle, apart as u16);
            }
        } else if !goes_on(&mut self.later_stride, of.count - self.first, cycle - self.later, apart, bursts) {
            return false;
        }
        of.count += more;
        true
    }
}

/// Whether bursts, the first of them `gap` clocks after the first of `count`, enter at the distance that those did. Two say
/// what that is.
#[inline(always)]
fn goes_on(stride: &mut u16, count: u8, gap: u64, apart: u64, bursts: u32) -> bool {
    let distance = if count == 1 { gap } else { u64::from(*stride) };
    let even = distance < 1 << 16 && gap == distance * u64::from(count) && (bursts == 1 || apart == distance);
    if even {
        *stride = distance as u16;
    }
    even
}

/// The places of one queue.
#[derive(Clone, Copy)]
struct Places {
    /// A bit for each place without an entry.
    free: u64,
    /// Bursts that wait, and how many may.
    length: u32,
    most: u32,
    /// No burst is overdue before this: the oldest at some time entered so long ago.
    overdue_at: u64,
}

/// Both queues.
pub(crate) struct Queues {
    entries: Box<[Entry; ALL]>,
    times: Box<[Times; ALL]>,
    places: [Places; 2],
    order: u64,
    age_max: u64,
}

impl Queues {
    pub(crate) fn new(reads: u32, writes: u32, age_max: u64) -> Queues {
        let places = |count: u32| {
            assert!((1..=64).contains(&count), "a queue of {count}");
            Places { free: u64::MAX, length: 0, most: count, overdue_at: u64::MAX }
        };
        Queues {
            entries: Box::new([EMPTY; ALL]),
            times: Box::new([EVEN; ALL]),
            places: [places(reads), places(writes)],
            order: 0,
            age_max,
        }
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
        self.room(kind) != 0
    }

    /// Bursts that may enter.
    #[inline(always)]
    pub(crate) fn room(&self, kind: Kind) -> u32 {
        self.places[kind as usize].most - self.places[kind as usize].length
    }

    #[inline(always)]
    pub(crate) fn length(&self, kind: Kind) -> u32 {
        self.places[kind as usize].length
    }

    /// No burst will have waited for too long before this.
    #[inline(always)]
    pub(crate) fn overdue_at(&self, kind: Kind) -> u64 {
        self.places[kind as usize].overdue_at
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
        let mut taken = !self.places[kind as usize].free;
        let (mut oldest, mut least) = (NONE, u64::MAX);
        while taken != 0 {
            let entry = (taken.trailing_zeros() as usize + PLACES * kind as usize) as u8;
            taken &= taken - 1;
            let order = self.get(entry).order;
            if order < least {
                (oldest, least) = (entry, order);
            }
        }
        oldest
    }

    /// Puts a burst into a free place. Its order is set here.
    #[inline(always)]
    pub(crate) fn push(&mut self, kind: Kind, entry: Entry) -> u8 {
        let places = &mut self.places[kind as usize];
        debug_assert!(places.length < places.most, "a full queue was asked for a place");
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

    /// `bursts`, which enter from `cycle` on `apart` clocks after one another, join the run that ends with the burst before
    /// them. False if others entered between, or they come at a third distance.
    #[inline(always)]
    pub(crate) fn join(&mut self, kind: Kind, run: u8, cycle: u64, apart: u64, bursts: u32) -> bool {
        let at = run as usize % ALL;
        let run = &mut self.entries[at];
        if run.order + u64::from(run.count) != self.order || !self.times[at].extend(run, cycle, apart, bursts) {
            return false;
        }
        self.order += u64::from(bursts);
        self.places[kind as usize].length += bursts;
        true
    }

    /// Nothing waits that entered after this run: bursts that enter next may join it, whatever came between and is served.
    #[inline(always)]
    pub(crate) fn renumber(&mut self, run: u8) {
        let run = self.get(run);
        self.order = run.order + u64::from(run.count);
    }

    /// The first `bursts` of a run are served; some are left.
    #[inline(always)]
    pub(crate) fn shorten(&mut self, run: u8, bursts: u32) {
        let at = run as usize % ALL;
        self.times[at].shorten(&mut self.entries[at], bursts);
    }

    /// Bursts were served, or, of those served, so many entered anew.
    #[inline(always)]
    pub(crate) fn leave(&mut self, kind: Kind, bursts: u32) {
        self.places[kind as usize].length -= bursts;
    }

    /// Gives the place of an entry back whose last burst is served.
    #[inline(always)]
    pub(crate) fn remove(&mut self, kind: Kind, at: u8) {
        self.places[kind as usize].free |= 1 << (at as usize % PLACES);
    }
}

/// A burst to be pushed.
#[inline(always)]
pub(crate) fn burst(arrival: u64, rank: usize, bank: usize, row: u32, column: u16, transfer: u32) -> Entry {
    Entry { arrival, row, column, transfer, rank: rank as u8, bank: bank as u8, ..EMPTY }
}
