//! Reads and writes of segments.

use media::{Action, Class, ReadOp, Status, Tag};

use crate::address::Address;
use crate::chain::Node;
use crate::entry::Entry;
use crate::operations::Kind;
use crate::request::{Answer, Application, Error};
use crate::status::{Permissions, State, Status as PageStatus};
use crate::table::Fault;
use crate::vector::Vector;
use crate::{Actions, InjectedFault, Move, Nvmm, Tried, retained};

impl Nvmm {
    /// A page and segments of its that exist, or why not.
    pub(crate) fn check_segments(&self, address: Address, segments: u32) -> Result<(), Error> {
        let all = u32::MAX >> (32 - self.config.segments);
        match segments == 0 || segments & !all != 0 {
            true => Err(Error::NoSuchSegment { address, found: segments, all }),
            false => Ok(()),
        }
    }

    /// Nothing waits, and nothing would begin before a request that comes now: a read finds at once what it would find in
    /// its turn.
    pub(crate) fn is_quiet(&self) -> bool {
        let wanted = self.wake | self.want_open | self.want_sweep | self.want_commit;
        !wanted
            && self.commit.is_idle()
            && self.queue.is_empty()
            && self.active_page_writes.is_empty()
            && self.collector.is_at_rest()
            && self.blocks.free_count() > self.config.collect_start as usize
            && self.injected == InjectedFault::None
    }

    pub(crate) fn try_read(&mut self, tag: Tag, address: Address, segments: u32, out: &mut Actions) -> Tried {
        let page = address.page();
        let Nvmm { lookup, table, layout, config, .. } = self;
        if let Err(fault) = lookup.find(page, segments, config.segments, table, layout) {
            return self.wait_for(tag, fault, out);
        }
        #[cfg(debug_assertions)]
        self.check_present(page, segments);
        let application = self.requests[tag.0 as usize].application;
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
        self.requests[tag.0 as usize].left = 1 + self.lookup.found.count_ones();
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

    /// The read of flash page `flash`, which is `segment` of what read `tag` wants.
    #[inline(always)]
    pub(crate) fn read_page(&mut self, tag: Tag, flash: u64, segment: u32) -> ReadOp {
        let block = self.layout.block_of(flash);
        self.blocks.get_mut(block).readers += 1;
        let id = self.operations.start(Kind::Read { tag: tag.0, flash, segment: segment as u8 });
        let page = self.layout.page_in(block, flash);
        ReadOp { id, page, bytes: self.config.geometry.page_bytes, class: Class::Host }
    }

    /// That the versions of `page`, one by one, say what was found of it.
    #[cfg(debug_assertions)]
    pub(crate) fn check_present(&mut self, page: u32, segments: u32) {
        let Nvmm { lookup, table, layout, config, chain, .. } = self;
        // The owner may stand above versions that are not in DRAM.
        if chain.fetch(page, table).is_err() {
            return;
        }
        assert_eq!(lookup.ownership, chain.ownership(), "ownership of page {page}");
        for segment in Vector(segments).iter() {
            let found = (lookup.found >> segment & 1 != 0).then(|| lookup.places[segment as usize]);
            assert_eq!(found, chain.find(segment, config.segments, layout), "segment {segment} of page {page}");
        }
    }

    /// A read of flash for a request has ended.
    pub(crate) fn read_done(&mut self, tag: Tag, flash: u64, segment: u8, status: Status, out: &mut Actions) {
        self.blocks.get_mut(self.layout.block_of(flash)).readers -= 1;
        if status == Status::Ok {
            out.moves.push(Move::FlashToHost { page: self.layout.page(flash), tag, segment: segment.into() });
        } else {
            let failed = &mut self.requests[tag.0 as usize].failed;
            *failed = Some(failed.map_or(segment, |s| s.min(segment)));
        }
        self.read_part_done(tag, out);
    }

    fn read_part_done(&mut self, tag: Tag, out: &mut Actions) {
        let request = &mut self.requests[tag.0 as usize];
        request.left -= 1;
        if request.left > 0 {
            return;
        }
        match (request.failed.take(), request.request.address()) {
            (Some(segment), Some(address)) => {
                self.refuse(tag, Error::Unreadable { address, segment: segment.into() }, out);
            }
            _ => self.reply(tag, Answer::Done, out),
        }
    }

    /// Creates `page`, whose chain is fetched, for the application of `tag`.
    pub(crate) fn create(&mut self, page: u32, tag: Tag, permissions: Permissions, out: &mut Actions) -> Tried {
        if !self.commit.is_idle() || self.is_locked(page) {
            return Tried::Wait;
        }
        match self.make_room(tag, 0, 2, out) {
            Tried::Done => {}
            other => return other,
        }
        let application = self.requests[tag.0 as usize].application;
        self.push_holder(State::Live, permissions, application);
        self.put_back();
        Tried::Done
    }

    /// An entry without data, on top of the chain that is fetched: from here on the page is in `state`, `owner`'s.
    pub(crate) fn push_holder(&mut self, state: State, permissions: Permissions, owner: Application) {
        self.chain.push(Entry {
            mapping: owner.0.into(),
            previous: 0,
            vector: Vector::NONE,
            time: self.epochs.now,
            status: PageStatus::holder(state, permissions),
        });
    }

    /// Takes out of the chain what nobody needs, and puts it into the table. Entries were found free before.
    pub(crate) fn put_back(&mut self) {
        self.chain.prune(retained(&self.epochs, self.injected), self.config.segments);
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
        if !self.commit.is_idle() || self.is_written(page, segments) {
            return Tried::Wait;
        }
        if let Err(fault) = self.chain.fetch(page, &self.table) {
            return self.wait_for(tag, fault, out);
        }
        // Whose a page is that does not exist yet is known when its first write has ended.
        if self.chain.ownership().is_none() && self.is_locked(page) {
            return Tried::Wait;
        }
        let application = self.requests[tag.0 as usize].application;
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
        self.promised_pages += u64::from(segments.count_ones());
        self.promised_entries += entries;
        self.locks.push((page, segments));
        self.start_page_write(tag.0, page, segments);
        self.stats.writes += 1;
        Tried::Done
    }

    /// All segments of a write are in flash: its page gets a new version.
    pub(crate) fn end_write(&mut self, number: u32, out: &mut Actions) -> Result<(), Fault> {
        let page = self.page_writes[number as usize].page;
        self.chain.fetch(page, &self.table)?;
        let parts = self.page_writes[number as usize].parts.len() as u32;
        self.table.ensure_free((parts + 1).min(self.table.available))?;
        let tag = Tag(number);
        let slot = &self.requests[number as usize];
        let (application, segments) = (slot.application, slot.segments);
        if self.chain.ownership().is_none() {
            self.push_holder(State::Live, Permissions::PRIVATE, application);
        }
        let (ownership, _) = self.chain.ownership().expect("created, or there before");
        for part in 0..parts as usize {
            let part = self.page_writes[number as usize].parts[part];
            if part.vector != Vector::NONE {
                let (time, status) = (self.epochs.now, ownership.of_data());
                self.chain.push(Entry { mapping: part.mapping, previous: 0, vector: part.vector, time, status });
                for bit in part.vector.iter() {
                    self.table.set_owner(self.layout.reach(part.mapping, bit), page);
                }
            }
        }
        self.put_back();
        self.end_promises(page, segments);
        self.reply(tag, Answer::Done, out);
        Ok(())
    }

    pub(crate) fn end_promises(&mut self, page: u32, segments: u32) {
        self.promised_pages -= u64::from(segments.count_ones());
        self.promised_entries -= self.config.segments + 2;
        self.unlock(page, segments);
    }
}
