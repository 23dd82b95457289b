//! The swap area: one slot per page, allocated sequentially so that pages evicted together are adjacent.

use super::frames::NONE;

/// The slots, with the page in each.
#[derive(Debug)]
pub struct Swap {
    pages: Vec<u32>,
    next: usize,
    used: usize,
}

impl Swap {
    /// Creates `slots` free slots.
    pub fn new(slots: u32) -> Swap {
        Swap { pages: vec![NONE; slots as usize], next: 0, used: 0 }
    }

    /// Takes the next free slot for `page`.
    ///
    /// # Panics
    /// If all slots are in use. There is a slot for each page that can be swapped, and for each that is in flight.
    pub fn take(&mut self, page: u32) -> u32 {
        assert!(self.used < self.pages.len(), "the swap area is full");
        while self.pages[self.next] != NONE {
            self.next = (self.next + 1) % self.pages.len();
        }
        self.pages[self.next] = page;
        self.used += 1;
        self.next as u32
    }

    /// Frees a slot.
    pub fn release(&mut self, slot: u32) {
        debug_assert_ne!(self.pages[slot as usize], NONE, "slot {slot} is free");
        self.pages[slot as usize] = NONE;
        self.used -= 1;
    }

    /// Returns the page in a slot, if there is one.
    pub fn page(&self, slot: u32) -> Option<u32> {
        self.pages.get(slot as usize).copied().filter(|page| *page != NONE)
    }
}
