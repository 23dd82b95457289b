//! Counters of the cache.

/// Counters since creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Line reads.
    pub fills: u64,
    /// Line writes.
    pub write_backs: u64,
    /// Reads and writes that hit.
    pub hits: u64,
    /// Reads and writes whose page was on its way.
    pub merged: u64,
    /// Reads and writes that missed.
    pub misses: u64,
    /// Pages prefetched.
    pub prefetches: u64,
    /// Prefetched pages that were requested later, in their frame or on their way.
    pub prefetches_used: u64,
    /// Prefetched pages evicted without a request.
    pub prefetches_unused: u64,
    /// Pages evicted.
    pub evictions: u64,
    /// Dirty pages evicted, and so written back.
    pub dirty_evictions: u64,
    /// Pages written back early.
    pub cleaned: u64,
    /// Misses served from the buffer of a write-back.
    pub from_buffers: u64,
    /// Lookups whose tags were in the controller.
    pub tag_hits: u64,
    /// Lookups whose tags had to be read, or were being read.
    pub tag_misses: u64,
    /// Tag writes to DRAM.
    pub tag_writes: u64,
    /// Misses that found no free fetch or frame.
    pub stalls: u64,
    /// Requests that found no room for their tags.
    pub tag_stalls: u64,
}

impl Stats {
    /// Returns the counters since an earlier reading.
    #[must_use]
    pub fn since(&self, before: &Stats) -> Stats {
        Stats {
            fills: self.fills - before.fills,
            write_backs: self.write_backs - before.write_backs,
            hits: self.hits - before.hits,
            merged: self.merged - before.merged,
            misses: self.misses - before.misses,
            prefetches: self.prefetches - before.prefetches,
            prefetches_used: self.prefetches_used - before.prefetches_used,
            prefetches_unused: self.prefetches_unused - before.prefetches_unused,
            evictions: self.evictions - before.evictions,
            dirty_evictions: self.dirty_evictions - before.dirty_evictions,
            cleaned: self.cleaned - before.cleaned,
            from_buffers: self.from_buffers - before.from_buffers,
            tag_hits: self.tag_hits - before.tag_hits,
            tag_misses: self.tag_misses - before.tag_misses,
            tag_writes: self.tag_writes - before.tag_writes,
            stalls: self.stalls - before.stalls,
            tag_stalls: self.tag_stalls - before.tag_stalls,
        }
    }
}
