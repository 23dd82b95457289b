//! 2Q: a trial queue for new pages, and LRU for returning ones.

use crate::lists::Lists;
use crate::memory::Memory;
use crate::policy::{Policy, bring_in};

const TRIAL: usize = 0;
const REMEMBERED: usize = 1;
const MAIN: usize = 2;

/// 2Q, full version: a new page enters a trial FIFO (A1in, a quarter of the frames); once evicted from there it is
/// remembered (A1out, half as many names as frames); if requested while remembered it enters the main LRU list (Am).
///
/// Johnson, Shasha: "2Q: a low overhead high performance buffer management replacement algorithm", VLDB 1994; both
/// shares are those recommended in the paper.
///
/// *Reasoning:* requests in close succession do not indicate a valuable page, whereas a request after the trial does.
/// *Cost:* a hit reorders only the main list. *When not to use it:* with few frames: a quarter of 4 is one, and the
/// list of names is equally short; where phases change quickly, since every page of a new phase is missed twice.
#[derive(Clone, Debug)]
pub struct TwoQ {
    frames: u32,
    trial_frames: u32,
    names: u32,
    lists: Lists<3>,
    list_of: Vec<u8>,
}

/// On no list.
const NONE: u8 = u8::MAX;

impl TwoQ {
    /// Creates an empty SRAM of `frames` pages.
    ///
    /// # Panics
    /// If `frames` is zero.
    pub fn new(frames: u32) -> TwoQ {
        assert!(frames > 0, "found 0 frames, expected at least 1 for 2Q");
        TwoQ {
            frames,
            trial_frames: (frames / 4).max(1),
            names: (frames / 2).max(1),
            lists: Lists::new(),
            list_of: Vec::new(),
        }
    }

    fn insert(&mut self, list: usize, page: u32) {
        self.lists.push_front(list, page);
        self.list_of[page as usize] = list as u8;
    }

    fn make_room<M: Memory>(&mut self, memory: &mut M) {
        if self.lists.len(TRIAL) + self.lists.len(MAIN) < self.frames {
            return;
        }
        if self.lists.len(TRIAL) > self.trial_frames || self.lists.len(MAIN) == 0 {
            let victim = self.lists.pop_back(TRIAL).expect("a full SRAM without main pages has some on trial");
            memory.discard_from_sram(victim);
            if self.lists.len(REMEMBERED) == self.names {
                let forgotten = self.lists.pop_back(REMEMBERED).expect("there are names");
                self.list_of[forgotten as usize] = NONE;
            }
            self.insert(REMEMBERED, victim);
        } else {
            let victim = self.lists.pop_back(MAIN).expect("the main list is not empty");
            memory.discard_from_sram(victim);
            self.list_of[victim as usize] = NONE;
        }
    }
}

impl Policy for TwoQ {
    type Request = u32;

    fn grow(&mut self, pages: u32) {
        self.lists.grow(pages);
        self.list_of.resize(self.list_of.len().max(pages as usize), NONE);
    }

    fn request<M: Memory>(&mut self, page: u32, memory: &mut M) {
        match self.list_of[page as usize] as usize {
            MAIN => {
                if self.lists.front(MAIN) != Some(page) {
                    self.lists.move_to_front(MAIN, page);
                }
            }
            TRIAL => {}
            list => {
                // Remove its name first, so that the victim's name cannot evict it.
                if list == REMEMBERED {
                    self.lists.remove(REMEMBERED, page);
                }
                self.make_room(memory);
                bring_in(page, memory);
                self.insert(if list == REMEMBERED { MAIN } else { TRIAL }, page);
            }
        }
        memory.read_sram(page);
    }
}
