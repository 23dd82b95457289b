//! The kernel's own memory, where this is part of main memory: page tables, nodes of the page cache, and the array of
//! frames.
//!
//! A fault reads the node of a file's page, updates the frame's record and writes the page-table entry; a system call
//! that reads or writes a file does the first two for each page. The accesses depend on each other. Not modeled: the
//! processor's own walks of page tables, upper levels of tables and trees, and what the kernel keeps per file or thread,
//! which stay in the processor's caches.

use media::LINE;

use super::{Area, AreaKind};
use crate::cpu::PAGE;

/// Bytes of a page-table entry (x86-64).
const ENTRY: u64 = 8;
/// Bytes of a node of the page cache, pages per node, and offset of its slots (Linux: `radix_tree_node`, 64 bits).
const NODE: u64 = 576;
const NODE_PAGES: u64 = 64;
const NODE_SLOTS: u64 = 40;
/// Bytes of a frame's record (Linux: `struct page`, 64 bits).
const FRAME: u64 = 64;
/// Alignment of each table.
const ALIGNMENT: u64 = 64 << 10;

/// An access of the kernel to a line of its own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Address of the line.
    pub address: u64,
    /// Whether the line is modified.
    pub store: bool,
}

/// Addresses of the kernel's structures, at the end of main memory.
#[derive(Clone, Debug)]
pub struct Structures {
    areas: Vec<Area>,
    entries: u64,
    nodes: u64,
    frames: u64,
}

impl Structures {
    /// Lays out the structures for `areas` at the end of `memory` bytes. The areas must end below [`Structures::first`].
    pub fn new(areas: Vec<Area>, memory: u64) -> Structures {
        let pages = areas.iter().map(|area| area.first + area.pages).max().unwrap_or(0);
        let below = |end: u64, bytes: u64| end.saturating_sub(bytes) / ALIGNMENT * ALIGNMENT;
        let frames = below(memory, memory.div_ceil(PAGE) * FRAME);
        let nodes = below(frames, pages.div_ceil(NODE_PAGES) * NODE);
        let entries = below(nodes, pages * ENTRY);
        Structures { areas, entries, nodes, frames }
    }

    /// Returns the address of the first structure.
    pub fn first(&self) -> u64 {
        self.entries
    }

    /// Returns the accesses of a fault at a virtual page that lies in a physical one.
    pub fn of_fault(&self, page: u64, physical: u64) -> impl Iterator<Item = Touch> + use<> {
        let cached = self.is_cached(page).then(|| self.node(page));
        cached.into_iter().chain([self.frame(physical), line(self.entries + page * ENTRY, true)])
    }

    /// Returns the accesses of a system call to one page of a file.
    pub fn of_call(&self, page: u64, physical: u64) -> [Touch; 2] {
        [self.node(page), self.frame(physical)]
    }

    fn is_cached(&self, page: u64) -> bool {
        let area = self.areas.iter().find(|area| (area.first..area.first + area.pages).contains(&page));
        area.is_some_and(|area| area.kind != AreaKind::Anonymous)
    }

    fn node(&self, page: u64) -> Touch {
        line(self.nodes + page / NODE_PAGES * NODE + NODE_SLOTS + page % NODE_PAGES * 8, false)
    }

    fn frame(&self, physical: u64) -> Touch {
        line(self.frames + physical * FRAME, true)
    }
}

fn line(address: u64, store: bool) -> Touch {
    Touch { address: address / LINE * LINE, store }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: u64 = 64 << 20;

    fn structures() -> Structures {
        let area = |first, kind| Area { first, pages: 1000, kind };
        Structures::new(vec![area(0, AreaKind::Mapped), area(1000, AreaKind::Anonymous)], MEMORY)
    }

    #[test]
    fn only_pages_of_files_have_nodes() {
        assert_eq!(structures().of_fault(10, 10).count(), 3);
        assert_eq!(structures().of_fault(1010, 1010).count(), 2);
    }

    #[test]
    fn tables_overlap_neither_each_other_nor_programs() {
        let it = structures();
        let mut found = [Vec::new(), Vec::new(), Vec::new()];
        for page in 0..1000 {
            for (touch, table) in it.of_fault(page, page).zip(&mut found) {
                assert!(touch.address >= it.first() && it.first() >= 2000 * PAGE);
                assert!(touch.address + LINE <= MEMORY, "{touch:?}");
                table.push(touch.address);
            }
        }
        let [nodes, frames, entries] = &found;
        assert!(entries.iter().max() < nodes.iter().min() && nodes.iter().max() < frames.iter().min());
        let distinct = |lines: &[u64]| lines.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!((distinct(frames), distinct(entries)), (1000, 125));
        assert_eq!(it.of_fault(0, MEMORY / PAGE - 1).nth(1).expect("a frame").address, MEMORY - LINE);
    }

    #[test]
    fn a_memory_too_small_for_the_structures_leaves_no_room() {
        let full = Area { first: 0, pages: MEMORY / PAGE, kind: AreaKind::Mapped };
        assert_eq!(Structures::new(vec![full], 1 << 16).first(), 0);
    }
}
