//! The swap area: a slot a page, given out one after the other so that what goes out together lies together.

use super::frames::NONE;

/// Slots, and the page in each.
#[derive(Debug)]
pub struct Swap {
    pages: Vec<u32>,
    next: usize,
    used: usize,
}

impl Swap {
    /// So many, all free.
    pub fn new(slots: u32) -> Swap {
        Swap { pages: vec![NONE; slots as usize], next: 0, used: 0 }
    }

    /// The next free slot, for `page`.
    ///
    /// # Panics
    /// If there is none: there is one for each page that can be swapped, and one for each that is on its way.
    pub fn take(&mut self, page: u32) -> u32 {
        assert!(self.used < self.pages.len(), "the swap area is full");
        while self.pages[self.next] != NONE {
            self.next = (self.next + 1) % self.pages.len();
        }
        self.pages[self.next] = page;
        self.used += 1;
        self.next as u32
    }

    /// Frees one.
    pub fn release(&mut self, slot: u32) {
        debug_assert_ne!(self.pages[slot as usize], NONE, "slot {slot} is free");
        self.pages[slot as usize] = NONE;
        self.used -= 1;
    }

    /// The page in a slot, if there is one.
    pub fn page(&self, slot: u32) -> Option<u32> {
        self.pages.get(slot as usize).copied().filter(|page| *page != NONE)
    }
}
