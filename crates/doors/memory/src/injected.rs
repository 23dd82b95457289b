//! Faults for tests to inject; see [`sim::injected`].

/// A fault for tests to inject.
#[cfg_attr(feature = "injected-faults", derive(Debug, Default))]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// No fault.
    #[cfg(feature = "injected-faults")]
    #[default]
    None,
    /// Barriers do not flush.
    FlushSkipped,
    /// Checksums are not verified.
    ChecksumIgnored,
}
