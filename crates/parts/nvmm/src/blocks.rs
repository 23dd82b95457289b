//! Erase blocks: what is valid in each, which are free, which pages of them are worn out.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::Config;
use crate::layout::Layout;
use crate::prefilled::Prefilled;

/// What a block is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Use {
    /// Nothing in it is needed, by the state that is durable either. It is erased before it is written.
    #[default]
    Free,
    /// Being written.
    Open,
    /// Not written any more until it is erased.
    Closed,
    /// Free, and not used: what is known of its pages cannot be read.
    Aside,
    /// Free but for those who read what an earlier commit left.
    Kept,
    /// Worn out.
    Bad,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    /// Flash pages that hold something needed.
    pub valid: u32,
    /// Times erased.
    pub erases: u32,
    /// Reads under way.
    pub readers: u32,
    /// Fragments that are being written, or are and are not in the table yet.
    pub writers: u32,
    /// It holds a page that cannot be read, and stays.
    pub stuck: bool,
    /// Worn-out pages.
    pub worn: u16,
    /// The longest chain a part of which was seen here since it was opened.
    pub longest: u16,
    pub used: Use,
    /// Clock of blocks at its closing.
    pub closed: u32,
}

pub(crate) struct Blocks {
    list: Vec<Block>,
    worn: BTreeMap<u32, Vec<u64>>,
    /// Free blocks of data, the least erased first.
    free: BTreeSet<(u32, u32)>,
    free_mapping: BTreeSet<(u32, u32)>,
    /// Closed blocks in which nothing is valid, so that they are free once that is durable.
    pub emptied: Vec<u32>,
    /// Pages found worn out since the last commit.
    pub newly_worn: Vec<u64>,
    /// Flash pages of data that are needed.
    needed: u64,
    /// Flash pages of data that are not worn out.
    good: u64,
    clock: u32,
    pages: u32,
    first_mapping: u32,
    first_data: u32,
    aside: u64,
    /// Free blocks that were used, where that is told; none: the least erased is used first.
    released: Option<BTreeSet<u32>>,
    /// Somebody reads what an earlier commit left: data blocks that become free are kept.
    pub watched: bool,
    /// Blocks that are kept.
    kept: Vec<u32>,
    /// Blocks that were, and are free when the next commit is durable.
    revoked: Vec<u32>,
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
        }
    }

    /// Data blocks are full from the first on, as `full` says.
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

    /// Flash pages of data that are needed.
    pub fn needed(&self) -> u64 {
        self.needed
    }

    /// Flash pages of data that may be needed at a time.
    pub fn capacity(&self) -> u64 {
        self.good.saturating_sub(self.aside)
    }

    /// Free blocks for data.
    pub fn free_count(&self) -> usize {
        self.free.len()
    }

    /// Free blocks for data, in order.
    pub fn free_data(&self) -> impl Iterator<Item = u32> {
        self.free.iter().map(|(_, block)| *block)
    }

    /// Free blocks for the table.
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

    /// How free blocks are ordered.
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

    /// Free blocks that were used, and not taken by [`released`](Self::released).
    pub fn releasable(&self) -> usize {
        self.released.as_ref().map_or(0, BTreeSet::len)
    }

    /// Takes the last of them: it is used again after all before it.
    pub fn released(&mut self) -> Option<u32> {
        self.released.as_mut()?.pop_last()
    }

    fn free_of(&mut self, block: u32) -> &mut BTreeSet<(u32, u32)> {
        if block >= self.first_data { &mut self.free } else { &mut self.free_mapping }
    }

    /// `count` more pages of `block` are needed.
    #[inline]
    pub fn gain(&mut self, block: u32, count: u32) {
        self.list[block as usize].valid += count;
        if self.is_data(block) {
            self.needed += u64::from(count);
        }
    }

    /// `count` pages of `block` are needed no more.
    #[inline]
    pub fn lose(&mut self, block: u32, count: u32) {
        let state = &mut self.list[block as usize];
        state.valid = state.valid.checked_sub(count).unwrap_or_else(|| panic!("block {block} loses what it has not"));
        if state.valid == 0 && count > 0 && state.used == Use::Closed {
            self.emptied.push(block);
        }
        if self.is_data(block) {
            self.needed -= u64::from(count);
        }
    }

    /// Opens a free block, the least worn: of data, or of the table.
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

    /// It is not written any more.
    pub fn close(&mut self, block: u32) {
        self.clock += 1;
        let state = &mut self.list[block as usize];
        assert_eq!(state.used, Use::Open, "block {block}");
        (state.used, state.closed) = (Use::Closed, self.clock);
        if state.valid == 0 {
            self.emptied.push(block);
        }
    }

    /// Closings since this block's.
    pub fn age(&self, block: u32) -> u32 {
        self.clock - self.list[block as usize].closed
    }

    /// What is durable needs no block that was emptied before: those that nobody reads or writes may be erased.
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

    /// What is kept is kept no longer than until the next commit is durable. True if anything was.
    pub fn revoke(&mut self) -> bool {
        let any = !self.kept.is_empty();
        self.revoked.append(&mut self.kept);
        any
    }

    /// A block that was opened and never erased nor written is free again.
    pub fn unopen(&mut self, block: u32) {
        let state = &mut self.list[block as usize];
        assert!(state.used == Use::Open && state.valid == 0, "block {block}: {state:?}");
        state.used = Use::Free;
        self.insert_free(block);
    }

    /// A block that was opened and never erased nor written is not used for now.
    pub fn set_aside(&mut self, block: u32) {
        self.unopen(block);
        self.remove_free(block);
        let state = self.list[block as usize];
        self.good -= u64::from(self.pages - u32::from(state.worn));
        self.list[block as usize].used = Use::Aside;
    }

    /// What was set aside is free again, and what is stuck may be collected again. True if there was any.
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

    /// Whether a commit would free a block of data, at the latest one after [`revoke`](Self::revoke).
    pub fn has_emptied(&self) -> bool {
        let idle = |block: &&u32| {
            let state = self.get(**block);
            state.used == Use::Closed && state.valid == 0 && state.readers == 0 && state.writers == 0
        };
        let emptied = self.emptied.iter().filter(|block| self.is_data(**block)).any(|block| idle(&block));
        emptied || !self.kept.is_empty() || !self.revoked.is_empty()
    }

    /// Takes a free block of the table that is not what it was: it holds the journal that was found.
    pub fn claim(&mut self, block: u32) {
        assert!(self.remove_free(block), "block {block} is not free");
        self.list[block as usize].used = Use::Open;
    }

    /// Its erase failed, or no page of it is left: it is never used again.
    pub fn retire(&mut self, block: u32) {
        let state = self.list[block as usize];
        assert_eq!(state.valid, 0, "block {block} is retired with data");
        self.remove_free(block);
        if state.used != Use::Bad && self.is_data(block) {
            self.good -= u64::from(self.pages - u32::from(state.worn));
        }
        self.list[block as usize].used = Use::Bad;
    }

    /// What is known of its worn pages.
    pub fn worn(&self, block: u32) -> Option<&[u64]> {
        self.worn.get(&block).map(Vec::as_slice)
    }

    pub fn is_worn(&self, block: u32, page: u32) -> bool {
        self.worn(block).is_some_and(|bits| bits[page as usize / 64] >> (page % 64) & 1 != 0)
    }

    /// Page `page` of it is worn out.
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

    /// What a block is found to be when the memory is opened, before the journal is read: what is not free for certain is
    /// closed.
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

    /// After the journal: what holds something is closed, and all else is free.
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
