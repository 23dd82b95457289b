//! Keys of the cache, tables `[memory.cache]` and `[memory.prefetch]`, and its configuration.

use keys::{COUNT, Conflict, Kind, SIZE, assumed, expect, given, power_of_two, section, words};
use media::line::LINE;

use super::directory::{FETCHES, PAGES, WAYS};
use super::tags::READS;

/// Bytes of a way's tag: page number; valid, dirty and prefetched flags; recency.
pub(super) const TAG_BYTES: u64 = 4;

words! {
    /// The choice of pages to prefetch.
    PrefetchKind {
        /// No prefetching.
        None = "none",
        /// The pages that follow a miss (NVMM, "Latency Sensitivity": 16).
        Sequential = "sequential",
        /// Pages ahead of sequential streams, of many readers at once; none behind other reads. The number depends on
        /// the length of earlier streams, on what arrives in time, on idle flash, and on what the cache keeps.
        /// Unsuitable where following pages are useful although reads are not sequential, as in a small file read at
        /// random.
        Adaptive = "adaptive",
        /// A fixed number of pages ahead of each sequential stream, from its second page on: a latency-hiding buffer.
        /// Pages leave in the order in which they came, and a page whose last line was read leaves first. A prefetch
        /// takes no other page's frame, so that the buffer's size limits how far ahead is read.
        Ahead = "ahead",
    }
}

section! {
    /// The DRAM cache. A line is a flash page, and tags are in DRAM.
    #[derive(Copy, Eq)]
    Keys {
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
        /// Prefetching of pages.
        table prefetch: Prefetch;

        check several;
    }
}

section! {
    /// Prefetching of pages.
    #[derive(Copy, Eq)]
    Prefetch {
        "memory.prefetch.type" kind: PrefetchKind = Kind::words(PrefetchKind::WORDS),
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

impl Keys {
    fn several(&self) -> Result<(), Conflict> {
        power_of_two("memory.cache.tag_buffer", self.tag_buffer.into())?;
        expect(self.cold <= self.ways, &["memory.cache.cold", "memory.cache.ways"], "at most memory.cache.ways")?;
        let keys = ["memory.prefetch.fetches", "memory.cache.fetches"];
        expect(self.prefetch.most() < self.fetches, &keys, "fewer than memory.cache.fetches")
    }
}

impl Prefetch {
    /// Returns the maximum number of concurrent prefetches.
    pub(crate) fn most(&self) -> u32 {
        if self.kind == PrefetchKind::None { 0 } else { self.fetches }
    }
}

/// Configuration of a cache of flash pages in DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Size, organization, limits and prefetching.
    pub keys: Keys,
    /// Bytes per page, a power of two: the size of a flash page.
    pub page_bytes: u32,
    /// Flash pages of the cached memory.
    pub pages: u64,
    /// Page buffers for write-backs.
    pub buffers: u32,
    /// Data is kept, so the cache reports its moves.
    pub moves: bool,
}

impl Config {
    /// Returns the number of sets, a power of two.
    pub fn sets(&self) -> u32 {
        (self.keys.size / u64::from(self.page_bytes.max(1)) / u64::from(self.keys.ways.max(1))) as u32
    }

    /// Returns the number of frames.
    pub fn frames(&self) -> u64 {
        u64::from(self.sets()) * u64::from(self.keys.ways)
    }

    /// Returns the bytes of a set's tags in DRAM, in whole lines.
    pub fn tag_bytes(&self) -> u64 {
        (u64::from(self.keys.ways) * TAG_BYTES).next_multiple_of(LINE)
    }

    /// Returns the bytes of DRAM in use: frames, followed by tags.
    pub fn dram_bytes(&self) -> u64 {
        self.frames() * u64::from(self.page_bytes) + u64::from(self.sets()) * self.tag_bytes()
    }

    /// Returns the maximum number of pages on their way from frames to flash: one eviction per fetch, and those in
    /// buffers.
    pub fn write_backs(&self) -> u32 {
        self.keys.fetches + self.buffers
    }

    /// Returns why the configuration is invalid, in terms of its fields; `None` if it is valid.
    pub fn fault(&self) -> Option<String> {
        let within = |name: &str, found: u64, least: u64, most: u64| {
            (!(least..=most).contains(&found)).then(|| format!("{name} is {found}, expected {least} to {most}"))
        };
        let power = |name: &str, found: u32| {
            (!found.is_power_of_two()).then(|| format!("{name} is {found}, expected a power of two"))
        };
        power("sets", self.sets())
            .or_else(|| power("page_bytes", self.page_bytes))
            .or_else(|| power("tag_buffer", self.keys.tag_buffer))
            .or_else(|| within("page_bytes", self.page_bytes.into(), LINE, 1 << 20))
            .or_else(|| within("ways", self.keys.ways.into(), 1, WAYS.into()))
            .or_else(|| within("pages", self.pages, 1, PAGES))
            .or_else(|| within("tag_reads", self.keys.tag_reads.into(), 1, READS.into()))
            .or_else(|| within("fetches", self.keys.fetches.into(), 1, FETCHES.into()))
            .or_else(|| within("prefetches", self.keys.prefetch.most().into(), 0, (self.keys.fetches - 1).into()))
            .or_else(|| within("buffers", self.buffers.into(), 1, 1 << 16))
            .or_else(|| within("cold", self.keys.cold.into(), 0, self.keys.ways.into()))
    }
}
