//! One value for each rank of a channel.

use std::ops::{Deref, DerefMut, Index, IndexMut};

/// Maximum number of ranks per channel.
pub(crate) const RANKS: usize = 16;

/// One value for each rank of a channel, with room for the maximum number of ranks, so that an index needs no check.
/// Numbers of ranks come from a layout and from loops over all ranks; debug builds check them.
#[derive(Clone)]
pub(crate) struct PerRank<T> {
    all: Box<[T; RANKS]>,
    count: usize,
}

impl<T> PerRank<T> {
    /// Creates values for `count` ranks; `value` also fills the places of ranks that do not exist.
    ///
    /// # Panics
    /// If there are more ranks than a channel can have.
    pub(crate) fn new(count: usize, value: impl Fn(usize) -> T) -> PerRank<T> {
        assert!(count <= RANKS, "{count} ranks");
        let all: Box<[T]> = (0..RANKS).map(value).collect();
        PerRank { all: all.try_into().unwrap_or_else(|_| unreachable!("{RANKS} values")), count }
    }
}

impl<T> Index<usize> for PerRank<T> {
    type Output = T;

    #[inline]
    fn index(&self, rank: usize) -> &T {
        debug_assert!(rank < self.count, "rank {rank} of {}", self.count);
        &self.all[rank % RANKS]
    }
}

impl<T> IndexMut<usize> for PerRank<T> {
    #[inline]
    fn index_mut(&mut self, rank: usize) -> &mut T {
        debug_assert!(rank < self.count, "rank {rank} of {}", self.count);
        &mut self.all[rank % RANKS]
    }
}

impl<T> Deref for PerRank<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `new` has asserted the count, which never changes.
        unsafe { self.all.get_unchecked(..self.count) }
    }
}

impl<T> DerefMut for PerRank<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `new` has asserted the count, which never changes.
        unsafe { self.all.get_unchecked_mut(..self.count) }
    }
}
