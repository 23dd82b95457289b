//! Faults that tests inject to check that they are caught.

/// A fault that tests inject.
#[cfg_attr(feature = "injected-faults", derive(Debug, Default))]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// None.
    #[cfg(feature = "injected-faults")]
    #[default]
    None,
    /// Sometimes a dirty page is evicted without a write-back.
    DirtyDropped,
    /// Sometimes a read of a page on its way is answered before the page has arrived.
    MergedEarly,
    /// Sometimes the tag of an evicted page stays, next to the tag of the page in its frame.
    #[cfg(feature = "injected-faults")]
    TagKept,
}
