//! Inspection of flash: what recovery after a power cut, a scan or a test may observe.

use std::sync::Arc;

use media::{BlockInfo, Flash, Geometry, LaidOut, PageAddr};

use super::rare::What;
use super::{BAD, ERASE_TORN, ERASES, FAR, LAID, LONG, LOST, NOTED, PAGE, SLC, SLOT, STATE, Store, TORN, slots};
use crate::config::Order;

/// The state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockView {
    /// Pages programmed since its erase, including torn ones.
    pub programmed: u32,
    /// Number of erases.
    pub erases: u32,
    /// Bad, at the factory or since: it must not be programmed or erased.
    pub bad: bool,
    /// It is in SLC mode, whatever its technology.
    pub slc: bool,
    /// Some of its pages are unreadable: their program was torn.
    pub torn: bool,
    /// Its erase was torn: no page is readable, and it must be erased before it is programmed.
    pub erase_torn: bool,
    /// The drive's age in seconds at its first program; 0 if nothing is programmed.
    pub written_s: u32,
    /// Reads since its erase, if counted.
    pub reads: u32,
}

/// Content of the spare area of a page on one plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageView<'a> {
    /// Page within its block.
    pub page: u32,
    /// Sequence of its program among all programs of the drive; 0 if the page is unreadable.
    pub sequence: u64,
    /// The logical number of each of its units; empty if the page is unreadable.
    pub units: &'a [u32],
}

impl PageView<'_> {
    /// Whether its program or the erase of its block was torn.
    pub const fn is_torn(&self) -> bool {
        self.units.is_empty()
    }
}

impl Store {
    /// Returns the state of a block.
    ///
    /// # Panics
    /// If there is no such block.
    #[inline]
    pub fn block(&self, die: u16, plane: u32, block: u32) -> BlockView {
        self.view(self.block_number(die, plane, block))
    }

    /// Returns the state of all blocks, in order of die, plane and number.
    pub fn blocks(&self) -> impl Iterator<Item = BlockView> + '_ {
        (0..self.blocks.len()).map(|block| self.view(block))
    }

    #[inline]
    pub(super) fn view(&self, block: usize) -> BlockView {
        let [slot, erases, state] = self.blocks[block];
        BlockView {
            programmed: state / PAGE,
            erases,
            bad: state & BAD != 0,
            slc: state & SLC != 0,
            torn: state & TORN != 0,
            erase_torn: state & ERASE_TORN != 0,
            written_s: if slot == 0 { 0 } else { slots::written_s(self.slots.record(slot)) },
            reads: self.disturb.get(block).copied().unwrap_or(0),
        }
    }

    /// Returns whether the block is in SLC mode.
    #[inline]
    pub(crate) fn is_slc(&self, block: usize) -> bool {
        self.blocks[block][STATE] & SLC != 0
    }

    /// Returns whether any block of the flash may be in SLC mode although its technology has more bits per cell.
    #[inline]
    pub(crate) fn has_slc(&self) -> bool {
        self.any_slc
    }

    /// Returns whether any page of the flash may be torn.
    #[inline]
    pub(crate) fn has_torn(&self) -> bool {
        self.any_torn
    }

    /// Returns the number of a block's erases.
    #[inline]
    pub(crate) fn erases_of(&self, block: usize) -> u32 {
        self.blocks[block][ERASES]
    }

    /// Returns the drive's age in seconds at the block's first program.
    pub(crate) fn written_of(&self, block: usize) -> u32 {
        match self.blocks[block][SLOT] {
            0 => self.unslotted_written_s(block),
            slot => slots::written_s(self.slots.record(slot)),
        }
    }

    /// Returns whether a read of the page can succeed as far as programs and erases are concerned, so it is not torn.
    /// (An erased page reads as all ones.)
    pub(crate) fn can_be_read(&self, block: usize, page: u32) -> bool {
        self.blocks[block][STATE] & ERASE_TORN == 0 && !self.is_torn(block, page)
    }

    #[inline]
    pub(super) fn is_programmed(&self, block: usize, page: u32) -> bool {
        let [slot, _, state] = self.blocks[block];
        match self.order {
            Order::InOrder => page < state / PAGE,
            Order::Any => state >= PAGE && slots::step(self.slots.record(slot), page) != 0,
        }
    }

    #[inline]
    pub(super) fn is_torn(&self, block: usize, page: u32) -> bool {
        self.blocks[block][STATE] & TORN != 0 && self.rare(block).any(|(p, what)| p == page && what == What::Torn)
    }

    fn rare(&self, block: usize) -> impl Iterator<Item = (u32, What)> + '_ {
        self.rares.iter(slots::rare(self.slots.record(self.blocks[block][SLOT])))
    }

    /// Returns whether the page is programmed on `plane` and readable.
    pub fn readable(&self, page: PageAddr, plane: u32) -> bool {
        self.is_readable(self.geometry.block_index(page, plane), page.page)
    }

    /// Returns whether the spare area of a programmed page is readable.
    fn can_be_asked(&self, block: usize, page: PageAddr) -> bool {
        assert!(self.is_programmed(block, page.page), "spare area of {page:?}, which is erased");
        self.can_be_read(block, page.page)
    }

    /// Returns the spare area of a programmed page; empty if it is unreadable.
    #[inline(never)]
    fn spare_if_readable(&self, block: usize, page: PageAddr) -> &[u32] {
        if self.can_be_asked(block, page) { self.spare_of(block, page.page) } else { &[] }
    }

    /// Returns the block of a page that must be readable.
    fn readable_block(&self, page: PageAddr, plane: u32) -> usize {
        let block = self.geometry.block_index(page, plane);
        assert!(self.is_readable(block, page.page), "spare area of {page:?}, which is erased or torn");
        block
    }

    #[inline]
    pub(super) fn sequence_of(&self, block: usize, page: u32) -> u64 {
        let [slot, _, state] = self.blocks[block];
        if state & LAID != 0 {
            return self.laid_sequence(block, page);
        }
        let record = self.slots.record(slot);
        let (anchor, step) = (slots::anchor(record), slots::step(record, page));
        match self.order {
            Order::InOrder if state & LONG == 0 => anchor + u64::from(step),
            Order::InOrder => {
                // Newest first: the last entry after this page is the one that moved the anchor away from it.
                let moved = self.rare(block).filter_map(|(p, what)| match what {
                    What::Anchor(old) if p > page => Some(old),
                    _ => None,
                });
                moved.last().unwrap_or(anchor) + u64::from(step)
            }
            Order::Any if step == FAR => {
                let far = self.rare(block).find_map(|(p, what)| match what {
                    What::Sequence(sequence) if p == page => Some(sequence),
                    _ => None,
                });
                far.expect("a far page has its sequence in the side table")
            }
            Order::Any => anchor + u64::from(step) - 1,
        }
    }

    /// Returns the programmed pages of a block in order, as a scan reads them.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn pages(&self, die: u16, plane: u32, block: u32) -> Pages<'_> {
        let block = self.block_number(die, plane, block);
        let end = match (self.blocks[block][STATE] / PAGE, self.order) {
            (0, _) => 0,
            (programmed, Order::InOrder) => programmed,
            (_, Order::Any) => self.geometry.pages,
        };
        Pages { store: self, block, page: 0, end }
    }
}

/// Iterator over the programmed pages of a block.
pub struct Pages<'a> {
    store: &'a Store,
    block: usize,
    page: u32,
    end: u32,
}

impl<'a> Iterator for Pages<'a> {
    type Item = PageView<'a>;

    fn next(&mut self) -> Option<PageView<'a>> {
        let (store, block) = (self.store, self.block);
        let page = (self.page..self.end).find(|page| store.is_programmed(block, *page))?;
        self.page = page + 1;
        let readable = store.is_readable(block, page);
        let units = if readable { store.spare_of(block, page) } else { &[] };
        Some(PageView { page, sequence: if readable { store.sequence_of(block, page) } else { 0 }, units })
    }
}

impl Flash for Store {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn block(&self, die: u16, plane: u32, block: u32) -> BlockInfo {
        let BlockView { programmed, erases, bad, slc, erase_torn, written_s, .. } =
            Store::block(self, die, plane, block);
        BlockInfo { programmed, erases, bad, slc, torn: erase_torn, written_s }
    }

    /// # Panics
    /// If the page is erased.
    #[inline]
    fn logical(&self, page: PageAddr, plane: u32) -> &[u32] {
        let block = self.first_block(page.block()) + plane as usize * self.plane_blocks();
        let [slot, _, state] = self.blocks[block];
        // Nothing is torn in the block, and every page before this one is programmed.
        let plain = state & (TORN | ERASE_TORN | LAID) == 0 && state / PAGE > page.page && self.order == Order::InOrder;
        if plain {
            self.slots.spare(slot, page.page)
        } else if state & LAID != 0 {
            // Nothing is torn in it: torn blocks have slots.
            self.laid_spare(block, page.page)
        } else {
            self.spare_if_readable(block, page)
        }
    }

    /// # Panics
    /// If the page is erased or torn.
    #[inline]
    fn sequence(&self, page: PageAddr, plane: u32) -> u64 {
        self.sequence_of(self.readable_block(page, plane), page.page)
    }

    /// # Panics
    /// If the page is erased or torn.
    fn note(&self, page: PageAddr, plane: u32, unit: u32) -> &[u8] {
        let block = self.readable_block(page, plane);
        if self.blocks[block][STATE] & NOTED == 0 {
            return &[];
        }
        let kept = self.rare(block).find_map(|(p, what)| match what {
            What::Note(u, index) if (p, u) == (page.page, unit) => Some(index),
            _ => None,
        });
        kept.map_or(&[], |index| self.rares.note(index))
    }

    fn has_lost(&self) -> bool {
        self.any_lost
    }

    /// # Panics
    /// If the page is erased or torn.
    fn lost(&self, page: PageAddr, plane: u32, unit: u32) -> bool {
        let block = self.readable_block(page, plane);
        self.blocks[block][STATE] & LOST != 0
            && self.rare(block).any(|(p, what)| p == page.page && what == What::Lost(unit))
    }

    fn readable(&self, page: PageAddr, plane: u32) -> bool {
        self.can_be_asked(self.geometry.block_index(page, plane), page)
    }

    fn laid_out(&self) -> Option<&Arc<dyn LaidOut>> {
        self.rule()
    }

    fn is_laid_out(&self, die: u16, plane: u32, block: u32) -> bool {
        self.laid.as_ref().is_some_and(|laid| laid.is_original(self.block_number(die, plane, block)))
    }
}
