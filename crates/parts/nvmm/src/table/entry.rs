//! An entry of the page table: 16 bytes (NVMM, "Page Table Organization").

use crate::table::status::Status;
use crate::table::vector::Vector;

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 16;
/// Bits of the flash page mapping.
pub const MAPPING_BITS: u32 = 34;
/// Bits of the previous mapping index: up to 1 Gi entries.
pub const INDEX_BITS: u32 = 30;
/// Bits of the time written.
pub const TIME_BITS: u32 = 24;

/// One version of a page, or a part of one. The fields are in the paper's order, the first in the most significant of
/// 128 bits; in memory and in flash the word is little-endian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The flash page of bit 0 of the vector, numbered over all blocks; in an entry without data, the number of the
    /// page's owner. 34 bits.
    pub mapping: u64,
    /// Index of the previous version's entry; 0: none (index 0 is page 0's own entry). 30 bits.
    pub previous: u32,
    /// The segments of this version, and their places.
    pub vector: Vector,
    /// The sync epoch in which it was written. 24 bits.
    pub time: u32,
    /// State and permissions of the page, until a newer version.
    pub status: Status,
}

impl Entry {
    /// Encodes the entry as 128 bits.
    pub fn bits(self) -> u128 {
        debug_assert!(
            self.mapping < 1 << MAPPING_BITS && self.previous < 1 << INDEX_BITS && self.time < 1 << TIME_BITS
        );
        u128::from(self.mapping) << 94
            | u128::from(self.previous) << 64
            | u128::from(self.vector.printed()) << 32
            | u128::from(self.time) << 8
            | u128::from(self.status.0)
    }

    /// Decodes an entry from 128 bits.
    pub fn from_bits(bits: u128) -> Entry {
        Entry {
            mapping: (bits >> 94) as u64,
            previous: (bits >> 64) as u32 & ((1 << INDEX_BITS) - 1),
            vector: Vector::from_printed((bits >> 32) as u32),
            time: (bits >> 8) as u32 & ((1 << TIME_BITS) - 1),
            status: Status(bits as u8),
        }
    }

    /// Returns whether it has data in flash.
    pub fn has_data(&self) -> bool {
        self.vector != Vector::NONE && !self.status.is_holder()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_their_bits() {
        assert_eq!(MAPPING_BITS + INDEX_BITS + 32 + TIME_BITS + 8, 128);
        let full = Entry {
            mapping: (1 << 34) - 1,
            previous: (1 << 30) - 1,
            vector: Vector(u32::MAX),
            time: (1 << 24) - 1,
            status: Status(u8::MAX),
        };
        assert_eq!(full.bits(), u128::MAX);
        let none = Entry::default();
        assert_eq!(none.bits(), 0);
        let fields = [
            (Entry { mapping: full.mapping, ..none }, 94, 34),
            (Entry { previous: full.previous, ..none }, 64, 30),
            (Entry { vector: full.vector, ..none }, 32, 32),
            (Entry { time: full.time, ..none }, 8, 24),
            (Entry { status: full.status, ..none }, 0, 8),
        ];
        for (entry, at, width) in fields {
            assert_eq!(entry.bits(), ((1u128 << width) - 1) << at);
            assert_eq!(Entry::from_bits(entry.bits()), entry);
        }
        assert_eq!(ENTRY_BYTES * 8, 128);
    }

    #[test]
    fn the_first_bit_of_the_vector_is_printed_first() {
        let entry = Entry { vector: Vector(1), ..Entry::default() };
        assert_eq!(entry.bits(), 1 << 63);
    }
}
