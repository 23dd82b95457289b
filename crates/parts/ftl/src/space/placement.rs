//! Flexible Data Placement: reclaim unit handles, each with its own open blocks, and their statistics.
//!
//! A host write names a placement identifier. The drive has one reclaim group, so that the identifier is the number of
//! a reclaim unit handle. A reclaim unit is a block of each parallel unit. Host data of a handle goes to blocks of that
//! handle alone. Collection moves data of *initially isolated* handles to blocks that all handles share, and data of
//! *persistently isolated* handles to blocks of the same handle.
//!
//! The stamp in the spare area of each program holds the handle of its block below the sequence number, so that a mount
//! finds the handle of every block. Sequence numbers increase from program to program, so stamps do too.
//!
//! If a parallel unit cannot open a block for the copies of a persistently isolated handle without using up the reserve
//! of collection, those copies go to the shared block. [`HandleStats::mixed`] counts them.
//!
//! Follows Flexible Data Placement of the NVM Express Base Specification 2.1 (8.1.10).

use crate::config::{Config, Isolation};
use crate::layout::Layout;
use crate::space::stream::Stream;

/// Maximum number of reclaim unit handles.
pub const HANDLES_MAX: u32 = 16;

/// Handle of blocks that hold data of several handles.
pub(crate) const SHARED: u8 = 31;

/// Bits of a stamp that hold the handle.
const BITS: u32 = 5;

/// Returns the bits of a stamp below the sequence number.
pub(crate) fn stamp_bits(config: &Config) -> u32 {
    config.placement.map_or(0, |_| BITS)
}

/// Returns the number of write points per parallel unit in addition to those of a drive without placement.
pub(crate) fn write_points(config: &Config) -> u32 {
    let Some(placement) = config.placement else { return 0 };
    // The first handle uses the write point for host data.
    let host = placement.handles - 1;
    let copies = match placement.isolation {
        Isolation::Persistent if config.collection.separate => placement.handles,
        _ => 0,
    };
    host + copies
}

/// Counters of a reclaim unit handle since the mount or the last reset. Units are mapping units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandleStats {
    /// Bytes that the host wrote with this handle.
    pub host_bytes: u64,
    /// Units of host data programmed in blocks of this handle.
    pub programmed_host: u64,
    /// Units that collection moved out of blocks of this handle.
    pub programmed_copy: u64,
    /// Part of `programmed_copy` that went to shared blocks.
    pub mixed: u64,
    /// Units of padding in blocks of this handle.
    pub programmed_padding: u64,
    /// Blocks opened for host data of this handle.
    pub opened: u64,
}

impl HandleStats {
    /// Returns the units of media writes caused by this handle per unit of host data programmed; `None` before the
    /// first. Data that left its handle's blocks counts once: what later happens to shared blocks belongs to no handle.
    pub fn write_amplification(&self) -> Option<f64> {
        let programmed = self.programmed_host + self.programmed_copy + self.programmed_padding;
        (self.programmed_host > 0).then(|| programmed as f64 / self.programmed_host as f64)
    }

    /// Returns the differences between these counters and an earlier reading.
    pub fn since(&self, earlier: &HandleStats) -> HandleStats {
        HandleStats {
            host_bytes: self.host_bytes - earlier.host_bytes,
            programmed_host: self.programmed_host - earlier.programmed_host,
            programmed_copy: self.programmed_copy - earlier.programmed_copy,
            mixed: self.mixed - earlier.mixed,
            programmed_padding: self.programmed_padding - earlier.programmed_padding,
            opened: self.opened - earlier.opened,
        }
    }
}

/// Reclaim unit handles of a drive.
pub(crate) struct Placement {
    handles: u8,
    /// Collection keeps the data of each handle apart.
    persistent: bool,
    /// Copies and host data of a handle have separate blocks.
    separate: bool,
    /// Handle of each block that is not free; empty without placement.
    of_block: Vec<u8>,
    /// Units copied out of each block since its last erase; empty unless handles are initially isolated.
    copied_out: Vec<u32>,
    /// Counters of each handle; empty without placement.
    pub(crate) stats: Vec<HandleStats>,
}

impl Placement {
    /// Creates the handles of `config`, if it has any.
    pub(crate) fn new(config: &Config, layout: &Layout) -> Placement {
        let handles = config.placement.map_or(0, |placement| placement.handles as usize);
        let initial = config.placement.is_some_and(|placement| placement.isolation == Isolation::Initial);
        Placement {
            copied_out: if initial { vec![0; layout.all_blocks() as usize] } else { Vec::new() },
            handles: handles as u8,
            persistent: config.placement.is_some_and(|placement| placement.isolation == Isolation::Persistent),
            separate: config.collection.separate,
            of_block: if handles > 0 { vec![SHARED; layout.all_blocks() as usize] } else { Vec::new() },
            stats: vec![HandleStats::default(); handles],
        }
    }

    /// Returns true if the drive has handles.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.handles > 0
    }

    /// Returns true if collection keeps the data of each handle apart.
    #[inline]
    pub(crate) fn is_persistent(&self) -> bool {
        self.persistent
    }

    /// Returns true if `handle` is one that the host can name.
    pub(crate) fn is_handle(&self, handle: u8) -> bool {
        handle < self.handles
    }

    /// Returns the handle of `block`, which is not free.
    pub(crate) fn handle_of(&self, block: u32) -> u8 {
        self.of_block[block as usize]
    }

    /// Returns the handle with which host data found in `block` is written again: that of the block, or the first.
    pub(crate) fn handle_of_data(&self, block: u32) -> u8 {
        self.of_block.get(block as usize).copied().filter(|handle| *handle != SHARED).unwrap_or(0)
    }

    /// Sets the handle of `block`, which a mount found.
    pub(crate) fn set_handle(&mut self, block: u32, handle: u8) {
        self.of_block[block as usize] = handle;
    }

    /// Returns the stream of host data of `handle`.
    pub(crate) fn host_stream(&self, handle: u8) -> Stream {
        if handle == 0 { Stream::Host } else { Stream::Placed(handle - 1) }
    }

    /// Returns the stream of copies out of blocks of `handle`; `None` if they go to shared blocks.
    pub(crate) fn copy_stream(&self, handle: u8) -> Option<Stream> {
        if !self.persistent || handle == SHARED {
            return None;
        }
        Some(if self.separate { Stream::Placed(self.handles - 1 + handle) } else { self.host_stream(handle) })
    }

    /// Records that `block` was opened for `stream`.
    pub(crate) fn opened(&mut self, block: u32, stream: Stream) {
        let handle = match stream {
            Stream::Host => 0,
            Stream::Copy | Stream::Slc => SHARED,
            Stream::Placed(n) if n < self.handles - 1 => n + 1,
            Stream::Placed(n) => n - (self.handles - 1),
        };
        self.of_block[block as usize] = handle;
        if handle != SHARED && stream == self.host_stream(handle) {
            self.stats[handle as usize].opened += 1;
        }
    }

    /// Returns the streams for which a block of `handle` that a mount found partly written may have been open.
    pub(crate) fn streams_of(&self, handle: u8) -> Vec<Stream> {
        if handle == SHARED {
            return vec![Stream::Copy];
        }
        let host = self.host_stream(handle);
        self.copy_stream(handle).into_iter().chain([host]).collect()
    }

    /// Returns the stamp of a program of `block` with `sequence`.
    #[inline]
    pub(crate) fn stamp(&self, block: u32, sequence: u64) -> u64 {
        if self.handles == 0 { sequence } else { sequence << BITS | u64::from(self.of_block[block as usize]) }
    }

    /// Returns the sequence number in a stamp.
    #[inline]
    pub(crate) fn sequence(&self, stamp: u64) -> u64 {
        if self.handles == 0 { stamp } else { stamp >> BITS }
    }

    /// Returns the handle in a stamp, or that of shared blocks if the stamp is from a drive with more handles.
    pub(crate) fn handle(&self, stamp: u64) -> u8 {
        let handle = (stamp & ((1 << BITS) - 1)) as u8;
        if handle < self.handles { handle } else { SHARED }
    }

    /// Counts a program of host data in the blocks of `handle`.
    pub(crate) fn programmed(&mut self, handle: u8, host: u64, padding: u32) {
        let stats = &mut self.stats[handle as usize];
        stats.programmed_host += host;
        stats.programmed_padding += u64::from(padding);
    }

    /// Counts a program of `copies` units out of blocks of `handle`; `mixed` if it is in a shared block.
    pub(crate) fn moved(&mut self, handle: u8, copies: u32, padding: u32, mixed: bool) {
        let Some(stats) = self.stats.get_mut(handle as usize) else { return };
        stats.programmed_copy += u64::from(copies);
        if mixed {
            stats.mixed += u64::from(copies);
        } else {
            stats.programmed_padding += u64::from(padding);
        }
    }

    /// Counts a unit that was copied out of `block`.
    pub(crate) fn copied_out(&mut self, block: u32) {
        if let Some(units) = self.copied_out.get_mut(block as usize) {
            *units += 1;
        }
    }

    /// Returns the handle of `block` and how many units were copied out, or `None` without a handle or copies. Resets
    /// the number.
    pub(crate) fn take_copied_out(&mut self, block: u32) -> Option<(u8, u32)> {
        let units = std::mem::take(self.copied_out.get_mut(block as usize)?);
        let handle = self.of_block[block as usize];
        (units > 0 && self.is_handle(handle)).then_some((handle, units))
    }

    /// Resets the counters.
    pub(crate) fn reset_stats(&mut self) {
        self.stats.fill(HandleStats::default());
    }
}
