//! Belady's optimum, off line.

use crate::future::NEVER;
use crate::memory::Memory;
use crate::policy::{Policy, bring_in};

/// The frame of a page that has none.
const NONE: u32 = u32::MAX;

/// A request to a policy that knows the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// The page.
    pub page: u32,
    /// Requests until the next one of the same page, or [`NEVER`].
    pub ahead: u32,
}

/// MIN: a miss replaces the page whose next request is farthest ahead; the fewest misses of conventional demand paging.
///
/// Belady: "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966.
///
/// *Reasoning:* of the pages kept, the one needed last blocks its frame longest. *Cost:* the next use of each request,
/// a pass backwards ([`future`](crate::future)); a tournament tree over the frames, climbed on a hit only as far as the
/// maximum changes, so O(log frames) at most. *When not to use it:* as a bound where pages may be read in place: it
/// moves every page it misses, and PM-XIP beats it; that bound is [`bound`](crate::bound). It is no policy for a
/// device, since it needs the future.
#[derive(Clone, Debug)]
pub struct Min {
    now: u64,
    frame_of: Vec<u32>,
    pages: Vec<u32>,
    frames: usize,
    /// When the page of each frame is next requested: leaves from `leaves` on, the larger of two children above.
    next_use: Vec<u64>,
    leaves: usize,
}

impl Min {
    /// An empty SRAM of `frames` pages.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(frames: u32) -> Min {
        assert!(frames > 0, "MIN without a frame");
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

    #[inline]
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

    /// The frame whose page is requested last, the first of them.
    #[inline]
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

    #[inline]
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
        // Within a run of one page nothing else is asked for before the next request sets it.
        if ahead != 1 {
            self.set_next_use(frame, if ahead == NEVER { u64::MAX } else { self.now + u64::from(ahead) });
        }
        memory.read_sram(page);
    }
}
