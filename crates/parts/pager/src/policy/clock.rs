//! CLOCK: FIFO with a second chance.

use crate::memory::Memory;
use crate::policy::{Policy, bring_in};

/// The frame of a page that has none.
const NONE: u32 = u32::MAX;

/// CLOCK: a hand goes round the frames; a page requested since the hand last passed is passed over once more.
///
/// Corbato: "A paging experiment with the Multics system", MIT Project MAC Report MAC-M-384, 1968.
///
/// *Reasoning:* LRU to one bit, with nothing to reorder on a hit. *Cost:* a hit stores one bit; a miss moves the hand
/// by a number of frames that hits have paid for (each hit marks at most one). *When not to use it:* where LRU itself
/// fails (loops, scans); with a handful of frames, where every page is soon marked and CLOCK is FIFO.
#[derive(Clone, Debug)]
pub struct Clock {
    ring: Vec<u32>,
    used: Vec<bool>,
    frame_of: Vec<u32>,
    hand: usize,
    frames: usize,
}

impl Clock {
    /// An empty SRAM of `frames` pages.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(frames: u32) -> Clock {
        assert!(frames > 0, "CLOCK without a frame");
        let frames = frames as usize;
        Clock {
            ring: Vec::with_capacity(frames),
            used: Vec::with_capacity(frames),
            frame_of: Vec::new(),
            hand: 0,
            frames,
        }
    }

    #[inline]
    fn step(&mut self) {
        self.hand = if self.hand + 1 == self.frames { 0 } else { self.hand + 1 };
    }
}

impl Policy for Clock {
    type Request = u32;

    fn grow(&mut self, pages: u32) {
        self.frame_of.resize(self.frame_of.len().max(pages as usize), NONE);
    }

    #[inline]
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
