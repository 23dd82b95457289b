//! The requests alloc, delete and setperms, and the check for space.

use media::Tag;

use crate::address::Address;
use crate::request::{Answer, Application, Error};
use crate::table::status::{EntryState, Permissions};
use crate::{Actions, Nvmm, Tried};

impl Nvmm {
    pub(crate) fn try_alloc(&mut self, tag: Tag, permissions: Permissions, out: &mut Actions) -> Tried {
        if !self.durable.is_idle() {
            return Tried::Wait;
        }
        let chunks = self.table.page_chunks();
        let first = self.table.chunk_of(self.next_page);
        for chunk in (0..=chunks).map(|n| (first + n) % chunks) {
            let pages = self.table.pages_of(chunk);
            if self.table.chunks[chunk as usize].used == pages.len() as u32 {
                continue;
            }
            if let Err(fault) = self.table.ensure(chunk) {
                return self.wait_for(tag, fault, out);
            }
            let unused = |page: &u32| {
                self.table.entry(*page).is_ok_and(|entry| entry.status.state() == EntryState::Nothing)
                    && !self.promises.is_locked(*page)
            };
            let from = self.next_page.max(pages.start);
            let Some(page) = (from..pages.end).chain(pages.start..from.min(pages.end)).find(unused) else { continue };
            if let Err(fault) = self.chain.fetch(page, &self.table) {
                return self.wait_for(tag, fault, out);
            }
            match self.create(page, tag, permissions, out) {
                Tried::Done => {}
                other => return other,
            }
            self.next_page = (page + 1) % self.config.pages;
            self.reply(tag, Answer::Allocated(Address::new(self.config.controller, page, 0)), out);
            return Tried::Done;
        }
        // A sweep may find a page that only a dropped token needed.
        match self.sweep_first() {
            true => Tried::Wait,
            false => self.refuse(tag, Error::NoPage { pages: self.config.pages }, out),
        }
    }

    /// Fetches the chain of the page at `address` and returns its permissions and owner, if the page exists and no
    /// other request is changing it.
    fn look_up(&mut self, tag: Tag, address: Address, out: &mut Actions) -> Result<(Permissions, Application), Tried> {
        if !self.durable.is_idle() || self.promises.is_locked(address.page()) {
            return Err(Tried::Wait);
        }
        if let Err(fault) = self.chain.fetch(address.page(), &self.table) {
            return Err(self.wait_for(tag, fault, out));
        }
        match self.chain.ownership() {
            Some((status, owner)) => Ok((status.permissions(), Application(owner))),
            None => Err(self.refuse(tag, Error::NotThere { address }, out)),
        }
    }

    pub(crate) fn try_delete(&mut self, tag: Tag, address: Address, out: &mut Actions) -> Tried {
        let (permissions, owner) = match self.look_up(tag, address, out) {
            Ok(found) => found,
            Err(tried) => return tried,
        };
        let application = self.requests.application(tag);
        if !(if owner == application { permissions.write } else { permissions.others_write }) {
            return self.refuse(tag, Error::NotWritable { address, application }, out);
        }
        match self.make_room(tag, 0, 1, out) {
            Tried::Done => {}
            other => return other,
        }
        self.push_holder(EntryState::Deleted, permissions, owner);
        self.put_back();
        self.reply(tag, Answer::Done, out);
        Tried::Done
    }

    pub(crate) fn try_set(&mut self, tag: Tag, address: Address, new: Permissions, out: &mut Actions) -> Tried {
        let (permissions, owner) = match self.look_up(tag, address, out) {
            Ok(found) => found,
            Err(tried) => return tried,
        };
        let application = self.requests.application(tag);
        if owner != application && !permissions.others_write {
            return self.refuse(tag, Error::NotOwner { address, application, owner }, out);
        }
        match self.make_room(tag, 0, 1, out) {
            Tried::Done => {}
            other => return other,
        }
        let becomes_temporary = permissions.permanent && !new.permanent;
        self.push_holder(EntryState::Live, new, if becomes_temporary { application } else { owner });
        self.put_back();
        self.reply(tag, Answer::Done, out);
        Tried::Done
    }

    /// Checks the room for `pages` flash pages and `entries` version entries, in addition to all promises. If there is
    /// none after a sweep, refuses the request.
    pub(crate) fn make_room(&mut self, tag: Tag, pages: u64, entries: u32, out: &mut Actions) -> Tried {
        if self.worn_out {
            return self.refuse(tag, Error::WornOut, out);
        }
        let (needed, room) = (self.blocks.needed() + self.promises.pages(), self.blocks.capacity());
        // A request that needs a single entry eventually frees space, so it may use the entries reserved for collection.
        let kept = if entries > 1 { self.collection_entries() } else { 0 };
        let free = self.table.available.saturating_sub(self.promises.entries() + kept);
        if needed + pages <= room || pages == 0 {
            if entries <= free {
                return match self.table.ensure_free(entries + self.promises.entries()) {
                    Ok(()) => Tried::Done,
                    Err(fault) => self.wait_for(tag, fault, out),
                };
            }
            return match self.sweep_first() || self.gather_first() {
                true => Tried::Wait,
                false => self.refuse(tag, Error::NoVersions { wanted: entries, free }, out),
            };
        }
        match self.sweep_first() {
            true => Tried::Wait,
            false => self.refuse(tag, Error::NoSpace { needed, wanted: pages, room }, out),
        }
    }

    /// Returns the number of version entries reserved for collection.
    pub(crate) fn collection_entries(&self) -> u32 {
        2 * self.config.segments
    }
}
