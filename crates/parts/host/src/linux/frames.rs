//! Page frames on an active and an inactive list, each in LRU order.

/// Flag: the page is mapped.
pub const MAPPED: u16 = 1;
/// Flag: the page is modified.
pub const DIRTY: u16 = 2;
/// Flag: the page was used since it was last checked.
pub const REFERENCED: u16 = 4;
/// Flag: the frame is on the active list.
pub const ACTIVE: u16 = 8;
/// Flag: the page is being read.
pub const LOCKED: u16 = 16;
/// Flag: the page is being written.
pub const WRITEBACK: u16 = 32;
/// Flag: reading the page triggers further readahead.
pub const MARKED: u16 = 64;
/// Flag: the frame is freed once its page is written.
pub const RECLAIM: u16 = 128;
/// Flag: the page belongs to a file accessed by system calls, and is usable without being mapped.
pub const CACHED: u16 = 256;

/// Stands for no frame, no page or no slot.
pub const NONE: u32 = u32::MAX;

/// A page frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The virtual page in the frame.
    pub page: u32,
    /// The page's slot in the swap area, if it has one.
    pub slot: u32,
    /// Threads that wait for the page, one bit each.
    pub waiters: u64,
    /// The flags defined above.
    pub flags: u16,
    prev: u32,
    next: u32,
}

impl Frame {
    /// Returns whether all of `flags` are set.
    pub fn is(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}

/// All page frames.
#[derive(Debug)]
pub struct Frames {
    frames: Vec<Frame>,
    free: Vec<u32>,
    /// For the inactive and the active list: the most and the least recently used frame, and the length.
    lists: [(u32, u32, u32); 2],
}

impl Frames {
    /// Creates `count` free frames.
    pub fn new(count: u32) -> Frames {
        let frame = Frame { page: NONE, slot: NONE, waiters: 0, flags: 0, prev: NONE, next: NONE };
        Frames { frames: vec![frame; count as usize], free: (0..count).rev().collect(), lists: [(NONE, NONE, 0); 2] }
    }

    /// Returns the number of all frames.
    pub fn total(&self) -> u32 {
        self.frames.len() as u32
    }

    /// Returns the number of free frames below which reclaim starts, and up to which it continues. Linux derives them
    /// from `min_free_kbytes`, the square root of 16 times the memory size in kilobytes.
    pub fn watermarks(&self) -> (u32, u32) {
        let kilobytes = u64::from(self.total()) * 4;
        let min = ((kilobytes * 16).isqrt() / 4).clamp(8, u64::from(self.total() / 16).max(8)) as u32;
        (min + min / 4, min + min / 2)
    }

    /// Returns the number of free frames.
    pub fn free(&self) -> u32 {
        self.free.len() as u32
    }

    /// Returns a frame.
    pub fn get(&self, frame: u32) -> &Frame {
        &self.frames[frame as usize]
    }

    /// Returns a frame for modification.
    pub fn get_mut(&mut self, frame: u32) -> &mut Frame {
        &mut self.frames[frame as usize]
    }

    /// Takes a free frame for `page` and adds it at the head of the inactive or the active list.
    pub fn take(&mut self, page: u32, flags: u16) -> Option<u32> {
        let frame = self.free.pop()?;
        self.frames[frame as usize] = Frame { page, slot: NONE, waiters: 0, flags, prev: NONE, next: NONE };
        self.link(frame);
        Some(frame)
    }

    /// Frees a frame.
    pub fn release(&mut self, frame: u32) {
        debug_assert_eq!(self.get(frame).waiters, 0, "threads wait for the frame");
        self.unlink(frame);
        self.get_mut(frame).page = NONE;
        self.free.push(frame);
    }

    fn list(&mut self, frame: u32) -> &mut (u32, u32, u32) {
        &mut self.lists[usize::from(self.frames[frame as usize].flags & ACTIVE != 0)]
    }

    fn link(&mut self, frame: u32) {
        let list = self.list(frame);
        let head = std::mem::replace(&mut list.0, frame);
        list.2 += 1;
        if head == NONE {
            list.1 = frame;
        } else {
            self.get_mut(head).prev = frame;
        }
        let frame = self.get_mut(frame);
        (frame.prev, frame.next) = (NONE, head);
    }

    fn unlink(&mut self, frame: u32) {
        let Frame { prev, next, .. } = *self.get(frame);
        let list = self.list(frame);
        list.2 -= 1;
        if prev == NONE {
            list.0 = next;
        }
        if next == NONE {
            list.1 = prev;
        }
        if prev != NONE {
            self.get_mut(prev).next = next;
        }
        if next != NONE {
            self.get_mut(next).prev = prev;
        }
    }

    /// Moves a frame to the head of the active or the inactive list.
    pub fn move_to_head(&mut self, frame: u32, active: bool) {
        self.unlink(frame);
        let flags = &mut self.get_mut(frame).flags;
        *flags = if active { *flags | ACTIVE } else { *flags & !ACTIVE };
        self.link(frame);
    }

    /// Returns the least recently used frame of a list.
    pub fn oldest(&self, active: bool) -> Option<u32> {
        Some(self.lists[usize::from(active)].1).filter(|frame| *frame != NONE)
    }

    /// Returns the length of a list.
    pub fn count(&self, active: bool) -> u32 {
        self.lists[usize::from(active)].2
    }
}
