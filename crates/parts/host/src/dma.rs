//! The chipset's DMA, which walks a table of memory regions (PRD table) while it moves a command's data.
//!
//! An entry of the table (physical region descriptor: AHCI 1.3.1, 4.2.3.3; Bus Master IDE has an eight-byte form) gives
//! the location of the buffer's next region. The DMA reads several entries at a time and cannot continue without the
//! next.

use keys::{COUNT, Conflict, SIZE, assumed, expect, section};
use media::SECTOR;
use sim::Time;

/// Maximum number of slots: a register has 32 bits (AHCI 1.3.1, 1.1; UFSHCI 2.0, JESD223B, UTRLDBR).
pub const SLOTS: u32 = 32;

section! {
    /// The DMA engine of a chipset: in the South Bridge for SATA, in the DRAM controller for a DDR port. It walks the
    /// list of memory regions one sector or one burst at a time.
    #[derive(Eq)]
    DmaConfig {
        "host.ahci.region" region: u64;
        "host.dma.entries" entries: u32 = COUNT.within(1.0, 8.0),
            assumed("4", "a 64-byte read fetches four 16-byte entries"),
            "Entries of the list of memory regions (PRD table) that the DMA engine reads at once.",
            when "host.chipset" is "bridges";
        "host.dma.buffer" buffer: u64 = SIZE.within(512.0, 1048576.0),
            assumed("4KiB", "a few sectors, so that reads are posted: DMI is three times as fast as SATA"),
            "Read data that can wait in the South Bridge for DMI; while it is full, the SATA link stalls.",
            when "host.chipset" is "bridges";

        check sectors;
    }
}

impl DmaConfig {
    fn sectors(&self) -> Result<(), Conflict> {
        expect(self.buffer.is_multiple_of(SECTOR), &["host.dma.buffer"], "a multiple of 512B")
    }
}

impl Default for DmaConfig {
    /// The defaults of the keys where `link.type` is `ddr`.
    fn default() -> DmaConfig {
        crate::config::default_where("ddr")
    }
}

/// Bytes per entry of the table (AHCI 1.3.1, 4.2.3.3).
pub const ENTRY: u64 = 16;

/// Each command's position in its table.
#[derive(Clone, Debug)]
pub struct Walk {
    /// Bytes covered by one read of the table.
    reach: u64,
    moved: [u64; SLOTS as usize],
    looks: u64,
}

impl Walk {
    /// Creates a walk without commands.
    ///
    /// # Panics
    /// Panics if no entries are read or regions are empty.
    pub fn new(config: &DmaConfig) -> Walk {
        assert!(config.region > 0 && config.entries > 0, "a table of nothing: {config:?}");
        Walk { reach: config.region * u64::from(config.entries), moved: [0; SLOTS as usize], looks: 0 }
    }

    /// Starts a new command in `slot`, whose table is unread.
    #[inline]
    pub fn begin(&mut self, slot: u16) {
        self.moved[slot as usize] = 0;
    }

    /// Advances a command by `bytes`. Returns true if the table must be read first.
    #[inline]
    pub fn step(&mut self, slot: u16, bytes: u64) -> bool {
        let moved = &mut self.moved[slot as usize];
        let before = moved.div_ceil(self.reach);
        *moved += bytes;
        let due = moved.div_ceil(self.reach) != before;
        self.looks += u64::from(due);
        due
    }

    /// Returns the number of reads of the table.
    pub fn looks(&self) -> u64 {
        self.looks
    }
}

/// The DMA's only data path, used in one direction at a time, by one transfer after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataPath {
    free: Time,
    busy: Time,
}

impl DataPath {
    /// Returns the time at which a transfer that arrives at `at` can begin.
    #[inline]
    pub fn begin(&self, at: Time) -> Time {
        at.max(self.free)
    }

    /// Records that a transfer occupied the path from `from` to `to`, with data moving for `busy`.
    #[inline]
    pub fn end(&mut self, from: Time, to: Time, busy: Time) {
        debug_assert!(from >= self.free && to >= from && busy <= to - from, "{from} to {to}, {busy} of it busy");
        self.free = to;
        self.busy += busy;
    }

    /// Returns the busy time until `now`.
    ///
    /// # Panics
    /// Panics if it exceeds the time passed, which means that the model is broken.
    pub fn busy(&self, now: Time) -> Time {
        let busy = self.busy.saturating_sub(self.free.saturating_sub(now));
        assert!(busy <= now, "busy for {busy} of {now}");
        busy
    }

    /// Cancels work accepted for after `now`.
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
        // Each command has its own position.
        walk.begin(4);
        assert!(!walk.step(3, 0) && walk.step(4, 64) && !walk.step(4, 64));
    }
}
