//! Flash content that is computed, not stored: a drive that was laid out, not written.

use std::any::Any;
use std::sync::Arc;

use crate::address::PageAddr;

/// Pages of a physical block that were laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaidBlock {
    /// Its first so many pages are programmed.
    pub pages: u32,
    /// They hold one bit a cell.
    pub slc: bool,
}

/// The content of a laid-out flash as a pure function of the address. A flash asks it for a block that was not erased
/// since, so that a drive costs memory only where it was touched.
pub trait LaidOut: Any + Send + Sync {
    /// What was laid out in a physical block.
    fn block(&self, die: u16, plane: u32, block: u32) -> LaidBlock;
    /// Writes the logical numbers of the mapping units of a physical block, page by page, to `units`: as many pages as it
    /// has room for, all of them laid out.
    fn logical(&self, die: u16, plane: u32, block: u32, units: &mut [u32]);
    /// Sequence number of a laid-out page.
    fn sequence(&self, page: PageAddr, plane: u32) -> u64;
    /// The rule itself, for the translation layer that made it.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}
