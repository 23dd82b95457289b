//! Space in the data buffer: a binary buddy allocator (Knuth, The Art of Computer Programming 1, 2.5) over sectors.
//!
//! Space is handed out in runs of neighbouring sectors, as an entry with one buffer index needs it. A run takes a block of
//! the next power of two; what the block has beyond it stays unused until the run is released (*internal*
//! fragmentation). To give that rest back at once, as smaller blocks, looks better and is not: small runs settle there,
//! outlive the large one and keep its block from becoming whole again (*external* fragmentation). `tests/buddy.rs`
//! measures both: of runs of 1 to 32 sectors, a buffer of 256 holds 70 % of its size either way; where half of the runs
//! have 2 sectors, 67 % if rests are kept and 60 % if they are given back. The commands of a driver that splits by a
//! power of two have a rest at the end of a request only.
//!
//! A run is found, split, released and coalesced in O(log n) steps, without allocation: each order has a doubly linked
//! list of its free blocks, threaded through arrays.

use crate::entry::{EXTENTS_MAX, Extent, Extents};

/// No block, in lists.
const NIL: u32 = u32::MAX;

/// No free block starts here.
const NOT_FREE: u8 = u8::MAX;

/// The allocator.
#[derive(Clone, Debug)]
pub struct Buddy {
    sectors: u32,
    free: u32,
    /// Bit k: there is a free block of 2^k sectors.
    orders: u32,
    /// By order: the first free block.
    first: [u32; 32],
    /// By sector, for the first of a free block: its neighbours in the list.
    next: Vec<u32>,
    previous: Vec<u32>,
    /// By sector: the order of the free block that starts there.
    free_order: Vec<u8>,
    /// By sector: the sectors of the run that starts there, or 0.
    run: Vec<u32>,
}

impl Buddy {
    /// A data buffer of that many sectors, all free. It need not be a power of two; it is then managed as one block for
    /// each bit of its size.
    ///
    /// # Panics
    /// If it is zero or more than 2^31.
    pub fn new(sectors: u32) -> Buddy {
        assert!((1..=1 << 31).contains(&sectors), "a data buffer of {sectors} sectors");
        let len = sectors as usize;
        let mut buddy = Buddy {
            sectors,
            free: sectors,
            orders: 0,
            first: [NIL; 32],
            next: vec![NIL; len],
            previous: vec![NIL; len],
            free_order: vec![NOT_FREE; len],
            run: vec![0; len],
        };
        let mut start = 0;
        for order in (0..32u8).rev().filter(|order| sectors >> order & 1 == 1) {
            buddy.insert(start, order);
            start += 1 << order;
        }
        buddy
    }

    /// Sectors of the buffer.
    pub const fn sectors(&self) -> u32 {
        self.sectors
    }

    /// Sectors that are free: in no block that was taken.
    pub const fn free_sectors(&self) -> u32 {
        self.free
    }

    /// The longest run that the empty buffer can give: the largest power of two within it.
    pub const fn longest(&self) -> u32 {
        1 << self.sectors.ilog2()
    }

    /// The longest run that can be had now; 0 if all is taken.
    pub const fn longest_free(&self) -> u32 {
        match self.orders {
            0 => 0,
            orders => 1 << orders.ilog2(),
        }
    }

    /// Free blocks, largest first: start and sectors. In no order within a size. For inspection; not O(log n).
    pub fn free_blocks(&self) -> impl Iterator<Item = Extent> + '_ {
        (0..32u8).rev().flat_map(move |order| {
            let head = self.first[usize::from(order)];
            std::iter::successors((head != NIL).then_some(head), move |&block| {
                let next = self.next[block as usize];
                (next != NIL).then_some(next)
            })
            .map(move |index| Extent { index, sectors: 1 << order })
        })
    }

    /// Takes a run of `sectors`, or nothing if no free block is long enough.
    ///
    /// # Panics
    /// If `sectors` is zero.
    pub fn allocate(&mut self, sectors: u32) -> Option<Extent> {
        assert!(sectors > 0, "a run of no sectors");
        if sectors > self.longest_free() {
            return None;
        }
        let order = order_of(sectors);
        // The smallest block that is large enough, so that large ones stay whole.
        let mut at = order + (self.orders >> order).trailing_zeros() as u8;
        let start = self.first[usize::from(at)];
        self.remove(start, at);
        while at > order {
            at -= 1;
            self.insert(start + (1 << at), at);
        }
        self.free -= 1 << order;
        self.run[start as usize] = sectors;
        Some(Extent { index: start, sectors })
    }

    /// Takes `sectors` in as few runs as there are free blocks for, at most `runs_max`; nothing if that is not enough.
    ///
    /// # Panics
    /// If `sectors` is zero, or `runs_max` not in 1 to [`EXTENTS_MAX`].
    pub fn allocate_scattered(&mut self, sectors: u32, runs_max: usize) -> Option<Extents> {
        assert!(sectors > 0 && (1..=EXTENTS_MAX).contains(&runs_max), "{sectors} sectors in {runs_max} runs");
        let mut extents = Extents::NONE;
        let mut left = sectors;
        while left > 0 {
            let longest = self.longest_free();
            if longest == 0 || (left > longest && extents.len() + 1 == runs_max) {
                self.release_all(&extents);
                return None;
            }
            let run = self.allocate(left.min(longest)).expect("the longest free block is free");
            left -= run.sectors;
            extents.push(run);
        }
        Some(extents)
    }

    /// Gives a run back.
    ///
    /// # Panics
    /// If it is not a run that was taken, as a whole.
    pub fn release(&mut self, run: Extent) {
        let taken = self.run.get(run.index as usize).copied();
        assert!(
            taken == Some(run.sectors) && run.sectors > 0,
            "{run:?} is released, and {taken:?} sectors were taken there"
        );
        self.run[run.index as usize] = 0;
        let order = order_of(run.sectors);
        self.free += 1 << order;
        self.coalesce(run.index, order);
    }

    /// Gives several runs back.
    pub fn release_all(&mut self, runs: &Extents) {
        for &run in runs.as_slice() {
            self.release(run);
        }
    }

    /// Makes a block free, merged with its buddy for as long as that is free too.
    fn coalesce(&mut self, mut start: u32, mut order: u8) {
        loop {
            let buddy = start ^ (1 << order);
            // A buddy beyond the end of the buffer is never free.
            if self.free_order.get(buddy as usize) != Some(&order) {
                break;
            }
            self.remove(buddy, order);
            start = start.min(buddy);
            order += 1;
        }
        self.insert(start, order);
    }

    fn insert(&mut self, start: u32, order: u8) {
        let at = start as usize;
        debug_assert!(
            self.free_order[at] == NOT_FREE && start.is_multiple_of(1 << order),
            "block {start} of order {order}"
        );
        let first = std::mem::replace(&mut self.first[usize::from(order)], start);
        if first != NIL {
            self.previous[first as usize] = start;
        }
        self.next[at] = first;
        self.previous[at] = NIL;
        self.free_order[at] = order;
        self.orders |= 1 << order;
    }

    fn remove(&mut self, start: u32, order: u8) {
        let at = start as usize;
        debug_assert_eq!(self.free_order[at], order, "block {start}");
        let (next, previous) = (self.next[at], self.previous[at]);
        if next != NIL {
            self.previous[next as usize] = previous;
        }
        if previous != NIL {
            self.next[previous as usize] = next;
        } else {
            self.first[usize::from(order)] = next;
            if next == NIL {
                self.orders &= !(1 << order);
            }
        }
        self.free_order[at] = NOT_FREE;
    }
}

/// The order of the block that a run takes: the exponent of the next power of two.
const fn order_of(sectors: u32) -> u8 {
    sectors.next_power_of_two().trailing_zeros() as u8
}
