//! The queues in front of the flash.

use std::collections::VecDeque;

use media::{Action, BlockAddr, Geometry, PageAddr};
use nand::Store;
use nvmm::{Application, Medium};

/// The operating system, the owner of all pages.
pub(super) const SYSTEM: Application = Application(1);

/// Flash that was never written, as the page table's controller sees it.
pub(super) struct Blank<'a>(pub &'a Store);

impl Medium for Blank<'_> {
    fn geometry(&self) -> &Geometry {
        self.0.geometry()
    }
    fn is_bad(&self, block: BlockAddr) -> bool {
        block.planes.iter().any(|plane| self.0.block(block.die, plane, block.block).bad)
    }
    fn read(&self, _: PageAddr, _: &mut Vec<u8>) -> bool {
        false
    }
}

/// Counters of the queues in front of the flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DispatchStats {
    /// Requests translated.
    pub translated: u64,
    /// Times a request found its die's queue full.
    pub blocked: u64,
    /// Maximum number of requests that waited for translation.
    pub longest: u64,
}

/// The queues in front of the flash.
pub(super) struct DispatchQueue {
    /// Fetches have tags below this, write-backs those from it on.
    pub fetches: u32,
    /// Tag, page, and whether it is a write.
    pub queue: VecDeque<(u32, u64, bool)>,
    pub is_translating: bool,
    /// Translated reads that found no room at their dies; translation stops meanwhile.
    pub operations: VecDeque<Action>,
    /// Programs and erases that found no room; they delay no read.
    pub writes: VecDeque<Action>,
    /// The sequence number of each program under way, by id; the logical number of each copy buffer's content.
    pub sequences: Vec<u64>,
    pub copies: Vec<u32>,
    pub stats: DispatchStats,
}

impl DispatchQueue {
    pub fn new(fetches: u32, nvmm: &nvmm::Config) -> DispatchQueue {
        DispatchQueue {
            fetches,
            queue: VecDeque::new(),
            is_translating: false,
            operations: VecDeque::new(),
            writes: VecDeque::new(),
            sequences: Vec::new(),
            copies: vec![0; nvmm.segments as usize],
            stats: DispatchStats::default(),
        }
    }

    /// Queues the read of `page` for fetch `fetch`.
    pub fn fetch(&mut self, fetch: u32, page: u64) {
        self.want(fetch, page, false);
    }

    /// Queues the write of `page` for write-back `slot`.
    pub fn write(&mut self, slot: u32, page: u64) {
        self.want(self.fetches + slot, page, true);
    }

    /// Queues request `tag`.
    fn want(&mut self, tag: u32, page: u64, write: bool) {
        self.queue.push_back((tag, page, write));
        self.stats.longest = self.stats.longest.max(self.queue.len() as u64);
    }

    /// Returns whether a translation may begin.
    pub fn is_ready(&self) -> bool {
        !self.is_translating && !self.queue.is_empty() && self.operations.is_empty()
    }

    /// Returns whether operations wait for room at their dies.
    pub fn is_waiting(&self) -> bool {
        !(self.operations.is_empty() && self.writes.is_empty())
    }

    pub fn stats(&self) -> DispatchStats {
        self.stats
    }
}
