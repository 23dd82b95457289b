//! First in, first out.

use crate::memory::Memory;
use crate::policy::{Policy, bring_in};

/// FIFO: a miss replaces the page that was loaded first.
///
/// Belady: "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966.
///
/// *Reasoning:* a baseline, the minimum that a pager can do. *Cost:* one bit per page to detect hits, and one ring slot
/// per miss. *When not to use it:* wherever a better policy is affordable; more frames can cause more misses (Belady's
/// anomaly), so a sweep over SRAM sizes is not monotone.
#[derive(Clone, Debug)]
pub struct Fifo {
    ring: Vec<u32>,
    oldest: usize,
    frames: usize,
    resident: Vec<bool>,
}

impl Fifo {
    /// Creates an empty SRAM of `frames` pages.
    ///
    /// # Panics
    /// If `frames` is zero.
    pub fn new(frames: u32) -> Fifo {
        assert!(frames > 0, "found 0 frames, expected at least 1 for FIFO");
        let frames = frames as usize;
        Fifo { ring: Vec::with_capacity(frames), oldest: 0, frames, resident: Vec::new() }
    }
}

impl Policy for Fifo {
    type Request = u32;

    fn grow(&mut self, pages: u32) {
        self.resident.resize(self.resident.len().max(pages as usize), false);
    }

    fn request<M: Memory>(&mut self, page: u32, memory: &mut M) {
        if !self.resident[page as usize] {
            self.resident[page as usize] = true;
            if self.ring.len() < self.frames {
                self.ring.push(page);
            } else {
                let victim = std::mem::replace(&mut self.ring[self.oldest], page);
                self.resident[victim as usize] = false;
                memory.discard_from_sram(victim);
                self.oldest = if self.oldest + 1 == self.frames { 0 } else { self.oldest + 1 };
            }
            bring_in(page, memory);
        }
        memory.read_sram(page);
    }
}
