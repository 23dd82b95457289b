//! Information about a flash that a translation layer can read besides data, such as its spare areas.

use std::sync::Arc;

use crate::address::PageAddr;
use crate::geometry::Geometry;
use crate::laid::LaidOut;

/// A spare-area entry that names no mapping unit: padding.
pub const NOBODY: u32 = u32::MAX;

/// A spare-area entry of a unit of parity, the smallest value that names no mapping unit.
pub const PARITY: u32 = u32::MAX - 1;

/// State of a physical block that is known without reading its pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockInfo {
    /// Pages programmed since the last erase, torn ones included.
    pub programmed: u32,
    /// Number of erases.
    pub erases: u32,
    /// True if marked bad by the factory or later.
    pub bad: bool,
    /// True if it holds one bit per cell.
    pub slc: bool,
    /// True if an erase was cut off: no page can be read, and the block must be erased before it is used. (A program
    /// that was cut off leaves a page whose spare area cannot be read; the pages after it can still be programmed.)
    pub torn: bool,
    /// The drive's age in seconds at its first program since the last erase.
    pub written_s: u32,
}

/// A flash as a translation layer finds it at power-on, and its spare areas during operation.
///
/// `page.planes` is ignored if a plane is given.
pub trait Flash {
    /// Returns its geometry.
    fn geometry(&self) -> &Geometry;
    /// Returns the state of a block.
    fn block(&self, die: u16, plane: u32, block: u32) -> BlockInfo;
    /// Returns the logical number of each mapping unit of a programmed page ([`NOBODY`]: padding, [`PARITY`]); empty if
    /// the page cannot be read.
    fn logical(&self, page: PageAddr, plane: u32) -> &[u32];
    /// Returns the sequence number of a readable page.
    fn sequence(&self, page: PageAddr, plane: u32) -> u64;
    /// Returns the content of a unit that belongs to the translation layer itself; empty if there is none.
    fn note(&self, page: PageAddr, plane: u32, unit: u32) -> &[u8];
    /// Returns true if any unit is lost, so that callers can skip checks of single units.
    fn has_lost(&self) -> bool;
    /// Returns true if the unit was written as lost, because its data could not be read when it was moved.
    fn lost(&self, page: PageAddr, plane: u32, unit: u32) -> bool;
    /// Returns true if the spare area of a programmed page can be read.
    fn readable(&self, page: PageAddr, plane: u32) -> bool {
        !self.logical(page, plane).is_empty()
    }
    /// Returns the rule by which the flash was laid out, or `None` if it was written.
    fn laid_out(&self) -> Option<&Arc<dyn LaidOut>> {
        None
    }
    /// Returns true if the block was laid out and has not been erased since, so that its first pages are those of the
    /// rule.
    fn is_laid_out(&self, _die: u16, _plane: u32, _block: u32) -> bool {
        false
    }
}
