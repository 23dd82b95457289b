//! Parallel units that may have become short of free blocks.

/// Parallel units to be checked for a shortage of free blocks.
#[derive(Default)]
pub(crate) struct ShortUnits {
    parallel_units: Vec<u32>,
    /// Some were added since the last dispatch began.
    due: bool,
}

impl ShortUnits {
    /// Requests a check of `pu` by the next dispatch.
    pub(crate) fn report(&mut self, pu: u32) {
        self.add(pu);
        self.due = true;
    }

    /// Adds `pu` to the checks of the dispatch in progress.
    pub(crate) fn add(&mut self, pu: u32) {
        self.parallel_units.push(pu);
    }

    /// Returns the parallel unit to check next.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.parallel_units.pop()
    }

    /// Returns true if a dispatch should check a parallel unit.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// Begins a dispatch.
    #[inline]
    pub(crate) fn begin_dispatch(&mut self) {
        self.due = false;
    }
}
