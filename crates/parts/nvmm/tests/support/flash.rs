//! Flash as an array of pages. As NAND, programmed data is durable. As a file, it is durable only after a barrier;
//! until then it may be lost, in any order, and content from before the erase may reappear.

use std::collections::BTreeMap;

use media::{BlockAddr, Geometry, PageAddr, PlaneMask};
use nvmm::{Medium, Order};
use sim::Rng;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageContent {
    Erased,
    /// Unreadable.
    Torn,
    Stamp(u64),
    Own(Vec<u8>),
}

type At = (u16, u16, u32, u32);

pub struct Flash {
    pub geometry: Geometry,
    pub order: Order,
    pub is_file: bool,
    /// Absent means erased.
    pages: BTreeMap<At, PageContent>,
    /// For a file: a page's content before its erase.
    before: BTreeMap<At, PageContent>,
    /// Programmed, without a barrier since.
    volatile: Vec<(u64, At)>,
    /// Number of completed programs.
    programs: u64,
    erases: BTreeMap<(u16, u16, u32), u32>,
    pub bad: Vec<(u16, u16, u32)>,
    /// Erases that a page endures, drawn from this range by its address.
    pub endurance: Option<(u64, u64)>,
    pub failures: u64,
    /// Pages, by block and page, whose programs fail.
    pub weak: Vec<(u32, u32)>,
}

fn at(page: PageAddr) -> At {
    (page.die, page.planes.0, page.block, page.page)
}

impl Flash {
    pub fn new(geometry: Geometry, order: Order, is_file: bool) -> Flash {
        Flash {
            geometry,
            order,
            is_file,
            pages: BTreeMap::new(),
            before: BTreeMap::new(),
            volatile: Vec::new(),
            programs: 0,
            erases: BTreeMap::new(),
            bad: Vec::new(),
            endurance: None,
            failures: 0,
            weak: Vec::new(),
        }
    }

    pub fn held(&self, page: PageAddr) -> &PageContent {
        self.pages.get(&at(page)).unwrap_or(&PageContent::Erased)
    }

    /// Returns the pages with `wanted` content.
    pub fn all(&self, wanted: impl Fn(&PageContent) -> bool) -> Vec<PageAddr> {
        let address = |(die, planes, block, page): At| PageAddr { die, planes: PlaneMask(planes), block, page };
        self.pages.iter().filter(|(_, held)| wanted(held)).map(|(at, _)| address(*at)).collect()
    }

    /// Returns one of them.
    pub fn find(&self, wanted: impl Fn(&PageContent) -> bool) -> Option<PageAddr> {
        self.all(wanted).into_iter().next()
    }

    fn endures(&self, (die, plane, block, page): At) -> u64 {
        let Some((least, most)) = self.endurance else { return u64::MAX };
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for word in [u32::from(die), u32::from(plane), block, page] {
            hash = (hash ^ u64::from(word)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        least + (hash >> 20) % (most - least)
    }

    /// Programs a page. Returns true if it is worn out and holds nothing.
    pub fn program(&mut self, page: PageAddr, held: PageContent) -> bool {
        let key = at(page);
        assert!(!self.bad.contains(&(key.0, key.1, key.2)), "{page:?} is in a bad block");
        assert_eq!(*self.held(page), PageContent::Erased, "{page:?} is programmed twice");
        if self.order == Order::Ascending {
            let later = (key.0, key.1, key.2, key.3)..(key.0, key.1, key.2, u32::MAX);
            assert!(self.pages.range(later).next().is_none(), "{page:?} is programmed after a later page");
        }
        let erases = self.erases.get(&(key.0, key.1, key.2)).copied().unwrap_or(0);
        let worn = u64::from(erases) > self.endures(key) || self.weak.contains(&(key.2, key.3));
        self.failures += u64::from(worn);
        self.pages.insert(key, if worn { PageContent::Torn } else { held });
        self.programs += 1;
        if self.is_file {
            self.volatile.push((self.programs - 1, key));
        }
        worn
    }

    pub fn tear(&mut self, page: PageAddr) {
        self.pages.insert(at(page), PageContent::Torn);
    }

    pub fn barrier(&mut self) {
        self.volatile.clear();
    }

    fn of_block(block: BlockAddr) -> std::ops::Range<At> {
        (block.die, block.planes.0, block.block, 0)..(block.die, block.planes.0, block.block + 1, 0)
    }

    /// Returns the number of completed programs: an erase requested now does not overtake them.
    pub fn mark(&self) -> u64 {
        self.programs
    }

    pub fn erase(&mut self, block: BlockAddr, mark: u64) {
        assert!(!self.bad.contains(&(block.die, block.planes.0, block.block)), "{block:?} is bad");
        self.volatile.retain(|(number, _)| *number >= mark);
        let keys: Vec<At> = self.pages.range(Self::of_block(block)).map(|(key, _)| *key).collect();
        for key in keys {
            let held = self.pages.remove(&key).expect("listed");
            // Erased data cannot be lost any more.
            self.volatile.retain(|(_, volatile)| *volatile != key);
            if self.is_file {
                self.before.insert(key, held);
            }
        }
        *self.erases.entry((block.die, block.planes.0, block.block)).or_default() += 1;
    }

    /// Cuts the power during an erase.
    pub fn tear_erase(&mut self, block: BlockAddr) {
        for (_, held) in self.pages.range_mut(Self::of_block(block)) {
            *held = PageContent::Torn;
        }
    }

    pub fn retire(&mut self, block: BlockAddr) {
        self.bad.push((block.die, block.planes.0, block.block));
    }

    /// Cuts the power. For a file, data without a barrier may or may not survive.
    pub fn power_cut(&mut self, rng: &mut Rng) {
        for (_, key) in std::mem::take(&mut self.volatile) {
            match rng.below(4) {
                0 => {
                    self.pages.insert(key, PageContent::Torn);
                }
                1 => {
                    let before = self.before.get(&key).cloned().unwrap_or(PageContent::Torn);
                    self.pages.insert(key, before);
                }
                _ => {}
            }
        }
    }
}

impl Medium for Flash {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    fn is_bad(&self, block: BlockAddr) -> bool {
        self.bad.contains(&(block.die, block.planes.0, block.block))
    }
    fn read(&self, page: PageAddr, into: &mut Vec<u8>) -> bool {
        match self.held(page) {
            PageContent::Own(bytes) => {
                into.clear();
                into.extend_from_slice(bytes);
                true
            }
            _ => false,
        }
    }
}
