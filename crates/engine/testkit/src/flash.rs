//! Simple flash: a map from page to content, for tests of translation layers.

use std::collections::BTreeMap;

use media::{BlockAddr, BlockInfo, Flash, Geometry, PageAddr};

/// A unit of a page.
#[derive(Clone)]
pub struct Unit {
    /// Logical number.
    pub logical: u32,
    /// A value for each sector.
    pub data: Vec<u64>,
    /// Written as lost.
    pub lost: bool,
    /// Content of a unit of the translation layer itself.
    pub note: Vec<u8>,
}

/// A programmed page of a plane.
#[derive(Clone)]
pub struct Page {
    /// Number in the spare area.
    pub sequence: u64,
    /// Its units.
    pub units: Vec<Unit>,
    /// Their logical numbers; empty if the page cannot be read.
    pub logical: Vec<u32>,
    /// It cannot be read.
    pub torn: bool,
}

/// Flash without time.
pub struct SimpleFlash {
    /// Its shape.
    pub geometry: Geometry,
    /// Programmed pages by die, plane, block and page.
    pub pages: BTreeMap<(u16, u32, u32, u32), Page>,
    /// States of blocks by die, plane and block.
    pub info: BTreeMap<(u16, u32, u32), BlockInfo>,
}

impl SimpleFlash {
    /// Creates erased flash.
    pub fn new(geometry: Geometry) -> SimpleFlash {
        SimpleFlash { geometry, pages: BTreeMap::new(), info: BTreeMap::new() }
    }

    /// Returns the state of a block.
    pub fn info_mut(&mut self, at: BlockAddr, plane: u32) -> &mut BlockInfo {
        self.info.entry((at.die, plane, at.block)).or_default()
    }

    /// Returns a programmed page.
    ///
    /// # Panics
    /// If it is not programmed.
    pub fn page(&self, at: PageAddr, plane: u32) -> &Page {
        self.pages
            .get(&(at.die, plane, at.block, at.page))
            .unwrap_or_else(|| panic!("{at:?} plane {plane} is not programmed"))
    }

    /// Programs `units`, beginning with those of the lowest plane.
    ///
    /// # Panics
    /// If pages are programmed out of order, or in a bad or torn block.
    pub fn program(&mut self, at: PageAddr, sequence: u64, slc: bool, units: &[Unit], torn: bool) {
        let per_page = self.geometry.units_per_page() as usize;
        assert_eq!(units.len(), per_page * at.planes.count() as usize);
        for (plane, units) in at.planes.iter().zip(units.chunks(per_page)) {
            let info = self.info_mut(at.block(), plane);
            assert_eq!(info.programmed, at.page, "pages are programmed in order: {at:?}");
            assert!(!info.bad && !info.torn, "{at:?} is in a bad or torn block");
            info.programmed += 1;
            info.slc = slc;
            let logical = if torn { Vec::new() } else { units.iter().map(|u| u.logical).collect() };
            let page = Page { sequence, units: units.to_vec(), logical, torn };
            assert!(self.pages.insert((at.die, plane, at.block, at.page), page).is_none());
        }
    }

    /// Erases a block.
    ///
    /// # Panics
    /// If it is bad.
    pub fn erase(&mut self, at: BlockAddr) {
        for plane in at.planes.iter() {
            for page in 0..self.geometry.pages {
                self.pages.remove(&(at.die, plane, at.block, page));
            }
            let info = self.info_mut(at, plane);
            assert!(!info.bad);
            *info = BlockInfo { erases: info.erases + 1, ..BlockInfo::default() };
        }
    }

    /// Models a power cut while the block is being erased: none of its pages can be read.
    pub fn tear_erase(&mut self, at: BlockAddr) {
        for plane in at.planes.iter() {
            for (_, page) in self.pages.range_mut((at.die, plane, at.block, 0)..(at.die, plane, at.block + 1, 0)) {
                (page.torn, page.logical) = (true, Vec::new());
            }
            self.info_mut(at, plane).torn = true;
        }
    }

    /// Marks a block bad.
    pub fn retire(&mut self, at: BlockAddr) {
        for plane in at.planes.iter() {
            self.info_mut(at, plane).bad = true;
        }
    }
}

impl Flash for SimpleFlash {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    fn block(&self, die: u16, plane: u32, block: u32) -> BlockInfo {
        self.info.get(&(die, plane, block)).copied().unwrap_or_default()
    }
    fn logical(&self, page: PageAddr, plane: u32) -> &[u32] {
        &self.page(page, plane).logical
    }
    fn sequence(&self, page: PageAddr, plane: u32) -> u64 {
        self.page(page, plane).sequence
    }
    fn note(&self, page: PageAddr, plane: u32, unit: u32) -> &[u8] {
        &self.page(page, plane).units[unit as usize].note
    }
    fn has_lost(&self) -> bool {
        true
    }
    fn lost(&self, page: PageAddr, plane: u32, unit: u32) -> bool {
        self.page(page, plane).units[unit as usize].lost
    }
}
