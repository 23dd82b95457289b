//! What a hybrid controller is told.

use media::line::LINE;

use super::directory::{FETCHES, PAGES, WAYS};
use super::tags::READS;

/// Bytes of a way's tag: page number, valid, changed, prefetched, order of use.
pub(super) const TAG_BYTES: u64 = 4;

/// Which pages are fetched that nobody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetch {
    /// None.
    None,
    /// After a miss, the next so many pages (NVMM, "Latency Sensitivity": 16).
    Sequential(u32),
    /// Pages ahead of what is read in order, of many readers at once: as many as streams went on before, as are needed to be in
    /// time, as idle flash allows and as the cache keeps, at most so many; none behind what is not read in order. Not to be
    /// used where the next pages pay although nobody reads them in order: a small file that is read at random.
    Adaptive(u32),
}

/// A cache of flash pages in DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Sets, a power of two.
    pub sets: u32,
    /// Pages of a set.
    pub ways: u32,
    /// Bytes of a page, a power of two: those of a flash page.
    pub page_bytes: u32,
    /// Flash pages of the memory that is cached.
    pub pages: u64,
    /// Sets whose tags the controller has room for, a power of two.
    pub tag_buffer: u32,
    /// Reads of tags at a time.
    pub tag_reads: u32,
    /// Pages that are fetched at a time (miss status holding registers, with a page's buffer each).
    pub fetches: u32,
    /// Of these, so many at most for pages that nobody asked for.
    pub prefetches: u32,
    /// Page buffers for what is written back.
    pub buffers: u32,
    /// A page that is among so many of its set that were used longest ago is written back early, when its set misses.
    pub cold: u32,
    /// What is prefetched.
    pub prefetch: Prefetch,
    /// Whether data is kept, and so has to be moved.
    pub moves: bool,
}

impl Config {
    /// Pages that it holds.
    pub fn frames(&self) -> u64 {
        u64::from(self.sets) * u64::from(self.ways)
    }

    /// Bytes of a set's tags in DRAM: whole lines.
    pub fn tag_bytes(&self) -> u64 {
        (u64::from(self.ways) * TAG_BYTES).next_multiple_of(LINE)
    }

    /// Bytes of DRAM that it takes: frames, and behind them the tags.
    pub fn dram_bytes(&self) -> u64 {
        self.frames() * u64::from(self.page_bytes) + u64::from(self.sets) * self.tag_bytes()
    }

    /// Pages on their way from frames to flash at most: what every fetch has made leave, and what is in buffers.
    pub fn write_backs(&self) -> u32 {
        self.fetches + self.buffers
    }

    /// Why it cannot work, in the terms of its fields; `None` if it can.
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
