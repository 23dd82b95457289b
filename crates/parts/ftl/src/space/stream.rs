//! The streams of programs, each with its own open block in a parallel unit.

/// Purpose of an open block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Host,
    Copy,
    Slc,
    /// A stream of a reclaim unit handle, in the numbering of [`Placement`](crate::space::placement::Placement).
    Placed(u8),
}
