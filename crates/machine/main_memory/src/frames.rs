//! Physical frames as an operating system's allocator leaves them: consecutive pages of a program are scattered over
//! memory.
//!
//! The permutation is computed rather than stored: a Feistel network over frame numbers, rounded up to a power of two,
//! applied until it yields a valid frame (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002).

use sim::Streams;
use system::System;

const ROUNDS: usize = 4;

/// A permutation of a memory's frames.
#[derive(Clone, Debug)]
pub struct Frames {
    /// Binary logarithm of the frame size.
    shift: u32,
    count: u64,
    /// Bits of each half of a frame number.
    halves: [u32; 2],
    keys: [u64; ROUNDS],
}

impl Frames {
    /// Returns the frames of `system`; `None` if addresses are physical.
    pub fn of(system: &System, streams: &Streams) -> Option<Frames> {
        system.memory.frames.map(|bytes| Frames::new(bytes, system.usable_memory(), streams))
    }

    /// Creates frames of `bytes`, a power of two, in a memory of `memory` bytes. A remainder at its end stays in place.
    pub fn new(bytes: u64, memory: u64, streams: &Streams) -> Frames {
        let count = memory / bytes;
        let bits = count.next_power_of_two().trailing_zeros().max(2);
        let mut rng = streams.stream("memory.frames");
        Frames {
            shift: bytes.trailing_zeros(),
            count,
            halves: [bits / 2, bits - bits / 2],
            keys: std::array::from_fn(|_| rng.bits()),
        }
    }

    /// Returns the physical address.
    pub fn place(&self, address: u64) -> u64 {
        let mut frame = address >> self.shift;
        if frame >= self.count {
            return address;
        }
        loop {
            frame = self.permute(frame);
            if frame < self.count {
                return frame << self.shift | address & ((1 << self.shift) - 1);
            }
        }
    }

    /// Permutes all numbers with this many bits.
    fn permute(&self, number: u64) -> u64 {
        let [mut low_bits, mut high_bits] = self.halves;
        let (mut low, mut high) = (number & ((1 << low_bits) - 1), number >> low_bits);
        for key in self.keys {
            // The upper bits of a product depend on all bits of its factors.
            let mixed = (low ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
            high ^= mixed >> (64 - high_bits);
            (low, high) = (high, low);
            (low_bits, high_bits) = (high_bits, low_bits);
        }
        high << low_bits | low
    }

    /// Splits `[address, address + bytes)` into parts that stay contiguous: the physical address and bytes of each.
    pub fn parts(&self, address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (end, frame) = (address + bytes, 1 << self.shift);
        let next = move |at: u64| (at / frame + 1) * frame;
        std::iter::successors((bytes > 0).then_some(address), move |at| Some(next(*at)).filter(|at| *at < end))
            .map(move |at| (self.place(at), next(at).min(end) - at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_is_used_once() {
        for count in [1, 2, 3, 5, 64, 1000, 4097] {
            let frames = Frames::new(4096, count * 4096 + 100, &Streams::new(1));
            let mut places: Vec<u64> = (0..count).map(|frame| frames.place(frame * 4096 + 7)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..count).map(|frame| frame * 4096 + 7).collect::<Vec<_>>(), "{count} frames");
            assert_eq!(frames.place(count * 4096 + 64), count * 4096 + 64, "beyond {count} frames");
        }
    }

    #[test]
    fn neighbors_lie_as_far_apart_as_random_frames() {
        let count = 1 << 20;
        let frames = Frames::new(4096, count * 4096, &Streams::new(1));
        let apart = |frame: u64| frames.place(frame * 4096).abs_diff(frames.place((frame + 1) * 4096)) as f64;
        let mean = (0..100_000).map(apart).sum::<f64>() / 1e5 / 4096.0 / count as f64;
        // Two random points on a line are a third of its length apart on average.
        assert!((mean - 1.0 / 3.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn parts_are_what_their_bytes_are() {
        let frames = Frames::new(65536, 10 << 20, &Streams::new(1));
        for (address, bytes) in [(0, 1), (65535, 2), (70000, 400_000), (65536, 65536), (5, 0)] {
            let found: Vec<u64> = frames.parts(address, bytes).flat_map(|(at, bytes)| at..at + bytes).collect();
            let wanted: Vec<u64> = (address..address + bytes).map(|byte| frames.place(byte)).collect();
            assert_eq!(found, wanted, "{bytes} from {address}");
        }
    }
}
