//! Request buffers for direct I/O: aligned, and filled with data that no controller can compress or deduplicate.

use direct::{ALIGNMENT, aligned};
use sim::{Rng, Streams};

/// Stamp interval in bytes: each sector of this size gets a unique stamp.
const STAMPED: usize = 512;

/// One buffer per outstanding request, each as long as the longest request so far.
#[derive(Debug)]
pub(crate) struct Buffers {
    memory: Vec<Vec<u8>>,
    bytes: usize,
    random: Rng,
    stamp: u64,
}

impl Buffers {
    /// Creates an empty set of buffers. The random content depends only on `seed`.
    pub(crate) fn new(seed: u64) -> Buffers {
        let random = Streams::new(seed).stream("probe.block.data");
        Buffers { memory: Vec::new(), bytes: 0, random, stamp: 0 }
    }

    /// Takes the buffers out. The caller puts them back when no request uses them any more; until then `self` uses a
    /// different range of stamps.
    pub(crate) fn take(&mut self) -> Buffers {
        let left = Buffers {
            memory: Vec::new(),
            bytes: 0,
            random: self.random.clone(),
            stamp: self.stamp.wrapping_add(1 << 40),
        };
        std::mem::replace(self, left)
    }

    /// Ensures that there are `count` buffers of at least `bytes` bytes each.
    pub(crate) fn reserve(&mut self, count: usize, bytes: usize) {
        if bytes > self.bytes {
            self.memory.clear();
            self.bytes = bytes;
        }
        while self.memory.len() < count {
            let mut memory = vec![0; self.bytes + ALIGNMENT];
            for word in memory.chunks_exact_mut(8) {
                word.copy_from_slice(&self.random.bits().to_le_bytes());
            }
            self.memory.push(memory);
        }
    }

    /// Returns the first `bytes` bytes of buffer `index`.
    ///
    /// # Panics
    /// If the buffer was not reserved with this size.
    pub(crate) fn get(&mut self, index: usize, bytes: usize) -> &mut [u8] {
        aligned(&mut self.memory[index], bytes)
    }

    /// Returns the first `bytes` bytes of every buffer.
    pub(crate) fn all(&mut self, bytes: usize) -> impl Iterator<Item = &mut [u8]> {
        self.memory.iter_mut().map(move |memory| aligned(memory, bytes))
    }

    /// Like [`Buffers::get`], with content that was never written before: incompressible, with a unique stamp in each
    /// sector.
    pub(crate) fn fresh(&mut self, index: usize, bytes: usize) -> &mut [u8] {
        let first = self.stamp;
        let sectors = bytes.div_ceil(STAMPED);
        self.stamp += sectors as u64;
        let buffer = self.get(index, bytes);
        stamp(buffer, first);
        buffer
    }

    /// Reserves the stamps for a write of `bytes` bytes and returns the first.
    pub(crate) fn stamps(&mut self, bytes: usize) -> u64 {
        let first = self.stamp;
        self.stamp += bytes.div_ceil(STAMPED) as u64;
        first
    }
}

/// Writes consecutive stamps into the sectors of `buffer`, scrambled so that sectors do not resemble each other.
pub(crate) fn stamp(buffer: &mut [u8], first: u64) {
    for (sector, number) in buffer.chunks_exact_mut(STAMPED).zip(first..) {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number.rotate_left(32);
        sector[..8].copy_from_slice(&mixed.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_grow() {
        let mut buffers = Buffers::new(1);
        for (count, bytes) in [(1, 512), (3, 512), (2, 1 << 20), (4, 4096)] {
            buffers.reserve(count, bytes);
            for index in 0..count {
                let buffer = buffers.get(index, bytes);
                assert_eq!((buffer.as_ptr() as usize % ALIGNMENT, buffer.len()), (0, bytes));
            }
        }
    }

    #[test]
    fn no_two_sectors_are_alike() {
        let mut buffers = Buffers::new(1);
        buffers.reserve(1, 64 << 10);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..4 {
            for sector in buffers.fresh(0, 64 << 10).chunks_exact(512) {
                assert!(seen.insert(sector.to_vec()));
            }
        }
    }

    #[test]
    fn byte_values_are_uniformly_distributed() {
        let mut buffers = Buffers::new(7);
        buffers.reserve(1, 1 << 20);
        let mut counts = [0_u32; 256];
        buffers.fresh(0, 1 << 20).iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        // Each value is expected 4096 times, with a standard deviation of 64.
        assert!(counts.iter().all(|count| (3700..4500).contains(count)), "{counts:?}");
    }
}
