//! LRU at every SRAM size in one pass.

/// No request yet.
const NEVER: u32 = 0;

/// Counts requests by *stack distance*: the number of distinct pages requested since the page's previous request. LRU
/// with `n` frames misses exactly the requests of distance `n` or more, and the first request for each page.
///
/// Mattson, Gecsei, Slutz, Traiger: "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970.
/// The pages in between are counted by a Fenwick tree over the times of last requests, in O(log pages) per request, and
/// in constant time for a page requested twice in a row. Times are renumbered whenever the tree is full, at most once
/// in as many requests as there are pages, so memory is proportional to the number of pages regardless of the length of
/// the trace.
#[derive(Clone, Debug, Default)]
pub struct StackDistances {
    /// Slot of each page's last request, from 1.
    slot_of: Vec<u32>,
    /// The page whose last request is at each slot, if any.
    page_at: Vec<Option<u32>>,
    /// Fenwick tree over the occupied slots.
    tree: Vec<u32>,
    next_slot: u32,
    last: Option<u32>,
    seen: u32,
    requests: u64,
    distances: Vec<u64>,
}

impl StackDistances {
    /// Creates empty counts for pages `0..pages`.
    pub fn new(pages: u32) -> StackDistances {
        let mut distances = StackDistances::default();
        distances.grow(pages);
        distances
    }

    /// Makes room for pages `0..pages`.
    ///
    /// # Panics
    /// If `pages` exceeds 2^30.
    pub fn grow(&mut self, pages: u32) {
        assert!(pages <= 1 << 30, "found {pages} pages, expected at most 2^30");
        if pages as usize > self.slot_of.len() || self.tree.is_empty() {
            self.slot_of.resize(pages as usize, NEVER);
            self.distances.resize(pages as usize, 0);
            // At most about half of the slots are occupied, so that renumbering is rare.
            let slots = 2 * pages as usize + 64;
            self.page_at.resize(slots + 1, None);
            self.tree = vec![0; slots + 1];
            self.renumber();
        }
    }

    /// Renumbers the pages from slot 1 on, in the order of their last requests.
    fn renumber(&mut self) {
        self.tree.fill(0);
        let mut slot = 0;
        for old in 0..self.page_at.len() {
            if let Some(page) = self.page_at[old].take() {
                slot += 1;
                self.page_at[slot] = Some(page);
                self.slot_of[page as usize] = slot as u32;
                self.add(slot, 1);
            }
        }
        self.next_slot = slot as u32 + 1;
    }

    fn add(&mut self, mut slot: usize, change: i32) {
        while slot < self.tree.len() {
            self.tree[slot] = self.tree[slot].wrapping_add_signed(change);
            slot += slot & slot.wrapping_neg();
        }
    }

    /// Returns the number of occupied slots up to `slot`.
    fn up_to(&self, mut slot: usize) -> u32 {
        let mut sum = 0;
        while slot > 0 {
            sum += self.tree[slot];
            slot &= slot - 1;
        }
        sum
    }

    /// Counts one request.
    ///
    /// # Panics
    /// If the page is out of range.
    pub fn request(&mut self, page: u32) {
        self.requests += 1;
        if self.last == Some(page) {
            self.distances[0] += 1;
            return;
        }
        self.last = Some(page);
        if self.next_slot as usize == self.page_at.len() {
            self.renumber();
        }
        let slot = self.slot_of[page as usize];
        if slot == NEVER {
            self.seen += 1;
        } else {
            let between = self.seen - self.up_to(slot as usize);
            self.distances[between as usize] += 1;
            self.page_at[slot as usize] = None;
            self.add(slot as usize, -1);
        }
        self.slot_of[page as usize] = self.next_slot;
        self.page_at[self.next_slot as usize] = Some(page);
        self.add(self.next_slot as usize, 1);
        self.next_slot += 1;
    }

    /// Returns the number of requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Returns the misses of LRU with 0, 1, 2, … frames, up to the number of pages.
    pub fn misses(&self) -> Vec<u64> {
        let mut misses = vec![u64::from(self.seen)];
        for &requests in self.distances.iter().rev() {
            misses.push(misses[misses.len() - 1] + requests);
        }
        misses.reverse();
        misses
    }
}
