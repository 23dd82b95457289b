//! Reads the flash back from the file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nand::{BlockRecord, Order, Store};
use rustix::fs::{SeekFrom, seek};

use crate::StoreError;
use crate::layout::{ALIGN, ENTRY, Layout, parse_entry};
use crate::record::{self, Spare};

/// A reader of the flash in a file. It reads through the page cache, ahead of what it needs.
pub(crate) struct Loader {
    file: File,
    path: PathBuf,
    layout: Layout,
    /// The programs of sequences below are durable.
    sealed: u64,
}

/// The contents of a block in the file.
struct Member {
    number: usize,
    state: BlockRecord,
    spares: Vec<Option<Spare>>,
    /// Payload of the page that is being loaded.
    payload: Vec<u8>,
}

impl Member {
    fn spare(&self, page: usize) -> Option<&Spare> {
        self.spares.get(page)?.as_ref()
    }
}

impl Loader {
    /// Creates a reader of `file`, which is open without O_DIRECT.
    pub fn new(file: File, path: &Path, layout: Layout, sealed: u64) -> Loader {
        Loader { file, path: path.to_owned(), layout, sealed }
    }

    /// Reads everything into `store`, which must be fresh. Returns the pages, as block and page, that `store` holds
    /// differently from the file: programs that were cut off.
    ///
    /// # Errors
    /// Fails if the file is unreadable or damaged.
    pub fn load(&self, store: &mut Store) -> Result<Vec<(usize, u32)>, StoreError> {
        let mut table = vec![0; self.layout.table_bytes()];
        self.read(&mut table, self.layout.table())?;
        let mut cut_off = Vec::new();
        for rank in 0..self.layout.blocks / self.layout.planes {
            let members = (0..self.layout.planes).map(|plane| self.member(&table, self.layout.member(rank, plane)));
            self.load_blocks(store, members.collect::<Result<Vec<_>, _>>()?, &mut cut_off)?;
        }
        Ok(cut_off)
    }

    /// Reads the state of a block and the spare areas of its present epoch.
    fn member(&self, table: &[u8], number: usize) -> Result<Member, StoreError> {
        let at = self.layout.entry(number);
        let place = self.layout.table() + at as u64;
        let state = parse_entry(&table[at..at + ENTRY]);
        let mut state = state.ok_or_else(|| self.damaged(format!("state of block {number}"), place))?;
        let mut spares = self.spares(number)?;
        // The failure of the host may have lost the table's entry, but not a page that was programmed after it.
        let newest = spares.iter().flatten().map(|spare| spare.epoch).max();
        if let Some(erases) = newest.filter(|newest| *newest > state.erases) {
            state = BlockRecord { erases, erase_torn: false, reads: 0, ..state };
        }
        for spare in &mut spares {
            if spare.as_ref().is_some_and(|spare| spare.epoch != state.erases) {
                *spare = None;
            }
        }
        Ok(Member { number, state, spares, payload: vec![0; self.layout.payload] })
    }

    /// Loads the blocks that are programmed together, one per plane. Appends the pages of programs that were cut off.
    fn load_blocks(
        &self,
        store: &mut Store,
        mut members: Vec<Member>,
        cut_off: &mut Vec<(usize, u32)>,
    ) -> Result<(), StoreError> {
        let pages = members.iter().map(|member| member.spares.len()).max().unwrap_or(0);
        let mut order: Vec<usize> = (0..pages).collect();
        if store.order() == Order::Any {
            let sequence = |page: &usize| members.iter().filter_map(|m| Some(m.spare(*page)?.sequence())).max();
            order.sort_by_key(sequence);
        }
        for page in order {
            for member in &mut members {
                if !self.is_payload_whole(store, member, page)? {
                    member.spares[page] = None;
                    cut_off.push((member.number, page as u32));
                }
            }
            for plane in 0..members.len() {
                let Some(spare) = members[plane].spare(page) else { continue };
                // A program has ended when all of its planes have. One that was cut off never began.
                let is_there = |member: &Member| member.spare(page).is_some_and(|s| s.sequence() == spare.sequence());
                let ended = (0..members.len()).all(|i| spare.planes >> i & 1 == 0 || is_there(&members[i]));
                if ended {
                    self.load_page(store, &members[plane], (spare, page as u32), cut_off)?;
                } else if spare.sequence() < self.sealed && !spare.is_torn() {
                    return Err(self.damaged_page("a plane is missing", members[plane].number, page as u32));
                } else {
                    cut_off.push((members[plane].number, page as u32));
                }
            }
        }
        members.iter().for_each(|member| store.restore_block(member.number, &member.state));
        Ok(())
    }

    /// Reads the payload of a page. Returns false if the program of the page did not end.
    fn is_payload_whole(&self, store: &Store, member: &mut Member, page: usize) -> Result<bool, StoreError> {
        let Some(spare) = member.spares.get(page).and_then(Option::as_ref).filter(|spare| !spare.is_torn()) else {
            return Ok(true);
        };
        self.read(&mut member.payload, self.layout.page(member.number, page as u32))?;
        let is_whole = crc32fast::hash(self.payload(store, &member.payload)) == spare.payload_sum;
        if !is_whole && spare.sequence() < self.sealed {
            return Err(self.damaged_page("payload", member.number, page as u32));
        }
        Ok(is_whole)
    }

    fn load_page(
        &self,
        store: &mut Store,
        member: &Member,
        (spare, page): (&Spare, u32),
        cut_off: &mut Vec<(usize, u32)>,
    ) -> Result<(), StoreError> {
        let number = member.number;
        let next = store.programmed_of(number);
        if store.order() == Order::InOrder && next < page {
            // Programs before this one are missing. A failure of the host may lose writes that are not durable yet.
            if spare.sequence() < self.sealed && !spare.is_torn() {
                return Err(self.damaged_page("spare area", number, next));
            }
            for missing in next..page {
                let restored = store.restore_page(number, missing, &spare.torn_page());
                restored.map_err(|what| self.damaged_page(what, number, missing))?;
                cut_off.push((number, missing));
            }
        }
        let content = spare.page(self.payload(store, &member.payload));
        store.restore_page(number, page, &content).map_err(|what| self.damaged_page(what, number, page))
    }

    fn damaged_page(&self, what: &str, number: usize, page: u32) -> StoreError {
        self.damaged(format!("{what} of block {number}, page {page}"), self.layout.page(number, page))
    }

    /// Returns the part of a page's sectors that is its payload.
    fn payload<'a>(&self, store: &Store, sectors: &'a [u8]) -> &'a [u8] {
        let g = store.geometry();
        &sectors[..(g.units_per_page() * g.unit_bytes) as usize]
    }

    /// Reads the spare areas of a block's pages.
    fn spares(&self, number: usize) -> Result<Vec<Option<Spare>>, StoreError> {
        let end = self.layout.block(number).end;
        let mut spares = Vec::new();
        let mut data = self.layout.block(number).start;
        for page in 0..self.layout.pages {
            let at = self.layout.page(number, page);
            if data < at + 1 {
                data = self.next_data(at)?;
            }
            if data >= end {
                break;
            }
            let spare = if data >= at + self.layout.page as u64 { None } else { self.spare(number, page)? };
            spares.push(spare);
        }
        Ok(spares)
    }

    fn spare(&self, number: usize, page: u32) -> Result<Option<Spare>, StoreError> {
        let at = self.layout.page(number, page) + self.layout.payload as u64;
        let mut bytes = vec![0; ALIGN];
        self.read(&mut bytes, at)?;
        let Some(length) = record::length(&bytes) else { return Ok(None) };
        if length > self.layout.page - self.layout.payload {
            return Ok(None);
        }
        if length > bytes.len() {
            bytes.resize(length, 0);
            self.read(&mut bytes[ALIGN..], at + ALIGN as u64)?;
        }
        let spare = record::decode(&bytes[..length], (number, page));
        if spare.as_ref().is_some_and(|spare| !spare.is_possible()) {
            return Err(self.damaged_page("spare area", number, page));
        }
        Ok(spare)
    }

    /// Returns the first offset from `at` on that is not in a hole.
    fn next_data(&self, at: u64) -> Result<u64, StoreError> {
        match seek(&self.file, SeekFrom::Data(at)) {
            Ok(offset) => Ok(offset),
            Err(rustix::io::Errno::NXIO) => Ok(u64::MAX),
            // Without support for holes, everything is data.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => Ok(at),
            Err(error) => Err(StoreError::io(&self.path, "cannot be read")(error.into())),
        }
    }

    fn read(&self, to: &mut [u8], at: u64) -> Result<(), StoreError> {
        match self.file.read_exact_at(to, at) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.damaged("the file ends early".to_owned(), at))
            }
            other => other.map_err(StoreError::io(&self.path, "cannot be read")),
        }
    }

    fn damaged(&self, what: String, offset: u64) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), what, offset }
    }
}
