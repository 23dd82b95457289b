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

impl Stream {
    /// Returns the place of its open block in a parallel unit, among those of streams without a handle.
    #[inline]
    pub(super) const fn place(self) -> usize {
        match self {
            Stream::Host => 0,
            Stream::Copy => 1,
            Stream::Slc | Stream::Placed(_) => 2,
        }
    }
}
