//! Where everything lies in the region.
//!
//! From byte 0: a header of 64 bytes, the special registers, the submission queues, the completion queues, and, from the
//! next page on, the data buffer: a driver maps it cacheable and what is before it not (paper, 5.3).
//!
//! What the two sides write stands on different lines of 64 bytes. A queue pair's registers are two lines: the host's
//! (submission queue tail, which is the doorbell; completion queue head) and the device's (status: completions posted).
//! Registers and indices count on from 0 without bound (modulo 2^32); slot and phase of an entry follow from them.

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

use crate::entry::EXTENTS_MAX;
use crate::orders::{Orders, Sound};
use crate::region::{Region, WORD};

/// Bytes of a sector: the unit of storage addresses and of the data buffer.
pub const SECTOR: usize = 512;

/// Words of a sector.
pub const SECTOR_WORDS: usize = SECTOR / WORD;

/// Words of a line of 64 bytes.
const LINE: usize = 8;

/// Words of a page of 4096 bytes.
const PAGE: usize = 512;

/// Entries of a queue at most: command ids have 16 bits, and the indices of a ring must be far from wrapping.
pub const ENTRIES_MAX: u32 = 1 << 15;

/// Queue pairs at most.
pub const QUEUE_PAIRS_MAX: u16 = 256;

/// Sectors of the data buffer at most: 8 GiB.
pub const DB_SECTORS_MAX: u32 = 1 << 24;

/// "NANDRAM" and the version of the layout: the header's first word.
const MAGIC: u64 = u64::from_le_bytes(*b"NANDRAM\x01");

/// The sizes of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Queue pairs, 1 to [`QUEUE_PAIRS_MAX`].
    pub queue_pairs: u16,
    /// Entries of each submission queue: a power of two to [`ENTRIES_MAX`]. Also the commands that the host has
    /// outstanding on a pair at most.
    pub sq_entries: u32,
    /// Entries of each completion queue: a power of two to [`ENTRIES_MAX`]. Also the commands that the device holds of
    /// a pair at most.
    pub cq_entries: u32,
    /// Extents an entry has room for, 1 (contiguous, as in the paper) to [`EXTENTS_MAX`].
    pub extents_max: u8,
    /// Sectors of the data buffer, 1 to [`DB_SECTORS_MAX`].
    pub db_sectors: u32,
}

impl Config {
    /// What is wrong with it, if anything.
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

/// Why there is no layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// A queue's entries.
    Entries {
        /// Which queue.
        queue: &'static str,
        /// Its entries.
        found: u32,
    },
    /// The number of queue pairs.
    QueuePairs(u16),
    /// The number of extents of an entry.
    Extents(u8),
    /// The sectors of the data buffer.
    DataBuffer(u32),
    /// The region has no header, or one of another version, or not yet.
    NoHeader,
    /// The region is smaller than its layout.
    TooSmall {
        /// Bytes of the region.
        found: usize,
        /// Bytes of the layout.
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
            LayoutError::Extents(found) => write!(f, "{found} extents an entry: expected 1 to {EXTENTS_MAX}"),
            LayoutError::DataBuffer(found) => {
                write!(f, "data buffer of {found} sectors: expected 1 to {DB_SECTORS_MAX}")
            }
            LayoutError::NoHeader => write!(f, "no shared-buffer header of version {}", MAGIC >> 56),
            LayoutError::TooSmall { found, needed } => {
                write!(f, "region of {found} bytes: its layout needs {needed}")
            }
        }
    }
}

impl std::error::Error for LayoutError {}

/// Where everything lies: word indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    config: Config,
    sq: usize,
    cq: usize,
    db: usize,
}

impl Layout {
    /// The layout of a region of those sizes.
    ///
    /// # Errors
    /// A size that is out of range.
    pub fn new(config: Config) -> Result<Layout, LayoutError> {
        config.check()?;
        let pairs = usize::from(config.queue_pairs);
        let sq = LINE + pairs * 2 * LINE;
        let entry = entry_words(config.extents_max);
        let cq = sq + pairs * (config.sq_entries as usize * entry).next_multiple_of(LINE);
        let end = cq + pairs * (config.cq_entries as usize).next_multiple_of(LINE);
        Ok(Layout { config, sq, cq, db: end.next_multiple_of(PAGE) })
    }

    /// The sizes.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Words of the whole region.
    pub const fn words(&self) -> usize {
        self.db + self.config.db_sectors as usize * SECTOR_WORDS
    }

    /// Bytes of the whole region.
    pub const fn bytes(&self) -> usize {
        self.words() * WORD
    }

    /// Words of a submission entry: 4 (32 bytes) for one or two extents, 8 (64 bytes) for more.
    pub const fn sq_entry_words(&self) -> usize {
        entry_words(self.config.extents_max)
    }

    /// The header's first word.
    pub const fn header(&self) -> usize {
        0
    }

    /// Queue pair `queue`'s doorbell: the submission queue's tail. Written by the host.
    pub const fn doorbell(&self, queue: u16) -> usize {
        LINE + queue as usize * 2 * LINE
    }

    /// Queue pair `queue`'s completion queue head. Written by the host.
    pub const fn cq_head(&self, queue: u16) -> usize {
        self.doorbell(queue) + 1
    }

    /// Queue pair `queue`'s status register: the completion queue's tail. Written by the device.
    pub const fn status(&self, queue: u16) -> usize {
        self.doorbell(queue) + LINE
    }

    /// First word of the submission entry with that index.
    pub const fn sq_entry(&self, queue: u16, index: u32) -> usize {
        let queue_words = (self.config.sq_entries as usize * self.sq_entry_words()).next_multiple_of(LINE);
        let slot = index & (self.config.sq_entries - 1);
        self.sq + queue as usize * queue_words + slot as usize * self.sq_entry_words()
    }

    /// The completion entry with that index.
    pub const fn cq_entry(&self, queue: u16, index: u32) -> usize {
        let queue_words = (self.config.cq_entries as usize).next_multiple_of(LINE);
        let slot = index & (self.config.cq_entries - 1);
        self.cq + queue as usize * queue_words + slot as usize
    }

    /// First word of a sector of the data buffer.
    pub const fn db_sector(&self, index: u32) -> usize {
        self.db + index as usize * SECTOR_WORDS
    }

    /// Makes a region ready: header written, registers and queues cleared. The device does it, before anything else.
    /// A region that had been in use must not be in use any more.
    ///
    /// # Panics
    /// If the region is smaller than [`Layout::words`].
    pub fn format<R: Region + ?Sized>(&self, region: &R) {
        self.format_ordered::<Sound, R>(region);
    }

    /// The same, with other orderings: for the model checker.
    pub fn format_ordered<O: Orders, R: Region + ?Sized>(&self, region: &R) {
        assert!(region.words() >= self.words(), "region of {} words, layout of {}", region.words(), self.words());
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

    /// The layout that a region's header tells. The host does it, before anything else.
    ///
    /// # Errors
    /// No header (the device may not have been there yet), sizes out of range, or a region smaller than they need.
    pub fn read<R: Region + ?Sized>(region: &R) -> Result<Layout, LayoutError> {
        Layout::read_ordered::<Sound, R>(region)
    }

    /// The same, with other orderings: for the model checker.
    ///
    /// # Errors
    /// As [`Layout::read`].
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
