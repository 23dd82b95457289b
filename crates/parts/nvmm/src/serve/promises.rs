//! Holdings of writes under way: their pages, and the space that they may still need.

/// Locked pages, and flash pages and version entries that are spoken for.
#[derive(Default)]
pub(crate) struct Promises {
    /// Page and segments of each write under way.
    locks: Vec<(u32, u32)>,
    pages: u64,
    entries: u32,
}

impl Promises {
    /// Flash pages promised to writes under way.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Version entries promised to writes under way.
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// Reserves a flash page per segment, and version entries, for a write of `segments` of `page`.
    pub fn make(&mut self, page: u32, segments: u32, entries: u32) {
        self.locks.push((page, segments));
        self.pages += u64::from(segments.count_ones());
        self.entries += entries;
    }

    /// Releases what [`make`](Self::make) reserved.
    ///
    /// # Panics
    /// If there is no such write.
    pub fn end(&mut self, page: u32, segments: u32, entries: u32) {
        let at = self.locks.iter().position(|locked| *locked == (page, segments)).expect("a write under way");
        self.locks.swap_remove(at);
        self.pages -= u64::from(segments.count_ones());
        self.entries -= entries;
    }

    /// Returns whether any segment of the page is being written.
    pub fn is_locked(&self, page: u32) -> bool {
        self.locks.iter().any(|(locked, _)| *locked == page)
    }

    /// Returns whether one of these segments of the page is being written.
    pub fn is_written(&self, page: u32, segments: u32) -> bool {
        self.locks.iter().any(|(locked, written)| *locked == page && written & segments != 0)
    }
}
