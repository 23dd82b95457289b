//! Checkpoints of a map that the controller holds whole: once a number of its pages has changed, all of these are written
//! to flash at once, and host data waits meanwhile.
//!
//! A page counts as changed when host data that it maps is programmed; what collection moves is not counted. The pages
//! written hold nothing: a mount recovers the map from the spare areas, as it does without checkpoints. Their programs
//! take the time and the room that they take on a drive that reads its map from there.

use media::{Class, OpId, Status};

use crate::buffer::slots::NIL;
use crate::config::Config;
use crate::request::operation::{Kind, Operation};
use crate::space::parallel_unit::Room;
use crate::{Actions, Ftl};

/// The changed pages of the map, and the checkpoint that is being written.
pub(crate) struct Checkpoint {
    /// Number of changed pages at which a checkpoint begins; 0: none ever does.
    pages: u32,
    /// Mapping units per page of the map.
    span: u32,
    /// A bit per page.
    changed: Vec<u64>,
    count: u32,
    /// Pages that are not yet in a program.
    left: u32,
    /// Programs in progress.
    programs: u32,
}

impl Checkpoint {
    pub(super) fn new(config: &Config) -> Checkpoint {
        let (pages, span) = config.checkpoint.map_or((0, 1), |checkpoint| (checkpoint.pages, checkpoint.span));
        let words = if pages > 0 { config.user_units.div_ceil(span).div_ceil(64) } else { 0 };
        Checkpoint { pages, span, changed: vec![0; words as usize], count: 0, left: 0, programs: 0 }
    }

    /// Returns true if the map is ever written.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.pages > 0
    }

    /// Returns true while host data waits for a checkpoint.
    #[inline]
    pub(crate) fn is_in_progress(&self) -> bool {
        self.left + self.programs > 0
    }

    /// Returns true if pages of a checkpoint are not yet in a program.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.left > 0
    }

    /// Leaves out what is not yet in a program.
    pub(crate) fn cut_short(&mut self) {
        self.left = 0;
    }

    /// Records that the entry of `unit` changed.
    fn change(&mut self, unit: u32) {
        let page = unit / self.span;
        let (word, bit) = (&mut self.changed[page as usize / 64], 1 << (page % 64));
        self.count += u32::from(*word & bit == 0);
        *word |= bit;
        if self.count == self.pages {
            self.left += self.count;
            self.count = 0;
            self.changed.fill(0);
        }
    }
}

impl Ftl {
    /// Records that the entries of the host data in the first `taken` slots of the program `id` changed.
    pub(crate) fn change_map(&mut self, id: OpId, taken: u32) {
        for i in 0..taken {
            let unit = self.buffer.slots[self.operations.slot(id, i)].unit;
            if unit < self.config.user_units {
                self.map.checkpoint.change(unit);
            }
        }
    }

    /// Programs the next pages of the checkpoint in `room`.
    pub(crate) fn program_map_pages(&mut self, room: Room, out: &mut Actions) {
        let checkpoint = &mut self.map.checkpoint;
        let pages = checkpoint.left.min(room.units);
        checkpoint.left -= pages;
        checkpoint.programs += 1;
        let id = self.operations.start_bare(Kind::Checkpoint, room.pu);
        let sequence = self.begin_program(id, room, Class::Host);
        self.operations.pad(id, 0);
        self.operations[id].plain = false;
        self.end_issue(id, room, 0, (sequence, Class::Host), out);
        self.stats.programmed_padding -= u64::from(pages);
        self.stats.programmed_system += u64::from(pages);
    }

    /// Handles the end of the program `id` of a checkpoint. One that failed is not repeated.
    pub(crate) fn map_pages_done(&mut self, id: OpId, status: Status, out: &mut Actions) {
        debug_assert!(self.operations.slots(id).iter().all(|slot| *slot == NIL));
        let Operation { subject: pu, unit, sequence, mask, .. } = self.operations[id];
        let block = self.layout.block_of(unit);
        self.operations.free(id);
        self.map.checkpoint.programs -= 1;
        if !status.is_ok() {
            self.stats.failures += 1;
            self.space.host_room.rejoin_all();
            let program = (unit - block * self.layout.block_units) / self.layout.program_units;
            self.close_failed(block, program, mask as u16, out);
        }
        self.written(block);
        self.durability.sequence.retire(sequence);
        if !status.is_ok() {
            self.collect(pu, out);
        }
        self.dispatch(out);
    }
}

#[cfg(test)]
mod tests {
    use super::Checkpoint;

    #[test]
    fn each_changed_page_is_written_once() {
        let mut map = Checkpoint { pages: 3, span: 10, changed: vec![0; 2], count: 0, left: 0, programs: 0 };
        assert!(map.is_on());
        [5, 9, 0, 17].into_iter().for_each(|unit| map.change(unit));
        assert!(!map.is_in_progress(), "two pages changed");
        map.change(999);
        assert_eq!(map.left, 3);
        [5, 17].into_iter().for_each(|unit| map.change(unit));
        assert!(map.left == 3 && map.is_due(), "the same pages changed again");
        map.change(20);
        assert_eq!(map.left, 6);
        map.cut_short();
        assert!(!map.is_in_progress() && !map.is_due());
    }
}
