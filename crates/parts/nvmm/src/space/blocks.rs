//! Erase blocks: their valid pages, worn pages, and which blocks are free.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::Config;
use crate::space::layout::Layout;
use crate::table::prefilled::Prefilled;

/// The use of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Use {
    /// Nothing in it is needed, not even by the durable state. It is erased just before it is written.
    #[default]
    Free,
    /// Being written.
    Open,
    /// No longer written, until it is erased.
    Closed,
    /// Free but unused, because the owners of its pages are unreadable.
    Aside,
    /// Free, but kept for readers of an earlier commit.
    Kept,
    /// Worn out.
    Bad,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    /// Flash pages with needed data.
    pub valid: u32,
    /// Number of erases.
    pub erases: u32,
    /// Reads under way.
    pub readers: u32,
    /// Parts of page writes in it that are not in the table yet.
    pub writers: u32,
    /// It holds an unreadable page and is not collected.
    pub stuck: bool,
    /// Worn-out pages.
    pub worn: u16,
    /// Length of the longest chain with a part in it, since it was opened.
    pub longest: u16,
    pub used: Use,
    /// Number of closed blocks when it was closed.
    pub closed: u32,
}

pub(crate) struct Blocks {
    list: Vec<Block>,
    worn: BTreeMap<u32, Vec<u64>>,
    /// Free data blocks, least erased first.
    free: BTreeSet<(u32, u32)>,
    free_mapping: BTreeSet<(u32, u32)>,
    /// Closed blocks without valid pages; they become free with the next durable commit.
    pub emptied: Vec<u32>,
    /// Pages found worn out since the last commit.
    pub newly_worn: Vec<u64>,
    /// Flash pages of data in need.
    needed: u64,
    /// Flash pages of data that are not worn out.
    good: u64,
    clock: u32,
    pages: u32,
    first_mapping: u32,
    first_data: u32,
    aside: u64,
    /// Free blocks that were written, where their release is reported; `None`: the least erased block is used first.
    released: Option<BTreeSet<u32>>,
    /// Another process reads an earlier commit: data blocks that become free are kept.
    pub watched: bool,
    /// Blocks kept for readers.
    kept: Vec<u32>,
    /// Blocks that were kept, and become free with the next durable commit.
    revoked: Vec<u32>,
    /// Kept blocks were given up since the last [`take_revocation`](Self::take_revocation).
    revocation: bool,
}

impl Blocks {
    pub fn new(config: &Config, layout: &Layout) -> Blocks {
        let data = layout.first_data..layout.blocks;
        Blocks {
            list: vec![Block::default(); layout.blocks as usize],
            worn: BTreeMap::new(),
            free: data.clone().map(|block| (0, block)).collect(),
            free_mapping: (layout.first_mapping..layout.first_data).map(|block| (0, block)).collect(),
            emptied: Vec::new(),
            newly_worn: Vec::new(),
            needed: 0,
            good: data.len() as u64 * u64::from(layout.pages),
            clock: 0,
            pages: layout.pages,
            first_mapping: layout.first_mapping,
            first_data: layout.first_data,
            aside: u64::from(config.set_aside()) * u64::from(layout.pages),
            released: None,
            watched: false,
            kept: Vec::new(),
            revoked: Vec::new(),
            revocation: false,
        }
    }

    /// Marks data blocks as written, from the first on, by the rule of `prefilled`.
    pub fn fill(&mut self, prefilled: &Prefilled) {
        let longest = prefilled.longest();
        for number in 0..prefilled.blocks() {
            let (block, valid) = (prefilled.first_block() + number, prefilled.valid(number));
            assert!(self.free.remove(&(0, block)), "block {block} is not free");
            self.clock += u32::from(number % prefilled.blocks() == 0);
            let state = &mut self.list[block as usize];
            (state.used, state.longest, state.closed) = (Use::Closed, longest, self.clock);
            match valid {
                0 => self.emptied.push(block),
                _ => self.gain(block, valid),
            }
        }
    }

    /// Flash pages of data in need.
    pub fn needed(&self) -> u64 {
        self.needed
    }

    /// Flash pages of data that can be in use at once.
    pub fn capacity(&self) -> u64 {
        self.good.saturating_sub(self.aside)
    }

    /// Number of free data blocks.
    pub fn free_count(&self) -> usize {
        self.free.len()
    }

    /// Free data blocks, in order.
    pub fn free_data(&self) -> impl Iterator<Item = u32> {
        self.free.iter().map(|(_, block)| *block)
    }

    /// Number of free table blocks.
    pub fn free_mapping_count(&self) -> usize {
        self.free_mapping.len()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &Block)> {
        (0u32..).zip(&self.list)
    }

    pub fn get(&self, block: u32) -> &Block {
        &self.list[block as usize]
    }

    pub fn get_mut(&mut self, block: u32) -> &mut Block {
        &mut self.list[block as usize]
    }

    fn is_data(&self, block: u32) -> bool {
        block >= self.first_data
    }

    /// Sort key of free blocks.
    fn key(&self, block: u32) -> (u32, u32) {
        (if self.released.is_some() { 0 } else { self.get(block).erases }, block)
    }

    fn insert_free(&mut self, block: u32) {
        let key = self.key(block);
        self.free_of(block).insert(key);
    }

    fn remove_free(&mut self, block: u32) -> bool {
        let key = self.key(block);
        self.free_of(block).remove(&key)
    }

    /// See [`Nvmm::keep_dense`](crate::Nvmm::keep_dense).
    pub fn keep_dense(&mut self) {
        self.released = Some(BTreeSet::new());
        for free in [&mut self.free, &mut self.free_mapping] {
            *free = free.iter().map(|(_, block)| (0, *block)).collect();
        }
    }

    /// See [`Nvmm::reserve`](crate::Nvmm::reserve).
    pub fn reserve(&mut self, blocks: u32) {
        self.aside += u64::from(blocks) * u64::from(self.pages);
    }

    /// Number of free blocks that were written and not taken by [`released`](Self::released).
    pub fn releasable(&self) -> usize {
        self.released.as_ref().map_or(0, BTreeSet::len)
    }

    /// Takes the last of these blocks: it is reused after all others.
    pub fn released(&mut self) -> Option<u32> {
        self.released.as_mut()?.pop_last()
    }

    fn free_of(&mut self, block: u32) -> &mut BTreeSet<(u32, u32)> {
        if block >= self.first_data { &mut self.free } else { &mut self.free_mapping }
    }

    /// Adds `count` valid pages to `block`.
    pub fn gain(&mut self, block: u32, count: u32) {
        self.list[block as usize].valid += count;
        if self.is_data(block) {
            self.needed += u64::from(count);
        }
    }

    /// Removes `count` valid pages from `block`.
    pub fn lose(&mut self, block: u32, count: u32) {
        let state = &mut self.list[block as usize];
        state.valid = state
            .valid
            .checked_sub(count)
            .unwrap_or_else(|| panic!("block {block} has fewer than {count} valid pages"));
        if state.valid == 0 && count > 0 && state.used == Use::Closed {
            self.emptied.push(block);
        }
        if self.is_data(block) {
            self.needed -= u64::from(count);
        }
    }

    /// Opens the least erased free block: a data block, or a table block.
    pub fn open(&mut self, data: bool) -> Option<u32> {
        let (_, block) = if data { self.free.pop_first() } else { self.free_mapping.pop_first() }?;
        let state = &mut self.list[block as usize];
        assert_eq!((state.used, state.valid), (Use::Free, 0), "block {block}");
        (state.used, state.longest) = (Use::Open, 0);
        if let Some(released) = &mut self.released {
            released.remove(&block);
        }
        Some(block)
    }

    /// Closes an open block.
    pub fn close(&mut self, block: u32) {
        self.clock += 1;
        let state = &mut self.list[block as usize];
        assert_eq!(state.used, Use::Open, "block {block}");
        (state.used, state.closed) = (Use::Closed, self.clock);
        if state.valid == 0 {
            self.emptied.push(block);
        }
    }

    /// Returns how many blocks were closed after this one.
    pub fn age(&self, block: u32) -> u32 {
        self.clock - self.list[block as usize].closed
    }

    /// Frees emptied blocks that no operation uses: the durable state does not need them any more.
    pub fn release_emptied(&mut self) {
        for block in std::mem::take(&mut self.revoked) {
            self.free(block);
        }
        if !self.watched {
            for block in std::mem::take(&mut self.kept) {
                self.free(block);
            }
        }
        let mut emptied = std::mem::take(&mut self.emptied);
        emptied.retain(|block| {
            let state = &mut self.list[*block as usize];
            if state.used != Use::Closed || state.valid > 0 {
                return false;
            }
            if state.readers > 0 || state.writers > 0 {
                return true;
            }
            state.stuck = false;
            if self.watched && self.is_data(*block) {
                self.list[*block as usize].used = Use::Kept;
                self.kept.push(*block);
            } else {
                self.free(*block);
            }
            false
        });
        self.emptied = emptied;
    }

    fn free(&mut self, block: u32) {
        self.list[block as usize].used = Use::Free;
        self.insert_free(block);
        if let Some(released) = &mut self.released {
            released.insert(block);
        }
    }

    /// Gives up the blocks kept for readers: they become free with the next durable commit.
    pub fn revoke(&mut self) {
        self.revocation |= !self.kept.is_empty();
        self.revoked.append(&mut self.kept);
    }

    /// Returns whether blocks kept for readers were given up since the last call.
    pub fn take_revocation(&mut self) -> bool {
        std::mem::take(&mut self.revocation)
    }

    /// Returns an opened block, neither erased nor written, to the free blocks.
    pub fn unopen(&mut self, block: u32) {
        let state = &mut self.list[block as usize];
        assert!(state.used == Use::Open && state.valid == 0, "block {block}: {state:?}");
        state.used = Use::Free;
        self.insert_free(block);
    }

    /// Sets an opened block, neither erased nor written, aside for now.
    pub fn set_aside(&mut self, block: u32) {
        self.unopen(block);
        self.remove_free(block);
        let state = self.list[block as usize];
        self.good -= u64::from(self.pages - u32::from(state.worn));
        self.list[block as usize].used = Use::Aside;
    }

    /// Frees blocks that were set aside, and allows collection of stuck ones. Returns whether there was any.
    pub fn try_again(&mut self) -> bool {
        let mut any = false;
        for block in self.first_data..self.list.len() as u32 {
            let state = &mut self.list[block as usize];
            any |= std::mem::take(&mut state.stuck);
            if state.used == Use::Aside {
                (state.used, any) = (Use::Free, true);
                self.good += u64::from(self.pages - u32::from(state.worn));
                self.insert_free(block);
            }
        }
        any
    }

    /// Returns whether commits would free a data block: the next one, or the one after [`revoke`](Self::revoke).
    pub fn has_emptied(&self) -> bool {
        let idle = |block: &&u32| {
            let state = self.get(**block);
            state.used == Use::Closed && state.valid == 0 && state.readers == 0 && state.writers == 0
        };
        let emptied = self.emptied.iter().filter(|block| self.is_data(**block)).any(|block| idle(&block));
        emptied || !self.kept.is_empty() || !self.revoked.is_empty()
    }

    /// Marks a free table block as in use: it holds the journal that opening found.
    pub fn claim(&mut self, block: u32) {
        assert!(self.remove_free(block), "block {block} is not free");
        self.list[block as usize].used = Use::Open;
    }

    /// Retires a block for good: its erase failed, or all its pages are worn.
    pub fn retire(&mut self, block: u32) {
        let state = self.list[block as usize];
        assert_eq!(state.valid, 0, "block {block} is retired with data");
        self.remove_free(block);
        if state.used != Use::Bad && self.is_data(block) {
            self.good -= u64::from(self.pages - u32::from(state.worn));
        }
        self.list[block as usize].used = Use::Bad;
    }

    /// Returns the worn pages of a block, one bit each, if there are any.
    pub fn worn(&self, block: u32) -> Option<&[u64]> {
        self.worn.get(&block).map(Vec::as_slice)
    }

    pub fn is_worn(&self, block: u32, page: u32) -> bool {
        self.worn(block).is_some_and(|bits| bits[page as usize / 64] >> (page % 64) & 1 != 0)
    }

    /// Records that page `page` of a block is worn out.
    pub fn wear_out(&mut self, block: u32, page: u32) {
        if self.is_worn(block, page) {
            return;
        }
        let words = self.pages.div_ceil(64) as usize;
        self.worn.entry(block).or_insert_with(|| vec![0; words])[page as usize / 64] |= 1 << (page % 64);
        self.list[block as usize].worn += 1;
        if self.is_data(block) && self.list[block as usize].used != Use::Bad {
            self.good -= 1;
        }
        self.newly_worn.push(u64::from(block) * u64::from(self.pages) + u64::from(page));
    }

    /// Restores a block's state from the directory, before the journal is read.
    pub fn restore(&mut self, block: u32, erases: u32, bad: bool) {
        if bad {
            self.retire(block);
        }
        let was_free = self.remove_free(block);
        self.list[block as usize].erases = erases;
        if was_free {
            self.insert_free(block);
        }
    }

    /// Closes blocks with valid pages once the journal is read; all others are free.
    pub fn settle(&mut self) {
        for block in self.first_mapping..self.list.len() as u32 {
            let state = self.list[block as usize];
            if state.valid > 0 {
                assert_ne!(state.used, Use::Bad, "block {block} is bad and holds data");
                self.remove_free(block);
                self.list[block as usize].used = Use::Closed;
            }
        }
        self.emptied.clear();
        self.newly_worn.clear();
    }
}

#[cfg(test)]
mod tests;
