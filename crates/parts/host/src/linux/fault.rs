//! Page faults.

use sim::Time;

use super::frames::{CACHED, DIRTY, LOCKED, MAPPED, REFERENCED};
use super::readahead::LONGEST;
use super::{ABSENT, AreaKind, KernelEvent, Linux, ON_FILE, Operation, SWAPPED};

impl Linux {
    pub(super) fn continue_fault(&mut self, thread: u16, at: Time) -> Option<Time> {
        let Operation::Fault { page, store, since, slept } = self.callers[usize::from(thread)].operation else {
            unreachable!("a fault");
        };
        let mut at = at;
        let mut place = self.places[page as usize];
        if place == ABSENT {
            let frame = self.allocate(page, MAPPED | REFERENCED | DIRTY, thread)?;
            self.places[page as usize] = frame;
            at = at
                + self.config.draw(self.config.page, &mut self.rng)
                + self.config.draw(self.config.map, &mut self.rng);
            self.stats.minor_faults += 1;
            return Some(at);
        }
        if place == ON_FILE {
            at = self.read_mapped(thread, page, at)?;
            place = self.places[page as usize];
        } else if place >= SWAPPED {
            // The thread looks at its page once it has submitted the whole cluster.
            let at = self.swap_in(thread, page, place & !SWAPPED, at)?;
            self.callers[usize::from(thread)].operation = Operation::Fault { page, store, since, slept: true };
            self.schedule(at, KernelEvent::Continue(thread));
            return None;
        } else if !slept && self.area(page) == AreaKind::Mapped {
            // The page was read around or ahead, which counts as a hit.
            self.mapped_misses = self.mapped_misses.saturating_sub(1);
        }
        let frame = self.frames.get_mut(place);
        if frame.is(LOCKED) {
            frame.waiters |= 1 << thread;
            self.callers[usize::from(thread)].operation = Operation::Fault { page, store, since, slept: true };
            return None;
        }
        if !frame.is(CACHED) {
            frame.flags |= MAPPED;
        }
        frame.flags |= REFERENCED | if store { DIRTY } else { 0 };
        at += self.config.draw(self.config.map, &mut self.rng);
        if slept {
            self.stats.major_faults += 1;
            self.stats.access.record(at - since);
            if let Some(time) = self.callers[usize::from(thread)].hardware {
                self.stats.hardware.record(time);
            }
        } else {
            self.stats.minor_faults += 1;
        }
        Some(at)
    }

    /// Reads a page of a mapped file, together with its neighborhood unless misses far outnumber hits. Returns when the
    /// thread has submitted the reads, or `None` if it waits for a frame.
    fn read_mapped(&mut self, thread: u16, page: u64, at: Time) -> Option<Time> {
        let longest = u64::from(LONGEST);
        let around = self.area(page) == AreaKind::Mapped && {
            // Linux limits the counter too; beyond ten times the bound it makes no difference.
            self.mapped_misses = (self.mapped_misses + 1).min(10 * self.config.mapped_misses.max(1));
            self.mapped_misses <= self.config.mapped_misses
        };
        if !around {
            return self.read_in(thread, page, page, 1, u64::MAX, at);
        }
        let area =
            self.areas.iter().find(|area| (area.first..area.first + area.pages).contains(&page)).expect("its area");
        let start = page.saturating_sub(longest / 2).max(area.first);
        let end = (start + longest).min(area.first + area.pages);
        self.read_in(thread, page, start, (end - start) as u32, u64::MAX, at)
    }

    /// Reads a page from the swap area, together with the other pages in its cluster of slots. Returns when the thread has
    /// submitted the reads, or `None` if it waits for a frame.
    fn swap_in(&mut self, thread: u16, page: u64, slot: u32, at: Time) -> Option<Time> {
        let wanted = self.allocate(page, LOCKED, thread)?;
        let cluster = self.config.swap_cluster;
        let first = slot / cluster * cluster;
        let (mut frames, mut found) = (Vec::new(), at);
        for near in first..first + cluster {
            let frame = if near == slot {
                wanted
            } else {
                let Some(other) = self.swap.page(near) else { continue };
                if self.places[other as usize] != SWAPPED | near {
                    continue;
                }
                let Some(frame) = self.try_allocate(u64::from(other), LOCKED) else { continue };
                frame
            };
            let page = self.frames.get(frame).page;
            self.places[page as usize] = frame;
            self.frames.get_mut(frame).slot = near;
            found += self.config.draw(self.config.page, &mut self.rng);
            frames.push((self.swap_first() + u64::from(near), frame));
        }
        self.stats.pages_swapped_in += frames.len() as u64;
        Some(self.read_slots(&frames, found))
    }
}
