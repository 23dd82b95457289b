//! What is on the flash, without time: spare areas, wear, bad blocks and, where it is kept, the data.
//!
//! A block costs 12 bytes until it is first programmed, and these stay untouched zero pages of the operating system.
//! Then it takes a *slot*: 16 bytes, 4 bytes a mapping unit, 2 bytes a page, and its payload if that is kept. An erase
//! puts the slot on a free list, so that a drive in steady state allocates nothing. A block that was laid out has no
//! slot until it is touched (`laid.rs`).
//!
//! The rules of the medium are assertions here (erase before program, programming order, no program of a bad block):
//! a translation layer that breaks one has a bug, and goes no further.

mod image;
mod laid;
mod modes;
mod payload;
mod rare;
mod slots;
mod view;

use std::borrow::Borrow;

use media::{BlockAddr, Geometry, PageAddr};

pub use image::{IMAGE_VERSION, ImageError};
use laid::Laid;
pub use payload::{HostData, PayloadKind, TagBuffers};
use rare::{Rares, What};
use slots::{Slots, anchor, set_anchor, set_rare, set_step, step};
pub use view::{BlockView, PageView, Pages};

/// The order in which the pages of a block may be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Ascending without gaps, as all NAND with more than one bit a cell, and all of today's, demands.
    InOrder,
    /// Any, as the earliest single-level cells allowed.
    Any,
}

/// What goes into one mapping unit of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitWrite {
    /// Its logical number, or [`media::NOBODY`] for padding.
    pub logical: u32,
    /// The RAM buffer, in units, that its data come from; without meaning for padding, which reads as zeros.
    pub buffer: u32,
    /// Its data could not be read when they were moved: it is programmed, and marked as lost.
    pub lost: bool,
}

/// Words of a block's entry in the table: its slot (0: none), its erase count, its state.
type Entry = [u32; 3];
const SLOT: usize = 0;
const ERASES: usize = 1;
const STATE: usize = 2;

/// The state: programmed pages above, these flags in the low byte.
const BAD: u32 = 1;
const SLC: u32 = 2;
const ERASE_TORN: u32 = 4;
/// Some page is torn, some unit lost, some sequence far from the one before, some unit has a note: the side table
/// has more.
const TORN: u32 = 8;
const LOST: u32 = 16;
const LONG: u32 = 32;
const NOTED: u32 = 64;
/// It was laid out and has no slot yet: its content is a rule.
const LAID: u32 = 128;
const FLAGS: u32 = 0xff;
const PAGE: u32 = 1 << 8;

const TOO_FEW: &str = "too few units for a program";

/// The step of a page, where any order is allowed, whose sequence is in the side table.
const FAR: u16 = u16::MAX;

/// The contents of an array of flash, and the controller's RAM buffers beside it.
pub struct Store {
    geometry: Geometry,
    order: Order,
    blocks: Vec<Entry>,
    slots: Slots,
    rares: Rares,
    units_per_page: usize,
    /// Blocks of a plane, and of a die.
    plane_blocks: usize,
    die_blocks: usize,
    /// Pages of a block behind its first, if they are programmed in order and no payload is kept.
    quick_pages: u32,
    kind: PayloadKind,
    /// Bytes of a unit's payload; 0 where none is kept.
    unit_payload: usize,
    buffers: Vec<u8>,
    /// For one program: what it writes.
    programmed: Vec<UnitWrite>,
    /// Reads of each block since its erase; empty where nobody counts them.
    disturb: Vec<u32>,
    /// Of each block's erases, those in SLC mode; empty where modes are not told apart.
    slc_erases: Vec<u32>,
    clock_s: u32,
    /// A program or an erase was torn, once.
    any_torn: bool,
    /// Some unit was ever written as lost.
    any_lost: bool,
    /// A block was programmed in SLC mode, once.
    any_slc: bool,
    /// How it was laid out, if it was.
    laid: Option<Laid>,
}

impl Store {
    /// Fresh flash of the shape `geometry`, with `buffers` RAM buffers of a mapping unit each.
    ///
    /// # Panics
    /// If the geometry has a fault, a block has 2^24 pages or more, or payload is kept of units above 32 KiB.
    pub fn new(geometry: &Geometry, kind: PayloadKind, order: Order, buffers: u32) -> Store {
        assert_eq!(geometry.fault(), None);
        assert!(geometry.pages < 1 << 24, "{} pages a block, fewer than 2^24 are kept", geometry.pages);
        let sectors = geometry.unit_bytes as usize / 512;
        let unit_payload = sectors * kind.sector_bytes();
        assert!(unit_payload == 0 || sectors <= 64, "payload of units above 32 KiB");
        let blocks = geometry.all_dies() as usize * geometry.planes as usize * geometry.blocks as usize;
        let quick = order == Order::InOrder && unit_payload == 0 && geometry.units_per_page() <= 64;
        Store {
            geometry: *geometry,
            order,
            blocks: vec![[0; 3]; blocks],
            slots: Slots::new(geometry, unit_payload, blocks),
            rares: Rares::new(),
            units_per_page: geometry.units_per_page() as usize,
            plane_blocks: geometry.blocks as usize,
            die_blocks: geometry.blocks as usize * geometry.planes as usize,
            quick_pages: if quick { geometry.pages - 1 } else { 0 },
            kind,
            unit_payload,
            buffers: vec![0; buffers as usize * unit_payload],
            programmed: Vec::new(),
            disturb: Vec::new(),
            slc_erases: Vec::new(),
            clock_s: 0,
            any_torn: false,
            any_lost: false,
            any_slc: false,
            laid: None,
        }
    }

    /// Its shape.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// What payload is kept.
    pub fn payload(&self) -> PayloadKind {
        self.kind
    }

    /// The programming order it enforces.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The drive's age in seconds, as the last program saw it; a block keeps the second of its first program.
    pub fn clock_s(&self) -> u32 {
        self.clock_s
    }

    /// The drive is `seconds` old.
    ///
    /// # Panics
    /// If that is less than before.
    #[inline]
    pub fn set_clock_s(&mut self, seconds: u32) {
        assert!(seconds >= self.clock_s, "the clock went back from {} s to {seconds} s", self.clock_s);
        self.clock_s = seconds;
    }

    /// Programs `page` on its planes. `units` are those of the first plane, then of the next, ascending; `sequence` is
    /// the same on all of them, and never less than that of the block's earlier programs.
    ///
    /// # Panics
    /// If the page is not erased, out of order, in a bad block or in one whose erase was torn; if `slc` differs from
    /// the block's earlier programs; if the units are too few or too many.
    #[inline(always)]
    pub fn program<U: Borrow<UnitWrite>>(
        &mut self,
        page: PageAddr,
        sequence: u64,
        slc: bool,
        units: impl IntoIterator<Item = U>,
    ) {
        let first = page.die as usize * self.die_blocks + page.block as usize;
        let slc = u32::from(slc) * SLC;
        let (mut units, mut planes) = (units.into_iter().map(|unit| *unit.borrow()), page.planes.0);
        while planes & planes.wrapping_sub(1) != 0 {
            let block = first + planes.trailing_zeros() as usize * self.plane_blocks;
            planes &= planes - 1;
            self.program_one_of_several(block, page.page, sequence, slc, &mut units);
        }
        // One plane is the last of several, or, mostly, the only one.
        if planes != 0 {
            let block = first + planes.trailing_zeros() as usize * self.plane_blocks;
            self.program_plane(block, page.page, sequence, slc, &mut units);
        }
        assert!(units.next().is_none(), "too many units for a program");
    }

    #[inline(never)]
    fn program_one_of_several(
        &mut self,
        block: usize,
        page: u32,
        sequence: u64,
        slc: u32,
        units: &mut impl Iterator<Item = UnitWrite>,
    ) {
        self.program_plane(block, page, sequence, slc, units);
    }

    #[inline(always)]
    fn program_plane(
        &mut self,
        block: usize,
        page: u32,
        sequence: u64,
        slc: u32,
        units: &mut impl Iterator<Item = UnitWrite>,
    ) {
        let Some(to) = self.take_plain(block, page, sequence, slc) else {
            return self.program_slowly(block, page, sequence, slc, units);
        };
        let (mut lost, mut bit) = (0, 1u64);
        for to in to {
            let unit = units.next().expect(TOO_FEW);
            *to = unit.logical;
            lost |= if unit.lost { bit } else { 0 };
            bit <<= 1;
        }
        if lost != 0 {
            self.note_lost(block, page, lost);
        }
    }

    /// As [`program`](Self::program), of a page whose logical numbers are all that is to be kept, on one plane: returns
    /// their places, to be filled. `None`, and nothing is done, if there is more to that page than that.
    #[inline(always)]
    pub fn program_plain(&mut self, page: PageAddr, sequence: u64, slc: bool) -> Option<&mut [u32]> {
        let planes = page.planes.0;
        if planes & planes.wrapping_sub(1) != 0 {
            return None;
        }
        let block = self.first_block(page.block()) + planes.trailing_zeros() as usize * self.plane_blocks;
        self.take_plain(block, page.page, sequence, u32::from(slc) * SLC)
    }

    /// Takes a page behind the first of its block, where pages are programmed in order and no payload is kept, if it is
    /// the next: the places of its logical numbers. `None`, and nothing is done, of any other.
    #[inline(always)]
    fn take_plain(&mut self, block: usize, page: u32, sequence: u64, slc: u32) -> Option<&mut [u32]> {
        let entry = &mut self.blocks[block];
        // Two comparisons say: a page behind the first, the next one, same mode, neither bad nor torn by an erase.
        let next = entry[STATE] & !(TORN | LOST | LONG | NOTED) == (page * PAGE) | slc;
        if page.wrapping_sub(1) >= self.quick_pages || !next {
            return None;
        }
        let (record, at) = self.slots.record_of(entry[SLOT], page);
        // A page keeps its distance from the block's anchor, an earlier sequence; one too far away is the next anchor.
        let anchor = anchor(record);
        let distance = sequence.wrapping_sub(anchor);
        let far = distance.wrapping_sub(u64::from(step(record, page - 1))) > u64::from(u16::MAX);
        if far | (distance > u64::from(u16::MAX)) {
            return None;
        }
        entry[STATE] += PAGE;
        set_step(record, page, distance as u16);
        Some(&mut record[at..][..self.units_per_page])
    }

    /// The data of a unit of a programmed page were lost before it was programmed.
    ///
    /// # Panics
    /// If the page is not programmed, or cannot be read.
    pub fn set_lost(&mut self, page: PageAddr, plane: u32, unit: u32) {
        let block = self.geometry.block_index(page, plane);
        assert!(self.is_readable(block, page.page), "a lost unit in {page:?}, which is erased or torn");
        self.note_lost(block, page.page, 1 << unit);
    }

    /// The first page of a block, one far from its anchor, any page where any order is allowed or payload is kept.
    #[inline(never)]
    fn program_slowly(
        &mut self,
        block: usize,
        page: u32,
        sequence: u64,
        slc: u32,
        units: &mut impl Iterator<Item = UnitWrite>,
    ) {
        self.take_page(block, page, sequence, slc);
        let slot = self.blocks[block][SLOT];
        let mut programmed = std::mem::take(&mut self.programmed);
        programmed.extend(units.take(self.units_per_page));
        assert_eq!(programmed.len(), self.units_per_page, "{TOO_FEW}");
        let (record, at) = self.slots.record_of(slot, page);
        for (to, unit) in record[at..].iter_mut().zip(&programmed) {
            *to = unit.logical;
        }
        for (unit, _) in (0..).zip(&programmed).filter(|(_, u)| u.lost) {
            self.any_lost = true;
            self.note_rare(block, LOST, page, What::Lost(unit));
        }
        if self.unit_payload != 0 {
            self.program_payload(slot, page, &programmed);
        }
        programmed.clear();
        self.programmed = programmed;
    }

    /// The units of a page whose bits are in `lost` were programmed as lost.
    #[cold]
    fn note_lost(&mut self, block: usize, page: u32, mut lost: u64) {
        self.any_lost = true;
        while lost != 0 {
            self.note_rare(block, LOST, page, What::Lost(lost.trailing_zeros()));
            lost &= lost - 1;
        }
    }

    /// Checks the rules for a program of `page`, counts it and keeps its sequence.
    fn take_page(&mut self, block: usize, page: u32, sequence: u64, slc: u32) {
        self.settle(block);
        assert!(page < self.geometry.pages, "page {page} of a block of {}", self.geometry.pages);
        let state = self.blocks[block][STATE];
        assert!(state & BAD == 0, "program of page {page} in bad block {block}");
        assert!(state & ERASE_TORN == 0, "program of page {page} in block {block}, whose erase was torn");
        let programmed = state / PAGE;
        assert!(
            programmed == 0 || state & SLC == slc,
            "program of page {page} in block {block} in the other cell mode"
        );
        match self.order {
            Order::InOrder => assert!(
                page == programmed,
                "program of page {page} in block {block}, whose next erased page is {programmed}"
            ),
            Order::Any => {
                assert!(!self.is_programmed(block, page), "program of page {page} in block {block}, not erased");
            }
        }
        let last = self.last_sequence(block);
        assert!(sequence >= last, "sequence {sequence} after {last} in block {block}");
        if programmed == 0 {
            let slot = self.slots.take(sequence, self.clock_s);
            self.blocks[block][SLOT] = slot;
            self.blocks[block][STATE] |= slc;
            self.any_slc |= slc != 0;
            if self.order == Order::Any {
                self.slots.contents_mut(slot, self.geometry.pages).0.fill(0);
            }
        }
        self.blocks[block][STATE] += PAGE;
        let record = self.slots.record_mut(self.blocks[block][SLOT]);
        let (anchor, what);
        anchor = slots::anchor(record);
        match self.order {
            Order::InOrder => {
                let far = sequence - anchor > u64::from(u16::MAX);
                what = far.then_some(What::Anchor(anchor));
                if far {
                    set_anchor(record, sequence);
                }
                set_step(record, page, if far { 0 } else { (sequence - anchor) as u16 });
            }
            // The anchor stays the first program's; a step is one more than the distance, so that zero says erased.
            Order::Any => {
                let step = (sequence - anchor).min(u64::from(FAR) - 1) as u16 + 1;
                what = (step == FAR).then_some(What::Sequence(sequence));
                set_step(record, page, step);
            }
        }
        if let Some(what) = what {
            self.note_rare(block, LONG, page, what);
        }
    }

    fn note_rare(&mut self, block: usize, flag: u32, page: u32, what: What) {
        self.settle(block);
        self.blocks[block][STATE] |= flag;
        let record = self.slots.record_mut(self.blocks[block][SLOT]);
        set_rare(record, self.rares.push(slots::rare(record), page, what));
    }

    /// Keeps `note` with a unit of a programmed page, whatever payload is kept: what a translation layer writes for
    /// itself.
    ///
    /// # Panics
    /// If the page is not programmed, cannot be read, or the note is longer than the unit.
    pub fn set_note(&mut self, page: PageAddr, plane: u32, unit: u32, note: &[u8]) {
        let block = self.geometry.block_index(page, plane);
        assert!(self.is_readable(block, page.page), "a note in {page:?}, which is erased or torn");
        assert!(note.len() <= self.geometry.unit_bytes as usize, "a note of {} bytes in a unit", note.len());
        let index = self.rares.keep(note);
        self.note_rare(block, NOTED, page.page, What::Note(unit, index));
    }

    /// Erases a block on its planes.
    ///
    /// # Panics
    /// If one of them is bad.
    #[inline]
    pub fn erase(&mut self, block: BlockAddr) {
        let first = self.first_block(block);
        for plane in block.planes.iter() {
            let index = first + plane as usize * self.plane_blocks;
            let [slot, erases, state] = self.blocks[index];
            assert!(state & BAD == 0, "erase of bad block {index}");
            if slot != 0 {
                self.free_slot(slot);
            }
            self.count_mode(index, state);
            self.blocks[index] = [0, erases + 1, 0];
            if let Some(laid) = &mut self.laid {
                laid.erased(index);
            }
            if let Some(reads) = self.disturb.get_mut(index) {
                *reads = 0;
            }
        }
    }

    fn free_slot(&mut self, slot: u32) {
        self.rares.free(slots::rare(self.slots.record(slot)));
        self.slots.give(slot);
    }

    /// A program of `page` did not end well, because the power failed or the die said so: the page is used up and
    /// cannot be read. `slc` as for [`program`](Self::program).
    ///
    /// # Panics
    /// As [`program`](Self::program), but for the sequence.
    pub fn tear(&mut self, page: PageAddr, slc: bool) {
        self.any_torn = true;
        let first = self.first_block(page.block());
        for plane in page.planes.iter() {
            let block = first + plane as usize * self.plane_blocks;
            self.settle(block);
            self.take_page(block, page.page, self.last_sequence(block), u32::from(slc) * SLC);
            self.note_rare(block, TORN, page.page, What::Torn);
        }
    }

    /// The least sequence that the next program of a block may have.
    fn last_sequence(&self, block: usize) -> u64 {
        let [slot, _, state] = self.blocks[block];
        match (state / PAGE, self.order) {
            (0, _) => 0,
            (_, Order::Any) => anchor(self.slots.record(slot)),
            (programmed, Order::InOrder) => {
                let record = self.slots.record(slot);
                anchor(record) + u64::from(step(record, programmed - 1))
            }
        }
    }

    /// An erase did not end well: nothing in the block can be read or programmed until an erase does. It wears the
    /// block as any other.
    pub fn tear_erase(&mut self, block: BlockAddr) {
        self.any_torn = true;
        let first = self.first_block(block);
        for plane in block.planes.iter() {
            let index = first + plane as usize * self.plane_blocks;
            self.settle(index);
            if let Some(laid) = &mut self.laid {
                laid.erased(index);
            }
            let entry = &mut self.blocks[index];
            assert!(entry[STATE] & BAD == 0, "erase of bad block {block:?}");
            entry[ERASES] += 1;
            entry[STATE] |= ERASE_TORN;
            let state = entry[STATE];
            self.count_mode(index, state);
        }
    }

    /// Marks a block bad for ever: at the factory, or because it failed. What it holds can still be read.
    pub fn mark_bad(&mut self, block: BlockAddr) {
        let first = self.first_block(block);
        for plane in block.planes.iter() {
            self.blocks[first + plane as usize * self.plane_blocks][STATE] |= BAD;
        }
    }

    /// Gives a block an erase count: for a drive that is built worn.
    pub fn set_erases(&mut self, die: u16, plane: u32, block: u32, erases: u32) {
        let index = self.block_number(die, plane, block);
        self.blocks[index][ERASES] = erases;
    }

    /// Gives every block `erases` cycles: for a drive that begins worn.
    pub(crate) fn set_all_erases(&mut self, erases: u32) {
        // What is zero stays untouched memory.
        if erases > 0 {
            self.blocks.iter_mut().for_each(|block| block[ERASES] = erases);
        }
    }

    /// From now on the reads of each block are counted, four bytes a block.
    pub fn count_reads(&mut self) {
        if self.disturb.is_empty() {
            self.disturb = vec![0; self.blocks.len()];
        }
    }

    /// Counts a read of a block, if reads are counted, and returns how many it has suffered since its erase.
    #[inline]
    pub(crate) fn read_of(&mut self, block: usize) -> u32 {
        match self.disturb.get_mut(block) {
            Some(reads) => {
                *reads = reads.saturating_add(1);
                *reads
            }
            None => 0,
        }
    }

    #[inline]
    fn first_block(&self, block: BlockAddr) -> usize {
        block.die as usize * self.die_blocks + block.block as usize
    }

    #[inline]
    fn block_number(&self, die: u16, plane: u32, block: u32) -> usize {
        let g = &self.geometry;
        assert!(
            u32::from(die) < g.all_dies() && plane < g.planes && block < g.blocks,
            "die {die} plane {plane} block {block} of {g:?}"
        );
        (die as usize * g.planes as usize + plane as usize) * g.blocks as usize + block as usize
    }

    /// Bytes this store holds of its blocks, pages and units, used or on the free list; payload and buffers included.
    pub fn bytes_held(&self) -> u64 {
        let counts = (self.disturb.len() + self.slc_erases.len()) * 4;
        let table = self.blocks.len() * size_of::<Entry>() + counts + self.buffers.len();
        table as u64 + self.slots.bytes_held() + self.rares.bytes_held() + self.laid_bytes()
    }
}
