//! The file layout of a memory: two superblocks, two records of the newest commit, a table of checksums, and blocks.
//!
//! ```text
//! 0       superblock, and a copy at 4 KiB
//! 8 KiB   record of the newest commit, alternating with one at 12 KiB
//! 16 KiB  mark: the generation of concurrent readers, whose state becomes invalid when it is incremented
//! 64 KiB  checksums: one row per block
//! ...     blocks of pages, followed by the second copies of the blocks that hold the controller's own state
//! ```
//!
//! All numbers are little-endian. Superblock: magic, format, the words of [`Shape`], and a checksum of these. Record:
//! magic, root, group, checksum. Mark: magic, generation, checksum; all zeros mean generation 0. The controller defines
//! the content of the blocks ([`nvmm`]).

use media::Geometry;
use nvmm::entry::INDEX_BITS;
use nvmm::{Config, Controller, Management, Order, Policy};
use twox_hash::XxHash3_64;

use crate::PAGE_BYTES;

/// The newest format version, which this program writes. Format 1, which it reads too, has no reserve.
pub(crate) const FORMAT: u32 = 2;
/// Size of a superblock, record or mark, in bytes.
pub(crate) const UNIT: u64 = 4096;
/// Offsets of the two records, which are written alternately.
pub(crate) const RECORDS: [u64; 2] = [2 * UNIT, 3 * UNIT];
/// Offset of the mark.
pub(crate) const MARK: u64 = 4 * UNIT;
const SUMS: u64 = 64 << 10;
const MAGIC: &[u8; 8] = b"nandram\x01";
const RECORD: &[u8; 8] = b"nandramC";
const READERS: &[u8; 8] = b"nandramR";

/// The fixed parameters of a memory, chosen at its creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes per segment, the unit of reading and writing: a power of two.
    pub segment_bytes: u32,
    /// Segments per page: 4, 8 or 16.
    pub segments: u32,
    /// Segments per block.
    pub block_segments: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// Number of pages, including the catalog's.
    pub pages: u32,
    /// Number of table entries for older versions.
    pub versions: u32,
    /// Maximum number of live tokens.
    pub tokens: u32,
    /// Journal segments after which the table is checkpointed.
    pub journal: u32,
    /// Blocks beyond those that data may fill: the more are free, the less collection copies.
    pub reserve: u32,
}

/// The result of parsing a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Superblock {
    Good(Shape),
    /// A format that this program does not support.
    Format(u32),
    /// No superblock at all.
    Foreign,
    Damaged,
}

/// Basic facts about a memory, read from its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// The fixed parameters.
    pub shape: Shape,
    /// Bytes that can be allocated.
    pub capacity: u64,
    /// Length of the file in bytes; empty blocks take no disk space.
    pub file_bytes: u64,
}

impl Shape {
    /// Returns the parameters of a memory of `capacity` bytes whose data, older versions and table take `space` bytes
    /// in the file. The reserve for garbage collection is added to these.
    pub fn of(capacity: u64, space: u64, tokens: u32) -> Result<Shape, String> {
        let (segment_bytes, segments, block_segments) = (4096u32, 16, 256);
        if capacity == 0 || capacity > 4 << 40 {
            return Err(format!("capacity is {capacity} bytes, expected 1 byte to 4 TiB"));
        }
        let pages = capacity.div_ceil(PAGE_BYTES) as u32 + 1;
        let shape = Shape {
            segment_bytes,
            segments,
            block_segments,
            blocks: 0,
            pages,
            versions: 0,
            tokens,
            journal: 1024,
            reserve: 0,
        };
        let block = shape.block_bytes();
        if space < capacity {
            return Err(format!("space is {space} bytes, expected at least the capacity, {capacity}"));
        }
        let data = space.div_ceil(block) as u32;
        // Where random writes keep half of the space in use, collection copies 0.12 of what they write; without this
        // reserve, 0.25.
        let versions = versions(pages, u64::from(data) * u64::from(block_segments));
        Ok(shape.sized(data, versions, data.div_ceil(4)))
    }

    /// Sets the numbers of version entries and reserved blocks, and the number of blocks so that `data` blocks hold
    /// data.
    fn sized(mut self, data: u32, versions: u32, reserve: u32) -> Shape {
        let data = data + reserve;
        (self.versions, self.blocks, self.reserve) = (versions, data, reserve);
        // The overhead depends slightly on the number of blocks, so iterate to a fixed point.
        while self.blocks < data + self.config().overhead_blocks() {
            self.blocks = data + self.config().overhead_blocks();
        }
        self
    }

    /// Returns the parameters of format 1: eight version entries per page, and no reserve.
    #[doc(hidden)]
    #[must_use]
    pub fn of_format_1(self) -> Shape {
        self.sized(self.blocks - self.config().overhead_blocks() - self.reserve, (8 * self.pages).max(4096), 0)
    }

    /// Returns the parameters of a memory with more capacity or space, in the newest format. Without a space it is at
    /// least twice the capacity.
    pub(crate) fn grown(&self, capacity: Option<u64>, space: Option<u64>) -> Result<Shape, String> {
        let wanted_capacity = capacity.unwrap_or(self.capacity());
        let wanted_space = space.unwrap_or(self.space().max(wanted_capacity.saturating_mul(2)));
        for (what, wanted, now) in
            [("capacity", wanted_capacity, self.capacity()), ("space", wanted_space, self.space())]
        {
            if wanted < now {
                return Err(format!("{what} is {wanted} bytes, expected at least the present one, {now}"));
            }
        }
        let shape = Shape::of(wanted_capacity, wanted_space, self.tokens)?;
        match shape == *self {
            true => Err("the memory has this capacity and space already".to_owned()),
            false => Ok(shape),
        }
    }

    /// Returns the number of bytes that data, older versions and the table may take.
    pub fn space(&self) -> u64 {
        u64::from(self.blocks - self.reserve - self.config().overhead_blocks()) * self.block_bytes()
    }

    /// Returns the number of bytes that can be allocated.
    pub fn capacity(&self) -> u64 {
        u64::from(self.pages - 1) * self.page_bytes()
    }

    /// Returns the bytes per page.
    pub fn page_bytes(&self) -> u64 {
        u64::from(self.segments) * u64::from(self.segment_bytes)
    }

    /// Returns the bytes per block.
    pub fn block_bytes(&self) -> u64 {
        u64::from(self.block_segments) * u64::from(self.segment_bytes)
    }

    /// Returns the bytes per row of checksums.
    pub(crate) fn row_bytes(&self) -> u64 {
        (u64::from(self.block_segments) * 8).next_multiple_of(u64::from(self.segment_bytes).min(UNIT))
    }

    /// Returns the offset of a block's row of checksums.
    #[doc(hidden)]
    pub fn row(&self, block: u32) -> u64 {
        SUMS + u64::from(block) * self.row_bytes()
    }

    /// Returns the number of blocks that are stored twice.
    #[doc(hidden)]
    pub fn own_blocks(&self) -> u32 {
        self.config().own_blocks()
    }

    fn data(&self) -> u64 {
        self.row(self.blocks + self.own_blocks()).next_multiple_of(self.block_bytes().min(1 << 20))
    }

    /// Returns the offset of a page.
    #[doc(hidden)]
    pub fn page(&self, block: u32, page: u32) -> u64 {
        self.data() + u64::from(block) * self.block_bytes() + u64::from(page) * u64::from(self.segment_bytes)
    }

    /// Returns the length of the file.
    pub fn file_bytes(&self) -> u64 {
        self.page(self.blocks + self.own_blocks(), 0)
    }

    /// Returns the configuration of the controller.
    #[doc(hidden)]
    pub fn config(&self) -> Config {
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
            open_blocks: 1,
            tags: 64,
            time_bits: 24,
            management: Management {
                policy: Policy::Greedy,
                collect_start: 2,
                tokens: self.tokens,
                journal_pages: self.journal,
            },
        }
    }

    fn words(&self) -> [u32; 9] {
        let Shape { segment_bytes, segments, block_segments, blocks, pages, versions, tokens, journal, reserve } =
            *self;
        [segment_bytes, segments, block_segments, blocks, pages, versions, tokens, journal, reserve]
    }

    /// Returns the format and the number of words in the superblock.
    fn format(&self) -> (u32, usize) {
        if self.reserve == 0 { (1, 8) } else { (FORMAT, 9) }
    }

    /// Writes the superblock `into` a unit.
    pub(crate) fn superblock(&self, into: &mut [u8]) {
        let mut bytes = MAGIC.to_vec();
        let (format, words) = self.format();
        bytes.extend_from_slice(&format.to_le_bytes());
        self.words()[..words].iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        seal(bytes, into);
    }

    /// Parses a superblock.
    pub(crate) fn parse(bytes: &[u8]) -> Superblock {
        if bytes.get(..8) != Some(MAGIC) {
            return Superblock::Foreign;
        }
        let word = |n: usize| u32::from_le_bytes(bytes[8 + n * 4..12 + n * 4].try_into().expect("4 bytes"));
        let Some(words) = [8, 9].into_iter().find(|words| is_sealed(bytes, 8 + (1 + words) * 4)) else {
            return Superblock::Damaged;
        };
        if !(1..=FORMAT).contains(&word(0)) {
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
            reserve: if words > 8 { word(9) } else { 0 },
        };
        let fits = shape.format() == (word(0), words)
            && shape.config().check().is_ok()
            && u64::from(shape.config().overhead_blocks()) + u64::from(shape.reserve) < u64::from(shape.blocks);
        if fits { Superblock::Good(shape) } else { Superblock::Damaged }
    }

    /// Returns basic facts for display.
    pub fn info(&self) -> Info {
        Info { shape: *self, capacity: self.capacity(), file_bytes: self.file_bytes() }
    }
}

/// Returns the number of version entries for `pages` pages and `segments` segments of data and older versions: as many
/// as there are segments, because an entry holds at least one that is needed; two more per page, for changes of its
/// permissions and its deletion; and those reserved for writes under way and for collection. So the space is full
/// before the entries are, except beyond about 3 TiB, where the table's index ends: entries are then merged.
fn versions(pages: u32, segments: u64) -> u32 {
    let wanted = segments + 2 * u64::from(pages) + 4096;
    wanted.min((1 << INDEX_BITS) - u64::from(pages)) as u32
}

/// Writes `into` a unit the record that commit (root, group) is durable.
pub(crate) fn record(committed: (u64, u64), into: &mut [u8]) {
    let mut bytes = RECORD.to_vec();
    bytes.extend_from_slice(&committed.0.to_le_bytes());
    bytes.extend_from_slice(&committed.1.to_le_bytes());
    seal(bytes, into);
}

/// Parses a record and returns its commit, or `None` if the record is damaged.
pub(crate) fn parse_record(bytes: &[u8]) -> Option<(u64, u64)> {
    let whole = bytes.get(..8) == Some(RECORD) && is_sealed(bytes, 24);
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    whole.then(|| (word(8), word(16)))
}

/// Writes the mark of a generation of readers `into` a unit.
pub(crate) fn mark(generation: u64, into: &mut [u8]) {
    let mut bytes = READERS.to_vec();
    bytes.extend_from_slice(&generation.to_le_bytes());
    seal(bytes, into);
}

/// Parses a mark and returns its generation, or `None` if the mark is damaged.
pub(crate) fn parse_mark(bytes: &[u8]) -> Option<u64> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Some(0);
    }
    let whole = bytes.get(..8) == Some(READERS) && is_sealed(bytes, 16);
    whole.then(|| u64::from_le_bytes(bytes[8..16].try_into().expect("8 bytes")))
}

/// Fills the unit `into` with `bytes`, their checksum and zeros.
fn seal(mut bytes: Vec<u8>, into: &mut [u8]) {
    let sum = XxHash3_64::oneshot(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    into.fill(0);
    into[..bytes.len()].copy_from_slice(&bytes);
}

fn is_sealed(bytes: &[u8], length: usize) -> bool {
    bytes.get(length..length + 8) == Some(&XxHash3_64::oneshot(&bytes[..length]).to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superblocks_records_and_marks_round_trip_and_detect_flipped_bits() {
        let shape = Shape::of(1 << 30, 2 << 30, 64).expect("sizes that work");
        let mut bytes = [0; UNIT as usize];
        for (shape, words) in [(shape, 10), (shape.of_format_1(), 9)] {
            shape.superblock(&mut bytes);
            assert_eq!(Shape::parse(&bytes), Superblock::Good(shape));
            for bit in 0..8 * (8 + 4 * words + 8) {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(matches!(Shape::parse(&bytes), Superblock::Foreign | Superblock::Damaged), "bit {bit}");
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
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
    fn parts_of_the_file_do_not_overlap() {
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
