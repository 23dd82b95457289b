//! The shared memory, as both sides access it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes per word, the unit of loads and stores.
pub const WORD: usize = 8;

/// A region of little-endian 64-bit words shared by host and device.
///
/// Words are addressed by index. All accesses are whole words, so that an implementation with atomics never mixes
/// sizes. An index outside the region panics.
pub trait Region {
    /// Returns the number of words in the region.
    fn words(&self) -> usize;

    /// Loads word `at`; `order` is `Relaxed` or `Acquire`.
    fn load(&self, at: usize, order: Ordering) -> u64;

    /// Stores word `at`; `order` is `Relaxed` or `Release`.
    fn store(&self, at: usize, value: u64, order: Ordering);

    /// Copies bytes out of the region, starting at word `at`, without any ordering of its own.
    ///
    /// # Panics
    /// If the length of `into` is not a multiple of a word.
    fn read(&self, at: usize, into: &mut [u8]) {
        let (words, rest) = into.as_chunks_mut::<WORD>();
        assert!(rest.is_empty(), "a copy must consist of whole words");
        for (index, word) in words.iter_mut().enumerate() {
            *word = self.load(at + index, Ordering::Relaxed).to_le_bytes();
        }
    }

    /// Copies bytes into the region, starting at word `at`, without any ordering of its own.
    ///
    /// # Panics
    /// If the length of `from` is not a multiple of a word.
    fn write(&self, at: usize, from: &[u8]) {
        let (words, rest) = from.as_chunks::<WORD>();
        assert!(rest.is_empty(), "a copy must consist of whole words");
        for (index, word) in words.iter().enumerate() {
            self.store(at + index, u64::from_le_bytes(*word), Ordering::Relaxed);
        }
    }
}

/// Memory shared between threads or, through a mapping, between processes.
///
/// Data words are relaxed atomics, ordered by the entry that is published after them.
impl Region for [AtomicU64] {
    fn words(&self) -> usize {
        self.len()
    }

    fn load(&self, at: usize, order: Ordering) -> u64 {
        u64::from_le(self[at].load(order))
    }

    fn store(&self, at: usize, value: u64, order: Ordering) {
        self[at].store(value.to_le(), order);
    }
}

/// Memory of one thread that simulates both sides. Program order suffices.
impl Region for [Cell<u64>] {
    fn words(&self) -> usize {
        self.len()
    }

    fn load(&self, at: usize, _: Ordering) -> u64 {
        u64::from_le(self[at].get())
    }

    fn store(&self, at: usize, value: u64, _: Ordering) {
        self[at].set(value.to_le());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the same accesses through any region.
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
    fn copying_a_partial_word_panics() {
        [const { AtomicU64::new(0) }; 4].as_slice().write(0, &[0; 12]);
    }
}
