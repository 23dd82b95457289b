//! How often recent changes of the map miss its cache.

/// Maximum number of changes that count as recent. Assumed: four map pages' worth.
const RECENT: u32 = 4096;

/// Recent changes of entries, and how many of these were not cached.
#[derive(Default)]
pub(crate) struct MissShare {
    changes: u32,
    missing: u32,
}

impl MissShare {
    /// Counts a change of an entry.
    pub(super) fn count(&mut self, missing: bool) {
        self.changes += 1;
        self.missing += u32::from(missing);
        if self.changes == RECENT {
            (self.changes, self.missing) = (RECENT / 2, self.missing / 2);
        }
    }

    /// Returns true if more than an eighth of the recent changes missed.
    pub(super) fn is_large(&self) -> bool {
        self.missing * 8 > self.changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_changes_are_forgotten() {
        let mut share = MissShare::default();
        assert!(!share.is_large());
        (0..RECENT).for_each(|_| share.count(true));
        assert!(share.is_large());
        // Half of what was counted is dropped each time that the maximum is reached.
        (0..2 * RECENT).for_each(|_| share.count(false));
        assert!(!share.is_large());
    }
}
