//! Reads and writes of segments.

use media::{Action, Class, ReadOp, Status, Tag};

use crate::address::Address;
use crate::operations::OperationKind;
use crate::request::{Answer, Application, Error};
use crate::table::Fault;
use crate::table::chain::Node;
use crate::table::entry::Entry;
use crate::table::status::{EntryState, Permissions, Status as PageStatus};
use crate::table::vector::Vector;
use crate::{Actions, InjectedFault, Move, Nvmm, Tried};

impl Nvmm {
    /// Checks that the segments exist.
    pub(crate) fn check_segments(&self, address: Address, segments: u32) -> Result<(), Error> {
        let all = u32::MAX >> (32 - self.config.segments);
        match segments == 0 || segments & !all != 0 {
            true => Err(Error::NoSuchSegment { address, found: segments, all }),
            false => Ok(()),
        }
    }

    /// Returns whether a read that comes now may be served at once: nothing waits, and nothing would begin before it.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.wake
            && !self.durable.is_due()
            && self.durable.is_idle()
            && self.requests.none_waits()
            && !self.writes.any_active()
            && self.collector.is_at_rest()
            && self.gathering.is_at_rest()
            && self.blocks.free_count() > self.config.management.collect_start as usize
            && !self.injected.any()
    }

    pub(crate) fn try_read(&mut self, tag: Tag, address: Address, segments: u32, out: &mut Actions) -> Tried {
        let page = address.page();
        let Nvmm { lookup, table, layout, config, .. } = self;
        if let Err(fault) = lookup.find(page, segments, config.segments, table, layout) {
            return self.wait_for(tag, fault, out);
        }
        #[cfg(debug_assertions)]
        self.check_present(page, segments);
        let application = self.requests.application(tag);
        match self.lookup.ownership {
            Some((status, owner)) => {
                if !status.may_read(owner == application.0) {
                    return self.refuse(tag, Error::NotReadable { address, application }, out);
                }
            }
            None => {
                if let Err(fault) = self.chain.fetch(page, &self.table) {
                    return self.wait_for(tag, fault, out);
                }
                match self.create(page, tag, Permissions::PRIVATE, out) {
                    Tried::Done => {}
                    other => return other,
                }
            }
        }
        self.requests.start_parts(tag, 1 + self.lookup.found.count_ones());
        for segment in Vector(segments).iter() {
            if self.lookup.found >> segment & 1 == 0 {
                out.moves.push(Move::ZeroToHost { tag, segment });
                continue;
            }
            let flash = self.lookup.places[segment as usize];
            out.actions.push(Action::Read(self.read_page(tag, flash, segment)));
        }
        self.stats.reads += 1;
        self.read_part_done(tag, out);
        Tried::Done
    }

    /// Starts to read flash page `flash`, which holds `segment` for read `tag`.
    pub(crate) fn read_page(&mut self, tag: Tag, flash: u64, segment: u32) -> ReadOp {
        let block = self.layout.block_of(flash);
        self.blocks.get_mut(block).readers += 1;
        let id = self.operations.start(OperationKind::Read { tag: tag.0, flash, segment: segment as u8 });
        let page = self.layout.page_in(block, flash);
        ReadOp { id, page, bytes: self.config.geometry.page_bytes, class: Class::Host }
    }

    /// Checks the lookup's result against the page's chain of versions.
    #[cfg(debug_assertions)]
    pub(crate) fn check_present(&mut self, page: u32, segments: u32) {
        let Nvmm { lookup, table, layout, config, chain, .. } = self;
        // The owner's entry may be above versions that are not in DRAM.
        if chain.fetch(page, table).is_err() {
            return;
        }
        assert_eq!(lookup.ownership, chain.ownership(), "ownership of page {page}");
        for segment in Vector(segments).iter() {
            let found = (lookup.found >> segment & 1 != 0).then(|| lookup.places[segment as usize]);
            assert_eq!(found, chain.find(segment, config.segments, layout), "segment {segment} of page {page}");
        }
    }

    /// Handles the end of a flash read for a request.
    pub(crate) fn read_done(&mut self, tag: Tag, flash: u64, segment: u8, status: Status, out: &mut Actions) {
        self.blocks.get_mut(self.layout.block_of(flash)).readers -= 1;
        if status.is_ok() {
            out.moves.push(Move::FlashToHost { page: self.layout.page(flash), tag, segment: segment.into() });
        } else {
            self.requests.fail_segment(tag, segment);
        }
        self.read_part_done(tag, out);
    }

    fn read_part_done(&mut self, tag: Tag, out: &mut Actions) {
        if !self.requests.end_part(tag) {
            return;
        }
        match self.requests.failure(tag) {
            Some((address, segment)) => {
                self.refuse(tag, Error::Unreadable { address, segment: segment.into() }, out);
            }
            None => self.reply(tag, Answer::Done, out),
        }
    }

    /// Creates `page`, whose chain is fetched, for the application of `tag`.
    pub(crate) fn create(&mut self, page: u32, tag: Tag, permissions: Permissions, out: &mut Actions) -> Tried {
        if !self.durable.is_idle() || self.promises.is_locked(page) {
            return Tried::Wait;
        }
        match self.make_room(tag, 0, 2, out) {
            Tried::Done => {}
            other => return other,
        }
        let application = self.requests.application(tag);
        self.push_holder(EntryState::Live, permissions, application);
        self.put_back();
        Tried::Done
    }

    /// Adds an owner's entry to the fetched chain: from now on the page is in `state` and belongs to `owner`.
    pub(crate) fn push_holder(&mut self, state: EntryState, permissions: Permissions, owner: Application) {
        self.chain.push(Entry {
            mapping: owner.0.into(),
            previous: 0,
            vector: Vector::NONE,
            time: self.epochs.now,
            status: PageStatus::holder(state, permissions),
        });
    }

    /// Removes what no epoch needs from the chain. Returns whether anything was removed.
    pub(crate) fn prune(&mut self) -> bool {
        let views = self.epochs.views();
        let views = if self.injected.is(InjectedFault::VersionDropped) { &views[..1] } else { views };
        self.chain.prune(views, self.config.segments)
    }

    /// Prunes the chain and stores it in the table. Free entries were confirmed before.
    pub(crate) fn put_back(&mut self) {
        self.prune();
        self.chain.store(&mut self.table, &mut self.blocks, &self.layout);
        let longest = self.chain.nodes.len().min(usize::from(u16::MAX)) as u16;
        for Node { entry, .. } in self.chain.nodes.iter().filter(|node| node.entry.has_data()) {
            let block = self.blocks.get_mut(self.layout.block_of(entry.mapping));
            block.longest = block.longest.max(longest);
        }
        self.wake = true;
    }

    pub(crate) fn try_write(&mut self, tag: Tag, address: Address, segments: u32, out: &mut Actions) -> Tried {
        let page = address.page();
        if !self.durable.is_idle() || self.promises.is_written(page, segments) {
            return Tried::Wait;
        }
        if let Err(fault) = self.chain.fetch(page, &self.table) {
            return self.wait_for(tag, fault, out);
        }
        // The owner of a new page is unknown until its first write has ended.
        if self.chain.ownership().is_none() && self.promises.is_locked(page) {
            return Tried::Wait;
        }
        let application = self.requests.application(tag);
        if let Some((status, owner)) = self.chain.ownership() {
            let Permissions { write, others_write, .. } = status.permissions();
            if !(if owner == application.0 { write } else { others_write }) {
                return self.refuse(tag, Error::NotWritable { address, application }, out);
            }
        }
        let entries = self.config.segments + 2;
        match self.make_room(tag, segments.count_ones().into(), entries, out) {
            Tried::Done => {}
            other => return other,
        }
        self.promises.make(page, segments, entries);
        self.start_page_write(tag.0, page, segments);
        self.stats.writes += 1;
        Tried::Done
    }

    /// Enters a completed write into the table as a new version of its page.
    pub(crate) fn end_write(&mut self, number: u32, out: &mut Actions) -> Result<(), Fault> {
        let page = self.writes.get(number).page();
        self.chain.fetch(page, &self.table)?;
        let parts = self.writes.get(number).parts().len() as u32;
        self.table.ensure_free((parts + 1).min(self.table.available))?;
        let tag = Tag(number);
        let application = self.requests.application(tag);
        if self.chain.ownership().is_none() {
            self.push_holder(EntryState::Live, Permissions::PRIVATE, application);
        }
        let (ownership, _) = self.chain.ownership().expect("created, or there before");
        for part in 0..parts as usize {
            let part = self.writes.get(number).parts()[part];
            if part.vector != Vector::NONE {
                let (time, status) = (self.epochs.now, ownership.of_data());
                self.chain.push(Entry { mapping: part.mapping, previous: 0, vector: part.vector, time, status });
                for bit in part.vector.iter() {
                    self.table.set_owner(self.layout.reach(part.mapping, bit), page);
                }
            }
        }
        self.put_back();
        self.gathering.allow(false);
        self.end_promises(tag);
        self.reply(tag, Answer::Done, out);
        Ok(())
    }

    /// Releases what was promised to a write.
    pub(crate) fn end_promises(&mut self, tag: Tag) {
        let page = self.writes.get(tag.0).page();
        self.promises.end(page, self.requests.segments(tag), self.config.segments + 2);
        self.wake = true;
    }
}
