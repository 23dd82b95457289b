//! System calls: reading and writing files through the page cache, and fsync.

use sim::Time;

use super::frames::{CACHED, DIRTY, LOCKED, MARKED, REFERENCED};
use super::io::Purpose;
use super::{ABSENT, AreaKind, JOURNAL, Linux, ON_FILE, Operation};

impl Linux {
    pub(super) fn continue_call(&mut self, thread: u16, at: Time) -> Option<Time> {
        let Operation::Call { write, mut next, end, mut partial } = self.callers[usize::from(thread)].operation else {
            unreachable!("a call");
        };
        let mut at = at;
        while next < end {
            self.callers[usize::from(thread)].operation = Operation::Call { write, next, end, partial };
            let place = self.places[next as usize];
            if place == ON_FILE || place == ABSENT {
                at = if !write && place == ON_FILE {
                    self.read_ahead(thread, next, end, false, at)?
                } else if partial && place == ON_FILE {
                    self.read_in(thread, next, next, 1, u64::MAX, at)?
                } else {
                    let frame = self.allocate(next, CACHED, thread)?;
                    self.places[next as usize] = frame;
                    at + self.config.draw(self.config.page, &mut self.rng)
                };
                continue;
            }
            let frame = self.frames.get_mut(place);
            if frame.is(MARKED) && !write {
                frame.flags &= !MARKED;
                at = self.read_ahead(thread, next, end, true, at)?;
                continue;
            }
            if frame.is(LOCKED) {
                frame.waiters |= 1 << thread;
                return None;
            }
            // The first use sets the reference bit, the second activates the page.
            if frame.is(REFERENCED) {
                self.frames.move_to_head(place, true);
            }
            self.frames.get_mut(place).flags |= REFERENCED;
            if write {
                at += self.config.draw(self.config.write, &mut self.rng);
                self.dirty_page(thread, next as u32, place);
            }
            next += 1;
            partial = false;
            self.callers[usize::from(thread)].readahead.read(next);
        }
        self.callers[usize::from(thread)].operation = Operation::Call { write, next, end, partial };
        if write {
            self.write_behind(at);
            if self.too_dirty() {
                self.throttled |= 1 << thread;
                return None;
            }
        }
        Some(at)
    }

    fn read_ahead(&mut self, thread: u16, page: u64, end: u64, marked: bool, at: Time) -> Option<Time> {
        let caller = &mut self.callers[usize::from(thread)];
        let mut readahead = caller.readahead;
        let places = &self.places;
        let area =
            self.areas.iter().find(|area| (area.first..area.first + area.pages).contains(&page)).expect("its area");
        let beyond = area.first + area.pages;
        let cached = |page: u64| page < beyond && places[page as usize] != ON_FILE;
        let request = (end - page).min(u64::from(u16::MAX)) as u32;
        let window = readahead.on_demand(page, request, marked, caller.opened, cached);
        let pages = (window.start + u64::from(window.pages)).min(beyond).saturating_sub(window.start) as u32;
        if marked {
            // No thread waits for these pages, so read only as far as frames are free.
            self.callers[usize::from(thread)].readahead = readahead;
            return Some(self.read_without_waiting(window.start, pages, window.mark, at));
        }
        let at = self.read_in(thread, page, window.start, pages, window.mark, at)?;
        self.callers[usize::from(thread)].readahead = readahead;
        Some(at)
    }

    fn dirty_page(&mut self, thread: u16, page: u32, frame: u32) {
        let frame = self.frames.get_mut(frame);
        if !frame.is(DIRTY) {
            frame.flags |= DIRTY;
            self.dirty += 1;
            self.dirtied.push_back(page);
            self.callers[usize::from(thread)].dirtied.push(page);
        }
    }

    /// Continues an fsync or msync: phase 0 writes the modified pages, of the thread or of the mapped file, 1 the journal, and 2 flushes the drive's cache.
    pub(super) fn continue_sync(&mut self, thread: u16, at: Time) -> Option<Time> {
        let Operation::Sync { phase, .. } = self.callers[usize::from(thread)].operation else { unreachable!("a sync") };
        let waiter = Some(thread);
        let commands = match phase {
            0 => {
                let named = self.callers[usize::from(thread)].named;
                let frames = if self.area(named) == AreaKind::Mapped {
                    self.take_dirty_mapped(named)
                } else {
                    let pages = std::mem::take(&mut self.callers[usize::from(thread)].dirtied);
                    self.take_dirty(pages)
                };
                match self.write_frames(frames, waiter, at).0 {
                    0 => {
                        self.callers[usize::from(thread)].operation = Operation::Sync { phase: 1, left: 0 };
                        return self.continue_sync(thread, at);
                    }
                    commands => commands,
                }
            }
            1 => {
                let pages = self.config.journal_pages();
                let first = self.journal_first() + self.journal;
                self.journal = (self.journal + u64::from(pages)) % (JOURNAL - u64::from(pages));
                self.command(Purpose::Journal, first, pages, Vec::new(), waiter, at);
                1
            }
            2 => {
                self.command(Purpose::Flush, 0, 0, Vec::new(), waiter, at);
                1
            }
            _ => return Some(at),
        };
        self.callers[usize::from(thread)].operation = Operation::Sync { phase: phase + 1, left: commands };
        None
    }
}
