//! Bugs that tests inject to check that they are caught.

use super::Hybrid;

/// A bug that can be injected, so that the tests that must catch it can be tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InjectedFault {
    /// None: the controller as it is.
    #[default]
    None,
    /// Every so often a changed page leaves without being written back.
    DirtyDropped,
    /// Every so often a read of a page that is on its way is answered before the page has come.
    MergedEarly,
    /// Every so often the tag of a page that leaves stays, beside that of the page which takes its frame.
    TagKept,
}

impl Hybrid {
    /// Injects a bug, for the tests that must catch it.
    #[doc(hidden)]
    pub fn inject(&mut self, fault: InjectedFault) {
        self.injected = fault;
    }

    /// True every third time the injected bug strikes.
    #[inline]
    pub(super) fn injects(&mut self, injected: InjectedFault) -> bool {
        if self.injected != injected {
            return false;
        }
        self.injected_count += 1;
        self.injected_count.is_multiple_of(3)
    }
}
