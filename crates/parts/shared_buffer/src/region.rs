//! The shared bytes, as either side sees them.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a word: what is loaded or stored at once.
pub const WORD: usize = 8;

/// A region of little-endian 64-bit words that host and device share.
///
/// Words are addressed by index, not by byte. All accesses are of whole words, so that an implementation over atomics
/// never mixes sizes. An index outside the region panics.
pub trait Region {
    /// The region's words.
    fn words(&self) -> usize;

    /// Loads word `at`; `order` is `Relaxed` or `Acquire`.
    fn load(&self, at: usize, order: Ordering) -> u64;

    /// Stores word `at`; `order` is `Relaxed` or `Release`.
    fn store(&self, at: usize, value: u64, order: Ordering);

    /// Copies out of the region, from word `at` on, without any ordering of its own.
    ///
    /// # Panics
    /// If `into` is not whole words.
    fn read(&self, at: usize, into: &mut [u8]) {
        let (words, rest) = into.as_chunks_mut::<WORD>();
        assert!(rest.is_empty(), "a copy of whole words");
        for (index, word) in words.iter_mut().enumerate() {
            *word = self.load(at + index, Ordering::Relaxed).to_le_bytes();
        }
    }

    /// Copies into the region, from word `at` on, without any ordering of its own.
    ///
    /// # Panics
    /// If `from` is not whole words.
    fn write(&self, at: usize, from: &[u8]) {
        let (words, rest) = from.as_chunks::<WORD>();
        assert!(rest.is_empty(), "a copy of whole words");
        for (index, word) in words.iter().enumerate() {
            self.store(at + index, u64::from_le_bytes(*word), Ordering::Relaxed);
        }
    }
}

/// Memory shared between threads or, mapped, between processes.
///
/// Data words are relaxed atomics: what orders them is the entry that is published after them.
impl Region for [AtomicU64] {
    #[inline]
    fn words(&self) -> usize {
        self.len()
    }

    #[inline]
    fn load(&self, at: usize, order: Ordering) -> u64 {
        u64::from_le(self[at].load(order))
    }

    #[inline]
    fn store(&self, at: usize, value: u64, order: Ordering) {
        self[at].store(value.to_le(), order);
    }
}

/// Memory of one thread, where both sides are simulated: program order is order enough.
impl Region for [Cell<u64>] {
    #[inline]
    fn words(&self) -> usize {
        self.len()
    }

    #[inline]
    fn load(&self, at: usize, _: Ordering) -> u64 {
        u64::from_le(self[at].get())
    }

    #[inline]
    fn store(&self, at: usize, value: u64, _: Ordering) {
        self[at].set(value.to_le());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same accesses through any region.
    fn exercise<R: Region + ?Sized>(region: &R) {
        assert_eq!(region.words(), 4);
        region.store(1, 0x0807_0605_0403_0201, Ordering::Release);
        assert_eq!(region.load(1, Ordering::Acquire), 0x0807_0605_0403_0201);
        let mut bytes = [0; 16];
        region.read(1, &mut bytes);
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0], "little-endian");
        region.write(2, &bytes);
        assert_eq!(region.load(2, Ordering::Relaxed), 0x0807_0605_0403_0201);
        assert_eq!(region.load(3, Ordering::Relaxed), 0);
    }

    #[test]
    fn words_are_little_endian() {
        exercise([const { AtomicU64::new(0) }; 4].as_slice());
        exercise([const { Cell::new(0) }; 4].as_slice());
    }

    #[test]
    #[should_panic(expected = "whole words")]
    fn a_part_of_a_word_is_refused() {
        [const { AtomicU64::new(0) }; 4].as_slice().write(0, &[0; 12]);
    }
}
