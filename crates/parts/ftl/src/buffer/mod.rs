//! The RAM that data passes through: the write cache and its way to flash, and copies of data read.

mod claims;
pub(crate) mod combine;
pub(crate) mod destage;
pub(crate) mod dirty;
mod held;
pub(crate) mod read_copies;
mod room;
pub(crate) mod slots;
pub(crate) mod write_out;

use crate::config::Config;
use crate::layout::Layout;
use claims::Claims;
use dirty::DirtySlots;
use read_copies::ReadCopies;
use slots::{List, Slots};

/// The RAM that data passes through, with the allowances that its slots count against.
pub(crate) struct Buffer {
    pub(crate) slots: Slots,
    pub(crate) dirty: DirtySlots,
    clean: List,
    /// Claims of reads in progress on slots of clean data.
    claims: Claims,
    /// Number of times that clean data was used, which orders the clean slots.
    uses: u64,
    /// Slots of host writes, including those reserved.
    write_used: u32,
    write_limit: u32,
    /// Part of `write_used` reserved for writes whose data has not arrived.
    reserved: u32,
    /// Slots of host writes in programs in progress.
    moving: u32,
    /// Reads in progress that fill in the missing sectors of partially written units.
    fills: u32,
    /// Slots of units of the layer itself.
    system_used: u32,
    /// Writes that complete when durable are waiting for data that has not arrived, so as to share its programs.
    combining: bool,
    /// Dirty data exceeded the high mark, and has not fallen to the low mark since.
    destaging: bool,
    read_copies: Option<Box<ReadCopies>>,
}

impl Buffer {
    /// Creates a buffer of `slots` free slots.
    pub(crate) fn new(config: &Config, layout: &Layout, slots: u32) -> Buffer {
        let shared = if config.buffers.shared { config.buffers.read } else { 0 };
        Buffer {
            slots: Slots::new(slots),
            dirty: DirtySlots::new(config.placement.map_or(0, |placement| placement.handles)),
            clean: List::new(),
            claims: Claims::default(),
            uses: 0,
            write_used: 0,
            write_limit: config.buffers.write + shared,
            reserved: 0,
            moving: 0,
            fills: 0,
            system_used: 0,
            combining: false,
            destaging: false,
            read_copies: ReadCopies::new(config, layout).map(Box::new),
        }
    }
}
