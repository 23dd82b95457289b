//! Erases in SLC mode, for blocks used in both modes: they wear a block less.

use super::{ERASES, SLC, Store};

impl Store {
    /// Counts erases in SLC mode separately from now on, in four bytes per block.
    pub fn count_modes(&mut self) {
        if self.slc_erases.is_empty() {
            self.slc_erases = vec![0; self.blocks.len()];
        }
    }

    /// Counts the erase of a block in `state`.
    #[inline]
    pub(super) fn count_mode(&mut self, block: usize, state: u32) {
        if state & SLC != 0
            && let Some(erases) = self.slc_erases.get_mut(block)
        {
            *erases += 1;
        }
    }

    /// Returns a block's erases with all bits per cell, and in SLC mode; `None` if modes are not counted separately.
    pub(crate) fn erases_by_mode(&self, block: usize) -> Option<(u32, u32)> {
        let slc = *self.slc_erases.get(block)?;
        Some((self.blocks[block][ERASES] - slc, slc))
    }
}

#[cfg(test)]
mod tests {
    use media::{BlockAddr, Geometry, NOBODY, PageAddr, PlaneMask};

    use super::*;
    use crate::config::Order;
    use crate::store::{PayloadKind, UnitWrite};

    #[test]
    fn erases_are_counted_by_the_mode_that_they_end() {
        let geometry = Geometry {
            channels: 1,
            chips: 1,
            dies: 1,
            planes: 1,
            blocks: 2,
            pages: 6,
            page_bytes: 4096,
            unit_bytes: 4096,
        };
        let mut store = Store::new(&geometry, PayloadKind::None, Order::InOrder, 0);
        assert_eq!(store.erases_by_mode(0), None);
        store.count_modes();
        let planes = PlaneMask::one(0);
        let unit = UnitWrite { logical: NOBODY, buffer: 0, lost: false };
        for slc in [true, false, true, true] {
            store.program(PageAddr { die: 0, planes, block: 0, page: 0 }, 1, slc, [unit]);
            store.erase(BlockAddr { die: 0, planes, block: 0 });
        }
        // A block that was not programmed has no mode.
        store.erase(BlockAddr { die: 0, planes, block: 0 });
        let mut image = Vec::new();
        store.save(&mut image).expect("it is written to memory");
        let read = Store::load(&mut &image[..], store.geometry(), 0).expect("an image");
        for store in [store, read] {
            assert_eq!((store.erases_by_mode(0), store.erases_by_mode(1)), (Some((2, 3)), Some((0, 0))));
        }
    }
}
