//! Memory of the controller for data: the read and write caches.

use keys::{BOOL, Conflict, FRACTION, Kind, SIZE, TIME, assumed, expect, given, section, words};
use sim::Time;

use super::map_cache::{HostMemory, units};
words! {
    /// Memory of the controller.
    Memory {
        /// DRAM of the controller.
        Dram = "dram",
        /// On-chip SRAM.
        Sram = "sram",
    }
}

words! {
    /// Location of the read cache.
    ReadPlace {
        /// DRAM of the controller.
        Dram = "dram",
        /// On-chip SRAM.
        Sram = "sram",
        /// Flash blocks in SLC mode, to which read data is copied.
        Slc = "slc",
    }
}

words! {
    /// When data read from flash takes its space in the read cache.
    Allocation {
        /// When it arrives from flash. The cache keeps the units that requests read in full.
        Fill = "fill",
        /// When its read begins. The cache reads and keeps whole units.
        Miss = "miss",
    }
}

words! {
    /// Whether the read and write caches share memory.
    CacheSharing {
        /// Separate memory.
        Separate = "separate",
        /// One pool, as large as both together.
        Shared = "shared",
    }
}

words! {
    /// Point at which a write is acknowledged.
    WriteMode {
        /// Its data is in the controller.
        Back = "write-back",
        /// Its data is in flash.
        Through = "write-through",
    }
}

section! {
    /// Memory of the controller for data.
    Caches {
        "device.dram" dram: u64 = SIZE,
            assumed("1GiB", "about a thousandth of a 1 TB drive, for its map and data"),
            "DRAM of the controller; 0B: none.";
        "device.cache_sharing" sharing: CacheSharing = Kind::words(CacheSharing::WORDS),
            assumed("shared", "controllers use their memory as a single pool of buffers"),
            "Whether the read and write caches share memory.";
        "device.power_loss_protection" protected: bool = BOOL,
            assumed("false", "client drives have no capacitors for it"),
            "Written data in the controller survives a power cut, so flush and FUA need not wait for flash.";

        /// Memory for read data.
        table read: ReadCache;
        /// Memory for data on its way to flash.
        table write: WriteCache;
        /// Use of the memory that the host lends.
        table host_memory: HostMemory;
    }
}

section! {
    /// Cache of read data.
    #[derive(Copy)]
    ReadCache {
        "device.read_cache.size" size: u64 = SIZE,
            assumed("0B", "few drives are known to cache read data; hosts have their page cache"),
            "Size of the read cache; 0B: none.";
        "device.read_cache.place" place: ReadPlace = Kind::words(ReadPlace::WORDS),
            assumed("dram", "where space is available"),
            "Location of the read cache; slc: data is copied to flash in SLC mode, by separate programs, and read from \
             there.";
        "device.read_cache.allocation" allocation: Allocation = Kind::words(Allocation::WORDS),
            assumed("fill", "it evicts least; which one a product uses is rarely published"),
            "When data that missed takes its space, which evicts the oldest data: fill, when it arrives from flash; miss, \
             when its read begins. With miss, parts of a mapping unit are read and cached as a whole unit.",
            when "device.read_cache.place" is "dram" | "sram";
    }
}

section! {
    /// Cache of data on its way to flash. It holds at least the largest command.
    #[derive(Copy)]
    WriteCache {
        "device.write_cache.size" size: u64 = SIZE,
            assumed("16MiB", "several programs for each die of a drive"),
            "Size of the write cache; at least the largest command. 0B: none, so that writes always end in flash, \
             through a transfer buffer.";
        "device.write_cache.place" place: Memory = Kind::words(Memory::WORDS),
            assumed("dram", "where space is available"),
            "Location of the write cache.";
        "device.write_cache.mode" mode: WriteMode = Kind::words(WriteMode::WORDS),
            given("write-back", "NVMe and ATA drives enable their volatile write cache by default"),
            "When a write is acknowledged.";
        "device.write_cache.high" high: f64 = FRACTION,
            assumed("0", "data goes to flash as soon as it fills a program"),
            "Dirty fraction of the cache at which writing to flash starts.";
        "device.write_cache.low" low: f64 = FRACTION,
            assumed("0", "data goes to flash as soon as it fills a program"),
            "Dirty fraction of the cache at which writing to flash stops; at most high.";
        "device.write_cache.resume" resume: f64 = FRACTION,
            assumed("0", "writes continue as soon as there is free space"),
            "Free fraction of the cache at which writes that found it full continue; 0: as soon as there is space for \
             them.";
        "device.write_cache.gather" gather: f64 = FRACTION,
            assumed("0", "programs continue as soon as there is data for them"),
            "Dirty fraction of the cache at which writing to flash continues once writes that waited for \
             device.write_cache.resume came in; 0: at high.";
        "device.write_cache.holds_reads" holds_reads: bool = BOOL,
            assumed("false", "reads and writes are separate queues within most controllers"),
            "Reads wait behind writes that wait for space in the cache: commands are handled in order there.";
        "device.write_cache.idle" idle: Option<Time> = TIME.or("never"),
            assumed("1ms", "longer than the gaps within a burst, short compared with the time to a power cut"),
            "Time without a write after which the entire cache is written to flash.";

        check marks;
    }
}

impl WriteCache {
    fn marks(&self) -> Result<(), Conflict> {
        let (low, high) = ("device.write_cache.low", "device.write_cache.high");
        expect(self.low <= self.high, &[low, high], format!("at most {high} ({})", self.high))
    }
}

impl Caches {
    /// Returns whether the read and write caches share one pool of memory.
    pub fn are_shared(&self) -> bool {
        self.sharing == CacheSharing::Shared && self.read.size > 0
    }

    /// Returns the mapping units of the read cache in flash, if it is there.
    pub fn read_copies(&self, unit: u64) -> Option<u32> {
        (self.read.place == ReadPlace::Slc && self.read.size > 0).then(|| units(self.read.size, unit))
    }
}
