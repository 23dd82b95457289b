//! Allocation and reclaim of page frames.

use sim::Time;

use super::frames::{ACTIVE, CACHED, DIRTY, LOCKED, MAPPED, NONE, RECLAIM, REFERENCED, WRITEBACK};
use super::{AreaKind, Linux, SWAPPED};

/// Dirty file pages per 1,024 frames beyond which background writing starts. Given: 10 %
/// (vm.dirty_background_ratio), rounded down.
const BACKGROUND_PER_1024: u64 = 102;
/// Dirty file pages per 1,024 frames beyond which writers wait. Given: 20 % (vm.dirty_ratio),
/// rounded down.
const DIRTY_PER_1024: u64 = 204;

impl Linux {
    /// Returns the initial flags of a page of a file.
    pub(super) fn file_flags(&self, page: u64) -> u16 {
        if self.area(page) == AreaKind::File { CACHED } else { 0 }
    }

    /// Allocates a frame for a page that `thread` needs. Returns `None` if the thread has to wait for one.
    pub(super) fn allocate(&mut self, page: u64, flags: u16, thread: u16) -> Option<u32> {
        self.balance();
        let frame = self.frames.take(page as u32, flags);
        if frame.is_none() {
            // Frames that can be neither taken nor reclaimed are being read or written; their completion wakes the
            // thread.
            assert!(self.ios.len() > self.free_ios.len(), "out of memory: nothing can be reclaimed");
            self.starved |= 1 << thread;
        }
        frame
    }

    /// Allocates a frame for a page that no thread waits for, if enough frames are free.
    pub(super) fn try_allocate(&mut self, page: u64, flags: u16) -> Option<u32> {
        self.balance();
        let (low, _) = self.frames.watermarks();
        (self.frames.free() > low / 2).then(|| self.frames.take(page as u32, flags)).flatten()
    }

    pub(super) fn wake_starved(&mut self, now: Time) {
        let mask = std::mem::take(&mut self.starved);
        self.wake(now, mask);
    }

    /// Reclaims pages if the number of free frames is below the low watermark, up to the high watermark. One core evicts
    /// page after page, whose frames become free immediately if they are clean, and otherwise when they have been written.
    fn balance(&mut self) {
        let (low, high) = self.frames.watermarks();
        if self.frames.free() >= low || self.frames.free() + self.reclaiming >= high {
            return;
        }
        let (mut write, mut at) = (Vec::new(), self.now.max(self.reclaimer));
        let mut tries = 2 * self.frames.total();
        while self.frames.free() + self.reclaiming < high && tries > 0 {
            tries -= 1;
            if self.frames.count(true) > self.frames.count(false)
                && let Some(frame) = self.frames.oldest(true)
            {
                self.clear_reference(frame);
                self.frames.move_to_head(frame, false);
            }
            let Some(frame) = self.frames.oldest(false) else { break };
            let flags = self.frames.get(frame).flags;
            if flags & (LOCKED | WRITEBACK) != 0 {
                self.frames.move_to_head(frame, false);
            } else if flags & (REFERENCED | MAPPED) == REFERENCED | MAPPED {
                self.clear_reference(frame);
                self.frames.move_to_head(frame, true);
            } else {
                write.extend(self.evict(frame));
                at += self.config.draw(self.config.page, &mut self.rng);
            }
        }
        // mm/vmscan.c plugs the queue meanwhile: adjacent pages become one command.
        (_, self.reclaimer) = self.write_frames(write, None, at);
    }

    /// Clears the reference bit, and invalidates the translation so that the next use is observed.
    fn clear_reference(&mut self, frame: u32) {
        let frame = self.frames.get_mut(frame);
        frame.flags &= !REFERENCED;
        self.effects.forgotten.push(u64::from(frame.page));
    }

    /// Evicts a page: frees its frame, or returns the page of the drive to which it must be written.
    fn evict(&mut self, number: u32) -> Option<(u64, u32)> {
        let frame = self.frames.get_mut(number);
        debug_assert!(!frame.is(ACTIVE), "only inactive frames are evicted");
        frame.flags &= !(MAPPED | REFERENCED);
        let (page, dirty, cached, old) = (frame.page, frame.is(DIRTY), frame.is(CACHED), frame.slot);
        self.effects.forgotten.push(u64::from(page));
        if !dirty {
            self.drop_clean(number);
            return None;
        }
        let frame = self.frames.get_mut(number);
        frame.flags = (frame.flags & !DIRTY) | WRITEBACK | RECLAIM;
        self.reclaiming += 1;
        self.frames.move_to_head(number, false);
        if cached {
            self.dirty -= 1;
            return Some((u64::from(page), number));
        }
        if self.area(u64::from(page)) == AreaKind::Mapped {
            return Some((u64::from(page), number));
        }
        if old != NONE {
            self.swap.release(old);
        }
        let slot = self.swap.take(page);
        debug_assert!(slot < SWAPPED);
        self.frames.get_mut(number).slot = slot;
        self.stats.pages_swapped_out += 1;
        Some((self.swap_first() + u64::from(slot), number))
    }

    // Dirty pages of files.

    /// Returns those of `pages` that are dirty, with their frames, and marks them as being written.
    pub(super) fn take_dirty(&mut self, pages: impl IntoIterator<Item = u32>) -> Vec<(u64, u32)> {
        let mut frames = Vec::new();
        for page in pages {
            let place = self.places[page as usize];
            if place < SWAPPED && self.frames.get(place).is(DIRTY | CACHED) && !self.frames.get(place).is(WRITEBACK) {
                let frame = self.frames.get_mut(place);
                frame.flags = (frame.flags & !DIRTY) | WRITEBACK;
                self.dirty -= 1;
                frames.push((u64::from(page), place));
            }
        }
        frames
    }

    /// Returns the modified pages of the mapped file that contains `page`, with their frames, and marks them as being
    /// written. Their translations are invalidated so that the next store is observed.
    pub(super) fn take_dirty_mapped(&mut self, page: u64) -> Vec<(u64, u32)> {
        let area = *self.area_of(page);
        let mut frames = Vec::new();
        for page in area.first..area.first + area.pages {
            let place = self.places[page as usize];
            if place >= SWAPPED {
                continue;
            }
            let frame = self.frames.get_mut(place);
            if frame.is(DIRTY | MAPPED) && frame.flags & (WRITEBACK | LOCKED) == 0 {
                frame.flags = (frame.flags & !DIRTY) | WRITEBACK;
                self.effects.forgotten.push(page);
                frames.push((page, place));
            }
        }
        frames
    }

    pub(super) fn too_dirty(&self) -> bool {
        u64::from(self.dirty) * 1024 > u64::from(self.frames.total()) * DIRTY_PER_1024
    }

    /// Writes the oldest dirty pages if their number exceeds the first bound.
    pub(super) fn write_behind(&mut self, now: Time) {
        let bound = (u64::from(self.frames.total()) * BACKGROUND_PER_1024 / 1024) as u32;
        if self.dirty <= bound {
            return;
        }
        let mut frames = Vec::new();
        let mut remaining = self.dirtied.len();
        while self.dirty > bound / 2
            && remaining > 0
            && let Some(page) = self.dirtied.pop_front()
        {
            remaining -= 1;
            let found = self.take_dirty([page]);
            if found.is_empty() {
                let place = self.places[page as usize];
                // The page was modified again while being written.
                if place < SWAPPED && self.frames.get(place).is(DIRTY | CACHED) {
                    self.dirtied.push_back(page);
                }
            }
            frames.extend(found);
        }
        self.write_frames(frames, None, now);
    }
}
