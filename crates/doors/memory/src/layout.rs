//! How a memory lies in its file: two superblocks, two records of the newest commit, a table of checksums, blocks.
//!
//! ```text
//! 0       superblock, and a copy at 4 KiB
//! 8 KiB   record of the newest commit, by turns with one at 12 KiB
//! 16 KiB  mark: the generation of readers beside the writer, who lose what they read when it grows
//! 64 KiB  checksums: a row a block
//! ...     blocks, each of pages; behind them the second copies of those that hold the controller's own state
//! ```
//!
//! All numbers are little-endian. Superblock: magic, format, the words of [`Shape`], a checksum of what is before it. Record: magic,
//! root, group, checksum. Mark: magic, generation, checksum; zeros are generation 0. What lies in the blocks is the controller's own affair ([`nvmm`]).

use media::Geometry;
use nvmm::{Config, Controller, Order, Policy};
use xxhash_rust::xxh3::xxh3_64;

use crate::PAGE_BYTES;

/// Of this program.
pub(crate) const FORMAT: u32 = 1;
/// Bytes of a superblock and of a record.
pub(crate) const UNIT: u64 = 4096;
/// Where the records are, by turns.
pub(crate) const RECORDS: [u64; 2] = [2 * UNIT, 3 * UNIT];
/// Where the mark is.
pub(crate) const MARK: u64 = 4 * UNIT;
const SUMS: u64 = 64 << 10;
const MAGIC: &[u8; 8] = b"nandram\x01";
const RECORD: &[u8; 8] = b"nandramC";
const READERS: &[u8; 8] = b"nandramR";

/// What a memory was made with, and what never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a segment, the unit that is read and written: a power of two.
    pub segment_bytes: u32,
    /// Segments a page: 4, 8 or 16.
    pub segments: u32,
    /// Segments a block.
    pub block_segments: u32,
    /// Blocks.
    pub blocks: u32,
    /// Pages, the catalog's included.
    pub pages: u32,
    /// Table entries for older versions.
    pub versions: u32,
    /// Tokens that may be live at a time.
    pub tokens: u32,
    /// Segments of journal after which the table is checkpointed.
    pub journal: u32,
}

/// What is in a superblock, or why it is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Superblock {
    Good(Shape),
    /// Another format than ours.
    Format(u32),
    /// Nothing like it.
    Foreign,
    Damaged,
}

/// A memory, as its file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// What it was made with.
    pub shape: Shape,
    /// Bytes that can be allocated.
    pub capacity: u64,
    /// Bytes of the file, of which those that hold nothing take no space.
    pub file_bytes: u64,
}

impl Shape {
    /// A memory of `capacity` bytes, whose versions and table have `space` bytes in the file, those that are set aside to collect
    /// with included.
    pub fn of(capacity: u64, space: u64, tokens: u32) -> Result<Shape, String> {
        let (segment_bytes, segments, block_segments) = (4096u32, 16, 256);
        if capacity == 0 || capacity > 4 << 40 {
            return Err(format!("capacity is {capacity} bytes, expected 1 byte to 4 TiB"));
        }
        let pages = capacity.div_ceil(PAGE_BYTES) as u32 + 1;
        // A page's segments may have been written one by one: their entries are put together when they become short.
        let versions = (8 * pages).max(4096);
        let mut shape =
            Shape { segment_bytes, segments, block_segments, blocks: 0, pages, versions, tokens, journal: 1024 };
        let block = shape.block_bytes();
        if space < capacity {
            return Err(format!("space is {space} bytes, expected at least the capacity, {capacity}"));
        }
        // What is set aside depends on how many blocks there are, a little.
        let data = space.div_ceil(block) as u32;
        shape.blocks = data;
        while shape.blocks < data + shape.config().overhead_blocks() {
            shape.blocks = data + shape.config().overhead_blocks();
        }
        Ok(shape)
    }

    /// Bytes that can be allocated.
    pub fn capacity(&self) -> u64 {
        u64::from(self.pages - 1) * self.page_bytes()
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        u64::from(self.segments) * u64::from(self.segment_bytes)
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> u64 {
        u64::from(self.block_segments) * u64::from(self.segment_bytes)
    }

    /// Bytes of a row of checksums.
    pub(crate) fn row_bytes(&self) -> u64 {
        (u64::from(self.block_segments) * 8).next_multiple_of(u64::from(self.segment_bytes).min(UNIT))
    }

    /// Where the row of a block is.
    #[doc(hidden)]
    pub fn row(&self, block: u32) -> u64 {
        SUMS + u64::from(block) * self.row_bytes()
    }

    /// Blocks that are there twice.
    #[doc(hidden)]
    pub fn own_blocks(&self) -> u32 {
        self.config().own_blocks()
    }

    fn data(&self) -> u64 {
        self.row(self.blocks + self.own_blocks()).next_multiple_of(self.block_bytes().min(1 << 20))
    }

    /// Where a page of a block is.
    #[doc(hidden)]
    pub fn page(&self, block: u32, page: u32) -> u64 {
        self.data() + u64::from(block) * self.block_bytes() + u64::from(page) * u64::from(self.segment_bytes)
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.page(self.blocks + self.own_blocks(), 0)
    }

    /// The controller for it.
    pub(crate) fn config(&self) -> Config {
        Config {
            controller: Controller(1),
            geometry: Geometry {
                channels: 1,
                chips: 1,
                dies: 1,
                planes: 1,
                blocks: self.blocks,
                pages: self.block_segments,
                page_bytes: self.segment_bytes,
                unit_bytes: self.segment_bytes,
            },
            segments: self.segments,
            pages: self.pages,
            versions: self.versions,
            order: Order::Ascending,
            policy: Policy::Greedy,
            consolidate: true,
            collect_start: 2,
            open_blocks: 1,
            tokens: self.tokens,
            tags: 64,
            journal_pages: self.journal,
            time_bits: 24,
        }
    }

    fn words(&self) -> [u32; 8] {
        let Shape { segment_bytes, segments, block_segments, blocks, pages, versions, tokens, journal } = *self;
        [segment_bytes, segments, block_segments, blocks, pages, versions, tokens, journal]
    }

    /// The superblock.
    pub(crate) fn superblock(&self, into: &mut [u8]) {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        self.words().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        seal(bytes, into);
    }

    /// What a superblock says.
    pub(crate) fn parse(bytes: &[u8]) -> Superblock {
        if bytes.get(..8) != Some(MAGIC) {
            return Superblock::Foreign;
        }
        let word = |n: usize| u32::from_le_bytes(bytes[8 + n * 4..12 + n * 4].try_into().expect("4 bytes"));
        if !is_sealed(bytes, 8 + 9 * 4) {
            return Superblock::Damaged;
        }
        if word(0) != FORMAT {
            return Superblock::Format(word(0));
        }
        let shape = Shape {
            segment_bytes: word(1),
            segments: word(2),
            block_segments: word(3),
            blocks: word(4),
            pages: word(5),
            versions: word(6),
            tokens: word(7),
            journal: word(8),
        };
        if shape.config().check().is_ok() { Superblock::Good(shape) } else { Superblock::Damaged }
    }

    /// What can be said of it.
    pub fn info(&self) -> Info {
        Info { shape: *self, capacity: self.capacity(), file_bytes: self.file_bytes() }
    }
}

/// The record that commit (root, group) is durable.
pub(crate) fn record(committed: (u64, u64), into: &mut [u8]) {
    let mut bytes = RECORD.to_vec();
    bytes.extend_from_slice(&committed.0.to_le_bytes());
    bytes.extend_from_slice(&committed.1.to_le_bytes());
    seal(bytes, into);
}

/// The commit that a record says is durable.
pub(crate) fn parse_record(bytes: &[u8]) -> Option<(u64, u64)> {
    let whole = bytes.get(..8) == Some(RECORD) && is_sealed(bytes, 24);
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    whole.then(|| (word(8), word(16)))
}

/// The mark of a generation of readers.
pub(crate) fn mark(generation: u64, into: &mut [u8]) {
    let mut bytes = READERS.to_vec();
    bytes.extend_from_slice(&generation.to_le_bytes());
    seal(bytes, into);
}

/// The generation that a mark says; none: it is damaged.
pub(crate) fn parse_mark(bytes: &[u8]) -> Option<u64> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Some(0);
    }
    let whole = bytes.get(..8) == Some(READERS) && is_sealed(bytes, 16);
    whole.then(|| u64::from_le_bytes(bytes[8..16].try_into().expect("8 bytes")))
}

/// Puts `bytes`, their checksum and zeros `into` a unit.
fn seal(mut bytes: Vec<u8>, into: &mut [u8]) {
    let sum = xxh3_64(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    into.fill(0);
    into[..bytes.len()].copy_from_slice(&bytes);
}

fn is_sealed(bytes: &[u8], length: usize) -> bool {
    bytes.get(length..length + 8) == Some(&xxh3_64(&bytes[..length]).to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superblocks_and_records_survive_their_bytes_and_no_flipped_bit_does() {
        let shape = Shape::of(1 << 30, 2 << 30, 64).expect("sizes that work");
        let mut bytes = [0; UNIT as usize];
        shape.superblock(&mut bytes);
        assert_eq!(Shape::parse(&bytes), Superblock::Good(shape));
        for bit in 0..8 * (8 + 36 + 8) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(Shape::parse(&bytes), Superblock::Foreign | Superblock::Damaged), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        record((7, 9), &mut bytes);
        assert_eq!(parse_record(&bytes), Some((7, 9)));
        for bit in 0..8 * 32 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse_record(&bytes), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        mark(7, &mut bytes);
        assert_eq!((parse_mark(&bytes), parse_mark(&[0; UNIT as usize])), (Some(7), Some(0)));
        for bit in 0..8 * 24 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse_mark(&bytes), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn parts_do_not_overlap() {
        for capacity in [1, 1 << 20, 5 << 30, 1 << 40, 4 << 40] {
            let shape = Shape::of(capacity, 2 * capacity, 64).expect("sizes that work");
            shape.config().check().expect("a configuration that works");
            assert!(shape.capacity() >= capacity && shape.capacity() < capacity + PAGE_BYTES);
            assert!(shape.row(0) > RECORDS[1] && shape.page(0, 0) >= shape.row(shape.blocks + shape.own_blocks()));
            assert_eq!(shape.page(0, 0) % UNIT, 0);
            assert!(shape.file_bytes() < 3 * capacity + capacity / 4 + (60 << 20), "{capacity}: {shape:?}");
        }
    }
}
