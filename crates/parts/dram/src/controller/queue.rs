//! The read and write queues of a channel: waiting bursts in order of arrival per bank.
//!
//! Consecutive bursts of a request that arrived evenly spaced share an entry, a run, so that the cost of a page does not
//! grow with the number of its bursts.

use crate::device::DecodedAddress;
use crate::request::RequestKind;
use crate::state::{BANKS, PerBank, PerRank};

/// Marks the absence of an entry.
pub(crate) const NONE: u8 = u8::MAX;
/// Places per queue. Places for reads come first, then those for writes, of which the last would have the number
/// [`NONE`].
const PLACES: usize = 128;
/// Maximum length of the read queue, and of the write queue, in bursts.
pub(crate) const READS: u32 = PLACES as u32;
pub(crate) const WRITES: u32 = PLACES as u32 - 1;

/// Arrival of consecutive bursts: the cycle of the first, the clocks between two, and their number.
#[derive(Clone, Copy)]
pub(crate) struct Arrivals {
    pub(crate) cycle: u64,
    pub(crate) apart: u64,
    pub(crate) bursts: u32,
}

impl Arrivals {
    /// Returns true if bursts from `cycle` on, `apart` clocks after one another, are evenly spaced with these.
    pub(crate) fn goes_on(&self, cycle: u64, apart: u64) -> bool {
        self.bursts > 1 && self.apart == apart && self.last() + apart == cycle
    }

    /// Returns the cycle in which the last burst arrives.
    pub(crate) fn last(&self) -> u64 {
        self.cycle + u64::from(self.bursts - 1) * self.apart
    }
}

/// A run of waiting bursts in consecutive columns, described by its first burst.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Sequence number.
    pub(crate) order: u64,
    /// Cycle of its arrival, and those of the bursts behind it.
    pub(crate) arrivals: Arrivals,
    pub(crate) row: u32,
    /// Number of its transfer.
    pub(crate) transfer: u32,
    pub(crate) column: u16,
    pub(crate) rank: u8,
    /// Number of the bank within its rank.
    pub(crate) bank: u8,
    /// The next run of the same kind for the same bank.
    pub(crate) next: u8,
}

const EMPTY: Entry = Entry {
    order: 0,
    arrivals: Arrivals { cycle: 0, apart: 0, bursts: 0 },
    row: 0,
    transfer: 0,
    column: 0,
    rank: 0,
    bank: 0,
    next: NONE,
};

impl Entry {
    /// Removes the first bursts, but not all.
    fn shorten(&mut self, bursts: u32) {
        debug_assert!(bursts < self.arrivals.bursts, "the last burst of a run is removed with its entry");
        self.order += u64::from(bursts);
        self.column += bursts as u16;
        self.arrivals.cycle += u64::from(bursts) * self.arrivals.apart;
        self.arrivals.bursts -= bursts;
    }

    /// Returns true if the burst with this number and place continues the run.
    fn continues(&self, order: u64, place: &DecodedAddress, transfer: u32) -> bool {
        self.transfer == transfer
            && self.row == place.row
            && u32::from(self.column) + self.arrivals.bursts == place.column
            && self.order + u64::from(self.arrivals.bursts) == order
    }

    /// Appends bursts that continue the run, if all of its arrivals stay evenly spaced. Returns true if they do.
    fn extend(&mut self, more: Arrivals) -> bool {
        let run = &mut self.arrivals;
        let apart = if run.bursts == 1 { more.cycle - run.cycle } else { run.apart };
        if run.cycle + u64::from(run.bursts) * apart != more.cycle || (more.bursts > 1 && more.apart != apart) {
            return false;
        }
        (run.apart, run.bursts) = (apart, run.bursts + more.bursts);
        true
    }
}

/// The runs of both queues. Only the first places are used, but a byte can index all of them, so that no index needs a
/// check.
type Entries = [Entry; 1 << u8::BITS];

/// The places of one queue.
#[derive(Clone, Copy)]
struct Places {
    /// The first place without a run, which names the next one in turn; [`NONE`] if there is none.
    free: u8,
    /// Number of waiting bursts, and its maximum.
    length: u32,
    most: u32,
    /// No burst is overdue before this cycle, computed from the age of the oldest at some earlier time.
    overdue_at: u64,
}

/// The runs waiting for a bank, by kind: the first, the last, and the first that hits the open row.
#[derive(Clone, Copy)]
pub(crate) struct BankQueue {
    pub(crate) head: [u8; 2],
    pub(crate) tail: [u8; 2],
    pub(crate) hit: [u8; 2],
}

const NO_BURSTS: BankQueue = BankQueue { head: [NONE; 2], tail: [NONE; 2], hit: [NONE; 2] };

/// The bursts waiting for a rank.
struct RankQueue {
    banks: PerBank<BankQueue>,
    /// Bit masks of the banks for which reads wait, and for which writes wait.
    waiting: [u64; 2],
    /// The same of the banks whose open row serves them.
    hits: [u64; 2],
}

/// Both queues of a channel.
pub(crate) struct Queues {
    ranks: PerRank<RankQueue>,
    /// Bit masks of the ranks for which reads wait, and for which writes wait.
    waiting: [u32; 2],
    entries: Box<Entries>,
    places: [Places; 2],
    /// Number of the next burst, and the run that the last one joined.
    order: u64,
    newest: u8,
    age_max: u64,
}

impl Queues {
    pub(crate) fn new(ranks: usize, reads: u32, writes: u32, age_max: u64) -> Queues {
        let places = |kind: RequestKind, count: u32, most: u32| {
            assert!((1..=most).contains(&count), "a queue of {count}");
            Places { free: (PLACES * kind as usize) as u8, length: 0, most: count, overdue_at: u64::MAX }
        };
        let mut entries = Box::new([EMPTY; 1 << u8::BITS]);
        for (place, entry) in entries.iter_mut().enumerate() {
            // The last place of each half has no next one.
            entry.next = if (place + 1) % PLACES == 0 { NONE } else { place as u8 + 1 };
        }
        let waits = |_| RankQueue { banks: PerBank([NO_BURSTS; BANKS]), waiting: [0; 2], hits: [0; 2] };
        Queues {
            ranks: PerRank::new(ranks, waits),
            entries,
            waiting: [0; 2],
            places: [places(RequestKind::Read, reads, READS), places(RequestKind::Write, writes, WRITES)],
            order: 0,
            newest: 0,
            age_max,
        }
    }

    #[inline]
    pub(crate) fn get(&self, entry: u8) -> &Entry {
        debug_assert_ne!(entry, NONE);
        &self.entries[entry as usize]
    }

    #[inline]
    pub(crate) fn has_room(&self, kind: RequestKind) -> bool {
        self.room(kind) != 0
    }

    /// Returns the number of bursts that may enter.
    #[inline]
    pub(crate) fn room(&self, kind: RequestKind) -> u32 {
        self.places[kind as usize].most - self.places[kind as usize].length
    }

    #[inline]
    pub(crate) fn length(&self, kind: RequestKind) -> u32 {
        self.places[kind as usize].length
    }

    /// Returns true if a burst will have waited too long by `cycle`.
    #[inline]
    pub(crate) fn is_overdue(&mut self, kind: RequestKind, cycle: u64) -> bool {
        cycle >= self.places[kind as usize].overdue_at && self.is_oldest_overdue(kind, cycle)
    }

    /// The burst found to be the oldest may have left, so find the current one.
    #[cold]
    fn is_oldest_overdue(&mut self, kind: RequestKind, cycle: u64) -> bool {
        let oldest = self.oldest(kind);
        let overdue_at = if oldest == NONE { u64::MAX } else { self.get(oldest).arrivals.cycle + self.age_max };
        self.places[kind as usize].overdue_at = overdue_at;
        cycle >= overdue_at
    }

    /// Returns a cycle before which no burst is overdue.
    pub(crate) fn overdue_at(&self, kind: RequestKind) -> u64 {
        self.places[kind as usize].overdue_at
    }

    /// Returns the run whose first burst has waited longest, or [`NONE`]. Searches all banks for which bursts wait.
    pub(crate) fn oldest(&self, kind: RequestKind) -> u8 {
        let k = kind as usize;
        let (mut oldest, mut least) = (NONE, u64::MAX);
        for rank in bits(self.waiting[k].into()) {
            for bank in bits(self.ranks[rank].waiting[k]) {
                let entry = self.bank(rank, bank).head[k];
                let order = self.get(entry).order;
                if order < least {
                    (oldest, least) = (entry, order);
                }
            }
        }
        oldest
    }

    #[inline]
    pub(crate) fn bank(&self, rank: usize, bank: usize) -> &BankQueue {
        &self.ranks[rank].banks[bank]
    }

    /// Returns a bit for each rank for which bursts of a kind wait.
    #[inline]
    pub(crate) fn waiting_ranks(&self, kind: RequestKind) -> u32 {
        self.waiting[kind as usize]
    }

    /// Returns a bit for each bank of a rank for which bursts of a kind wait.
    #[inline]
    pub(crate) fn waiting(&self, rank: usize, kind: RequestKind) -> u64 {
        self.ranks[rank].waiting[kind as usize]
    }

    /// Returns a bit for each bank of a rank whose open row serves waiting bursts of a kind.
    #[inline]
    pub(crate) fn hits(&self, rank: usize, kind: RequestKind) -> u64 {
        self.ranks[rank].hits[kind as usize]
    }

    /// Returns a bit for each bank of a rank whose open row serves waiting bursts.
    pub(crate) fn in_use(&self, rank: usize) -> u64 {
        self.hits(rank, RequestKind::Read) | self.hits(rank, RequestKind::Write)
    }

    /// Appends a burst to its bank's queue. `open` is the bank's open row. Returns true if the burst is the first of its
    /// kind or the first hit of the row; otherwise the bank's next command is unchanged.
    pub(crate) fn push(
        &mut self,
        kind: RequestKind,
        cycle: u64,
        place: &DecodedAddress,
        bank: usize,
        open: u32,
        transfer: u32,
    ) -> bool {
        let (k, rank, order) = (kind as usize, place.rank as usize, self.order);
        let arrivals = Arrivals { cycle, apart: 0, bursts: 1 };
        let before = self.bank(rank, bank).tail[k];
        if before != NONE {
            let run = &mut self.entries[before as usize];
            if run.continues(order, place, transfer) && run.extend(arrivals) {
                self.order += 1;
                self.places[k].length += 1;
                return false;
            }
        }
        self.push_run(kind, arrivals, place, bank, transfer);
        let queues = &mut self.ranks[rank];
        let queue = &mut queues.banks[bank];
        if queue.hit[k] == NONE && place.row == open {
            queue.hit[k] = queue.tail[k];
            queues.hits[k] |= 1 << bank;
            return true;
        }
        before == NONE
    }

    /// Appends bursts in consecutive columns to their bank's queue as a run. The hits are not updated.
    pub(crate) fn push_run(
        &mut self,
        kind: RequestKind,
        arrivals: Arrivals,
        place: &DecodedAddress,
        bank: usize,
        transfer: u32,
    ) {
        let (row, column) = (place.row, place.column as u16);
        let (rank, bank) = (place.rank as u8, bank as u8);
        self.append(kind, Entry { order: self.order, arrivals, row, transfer, column, rank, bank, next: NONE });
    }

    fn append(&mut self, kind: RequestKind, run: Entry) {
        let (k, bursts) = (kind as usize, run.arrivals.bursts);
        let places = &mut self.places[k];
        debug_assert!(places.length + bursts <= places.most, "a burst enters a full queue");
        if places.length == 0 {
            places.overdue_at = run.arrivals.cycle + self.age_max;
        }
        places.length += bursts;
        self.order += u64::from(bursts);
        let at = places.free;
        debug_assert_ne!(at, NONE, "a run for each burst has a place");
        places.free = self.entries[at as usize].next;
        self.entries[at as usize] = run;
        self.newest = at;
        self.waiting[k] |= 1 << run.rank;
        let queue = &mut self.ranks[run.rank as usize];
        queue.waiting[k] |= 1 << run.bank;
        let queue = &mut queue.banks[run.bank as usize];
        let before = std::mem::replace(&mut queue.tail[k], at);
        if before == NONE {
            queue.head[k] = at;
        } else {
            self.entries[before as usize].next = at;
        }
    }

    /// Returns the run of `kind` that the last burst joined, if it still waits.
    pub(crate) fn newest_run(&self, kind: RequestKind) -> Option<&Entry> {
        let run = &self.entries[self.newest as usize];
        (self.bank(run.rank as usize, run.bank as usize).tail[kind as usize] == self.newest).then_some(run)
    }

    /// Returns true if the last burst joined this run.
    pub(crate) fn is_newest(&self, entry: u8) -> bool {
        self.newest == entry
    }

    /// Appends bursts that continue the newest run.
    #[inline]
    pub(crate) fn extend_newest(&mut self, kind: RequestKind, arrivals: Arrivals) {
        if self.entries[self.newest as usize].extend(arrivals) {
            self.places[kind as usize].length += arrivals.bursts;
            self.order += u64::from(arrivals.bursts);
        } else {
            self.continue_newest(kind, arrivals);
        }
    }

    /// Appends bursts in the columns after the newest run as a run of their own.
    fn continue_newest(&mut self, kind: RequestKind, arrivals: Arrivals) {
        let run = *self.get(self.newest);
        let column = run.column + run.arrivals.bursts as u16;
        self.append(kind, Entry { order: self.order, arrivals, column, next: NONE, ..run });
    }

    /// Removes bursts of a bank's hit, the first of a run; the next burst of the same row becomes the hit.
    #[inline]
    pub(crate) fn take(&mut self, kind: RequestKind, entry: u8, bursts: u32) {
        self.places[kind as usize].length -= bursts;
        let run = &mut self.entries[entry as usize];
        if bursts < run.arrivals.bursts {
            run.shorten(bursts);
        } else {
            self.take_run(kind, entry);
        }
    }

    /// Removes a bank's hit, a whole run.
    fn take_run(&mut self, kind: RequestKind, entry: u8) {
        let k = kind as usize;
        let Entry { rank, bank, row, next: after, .. } = *self.get(entry);
        let queue = &mut self.ranks[rank as usize];
        let list = &mut queue.banks[bank as usize];
        debug_assert_eq!(list.hit[k], entry, "not the oldest hit");
        if list.head[k] == entry {
            list.head[k] = after;
            if after == NONE {
                list.tail[k] = NONE;
                queue.waiting[k] &= !(1 << bank);
                self.waiting[k] &= !(u32::from(queue.waiting[k] == 0) << rank);
            }
        } else {
            let mut before = list.head[k];
            while self.entries[before as usize].next != entry {
                before = self.entries[before as usize].next;
            }
            self.entries[before as usize].next = after;
            if after == NONE {
                list.tail[k] = before;
            }
        }
        list.hit[k] = first_of_row(&self.entries, after, row);
        queue.hits[k] &= !(u64::from(list.hit[k] == NONE) << bank);
        self.entries[entry as usize].next = std::mem::replace(&mut self.places[k].free, entry);
    }

    /// Finds the hits of a bank whose `row` was opened.
    pub(crate) fn opened(&mut self, rank: usize, bank: usize, row: u32) {
        let queue = &mut self.ranks[rank];
        let list = &mut queue.banks[bank];
        for k in [RequestKind::Read as usize, RequestKind::Write as usize] {
            list.hit[k] = first_of_row(&self.entries, list.head[k], row);
            queue.hits[k] |= u64::from(list.hit[k] != NONE) << bank;
        }
    }

    /// Clears the hits of a bank that was closed.
    pub(crate) fn closed(&mut self, rank: usize, bank: usize) {
        let queue = &mut self.ranks[rank];
        queue.banks[bank].hit = [NONE; 2];
        queue.hits = queue.hits.map(|hits| hits & !(1 << bank));
    }

    /// Clears the hits of all banks of a rank.
    pub(crate) fn all_closed(&mut self, rank: usize) {
        let queue = &mut self.ranks[rank];
        queue.hits = [0; 2];
        for bank in &mut queue.banks.0 {
            bank.hit = [NONE; 2];
        }
    }

    /// Returns true if a burst of `kind` for this place waits.
    pub(crate) fn holds(&self, kind: RequestKind, place: &DecodedAddress, bank: usize) -> bool {
        let mut entry = self.bank(place.rank as usize, bank).head[kind as usize];
        while entry != NONE {
            let waits = self.get(entry);
            let before = place.column.wrapping_sub(waits.column.into());
            if waits.row == place.row && before < waits.arrivals.bursts {
                return true;
            }
            entry = waits.next;
        }
        false
    }
}

/// Returns the numbers of the bits that are set, in ascending order.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = set.trailing_zeros();
        set &= set.checked_sub(1)?;
        Some(first as usize)
    })
}

fn first_of_row(entries: &Entries, mut entry: u8, row: u32) -> u8 {
    while entry != NONE && entries[entry as usize].row != row {
        entry = entries[entry as usize].next;
    }
    entry
}
