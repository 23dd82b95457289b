//! Least recently used.

use crate::lists::Lists;
use crate::memory::Memory;
use crate::policy::{Policy, bring_in};

/// LRU: a miss replaces the page whose last request is longest ago.
///
/// Mattson, Gecsei, Slutz, Traiger: "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970.
///
/// *Reasoning:* what was used lately is used soon. *Cost:* one list, moved to its front unless it is there already;
/// constant whatever the number of frames. *When not to use it:* for loops over more pages than there are frames,
/// where it misses every time; for scans, which push out everything; where a page may be read in place, since it pays
/// the move into SRAM for a page that is read once. To know it for many SRAM sizes use
/// [`StackDistances`](crate::sweep::StackDistances), one pass for all.
#[derive(Clone, Debug)]
pub struct Lru {
    frames: u32,
    recent: Lists<1>,
}

impl Lru {
    /// An empty SRAM of `frames` pages.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(frames: u32) -> Lru {
        assert!(frames > 0, "LRU without a frame");
        Lru { frames, recent: Lists::new() }
    }
}

impl Policy for Lru {
    type Request = u32;

    fn grow(&mut self, pages: u32) {
        self.recent.grow(pages);
    }

    #[inline]
    fn request<M: Memory>(&mut self, page: u32, memory: &mut M) {
        if self.recent.front(0) != Some(page) {
            if self.recent.contains(page) {
                self.recent.move_to_front(0, page);
            } else {
                if self.recent.len(0) == self.frames {
                    let victim = self.recent.pop_back(0).expect("a full SRAM holds a page");
                    memory.discard_from_sram(victim);
                }
                bring_in(page, memory);
                self.recent.push_front(0, page);
            }
        }
        memory.read_sram(page);
    }
}
