//! Tables that grow and never shrink, indexed by numbers of one kind.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// A number that counts the entries of a table from zero.
pub trait Number: Copy {
    /// Returns the number's place in its table.
    fn place(self) -> usize;
}

impl Number for usize {
    #[inline]
    fn place(self) -> usize {
        self
    }
}

/// A vector that never shrinks, indexed by numbers `N`. Each access checks its index, in release builds too.
///
/// A number is no proof that its entry exists: it may come from a larger table. A part that shows in its callgrind
/// profile that a check costs too much may use [`slice::get_unchecked`] in the file that owns the table, where its own
/// private state or a check at the public entry proves the index.
pub struct Dense<T, N = usize> {
    items: Vec<T>,
    number: PhantomData<fn(N)>,
}

impl<T, N> Dense<T, N> {
    /// Creates a table of `items`.
    #[inline]
    pub const fn new(items: Vec<T>) -> Dense<T, N> {
        Dense { items, number: PhantomData }
    }

    /// Appends an item.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// Appends copies of `item` until the length is at least `length`.
    pub fn grow(&mut self, length: usize, item: T)
    where
        T: Clone,
    {
        if length > self.items.len() {
            self.items.resize(length, item);
        }
    }
}

impl<T, N: Number> Dense<T, N> {
    /// Returns `length` items starting at `from`.
    ///
    /// # Panics
    /// If the table ends before them.
    #[inline]
    pub fn part(&self, from: N, length: usize) -> &[T] {
        let from = from.place();
        match self.items.get(from..from.wrapping_add(length)) {
            Some(part) => part,
            None => self.part_beyond(from, length),
        }
    }

    /// Like [`part`](Self::part), but mutable.
    ///
    /// # Panics
    /// If the table ends before them.
    #[inline]
    pub fn part_mut(&mut self, from: N, length: usize) -> &mut [T] {
        let from = from.place();
        let end = from.wrapping_add(length);
        if from > end || end > self.items.len() {
            self.part_beyond(from, length);
        }
        &mut self.items[from..end]
    }
}

impl<T, N: Number> Index<N> for Dense<T, N> {
    type Output = T;

    #[inline]
    fn index(&self, number: N) -> &T {
        match self.items.get(number.place()) {
            Some(item) => item,
            None => self.beyond(number.place()),
        }
    }
}

impl<T, N: Number> IndexMut<N> for Dense<T, N> {
    #[inline]
    fn index_mut(&mut self, number: N) -> &mut T {
        let place = number.place();
        if place >= self.items.len() {
            self.beyond(place);
        }
        &mut self.items[place]
    }
}

/// The number of a table's entries, which is read when it is printed.
///
/// Panics stand apart and receive the table instead of this number: a check is then a single comparison with memory,
/// which occupies no register.
struct Count<'a, T>(&'a Vec<T>);

impl<T> fmt::Display for Count<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.len().fmt(f)
    }
}

impl<T, N> Dense<T, N> {
    fn beyond(&self, index: usize) -> ! {
        panic!("index {index} into a table of {}", Count(&self.items))
    }

    fn part_beyond(&self, from: usize, length: usize) -> ! {
        panic!("{length} items from {from} of a table of {}", Count(&self.items))
    }
}

impl<T, N> Deref for Dense<T, N> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T, N> DerefMut for Dense<T, N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<'a, T, N> IntoIterator for &'a Dense<T, N> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'a, T, N> IntoIterator for &'a mut Dense<T, N> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter_mut()
    }
}

impl<T: Clone, N> Clone for Dense<T, N> {
    fn clone(&self) -> Dense<T, N> {
        Dense::new(self.items.clone())
    }
}

impl<T: fmt::Debug, N> fmt::Debug for Dense<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

impl<T: PartialEq, N> PartialEq for Dense<T, N> {
    fn eq(&self, other: &Dense<T, N>) -> bool {
        self.items == other.items
    }
}

impl<T: Eq, N> Eq for Dense<T, N> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_grows_and_never_shrinks() {
        let mut table: Dense<i32> = Dense::new(vec![7]);
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
    #[should_panic(expected = "index 2 into a table of 2")]
    fn an_index_beyond_the_table_panics() {
        let table: Dense<i32> = Dense::new(vec![1, 2]);
        let _ = table[2];
    }

    #[test]
    #[should_panic(expected = "index 2 into a table of 2")]
    fn a_write_beyond_the_table_panics() {
        let mut table: Dense<i32> = Dense::new(vec![1, 2]);
        table[2] = 3;
    }

    #[test]
    #[should_panic(expected = "2 items from 1 of a table of 2")]
    fn a_part_beyond_the_table_panics() {
        let table: Dense<i32> = Dense::new(vec![1, 2]);
        let _ = table.part(1, 2);
    }

    #[test]
    #[should_panic(expected = "items from 1 of a table of 2")]
    fn a_part_whose_end_overflows_panics() {
        let mut table: Dense<i32> = Dense::new(vec![1, 2]);
        table.part_mut(1, usize::MAX)[0] = 3;
    }
}
