//! Places in the file. All numbers are little-endian.
//!
//! ```text
//! header             4 KiB: magic, version, geometry, payload, order, hash and title of the system, CRC-32
//! state              2 times 4 KiB, the newer one counts: generation u64, clock u32, sealed u64, length u32, text,
//!                    CRC-32. No program of a sequence below `sealed` may be missing.
//! table of blocks    32 bytes each: erases, SLC erases, reads, flags: u32 each; 12 bytes of zeros; CRC-32
//! pages              for each block its pages; each page has its payload, then its spare area (`record.rs`)
//! tail               only while changes wait for their places (`tail.rs`)
//! ```
//! The file is sparse: erased blocks take no space.

use std::ops::Range;

use media::Geometry;
use nand::{BlockRecord, Order, PayloadKind};

/// Unit of transfers past the page cache.
pub const ALIGN: usize = direct::ALIGNMENT;
/// Version of the file.
const VERSION: u32 = 1;
const MAGIC: &[u8; 16] = b"NANDRAM-FLASH\0\0\0";
/// Place of the checksum in a sector.
const CHECKSUM: usize = ALIGN - 4;
/// Bytes of the table per block.
pub const ENTRY: usize = 32;
/// Offset of the table.
const TABLE: u64 = 3 * ALIGN as u64;

/// A sector of the file.
pub type Sector = [u8; ALIGN];

/// The flash that a file is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub geometry: Geometry,
    pub order: Order,
    /// Hash of the system's flash, translation layer and controller.
    pub hash: String,
    pub title: String,
}

impl Identity {
    /// Returns a name for messages.
    pub fn name(&self) -> String {
        format!("\"{}\" ({})", self.title, self.hash.get(..12).unwrap_or(&self.hash))
    }

    /// Returns the header.
    pub fn header(&self) -> Sector {
        let g = &self.geometry;
        let mut text = MAGIC.to_vec();
        let order = u32::from(self.order == Order::Any);
        let numbers = [g.channels, g.chips, g.dies, g.planes, g.blocks, g.pages, g.page_bytes, g.unit_bytes, order];
        text.extend(VERSION.to_le_bytes());
        text.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        for name in [&self.hash, &self.title] {
            // A title has no limit of its own.
            let end = (0..=name.len().min(1024)).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
            text.extend((end as u32).to_le_bytes());
            text.extend(&name.as_bytes()[..end]);
        }
        sector(&text)
    }

    /// Reads a header.
    ///
    /// # Errors
    /// Returns a description of the value found.
    pub fn parse(sector: &Sector) -> Result<Identity, String> {
        if &sector[..16] != MAGIC {
            return Err("another file".to_owned());
        }
        if !is_whole(sector) {
            return Err("a damaged header".to_owned());
        }
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| sector[16 + 4 * at + i]));
        if number(0) != VERSION {
            return Err(format!("a store of version {}, this program reads version {VERSION}", number(0)));
        }
        let [channels, chips, dies, planes, blocks, pages, page_bytes, unit_bytes, order] =
            std::array::from_fn(|i| number(1 + i));
        let mut at = 16 + 40;
        let mut name = || {
            let length = u32::from_le_bytes(std::array::from_fn(|i| sector[at + i])) as usize;
            let text = sector.get(at + 4..at + 4 + length).unwrap_or_default();
            at += 4 + text.len();
            String::from_utf8_lossy(text).into_owned()
        };
        let (hash, title) = (name(), name());
        let geometry = Geometry { channels, chips, dies, planes, blocks, pages, page_bytes, unit_bytes };
        Ok(Identity { geometry, order: if order == 0 { Order::InOrder } else { Order::Any }, hash, title })
    }
}

/// State of the drive apart from its flash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriveState {
    pub generation: u64,
    /// The drive's age in seconds.
    pub clock_s: u32,
    /// All programs of sequences below are durable in the file.
    pub sealed: u64,
    /// The controller's state.
    pub text: String,
}

/// Limits of numbers that go on from those of a file: half of what their types hold.
const GENERATION_MAX: u64 = 1 << 63;
pub const SECONDS_MAX: u32 = 1 << 31;
pub const ERASES_MAX: u32 = 1 << 31;

/// Maximum bytes of the controller's state.
pub const TEXT_MAX: usize = ALIGN - 32;

impl DriveState {
    /// Returns the sector, and its place.
    pub fn sector(&self) -> (Sector, u64) {
        let mut bytes = self.generation.to_le_bytes().to_vec();
        bytes.extend(self.clock_s.to_le_bytes());
        bytes.extend(self.sealed.to_le_bytes());
        bytes.extend((self.text.len() as u32).to_le_bytes());
        bytes.extend(self.text.as_bytes());
        (sector(&bytes), (1 + self.generation % 2) * ALIGN as u64)
    }

    /// Reads a state; `None` if it is not whole, or its numbers are impossible.
    pub fn parse(sector: &Sector) -> Option<DriveState> {
        let quad = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| sector[at + i]));
        let text = sector.get(24..24 + (quad(20) as u32) as usize)?;
        let text = String::from_utf8(text.to_vec()).ok().filter(|_| is_whole(sector))?;
        let state = DriveState { generation: quad(0), clock_s: quad(8) as u32, sealed: quad(12), text };
        (state.generation <= GENERATION_MAX && state.clock_s <= SECONDS_MAX).then_some(state)
    }
}

/// Returns the sector of `bytes`, with its checksum.
pub fn sector(bytes: &[u8]) -> Sector {
    let mut sector = [0; ALIGN];
    sector[..bytes.len()].copy_from_slice(bytes);
    let sum = crc32fast::hash(&sector[..CHECKSUM]);
    sector[CHECKSUM..].copy_from_slice(&sum.to_le_bytes());
    sector
}

/// Returns true if the checksum of a sector is right.
pub fn is_whole(sector: &Sector) -> bool {
    crc32fast::hash(&sector[..CHECKSUM]).to_le_bytes() == sector[CHECKSUM..]
}

/// Returns a block's entry in the table.
pub fn entry(record: &BlockRecord) -> [u8; ENTRY] {
    let mut entry = [0; ENTRY];
    let flags = u32::from(record.bad) | u32::from(record.erase_torn) << 1;
    for (to, number) in entry.chunks_exact_mut(4).zip([record.erases, record.slc_erases, record.reads, flags]) {
        to.copy_from_slice(&number.to_le_bytes());
    }
    let sum = crc32fast::hash(&entry[..ENTRY - 4]);
    entry[ENTRY - 4..].copy_from_slice(&sum.to_le_bytes());
    entry
}

/// Reads a block's entry; `None` if it is damaged or impossible.
pub fn parse_entry(entry: &[u8]) -> Option<BlockRecord> {
    let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| entry[4 * at + i]));
    let is_whole = crc32fast::hash(&entry[..ENTRY - 4]) == number(7);
    // Every erase in SLC mode is an erase.
    let is_possible = number(0) <= ERASES_MAX && number(1) <= number(0);
    (is_whole && is_possible).then(|| BlockRecord {
        erases: number(0),
        slc_erases: number(1),
        reads: number(2),
        bad: number(3) & 1 != 0,
        erase_torn: number(3) & 2 != 0,
    })
}

/// Places of blocks and pages.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub blocks: usize,
    pub planes: usize,
    pub plane_blocks: usize,
    pub pages: u32,
    /// Bytes of a page's payload, and of everything that is kept of a page, in whole sectors.
    pub payload: usize,
    pub page: usize,
}

impl Layout {
    pub fn new(geometry: &Geometry) -> Layout {
        let units = geometry.units_per_page() as usize;
        let bytes = units * geometry.unit_bytes as usize / 512 * PayloadKind::Bytes.sector_bytes();
        let payload = bytes.next_multiple_of(ALIGN);
        // Every unit of a page may have a note of its own length.
        let spare = (crate::record::spare_max(units) + bytes).next_multiple_of(ALIGN);
        let blocks = geometry.all_dies() as usize * geometry.planes as usize * geometry.blocks as usize;
        let (planes, plane_blocks) = (geometry.planes as usize, geometry.blocks as usize);
        Layout { blocks, planes, plane_blocks, pages: geometry.pages, payload, page: payload + spare }
    }

    /// Bytes of the table, in whole sectors.
    pub fn table_bytes(&self) -> usize {
        (self.blocks * ENTRY).next_multiple_of(ALIGN)
    }

    pub fn table(&self) -> u64 {
        TABLE
    }

    /// Returns the place of a block's entry in the table. The blocks that are erased together are neighbors, so that one
    /// write changes all of them.
    pub fn entry(&self, number: usize) -> usize {
        let (die, within) = (number / (self.planes * self.plane_blocks), number % (self.planes * self.plane_blocks));
        let (plane, block) = (within / self.plane_blocks, within % self.plane_blocks);
        ((die * self.plane_blocks + block) * self.planes + plane) * ENTRY
    }

    /// Returns the number of the block on `plane` among those that are erased together, by their rank.
    pub fn member(&self, rank: usize, plane: usize) -> usize {
        let (die, block) = (rank / self.plane_blocks, rank % self.plane_blocks);
        (die * self.planes + plane) * self.plane_blocks + block
    }

    /// Returns the mask of the plane that a block is on.
    pub fn own_plane(&self, number: usize) -> u32 {
        1 << (number / self.plane_blocks % self.planes)
    }

    /// Returns the place of a block's pages.
    pub fn block(&self, number: usize) -> Range<u64> {
        let bytes = u64::from(self.pages) * self.page as u64;
        let from = TABLE + self.table_bytes() as u64 + number as u64 * bytes;
        from..from + bytes
    }

    /// Returns the place of a page.
    pub fn page(&self, number: usize, page: u32) -> u64 {
        self.block(number).start + u64::from(page) * self.page as u64
    }

    /// Returns the place of a page's spare area.
    pub fn spare(&self, number: usize, page: u32) -> u64 {
        self.page(number, page) + self.payload as u64
    }

    /// Returns the length of the file, and the place of its tail.
    pub fn bytes(&self) -> u64 {
        self.block(self.blocks).start
    }
}
