//! Single blocks and pages as values: the form in which a copy of the flash outside the simulation keeps them.

use media::{Flash, PageAddr, PlaneMask};

use super::{BAD, ERASE_TORN, ERASES, PAGE, SLC, SLOT, STATE, Store, UnitWrite, slots};
use crate::config::Order;

/// State of a block apart from its pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRecord {
    /// Number of erases.
    pub erases: u32,
    /// Number of erases in SLC mode; 0 if not counted.
    pub slc_erases: u32,
    /// Reads since its erase; 0 if not counted.
    pub reads: u32,
    /// Bad, at the factory or since.
    pub bad: bool,
    /// Its erase was torn.
    pub erase_torn: bool,
}

/// Content of a programmed page on one plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRecord<'a> {
    /// Sequence of its program; 0 if it is torn.
    pub sequence: u64,
    /// The drive's age in seconds at the block's first program.
    pub written_s: u32,
    /// The block is in SLC mode.
    pub slc: bool,
    /// The page is unreadable: its program was torn.
    pub torn: bool,
    /// Logical number of each unit; none if the page is torn.
    pub units: Vec<u32>,
    /// Units that were lost before their program, ascending.
    pub lost: Vec<u32>,
    /// Notes of units, ascending.
    pub notes: Vec<(u32, &'a [u8])>,
    /// Payload of all units, if kept.
    pub payload: &'a [u8],
}

impl Store {
    /// Returns the number of the block of `page` on `plane`. Blocks are numbered by die, then plane, then block.
    pub fn number_of(&self, page: PageAddr, plane: u32) -> usize {
        self.geometry.block_index(page, plane)
    }

    /// Returns the state of block `number`, apart from its pages.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn block_record(&self, number: usize) -> BlockRecord {
        let state = self.blocks[number][STATE];
        BlockRecord {
            erases: self.blocks[number][ERASES],
            slc_erases: self.slc_erases.get(number).copied().unwrap_or(0),
            reads: self.disturb.get(number).copied().unwrap_or(0),
            bad: state & BAD != 0,
            erase_torn: state & ERASE_TORN != 0,
        }
    }

    /// Returns the content of a page of block `number`, or `None` if the page is erased, or unreadable because an erase
    /// of the block was torn.
    ///
    /// # Panics
    /// If there is no such block or page, or the block still follows the rule by which it was laid out.
    pub fn page_record(&self, number: usize, page: u32) -> Option<PageRecord<'_>> {
        let [slot, _, state] = self.blocks[number];
        if slot == 0 || state & ERASE_TORN != 0 || !self.is_programmed(number, page) {
            return None;
        }
        let (written_s, slc) = (slots::written_s(self.slots.record(slot)), state & SLC != 0);
        let empty = PageRecord {
            sequence: 0,
            written_s,
            slc,
            torn: true,
            units: Vec::new(),
            lost: Vec::new(),
            notes: Vec::new(),
            payload: &[],
        };
        if self.is_torn(number, page) {
            return Some(empty);
        }
        let (at, plane) = self.address(number, page);
        let units = self.slots.spare(slot, page).to_vec();
        let count = units.len() as u32;
        Some(PageRecord {
            sequence: self.sequence(at, plane),
            torn: false,
            units,
            lost: (0..count).filter(|unit| self.lost(at, plane, *unit)).collect(),
            notes: (0..count)
                .map(|unit| (unit, self.note(at, plane, unit)))
                .filter(|(_, note)| !note.is_empty())
                .collect(),
            payload: if self.unit_payload == 0 { &[] } else { self.slots.payload(slot, page) },
            ..empty
        })
    }

    /// Returns the number of programmed pages of block `number`, torn ones included.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn programmed_of(&self, number: usize) -> u32 {
        self.blocks[number][STATE] / PAGE
    }

    /// Sets the state of block `number`, after its pages were [restored](Self::restore_page).
    ///
    /// # Panics
    /// If there is no such block.
    pub fn restore_block(&mut self, number: usize, record: &BlockRecord) {
        let entry = &mut self.blocks[number];
        entry[ERASES] = record.erases;
        entry[STATE] &= !(BAD | ERASE_TORN);
        for (flag, is_set) in [(BAD, record.bad), (ERASE_TORN, record.erase_torn)] {
            entry[STATE] |= if is_set { flag } else { 0 };
        }
        self.any_torn |= record.erase_torn;
        if let Some(slc_erases) = self.slc_erases.get_mut(number) {
            *slc_erases = record.slc_erases;
        }
        if let Some(reads) = self.disturb.get_mut(number) {
            *reads = record.reads;
        }
    }

    /// Programs or tears the next page of block `number` with the content of a copy. Pages are restored in the order in
    /// which they were programmed, and before the [state](Self::restore_block) of their block.
    ///
    /// # Errors
    /// If the page contradicts the rules of the medium; nothing changes then.
    ///
    /// # Panics
    /// If there is no such block or page, or the store has no RAM buffers.
    pub fn restore_page(&mut self, number: usize, page: u32, record: &PageRecord<'_>) -> Result<(), &'static str> {
        let state = self.blocks[number][STATE];
        let is_next = match self.order {
            Order::InOrder => state / PAGE == page,
            Order::Any => !self.is_programmed(number, page),
        };
        if state & (BAD | ERASE_TORN) != 0 {
            return Err("state of the block");
        }
        if !is_next {
            return Err("order of its pages");
        }
        if state >= PAGE && (state & SLC != 0) != record.slc {
            return Err("cell mode of a page");
        }
        let (at, plane) = self.address(number, page);
        let clock_s = std::mem::replace(&mut self.clock_s, record.written_s);
        let restored = if record.torn {
            self.tear(at, record.slc);
            Ok(())
        } else {
            self.restore_content(number, (at, plane), record)
        };
        self.clock_s = clock_s.max(record.written_s);
        restored
    }

    fn restore_content(
        &mut self,
        number: usize,
        (at, plane): (PageAddr, u32),
        record: &PageRecord<'_>,
    ) -> Result<(), &'static str> {
        if record.units.len() != self.units_per_page || record.payload.len() != self.units_per_page * self.unit_payload
        {
            return Err("length of a page");
        }
        if record.sequence < self.last_sequence(number) {
            return Err("sequence of a page");
        }
        let is_unit = |unit: u32| (unit as usize) < self.units_per_page;
        if record.notes.iter().any(|(unit, note)| !is_unit(*unit) || note.len() > self.geometry.unit_bytes as usize) {
            return Err("note of a page");
        }
        if !record.lost.iter().all(|unit| is_unit(*unit)) {
            return Err("lost units of a page");
        }
        let units = (0..).zip(&record.units).map(|(unit, logical)| UnitWrite {
            logical: *logical,
            buffer: 0,
            lost: record.lost.contains(&unit),
        });
        self.program(at, record.sequence, record.slc, units);
        if self.unit_payload != 0 {
            let slot = self.blocks[number][SLOT];
            self.slots.payload_mut(slot, at.page).copy_from_slice(record.payload);
        }
        for (unit, note) in &record.notes {
            self.set_note(at, plane, *unit, note);
        }
        Ok(())
    }

    /// Returns the address of a page of block `number`, and its plane.
    fn address(&self, number: usize, page: u32) -> (PageAddr, u32) {
        let (die, within) = (number / self.die_blocks, number % self.die_blocks);
        let (plane, block) = (within / self.plane_blocks(), within % self.plane_blocks());
        let planes = PlaneMask::one(plane as u32);
        (PageAddr { die: die as u16, planes, block: block as u32, page }, plane as u32)
    }
}
