//! The layout of the region.
//!
//! The region begins with a header of 64 bytes, followed by the special registers, the submission queues and the
//! completion queues. The data buffer starts at the next page, because a driver maps it cacheable and everything before
//! it uncached (paper, 5.3).
//!
//! The two sides never write to the same line of 64 bytes. A queue pair's registers occupy two lines: the host's
//! (submission queue tail, which is the doorbell, and completion queue head) and the device's (status: completions
//! posted). Registers and indices count from 0 without bound (modulo 2^32); they determine an entry's slot and phase.

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

use crate::entry::EXTENTS_MAX;
use crate::orders::{Orders, Sound};
use crate::region::{Region, WORD};

/// Bytes per sector, the unit of storage addresses and of the data buffer.
pub const SECTOR: usize = 512;

/// Words per sector.
pub const SECTOR_WORDS: usize = SECTOR / WORD;

/// Words per line of 64 bytes.
const LINE: usize = 8;

/// Words per page of 4096 bytes.
const PAGE: usize = 512;

/// Maximum number of entries per queue: command IDs have 16 bits, and ring indices must be far from wrapping.
pub const ENTRIES_MAX: u32 = 1 << 15;

/// Maximum number of queue pairs.
pub const QUEUE_PAIRS_MAX: u16 = 256;

/// Maximum size of the data buffer in sectors: 8 GiB.
pub const DB_SECTORS_MAX: u32 = 1 << 24;

/// The first word of the header: "NANDRAM" and the version of the layout.
const MAGIC: u64 = u64::from_le_bytes(*b"NANDRAM\x01");

/// The sizes of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Number of queue pairs, 1 to [`QUEUE_PAIRS_MAX`].
    pub queue_pairs: u16,
    /// Entries per submission queue: a power of two up to [`ENTRIES_MAX`]. Also the maximum number of outstanding
    /// commands per pair.
    pub sq_entries: u32,
    /// Entries per completion queue: a power of two up to [`ENTRIES_MAX`]. Also the maximum number of commands per pair
    /// that the device has in progress.
    pub cq_entries: u32,
    /// Maximum number of extents per entry, 1 (contiguous, as in the paper) to [`EXTENTS_MAX`].
    pub extents_max: u8,
    /// Size of the data buffer in sectors, 1 to [`DB_SECTORS_MAX`].
    pub db_sectors: u32,
}

impl Config {
    /// Checks that all fields are in range.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn check(&self) -> Result<(), LayoutError> {
        let queue = |name, entries: u32| {
            if entries.is_power_of_two() && entries <= ENTRIES_MAX {
                Ok(())
            } else {
                Err(LayoutError::Entries { queue: name, found: entries })
            }
        };
        queue("submission", self.sq_entries)?;
        queue("completion", self.cq_entries)?;
        if !(1..=QUEUE_PAIRS_MAX).contains(&self.queue_pairs) {
            return Err(LayoutError::QueuePairs(self.queue_pairs));
        }
        if !(1..=EXTENTS_MAX).contains(&usize::from(self.extents_max)) {
            return Err(LayoutError::Extents(self.extents_max));
        }
        if !(1..=DB_SECTORS_MAX).contains(&self.db_sectors) {
            return Err(LayoutError::DataBuffer(self.db_sectors));
        }
        Ok(())
    }
}

/// The reason why a layout is invalid or cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// The number of entries of a queue is invalid.
    Entries {
        /// The name of the queue.
        queue: &'static str,
        /// Its number of entries.
        found: u32,
    },
    /// The number of queue pairs is invalid.
    QueuePairs(u16),
    /// The number of extents per entry is invalid.
    Extents(u8),
    /// The size of the data buffer is invalid.
    DataBuffer(u32),
    /// The region has no header yet, or one of another version.
    NoHeader,
    /// The region is smaller than its layout requires.
    TooSmall {
        /// Size of the region in bytes.
        found: usize,
        /// Size of the layout in bytes.
        needed: usize,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::Entries { queue, found } => {
                write!(f, "{queue} queue of {found} entries: expected a power of two from 1 to {ENTRIES_MAX}")
            }
            LayoutError::QueuePairs(found) => {
                write!(f, "{found} queue pairs: expected 1 to {QUEUE_PAIRS_MAX}")
            }
            LayoutError::Extents(found) => write!(f, "{found} extents per entry: expected 1 to {EXTENTS_MAX}"),
            LayoutError::DataBuffer(found) => {
                write!(f, "data buffer of {found} sectors: expected 1 to {DB_SECTORS_MAX}")
            }
            LayoutError::NoHeader => write!(f, "no shared-buffer header of version {}", MAGIC >> 56),
            LayoutError::TooSmall { found, needed } => {
                write!(f, "region of {found} bytes: the layout requires {needed}")
            }
        }
    }
}

impl std::error::Error for LayoutError {}

/// The layout of a region as word indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    config: Config,
    sq: usize,
    cq: usize,
    db: usize,
}

impl Layout {
    /// Computes the layout of a region with the given sizes.
    ///
    /// # Errors
    /// If a size is out of range.
    pub fn new(config: Config) -> Result<Layout, LayoutError> {
        config.check()?;
        let pairs = usize::from(config.queue_pairs);
        let sq = LINE + pairs * 2 * LINE;
        let entry = entry_words(config.extents_max);
        let cq = sq + pairs * (config.sq_entries as usize * entry).next_multiple_of(LINE);
        let end = cq + pairs * (config.cq_entries as usize).next_multiple_of(LINE);
        Ok(Layout { config, sq, cq, db: end.next_multiple_of(PAGE) })
    }

    /// Returns the sizes.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the size of the region in words.
    pub const fn words(&self) -> usize {
        self.db + self.config.db_sectors as usize * SECTOR_WORDS
    }

    /// Returns the size of the region in bytes.
    pub const fn bytes(&self) -> usize {
        self.words() * WORD
    }

    /// Returns the words per submission entry: 4 (32 bytes) for one or two extents, 8 (64 bytes) for more.
    pub const fn sq_entry_words(&self) -> usize {
        entry_words(self.config.extents_max)
    }

    /// Returns the first word of the header.
    pub const fn header(&self) -> usize {
        0
    }

    /// Returns the doorbell of a queue pair, which is the tail of the submission queue. Written by the host.
    pub const fn doorbell(&self, queue: u16) -> usize {
        assert!(queue < self.config.queue_pairs, "a queue pair beyond the layout");
        LINE + queue as usize * 2 * LINE
    }

    /// Returns the completion queue head of a queue pair. Written by the host.
    pub const fn cq_head(&self, queue: u16) -> usize {
        self.doorbell(queue) + 1
    }

    /// Returns the status register of a queue pair, which is the tail of the completion queue. Written by the device.
    pub const fn status(&self, queue: u16) -> usize {
        self.doorbell(queue) + LINE
    }

    /// Returns the first word of a submission entry.
    pub const fn sq_entry(&self, queue: u16, index: u32) -> usize {
        assert!(queue < self.config.queue_pairs, "a queue pair beyond the layout");
        let queue_words = (self.config.sq_entries as usize * self.sq_entry_words()).next_multiple_of(LINE);
        let slot = index & (self.config.sq_entries - 1);
        self.sq + queue as usize * queue_words + slot as usize * self.sq_entry_words()
    }

    /// Returns the word of a completion entry.
    pub const fn cq_entry(&self, queue: u16, index: u32) -> usize {
        assert!(queue < self.config.queue_pairs, "a queue pair beyond the layout");
        let queue_words = (self.config.cq_entries as usize).next_multiple_of(LINE);
        let slot = index & (self.config.cq_entries - 1);
        self.cq + queue as usize * queue_words + slot as usize
    }

    /// Returns the first word of a sector of the data buffer, or the end of the last one.
    pub const fn db_sector(&self, index: u32) -> usize {
        assert!(index <= self.config.db_sectors, "a sector beyond the data buffer");
        self.db + index as usize * SECTOR_WORDS
    }

    /// Initializes a region: writes the header, and clears the registers and queues. The device must call this before
    /// anything else, and no side may still use the region.
    ///
    /// # Panics
    /// If the region is smaller than [`Layout::words`].
    pub fn format<R: Region + ?Sized>(&self, region: &R) {
        self.format_ordered::<Sound, R>(region);
    }

    /// Like [`format`](Layout::format) with other memory orderings, for the model checker.
    pub fn format_ordered<O: Orders, R: Region + ?Sized>(&self, region: &R) {
        assert!(region.words() >= self.words(), "the region has {} words, the layout {}", region.words(), self.words());
        for word in LINE..self.db {
            region.store(word, 0, Relaxed);
        }
        let config = &self.config;
        let queues = u64::from(config.sq_entries) | u64::from(config.cq_entries) << 32;
        region.store(1, u64::from(config.queue_pairs) | u64::from(config.extents_max) << 32, Relaxed);
        region.store(2, queues, Relaxed);
        region.store(3, u64::from(config.db_sectors), Relaxed);
        region.store(self.header(), MAGIC, O::HEADER_PUBLISH);
    }

    /// Reads the layout from a region's header. The host must call this before anything else.
    ///
    /// # Errors
    /// If there is no header (the device may not have started yet), a size is out of range, or the region is too small
    /// for the sizes.
    pub fn read<R: Region + ?Sized>(region: &R) -> Result<Layout, LayoutError> {
        Layout::read_ordered::<Sound, R>(region)
    }

    /// Like [`read`](Layout::read) with other memory orderings, for the model checker.
    ///
    /// # Errors
    /// Same as [`Layout::read`].
    pub fn read_ordered<O: Orders, R: Region + ?Sized>(region: &R) -> Result<Layout, LayoutError> {
        if region.words() < LINE || region.load(0, O::HEADER_CHECK) != MAGIC {
            return Err(LayoutError::NoHeader);
        }
        let (pairs, queues, db) = (region.load(1, Relaxed), region.load(2, Relaxed), region.load(3, Relaxed));
        let config = Config {
            queue_pairs: u16::try_from(pairs as u32).unwrap_or(u16::MAX),
            sq_entries: queues as u32,
            cq_entries: (queues >> 32) as u32,
            extents_max: u8::try_from(pairs >> 32).unwrap_or(u8::MAX),
            db_sectors: u32::try_from(db).unwrap_or(u32::MAX),
        };
        let layout = Layout::new(config)?;
        if region.words() < layout.words() {
            return Err(LayoutError::TooSmall { found: region.words() * WORD, needed: layout.bytes() });
        }
        Ok(layout)
    }
}

const fn entry_words(extents_max: u8) -> usize {
    (2 + extents_max as usize).next_power_of_two()
}
