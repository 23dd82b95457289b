//! Mapping of physical addresses to channels: regions of the address space, each interleaved over some channels.
//!
//! [`Region::granularity`] determines what a device's buffer can be (`drambus` 7.2). If the buffer's region is
//! interleaved over several channels, each stripe of it is followed by as many bytes of the others. A buffer smaller
//! than a stripe then leaves the rest of its group unused, and a larger one appears in scattered stripes, which no
//! driver can use. A region of its own over one channel keeps the buffer contiguous and leaves the interleaving of the
//! DRAM free.

use crate::device::fold;

/// A range of physical addresses, interleaved over channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// First address, a multiple of the granularity.
    pub base: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// The channels in interleaving order.
    pub channels: Vec<u32>,
    /// Bytes per channel and turn: a power of two.
    pub granularity: u64,
    /// Start of the region in each channel's own addresses.
    pub local: u64,
    /// True if higher address bits permute the channels of each round ([`fold`]), so that streams a power of two apart
    /// do not meet on one channel. The number of channels must then be a power of two.
    pub hashed: bool,
}

/// A range of one channel's own addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// The channel.
    pub channel: u32,
    /// First address in the channel.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
}

/// An end of a range: the number of full rounds before it, the bytes of the round in which it is, and the value that
/// channel numbers of this round are XORed with.
pub(crate) struct End {
    rounds: u64,
    rest: u64,
    permutation: usize,
}

impl Region {
    /// Returns true if the region contains `[address, address + bytes)`.
    pub fn holds(&self, address: u64, bytes: u64) -> bool {
        address >= self.base && bytes <= self.bytes && address - self.base <= self.bytes - bytes
    }

    /// Returns the place of `[address, address + bytes)` if it is within one stripe.
    #[inline]
    pub fn whole(&self, address: u64, bytes: u64) -> Option<Local> {
        let (offset, count) = (address - self.base, self.channels.len());
        let within = offset & (self.granularity - 1);
        if within + bytes > self.granularity || !count.is_power_of_two() {
            return None;
        }
        let piece = offset >> self.granularity.trailing_zeros();
        let round = piece >> count.trailing_zeros();
        let channel = self.channels[(piece as usize ^ self.permutation(round)) & (count - 1)];
        Some(Local { channel, address: self.local + (round << self.granularity.trailing_zeros()) + within, bytes })
    }

    /// Returns the value that channel numbers are XORed with in a round. Only its lowest bits are meaningful.
    #[inline]
    fn permutation(&self, round: u64) -> usize {
        if self.hashed { fold(round, self.channels.len().trailing_zeros()) as usize } else { 0 }
    }

    /// Returns the part of `[address, address + bytes)` on the `turn`th of the channels. It is always one range, which
    /// may be empty.
    pub fn part(&self, address: u64, bytes: u64, turn: usize) -> Local {
        self.part_between(&self.ends(address, bytes), turn)
    }

    /// Returns the begin and the end of `[address, address + bytes)`.
    pub(crate) fn ends(&self, address: u64, bytes: u64) -> [End; 2] {
        let offset = address - self.base;
        [self.end(offset), self.end(offset + bytes)]
    }

    /// Returns the end of the region's first `bytes`.
    fn end(&self, bytes: u64) -> End {
        let round = self.granularity * self.channels.len() as u64;
        let (rounds, rest) = (bytes / round, bytes % round);
        let permutation = self.permutation(rounds) & (self.channels.len() - 1);
        End { rounds, rest, permutation }
    }

    /// Returns the part between two [ends](Self::ends) on the `turn`th of the channels.
    #[inline]
    pub(crate) fn part_between(&self, [begin, end]: &[End; 2], turn: usize) -> Local {
        let (from, to) = (self.before(begin, turn), self.before(end, turn));
        Local { channel: self.channels[turn], address: self.local + from, bytes: to - from }
    }

    /// Returns how many of the region's bytes before an end are on the `turn`th channel.
    #[inline]
    fn before(&self, end: &End, turn: usize) -> u64 {
        let others = (turn ^ end.permutation) as u64 * self.granularity;
        end.rounds * self.granularity + end.rest.saturating_sub(others).min(self.granularity)
    }

    /// Returns the stripes of the channel at `turn` in the region's addresses, as `(address, bytes)` for its first
    /// `bytes` bytes.
    ///
    /// # Panics
    /// If there are no more channels than `turn`.
    pub fn pieces(&self, turn: usize, bytes: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        assert!(turn < self.channels.len(), "turn {turn} of {}", self.channels.len());
        let round = self.granularity * self.channels.len() as u64;
        let pieces = bytes.div_ceil(self.granularity);
        (0..pieces).map(move |piece| {
            let turn = turn ^ (self.permutation(piece) & (self.channels.len() - 1));
            let address = self.base + piece * round + turn as u64 * self.granularity;
            (address, self.granularity.min(bytes - piece * self.granularity))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the obvious implementation, byte by byte.
        #[test]
        fn parts_are_what_the_bytes_say(
            from in 0u64..600, bytes in 1u64..600, bits in 0u32..3, grain in 0u32..7, hashed: bool,
        ) {
            let channels: Vec<u32> = (0..1 << bits).collect();
            let n = channels.len() as u64;
            let granularity = 1u64 << grain;
            let region = Region { base: 4096, bytes: 4096, channels, granularity, local: 64, hashed };
            // Each round of stripes covers all channels, in an order that depends on the round's number.
            let parity = |round: u64| (0..64).step_by(bits.max(1) as usize).fold(0, |sum, at| sum ^ round >> at);
            let order = |round: u64| if hashed && bits > 0 { parity(round) % n } else { 0 };
            for turn in 0..n {
                let mine: Vec<u64> = (from..from + bytes)
                    .filter(|byte| (byte / granularity % n) ^ order(byte / granularity / n) == turn)
                    .map(|byte| 64 + byte / granularity / n * granularity + byte % granularity)
                    .collect();
                let part = region.part(4096 + from, bytes, turn as usize);
                prop_assert_eq!(part.bytes, mine.len() as u64);
                if let Some(whole) = region.whole(4096 + from, bytes) {
                    let here = whole.channel == turn as u32;
                    prop_assert_eq!(part.bytes, if here { bytes } else { 0 });
                    prop_assert!(!here || (whole.address, whole.bytes) == (part.address, part.bytes));
                }
                if let Some(first) = mine.first() {
                    prop_assert_eq!(part.address, *first);
                    prop_assert!(mine.windows(2).all(|pair| pair[1] == pair[0] + 1));
                }
            }
        }
    }

    #[test]
    fn a_small_granularity_scatters_a_buffer() {
        // 7.2: interleaved by cache blocks, a buffer of 4 KiB appears as 64 stripes; in a region of its own it is
        // contiguous.
        let spread = Region { base: 0, bytes: 1 << 20, channels: vec![0, 1], granularity: 64, local: 0, hashed: false };
        assert_eq!(spread.pieces(1, 4096).count(), 64);
        assert_eq!(spread.pieces(1, 4096).nth(1), Some((192, 64)));
        let alone =
            Region { base: 0, bytes: 1 << 20, channels: vec![1], granularity: 1 << 20, local: 0, hashed: false };
        assert_eq!(alone.pieces(0, 4096).collect::<Vec<_>>(), [(0, 4096)]);
    }
}
