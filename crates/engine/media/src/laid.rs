//! Flash content that is computed rather than stored, for a drive that was laid out instead of written.

use std::any::Any;
use std::sync::Arc;

use crate::address::PageAddr;

/// The laid-out pages of a physical block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaidBlock {
    /// Number of programmed pages from the start of the block.
    pub pages: u32,
    /// True if they hold one bit per cell.
    pub slc: bool,
}

/// The content of a laid-out flash as a pure function of the address. A flash consults it for blocks that have not been
/// erased since, so that a drive only uses memory for the parts that have changed.
pub trait LaidOut: Any + Send + Sync {
    /// Returns the laid-out part of a physical block.
    fn block(&self, die: u16, plane: u32, block: u32) -> LaidBlock;
    /// Writes the logical numbers of the mapping units of a physical block to `units`, page by page. `units` has room
    /// for at most the pages that were laid out.
    fn logical(&self, die: u16, plane: u32, block: u32, units: &mut [u32]);
    /// Returns the sequence number of a laid-out page.
    fn sequence(&self, page: PageAddr, plane: u32) -> u64;
    /// Converts into the rule itself, for the translation layer that made it.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}
