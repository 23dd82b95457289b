//! The bit vector: the places of a page's segments in a block (NVMM, "Use of the Bit Vector's Sub-Page Valid Bits").
//!
//! Bit i stands for the flash page i after the starting one, and for segment i modulo the segments per page. With the
//! paper's eight segments of 8 KB, a segment lies in its first position or 8, 16 or 24 flash pages further. Flash pages
//! wrap around within the block, so any segment finds a place while the block has a free page. (The paper's examples
//! never reach a block's end.)

use std::fmt;

/// 32 bits; the first is bit 0.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Vector(pub u32);

/// Bits of a vector: the flash pages within reach of a starting page.
pub const REACH: u32 = 32;

impl Vector {
    /// No segment.
    pub const NONE: Vector = Vector(0);

    /// Returns the bits in the paper's order, where the first is the most significant.
    pub const fn printed(self) -> u32 {
        self.0.reverse_bits()
    }

    /// Builds a vector from the paper's notation.
    pub const fn from_printed(bits: u32) -> Vector {
        Vector(bits.reverse_bits())
    }

    /// Returns its segments, one bit each, for pages of `segments` (4, 8 or 16) segments.
    pub const fn segments(self, segments: u32) -> u32 {
        let mut folded = self.0 | self.0 >> 16;
        if segments <= 8 {
            folded |= folded >> 8;
        }
        if segments <= 4 {
            folded |= folded >> 4;
        }
        folded & ((1 << segments) - 1)
    }

    /// Returns all bits that stand for the segments of `mask`.
    pub const fn of_segments(mask: u32, segments: u32) -> Vector {
        let mut bits = mask;
        let mut shift = segments;
        while shift < REACH {
            bits |= bits << shift;
            shift *= 2;
        }
        Vector(bits)
    }

    /// Returns the distance of `segment` from the starting page, if it is present.
    pub fn distance(self, segment: u32, segments: u32) -> Option<u32> {
        let bits = self.0 & Vector::of_segments(1 << segment, segments).0;
        (bits != 0).then(|| bits.trailing_zeros())
    }

    /// Returns the set bits, ascending.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let bit = rest.trailing_zeros();
            (rest != 0).then(|| {
                rest &= rest - 1;
                bit
            })
        })
    }

    /// Returns the number of segments.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }
}

/// Returns the set bits of `word`, ascending.
pub(crate) fn bits(word: u64) -> impl Iterator<Item = u32> {
    Vector(word as u32).iter().chain(Vector((word >> 32) as u32).iter().map(|bit| bit + 32))
}

/// Formats like the paper, in groups of eight bits.
impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.printed().to_be_bytes();
        write!(f, "{a:08b} {b:08b} {c:08b} {d:08b}")
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_and_bits_agree_for_every_size() {
        for segments in [4, 8, 16] {
            for bit in 0..REACH {
                let vector = Vector(1 << bit);
                assert_eq!(vector.segments(segments), 1 << (bit % segments));
                assert_eq!(vector.distance(bit % segments, segments), Some(bit));
                assert_ne!(Vector::of_segments(1 << (bit % segments), segments).0 & vector.0, 0);
            }
            let all = Vector::of_segments((1 << segments) - 1, segments);
            assert_eq!(all.0, u32::MAX);
            assert_eq!(Vector::of_segments(1, segments).count(), REACH / segments);
        }
    }

    #[test]
    fn it_prints_as_the_paper_does() {
        assert_eq!(Vector(0xff).to_string(), "11111111 00000000 00000000 00000000");
        let printed = 0b11101101_00010000_00000010_00000000;
        assert_eq!(Vector::from_printed(printed).to_string(), "11101101 00010000 00000010 00000000");
        assert_eq!(Vector::from_printed(printed).segments(8), 0xff);
    }
}
