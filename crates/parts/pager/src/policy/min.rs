//! Belady's optimal offline policy.

use crate::future::NEVER;
use crate::memory::Memory;
use crate::policy::{Policy, bring_in};

/// Marks a page that is in no frame.
const NONE: u32 = u32::MAX;

/// A request to a policy that knows the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// The page.
    pub page: u32,
    /// Distance in requests to the next request for the same page, or [`NEVER`].
    pub ahead: u32,
}

/// MIN: a miss replaces the page whose next request is farthest in the future; yields the fewest misses of conventional
/// demand paging.
///
/// Belady: "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966.
///
/// *Reasoning:* among the resident pages, the one needed last occupies its frame the longest. *Cost:* the next use of
/// each request, computed in a backward pass ([`future`](crate::future)); a tournament tree over the frames, updated on
/// a hit only as far as the maximum changes, so at most O(log frames). *When not to use it:* as a bound where pages may
/// be read in place: it moves every page it misses, so PM-XIP can beat it; use [`bound`](crate::bound) instead. Nor on
/// a device, since it needs the future.
#[derive(Clone, Debug)]
pub struct Min {
    now: u64,
    frame_of: Vec<u32>,
    pages: Vec<u32>,
    frames: usize,
    /// Next request time of the page in each frame, as a tournament tree: leaves start at `leaves`, inner nodes hold
    /// the larger child.
    next_use: Vec<u64>,
    leaves: usize,
}

impl Min {
    /// Creates an empty SRAM of `frames` pages.
    ///
    /// # Panics
    /// If `frames` is zero.
    pub fn new(frames: u32) -> Min {
        assert!(frames > 0, "found 0 frames, expected at least 1 for MIN");
        let frames = frames as usize;
        let leaves = frames.next_power_of_two();
        Min {
            now: 0,
            frame_of: Vec::new(),
            pages: Vec::with_capacity(frames),
            frames,
            next_use: vec![0; 2 * leaves],
            leaves,
        }
    }

    fn set_next_use(&mut self, frame: u32, at: u64) {
        let mut node = self.leaves + frame as usize;
        self.next_use[node] = at;
        while node > 1 {
            let latest = self.next_use[node].max(self.next_use[node ^ 1]);
            node >>= 1;
            if self.next_use[node] == latest {
                return;
            }
            self.next_use[node] = latest;
        }
    }

    /// Returns the first of the frames whose page is requested last.
    fn farthest(&self) -> u32 {
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.next_use[node] != self.next_use[node / 2]);
        }
        (node - self.leaves) as u32
    }
}

impl Policy for Min {
    type Request = Foreseen;

    fn grow(&mut self, pages: u32) {
        self.frame_of.resize(self.frame_of.len().max(pages as usize), NONE);
    }

    fn request<M: Memory>(&mut self, Foreseen { page, ahead }: Foreseen, memory: &mut M) {
        self.now += 1;
        let mut frame = self.frame_of[page as usize];
        if frame == NONE {
            if self.pages.len() < self.frames {
                frame = self.pages.len() as u32;
                self.pages.push(page);
            } else {
                frame = self.farthest();
                let victim = std::mem::replace(&mut self.pages[frame as usize], page);
                self.frame_of[victim as usize] = NONE;
                memory.discard_from_sram(victim);
            }
            self.frame_of[page as usize] = frame;
            bring_in(page, memory);
        }
        // Within a run for one page, no victim is chosen before the last request of the run sets the next use.
        if ahead != 1 {
            self.set_next_use(frame, if ahead == NEVER { u64::MAX } else { self.now + u64::from(ahead) });
        }
        memory.read_sram(page);
    }
}
