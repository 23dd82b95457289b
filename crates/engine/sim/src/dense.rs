//! Tables whose indices are right by construction.

use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A vector that is indexed by numbers known to be below its length: of a free list that runs through it, of a part that was
/// counted when it was made, of a place that was just added. Debug builds check each of them, others do not: on the hot paths
/// such checks are a tenth of all instructions.
///
/// Whoever makes such a table promises that for its whole life, and says why. What comes from outside, a user's file or another
/// part's address, is checked before it is an index: the slice that the table is does so ([`slice::get`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dense<T>(Vec<T>);

impl<T> Dense<T> {
    /// A table of `items`.
    ///
    /// # Safety
    /// No index that the table is ever used with is at or beyond its length then.
    #[inline]
    pub const unsafe fn new(items: Vec<T>) -> Dense<T> {
        Dense(items)
    }

    /// Adds an item at the end.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.0.push(item);
    }

    /// The `length` items from `from` on, all of which are in the table.
    #[inline(always)]
    pub fn part(&self, from: usize, length: usize) -> &[T] {
        debug_assert!(
            from + length <= self.0.len(),
            "items {from} to {} of a table of {}",
            from + length,
            self.0.len()
        );
        // SAFETY: as of an index.
        unsafe { self.0.get_unchecked(from..from + length) }
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn part_mut(&mut self, from: usize, length: usize) -> &mut [T] {
        debug_assert!(
            from + length <= self.0.len(),
            "items {from} to {} of a table of {}",
            from + length,
            self.0.len()
        );
        // SAFETY: as of an index.
        unsafe { self.0.get_unchecked_mut(from..from + length) }
    }

    /// Adds copies of `item` until the length is `length`, if it is less.
    pub fn grow(&mut self, length: usize, item: T)
    where
        T: Clone,
    {
        if length > self.0.len() {
            self.0.resize(length, item);
        }
    }
}

impl<T> Index<usize> for Dense<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        debug_assert!(index < self.0.len(), "index {index} into a table of {}", self.0.len());
        // SAFETY: whoever made the table has promised that indices are below its length, which never shrinks.
        unsafe { self.0.get_unchecked(index) }
    }
}

impl<T> IndexMut<usize> for Dense<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.0.len(), "index {index} into a table of {}", self.0.len());
        // SAFETY: as above.
        unsafe { self.0.get_unchecked_mut(index) }
    }
}

impl<T> Deref for Dense<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Dense<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<'a, T> IntoIterator for &'a Dense<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Dense<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_grows_and_never_shrinks() {
        // SAFETY: the indices below are 0 and 1, and the table has one more each time before they are used.
        let mut table = unsafe { Dense::new(vec![7]) };
        table[0] += 1;
        table.push(3);
        table[1] = table[0];
        table.grow(1, 0);
        assert_eq!(*table, [8, 8]);
        table.grow(3, 5);
        table.part_mut(1, 1)[0] = 8;
        assert_eq!(table.part(1, 2), [8, 5]);
        assert_eq!((&table).into_iter().sum::<i32>(), 21);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "index 2 into a table of 2")]
    fn debug_builds_check() {
        // SAFETY: broken on purpose, where it is noticed.
        let table = unsafe { Dense::new(vec![1, 2]) };
        let _ = table[2];
    }
}
