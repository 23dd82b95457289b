//! Translation units to be fetched.

/// Translation units that writes changed, that are not cached, and that the next dispatch fetches.
#[derive(Default)]
pub(crate) struct Wanted {
    units: Vec<u32>,
    /// Some were added since the last dispatch began.
    due: bool,
}

impl Wanted {
    /// Requests translation unit `t`.
    pub(super) fn add(&mut self, t: u32) {
        self.units.push(t);
        self.due = true;
    }

    /// Removes and returns the translation unit to fetch next.
    pub(super) fn take(&mut self) -> Option<u32> {
        self.units.pop()
    }

    /// Returns true if none is requested.
    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Returns true if a dispatch should fetch a translation unit.
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
