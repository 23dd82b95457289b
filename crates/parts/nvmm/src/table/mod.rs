//! The page table and the owner of each flash page: arrays in flash, cached in DRAM in chunks of one flash page.
//!
//! A chunk is loaded into DRAM when it is needed and stays there; in the end the dedicated DRAM holds the whole table,
//! as in the paper. A chunk that was never written has no place in flash and reads as zeros. The entries of pages come
//! first, one per virtual page, then those of versions. The journal records changed entries by their number
//! ([`Table::changed`]); a checkpoint writes whole chunks.

pub(crate) mod chain;
pub mod entry;
pub(crate) mod epochs;
pub(crate) mod lookup;
pub(crate) mod prefilled;
pub mod status;
pub mod vector;

use crate::config::Config;
use crate::space::blocks::Blocks;
use crate::space::layout::Layout;
use crate::table::entry::{ENTRY_BYTES, Entry};
use crate::table::prefilled::Prefilled;
use crate::table::status::{EntryState, Status};

/// No place in flash.
pub(crate) const NOWHERE: u64 = u64::MAX;

/// Marks a journal key as the owner of a flash page, not an entry.
pub(crate) const OWNER: u64 = 1 << 63;

/// The reason why a chunk cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It must be read from flash first.
    Missing(u32),
    /// It is unreadable.
    Broken,
}

#[derive(Clone, Debug, Default)]
pub(crate) enum Data {
    /// All zeros, or as prefilled.
    #[default]
    Nothing,
    InFlash,
    /// Being read.
    Coming,
    Here(Box<[u8]>),
    /// Unreadable.
    Broken,
}

/// A chunk. Chunks of page entries also count the used and the temporary pages, and hold a time that no entry exceeds,
/// so that a search can skip them.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub data: Data,
    pub home: u64,
    pub dirty: bool,
    pub newest: u32,
    pub used: u32,
    pub temporary: u32,
}

pub(crate) struct Table {
    pub chunks: Vec<Chunk>,
    /// Keys changed since the last commit.
    pub changed: Vec<u64>,
    /// Head of the list of free version entries; 0: empty.
    free: u32,
    /// The first version entry never used.
    fresh: u32,
    /// Number of free version entries.
    pub available: u32,
    /// Entries at the head of the list that are in DRAM, where they stay, and the entry after them.
    ready: (u32, u32),
    /// Number of version entries taken so far.
    pub taken: u64,
    pages: u32,
    end: u32,
    table_chunks: u32,
    entries: u32,
    owners: u64,
    bytes: usize,
    /// The content of chunks without a place in flash, if not zeros.
    prefilled: Option<Prefilled>,
    /// Pages whose versions may differ from `prefilled`, one bit each. Redundant: the entries hold the same
    /// information.
    touched: Vec<u64>,
}

impl Table {
    pub fn new(config: &Config) -> Table {
        let chunks = config.table_chunks() + config.owner_chunks();
        let nothing = Chunk { data: Data::Nothing, home: NOWHERE, dirty: false, newest: 0, used: 0, temporary: 0 };
        let bytes = config.geometry.page_bytes as usize;
        Table {
            chunks: vec![nothing; chunks as usize],
            changed: Vec::new(),
            free: 0,
            fresh: config.pages,
            available: config.versions,
            ready: (0, 0),
            taken: 0,
            pages: config.pages,
            end: config.pages + config.versions,
            table_chunks: config.table_chunks(),
            entries: (bytes / ENTRY_BYTES) as u32,
            owners: bytes as u64 / 4,
            bytes,
            prefilled: None,
            touched: Vec::new(),
        }
    }

    /// Marks all pages as written by the rule of `prefilled`, before any other change.
    pub fn fill(&mut self, prefilled: Prefilled) {
        let taken = prefilled.version_entries();
        self.fresh += taken;
        self.available -= taken;
        for chunk in 0..self.page_chunks() {
            let used = self.pages_of(chunk).len() as u32;
            let chunk = &mut self.chunks[chunk as usize];
            (chunk.newest, chunk.used) = (prefilled::TIME, used);
        }
        self.prefilled = Some(prefilled);
        self.touched = vec![0; self.pages.div_ceil(64) as usize];
    }

    /// Returns the rule that places `page`, if it is unchanged since.
    pub fn prefilled(&self, page: u32) -> Option<&Prefilled> {
        self.prefilled.as_ref().filter(|_| self.touched[page as usize / 64] >> (page % 64) & 1 == 0)
    }

    /// Notes that the versions of `page` change.
    pub fn touch(&mut self, page: u32) {
        if let Some(word) = self.touched.get_mut(page as usize / 64) {
            *word |= 1 << (page % 64);
        }
    }

    /// Returns the original content of `chunk`, which has no place in flash.
    fn original(&self, chunk: u32) -> Box<[u8]> {
        let mut bytes = vec![0; self.bytes].into_boxed_slice();
        let Some(prefilled) = &self.prefilled else { return bytes };
        if chunk < self.table_chunks {
            for (index, to) in (chunk * self.entries..).zip(bytes.chunks_exact_mut(ENTRY_BYTES)) {
                to.copy_from_slice(&prefilled.entry(index).bits().to_le_bytes());
            }
        } else {
            let first = u64::from(chunk - self.table_chunks) * self.owners;
            for (flash_page, to) in (first..).zip(bytes.chunks_exact_mut(4)) {
                to.copy_from_slice(&prefilled.owner(flash_page).map_or(0, |page| page + 1).to_le_bytes());
            }
        }
        bytes
    }

    /// Number of chunks with entries of pages.
    pub fn page_chunks(&self) -> u32 {
        self.pages.div_ceil(self.entries)
    }

    /// Returns the pages whose entries `chunk` holds.
    pub fn pages_of(&self, chunk: u32) -> std::ops::Range<u32> {
        let first = chunk * self.entries;
        first..self.pages.min(first + self.entries)
    }

    pub fn chunk_of(&self, index: u32) -> u32 {
        index >> self.entries.trailing_zeros()
    }

    fn position(&self, key: u64) -> (u32, usize) {
        // The sizes of chunks, entries and owners are powers of two.
        if key & OWNER != 0 {
            let page = key & !OWNER;
            let chunk = (page >> self.owners.trailing_zeros()) as u32;
            (self.table_chunks + chunk, (page & (self.owners - 1)) as usize * 4)
        } else {
            let chunk = (key as u32) >> self.entries.trailing_zeros();
            (chunk, (key as u32 & (self.entries - 1)) as usize * ENTRY_BYTES)
        }
    }

    /// Checks that a chunk is in DRAM.
    pub fn ensure(&self, chunk: u32) -> Result<(), Fault> {
        match self.chunks[chunk as usize].data {
            Data::Nothing | Data::Here(_) => Ok(()),
            Data::InFlash | Data::Coming => Err(Fault::Missing(chunk)),
            Data::Broken => Err(Fault::Broken),
        }
    }

    /// Returns the bytes of `key`; `None` for zeros.
    fn read(&self, key: u64) -> Result<Option<&[u8]>, Fault> {
        let (chunk, at) = self.position(key);
        match &self.chunks[chunk as usize].data {
            Data::Here(bytes) => Ok(Some(&bytes[at..])),
            Data::Nothing => Ok(None),
            Data::InFlash | Data::Coming => Err(Fault::Missing(chunk)),
            Data::Broken => Err(Fault::Broken),
        }
    }

    fn write(&mut self, key: u64, value: &[u8]) {
        let (chunk, at) = self.position(key);
        if let Data::Nothing = self.chunks[chunk as usize].data {
            self.chunks[chunk as usize].data = Data::Here(self.original(chunk));
        }
        let chunk = &mut self.chunks[chunk as usize];
        let Data::Here(bytes) = &mut chunk.data else { panic!("{key:#x} is written and its chunk is not in DRAM") };
        bytes[at..at + value.len()].copy_from_slice(value);
        chunk.dirty = true;
    }

    /// Marks unreadable chunks to be read again. Returns whether there are any.
    pub fn read_again(&mut self) -> bool {
        let broken = self.chunks.iter_mut().filter(|chunk| matches!(chunk.data, Data::Broken));
        broken.map(|chunk| chunk.data = Data::InFlash).count() > 0
    }

    /// Returns the entry `index`.
    pub fn entry(&self, index: u32) -> Result<Entry, Fault> {
        Ok(match self.read(u64::from(index))? {
            Some(bytes) => Entry::from_bits(u128::from_le_bytes(bytes[..16].try_into().expect("16 bytes"))),
            None => self.prefilled.as_ref().map_or_else(Entry::default, |prefilled| prefilled.entry(index)),
        })
    }

    /// Sets the entry `index`, which is in DRAM, and updates the valid pages of `blocks`.
    pub fn set(&mut self, index: u32, entry: Entry, blocks: &mut Blocks, layout: &Layout) {
        let old = self.entry(index).expect("in DRAM");
        if old == entry {
            return;
        }
        if entry.has_data() {
            blocks.gain(layout.block_of(entry.mapping), entry.vector.count());
        }
        if old.has_data() {
            blocks.lose(layout.block_of(old.mapping), old.vector.count());
        }
        self.write(u64::from(index), &entry.bits().to_le_bytes());
        self.changed.push(u64::from(index));
        if index < self.pages {
            let chunk = index / self.entries;
            let chunk = &mut self.chunks[chunk as usize];
            let counts =
                |e: Entry| (u32::from(e.status.state() != EntryState::Nothing), u32::from(e.status.is_temporary()));
            let ((was_used, was_temporary), (used, temporary)) = (counts(old), counts(entry));
            chunk.used = chunk.used + used - was_used;
            chunk.temporary = chunk.temporary + temporary - was_temporary;
            chunk.newest = chunk.newest.max(entry.time);
        }
    }

    /// Returns the owner of `flash_page` when it was last written.
    pub fn owner(&self, flash_page: u64) -> Result<Option<u32>, Fault> {
        let bytes = self.read(OWNER | flash_page)?;
        Ok(match (bytes, &self.prefilled) {
            (Some(bytes), _) => u32::from_le_bytes(bytes[..4].try_into().expect("4 bytes")).checked_sub(1),
            (None, Some(prefilled)) => prefilled.owner(flash_page),
            (None, None) => None,
        })
    }

    /// Records that `flash_page`, whose chunk is in DRAM, holds data of `page`.
    pub fn set_owner(&mut self, flash_page: u64, page: u32) {
        if self.owner(flash_page) != Ok(Some(page)) {
            self.write(OWNER | flash_page, &(page + 1).to_le_bytes());
            self.changed.push(OWNER | flash_page);
        }
    }

    /// Checks that the owners of all pages of a block can be set.
    pub fn ensure_owners(&self, flash_pages: std::ops::Range<u64>) -> Result<(), Fault> {
        let (first, _) = self.position(OWNER | flash_pages.start);
        let (last, _) = self.position(OWNER | (flash_pages.end - 1));
        (first..=last).try_for_each(|chunk| self.ensure(chunk))
    }

    /// Returns the free version entries: the head of their list, the first one never used, and their number.
    pub fn free_entries(&self) -> (u32, u32, u32) {
        (self.free, self.fresh, self.available)
    }

    /// Restores what [`free_entries`](Self::free_entries) returned.
    pub fn set_free_entries(&mut self, (free, fresh, available): (u32, u32, u32)) {
        (self.free, self.fresh, self.available, self.ready) = (free, fresh, available, (0, free));
    }

    /// Checks that `count` version entries can be taken.
    pub fn ensure_free(&mut self, count: u32) -> Result<(), Fault> {
        debug_assert!(count <= self.available);
        while self.ready.0 < count && self.ready.1 != 0 {
            let next = self.entry(self.ready.1)?.previous;
            self.ready = (self.ready.0 + 1, next);
        }
        let left = count.saturating_sub(self.ready.0);
        if left > 0 {
            (self.chunk_of(self.fresh)..=self.chunk_of(self.fresh + left - 1)).try_for_each(|c| self.ensure(c))?;
        }
        Ok(())
    }

    /// Takes a version entry; [`ensure_free`](Self::ensure_free) confirmed that there is one.
    pub fn take(&mut self) -> u32 {
        self.available -= 1;
        self.taken += 1;
        if self.free != 0 {
            let index = self.free;
            let entry = self.entry(index).expect("in DRAM");
            assert_eq!(entry.status, Status::FREE, "version entry {index} is taken twice");
            self.free = entry.previous;
            self.ready = match self.ready {
                (0, _) => (0, self.free),
                (ready, after) => (ready - 1, after),
            };
            return index;
        }
        assert!(self.fresh < self.end, "no version entry is left");
        self.fresh += 1;
        self.fresh - 1
    }

    /// Frees the version entry `index`.
    pub fn give(&mut self, index: u32, blocks: &mut Blocks, layout: &Layout) {
        debug_assert!(index >= self.pages);
        self.available += 1;
        let entry = Entry { previous: self.free, status: Status::FREE, ..Entry::default() };
        self.free = index;
        self.ready.0 += 1;
        self.set(index, entry, blocks, layout);
    }

    /// Appends the journal record of `key`, whose chunk is in DRAM.
    pub fn record(&self, key: u64, into: &mut Vec<u8>) {
        into.extend_from_slice(&key.to_le_bytes());
        let size = if key & OWNER != 0 { 4 } else { ENTRY_BYTES };
        match self.read(key).expect("in DRAM") {
            Some(bytes) => into.extend_from_slice(&bytes[..size]),
            None => into.resize(into.len() + size, 0),
        }
    }

    /// Returns the chunk of `key`, if it exists.
    pub fn chunk_of_key(&self, key: u64) -> Option<u32> {
        let (chunk, _) = self.position(key);
        ((chunk as usize) < self.chunks.len()).then_some(chunk)
    }

    /// Returns the bytes of DRAM in use, by loaded chunks and by the state of all chunks.
    pub fn bytes_here(&self) -> u64 {
        let here = self.chunks.iter().filter(|chunk| matches!(chunk.data, Data::Here(_))).count() as u64;
        here * self.bytes as u64 + (self.chunks.len() * size_of::<Chunk>()) as u64
    }
}
