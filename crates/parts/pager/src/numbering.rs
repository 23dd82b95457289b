//! Pages numbered densely, once, so that no policy hashes.

use std::collections::HashMap;

/// Gives pages the numbers 0, 1, 2, … in the order in which they first appear.
///
/// The one place where a page is looked up by its address; a long trace is numbered chunk by chunk, and the policies
/// grow ([`Policy::grow`](crate::Policy::grow)) by [`Numbering::pages`] before they see a chunk.
#[derive(Clone, Debug, Default)]
pub struct Numbering {
    number_of: HashMap<u64, u32>,
    names: Vec<u64>,
}

impl Numbering {
    /// No page seen yet.
    pub fn new() -> Numbering {
        Numbering::default()
    }

    /// The number of `page`.
    ///
    /// # Panics
    /// Beyond 2^31 different pages.
    pub fn number(&mut self, page: u64) -> u32 {
        let fresh = self.names.len();
        let number = *self.number_of.entry(page).or_insert(fresh as u32);
        if number as usize == fresh {
            assert!(fresh < 1 << 31, "more than 2^31 different pages");
            self.names.push(page);
        }
        number
    }

    /// Numbers `pages`, appending to `numbers`.
    pub fn number_all(&mut self, pages: &[u64], numbers: &mut Vec<u32>) {
        numbers.reserve(pages.len());
        let mut last = None;
        for &page in pages {
            // Most requests are for the page of the one before.
            let number = match last {
                Some((same, number)) if same == page => number,
                _ => self.number(page),
            };
            last = Some((page, number));
            numbers.push(number);
        }
    }

    /// Different pages so far: the numbers in use are `0..pages`.
    pub fn pages(&self) -> u32 {
        self.names.len() as u32
    }

    /// The page that has `number`, if one has.
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
