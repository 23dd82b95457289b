//! Deliberate bugs; see [`sim::injected`].

/// A deliberate bug, which the histories of the translation layer must detect.
#[cfg_attr(feature = "injected-faults", derive(Debug))]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// Resets are acknowledged before their record in the log is durable.
    ResetNotAwaited,
    /// A reset does not begin a new generation of the zone.
    GenerationKept,
    /// Units that do not fill a program count as durable before their record is.
    SpillNotAwaited,
}
