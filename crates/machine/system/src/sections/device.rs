//! `[device]`: the storage controller.

use sim::Time;

use keys::{BOOL, COUNT, FRACTION, Kind, SIZE, Shape, TIME, assumed, given, section, words};

use ::device::OneNandConfig;

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
    /// Whether the read and write caches share memory.
    CacheSharing {
        /// Separate memory.
        Separate = "separate",
        /// One pool, as large as both together.
        Shared = "shared",
    }
}

words! {
    /// Command set of the namespace.
    Namespace {
        /// Logical blocks that can be written in any order.
        Conventional = "conventional",
        /// Zones (NVMe Zoned Namespace Command Set).
        Zoned = "zoned",
    }
}

words! {
    /// Use of a Host Memory Buffer.
    HmbUse {
        /// A part of the map cache.
        Map = "map",
        /// A part of the read cache.
        ReadCache = "read-cache",
        /// A part of the write cache.
        WriteBuffer = "write-buffer",
    }
}

words! {
    /// Eviction policy of the map cache.
    Eviction {
        /// The least recently used unit.
        Lru = "lru",
        /// The unit fetched first.
        Fifo = "fifo",
        /// The unit fetched first that was not used since the last pass over it.
        Clock = "clock",
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
    /// The storage controller behind its front end.
    Device {
        "device.dram" dram: u64 = SIZE,
            assumed("1GiB", "about a thousandth of a 1 TB drive, for its map and data"),
            "DRAM of the controller; 0B: none.";
        "device.cache_sharing" cache_sharing: CacheSharing = Kind::words(CacheSharing::WORDS),
            assumed("shared", "controllers use their memory as a single pool of buffers"),
            "Whether the read and write caches share memory.";
        "device.power_loss_protection" power_loss_protection: bool = BOOL,
            assumed("false", "client drives have no capacitors for it"),
            "Written data in the controller survives a power cut, so flush and FUA need not wait for flash.";
        "device.namespace" namespace: Namespace = Kind::words(Namespace::WORDS),
            assumed("conventional", "most drives have no other"),
            "Command set of the namespace. Zoned: it consists of zones (device.zones), which are written in order and \
             reset as a whole.",
            when "link.type" is "pcie";

        /// Use of the memory that the host lends to the controller (NVMe Feature 0Dh).
        table hmb: Hmb;
        /// The buffers of a OneNAND.
        table onenand: OneNandConfig;
        /// Memory for read data.
        table read_cache: ReadCache;
        /// Memory for data on its way to flash.
        table write_cache: WriteCache;
        /// Zones of the namespace.
        table zones: Zones;
    }
}

section! {
    /// Zones of the namespace (NVMe Zoned Namespace Command Set): ranges that are written in order, and reset as a whole. The
    /// drive maps them to whole blocks, and collects no garbage.
    Zones {
        "device.zones.size" size: u64 = SIZE.least(4096.0),
            assumed("2GiB", "a ZN540, the drive most measured"),
            "Bytes from the start of a zone to that of the next, a multiple of ftl.unit.",
            when "device.namespace" is "zoned";
        "device.zones.capacity" capacity: Option<u64> = SIZE.least(4096.0).or("size"),
            assumed("size", "drivers prefer zones without a gap"),
            "Writable bytes of a zone, a multiple of ftl.unit.",
            when "device.namespace" is "zoned";
        "device.zones.count" count: Option<u32> = COUNT.within(1.0, 16777216.0).or("auto"),
            assumed("auto", "as many as the flash holds, without the blocks that ftl.over_provisioning leaves"),
            "Number of zones.",
            when "device.namespace" is "zoned";
        "device.zones.conventional" conventional: u64 = SIZE,
            assumed("0B", "drives that have one need it for file systems on zones alone"),
            "Bytes of a conventional namespace on blocks of its own, the second one of a guest's drive.",
            when "device.namespace" is "zoned";
        "device.zones.open" open: Option<u32> = COUNT.within(1.0, 16777216.0).or("unlimited"),
            assumed("unlimited", "as active"),
            "Maximum number of open zones.",
            when "device.namespace" is "zoned";
        "device.zones.active" active: Option<u32> = COUNT.within(1.0, 16777216.0).or("unlimited"),
            assumed("14", "a ZN540, the drive most measured"),
            "Maximum number of active zones: open, or closed with data. Each may hold the rest of a program in the write \
             cache.",
            when "device.namespace" is "zoned";
        "device.zones.dies" dies: Option<u32> = COUNT.within(1.0, 65535.0).or("all"),
            assumed("all", "large zones are spread over all dies, for the speed of one"),
            "Number of dies over which a zone is spread.",
            when "device.namespace" is "zoned";
        "device.zones.finish_depth" finish_depth: Option<u32> = COUNT.within(1.0, 65535.0).or("dies"),
            assumed("dies", "all dies of the zone are busy"),
            "Maximum number of programs in progress that fill a zone that is being finished.",
            when "device.namespace" is "zoned";
        "device.zones.open_time" open_time: Time = TIME,
            assumed("5us", "a change of a state in memory"),
            "Controller time to open or close a zone.",
            when "device.namespace" is "zoned";
        "device.zones.finish_time" finish_time: Time = TIME,
            assumed("5us", "a change of a state in memory"),
            "Controller time to finish a zone, without what its filler takes.",
            when "device.namespace" is "zoned";
        "device.zones.reset_time" reset_time: Time = TIME,
            assumed("100us", "a change of tables for some hundred blocks"),
            "Controller time to reset a zone; its blocks are erased after that.",
            when "device.namespace" is "zoned";
        "device.zones.reset_written" reset_written: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Additional time to reset a zone that is written to its capacity, less in proportion for others.",
            when "device.namespace" is "zoned";
        "device.zones.reset_active" reset_active: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Additional time to reset a zone that is not full and has data in flash.",
            when "device.namespace" is "zoned";
        "device.zones.yields" yields: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Delay of zone management by each read, write or append that arrives meanwhile.",
            when "device.namespace" is "zoned";
    }
}

section! {
    /// Use of the memory that the host lends to the controller: the Host Memory Buffer (NVMe Feature 0Dh).
    Hmb {
        "device.hmb.use" uses: Vec<HmbUse> = Kind::new(Shape::Words(HmbUse::WORDS)),
            assumed("map", "Kim and Kim, PLOS ONE 15(3), 2020: the main use in three drives"),
            "Uses of the buffer: part of the map cache, of the read cache, of the write cache, or several of them.",
            when "link.type" is "pcie";
        "device.hmb.read_cache" read_cache: Option<f64> = FRACTION.or("equal"),
            assumed("equal", "all uses have equal shares"),
            "Fraction for the read cache, if that is one of several uses.",
            when "link.type" is "pcie";
        "device.hmb.write_buffer" write_buffer: Option<f64> = FRACTION.or("equal"),
            assumed("equal", "all uses have equal shares"),
            "Fraction for the write cache, if that is one of several uses. The map has the rest.",
            when "link.type" is "pcie";
        "device.hmb.unit" unit: Option<u64> = SIZE.least(512.0).or("auto"),
            assumed("auto", "a page of the map, of ftl.unit, is read from flash at once"),
            "Granularity of map cache replacement, there and in the controller: ftl.unit times a power of two.",
            when "link.type" is "pcie";
        "device.hmb.eviction" eviction: Eviction = Kind::words(Eviction::WORDS),
            assumed("lru", "common in map caches (Gupta et al., DFTL, 2009)"),
            "Eviction policy of the map cache, there and in the controller.",
            when "link.type" is "pcie";
        "device.hmb.check" check: u64 = SIZE.within(0.0, 64.0),
            assumed("0B", "the link checks its transfers, and the host its memory"),
            "Check code in bytes that the controller stores with each 64 bytes of the buffer.",
            when "link.type" is "pcie";
    }
}

section! {
    /// Cache of read data.
    ReadCache {
        "device.read_cache.size" size: u64 = SIZE,
            assumed("0B", "few drives are known to cache read data; hosts have their page cache"),
            "Size of the read cache; 0B: none.";
        "device.read_cache.place" place: ReadPlace = Kind::words(ReadPlace::WORDS),
            assumed("dram", "where space is available"),
            "Location of the read cache; slc: data is copied to flash in SLC mode, by separate programs, and read from \
             there.";
    }
}

section! {
    /// Cache of data on its way to flash. It holds at least the largest command.
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
    }
}
