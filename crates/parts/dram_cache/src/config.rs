//! The cache's configuration.

use media::line::LINE;

use super::directory::{FETCHES, PAGES, WAYS};
use super::tags::READS;

/// Bytes of a way's tag: page number; valid, dirty and prefetched flags; recency.
pub(super) const TAG_BYTES: u64 = 4;

/// The choice of pages to prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetch {
    /// No prefetching.
    None,
    /// After a miss, this many following pages (NVMM, "Latency Sensitivity": 16).
    Sequential(u32),
    /// At most this many pages ahead of sequential streams, of many readers at once; none behind other reads. The
    /// number depends on the length of earlier streams, on what arrives in time, on idle flash, and on what the cache
    /// keeps. Unsuitable where following pages are useful although reads are not sequential, as in a small file read at
    /// random.
    Adaptive(u32),
    /// This many pages ahead of each sequential stream, from its second page on: a latency-hiding buffer. Pages leave in
    /// the order in which they came, and a page whose last line was read leaves first. A prefetch takes no other page's
    /// frame, so that the buffer's size limits how far ahead is read.
    Ahead(u32),
}

/// Configuration of a cache of flash pages in DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of sets, a power of two.
    pub sets: u32,
    /// Ways per set.
    pub ways: u32,
    /// Bytes per page, a power of two: the size of a flash page.
    pub page_bytes: u32,
    /// Flash pages of the cached memory.
    pub pages: u64,
    /// Sets whose tags fit into the controller's tag buffer, a power of two.
    pub tag_buffer: u32,
    /// Maximum number of concurrent tag reads.
    pub tag_reads: u32,
    /// Maximum number of concurrent fetches (miss status holding registers, each with a page buffer).
    pub fetches: u32,
    /// Maximum number of concurrent prefetches among them.
    pub prefetches: u32,
    /// Page buffers for write-backs.
    pub buffers: u32,
    /// When a set misses, a dirty page among this many least recently used ones of the set is written back early.
    pub cold: u32,
    /// Prefetching.
    pub prefetch: Prefetch,
    /// Data is kept, so the cache reports its moves.
    pub moves: bool,
}

impl Config {
    /// Returns the number of frames.
    pub fn frames(&self) -> u64 {
        u64::from(self.sets) * u64::from(self.ways)
    }

    /// Returns the bytes of a set's tags in DRAM, in whole lines.
    pub fn tag_bytes(&self) -> u64 {
        (u64::from(self.ways) * TAG_BYTES).next_multiple_of(LINE)
    }

    /// Returns the bytes of DRAM in use: frames, followed by tags.
    pub fn dram_bytes(&self) -> u64 {
        self.frames() * u64::from(self.page_bytes) + u64::from(self.sets) * self.tag_bytes()
    }

    /// Returns the maximum number of pages on their way from frames to flash: one eviction per fetch, and those in
    /// buffers.
    pub fn write_backs(&self) -> u32 {
        self.fetches + self.buffers
    }

    /// Returns why the configuration is invalid, in terms of its fields; `None` if it is valid.
    pub fn fault(&self) -> Option<String> {
        let within = |name: &str, found: u64, least: u64, most: u64| {
            (!(least..=most).contains(&found)).then(|| format!("{name} is {found}, expected {least} to {most}"))
        };
        let power = |name: &str, found: u32| {
            (!found.is_power_of_two()).then(|| format!("{name} is {found}, expected a power of two"))
        };
        power("sets", self.sets)
            .or_else(|| power("page_bytes", self.page_bytes))
            .or_else(|| power("tag_buffer", self.tag_buffer))
            .or_else(|| within("page_bytes", self.page_bytes.into(), LINE, 1 << 20))
            .or_else(|| within("ways", self.ways.into(), 1, WAYS.into()))
            .or_else(|| within("pages", self.pages, 1, PAGES))
            .or_else(|| within("tag_reads", self.tag_reads.into(), 1, READS.into()))
            .or_else(|| within("fetches", self.fetches.into(), 1, FETCHES.into()))
            .or_else(|| within("prefetches", self.prefetches.into(), 0, (self.fetches - 1).into()))
            .or_else(|| within("buffers", self.buffers.into(), 1, 1 << 16))
            .or_else(|| within("cold", self.cold.into(), 0, self.ways.into()))
    }
}
