//! ARC: balances recency and frequency by the hits on recently evicted pages.

use crate::lists::Lists;
use crate::memory::Memory;
use crate::policy::{Policy, bring_in};

const RECENT: usize = 0;
const FREQUENT: usize = 1;
const RECENT_NAMES: usize = 2;
const FREQUENT_NAMES: usize = 3;
/// On no list.
const NONE: u8 = u8::MAX;

/// ARC: pages seen once recently (T1) and more often (T2) share the frames; hits on the names of pages evicted from
/// each (B1, B2) adjust the target size of T1.
///
/// Megiddo, Modha: "ARC: a self-tuning, low overhead replacement cache", FAST 2003.
///
/// *Reasoning:* a request for a page that one list evicted indicates that this list was too short. *Cost:* a hit moves
/// a page between two lists; as many names as frames are stored. *When not to use it:* with very few frames, where a
/// target step of one is a large fraction of the SRAM. A run of requests for one page counts as frequency, which every
/// page of fetched instructions exhibits.
#[derive(Clone, Debug)]
pub struct Arc {
    frames: u32,
    /// Target size of T1: a real number, as published.
    target: f64,
    lists: Lists<4>,
    list_of: Vec<u8>,
}

impl Arc {
    /// Creates an empty SRAM of `frames` pages.
    ///
    /// # Panics
    /// If `frames` is zero.
    pub fn new(frames: u32) -> Arc {
        assert!(frames > 0, "found 0 frames, expected at least 1 for ARC");
        Arc { frames, target: 0.0, lists: Lists::new(), list_of: Vec::new() }
    }

    fn insert(&mut self, list: usize, page: u32) {
        self.lists.push_front(list, page);
        self.list_of[page as usize] = list as u8;
    }

    fn forget(&mut self, list: usize) {
        let name = self.lists.pop_back(list).expect("the list of names is not empty");
        self.list_of[name as usize] = NONE;
    }

    /// The procedure REPLACE of the paper; remembers the name of the evicted page.
    fn replace<M: Memory>(&mut self, from_frequent_names: bool, memory: &mut M) {
        let recent = f64::from(self.lists.len(RECENT));
        let from_recent = recent >= 1.0 && (recent > self.target || (from_frequent_names && recent == self.target));
        let (list, names) = if from_recent { (RECENT, RECENT_NAMES) } else { (FREQUENT, FREQUENT_NAMES) };
        let victim = self.lists.pop_back(list).expect("ARC replaces only in a full SRAM");
        memory.discard_from_sram(victim);
        self.insert(names, victim);
    }

    fn miss<M: Memory>(&mut self, page: u32, list: u8, memory: &mut M) {
        let (recent, frequent) = (self.lists.len(RECENT), self.lists.len(FREQUENT));
        let (b1, b2) = (self.lists.len(RECENT_NAMES), self.lists.len(FREQUENT_NAMES));
        let enters = match list as usize {
            RECENT_NAMES => {
                self.target = (self.target + (f64::from(b2) / f64::from(b1)).max(1.0)).min(f64::from(self.frames));
                self.replace(false, memory);
                self.lists.remove(RECENT_NAMES, page);
                FREQUENT
            }
            FREQUENT_NAMES => {
                self.target = (self.target - (f64::from(b1) / f64::from(b2)).max(1.0)).max(0.0);
                self.replace(true, memory);
                self.lists.remove(FREQUENT_NAMES, page);
                FREQUENT
            }
            _ => {
                if recent + b1 == self.frames {
                    if recent < self.frames {
                        self.forget(RECENT_NAMES);
                        self.replace(false, memory);
                    } else {
                        let victim = self.lists.pop_back(RECENT).expect("T1 has all the frames");
                        memory.discard_from_sram(victim);
                        self.list_of[victim as usize] = NONE;
                    }
                } else if recent + frequent + b1 + b2 >= self.frames {
                    if recent + frequent + b1 + b2 == 2 * self.frames {
                        self.forget(FREQUENT_NAMES);
                    }
                    self.replace(false, memory);
                }
                RECENT
            }
        };
        bring_in(page, memory);
        self.insert(enters, page);
        debug_assert!(self.lists.len(RECENT) + self.lists.len(FREQUENT) <= self.frames);
    }
}

impl Policy for Arc {
    type Request = u32;

    fn grow(&mut self, pages: u32) {
        self.lists.grow(pages);
        self.list_of.resize(self.list_of.len().max(pages as usize), NONE);
    }

    fn request<M: Memory>(&mut self, page: u32, memory: &mut M) {
        let list = self.list_of[page as usize];
        match list as usize {
            FREQUENT => {
                if self.lists.front(FREQUENT) != Some(page) {
                    self.lists.move_to_front(FREQUENT, page);
                }
            }
            RECENT => {
                self.lists.remove(RECENT, page);
                self.insert(FREQUENT, page);
            }
            _ => self.miss(page, list, memory),
        }
        memory.read_sram(page);
    }
}
