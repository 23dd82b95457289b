//! Configuration specific to the host of a device with a shared buffer.

use keys::{COUNT, Conflict, Kind, SIZE, TIME, assumed, expect, given, section, words};
use media::SECTOR;
use sim::Time;

use super::dma::DmaConfig;

words! {
    /// Component that moves data between memory and a shared buffer.
    Transfer {
        /// A memory-to-memory DMA engine of the host, with cache invalidations before and after.
        Dma = "dma",
        /// The processor, with one access to the uncached buffer per word.
        Copy = "copy",
    }
}

section! {
    /// A driver that manages the shared buffer, and its means of moving data. With more than one extent per command, its
    /// data may be scattered over the data buffer.
    #[derive(Eq)]
    SharedBufferConfig {
        "host.mover.transfer" transfer: Transfer = Kind::words(Transfer::WORDS),
            given("dma", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 5.4"),
            "Component that moves data between a request's memory and the buffer.",
            when "link.type" is "shared-buffer";
        "host.mover.invalidation" invalidation_512kib: Time = TIME,
            given("290us", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 5.4"),
            "CPU time to invalidate 512 KiB of caches, before and after each DMA transfer.",
            when "host.mover.transfer" is "dma";
        "host.mover.word" word: u32 = SIZE.within(1.0, 32.0),
            given("1B", "Linux 3.4, arch/arm/kernel/io.c: memory mapped by ioremap is copied byte by byte"),
            "Bytes per access to the buffer when the CPU copies.",
            when "host.mover.transfer" is "copy";
        "host.mover.uncached" uncached: Time = TIME,
            assumed("120ns", "from core to memory controller and back: about the cost of a cache miss on such a \
                processor, without the memory itself"),
            "CPU time of an uncached access to the buffer, without the bus.",
            when "link.type" is "shared-buffer";
        "host.mover.extents" extents: u8 = COUNT.within(1.0, 6.0),
            given("1", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 5.4: contiguous"),
            "Maximum number of extents in the data buffer for one command's data.",
            when "link.type" is "shared-buffer";
        "host.mover.shrink" shrink: Option<u64> = SIZE.within(512.0, 1073741824.0).or("never"),
            assumed("never", "smaller commands cost more than waiting for free space"),
            "Minimum size of a smaller command that is issued if the buffer has no space for a whole one.",
            when "link.type" is "shared-buffer";
        "device.emulated.boot" boot: Option<u64>;

        /// The DMA engine.
        table dma: DmaConfig;

        check sectors;
    }
}

impl Default for SharedBufferConfig {
    /// The defaults of the keys where `link.type` is `shared-buffer`.
    fn default() -> SharedBufferConfig {
        crate::config::default_where("shared-buffer")
    }
}

impl SharedBufferConfig {
    /// Returns the bytes at the start of the storage that can be read in boot mode, before any command.
    pub fn boot_bytes(&self) -> u64 {
        self.boot.unwrap_or(0)
    }

    fn sectors(&self) -> Result<(), Conflict> {
        let whole = self.shrink.is_none_or(|bytes| bytes.is_multiple_of(SECTOR));
        expect(whole, &["host.mover.shrink"], "a multiple of 512B")
    }
}
