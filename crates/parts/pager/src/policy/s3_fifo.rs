//! S3-FIFO: three queues without reordering.

use crate::lists::Lists;
use crate::memory::Memory;
use crate::policy::{Policy, bring_in};

const SMALL: usize = 0;
const MAIN: usize = 1;
const NAMES: usize = 2;
/// On no list.
const NONE: u8 = u8::MAX;
/// Cap of the use counter: further requests since the page was loaded or last requeued are not counted.
const USES_MAX: u8 = 3;

/// S3-FIFO: new pages enter a small FIFO (a tenth of the frames). Pages requested more than once there move on to the
/// main FIFO; the others are evicted and only their names remembered. A page whose name is remembered enters the main
/// FIFO directly. The main FIFO evicts like CLOCK with two bits.
///
/// Yang, Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need for cache eviction", SOSP 2023.
///
/// *Reasoning:* most objects in a large cache are requested only once during their stay and should be evicted quickly.
/// *Cost:* a hit increments a two-bit counter; nothing moves. *When not to use it:* for code pages in a few frames: a
/// tenth of 4 is rounded up to one, and a page executed once is still read many times in a row, so all pages appear
/// popular.
#[derive(Clone, Debug)]
pub struct S3Fifo {
    frames: u32,
    small_frames: u32,
    lists: Lists<3>,
    pages: Vec<Page>,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    list: u8,
    uses: u8,
}

impl S3Fifo {
    /// Creates an empty SRAM of `frames` pages.
    ///
    /// # Panics
    /// If `frames` is zero.
    pub fn new(frames: u32) -> S3Fifo {
        assert!(frames > 0, "found 0 frames, expected at least 1 for S3-FIFO");
        S3Fifo { frames, small_frames: (frames / 10).max(1), lists: Lists::new(), pages: Vec::new() }
    }

    /// Returns the size of the main queue, which is also the number of remembered names.
    fn main_frames(&self) -> u32 {
        (self.frames - self.small_frames).max(1)
    }

    fn insert(&mut self, list: usize, page: u32) {
        self.lists.push_front(list, page);
        self.pages[page as usize] = Page { list: list as u8, uses: 0 };
    }

    fn evict_from_small<M: Memory>(&mut self, memory: &mut M) {
        while let Some(page) = self.lists.pop_back(SMALL) {
            if self.pages[page as usize].uses > 1 {
                self.insert(MAIN, page);
                if self.lists.len(MAIN) > self.main_frames() {
                    return self.evict_from_main(memory);
                }
            } else {
                memory.discard_from_sram(page);
                if self.lists.len(NAMES) == self.main_frames() {
                    let forgotten = self.lists.pop_back(NAMES).expect("there are names");
                    self.pages[forgotten as usize].list = NONE;
                }
                return self.insert(NAMES, page);
            }
        }
    }

    fn evict_from_main<M: Memory>(&mut self, memory: &mut M) {
        while let Some(page) = self.lists.pop_back(MAIN) {
            let uses = self.pages[page as usize].uses;
            if uses == 0 {
                self.pages[page as usize].list = NONE;
                return memory.discard_from_sram(page);
            }
            self.insert(MAIN, page);
            self.pages[page as usize].uses = uses - 1;
        }
    }

    fn miss<M: Memory>(&mut self, page: u32, remembered: bool, memory: &mut M) {
        if remembered {
            self.lists.remove(NAMES, page);
        }
        while self.lists.len(SMALL) + self.lists.len(MAIN) == self.frames {
            if self.lists.len(SMALL) >= self.small_frames {
                self.evict_from_small(memory);
            } else {
                self.evict_from_main(memory);
            }
        }
        bring_in(page, memory);
        self.insert(if remembered { MAIN } else { SMALL }, page);
    }
}

impl Policy for S3Fifo {
    type Request = u32;

    fn grow(&mut self, pages: u32) {
        self.lists.grow(pages);
        self.pages.resize(self.pages.len().max(pages as usize), Page { list: NONE, uses: 0 });
    }

    fn request<M: Memory>(&mut self, page: u32, memory: &mut M) {
        let state = &mut self.pages[page as usize];
        match state.list as usize {
            SMALL | MAIN => state.uses = (state.uses + 1).min(USES_MAX),
            list => self.miss(page, list == NAMES, memory),
        }
        memory.read_sram(page);
    }
}
