//! Storage for the contents of programmed blocks, in slots that are reused and never returned to the allocator.
//!
//! A slot is a record of 32-bit words:
//!
//! ```text
//! anchor (2 words)   the sequence that the block's pages count from
//! written            the drive's age at the block's first program, in seconds
//! rare               head of its list in the side table; on the free list, the next free slot
//! steps              16 bits a page, two a word: what a page keeps of its sequence
//! units              one word per mapping unit, page by page: logical numbers
//! ```

use media::Geometry;

use super::rare::NONE;

/// The arrays of some slots. The allocator provides untouched zero pages: an unused slot only costs address space.
struct Chunk {
    words: Vec<u32>,
    payload: Vec<u8>,
}

/// Words before the steps.
const HEADER: usize = 4;
const WRITTEN: usize = 2;
const RARE: usize = 3;

/// All slots, numbered from 1.
pub(super) struct Slots {
    chunks: Vec<Chunk>,
    /// Slots per chunk, as a power of two, and as a mask.
    shift: u32,
    mask: usize,
    /// Words per slot, and the offset of its units.
    words: usize,
    units: usize,
    pages: usize,
    units_per_page: usize,
    unit_payload: usize,
    /// The first slot never used.
    next: u32,
    /// First slot of the free list, 0 at its end.
    free: u32,
}

/// Size of a chunk: large enough that rounding to pages costs nothing, small enough that reserving one costs nothing
/// either.
const CHUNK_BYTES: usize = 32 << 20;

impl Slots {
    pub(super) fn new(geometry: &Geometry, unit_payload: usize, blocks: usize) -> Slots {
        let (pages, units_per_page) = (geometry.pages as usize, geometry.units_per_page() as usize);
        let units = HEADER + pages.div_ceil(2);
        let words = units + pages * units_per_page;
        let slot_bytes = words * 4 + pages * units_per_page * unit_payload;
        let shift = (CHUNK_BYTES / slot_bytes).min(blocks.next_power_of_two()).max(1).ilog2();
        Slots {
            chunks: Vec::new(),
            shift,
            mask: (1 << shift) - 1,
            words,
            units,
            pages,
            units_per_page,
            unit_payload,
            next: 1,
            free: 0,
        }
    }

    /// Takes a slot, which holds old content.
    pub(super) fn take(&mut self, anchor: u64, written_s: u32) -> u32 {
        let slot = if self.free != 0 {
            let slot = self.free;
            self.free = self.record(slot)[RARE];
            slot
        } else {
            // Slot 0 is never used, so a chunk of one slot may be skipped.
            while self.next as usize >> self.shift >= self.chunks.len() {
                let payload = vec![0; (self.pages * self.units_per_page * self.unit_payload) << self.shift];
                self.chunks.push(Chunk { words: vec![0; self.words << self.shift], payload });
            }
            self.next += 1;
            self.next - 1
        };
        let record = self.record_mut(slot);
        set_anchor(record, anchor);
        (record[WRITTEN], record[RARE]) = (written_s, NONE);
        slot
    }

    /// Returns a slot to the free list.
    pub(super) fn give(&mut self, slot: u32) {
        let free = self.free;
        self.record_mut(slot)[RARE] = free;
        self.free = slot;
    }

    /// Returns the chunk of a slot, and its index there.
    #[inline]
    fn place(&self, slot: u32) -> (usize, usize) {
        (slot as usize >> self.shift, slot as usize & self.mask)
    }

    #[inline]
    pub(super) fn record(&self, slot: u32) -> &[u32] {
        let (chunk, number) = self.place(slot);
        &self.chunks[chunk].words[number * self.words..][..self.words]
    }

    #[inline]
    pub(super) fn record_mut(&mut self, slot: u32) -> &mut [u32] {
        let (chunk, number) = self.place(slot);
        &mut self.chunks[chunk].words[number * self.words..][..self.words]
    }

    /// Returns the record of a slot (and those after it), and the offset of a page's units in it.
    #[inline]
    pub(super) fn record_of(&mut self, slot: u32, page: u32) -> (&mut [u32], usize) {
        let at = self.units_at(page);
        let (chunk, number) = self.place(slot);
        (&mut self.chunks[chunk].words[number * self.words..], at)
    }

    /// Returns the offset of a page's units in its record.
    #[inline]
    pub(super) fn units_at(&self, page: u32) -> usize {
        self.units + page as usize * self.units_per_page
    }

    /// Returns the logical numbers of a page.
    #[inline]
    pub(super) fn spare(&self, slot: u32, page: u32) -> &[u32] {
        let (chunk, number) = self.place(slot);
        &self.chunks[chunk].words[number * self.words + self.units_at(page)..][..self.units_per_page]
    }

    /// Returns the words of the steps and of the units of the first `pages` pages.
    pub(super) fn contents_mut(&mut self, slot: u32, pages: u32) -> (&mut [u32], &mut [u32]) {
        let (units, per_page) = (self.units, self.units_per_page);
        let (head, tail) = self.record_mut(slot).split_at_mut(units);
        let steps = (pages as usize).div_ceil(2);
        (&mut head[HEADER..HEADER + steps], &mut tail[..pages as usize * per_page])
    }

    /// Like [`contents_mut`](Self::contents_mut), immutable.
    pub(super) fn contents(&self, slot: u32, pages: u32) -> (&[u32], &[u32]) {
        let (head, tail) = self.record(slot).split_at(self.units);
        let steps = (pages as usize).div_ceil(2);
        (&head[HEADER..HEADER + steps], &tail[..pages as usize * self.units_per_page])
    }

    /// Returns the payload of a page.
    pub(super) fn payload(&self, slot: u32, page: u32) -> &[u8] {
        let (chunk, number) = self.place(slot);
        let bytes = self.units_per_page * self.unit_payload;
        &self.chunks[chunk].payload[(number * self.pages + page as usize) * bytes..][..bytes]
    }

    pub(super) fn payload_mut(&mut self, slot: u32, page: u32) -> &mut [u8] {
        let (chunk, number) = self.place(slot);
        let bytes = self.units_per_page * self.unit_payload;
        &mut self.chunks[chunk].payload[(number * self.pages + page as usize) * bytes..][..bytes]
    }

    pub(super) fn bytes_held(&self) -> u64 {
        let slot = self.words * 4 + self.pages * self.units_per_page * self.unit_payload;
        slot as u64 * u64::from(self.next)
    }
}

/// Returns the anchor of a block's sequences.
#[inline]
pub(super) fn anchor(record: &[u32]) -> u64 {
    u64::from(record[0]) | u64::from(record[1]) << 32
}

#[inline]
pub(super) fn set_anchor(record: &mut [u32], sequence: u64) {
    (record[0], record[1]) = (sequence as u32, (sequence >> 32) as u32);
}

/// Returns the drive's age at a block's first program, in seconds.
#[inline]
pub(super) fn written_s(record: &[u32]) -> u32 {
    record[WRITTEN]
}

/// Returns the head of a block's list in the side table.
#[inline]
pub(super) fn rare(record: &[u32]) -> u32 {
    record[RARE]
}

#[inline]
pub(super) fn set_rare(record: &mut [u32], head: u32) {
    record[RARE] = head;
}

/// Returns a page's step: its stored part of the sequence.
#[inline]
pub(super) fn step(record: &[u32], page: u32) -> u16 {
    (record[HEADER + page as usize / 2] >> (page % 2 * 16)) as u16
}

#[inline]
pub(super) fn set_step(record: &mut [u32], page: u32, step: u16) {
    let word = &mut record[HEADER + page as usize / 2];
    let shift = page % 2 * 16;
    *word = *word & !(0xffff << shift) | u32::from(step) << shift;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_larger_than_a_chunk_have_slots() {
        let geometry = Geometry {
            channels: 1,
            chips: 1,
            dies: 1,
            planes: 1,
            blocks: 4,
            pages: 1152,
            page_bytes: 32_768,
            unit_bytes: 4096,
        };
        let mut slots = Slots::new(&geometry, 4096, 4);
        assert_eq!(slots.shift, 0, "one slot per chunk");
        for number in 1..=3 {
            let slot = slots.take(7, 0);
            assert_eq!(slot, number);
            slots.payload_mut(slot, 1151).fill(number as u8);
        }
        assert!((1..=3).all(|slot| slots.payload(slot, 1151).iter().all(|byte| *byte == slot as u8)));
    }
}
