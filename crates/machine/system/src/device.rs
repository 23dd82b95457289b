//! `[device]`: the storage controller.

use sim::Time;

use super::key::{
    BOOL, COUNT, ENERGY, FRACTION, FREQUENCY, Fallback, Kind, POWER, RATE, SIZE, Shape, TIME, assumed, by_assumed,
    by_given, given, section, words,
};

use super::onenand::OneNand;

words! {
    /// How the controller chooses the next submission queue (NVMe Base Specification, Command Arbitration).
    Arbitration {
        /// Each in turn.
        RoundRobin = "round-robin",
        /// Urgent ones first, then by weight.
        WeightedRoundRobin = "weighted-round-robin",
    }
}

words! {
    /// Memory of the controller.
    Memory {
        /// Its DRAM.
        Dram = "dram",
        /// SRAM on its chip.
        Sram = "sram",
    }
}

words! {
    /// Where what was read is kept.
    ReadPlace {
        /// The controller's DRAM.
        Dram = "dram",
        /// SRAM on its chip.
        Sram = "sram",
        /// Blocks of the flash that hold one bit a cell: what was read is copied to them.
        Slc = "slc",
    }
}

words! {
    /// Whether read and written data share memory.
    CacheSharing {
        /// Each has its own.
        Separate = "separate",
        /// One pool as large as both together.
        Shared = "shared",
    }
}

words! {
    /// How a command's data gets from flash to the interface, and the other way.
    Buffering {
        /// Piece by piece, as it comes; commands overlap.
        Streamed = "streamed",
        /// All of it through the only buffer: flash and interface take turns, and so do commands.
        Single = "single",
    }
}

words! {
    /// What a Host Memory Buffer is used for.
    HmbUse {
        /// A part of the cache of the map.
        Map = "map",
        /// Data that was read.
        ReadCache = "read-cache",
        /// Data on its way to flash.
        WriteBuffer = "write-buffer",
    }
}

impl super::key::FromValue for Vec<HmbUse> {
    fn from_value(value: &super::value::Value) -> Option<Vec<HmbUse>> {
        let super::value::Value::Words(words) = value else { return None };
        words.iter().map(|word| HmbUse::from_value(&super::value::Value::Word(word))).collect()
    }
}

words! {
    /// Which unit of the map's cache makes way.
    Eviction {
        /// The least recently used.
        Lru = "lru",
        /// The one brought in first.
        Fifo = "fifo",
        /// The one brought in first that was not used since it was last passed over.
        Clock = "clock",
    }
}

words! {
    /// When a write is acknowledged.
    WriteMode {
        /// When its data is in the controller.
        Back = "write-back",
        /// When its data is in flash.
        Through = "write-through",
    }
}

const FIRMWARE_CYCLES: &str = "some thousand instructions a command without caches' misses, from scratchpad memory";
const FIRMWARE: &str = "some hundred instructions a command on processors of about 1 GHz";

section! {
    /// The storage controller.
    Device {
        "device.arbitration" arbitration: Arbitration = Kind::words(Arbitration::WORDS),
            given("round-robin", "NVMe Base Specification: the one that every controller has"),
            "How the next submission queue is chosen.",
            when "link.type" is "pcie";
        "device.arbitration_burst" arbitration_burst: Option<u32> = COUNT.within(1.0, 64.0).or("unlimited"),
            assumed("8", "drives recommend 1 to 8 (Identify Controller, RAB)"),
            "Commands taken from a queue before the next has its turn: a power of two (NVMe Feature 01h).",
            when "link.type" is "pcie";
        "device.fetch_burst" fetch_burst: u32 = COUNT.within(1.0, 1024.0),
            assumed("8", "512 bytes of entries: one PCIe read of the usual size"),
            "Submission queue entries fetched by one read of host memory.",
            when "link.type" is "pcie";
        "device.max_commands" max_commands: u32 = COUNT.within(1.0, 65535.0),
            Fallback::By("link.type", &[
                by_assumed("pcie", "512", "more than hosts commonly keep outstanding, less than a queue can hold"),
                by_given("sata", "32", "Serial ATA native command queuing: 32 tags"),
                by_given("ufs", "32", "UFS 2.0 (JESD220B): one queue, and a host's list of 32 transfer requests"),
                by_assumed("ddr", "32", "what a SATA drive has"),
                by_assumed("shared-buffer", "32", "as other storage of phones"),
            ]),
            "Commands that the controller works on at once.";
        "device.buffering" buffering: Buffering = Kind::words(Buffering::WORDS),
            assumed("streamed", "drives send a page while the next is read"),
            "Streamed: data leaves as it comes, and commands overlap. Single: one buffer, which a command has from its \
             start until its data has left (read) or is written; flash and interface take turns.",
            when "link.type" is "sata" | "ddr";
        "device.dram" dram: u64 = SIZE,
            assumed("1GiB", "about a thousandth of a 1 TB drive, for its map, and data"),
            "DRAM of the controller; 0B: it has none.";
        "device.dram_bandwidth" dram_bandwidth: Option<u64> = RATE.or("unlimited"),
            assumed("unlimited", "data of reads and writes passes through SRAM, or the DRAM is fast enough"),
            "Bytes a second of the controller's DRAM, through which a command's data passes twice.";
        "device.cache_sharing" cache_sharing: CacheSharing = Kind::words(CacheSharing::WORDS),
            assumed("shared", "one pool of buffers is what controllers' memory is used as"),
            "Whether the read and the write cache share their memory.";
        "device.power_loss_protection" power_loss_protection: bool = BOOL,
            assumed("false", "client drives have no capacitors for it"),
            "Written data in the controller survives a power cut, so that flush and FUA need not wait for flash.";
        "device.bypass_flash" bypass_flash: bool = BOOL,
            assumed("false", "a device stores what it is given"),
            "The firmware answers without translation layer and flash, to measure the protocol alone.",
            when "link.type" is "ufs" | "shared-buffer";

        /// Interrupt coalescing (NVMe Feature 08h).
        table coalescing: Coalescing;
        /// Memory that the host lends to the controller (NVMe Feature 0Dh).
        table hmb: Hmb;
        /// Transfers of the UFS transport protocol.
        table utp: Utp;
        /// The controller behind a shared buffer.
        table emulated: Emulated;
        /// The buffers of a OneNAND.
        table onenand: OneNand;
        /// What the controller behind a shared buffer draws.
        table power: ControllerPower;
        /// What the firmware costs.
        table firmware: Firmware;
        /// Staging paths for requests of more than one mapping unit.
        table staging: Staging;
        /// Memory for data that was read.
        table read_cache: ReadCache;
        /// Memory for data on its way to flash.
        table write_cache: WriteCache;
        /// Weights of the queue classes under weighted round robin (NVMe Feature 01h).
        table weights: Weights;
    }
}

section! {
    /// Interrupt coalescing (NVMe Feature 08h): an interrupt waits for so many completions or for so long.
    Coalescing {
        "device.coalescing.threshold" threshold: u32 = COUNT.within(1.0, 256.0),
            given("1", "NVMe Base Specification: the default of Feature 08h is none"),
            "Completions that an interrupt waits for; 1: none.",
            when "link.type" is "pcie";
        "device.coalescing.time" time: Time = TIME.within(0.0, 25.5e9),
            given("0s", "NVMe Base Specification: the default of Feature 08h is none"),
            "Longest time that it waits, a multiple of 100us.",
            when "link.type" is "pcie";
    }
}

section! {
    /// Memory that the host lends to the controller: the Host Memory Buffer (NVMe Feature 0Dh).
    Hmb {
        "device.hmb.size" size: u64 = SIZE,
            assumed("0B", "drives with DRAM have no use for it"),
            "What the controller prefers (HMPRE), a multiple of 4KiB; it gets at most host.hmb.limit. 0B: none.",
            when "link.type" is "pcie";
        "device.hmb.minimum" minimum: u64 = SIZE,
            given("0B", "NVMe Base Specification: HMMIN is 0 where any size will do"),
            "The least it can use (HMMIN), a multiple of 4KiB; at most device.hmb.size, where there is one.",
            when "link.type" is "pcie";
        "device.hmb.min_descriptor" min_descriptor: u64 = SIZE,
            given("0B", "NVMe Base Specification: HMMINDS is 0 where any size will do"),
            "The least contiguous piece of it that it can use (HMMINDS), a multiple of 4KiB.",
            when "link.type" is "pcie";
        "device.hmb.max_descriptors" max_descriptors: Option<u32> = COUNT.within(1.0, 65535.0).or("any"),
            given("any", "NVMe Base Specification: HMMAXD is 0 where any number will do"),
            "The most pieces of it that it can use (HMMAXD).",
            when "link.type" is "pcie";
        "device.hmb.use" uses: Vec<HmbUse> = Kind::new(Shape::Words(HmbUse::WORDS)),
            assumed("map", "Kim and Kim, PLOS ONE 15(3), 2020: what three drives mainly use it for"),
            "What it is used for: a part of the map's cache, of the read cache, of the write cache, or several.",
            when "link.type" is "pcie";
        "device.hmb.read_cache" read_cache: Option<f64> = FRACTION.or("equal"),
            assumed("equal", "each use has as much as another"),
            "Part of it that is the read cache's, where that is one of several uses.",
            when "link.type" is "pcie";
        "device.hmb.write_buffer" write_buffer: Option<f64> = FRACTION.or("equal"),
            assumed("equal", "each use has as much as another"),
            "Part of it that is the write cache's, where that is one of several uses. The map has what is left.",
            when "link.type" is "pcie";
        "device.hmb.unit" unit: Option<u64> = SIZE.least(512.0).or("auto"),
            assumed("auto", "a page of the map, of ftl.unit, is what is read from flash at once"),
            "What the map's cache makes room for at once, there and in the controller: ftl.unit times a power of two.",
            when "link.type" is "pcie";
        "device.hmb.eviction" eviction: Eviction = Kind::words(Eviction::WORDS),
            assumed("lru", "what caches of maps are said to do (Gupta et al., DFTL, 2009)"),
            "Which unit of the map's cache makes way, there and in the controller.",
            when "link.type" is "pcie";
        "device.hmb.check" check: u64 = SIZE.within(0.0, 64.0),
            assumed("0B", "the link checks what crosses it, the host what is in its memory"),
            "Check code that the controller keeps beside each 64 bytes of it.",
            when "link.type" is "pcie";
    }
}

section! {
    /// Transfers of the UFS transport protocol.
    Utp {
        "device.utp.segment" segment: u64 = SIZE.within(512.0, 130560.0),
            given("4KiB", "UFS 2.0 (JESD220B): bMaxDataInSize and bMaxDataOutSize follow the buffers, 8 x 512 bytes"),
            "Most data of a DATA IN or DATA OUT UPIU, a multiple of 512.",
            when "link.type" is "ufs";
        "device.utp.ready_to_transfers" ready_to_transfers: u32 = COUNT.within(1.0, 255.0),
            given("2", "UFS 2.0 (JESD220B): the default of bMaxNumOfRTT"),
            "READY TO TRANSFER UPIUs that wait for their data at a time.",
            when "link.type" is "ufs";
    }
}

section! {
    /// The controller behind a shared buffer that looks like a DRAM.
    Emulated {
        "device.emulated.clock" clock: u64 = FREQUENCY.within(1e6, 10e9),
            given("266MHz", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, Table 1"),
            "Clock of the controller's cores and interconnect.",
            when "link.type" is "shared-buffer";
        "device.emulated.width" width: u64 = SIZE.within(4.0, 64.0),
            assumed("8B", "AXI of 64 bits"),
            "Bytes that the controller's interconnect carries a cycle, a power of two.",
            when "link.type" is "shared-buffer";
        "device.emulated.banks" banks: u32 = COUNT.within(1.0, 64.0),
            given("8", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 4.1"),
            "Single-ported SRAM banks of the buffer, a power of two.",
            when "link.type" is "shared-buffer";
        "device.emulated.boot" boot: Option<u64> = SIZE.within(512.0, 1073741824.0).or("none"),
            given("none", "Seo et al., A Mobile Storage Leveraging the DRAM Interface, 7.2: a suggestion"),
            "Boot mode: this much from the start can be read without commands, until the first command is sent.",
            when "link.type" is "shared-buffer";
        "device.emulated.fetch" fetch: u32 = COUNT.within(0.0, 1e6),
            assumed("2500", FIRMWARE_CYCLES),
            "Cycles to notice, fetch and interpret a submission queue entry.",
            when "link.type" is "shared-buffer";
        "device.emulated.complete" complete: u32 = COUNT.within(0.0, 1e6),
            assumed("2000", FIRMWARE_CYCLES),
            "Cycles to prepare and post a completion.",
            when "link.type" is "shared-buffer";
        "device.emulated.command" command: u32 = COUNT.within(0.0, 1e6),
            assumed("1000", FIRMWARE_CYCLES),
            "Cycles of the translation layer a command.",
            when "link.type" is "shared-buffer";
        "device.emulated.unit" unit: u32 = COUNT.within(0.0, 1e6),
            assumed("60", FIRMWARE_CYCLES),
            "Cycles of the translation layer a mapping unit of a command.",
            when "link.type" is "shared-buffer";
        "device.emulated.page" page: u32 = COUNT.within(0.0, 1e6),
            assumed("500", FIRMWARE_CYCLES),
            "Cycles of the flash interface layer a page transferred.",
            when "link.type" is "shared-buffer";
    }
}

section! {
    /// Power of the controller behind a shared buffer: what it draws always, and what its parts draw when they work.
    ControllerPower {
        "device.power.always" always: u64 = POWER,
            assumed("100mW", "clocks, leakage and the interfaces' delay-locked loops of a controller of 28 nm"),
            "Of the controller, whatever it does.",
            when "link.type" is "shared-buffer";
        "device.power.core" core: u64 = POWER,
            assumed("30mW", "about 0.1 mW a MHz, an embedded core in 28 nm"),
            "Of a core that works, in addition.",
            when "link.type" is "shared-buffer";
        "device.power.interface_energy" interface_energy: u64 = ENERGY,
            assumed("80pJ", "10 pJ a bit: LPDDR3 pads and the logic behind them"),
            "Of a byte that the host reads or writes.",
            when "link.type" is "shared-buffer";
        "device.power.buffer_energy" buffer_energy: u64 = ENERGY,
            assumed("100pJ", "an SRAM of some hundred KiB is written and read, and the interconnect carries it"),
            "Of a byte that passes between the data buffer and the flash interface.",
            when "link.type" is "shared-buffer";
        "device.power.decode_energy" decode_energy: u64 = ENERGY,
            assumed("170pJ", "an LDPC decoder of 28 nm at 533 MB/s draws some 90 mW"),
            "Of a byte that is decoded.",
            when "link.type" is "shared-buffer";
        "device.power.encode_energy" encode_energy: u64 = ENERGY,
            assumed("40pJ", "encoding takes a quarter of the work"),
            "Of a byte that is encoded.",
            when "link.type" is "shared-buffer";
    }
}

section! {
    /// Firmware: a time a command on one of its cores, before the command and after it.
    Firmware {
        "device.firmware.cores" cores: u32 = COUNT.within(1.0, 64.0),
            assumed("2", "such that a million commands a second, as client drives of 2020 promise, are no limit"),
            "Cores that handle commands.";
        "device.firmware.read" read: Time = TIME,
            assumed("700ns", FIRMWARE),
            "Core time to take a read.";
        "device.firmware.write" write: Time = TIME,
            assumed("700ns", FIRMWARE),
            "Core time to take a write.";
        "device.firmware.trim" trim: Time = TIME,
            assumed("2us", FIRMWARE),
            "Core time to take a trim.";
        "device.firmware.trim_gib" trim_gib: Time = TIME,
            assumed("1ms", "4 ns for each of 262,144 map entries of 4 KiB; 1 to 20 ns are plausible"),
            "Further core time for each GiB that a trim covers.";
        "device.firmware.flush" flush: Time = TIME,
            assumed("1us", FIRMWARE),
            "Core time to take a flush.";
        "device.firmware.complete" complete: Time = TIME,
            assumed("0s", "hardware does it"),
            "Core time to complete a command.";
        "device.firmware.jump" jump: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Core time after a write that continues none of the last 16 sequential streams; the write itself does not wait for it.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";

        /// Waits that occupy no core.
        table wait: Wait;
    }
}

section! {
    /// Waits of the firmware that occupy no core, between a command's decoding and its start.
    Wait {
        "device.firmware.wait.read" read: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a read.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.write" write: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a write.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.trim" trim: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a trim.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.flush" flush: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Wait of a flush.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.split" split: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Additional wait of a read or write that touches more than one ftl.unit.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.firmware.wait.unit" unit: Time = TIME,
            assumed("0s", "no effect unless a measured drive shows one"),
            "Additional wait for each ftl.unit beyond the first that a read or write touches.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
    }
}

section! {
    /// Staging paths for the data of requests that touch more than one ftl.unit.
    Staging {
        "device.staging.read" read: Option<u64> = RATE.or("unlimited"),
            assumed("unlimited", "no effect unless a measured drive shows one"),
            "Bytes per second of the staging path for reads.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
        "device.staging.write" write: Option<u64> = RATE.or("unlimited"),
            assumed("unlimited", "no effect unless a measured drive shows one"),
            "Bytes per second of the staging path for writes.",
            when "link.type" is "pcie" | "sata" | "ufs" | "ddr";
    }
}

section! {
    /// Cache of data that was read.
    ReadCache {
        "device.read_cache.size" size: u64 = SIZE,
            assumed("0B", "few drives are known to keep what they read; hosts have their page cache"),
            "Its size; 0B: none.";
        "device.read_cache.place" place: ReadPlace = Kind::words(ReadPlace::WORDS),
            assumed("dram", "where there is room"),
            "Where it is; slc: copied to flash of one bit a cell, by programs of its own, and read from there.";
    }
}

section! {
    /// Cache of data on its way to flash. It holds at least the largest command.
    WriteCache {
        "device.write_cache.size" size: u64 = SIZE,
            assumed("16MiB", "some programs for each of a drive's dies"),
            "Its size; at least the largest command. 0B: none, so that a write ends in flash, from a transfer buffer, whatever the mode.";
        "device.write_cache.place" place: Memory = Kind::words(Memory::WORDS),
            assumed("dram", "where there is room"),
            "Where it is.";
        "device.write_cache.mode" mode: WriteMode = Kind::words(WriteMode::WORDS),
            given("write-back", "NVMe and ATA drives have their volatile write cache on unless told otherwise"),
            "When a write is acknowledged.";
        "device.write_cache.high" high: f64 = FRACTION,
            assumed("0", "data goes to flash as soon as it fills a program"),
            "Dirty part of it at which writing to flash starts.";
        "device.write_cache.low" low: f64 = FRACTION,
            assumed("0", "data goes to flash as soon as it fills a program"),
            "Dirty part of it at which writing to flash stops; at most high.";
        "device.write_cache.resume" resume: f64 = FRACTION,
            assumed("0", "writes go on with the first room there is"),
            "Free part of it at which writes that found it full go on; 0: as soon as they find room.";
        "device.write_cache.holds_reads" holds_reads: bool = BOOL,
            assumed("false", "reads and writes are separate queues within most controllers"),
            "Reads wait behind writes that wait for room in it: commands are handled in order there.";
        "device.write_cache.idle" idle: Option<Time> = TIME.or("never"),
            assumed("1ms", "longer than the gaps within a burst, short against a power cut"),
            "After this long without a write all of it is written to flash.";
    }
}

section! {
    /// Weights of the queue classes: commands a turn.
    Weights {
        "device.weights.high" high: u32 = COUNT.within(1.0, 256.0),
            assumed("8", "each class has twice the turns of the next"),
            "Weight of the class high.",
            when "device.arbitration" is "weighted-round-robin";
        "device.weights.medium" medium: u32 = COUNT.within(1.0, 256.0),
            assumed("4", "each class has twice the turns of the next"),
            "Weight of the class medium.",
            when "device.arbitration" is "weighted-round-robin";
        "device.weights.low" low: u32 = COUNT.within(1.0, 256.0),
            assumed("2", "each class has twice the turns of the next"),
            "Weight of the class low.",
            when "device.arbitration" is "weighted-round-robin";
    }
}
