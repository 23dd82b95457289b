//! Flash as main memory: the tables `[memory.link]`, `[memory.cache]`, `[memory.prefetch]` and `[nvmm]`.

use sim::Time;

use super::key::{BOOL, COUNT, Kind, RATE, SIZE, TIME, assumed, given, section, words};
use super::{System, SystemError, Value};

words! {
    /// Which pages are fetched that nobody asked for.
    PrefetchType {
        /// None.
        None = "none",
        /// The next ones after a miss.
        Sequential = "sequential",
        /// Those ahead of what is read in order, ever more of them.
        Adaptive = "adaptive",
    }
}

words! {
    /// How the block is chosen that is collected next.
    Policy {
        /// A part of the longest chain of versions is in it.
        LongestChain = "longest-chain",
        /// It has the fewest valid pages.
        Greedy = "greedy",
        /// Much to gain, and old.
        CostBenefit = "cost-benefit",
    }
}

section! {
    /// The way between the last-level cache and the memory's controller.
    LineLink {
        "memory.link.latency" latency: Time = TIME.within(0.0, 1e9),
            assumed("10ns", "a link between packages on a board, without a protocol of many layers"),
            "From one end to the other, one way.",
            when "memory.type" is "hybrid";
        "memory.link.bandwidth" bandwidth: Option<u64> = RATE.within(1e6, 1e15).or("unlimited"),
            assumed("51.2GB/s", "as much as four channels of DDR3-1600"),
            "Bytes a second, each way.",
            when "memory.type" is "hybrid";
        "memory.link.header" header: u64 = SIZE.within(0.0, 256.0),
            assumed("8B", "a command and an address"),
            "Bytes of a message beside its line.",
            when "memory.type" is "hybrid";
    }
}

section! {
    /// The DRAM cache: a line is a flash page, its tags are in DRAM.
    Cache {
        "memory.cache.size" size: u64 = SIZE.within(65536.0, 1e15),
            given("32GiB", "nvmm: Performance Studies"),
            "Bytes of pages that it holds; the DRAM holds their tags too.",
            when "memory.type" is "hybrid";
        "memory.cache.ways" ways: u32 = COUNT.within(1.0, 256.0),
            assumed("16", "the tags of a set, of four bytes each, are then one line of DRAM"),
            "Pages of a set.",
            when "memory.type" is "hybrid";
        "memory.cache.tag_buffer" tag_buffer: u32 = COUNT.within(1.0, 1048576.0),
            assumed("1024", "64 KiB of SRAM: nvmm has a small TLB-like memory, and does not say how small"),
            "Sets whose tags the controller has room for, a power of two.",
            when "memory.type" is "hybrid";
        "memory.cache.tag_reads" tag_reads: u32 = COUNT.within(1.0, 4096.0),
            assumed("32", "as many as a queue of the DRAM holds"),
            "Sets whose tags are read at a time.",
            when "memory.type" is "hybrid";
        "memory.cache.fetches" fetches: u32 = COUNT.within(1.0, 4096.0),
            assumed("64", "all that 16 threads with prefetching can use of the flash"),
            "Pages that are fetched at a time (miss status holding registers).",
            when "memory.type" is "hybrid";
        "memory.cache.buffers" buffers: Option<u32> = COUNT.within(1.0, 65536.0).or("auto"),
            assumed("auto", "planes hold what they program in their page registers; and as many as pages that are fetched"),
            "Buffers of a page for what is written back, until it is programmed; auto: one for each of nvmm.open_blocks, and 64.",
            when "memory.type" is "hybrid";
        "memory.cache.cold" cold: u32 = COUNT.within(0.0, 256.0),
            assumed("4", "a quarter of the ways"),
            "A changed page among so many of its set that were used longest ago is written back early.",
            when "memory.type" is "hybrid";
    }
}

section! {
    /// Pages that are fetched before anybody asks for them.
    Prefetching {
        "memory.prefetch.type" kind: PrefetchType = Kind::words(PrefetchType::WORDS),
            given("sequential", "nvmm: Latency Sensitivity"),
            "Which pages.",
            when "memory.type" is "hybrid";
        "memory.prefetch.window" window: u32 = COUNT.within(1.0, 4096.0),
            given("16", "nvmm: Latency Sensitivity"),
            "How many pages behind a miss, or ahead of a stream at most.",
            when "memory.prefetch.type" is "sequential" | "adaptive";
        "memory.prefetch.fetches" fetches: u32 = COUNT.within(1.0, 4095.0),
            assumed("48", "three quarters: the rest is for what is asked for"),
            "Of memory.cache.fetches, how many at most may be for pages that nobody asked for.",
            when "memory.prefetch.type" is "sequential" | "adaptive";
    }
}

section! {
    /// The page table of flash that is main memory, and its controller.
    Nvmm {
        "nvmm.capacity" capacity: u64 = SIZE.within(65536.0, 17592186044416.0),
            given("1TiB", "nvmm: Performance Studies"),
            "Bytes that can be addressed, whole pages of 64 KiB.",
            when "memory.type" is "hybrid";
        "nvmm.full" full: bool = BOOL,
            assumed("true", "programs find what was written before them"),
            "All of it was written before, each flash page for itself; else it is empty, and reading it needs no flash.",
            when "memory.type" is "hybrid";
        "nvmm.versions" versions: Option<u32> = COUNT.within(1.0, 1073741824.0).or("auto"),
            assumed("auto", "what a full memory takes, and four more a page"),
            "Entries of the topmost part of the table, for older versions.",
            when "memory.type" is "hybrid";
        "nvmm.policy" policy: Policy = Kind::words(Policy::WORDS),
            given("longest-chain", "nvmm: Use of the Bit Vector's Sub-Page Valid Bits"),
            "How the block is chosen that is collected next.",
            when "memory.type" is "hybrid";
        "nvmm.consolidate" consolidate: bool = BOOL,
            given("true", "nvmm: Use of the Bit Vector's Sub-Page Valid Bits"),
            "Collection puts all of a page's segments of one time together.",
            when "memory.type" is "hybrid";
        "nvmm.collect_start" collect_start: u32 = COUNT.within(2.0, 1048576.0),
            assumed("16", "enough that a burst of writes does not wait for collection"),
            "Collection goes on while at most so many blocks are free.",
            when "memory.type" is "hybrid";
        "nvmm.open_blocks" open_blocks: Option<u32> = COUNT.within(1.0, 65535.0).or("auto"),
            assumed("auto", "one of each die, so that all of them are written side by side"),
            "Blocks that are written side by side.",
            when "memory.type" is "hybrid";
        "nvmm.tokens" tokens: u32 = COUNT.within(1.0, 4096.0),
            assumed("64", "checkpoints that a program keeps"),
            "States that can be kept at a time.",
            when "memory.type" is "hybrid";
        "nvmm.journal" journal: u32 = COUNT.within(8.0, 65536.0),
            assumed("256", "the table is written as a whole so rarely that it hardly counts"),
            "Flash pages of journal after which the table itself is written.",
            when "memory.type" is "hybrid";
        "nvmm.translation" translation: Time = TIME.within(0.0, 1e9),
            assumed("50ns", "an access to the DRAM of the table (nvmm: DDR3 SDRAM, 50 ns); nvmm calls it very low"),
            "From a page's number to its place; one after the other.",
            when "memory.type" is "hybrid";
        "nvmm.die_queue" die_queue: u32 = COUNT.within(1.0, 65535.0),
            given("4", "nvmm: queues of only a few entries prevent most queuing delays"),
            "Operations that may wait for a die, beside the one that it is at.",
            when "memory.type" is "hybrid";
    }
}

/// Checks what depends on several keys.
pub(super) fn check(s: &mut System) -> Result<(), SystemError> {
    let (page, cache) = (s.flash.page, &s.memory.cache);
    s.expect([4096, 8192, 16384].contains(&page), &["flash.page", "memory.type"], "4KiB, 8KiB or 16KiB")?;
    s.expect(s.nvmm.capacity.is_multiple_of(65536), &["nvmm.capacity"], "a multiple of 64KiB")?;
    s.expect(cache.tag_buffer.is_power_of_two(), &["memory.cache.tag_buffer"], "a power of two")?;
    let set = page * u64::from(cache.ways);
    let sets = cache.size.is_multiple_of(set) && (cache.size / set).is_power_of_two();
    let keys = ["memory.cache.size", "memory.cache.ways", "flash.page"];
    s.expect(sets && cache.size / set <= 1 << 31, &keys, "a power of two of sets")?;
    s.expect(cache.cold <= cache.ways, &["memory.cache.cold", "memory.cache.ways"], "at most memory.cache.ways")?;
    if s.memory.prefetch.kind != PrefetchType::None {
        let keys = ["memory.prefetch.fetches", "memory.cache.fetches"];
        s.expect(s.memory.prefetch.fetches < cache.fetches, &keys, "fewer than memory.cache.fetches")?;
    }
    let config = crate::parts::HybridConfig::new(s);
    let (found, wanted) = (config.dram.bytes(), config.cache.dram_bytes());
    let room = format!("at most what memory.channels, ranks and stack make, which is {}", Value::Size(found).plain());
    let keys = ["memory.cache.size", "memory.channels", "memory.ranks", "memory.stack", "memory.standard"];
    s.expect(wanted <= found, &keys, &format!("with its tags {room}"))?;
    if let Some(size) = s.memory.size {
        let keys = ["memory.size", "nvmm.capacity"];
        s.expect(size <= s.nvmm.capacity, &keys, "at most nvmm.capacity")?;
    }
    let keys = ["nvmm.capacity", "nvmm.versions", "nvmm.open_blocks", "flash.blocks", "flash.pages"];
    if let Err(error) = config.nvmm.check() {
        return s.conflict(&keys, format!("nvmm: {error}"));
    }
    let pages = u64::from(config.nvmm.pages) * u64::from(config.nvmm.segments);
    let most = format!("at most {}, which flash leaves for data", Value::Size(config.nvmm.room() * page).plain());
    s.expect(pages <= config.nvmm.room(), &keys, &most)?;
    if s.nvmm.full {
        let least = u64::from(config.nvmm.pages + 4) * u64::from(config.nvmm.segments);
        let keys = ["nvmm.versions", "nvmm.full", "nvmm.capacity"];
        let enough = u64::from(config.nvmm.versions) >= least;
        s.expect(enough, &keys, &format!("at least {least} where nvmm.full is true"))?;
    }
    s.raw_bytes = u64::try_from(s.geometry().bytes()).expect("2^32 pages of 64 KiB fit");
    s.user_bytes = s.nvmm.capacity;
    Ok(())
}
