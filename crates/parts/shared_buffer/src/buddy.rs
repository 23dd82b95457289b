//! Allocates space in the data buffer: a binary buddy allocator (Knuth, The Art of Computer Programming 1, 2.5) over
//! sectors.
//!
//! An allocation is a run of consecutive sectors, because an entry with one buffer index needs it. A run occupies a
//! block of the next power of two; the rest of the block stays unused until the run is released (*internal*
//! fragmentation). Freeing the rest at once, as smaller blocks, seems better but is not: small runs settle there,
//! outlive the large one and keep its block from being coalesced (*external* fragmentation). `tests/buddy.rs` measures
//! both: with runs of 1 to 32 sectors, a buffer of 256 sectors is 70 % full either way; when half of the runs have 2
//! sectors, it is 67 % full if the rests are kept, and 60 % if they are freed. If the driver splits requests by a power
//! of two, only the last command of a request has a rest.
//!
//! Allocation, splitting, release and coalescing take O(log n) steps without allocating memory: each order has a doubly
//! linked list of its free blocks, threaded through arrays.

use crate::entry::{EXTENTS_MAX, Extent, Extents};

/// Marks the end of a list.
const NIL: u32 = u32::MAX;

/// Marks sectors at which no free block starts.
const NOT_FREE: u8 = u8::MAX;

/// A buddy allocator for the data buffer.
#[derive(Clone, Debug)]
pub struct Buddy {
    sectors: u32,
    free: u32,
    /// Bit k is set if there is a free block of 2^k sectors.
    orders: u32,
    /// The first free block of each order.
    first: [u32; 32],
    /// The neighbors in the list, indexed by the first sector of a free block.
    next: Vec<u32>,
    previous: Vec<u32>,
    /// The order of the free block that starts at each sector.
    free_order: Vec<u8>,
    /// The length of the run that starts at each sector, or 0.
    run: Vec<u32>,
}

impl Buddy {
    /// Creates the allocator of a data buffer with `sectors` free sectors. The number need not be a power of two; the
    /// buffer then consists of one block for each bit of its size.
    ///
    /// # Panics
    /// If `sectors` is zero or greater than 2^31.
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

    /// Returns the size of the buffer in sectors.
    pub const fn sectors(&self) -> u32 {
        self.sectors
    }

    /// Returns the number of sectors that are in no allocated block.
    pub const fn free_sectors(&self) -> u32 {
        self.free
    }

    /// Returns the longest run that the empty buffer can provide: the largest power of two within it.
    pub const fn longest(&self) -> u32 {
        1 << self.sectors.ilog2()
    }

    /// Returns the longest run that can be allocated now, or 0 if the buffer is full.
    pub const fn longest_free(&self) -> u32 {
        match self.orders {
            0 => 0,
            orders => 1 << orders.ilog2(),
        }
    }

    /// Returns the free blocks, largest first and otherwise unordered. For inspection; takes more than O(log n).
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

    /// Allocates a run of `sectors`. Returns `None` if no free block is large enough.
    ///
    /// # Panics
    /// If `sectors` is zero.
    pub fn allocate(&mut self, sectors: u32) -> Option<Extent> {
        assert!(sectors > 0, "a run of no sectors");
        if sectors > self.longest_free() {
            return None;
        }
        let order = order_of(sectors);
        // Use the smallest block that suffices, to keep large ones whole.
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

    /// Allocates `sectors` in as few runs as the free blocks permit, at most `runs_max`. Returns `None` if that is not
    /// enough.
    ///
    /// # Panics
    /// If `sectors` is zero, or `runs_max` is not in 1 to [`EXTENTS_MAX`].
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

    /// Releases a run.
    ///
    /// # Panics
    /// If `run` is not exactly an allocated run.
    pub fn release(&mut self, run: Extent) {
        let taken = self.run.get(run.index as usize).copied();
        assert!(
            taken == Some(run.sectors) && run.sectors > 0,
            "{run:?} is released, but {taken:?} sectors were allocated there"
        );
        self.run[run.index as usize] = 0;
        let order = order_of(run.sectors);
        self.free += 1 << order;
        self.coalesce(run.index, order);
    }

    /// Releases several runs.
    pub fn release_all(&mut self, runs: &Extents) {
        for &run in runs.as_slice() {
            self.release(run);
        }
    }

    /// Frees a block, and merges it with its buddy for as long as that is free too.
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

/// Returns the order of the block that a run occupies: the exponent of the next power of two.
const fn order_of(sectors: u32) -> u8 {
    sectors.next_power_of_two().trailing_zeros() as u8
}
