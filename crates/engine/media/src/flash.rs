//! What a translation layer can read of a flash besides data: its spare areas.

use std::sync::Arc;

use crate::address::PageAddr;
use crate::geometry::Geometry;
use crate::laid::LaidOut;

/// A spare-area entry that names no mapping unit: padding.
pub const NOBODY: u32 = u32::MAX;

/// A spare-area entry of a unit of parity. It is the least that names no mapping unit.
pub const PARITY: u32 = u32::MAX - 1;

/// What is known of one physical block without reading its pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockInfo {
    /// Pages programmed since the last erase, torn ones included.
    pub programmed: u32,
    /// Times it was erased.
    pub erases: u32,
    /// Marked bad, by the factory or later.
    pub bad: bool,
    /// Holds one bit a cell.
    pub slc: bool,
    /// An erase was cut off: no page can be read, and the block must be erased before it is used. (A program that was
    /// cut off leaves a page whose spare area cannot be read; the pages after it can be programmed.)
    pub torn: bool,
    /// The drive's age in seconds at its first program since the last erase.
    pub written_s: u32,
}

/// A flash as a translation layer finds it when power comes on, and its spare areas while it runs.
///
/// `page.planes` is ignored where a plane is named.
pub trait Flash {
    /// Its shape.
    fn geometry(&self) -> &Geometry;
    /// State of a block.
    fn block(&self, die: u16, plane: u32, block: u32) -> BlockInfo;
    /// Logical number of each mapping unit of a programmed page ([`NOBODY`]: padding, [`PARITY`]); empty if the page cannot be read.
    fn logical(&self, page: PageAddr, plane: u32) -> &[u32];
    /// Sequence number that a readable page was programmed with.
    fn sequence(&self, page: PageAddr, plane: u32) -> u64;
    /// The content of a unit that the translation layer wrote for itself; empty if there is none.
    fn note(&self, page: PageAddr, plane: u32, unit: u32) -> &[u8];
    /// True if any unit is lost, so that nobody need ask of each.
    fn has_lost(&self) -> bool;
    /// True if the unit was written as lost: its data could not be read when it was moved.
    fn lost(&self, page: PageAddr, plane: u32, unit: u32) -> bool;
    /// True if the spare area of a programmed page can be read.
    fn readable(&self, page: PageAddr, plane: u32) -> bool {
        !self.logical(page, plane).is_empty()
    }
    /// The rule by which the flash was laid out; none if all of it was written.
    fn laid_out(&self) -> Option<&Arc<dyn LaidOut>> {
        None
    }
    /// True if the block was laid out and not erased since: its first pages are those of the rule.
    fn is_laid_out(&self, _die: u16, _plane: u32, _block: u32) -> bool {
        false
    }
}
