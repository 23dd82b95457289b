//! Room for the contents of programmed blocks, handed out in slots and never given back to the allocator.

use media::Geometry;

use super::rare::NONE;

/// What a programmed block has beside its pages. 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// The sequence that its pages count from.
    pub sequence: u64,
    /// The drive's age at the block's first program, in seconds.
    pub written_s: u32,
    /// Head of its list in the side table; on the free list, the next free slot.
    pub rare: u32,
}

/// The arrays of some slots. They come from the allocator as untouched zero pages: a slot that was never taken costs
/// address space only.
struct Chunk {
    steps: Vec<u16>,
    units: Vec<u32>,
    payload: Vec<u8>,
}

/// All slots, numbered from 1.
pub(super) struct Slots {
    headers: Vec<Header>,
    chunks: Vec<Chunk>,
    /// Slots a chunk, as a power of two.
    shift: u32,
    pages: usize,
    units_per_page: usize,
    unit_payload: usize,
    /// First slot of the free list, 0 at its end.
    free: u32,
}

/// A chunk is about this large: large enough that rounding to pages costs nothing, small enough that reserving one
/// is nothing either.
const CHUNK_BYTES: usize = 32 << 20;

impl Slots {
    pub(super) fn new(geometry: &Geometry, unit_payload: usize, blocks: usize) -> Slots {
        let (pages, units_per_page) = (geometry.pages as usize, geometry.units_per_page() as usize);
        let slot = pages * (2 + units_per_page * (4 + unit_payload));
        let shift = (CHUNK_BYTES / slot).min(blocks.next_power_of_two()).max(1).ilog2();
        Slots { headers: Vec::new(), chunks: Vec::new(), shift, pages, units_per_page, unit_payload, free: 0 }
    }

    /// A slot, whose arrays hold what they held last.
    pub(super) fn take(&mut self) -> u32 {
        let fresh = Header { sequence: 0, written_s: 0, rare: NONE };
        if self.free != 0 {
            let slot = self.free;
            let header = self.header_mut(slot);
            let next = header.rare;
            *header = fresh;
            self.free = next;
            return slot;
        }
        if self.headers.len() == self.chunks.len() << self.shift {
            let pages = self.pages << self.shift;
            let units = pages * self.units_per_page;
            let payload = vec![0; units * self.unit_payload];
            self.chunks.push(Chunk { steps: vec![0; pages], units: vec![0; units], payload });
        }
        self.headers.push(fresh);
        self.headers.len() as u32
    }

    /// Takes a slot back.
    pub(super) fn give(&mut self, slot: u32) {
        let free = self.free;
        self.header_mut(slot).rare = free;
        self.free = slot;
    }

    #[inline]
    pub(super) fn header(&self, slot: u32) -> &Header {
        &self.headers[slot as usize - 1]
    }

    #[inline]
    pub(super) fn header_mut(&mut self, slot: u32) -> &mut Header {
        &mut self.headers[slot as usize - 1]
    }

    /// The chunk of a slot, and the first page within it.
    #[inline]
    fn place(&self, slot: u32) -> (usize, usize) {
        let at = slot as usize - 1;
        (at >> self.shift, (at & ((1 << self.shift) - 1)) * self.pages)
    }

    /// What the pages keep of their sequences.
    #[inline]
    pub(super) fn steps(&self, slot: u32) -> &[u16] {
        let (chunk, first) = self.place(slot);
        &self.chunks[chunk].steps[first..first + self.pages]
    }

    #[inline]
    pub(super) fn steps_mut(&mut self, slot: u32) -> &mut [u16] {
        let (chunk, first) = self.place(slot);
        &mut self.chunks[chunk].steps[first..first + self.pages]
    }

    /// The logical numbers of a page.
    #[inline]
    pub(super) fn spare(&self, slot: u32, page: u32) -> &[u32] {
        let (chunk, first) = self.place(slot);
        let from = (first + page as usize) * self.units_per_page;
        &self.chunks[chunk].units[from..from + self.units_per_page]
    }

    #[inline]
    pub(super) fn spare_mut(&mut self, slot: u32, page: u32) -> &mut [u32] {
        let (chunk, first) = self.place(slot);
        let from = (first + page as usize) * self.units_per_page;
        &mut self.chunks[chunk].units[from..from + self.units_per_page]
    }

    /// The payload of a page.
    #[inline]
    pub(super) fn payload(&self, slot: u32, page: u32) -> &[u8] {
        let (chunk, first) = self.place(slot);
        let bytes = self.units_per_page * self.unit_payload;
        let from = (first + page as usize) * bytes;
        &self.chunks[chunk].payload[from..from + bytes]
    }

    #[inline]
    pub(super) fn payload_mut(&mut self, slot: u32, page: u32) -> &mut [u8] {
        let (chunk, first) = self.place(slot);
        let bytes = self.units_per_page * self.unit_payload;
        let from = (first + page as usize) * bytes;
        &mut self.chunks[chunk].payload[from..from + bytes]
    }

    pub(super) fn bytes_held(&self) -> u64 {
        let slot = self.pages * (2 + self.units_per_page * (4 + self.unit_payload)) + size_of::<Header>();
        (slot * self.headers.len()) as u64
    }
}
