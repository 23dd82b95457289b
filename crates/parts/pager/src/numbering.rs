//! Dense page numbers, assigned once so that policies need no hashing.

use std::collections::HashMap;

/// Numbers pages 0, 1, 2, … in order of first appearance.
///
/// This is the only place that looks up a page by its address. A long trace is numbered chunk by chunk; before each
/// chunk, policies grow ([`Policy::grow`](crate::Policy::grow)) to [`Numbering::pages`].
#[derive(Clone, Debug, Default)]
pub struct Numbering {
    number_of: HashMap<u64, u32>,
    names: Vec<u64>,
}

impl Numbering {
    /// Creates an empty numbering.
    pub fn new() -> Numbering {
        Numbering::default()
    }

    /// Returns the number of `page`.
    ///
    /// # Panics
    /// If there are more than 2^31 distinct pages.
    pub fn number(&mut self, page: u64) -> u32 {
        let fresh = self.names.len();
        let number = *self.number_of.entry(page).or_insert(fresh as u32);
        if number as usize == fresh {
            assert!(fresh < 1 << 31, "more than 2^31 different pages");
            self.names.push(page);
        }
        number
    }

    /// Numbers `pages` and appends the result to `numbers`.
    pub fn number_all(&mut self, pages: &[u64], numbers: &mut Vec<u32>) {
        numbers.reserve(pages.len());
        let mut last = None;
        for &page in pages {
            // Most requests repeat the page of the previous one.
            let number = match last {
                Some((same, number)) if same == page => number,
                _ => self.number(page),
            };
            last = Some((page, number));
            numbers.push(number);
        }
    }

    /// Returns the number of distinct pages so far: the numbers in use are `0..pages`.
    pub fn pages(&self) -> u32 {
        self.names.len() as u32
    }

    /// Returns the page with `number`, if any.
    pub fn name(&self, number: u32) -> Option<u64> {
        self.names.get(number as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense_and_in_order_of_appearance() {
        let mut numbering = Numbering::new();
        let mut numbers = Vec::new();
        numbering.number_all(&[900, 900, 7], &mut numbers);
        numbering.number_all(&[7, u64::MAX, 900], &mut numbers);
        assert_eq!(numbers, [0, 0, 1, 1, 2, 0]);
        assert_eq!(numbering.pages(), 3);
        assert_eq!((numbering.name(2), numbering.name(3)), (Some(u64::MAX), None));
    }
}
