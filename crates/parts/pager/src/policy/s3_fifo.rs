//! S3-FIFO: three queues, no reordering.

use crate::lists::Lists;
use crate::memory::Memory;
use crate::policy::{Policy, bring_in};

const SMALL: usize = 0;
const MAIN: usize = 1;
const NAMES: usize = 2;
/// On no list.
const NONE: u8 = u8::MAX;
/// Requests beyond this many since a page came in, or came round, are not told apart.
const USES_MAX: u8 = 3;

/// S3-FIFO: new pages pass a small FIFO (a tenth of the frames); those requested more than once meanwhile go on to the
/// main FIFO, the others leave only a name; a page whose name is remembered enters the main FIFO at once; there,
/// eviction goes round like CLOCK with two bits.
///
/// Yang, Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need for cache eviction", SOSP 2023.
///
/// *Reasoning:* most objects of a large cache are requested once in their stay, and should leave quickly. *Cost:* a hit
/// adds to a two-bit counter; nothing moves. *When not to use it:* for pages of code in a few frames: a tenth of 4 is
/// rounded up to one, and a page run through once is still read many times in a row, so that all pages look popular.
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
    /// An empty SRAM of `frames` pages.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(frames: u32) -> S3Fifo {
        assert!(frames > 0, "S3-FIFO without a frame");
        S3Fifo { frames, small_frames: (frames / 10).max(1), lists: Lists::new(), pages: Vec::new() }
    }

    /// Frames of the main queue; as many names are remembered.
    fn main_frames(&self) -> u32 {
        (self.frames - self.small_frames).max(1)
    }

    fn put(&mut self, list: usize, page: u32) {
        self.lists.push_front(list, page);
        self.pages[page as usize] = Page { list: list as u8, uses: 0 };
    }

    fn evict_from_small<M: Memory>(&mut self, memory: &mut M) {
        while let Some(page) = self.lists.pop_back(SMALL) {
            if self.pages[page as usize].uses > 1 {
                self.put(MAIN, page);
                if self.lists.len(MAIN) > self.main_frames() {
                    return self.evict_from_main(memory);
                }
            } else {
                memory.discard_from_sram(page);
                if self.lists.len(NAMES) == self.main_frames() {
                    let forgotten = self.lists.pop_back(NAMES).expect("there are names");
                    self.pages[forgotten as usize].list = NONE;
                }
                return self.put(NAMES, page);
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
            self.put(MAIN, page);
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
        self.put(if remembered { MAIN } else { SMALL }, page);
    }
}

impl Policy for S3Fifo {
    type Request = u32;

    fn grow(&mut self, pages: u32) {
        self.lists.grow(pages);
        self.pages.resize(self.pages.len().max(pages as usize), Page { list: NONE, uses: 0 });
    }

    #[inline]
    fn request<M: Memory>(&mut self, page: u32, memory: &mut M) {
        let state = &mut self.pages[page as usize];
        match state.list as usize {
            SMALL | MAIN => state.uses = (state.uses + 1).min(USES_MAX),
            list => self.miss(page, list == NAMES, memory),
        }
        memory.read_sram(page);
    }
}
