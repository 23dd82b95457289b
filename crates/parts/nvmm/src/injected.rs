//! Bugs that tests inject; see [`sim::injected`].

/// Bugs that tests inject.
#[cfg_attr(feature = "injected-faults", derive(Debug, Default))]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// None.
    #[cfg(feature = "injected-faults")]
    #[default]
    None,
    /// The journal does not wait for the data.
    BarrierSkipped,
    /// The root does not wait for the directory and the chunks.
    RootBarrierSkipped,
    /// Pruning drops versions that a token needs.
    VersionDropped,
    /// Collection copies data, but the table keeps pointing to the original.
    CopyNotRepointed,
    /// Blocks are erased before the commit that emptied them is durable.
    ErasedEarly,
    /// Data written after the last sync survives a power cut.
    UnsyncedKept,
}
