//! Flash as main memory: the tables `[memory.link]`, `[memory.cache]`, `[memory.prefetch]` and `[nvmm]`.

use nvmm::Policy;
use sim::Time;

use keys::{BOOL, COUNT, Kind, SIZE, TIME, assumed, given, section, words};

words! {
    /// Selection of prefetched pages.
    PrefetchType {
        /// No prefetching.
        None = "none",
        /// The pages that follow a miss.
        Sequential = "sequential",
        /// Pages ahead of sequential streams, in growing numbers.
        Adaptive = "adaptive",
        /// A fixed number of pages ahead of sequential streams; pages are read once (a latency-hiding buffer).
        Ahead = "ahead",
    }
}

section! {
    /// The DRAM cache. A line is a flash page, and tags are in DRAM.
    Cache {
        "memory.cache.size" size: u64 = SIZE.within(65536.0, 1e15),
            given("32GiB", "nvmm: Performance Studies"),
            "Capacity for pages in bytes; the DRAM also holds their tags.",
            when "memory.type" is "hybrid";
        "memory.cache.ways" ways: u32 = COUNT.within(1.0, 256.0),
            assumed("16", "the four-byte tags of a set then fill one line of DRAM"),
            "Associativity: pages per set.",
            when "memory.type" is "hybrid";
        "memory.cache.tag_buffer" tag_buffer: u32 = COUNT.within(1.0, 1048576.0),
            assumed("1024", "64 KiB of SRAM: nvmm has a small TLB-like memory of unspecified size"),
            "Number of sets whose tags fit in the controller, a power of two.",
            when "memory.type" is "hybrid";
        "memory.cache.tag_reads" tag_reads: u32 = COUNT.within(1.0, 4096.0),
            assumed("32", "the size of a DRAM queue"),
            "Maximum number of sets whose tags are read at the same time.",
            when "memory.type" is "hybrid";
        "memory.cache.fetches" fetches: u32 = COUNT.within(1.0, 65536.0),
            assumed("64", "all that 16 threads with prefetching can use of the flash"),
            "Maximum number of concurrent page fetches (miss status holding registers).",
            when "memory.type" is "hybrid";
        "memory.cache.buffers" buffers: Option<u32> = COUNT.within(1.0, 65536.0).or("auto"),
            assumed("auto", "planes hold pages being programmed in their page registers; and as many as concurrent \
                fetches"),
            "Page buffers for write-backs, occupied until programmed; auto: nvmm.open_blocks plus 64.",
            when "memory.type" is "hybrid";
        "memory.cache.cold" cold: u32 = COUNT.within(0.0, 256.0),
            assumed("4", "a quarter of the ways"),
            "Number of least recently used pages per set among which dirty pages are written back early.",
            when "memory.type" is "hybrid";
    }
}

section! {
    /// Prefetching of pages.
    Prefetching {
        "memory.prefetch.type" kind: PrefetchType = Kind::words(PrefetchType::WORDS),
            given("sequential", "nvmm: Latency Sensitivity"),
            "Selection of prefetched pages. ahead makes the cache a latency-hiding buffer: pages are read ahead of streams as \
             far as they fit, and make room when their last line was read.",
            when "memory.type" is "hybrid";
        "memory.prefetch.window" window: u32 = COUNT.within(1.0, 65536.0),
            given("16", "nvmm: Latency Sensitivity"),
            "Number of pages after a miss, or the maximum ahead of a stream.",
            when "memory.prefetch.type" is "sequential" | "adaptive" | "ahead";
        "memory.prefetch.fetches" fetches: u32 = COUNT.within(1.0, 65535.0),
            assumed("48", "three quarters, which leaves the rest for demand fetches"),
            "Maximum number of memory.cache.fetches that may be prefetches.",
            when "memory.prefetch.type" is "sequential" | "adaptive" | "ahead";
    }
}

section! {
    /// Page table and controller of flash used as main memory.
    Nvmm {
        "nvmm.capacity" capacity: u64 = SIZE.within(65536.0, 17592186044416.0),
            given("1TiB", "nvmm: Performance Studies"),
            "Addressable bytes, whole pages of 64 KiB.",
            when "memory.type" is "hybrid";
        "nvmm.full" full: bool = BOOL,
            assumed("true", "programs find existing data"),
            "Start with all pages written, each flash page separately; otherwise memory is empty, and reading it needs \
             no flash access.",
            when "memory.type" is "hybrid";
        "nvmm.synced" synced: bool = BOOL,
            assumed("false", "a program begins right after it has written its tables"),
            "Tables that programs created before the run were synced since: the cache begins with clean pages.",
            when "memory.type" is "hybrid";
        "nvmm.versions" versions: Option<u32> = COUNT.within(1.0, 1073741824.0).or("auto"),
            assumed("auto", "what a full memory needs, and four more per page"),
            "Entries for older versions in the top level of the table.",
            when "memory.type" is "hybrid";
        "nvmm.policy" policy: Policy = Kind::words(Policy::WORDS),
            given("longest-chain", "nvmm: Use of the Bit Vector's Sub-Page Valid Bits"),
            "Selection of the block that is collected next.",
            when "memory.type" is "hybrid";
        "nvmm.consolidate" consolidate: bool = BOOL,
            given("true", "nvmm: Use of the Bit Vector's Sub-Page Valid Bits"),
            "Collection gathers all segments of a page with the same version in one place.",
            when "memory.type" is "hybrid";
        "nvmm.collect_start" collect_start: u32 = COUNT.within(2.0, 1048576.0),
            assumed("16", "enough that a burst of writes does not wait for collection"),
            "Number of free blocks at or below which collection runs.",
            when "memory.type" is "hybrid";
        "nvmm.open_blocks" open_blocks: Option<u32> = COUNT.within(1.0, 65535.0).or("auto"),
            assumed("auto", "one per die, so that all dies are written in parallel"),
            "Number of blocks that are written in parallel.",
            when "memory.type" is "hybrid";
        "nvmm.tokens" tokens: u32 = COUNT.within(1.0, 4096.0),
            assumed("64", "checkpoints that a program keeps"),
            "Maximum number of states that can be kept at the same time.",
            when "memory.type" is "hybrid";
        "nvmm.journal" journal: u32 = COUNT.within(8.0, 65536.0),
            assumed("256", "the whole table is written so rarely that the cost is negligible"),
            "Flash pages of journal after which the table itself is written.",
            when "memory.type" is "hybrid";
        "nvmm.translation" translation: Time = TIME.within(0.0, 1e9),
            assumed("50ns", "an access to the DRAM of the table (nvmm: DDR3 SDRAM, 50 ns); nvmm calls it very low"),
            "Time to translate a page number to its location; translations are serialized.",
            when "memory.type" is "hybrid";
        "nvmm.die_queue" die_queue: u32 = COUNT.within(1.0, 65535.0),
            given("4", "nvmm: queues of only a few entries prevent most queuing delays"),
            "Maximum number of operations that wait for a die, in addition to the active one.",
            when "memory.type" is "hybrid";
    }
}
