//! Payload: data of flash pages and of the controller's RAM buffers, and its moves.

use media::{Move, NOBODY, PageAddr, Tag};

use super::{ERASE_TORN, SLOT, STATE, Store, UnitWrite};

/// The kind of payload to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadKind {
    /// None: timing only.
    None,
    /// A number of 8 bytes, little-endian, per sector: enough to identify data in tests.
    Stamp,
    /// All 512 bytes per sector.
    Bytes,
}

impl PayloadKind {
    /// Returns the bytes kept per 512-byte sector.
    pub const fn sector_bytes(self) -> usize {
        match self {
            PayloadKind::None => 0,
            PayloadKind::Stamp => 8,
            PayloadKind::Bytes => 512,
        }
    }
}

/// Data of host commands, by tag: written data, and data to return. Each sector has [`PayloadKind::sector_bytes`]
/// bytes.
pub trait HostData {
    /// Returns `sectors` of the command `tag`, from sector `from` of its range.
    fn sectors(&self, tag: Tag, from: u32, sectors: u32) -> &[u8];

    /// Like [`sectors`](Self::sectors), mutable.
    fn sectors_mut(&mut self, tag: Tag, from: u32, sectors: u32) -> &mut [u8];
}

/// Host data in one vector per tag, reused between commands.
#[derive(Clone, Debug)]
pub struct TagBuffers {
    sector_bytes: usize,
    tags: Vec<Vec<u8>>,
}

impl TagBuffers {
    /// Creates an empty set.
    pub const fn new(kind: PayloadKind) -> TagBuffers {
        TagBuffers { sector_bytes: kind.sector_bytes(), tags: Vec::new() }
    }

    /// Begins the command `tag` with `sectors` of data, initially zeros. Returns them.
    pub fn open(&mut self, tag: Tag, sectors: u32) -> &mut [u8] {
        let index = tag.0 as usize;
        if self.tags.len() <= index {
            self.tags.resize_with(index + 1, Vec::new);
        }
        let data = &mut self.tags[index];
        data.clear();
        data.resize(sectors as usize * self.sector_bytes, 0);
        data
    }

    /// Returns all data of the command `tag`.
    pub fn data(&self, tag: Tag) -> &[u8] {
        &self.tags[tag.0 as usize]
    }

    /// Returns the same data, mutable.
    pub fn data_mut(&mut self, tag: Tag) -> &mut [u8] {
        &mut self.tags[tag.0 as usize]
    }
}

impl HostData for TagBuffers {
    fn sectors(&self, tag: Tag, from: u32, sectors: u32) -> &[u8] {
        let first = from as usize * self.sector_bytes;
        &self.tags[tag.0 as usize][first..first + sectors as usize * self.sector_bytes]
    }

    fn sectors_mut(&mut self, tag: Tag, from: u32, sectors: u32) -> &mut [u8] {
        let first = from as usize * self.sector_bytes;
        &mut self.tags[tag.0 as usize][first..first + sectors as usize * self.sector_bytes]
    }
}

/// Returns the bytes that a bit of a mask stands for, in a unit of `unit` bytes: a sector, or several if there are more than
/// bits.
fn bit_bytes(unit: usize, sector_bytes: usize) -> usize {
    (unit / sector_bytes).div_ceil(u64::BITS as usize).next_power_of_two() * sector_bytes
}

/// Copies the sectors outside `keep` from `from`.
fn merge(to: &mut [u8], from: &[u8], keep: u64, sector_bytes: usize) {
    let bit_bytes = bit_bytes(to.len(), sector_bytes);
    for (bit, (to, from)) in to.chunks_mut(bit_bytes).zip(from.chunks(bit_bytes)).enumerate() {
        if keep >> bit & 1 == 0 {
            to.copy_from_slice(from);
        }
    }
}

fn xor(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to ^= from;
    }
}

impl Store {
    /// Returns the sectors of a RAM buffer.
    ///
    /// # Panics
    /// If there is no such buffer, or no payload is kept.
    pub fn buffer(&self, buffer: u32) -> &[u8] {
        &self.buffers[buffer as usize * self.unit_payload..][..self.unit_payload]
    }

    /// Returns the same sectors, mutable: for the translation layer's own data, such as a page of its map.
    pub fn buffer_mut(&mut self, buffer: u32) -> &mut [u8] {
        &mut self.buffers[buffer as usize * self.unit_payload..][..self.unit_payload]
    }

    /// Clears the RAM after a power cut.
    pub(crate) fn clear_buffers(&mut self) {
        self.buffers.fill(0);
    }

    /// Returns the data of a unit of a flash page (one plane).
    ///
    /// # Panics
    /// If the page is not programmed or unreadable, or no payload is kept.
    pub fn unit(&self, page: PageAddr, unit: u32) -> &[u8] {
        assert_eq!(page.planes.count(), 1, "a unit lies on one plane: {page:?}");
        let block = self.geometry.block_index(page, page.planes.0.trailing_zeros());
        assert!(self.is_readable(block, page.page), "read of {page:?}, which is erased or torn");
        let payload = self.slots.payload(self.blocks[block][SLOT], page.page);
        &payload[unit as usize * self.unit_payload..][..self.unit_payload]
    }

    /// Performs a move. Costs one branch if no payload is kept.
    ///
    /// # Panics
    /// If it names a buffer, a tag or sectors that do not exist, or a page that is erased or torn.
    #[inline]
    pub fn apply(&mut self, movement: &Move, host: &mut impl HostData) {
        if self.unit_payload != 0 {
            self.move_payload(movement, host);
        }
    }

    fn move_payload(&mut self, movement: &Move, host: &mut impl HostData) {
        let size = self.kind.sector_bytes();
        match *movement {
            Move::HostToBuffer { tag, from, sectors, buffer, to } => {
                let (first, bytes) = (to as usize * size, sectors as usize * size);
                self.buffer_mut(buffer)[first..first + bytes].copy_from_slice(host.sectors(tag, from, sectors));
            }
            Move::BufferToHost { buffer, from, sectors, tag, to } => {
                let (first, bytes) = (from as usize * size, sectors as usize * size);
                host.sectors_mut(tag, to, sectors).copy_from_slice(&self.buffer(buffer)[first..first + bytes]);
            }
            Move::FlashToHost { page, unit, from, sectors, tag, to } => {
                let (first, bytes) = (from as usize * size, sectors as usize * size);
                host.sectors_mut(tag, to, sectors).copy_from_slice(&self.unit(page, unit)[first..first + bytes]);
            }
            Move::FlashToBuffer { page, unit, buffer, keep } => {
                // Take the buffers out while the flash is borrowed.
                let mut buffers = std::mem::take(&mut self.buffers);
                let to = &mut buffers[buffer as usize * self.unit_payload..][..self.unit_payload];
                merge(to, self.unit(page, unit), keep, size);
                self.buffers = buffers;
            }
            Move::BufferToBuffer { from, to, keep } => {
                assert_ne!(from, to, "a buffer is merged into itself");
                let (low, high) = self.buffers.split_at_mut(from.max(to) as usize * self.unit_payload);
                let below = &mut low[from.min(to) as usize * self.unit_payload..][..self.unit_payload];
                let above = &mut high[..self.unit_payload];
                if to < from { merge(below, above, keep, size) } else { merge(above, below, keep, size) }
            }
            Move::ZeroToHost { tag, to, sectors } => host.sectors_mut(tag, to, sectors).fill(0),
            Move::ZeroBuffer { buffer, keep } => {
                let bit_bytes = bit_bytes(self.unit_payload, size);
                for (bit, to) in self.buffer_mut(buffer).chunks_mut(bit_bytes).enumerate() {
                    if keep >> bit & 1 == 0 {
                        to.fill(0);
                    }
                }
            }
            Move::XorBuffer { from, to } => {
                assert_ne!(from, to, "a buffer enters its own parity");
                let (low, high) = self.buffers.split_at_mut(from.max(to) as usize * self.unit_payload);
                let below = &mut low[from.min(to) as usize * self.unit_payload..][..self.unit_payload];
                let above = &mut high[..self.unit_payload];
                if to < from { xor(below, above) } else { xor(above, below) }
            }
            Move::XorFlash { page, unit, buffer } => {
                let mut buffers = std::mem::take(&mut self.buffers);
                xor(&mut buffers[buffer as usize * self.unit_payload..][..self.unit_payload], self.unit(page, unit));
                self.buffers = buffers;
            }
        }
    }

    pub(super) fn program_payload(&mut self, slot: u32, page: u32, units: &[UnitWrite]) {
        let size = self.unit_payload;
        let flash = self.slots.payload_mut(slot, page);
        for (to, unit) in flash.chunks_exact_mut(size).zip(units) {
            match unit.logical {
                NOBODY => to.fill(0),
                _ => to.copy_from_slice(&self.buffers[unit.buffer as usize * size..][..size]),
            }
        }
    }

    /// Returns whether the page is programmed, and neither it nor an erase of its block was torn.
    #[inline]
    pub(super) fn is_readable(&self, block: usize, page: u32) -> bool {
        self.blocks[block][STATE] & ERASE_TORN == 0 && self.is_programmed(block, page) && !self.is_torn(block, page)
    }
}
