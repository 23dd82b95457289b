//! CLOCK: FIFO with a second chance.

use crate::memory::Memory;
use crate::policy::{Policy, bring_in};

/// Marks a page that is in no frame.
const NONE: u32 = u32::MAX;

/// CLOCK: a hand cycles over the frames and skips, once, each page requested since its last pass.
///
/// Corbato: "A paging experiment with the Multics system", MIT Project MAC Report MAC-M-384, 1968.
///
/// *Reasoning:* approximates LRU with one bit and no reordering on hits. *Cost:* a hit sets one bit; a miss advances
/// the hand by a number of frames bounded by earlier hits (each hit marks at most one). *When not to use it:* where LRU
/// itself fails (loops, scans); with very few frames, where every page is soon marked and CLOCK degenerates to FIFO.
#[derive(Clone, Debug)]
pub struct Clock {
    ring: Vec<u32>,
    used: Vec<bool>,
    frame_of: Vec<u32>,
    hand: usize,
    frames: usize,
}

impl Clock {
    /// Creates an empty SRAM of `frames` pages.
    ///
    /// # Panics
    /// If `frames` is zero.
    pub fn new(frames: u32) -> Clock {
        assert!(frames > 0, "found 0 frames, expected at least 1 for CLOCK");
        let frames = frames as usize;
        Clock {
            ring: Vec::with_capacity(frames),
            used: Vec::with_capacity(frames),
            frame_of: Vec::new(),
            hand: 0,
            frames,
        }
    }

    fn step(&mut self) {
        self.hand = if self.hand + 1 == self.frames { 0 } else { self.hand + 1 };
    }
}

impl Policy for Clock {
    type Request = u32;

    fn grow(&mut self, pages: u32) {
        self.frame_of.resize(self.frame_of.len().max(pages as usize), NONE);
    }

    fn request<M: Memory>(&mut self, page: u32, memory: &mut M) {
        let frame = self.frame_of[page as usize];
        if frame != NONE {
            self.used[frame as usize] = true;
        } else if self.ring.len() < self.frames {
            self.frame_of[page as usize] = self.ring.len() as u32;
            self.ring.push(page);
            self.used.push(false);
            bring_in(page, memory);
        } else {
            while std::mem::take(&mut self.used[self.hand]) {
                self.step();
            }
            let victim = std::mem::replace(&mut self.ring[self.hand], page);
            self.frame_of[victim as usize] = NONE;
            self.frame_of[page as usize] = self.hand as u32;
            self.step();
            memory.discard_from_sram(victim);
            bring_in(page, memory);
        }
        memory.read_sram(page);
    }
}
