//! Laid-out blocks: a rule gives their content until they are touched.
//!
//! A laid-out block has a count of pages and no slot. Reading its spare areas computes them once for the whole block; a
//! program, a torn page or a note gives it a slot like any other.

use std::sync::{Arc, OnceLock};

use media::{Geometry, LaidOut, PageAddr, PlaneMask};

use super::{BAD, LAID, PAGE, SLC, SLOT, STATE, Store};
use crate::config::Order;

/// The rule, and the blocks that still follow it.
pub(super) struct Laid {
    rule: Arc<dyn LaidOut>,
    /// Blocks not erased since, one bit each.
    original: Vec<u64>,
    /// Computed spare areas, page by page, of blocks without a slot.
    spare: Vec<OnceLock<Box<[u32]>>>,
}

impl Laid {
    pub(super) fn is_original(&self, block: usize) -> bool {
        self.original[block / 64] >> (block % 64) & 1 != 0
    }

    /// Notes that the block is erased.
    pub(super) fn erased(&mut self, block: usize) {
        self.original[block / 64] &= !(1 << (block % 64));
        self.spare[block] = OnceLock::new();
    }
}

/// Returns die, plane and number of a block numbered over the array.
fn address(geometry: &Geometry, block: usize) -> (u16, u32, u32) {
    let (blocks, planes) = (geometry.blocks as usize, geometry.planes as usize);
    ((block / blocks / planes) as u16, (block / blocks % planes) as u32, (block % blocks) as u32)
}

/// Returns a page of a block numbered over the array, and its plane.
fn page_of(geometry: &Geometry, block: usize, page: u32) -> (PageAddr, u32) {
    let (die, plane, block) = address(geometry, block);
    (PageAddr { die, planes: PlaneMask::one(plane), block, page }, plane)
}

impl Store {
    /// Fills the flash by `rule` without writing it. Payload, if kept, is zeros.
    ///
    /// # Panics
    /// If anything is programmed, order is free, or the rule includes a bad block.
    pub fn lay_out(&mut self, rule: Arc<dyn LaidOut>) {
        assert_eq!(self.order, Order::InOrder, "only flash that is programmed in order is laid out");
        let mut original = vec![0; self.blocks.len().div_ceil(64)];
        for index in 0..self.blocks.len() {
            let (die, plane, block) = address(&self.geometry, index);
            let laid = rule.block(die, plane, block);
            if laid.pages == 0 {
                continue;
            }
            let entry = &mut self.blocks[index];
            assert!(entry[STATE] == 0 && entry[SLOT] == 0, "block {index} is laid out, but not erased and good");
            entry[STATE] = (laid.pages * PAGE) | LAID | (u32::from(laid.slc) * SLC);
            self.any_slc |= laid.slc;
            original[index / 64] |= 1 << (index % 64);
        }
        let spare = (0..self.blocks.len()).map(|_| OnceLock::new()).collect();
        self.laid = Some(Laid { rule, original, spare });
        if self.unit_payload != 0 {
            self.settle_all();
        }
    }

    /// Gives every laid-out block a slot, as if it had been written.
    pub fn settle_all(&mut self) {
        (0..self.blocks.len()).for_each(|block| self.settle(block));
    }

    /// Settles every block and forgets the rule: the flash is as if it had been written.
    pub fn forget_rule(&mut self) {
        self.settle_all();
        self.laid = None;
    }

    /// Returns the rule by which the flash was laid out.
    pub(super) fn rule(&self) -> Option<&Arc<dyn LaidOut>> {
        self.laid.as_ref().map(|laid| &laid.rule)
    }

    /// Returns the spare area of a page of a laid-out block without a slot.
    ///
    /// # Panics
    /// If the page is erased.
    #[inline]
    pub(super) fn laid_spare(&self, block: usize, page: u32) -> &[u32] {
        let laid = self.laid.as_ref().expect("a laid-out block has a rule");
        let units = match laid.spare[block].get() {
            Some(units) => units,
            None => self.compute_spare(block),
        };
        &units[page as usize * self.units_per_page..][..self.units_per_page]
    }

    /// Computes the spare areas of a laid-out block without a slot.
    #[inline(never)]
    fn compute_spare(&self, block: usize) -> &[u32] {
        let laid = self.laid.as_ref().expect("a laid-out block has a rule");
        laid.spare[block].get_or_init(|| self.rule_spare(block).into_boxed_slice())
    }

    /// Returns the sequence of a page of a laid-out block without a slot.
    pub(super) fn laid_sequence(&self, block: usize, page: u32) -> u64 {
        let laid = self.laid.as_ref().expect("a laid-out block has a rule");
        let (page, plane) = page_of(&self.geometry, block, page);
        laid.rule.sequence(page, plane)
    }

    /// Gives a laid-out block a slot with its content by the rule. Other blocks have one.
    #[inline]
    pub(super) fn settle(&mut self, block: usize) {
        if self.blocks[block][STATE] & LAID != 0 {
            self.settle_laid(block);
        }
    }

    #[cold]
    fn settle_laid(&mut self, block: usize) {
        let state = self.blocks[block][STATE];
        // It was programmed when the drive was new, independent of the present time.
        let clock_s = std::mem::replace(&mut self.clock_s, 0);
        let units = self.rule_spare(block);
        self.blocks[block][STATE] = 0;
        for (page, units) in (0..).zip(units.chunks_exact(self.units_per_page)) {
            self.take_page(block, page, self.laid_sequence(block, page), state & SLC);
            let (record, at) = self.slots.record_of(self.blocks[block][SLOT], page);
            record[at..][..units.len()].copy_from_slice(units);
            if self.unit_payload != 0 {
                self.slots.payload_mut(self.blocks[block][SLOT], page).fill(0);
            }
        }
        self.clock_s = clock_s;
        self.blocks[block][STATE] |= state & BAD;
        if let Some(laid) = &mut self.laid {
            laid.spare[block] = OnceLock::new();
        }
    }

    /// Returns the logical numbers of a laid-out block by the rule.
    fn rule_spare(&self, block: usize) -> Vec<u32> {
        let laid = self.laid.as_ref().expect("a laid-out block has a rule");
        let mut units = vec![0; (self.blocks[block][STATE] / PAGE) as usize * self.units_per_page];
        let (die, plane, block) = address(&self.geometry, block);
        laid.rule.logical(die, plane, block, &mut units);
        units
    }

    /// Returns the bytes used for laid-out blocks.
    pub(super) fn laid_bytes(&self) -> u64 {
        let Some(laid) = &self.laid else { return 0 };
        let looked_at = laid.spare.iter().filter_map(|spare| spare.get()).map(|units| units.len() as u64 * 4);
        looked_at.sum::<u64>() + laid.original.len() as u64 * 8 + laid.spare.len() as u64 * 24
    }

    /// Returns the drive's age when a block without a slot was programmed.
    pub(super) fn unslotted_written_s(&self, block: usize) -> u32 {
        if self.blocks[block][STATE] & LAID != 0 { 0 } else { self.clock_s }
    }

    /// Returns the spare area of a page of any block.
    #[inline]
    pub(super) fn spare_of(&self, block: usize, page: u32) -> &[u32] {
        let [slot, _, state] = self.blocks[block];
        if state & LAID != 0 { self.laid_spare(block, page) } else { self.slots.spare(slot, page) }
    }
}
