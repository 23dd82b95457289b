//! The order in which collection reads the programs of a victim, one read per program or, of programs of many units,
//! several.
//!
//! Each die reads a batch of pages in sequence before it programs again. If all dies of a superblock did so at once,
//! those that share a channel would wait for each other, and programs would pile up meanwhile. So dies take turns: of
//! each channel, one reads its batch while the others program. Within a batch pages are read row by row, so that
//! neighbors on neighboring dies stay neighbors. A batch is at most a quarter of a block (assumed): its copies take space
//! before the victim's block is free, and small blocks have little to spare.

use crate::config::{Axis, Config, Group};
use crate::layout::Layout;

/// The order of reads from a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanOrder {
    /// Pages per die and batch.
    batch: u32,
    /// Reads of a batch that are of the same row and made at the same time.
    width: u32,
    /// Reads per row.
    per_row: u32,
}

impl ScanOrder {
    /// Creates the order of `config`. Dies take turns if they read more than a page at a time and consecutive positions
    /// are on different channels; else all positions of a row are read together.
    pub(crate) fn new(config: &Config, layout: &Layout) -> ScanOrder {
        let (per_row, channels) = (layout.per_row * layout.program_reads, config.geometry.channels);
        let rows = layout.data_units / (per_row * layout.read_units);
        let batch = config.collection.batch.min(rows / 4).max(1);
        let by_channel = config.group == Group::Drive && config.stripe[0] == Axis::Channel;
        let width = if batch > 1 && by_channel { channels * layout.program_reads } else { per_row };
        ScanOrder { batch, width, per_row }
    }

    /// Returns whether pages are read one by one.
    #[inline]
    pub(crate) fn is_page_by_page(self) -> bool {
        self.batch == 1
    }

    /// Returns the number of reads that are made together.
    #[inline]
    pub(crate) fn batch_reads(self) -> u32 {
        self.batch * self.width
    }

    /// Returns the end of the batch that begins or continues at `cursor`, in a scan of `end` reads.
    #[inline]
    pub(crate) fn batch_end(self, cursor: u32, end: u32) -> u32 {
        if self.is_page_by_page() { end } else { end.min((cursor / self.batch_reads() + 1) * self.batch_reads()) }
    }

    /// Returns the number in its block of the read that is made after `cursor` others, of `end`.
    #[inline]
    pub(crate) fn read(self, cursor: u32, end: u32) -> u32 {
        if self.width == self.per_row { cursor } else { self.in_turns(cursor, end) }
    }

    fn in_turns(self, cursor: u32, end: u32) -> u32 {
        let of_all = self.batch * self.per_row;
        let (first, within) = (cursor / of_all * of_all, cursor % of_all);
        let rows = ((end - first) / self.per_row).min(self.batch);
        if within >= rows * self.per_row {
            // The rest of a row.
            return cursor;
        }
        let (turn, within) = (within / (rows * self.width), within % (rows * self.width));
        first + within / self.width * self.per_row + turn * self.width + within % self.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two of four positions at a time, batches of three pages.
    const ORDER: ScanOrder = ScanOrder { batch: 3, width: 2, per_row: 4 };

    #[test]
    fn one_die_of_each_channel_reads_its_batch() {
        let order: Vec<u32> = (0..12).map(|cursor| ORDER.read(cursor, 24)).collect();
        assert_eq!(order, [0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11]);
    }

    #[test]
    fn every_program_is_read_once_whatever_the_length() {
        for end in 0..40 {
            let mut order: Vec<u32> = (0..end).map(|cursor| ORDER.read(cursor, end)).collect();
            order.sort_unstable();
            assert_eq!(order, (0..end).collect::<Vec<u32>>(), "{end} programs");
        }
    }
}
