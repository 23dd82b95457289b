//! A read of one segment that nothing is in the way of: its flash page is read, and that is all there is to do. So a cache
//! asks; [`Nvmm::handle`] gives the same by way of [`Actions`](crate::Actions).

use media::{OpId, ReadOp, Status, Tag};

use crate::address::Address;
use crate::operations::Kind;
use crate::request::{Application, Request};
use crate::status::Status as PageStatus;
use crate::{Nvmm, Slot};

impl Nvmm {
    /// Reads `segment` of the page at `address`, if it lies in flash and nothing has to be waited for: by the read that is
    /// returned, whose end is for [`read_ended`](Self::read_ended) or [`handle`](Self::handle). Otherwise nothing is done, and
    /// the same is to be asked of [`handle`](Self::handle).
    ///
    /// # Panics
    /// If the tag is used by a request under way.
    #[inline(always)]
    pub fn read_alone(&mut self, tag: Tag, application: Application, address: Address, segment: u32) -> Option<ReadOp> {
        let (page, segments, home) = (address.page(), self.config.segments, address.controller());
        let exists = page < self.config.pages && segment < segments;
        if !exists || !(home == self.config.controller || home.is_local()) || !self.is_quiet() {
            return None;
        }
        let (flash, (status, owner)) = match self.table.prefilled(page) {
            Some(prefilled) => (prefilled.place(page, segment), prefilled.ownership()),
            None => self.look_for(page, segment)?,
        };
        if !status.may_read(owner == application.0) {
            return None;
        }
        let slot = &mut self.requests[tag.0 as usize];
        assert!(!slot.busy, "tag {} is under way", tag.0);
        let segments = 1 << segment;
        let request = Request::Read { address, segments };
        *slot = Slot { request, application, segments, left: 1, failed: None, busy: true };
        self.stats.reads += 1;
        Some(self.read_page(tag, flash, segment))
    }

    /// Where `segment` of `page` lies in flash, and whose the page is, if it is there and the table knows.
    fn look_for(&mut self, page: u32, segment: u32) -> Option<(u64, (PageStatus, u32))> {
        self.lookup.find(page, 1 << segment, self.config.segments, &self.table, &self.layout).ok()?;
        #[cfg(debug_assertions)]
        self.check_present(page, 1 << segment);
        let there = self.lookup.found != 0;
        let ownership = self.lookup.ownership.filter(|_| there)?;
        Some((self.lookup.places[segment as usize % 16], ownership))
    }

    /// The operation `id` has ended: the request that is answered with it, if it was the last read of one, and none failed.
    /// Otherwise nothing is done, and the same is to be told to [`handle`](Self::handle).
    #[inline]
    pub fn read_ended(&mut self, id: OpId, status: Status) -> Option<Tag> {
        let Kind::Read { tag, flash, .. } = self.operations.get(id) else { return None };
        let slot = &mut self.requests[tag as usize];
        if status != Status::Ok || slot.left != 1 || slot.failed.is_some() || self.wake {
            return None;
        }
        (slot.left, slot.busy) = (0, false);
        self.operations.forget(id);
        self.blocks.get_mut(self.layout.block_of(flash)).readers -= 1;
        Some(Tag(tag))
    }
}
