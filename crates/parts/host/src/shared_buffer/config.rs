//! What only the host of a device with a shared buffer has.

use sim::Time;

use super::dma::DmaConfig;

/// A driver that keeps the shared buffer, and what it moves data with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedBufferConfig {
    /// How data goes between a request's memory and the data buffer.
    pub transfer: Transfer,
    /// Time of an uncached access of a processor to the memory controller and back, the bus not counted.
    pub uncached: Time,
    /// Invalidation of 512 KiB of the caches by address, as it is done before and after each transfer by DMA.
    pub invalidation_512kib: Time,
    /// Extents of a command at most, 1 to 6: with more than one its data may be scattered over the data buffer.
    pub extents: u8,
    /// Smallest command that is worth issuing when there is no room for a whole one, in sectors; `None`: the driver
    /// waits for room.
    pub shrink: Option<u32>,
    /// Bytes from the start of the storage that can be read in boot mode, before any command; zero: it has none.
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

/// How data is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// By a DMA engine, between invalidations of the caches.
    Dma(DmaConfig),
    /// By the processor, an access to the uncached buffer for each so many bytes.
    Copy {
        /// Bytes of an access.
        word: u32,
    },
}
