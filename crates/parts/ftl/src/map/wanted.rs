//! Translation units to be fetched.

/// Translation units that writes changed, that are not cached, and that a dispatch fetches as soon as the cache has room.
pub(crate) struct Wanted {
    units: Vec<u32>,
    /// For each translation unit, true if it is requested.
    requested: Vec<bool>,
    /// Fetches in progress for changes.
    pub(super) loads: u32,
    /// Some were added since the last dispatch began.
    due: bool,
}

impl Wanted {
    /// Creates an empty list for `units` translation units.
    pub(super) fn new(units: usize) -> Wanted {
        Wanted { units: Vec::new(), requested: vec![false; units], loads: 0, due: false }
    }

    /// Requests translation unit `t`, unless it is requested already.
    pub(super) fn add(&mut self, t: u32) {
        self.due = true;
        if !std::mem::replace(&mut self.requested[t as usize], true) {
            self.units.push(t);
        }
    }

    /// Requests translation unit `t` once more for each entry that is cached singly.
    pub(super) fn add_entry_of(&mut self, t: u32) {
        self.units.push(t);
        self.due = true;
    }

    /// Returns the translation unit to fetch next.
    pub(super) fn first(&self) -> Option<u32> {
        self.units.last().copied()
    }

    /// Removes and returns the translation unit to fetch next.
    pub(super) fn take(&mut self) -> Option<u32> {
        let t = self.units.pop()?;
        self.requested[t as usize] = false;
        Some(t)
    }

    /// Returns the number of requests.
    pub(super) fn len(&self) -> u32 {
        self.units.len() as u32
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
