//! Page frames on two lists, active and inactive, each in order of use.

/// What a frame is in.
pub const MAPPED: u16 = 1;
/// Its page is changed.
pub const DIRTY: u16 = 2;
/// Its page was used since it was last looked at.
pub const REFERENCED: u16 = 4;
/// It is on the active list.
pub const ACTIVE: u16 = 8;
/// Its page is being read.
pub const LOCKED: u16 = 16;
/// Its page is being written.
pub const WRITEBACK: u16 = 32;
/// Reading its page reads further ahead.
pub const MARKED: u16 = 64;
/// It is to be freed when its page is written.
pub const RECLAIM: u16 = 128;
/// It is of a file that is read and written by calls: it can be used without being mapped.
pub const CACHED: u16 = 256;

/// No frame, no page, no slot.
pub const NONE: u32 = u32::MAX;

/// A page frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The virtual page in it.
    pub page: u32,
    /// Where it is in the swap area too, if it is.
    pub slot: u32,
    /// Threads that wait for its page, a bit each.
    pub waiters: u64,
    /// See above.
    pub flags: u16,
    prev: u32,
    next: u32,
}

impl Frame {
    /// All of `flags` are set.
    pub fn is(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}

/// The frames.
#[derive(Debug)]
pub struct Frames {
    frames: Vec<Frame>,
    free: Vec<u32>,
    /// Of inactive and active: the last used, the one used longest ago, how many.
    lists: [(u32, u32, u32); 2],
}

impl Frames {
    /// So many, all free.
    pub fn new(count: u32) -> Frames {
        let frame = Frame { page: NONE, slot: NONE, waiters: 0, flags: 0, prev: NONE, next: NONE };
        Frames { frames: vec![frame; count as usize], free: (0..count).rev().collect(), lists: [(NONE, NONE, 0); 2] }
    }

    /// Free ones.
    pub fn free(&self) -> u32 {
        self.free.len() as u32
    }

    /// A frame.
    pub fn get(&self, frame: u32) -> &Frame {
        &self.frames[frame as usize]
    }

    /// A frame.
    pub fn get_mut(&mut self, frame: u32) -> &mut Frame {
        &mut self.frames[frame as usize]
    }

    /// Takes a free one for `page`: the last used of the inactive list, or of the active one.
    pub fn take(&mut self, page: u32, flags: u16) -> Option<u32> {
        let frame = self.free.pop()?;
        self.frames[frame as usize] = Frame { page, slot: NONE, waiters: 0, flags, prev: NONE, next: NONE };
        self.link(frame);
        Some(frame)
    }

    /// Frees one.
    pub fn release(&mut self, frame: u32) {
        debug_assert_eq!(self.get(frame).waiters, 0, "threads wait for it");
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

    /// Puts one at the head of the active list, or of the inactive one.
    pub fn put(&mut self, frame: u32, active: bool) {
        self.unlink(frame);
        let flags = &mut self.get_mut(frame).flags;
        *flags = if active { *flags | ACTIVE } else { *flags & !ACTIVE };
        self.link(frame);
    }

    /// The one of the list that was used longest ago.
    pub fn oldest(&self, active: bool) -> Option<u32> {
        Some(self.lists[usize::from(active)].1).filter(|frame| *frame != NONE)
    }

    /// How many are on the list.
    pub fn count(&self, active: bool) -> u32 {
        self.lists[usize::from(active)].2
    }
}
