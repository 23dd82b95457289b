//! Least recently used.

use crate::lists::Lists;
use crate::memory::Memory;
use crate::policy::{Policy, bring_in};

/// LRU: a miss replaces the least recently requested page.
///
/// Mattson, Gecsei, Slutz, Traiger: "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970.
///
/// *Reasoning:* recently used pages tend to be used again soon. *Cost:* one list update unless the page is already at
/// the front; constant regardless of the number of frames. *When not to use it:* for loops over more pages than frames,
/// where it always misses; for scans, which evict everything; where pages may be read in place, since it pays the move
/// into SRAM even for a page that is read once. For many SRAM sizes use
/// [`StackDistances`](crate::sweep::StackDistances), which covers all in one pass.
#[derive(Clone, Debug)]
pub struct Lru {
    frames: u32,
    recent: Lists<1>,
}

impl Lru {
    /// Creates an empty SRAM of `frames` pages.
    ///
    /// # Panics
    /// If `frames` is zero.
    pub fn new(frames: u32) -> Lru {
        assert!(frames > 0, "found 0 frames, expected at least 1 for LRU");
        Lru { frames, recent: Lists::new() }
    }
}

impl Policy for Lru {
    type Request = u32;

    fn grow(&mut self, pages: u32) {
        self.recent.grow(pages);
    }

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
