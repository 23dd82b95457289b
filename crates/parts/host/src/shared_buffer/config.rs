//! Configuration specific to the host of a device with a shared buffer.

use sim::Time;

use super::dma::DmaConfig;

/// A driver that manages the shared buffer, and its means of moving data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedBufferConfig {
    /// Transfer of data between a request's memory and the data buffer.
    pub transfer: Transfer,
    /// Round trip of a processor's uncached access to the memory controller, without the bus.
    pub uncached: Time,
    /// Time to invalidate 512 KiB of the caches by address, before and after each DMA transfer.
    pub invalidation_512kib: Time,
    /// Maximum number of extents per command, 1 to 6. With more than one, its data may be scattered over the data
    /// buffer.
    pub extents: u8,
    /// Minimum sectors of a command worth issuing when there is no room for a whole one; `None` if the driver waits for
    /// room.
    pub shrink: Option<u32>,
    /// Bytes at the start of the storage that can be read in boot mode, before any command; zero if there is no boot
    /// mode.
    pub boot: u64,
}

impl Default for SharedBufferConfig {
    /// Assumed: see the table of keys.
    fn default() -> Self {
        SharedBufferConfig {
            transfer: Transfer::Dma(DmaConfig::default()),
            uncached: Time::from_ns(100),
            invalidation_512kib: Time::from_us(290),
            extents: 1,
            shrink: None,
            boot: 0,
        }
    }
}

/// Means of moving data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// A DMA engine, with cache invalidations before and after.
    Dma(DmaConfig),
    /// The processor, with one access to the uncached buffer per word.
    Copy {
        /// Bytes per access.
        word: u32,
    },
}
