//! Blocks written by a verifying job.

/// Written blocks of a region, one bit per block, and a pass over them in address order.
#[derive(Clone, Debug)]
pub(super) struct Written {
    bits: Vec<u64>,
    start: u64,
    unit: u64,
    // Maximum number of blocks per read.
    longest: u64,
    // Current block of the pass.
    at: u64,
}

impl Written {
    /// Creates the map of a region without written blocks. Writes are multiples of `unit` bytes, and reads return at
    /// most `largest` bytes.
    pub fn new(start: u64, bytes: u64, unit: u64, largest: u64) -> Written {
        let blocks = bytes.div_ceil(unit);
        Written { bits: vec![0; blocks.div_ceil(64) as usize], start, unit, longest: (largest / unit).max(1), at: 0 }
    }

    /// Marks a write.
    pub fn mark(&mut self, offset: u64, bytes: u64) {
        debug_assert!((offset - self.start).is_multiple_of(self.unit) && bytes.is_multiple_of(self.unit));
        let first = (offset - self.start) / self.unit;
        for block in first..first + bytes / self.unit {
            self.bits[(block / 64) as usize] |= 1 << (block % 64);
        }
    }

    /// Removes a trimmed range, which must not be read.
    pub fn unmark(&mut self, offset: u64, bytes: u64) {
        let first = (offset - self.start) / self.unit;
        for block in first..first + bytes.div_ceil(self.unit) {
            self.bits[(block / 64) as usize] &= !(1 << (block % 64));
        }
    }

    /// Marks all blocks as not written, and starts a new pass.
    pub fn clear(&mut self) {
        self.bits.fill(0);
        self.at = 0;
    }

    /// Returns offset and length of the pass's next read: a run of written blocks.
    pub fn next(&mut self) -> Option<(u64, u64)> {
        let mut word = (self.at / 64) as usize;
        let mut rest = self.bits.get(word)? & (u64::MAX << (self.at % 64));
        while rest == 0 {
            word += 1;
            rest = *self.bits.get(word)?;
        }
        let first = word as u64 * 64 + u64::from(rest.trailing_zeros());
        let mut end = first + 1;
        while end - first < self.longest && self.is_marked(end) {
            end += 1;
        }
        self.at = end;
        Some((self.start + first * self.unit, (end - first) * self.unit))
    }

    fn is_marked(&self, block: u64) -> bool {
        self.bits.get((block / 64) as usize).is_some_and(|word| word >> (block % 64) & 1 == 1)
    }

    /// Returns the fraction of the region that the pass has covered, from 0 to 1.
    pub fn share(&self) -> f64 {
        (self.at as f64 / (self.bits.len() * 64) as f64).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn the_pass_reads_written_blocks_once_in_order(
            writes in prop::collection::vec((0u64..300, 1u64..6), 0..80),
            longest in 1u64..9,
        ) {
            let mut written = Written::new(1 << 20, 310 * 512, 512, longest * 512);
            let mut expected = [false; 310];
            for (at, blocks) in writes {
                written.mark((1 << 20) + at * 512, blocks * 512);
                expected[at as usize..(at + blocks) as usize].fill(true);
            }
            let mut end = 0;
            let mut read = [false; 310];
            while let Some((offset, bytes)) = written.next() {
                prop_assert!(offset >= end && bytes > 0 && bytes <= longest * 512);
                end = offset + bytes;
                let first = ((offset - (1 << 20)) / 512) as usize;
                read[first..first + (bytes / 512) as usize].fill(true);
            }
            prop_assert_eq!(read, expected);
        }
    }
}
