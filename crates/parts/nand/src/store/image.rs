//! A prepared drive on disk: the whole store as a stream of bytes, little-endian, with a version and checksums.
//!
//! ```text
//! "NANDRAM-STORE\0"  version u16
//! header             8 numbers of the geometry, payload, order, reads counted: u32 each; clock u32; CRC-32 u32
//! a block each       number u32, erases u32, state u32, [reads u32]; if programmed: sequence u64, written u32,
//!                    side table (length u32; page u32, kind u32, bytes of note u32, value u64, note each), steps u16 (an even number of
//!                    them), units u32, payload
//! end                u32::MAX, CRC-32 u32 of everything behind the header
//! ```
//! Blocks that are as they left the factory are left out. RAM buffers are not flash, and not in here.

use std::io::{self, Read, Write};

use media::Geometry;

use super::rare::{NONE, What};
use super::{
    ERASE_TORN, Entry, FLAGS, LAID, LONG, LOST, NOTED, PAGE, PayloadKind, SLC, SLOT, STATE, Store, TORN, slots,
};
use crate::config::Order;

/// Version of the byte stream.
pub const IMAGE_VERSION: u16 = 1;

const MAGIC: &[u8; 14] = b"NANDRAM-STORE\0";
const END: u32 = u32::MAX;
/// Limits of numbers that go on from those of an image: half of what their types hold.
const SEQUENCE_MAX: u64 = 1 << 63;
const ERASES_MAX: u32 = 1 << 31;
const SECONDS_MAX: u32 = 1 << 31;

/// The reason why a stream is no valid image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It is unreadable, or ends too early.
    #[error("the drive's image cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is not an image.
    #[error("found no image of a drive, expected it to start with \"NANDRAM-STORE\"")]
    Magic,
    /// It was written by another release.
    #[error("found a drive's image of version {0}, expected version {IMAGE_VERSION}: prepare the drive again")]
    Version(u16),
    /// Its checksum is wrong.
    #[error("found a damaged drive's image ({0}), expected what was written: prepare the drive again")]
    Damaged(&'static str),
}

/// A stream that computes the checksum of its data.
struct Checked<T> {
    stream: T,
    crc: crc32fast::Hasher,
    scratch: Vec<u8>,
}

impl<T> Checked<T> {
    fn new(stream: T) -> Checked<T> {
        Checked { stream, crc: crc32fast::Hasher::new(), scratch: Vec::new() }
    }

    /// Returns the checksum so far and starts a new one.
    fn sum(&mut self) -> u32 {
        std::mem::take(&mut self.crc).finalize()
    }
}

impl<W: Write> Checked<W> {
    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        self.stream.write_all(bytes)
    }

    fn u32s(&mut self, values: &[u32]) -> io::Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        let done = self.bytes(&scratch);
        self.scratch = scratch;
        done
    }
}

impl<R: Read> Checked<R> {
    fn bytes_into(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.stream.read_exact(bytes)?;
        self.crc.update(bytes);
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.bytes_into(&mut bytes)?;
        Ok(bytes)
    }

    fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> io::Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads `count` numbers of four bytes and passes each to `each`.
    fn numbers(&mut self, count: usize, mut each: impl FnMut(usize, [u8; 4])) -> io::Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(count * 4, 0);
        let done = self.bytes_into(&mut scratch);
        for (i, bytes) in scratch.chunks_exact(4).enumerate() {
            each(i, bytes.try_into().expect("chunks of four"));
        }
        self.scratch = scratch;
        done
    }
}

impl Store {
    /// Writes the flash to `out`, uncompressed.
    ///
    /// # Errors
    /// Errors of `out`.
    ///
    /// # Panics
    /// If a block still follows the rule by which it was laid out; call [`forget_rule`](Self::forget_rule) first.
    pub fn save(&self, out: &mut impl Write) -> io::Result<()> {
        assert!(
            self.blocks.iter().all(|entry| entry[STATE] & LAID == 0),
            "a rule has no image: settle its blocks first"
        );
        let mut out = Checked::new(out);
        out.bytes(MAGIC)?;
        out.bytes(&IMAGE_VERSION.to_le_bytes())?;
        let g = &self.geometry;
        let payload = match self.kind {
            PayloadKind::None => 0,
            PayloadKind::Stamp => 1,
            PayloadKind::Bytes => 2,
        };
        let any_order = u32::from(self.order == Order::Any);
        let counted = u32::from(!self.disturb.is_empty()) | u32::from(!self.slc_erases.is_empty()) << 1;
        out.u32s(&[g.channels, g.chips, g.dies, g.planes, g.blocks, g.pages, g.page_bytes, g.unit_bytes])?;
        out.u32s(&[payload, any_order, counted, self.clock_s])?;
        let sum = out.sum();
        out.u32s(&[sum])?;
        out.sum();
        for (number, entry) in self.blocks.iter().enumerate() {
            let reads = self.disturb.get(number);
            let slc_erases = self.slc_erases.get(number);
            if entry[1..] != [0, 0] || reads.is_some_and(|n| *n != 0) {
                out.u32s(&[number as u32, entry[1], entry[2]])?;
                if let Some(reads) = reads {
                    out.u32s(&[*reads])?;
                }
                if let Some(slc_erases) = slc_erases {
                    out.u32s(&[*slc_erases])?;
                }
                self.save_contents(entry, &mut out)?;
            }
        }
        out.u32s(&[END])?;
        let sum = out.sum();
        out.u32s(&[sum])
    }

    fn save_contents(&self, entry: &Entry, out: &mut Checked<impl Write>) -> io::Result<()> {
        let slot = entry[SLOT];
        if slot == 0 {
            return Ok(());
        }
        let record = self.slots.record(slot);
        let rare = slots::rare(record);
        out.bytes(&slots::anchor(record).to_le_bytes())?;
        out.u32s(&[slots::written_s(record), self.rares.iter(rare).count() as u32])?;
        for (page, what) in self.rares.iter(rare) {
            let (kind, value, note): (u32, u64, &[u8]) = match what {
                What::Anchor(sequence) => (0, sequence, &[]),
                What::Sequence(sequence) => (1, sequence, &[]),
                What::Torn => (2, 0, &[]),
                What::Lost(unit) => (3, u64::from(unit), &[]),
                What::Note(unit, index) => (4, u64::from(unit), self.rares.note(index)),
            };
            out.u32s(&[page, kind, note.len() as u32])?;
            out.bytes(&value.to_le_bytes())?;
            out.bytes(note)?;
        }
        let pages = self.pages_kept(entry[STATE]);
        let (steps, units) = self.slots.contents(slot, pages);
        // Two steps per word: the half after the last page may hold old content, which is dropped.
        let (whole, odd) = steps.split_at(steps.len() - pages as usize % 2);
        out.u32s(whole)?;
        if let [last] = odd {
            out.u32s(&[last & 0xffff])?;
        }
        out.u32s(units)?;
        if self.unit_payload != 0 {
            for page in 0..pages {
                out.bytes(self.slots.payload(slot, page))?;
            }
        }
        Ok(())
    }

    /// Returns the pages that an image stores for a block in this state.
    fn pages_kept(&self, state: u32) -> u32 {
        match self.order {
            Order::InOrder => state / PAGE,
            Order::Any => self.geometry.pages,
        }
    }

    /// Reads an image of flash with this `geometry` written by [`save`](Self::save), and creates `buffers` RAM buffers.
    ///
    /// # Errors
    /// If it is not an image, has another version or geometry, is damaged, or breaks the rules of the medium.
    pub fn load(stream: &mut impl Read, geometry: &Geometry, buffers: u32) -> Result<Store, ImageError> {
        let mut input = Checked::new(stream);
        if input.array::<14>()? != *MAGIC {
            return Err(ImageError::Magic);
        }
        let version = u16::from_le_bytes(input.array()?);
        if version != IMAGE_VERSION {
            return Err(ImageError::Version(version));
        }
        let mut numbers = [0; 12];
        input.numbers(12, |i, bytes| numbers[i] = u32::from_le_bytes(bytes))?;
        let sum = input.sum();
        if input.u32()? != sum {
            return Err(ImageError::Damaged("checksum of its header"));
        }
        input.sum();
        let [channels, chips, dies, planes, blocks, pages, page_bytes, unit_bytes, payload, order, counted, clock_s] =
            numbers;
        let found = Geometry { channels, chips, dies, planes, blocks, pages, page_bytes, unit_bytes };
        if found != *geometry {
            return Err(ImageError::Damaged("geometry"));
        }
        let kind = match payload {
            0 => PayloadKind::None,
            1 => PayloadKind::Stamp,
            2 if unit_bytes <= 64 << 10 => PayloadKind::Bytes,
            _ => return Err(ImageError::Damaged("payload")),
        };
        if order > 1 || counted > 3 || clock_s > SECONDS_MAX {
            return Err(ImageError::Damaged("header"));
        }
        let order = if order == 0 { Order::InOrder } else { Order::Any };
        let mut store = Store::new(geometry, kind, order, buffers);
        store.clock_s = clock_s;
        if counted & 1 != 0 {
            store.count_reads();
        }
        if counted & 2 != 0 {
            store.count_modes();
        }
        store.load_blocks(&mut input)?;
        let sum = input.sum();
        if input.u32()? != sum {
            return Err(ImageError::Damaged("checksum"));
        }
        Ok(store)
    }

    fn load_blocks(&mut self, input: &mut Checked<impl Read>) -> Result<(), ImageError> {
        let mut next = 0;
        loop {
            let number = input.u32()?;
            if number == END {
                return Ok(());
            }
            // The checksum comes last: until then, check everything that could lead out of bounds.
            if (number as usize) < next || number as usize >= self.blocks.len() {
                return Err(ImageError::Damaged("number of a block"));
            }
            next = number as usize + 1;
            let (erases, state) = (input.u32()?, input.u32()?);
            if state / PAGE > self.geometry.pages {
                return Err(ImageError::Damaged("programmed pages of a block"));
            }
            let keeps = TORN | LOST | LONG | NOTED;
            if state & LAID != 0 || (state < PAGE && state & FLAGS & (keeps | SLC) != 0) {
                return Err(ImageError::Damaged("state of a block"));
            }
            if erases > ERASES_MAX {
                return Err(ImageError::Damaged("erases of a block"));
            }
            if let Some(reads) = self.disturb.get_mut(number as usize) {
                *reads = input.u32()?;
            }
            if let Some(slc_erases) = self.slc_erases.get_mut(number as usize) {
                *slc_erases = input.u32()?;
                if *slc_erases > erases {
                    return Err(ImageError::Damaged("erases of a block"));
                }
            }
            let slot = if state < PAGE { 0 } else { self.load_contents(state, input)? };
            self.blocks[number as usize] = [slot, erases, state];
            self.check_pages(number as usize)?;
            self.any_torn |= state & (TORN | ERASE_TORN) != 0;
            self.any_lost |= state & LOST != 0;
            self.any_slc |= state & SLC != 0;
        }
    }

    /// Checks the pages of a loaded block against the rules of the medium.
    fn check_pages(&self, block: usize) -> Result<(), ImageError> {
        let [slot, _, state] = self.blocks[block];
        if slot == 0 {
            return Ok(());
        }
        let (mut last, mut count) = (0, 0);
        for page in (0..self.pages_kept(state)).filter(|page| self.is_programmed(block, *page)) {
            count += 1;
            let is_far = self.order == Order::Any && slots::step(self.slots.record(slot), page) == super::FAR;
            let has_sequence = |(at, what)| at == page && matches!(what, What::Sequence(_));
            if is_far && !self.rares.iter(slots::rare(self.slots.record(slot))).any(has_sequence) {
                return Err(ImageError::Damaged("sequence of a page"));
            }
            let sequence = self.sequence_of(block, page);
            // A torn page counts as part of the program before it.
            let follows =
                self.order == Order::Any || if self.is_torn(block, page) { sequence == last } else { sequence >= last };
            if !follows {
                return Err(ImageError::Damaged("sequence of a page"));
            }
            last = sequence;
        }
        if count != state / PAGE {
            return Err(ImageError::Damaged("programmed pages of a block"));
        }
        Ok(())
    }

    fn load_contents(&mut self, state: u32, input: &mut Checked<impl Read>) -> Result<u32, ImageError> {
        let (sequence, written_s, rare) = (input.u64()?, input.u32()?, input.u32()?);
        if sequence > SEQUENCE_MAX || written_s > SECONDS_MAX {
            return Err(ImageError::Damaged("first page of a block"));
        }
        let (mut list, is_unit) = (Vec::new(), |value: u64| value < self.units_per_page as u64);
        for _ in 0..rare {
            let (page, kind, length, value) = (input.u32()?, input.u32()?, input.u32()?, input.u64()?);
            if page >= self.geometry.pages || length > self.geometry.unit_bytes || (kind < 4 && length > 0) {
                return Err(ImageError::Damaged("entry of a side table"));
            }
            let what = match kind {
                0 if value <= SEQUENCE_MAX => What::Anchor(value),
                1 if value <= SEQUENCE_MAX => What::Sequence(value),
                2 => What::Torn,
                3 if is_unit(value) => What::Lost(value as u32),
                0 | 1 | 3 => return Err(ImageError::Damaged("entry of a side table")),
                _ if kind > 4 || !is_unit(value) => return Err(ImageError::Damaged("entry of a side table")),
                _ => {
                    let mut note = vec![0; length as usize];
                    input.bytes_into(&mut note)?;
                    What::Note(value as u32, self.rares.keep(&note))
                }
            };
            list.push((page, what));
        }
        let slot = self.slots.take(sequence, written_s);
        let head = list.iter().rev().fold(NONE, |head, (page, what)| self.rares.push(head, *page, *what));
        slots::set_rare(self.slots.record_mut(slot), head);
        let pages = self.pages_kept(state);
        let (steps, units) = self.slots.contents_mut(slot, pages);
        input.numbers(steps.len(), |i, bytes| steps[i] = u32::from_le_bytes(bytes))?;
        input.numbers(units.len(), |i, bytes| units[i] = u32::from_le_bytes(bytes))?;
        if self.unit_payload != 0 {
            for page in 0..pages {
                input.bytes_into(self.slots.payload_mut(slot, page))?;
            }
        }
        Ok(slot)
    }
}
