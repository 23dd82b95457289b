//! Tables whose indices are valid by construction.

use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A vector indexed by numbers that are known to be below its length, such as entries of a free list that runs through
/// it, numbers of parts counted at construction, or an entry just added. Only debug builds check indices: on the hot
/// paths, checks are a tenth of all instructions.
///
/// The code that creates such a table promises valid indices for the table's whole life and documents the reason. Input
/// from outside, such as a user's file or another part's address, must be checked before it is used as an index; the
/// dereferenced slice does so ([`slice::get`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dense<T>(Vec<T>);

impl<T> Dense<T> {
    /// Creates a table of `items`.
    ///
    /// # Safety
    /// No index that is ever used with the table may be equal to or above its length at that time.
    #[inline]
    pub const unsafe fn new(items: Vec<T>) -> Dense<T> {
        Dense(items)
    }

    /// Appends an item.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.0.push(item);
    }

    /// Returns `length` items starting at `from`, all of which must be in the table.
    #[inline]
    pub fn part(&self, from: usize, length: usize) -> &[T] {
        debug_assert!(
            from + length <= self.0.len(),
            "items {from} to {} of a table of {}",
            from + length,
            self.0.len()
        );
        // SAFETY: the contract of `new` covers these indices.
        unsafe { self.0.get_unchecked(from..from + length) }
    }

    /// Like [`part`](Self::part), but mutable.
    #[inline]
    pub fn part_mut(&mut self, from: usize, length: usize) -> &mut [T] {
        debug_assert!(
            from + length <= self.0.len(),
            "items {from} to {} of a table of {}",
            from + length,
            self.0.len()
        );
        // SAFETY: the contract of `new` covers these indices.
        unsafe { self.0.get_unchecked_mut(from..from + length) }
    }

    /// Appends copies of `item` until the length is at least `length`.
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

    #[inline]
    fn index(&self, index: usize) -> &T {
        debug_assert!(index < self.0.len(), "index {index} into a table of {}", self.0.len());
        // SAFETY: the contract of `new` requires indices below the length, which never shrinks.
        unsafe { self.0.get_unchecked(index) }
    }
}

impl<T> IndexMut<usize> for Dense<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.0.len(), "index {index} into a table of {}", self.0.len());
        // SAFETY: like `index`.
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
        // SAFETY: the indices below are 0 and 1, and the table has been extended each time before they are used.
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
        // SAFETY: violated on purpose; a debug build panics.
        let table = unsafe { Dense::new(vec![1, 2]) };
        let _ = table[2];
    }
}
