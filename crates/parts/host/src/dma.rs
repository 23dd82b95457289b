//! The chipset's DMA: it walks a table of memory regions (PRD table) while it moves a command's data.
//!
//! An entry of the table (physical region descriptor: AHCI 1.3.1, 4.2.3.3; Bus Master IDE has the same in eight bytes)
//! says where the next region of the buffer lies. The DMA reads some entries at a time and must have the next before
//! it can go on.

use sim::Time;

use crate::slots::SLOTS;

/// A DMA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DmaConfig {
    /// Bytes of a memory region.
    pub region: u64,
    /// Entries of the table that are read at once.
    pub entries: u32,
    /// South Bridge: pieces of a write that are fetched ahead of the one on the wire; with none, the next is asked for
    /// when the last has been sent.
    pub read_ahead: u32,
    /// South Bridge: bytes of a read that wait here for their way to memory. When they are full the wire stands still.
    pub buffer: u64,
}

impl Default for DmaConfig {
    /// Given: writes are done strictly in order, piece by piece (Kim et al., IEICE Trans. E92-D, 2009, 3.3). Assumed:
    /// buffers are scattered over pages; one read of 64 bytes brings four entries; a buffer of 4 KiB.
    fn default() -> Self {
        DmaConfig { region: 4096, entries: 4, read_ahead: 0, buffer: 4096 }
    }
}

/// Bytes of an entry of the table (AHCI 1.3.1, 4.2.3.3).
pub const ENTRY: u64 = 16;

/// How far each command is in its table.
#[derive(Clone, Debug)]
pub struct Walk {
    /// Bytes that a read of the table is good for.
    reach: u64,
    moved: [u64; SLOTS as usize],
    looks: u64,
}

impl Walk {
    /// No command yet.
    ///
    /// # Panics
    /// If there are no entries or no bytes in a region.
    pub fn new(config: &DmaConfig) -> Walk {
        assert!(config.region > 0 && config.entries > 0, "a table of nothing: {config:?}");
        Walk { reach: config.region * u64::from(config.entries), moved: [0; SLOTS as usize], looks: 0 }
    }

    /// A new command in `slot`: its table is unread.
    #[inline]
    pub fn begin(&mut self, slot: u16) {
        self.moved[slot as usize] = 0;
    }

    /// The next `bytes` of the command are to be moved. True if the table must be read before.
    #[inline]
    pub fn step(&mut self, slot: u16, bytes: u64) -> bool {
        let moved = &mut self.moved[slot as usize];
        let before = moved.div_ceil(self.reach);
        *moved += bytes;
        let due = moved.div_ceil(self.reach) != before;
        self.looks += u64::from(due);
        due
    }

    /// Reads of the table so far.
    pub fn looks(&self) -> u64 {
        self.looks
    }
}

/// The DMA's one path for data: in or out, a piece at a time, for one transfer after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataPath {
    free: Time,
    busy: Time,
}

impl DataPath {
    /// When a transfer that is there at `at` can begin.
    #[inline]
    pub fn begin(&self, at: Time) -> Time {
        at.max(self.free)
    }

    /// It has held the path from `from` to `to`, for `busy` of which data moved.
    #[inline]
    pub fn end(&mut self, from: Time, to: Time, busy: Time) {
        debug_assert!(from >= self.free && to >= from && busy <= to - from, "{from} to {to}, {busy} of it busy");
        self.free = to;
        self.busy += busy;
    }

    /// Busy time until `now`.
    ///
    /// # Panics
    /// If that is more than has passed: the model is broken.
    pub fn busy(&self, now: Time) -> Time {
        let busy = self.busy.saturating_sub(self.free.saturating_sub(now));
        assert!(busy <= now, "busy for {busy} in {now}");
        busy
    }

    /// What is accepted for later than `now` does not happen.
    pub fn power_cut(&mut self, now: Time) {
        *self = DataPath { free: self.free.min(now), busy: self.busy(now) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_when_its_regions_are_used_up() {
        let mut walk = Walk::new(&DmaConfig { region: 4096, entries: 4, ..DmaConfig::default() });
        for piece in [512u64, 64] {
            walk.begin(3);
            let due: Vec<u64> = (0..65_536 / piece).filter(|_| walk.step(3, piece)).collect();
            assert_eq!(due, [0, 1, 2, 3].map(|n| n * 16_384 / piece));
        }
        assert_eq!(walk.looks(), 8);
        // Each command has its own place.
        walk.begin(4);
        assert!(!walk.step(3, 0) && walk.step(4, 64) && !walk.step(4, 64));
    }
}
