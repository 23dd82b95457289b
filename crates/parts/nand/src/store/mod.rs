//! The content of flash, without time: spare areas, wear, bad blocks and, where kept, the data.
//!
//! A block costs 12 bytes until it is first programmed, in zero pages that the operating system need not back. Then it
//! takes a *slot*: 16 bytes, 4 bytes per mapping unit, 2 bytes per page, and its payload if kept. An erase returns the
//! slot to a free list, so a drive in steady state allocates nothing. A laid-out block has no slot until it is touched
//! (`laid.rs`).
//!
//! The rules of the medium are assertions here (erase before program, programming order, no program of a bad block): a
//! translation layer that breaks one has a bug, and stops.

mod image;
mod laid;
mod modes;
mod payload;
mod rare;
mod record;
mod slots;
mod view;

use crate::config::Order;
use std::borrow::Borrow;

use media::{BlockAddr, Geometry, PageAddr};
use sim::Dense;

pub use image::{IMAGE_VERSION, ImageError};
use laid::Laid;
pub use payload::{HostData, PayloadKind, TagBuffers};
use rare::{Rares, What};
pub use record::{BlockRecord, PageRecord};
use slots::{Slots, anchor, set_anchor, set_rare, set_step, step};
pub use view::{BlockView, PageView, Pages};

/// Content of one mapping unit of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitWrite {
    /// Its logical number, or [`media::NOBODY`] for padding.
    pub logical: u32,
    /// The RAM buffer with its data, in units; ignored for padding, which reads as zeros.
    pub buffer: u32,
    /// Its data was unreadable when it was moved: it is programmed and marked as lost.
    pub lost: bool,
}

/// Words of a block's entry in the table: slot (0: none), erase count, state.
type Entry = [u32; 3];
const SLOT: usize = 0;
const ERASES: usize = 1;
const STATE: usize = 2;

/// The state: number of programmed pages in the upper bits, these flags in the low byte.
const BAD: u32 = 1;
const SLC: u32 = 2;
const ERASE_TORN: u32 = 4;
/// The side table has entries for this block: a torn page, a lost unit, a sequence far from the previous one, or a
/// note.
const TORN: u32 = 8;
const LOST: u32 = 16;
const LONG: u32 = 32;
const NOTED: u32 = 64;
/// The block is laid out and has no slot: a rule gives its content.
const LAID: u32 = 128;
const FLAGS: u32 = 0xff;
const PAGE: u32 = 1 << 8;

const TOO_FEW: &str = "too few units for a program";

/// The step of a page in any order, whose sequence is in the side table.
const FAR: u16 = u16::MAX;

/// The contents of a flash array, and the controller's RAM buffers.
pub struct Store {
    geometry: Geometry,
    order: Order,
    blocks: Dense<Entry>,
    slots: Slots,
    rares: Rares,
    units_per_page: usize,
    /// Mask of the planes that a die does not have.
    other_planes: u16,
    /// Blocks per die.
    die_blocks: usize,
    /// Pages of a block after its first, if they are programmed in order and no payload is kept.
    quick_pages: u32,
    kind: PayloadKind,
    /// Bytes of payload per unit; 0 if none is kept.
    unit_payload: usize,
    buffers: Vec<u8>,
    /// Scratch space for one program.
    programmed: Vec<UnitWrite>,
    /// Reads of each block since its erase; empty if not counted.
    disturb: Vec<u32>,
    /// Erases of each block in SLC mode; empty if modes are not counted separately.
    slc_erases: Vec<u32>,
    clock_s: u32,
    /// A program or an erase was torn at some time.
    any_torn: bool,
    /// A unit was programmed as lost at some time.
    any_lost: bool,
    /// A block was programmed in SLC mode at some time.
    any_slc: bool,
    /// The rule by which it was laid out, if any.
    laid: Option<Laid>,
}

impl Store {
    /// Creates fresh flash with this `geometry`, and `buffers` RAM buffers of one mapping unit each.
    ///
    /// # Panics
    /// If the geometry is invalid, a block has 2^24 pages or more, or payload is kept for units above 64 KiB.
    pub fn new(geometry: &Geometry, kind: PayloadKind, order: Order, buffers: u32) -> Store {
        assert_eq!(geometry.fault(), None);
        assert!(geometry.pages < 1 << 24, "{} pages a block, fewer than 2^24 are kept", geometry.pages);
        let sectors = geometry.unit_bytes as usize / 512;
        let unit_payload = sectors * kind.sector_bytes();
        assert!(unit_payload == 0 || sectors <= 128, "payload of units above 64 KiB");
        let blocks = geometry.all_dies() as usize * geometry.planes as usize * geometry.blocks as usize;
        let quick = order == Order::InOrder && unit_payload == 0 && geometry.units_per_page() <= 64;
        Store {
            geometry: *geometry,
            order,
            blocks: Dense::new(vec![[0; 3]; blocks]),
            slots: Slots::new(geometry, unit_payload, blocks),
            rares: Rares::new(),
            units_per_page: geometry.units_per_page() as usize,
            other_planes: u16::MAX.checked_shl(geometry.planes).unwrap_or(0),
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

    /// Returns its geometry.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Returns the kind of payload kept.
    pub fn payload(&self) -> PayloadKind {
        self.kind
    }

    /// Returns the enforced programming order.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Returns the drive's age in seconds at the last program; a block keeps the second of its first program.
    pub fn clock_s(&self) -> u32 {
        self.clock_s
    }

    /// Sets the drive's age.
    ///
    /// # Panics
    /// If the age decreases.
    #[inline]
    pub fn set_clock_s(&mut self, seconds: u32) {
        assert!(seconds >= self.clock_s, "the clock went back from {} s to {seconds} s", self.clock_s);
        self.clock_s = seconds;
    }

    /// Programs `page` on its planes. `units` are those of the lowest plane, then of the next; `sequence` is the same
    /// for all of them, and at least that of the block's earlier programs.
    ///
    /// # Panics
    /// If the page is not erased or out of order, the block is bad or its erase was torn, `slc` differs from the
    /// block's earlier programs, or the number of units is wrong.
    #[inline]
    pub fn program<U: Borrow<UnitWrite>>(
        &mut self,
        page: PageAddr,
        sequence: u64,
        slc: bool,
        units: impl IntoIterator<Item = U>,
    ) {
        let first = self.first_block(page.block());
        let slc = u32::from(slc) * SLC;
        let (mut units, mut planes) = (units.into_iter().map(|unit| *unit.borrow()), page.planes.0);
        while planes & planes.wrapping_sub(1) != 0 {
            let block = first + planes.trailing_zeros() as usize * self.plane_blocks();
            planes &= planes - 1;
            self.program_one_of_several(block, page.page, sequence, slc, &mut units);
        }
        // Usually there is only one plane; of several, the last one.
        if planes != 0 {
            let block = first + planes.trailing_zeros() as usize * self.plane_blocks();
            self.program_plane(block, page.page, sequence, slc, &mut units);
        }
        assert!(units.next().is_none(), "too many units for a program");
    }

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

    #[inline]
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

    /// Like [`program`](Self::program), for a page of one plane that needs only its logical numbers stored: returns
    /// their places, to be filled. Returns `None` without any effect if the page needs more.
    #[inline]
    pub fn program_plain(&mut self, page: PageAddr, sequence: u64, slc: bool) -> Option<&mut [u32]> {
        let planes = page.planes.0;
        if planes & planes.wrapping_sub(1) != 0 {
            return None;
        }
        let block = self.first_block(page.block()) + planes.trailing_zeros() as usize * self.plane_blocks();
        self.take_plain(block, page.page, sequence, u32::from(slc) * SLC)
    }

    /// Takes a page after the first of its block, where pages are programmed in order and no payload is kept, if it is
    /// the next one: returns the places of its logical numbers. Returns `None` without any effect otherwise.
    #[inline]
    fn take_plain(&mut self, block: usize, page: u32, sequence: u64, slc: u32) -> Option<&mut [u32]> {
        let entry = &mut self.blocks[block];
        // Two comparisons check everything: a page after the first, the next one, the same mode, neither bad nor torn.
        let next = entry[STATE] & !(TORN | LOST | LONG | NOTED) == (page * PAGE) | slc;
        if page.wrapping_sub(1) >= self.quick_pages || !next {
            return None;
        }
        let (record, at) = self.slots.record_of(entry[SLOT], page);
        // A page stores its distance from the block's anchor, an earlier sequence; a page too far away becomes the next
        // anchor.
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

    /// Marks a unit of a programmed page as lost before its program.
    ///
    /// # Panics
    /// If the page is not programmed or unreadable.
    pub fn set_lost(&mut self, page: PageAddr, plane: u32, unit: u32) {
        let block = self.geometry.block_index(page, plane);
        assert!(self.is_readable(block, page.page), "a lost unit in {page:?}, which is erased or torn");
        self.note_lost(block, page.page, 1 << unit);
    }

    /// Programs the first page of a block, one far from its anchor, or any page where order is free or payload is kept.
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

    /// Marks the units of a page with a bit in `lost` as lost.
    #[cold]
    fn note_lost(&mut self, block: usize, page: u32, mut lost: u64) {
        self.any_lost = true;
        while lost != 0 {
            self.note_rare(block, LOST, page, What::Lost(lost.trailing_zeros()));
            lost &= lost - 1;
        }
    }

    /// Checks the rules for a program of `page`, counts it and stores its sequence.
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
            // The anchor stays that of the first program; a step is the distance plus one, so zero means erased.
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

    /// Stores `note` with a unit of a programmed page, whatever payload is kept: metadata of the translation layer.
    ///
    /// # Panics
    /// If the page is not programmed or unreadable, or the note is longer than the unit.
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
            let index = first + plane as usize * self.plane_blocks();
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

    /// Tears `page`: its program failed or was cut off, so the page is used up and unreadable. `slc` as for
    /// [`program`](Self::program).
    ///
    /// # Panics
    /// Like [`program`](Self::program), except for the sequence.
    pub fn tear(&mut self, page: PageAddr, slc: bool) {
        self.any_torn = true;
        let first = self.first_block(page.block());
        for plane in page.planes.iter() {
            let block = first + plane as usize * self.plane_blocks();
            self.settle(block);
            self.take_page(block, page.page, self.last_sequence(block), u32::from(slc) * SLC);
            self.note_rare(block, TORN, page.page, What::Torn);
        }
    }

    /// Returns the minimum sequence of the next program of a block.
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

    /// Tears an erase: nothing in the block can be read or programmed until an erase succeeds. It wears the block like
    /// any other.
    pub fn tear_erase(&mut self, block: BlockAddr) {
        self.any_torn = true;
        let first = self.first_block(block);
        for plane in block.planes.iter() {
            let index = first + plane as usize * self.plane_blocks();
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

    /// Marks a block bad forever: at the factory, or after a failure. Its content stays readable.
    pub fn mark_bad(&mut self, block: BlockAddr) {
        let first = self.first_block(block);
        for plane in block.planes.iter() {
            let index = first + plane as usize * self.plane_blocks();
            self.blocks[index][STATE] |= BAD;
        }
    }

    /// Sets a block's erase count, for a drive that is built worn.
    pub fn set_erases(&mut self, die: u16, plane: u32, block: u32, erases: u32) {
        let index = self.block_number(die, plane, block);
        self.blocks[index][ERASES] = erases;
    }

    /// Sets every block's cycles, for a drive that begins worn.
    pub(crate) fn set_all_erases(&mut self, erases: u32) {
        // Memory that stays zero is never touched.
        if erases > 0 {
            self.blocks.iter_mut().for_each(|block| block[ERASES] = erases);
        }
    }

    /// Counts the reads of each block from now on, in four bytes per block.
    pub fn count_reads(&mut self) {
        if self.disturb.is_empty() {
            self.disturb = vec![0; self.blocks.len()];
        }
    }

    /// Counts a read of a block, if reads are counted, and returns the reads since its erase.
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
    fn plane_blocks(&self) -> usize {
        self.geometry.blocks as usize
    }

    #[inline]
    fn first_block(&self, block: BlockAddr) -> usize {
        let exists = (block.block as usize) < self.plane_blocks() && block.planes.0 & self.other_planes == 0;
        if !exists {
            self.refuse_block(block.die, block.planes.0, block.block);
        }
        block.die as usize * self.die_blocks + block.block as usize
    }

    fn refuse_block(&self, die: u16, planes: u16, block: u32) -> ! {
        panic!("die {die} planes {planes:#b} block {block} of {:?}", self.geometry)
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

    /// Returns the bytes held for blocks, pages and units, in use or free, including payload and buffers.
    pub fn bytes_held(&self) -> u64 {
        let counts = (self.disturb.len() + self.slc_erases.len()) * 4;
        let table = self.blocks.len() * size_of::<Entry>() + counts + self.buffers.len();
        table as u64 + self.slots.bytes_held() + self.rares.bytes_held() + self.laid_bytes()
    }
}
