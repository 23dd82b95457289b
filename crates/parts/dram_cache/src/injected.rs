//! Faults that tests inject to check that they are caught.

use super::Hybrid;

/// A fault that tests inject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InjectedFault {
    /// None.
    #[default]
    None,
    /// Sometimes a dirty page is evicted without a write-back.
    DirtyDropped,
    /// Sometimes a read of a page on its way is answered before the page has arrived.
    MergedEarly,
    /// Sometimes the tag of an evicted page stays, next to the tag of the page in its frame.
    TagKept,
}

impl Hybrid {
    /// Injects a fault.
    #[doc(hidden)]
    pub fn inject(&mut self, fault: InjectedFault) {
        self.injected = fault;
    }

    /// Returns true every third time the injected fault applies.
    pub(super) fn injects(&mut self, injected: InjectedFault) -> bool {
        if self.injected != injected {
            return false;
        }
        self.injected_count += 1;
        self.injected_count.is_multiple_of(3)
    }
}
