//! What a hybrid controller has done.

/// Counters since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Lines asked for.
    pub fills: u64,
    /// Lines that came back.
    pub write_backs: u64,
    /// Of both, those whose page was in its frame.
    pub hits: u64,
    /// Of both, those whose page was on its way already.
    pub merged: u64,
    /// Of both, those whose page had to be fetched.
    pub misses: u64,
    /// Pages that were fetched without being asked for.
    pub prefetches: u64,
    /// Of these, those that were asked for later, in their frame or on their way.
    pub prefetches_used: u64,
    /// Of these, those that left without ever being asked for.
    pub prefetches_unused: u64,
    /// Pages that had to leave.
    pub evictions: u64,
    /// Of these, those that were changed, and so were written back.
    pub dirty_evictions: u64,
    /// Pages that were written back before they had to leave.
    pub cleaned: u64,
    /// Misses that found their page in the buffer of a write-back.
    pub from_buffers: u64,
    /// Lookups whose set's tags were in the controller.
    pub tag_hits: u64,
    /// Lookups whose set's tags had to be read, or were being read.
    pub tag_misses: u64,
    /// Sets whose tags were written to DRAM.
    pub tag_writes: u64,
    /// Times a miss found no fetch or frame free.
    pub stalls: u64,
    /// Times a request found no room for its tags.
    pub tag_stalls: u64,
}

impl Stats {
    /// What was done since an earlier reading.
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
