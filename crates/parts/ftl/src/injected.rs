//! Deliberate bugs; see [`sim::injected`].

/// A deliberate bug, for testing that the tests detect it.
#[cfg_attr(feature = "injected-faults", derive(Debug, Default))]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// No fault.
    #[cfg(feature = "injected-faults")]
    #[default]
    None,
    /// Every third journal page of trims is not written.
    JournalSkipped,
    /// For every third copy made by collection, the map is not updated.
    CopyNotRepointed,
    /// When host memory is lost, map entries that existed only there are not recovered from flash.
    HostMapForgotten,
}
