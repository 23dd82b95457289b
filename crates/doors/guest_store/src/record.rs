//! A page in the file: its payload, and in the sectors behind it the spare area.
//!
//! ```text
//! spare area         CRC-32 of what follows, length u32, magic u32, epoch u32, block u32, page u32, written u32,
//!                    flags u32, planes u32, sequence u64, CRC-32 of the payload u32, numbers of units, lost units, notes: u32 each;
//!                    units u32 each, lost units u32 each, unit and length of each note u32, notes
//! ```
//! `epoch` is the block's number of erases: a page of another epoch has been erased since. `planes` is the mask of the
//! planes that were programmed together: the program has ended when all of them are there.

use nand::PageRecord;

use crate::layout::{ERASES_MAX, SECONDS_MAX};

const MAGIC: u32 = 0x3147_504e;
const HEAD: usize = 60;
const TORN: u32 = 1;
const SLC: u32 = 2;

/// Returns the maximum bytes of the spare area of `units` without the text of notes.
pub const fn spare_max(units: usize) -> usize {
    HEAD + 16 * units
}

/// The spare area of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spare {
    pub epoch: u32,
    pub payload_sum: u32,
    pub planes: u32,
    sequence: u64,
    written_s: u32,
    flags: u32,
    units: Vec<u32>,
    lost: Vec<u32>,
    notes: Vec<(u32, Vec<u8>)>,
}

/// Appends the spare area of a page of `block` to `out`.
pub fn encode(record: &PageRecord<'_>, (block, page): (usize, u32), (epoch, planes): (u32, u32), out: &mut Vec<u8>) {
    let begin = out.len();
    let flags = if record.torn { TORN } else { 0 } + if record.slc { SLC } else { 0 };
    let notes: usize = record.notes.iter().map(|(_, note)| note.len()).sum();
    let length = HEAD + 4 * (record.units.len() + record.lost.len()) + 8 * record.notes.len() + notes;
    let mut put = |numbers: &[u32]| out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    put(&[0, length as u32, MAGIC, epoch, block as u32, page, record.written_s, flags, planes]);
    put(&[record.sequence as u32, (record.sequence >> 32) as u32, crc32fast::hash(record.payload)]);
    put(&[record.units.len() as u32, record.lost.len() as u32, record.notes.len() as u32]);
    put(&record.units);
    put(&record.lost);
    for (unit, note) in &record.notes {
        put(&[*unit, note.len() as u32]);
    }
    for (_, note) in &record.notes {
        out.extend(*note);
    }
    debug_assert_eq!(out.len() - begin, length);
    let sum = crc32fast::hash(&out[begin + 4..]);
    out[begin..begin + 4].copy_from_slice(&sum.to_le_bytes());
}

/// Returns the length of the spare area that begins with `head`, if there is one.
pub fn length(head: &[u8]) -> Option<usize> {
    let number = |at: usize| Some(u32::from_le_bytes(head.get(4 * at..4 * at + 4)?.try_into().ok()?));
    (number(2)? == MAGIC).then_some(number(1)? as usize)
}

/// Reads the spare area of a page of `block`; `None` if it is not whole, or another page's.
pub fn decode(bytes: &[u8], (block, page): (usize, u32)) -> Option<Spare> {
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if number(0)? != crc32fast::hash(bytes.get(4..)?) || (number(16)?, number(20)?) != (block as u32, page) {
        return None;
    }
    let numbers = |at: usize, count: u32| (0..count as usize).map(|i| number(at + 4 * i)).collect::<Option<Vec<u32>>>();
    let (units, lost, notes) = (number(48)?, number(52)?, number(56)?);
    let lost_at = HEAD + 4 * units as usize;
    let notes_at = lost_at + 4 * lost as usize;
    let mut text = bytes.get(notes_at + 8 * notes as usize..)?;
    let notes = (0..notes as usize).map(|i| {
        let (unit, length) = (number(notes_at + 8 * i)?, number(notes_at + 8 * i + 4)? as usize);
        let (note, rest) = text.split_at_checked(length)?;
        text = rest;
        Some((unit, note.to_vec()))
    });
    let notes = notes.collect::<Option<Vec<_>>>()?;
    Some(Spare {
        epoch: number(12)?,
        written_s: number(24)?,
        flags: number(28)?,
        planes: number(32)?,
        sequence: u64::from(number(36)?) | u64::from(number(40)?) << 32,
        payload_sum: number(44)?,
        units: numbers(HEAD, units)?,
        lost: numbers(lost_at, lost)?,
        notes,
    })
}

impl Spare {
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns the page with its `payload`.
    pub fn page<'a>(&'a self, payload: &'a [u8]) -> PageRecord<'a> {
        let torn = self.flags & TORN != 0;
        PageRecord {
            sequence: self.sequence,
            written_s: self.written_s,
            slc: self.flags & SLC != 0,
            torn,
            units: self.units.clone(),
            lost: self.lost.clone(),
            notes: self.notes.iter().map(|(unit, note)| (*unit, &note[..])).collect(),
            payload: if torn { &[] } else { payload },
        }
    }

    /// Returns a torn page of the same block.
    pub fn torn_page(&self) -> PageRecord<'static> {
        PageRecord {
            sequence: 0,
            written_s: self.written_s,
            slc: self.flags & SLC != 0,
            torn: true,
            units: Vec::new(),
            lost: Vec::new(),
            notes: Vec::new(),
            payload: &[],
        }
    }

    /// Returns false if its numbers are those of no drive.
    pub const fn is_possible(&self) -> bool {
        self.epoch <= ERASES_MAX && self.written_s <= SECONDS_MAX
    }

    pub const fn is_torn(&self) -> bool {
        self.flags & TORN != 0
    }
}
