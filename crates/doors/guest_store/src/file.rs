//! The file as a copy of the flash that follows every change.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use direct::Aligned;
use media::{BlockAddr, PageAddr};
use nand::Store;
use storage::Mirror;

use crate::layout::{ALIGN, DriveState, ENTRY, Layout, Sector, TEXT_MAX, entry};
use crate::record;
use crate::{StoreError, layout};

/// The open file. It writes in the order of the calls.
#[derive(Debug)]
pub struct FlashFile {
    file: File,
    path: PathBuf,
    layout: Layout,
    /// The contents of the file's table of blocks.
    table: Aligned,
    page: Aligned,
    spare: Vec<u8>,
    state: DriveState,
    /// Something was written after the last barrier.
    is_dirty: bool,
    /// The first failure; nothing is written afterwards.
    failure: Option<io::Error>,
}

impl FlashFile {
    /// Takes over an open, locked file with this `state`.
    pub(crate) fn new(file: File, path: &Path, layout: Layout, state: DriveState) -> FlashFile {
        FlashFile {
            file,
            path: path.to_owned(),
            layout,
            table: Aligned::new(layout.table_bytes()),
            page: Aligned::new(layout.page),
            spare: Vec::new(),
            state,
            is_dirty: false,
            failure: None,
        }
    }

    /// Writes the header, which makes a file with everything else a store, and makes it durable.
    pub(crate) fn write_header(&mut self, identity: &layout::Identity) {
        self.attempt(|file| file.sync());
        self.attempt(|file| file.write_sector(&identity.header(), 0));
        self.attempt(|file| file.sync());
    }

    /// Returns the drive's state apart from its flash.
    pub(crate) fn state(&self) -> &DriveState {
        &self.state
    }

    /// Writes the controller's state, durably.
    ///
    /// # Panics
    /// If it has more than 4,064 bytes.
    pub fn set_text(&mut self, text: &str) {
        assert!(text.len() <= TEXT_MAX, "{} bytes of state", text.len());
        text.clone_into(&mut self.state.text);
        self.attempt(|file| {
            file.sync()?;
            file.write_state()?;
            file.sync()
        });
    }

    /// Takes the first failure. The drive must not be used after one.
    pub fn failure(&mut self) -> Option<StoreError> {
        self.failure.as_ref().map(|error| StoreError::Io {
            path: self.path.clone(),
            doing: "cannot be written",
            error: error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error),
        })
    }

    fn attempt(&mut self, act: impl FnOnce(&mut FlashFile) -> io::Result<()>) {
        if self.failure.is_none() {
            self.failure = act(self).err();
        }
    }

    fn write_sector(&mut self, sector: &Sector, offset: u64) -> io::Result<()> {
        self.page[..ALIGN].copy_from_slice(sector);
        self.is_dirty = true;
        self.file.write_all_at(&self.page[..ALIGN], offset)
    }

    fn write_state(&mut self) -> io::Result<()> {
        self.state.generation += 1;
        let (sector, offset) = self.state.sector();
        self.write_sector(&sector, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_dirty) {
            self.file.sync_data()?;
        }
        Ok(())
    }

    fn write_page(&mut self, store: &Store, (number, page): (usize, u32), planes: u32) -> io::Result<()> {
        let Some(content) = store.page_record(number, page) else { return Ok(()) };
        let epoch = store.block_record(number).erases;
        self.spare.clear();
        record::encode(&content, (number, page), (epoch, planes), &mut self.spare);
        let spare = self.spare.len().next_multiple_of(ALIGN);
        let payload = self.layout.payload;
        self.page[..content.payload.len()].copy_from_slice(content.payload);
        self.page[payload..payload + self.spare.len()].copy_from_slice(&self.spare);
        self.page[payload + self.spare.len()..payload + spare].fill(0);
        self.is_dirty = true;
        // A torn page has no payload.
        let from = if content.torn { payload } else { 0 };
        let offset = self.layout.page(number, page) + from as u64;
        self.file.write_all_at(&self.page[from..payload + spare], offset)
    }

    /// Writes the table's entries of blocks that changed together.
    fn write_blocks(&mut self, store: &Store, numbers: &[usize]) -> io::Result<()> {
        let places = numbers.iter().map(|number| self.layout.entry(*number));
        let (Some(first), Some(last)) = (places.clone().min(), places.max()) else { return Ok(()) };
        for number in numbers {
            let at = self.layout.entry(*number);
            self.table[at..at + ENTRY].copy_from_slice(&entry(&store.block_record(*number)));
        }
        let (from, to) = (first / ALIGN * ALIGN, (last + ENTRY).next_multiple_of(ALIGN));
        self.is_dirty = true;
        self.file.write_all_at(&self.table[from..to], self.layout.table() + from as u64)
    }

    /// Writes the whole table, which refreshes what changes without a program or an erase: counts of reads.
    pub(crate) fn write_table(&mut self, store: &Store) {
        for number in 0..self.layout.blocks {
            let at = self.layout.entry(number);
            self.table[at..at + ENTRY].copy_from_slice(&entry(&store.block_record(number)));
        }
        self.attempt(|file| {
            file.is_dirty = true;
            file.file.write_all_at(&file.table, file.layout.table())
        });
    }

    /// Makes the file agree with `store` about `pages`, whose programs were cut off. Otherwise they would count as damaged
    /// as soon as later programs are durable.
    pub(crate) fn settle(&mut self, store: &Store, pages: &[(usize, u32)]) {
        for (number, page) in pages.iter().copied() {
            if store.page_record(number, page).is_some() {
                self.attempt(|file| file.write_page(store, (number, page), file.layout.own_plane(number)));
            } else {
                let spare = self.layout.page(number, page) + self.layout.payload as u64;
                self.attempt(|file| file.write_sector(&[0; ALIGN], spare));
            }
        }
    }

    fn write_all(&mut self, store: &Store) {
        self.write_table(store);
        for number in 0..self.layout.blocks {
            for page in 0..self.layout.pages {
                // The file is not in use yet, so that it does not matter which planes were programmed together.
                self.attempt(|file| file.write_page(store, (number, page), file.layout.own_plane(number)));
            }
        }
    }

    /// Writes counters and makes everything durable, at the orderly end of a server.
    pub(crate) fn close(&mut self, store: &Store, oldest: u64) {
        self.write_table(store);
        self.barrier(store, oldest);
    }
}

impl Mirror for FlashFile {
    fn page(&mut self, store: &Store, page: PageAddr) {
        for plane in page.planes.iter() {
            let number = store.number_of(page, plane);
            self.attempt(|file| file.write_page(store, (number, page.page), u32::from(page.planes.0)));
        }
    }

    fn block(&mut self, store: &Store, block: BlockAddr) {
        // What the block held was moved before its erase, and those programs must not be lost after it.
        self.attempt(FlashFile::sync);
        let at = PageAddr { die: block.die, planes: block.planes, block: block.block, page: 0 };
        let numbers: Vec<usize> = block.planes.iter().map(|plane| store.number_of(at, plane)).collect();
        self.attempt(|file| file.write_blocks(store, &numbers));
        for number in numbers {
            let is_erased = (0..self.layout.pages).all(|page| store.page_record(number, page).is_none());
            if is_erased && self.failure.is_none() {
                let place = self.layout.block(number);
                // Not every file system supports holes. The pages' epoch has passed in any case.
                let _ = direct::punch(&self.file, place.start, place.end - place.start);
            }
        }
    }

    fn all(&mut self, store: &Store) {
        self.write_all(store);
    }

    fn barrier(&mut self, store: &Store, oldest: u64) -> bool {
        let clock_s = store.clock_s();
        if self.is_dirty {
            self.attempt(|file| {
                file.sync()?;
                // Not durable itself before the next barrier: an older bound only means less to check.
                (file.state.sealed, file.state.clock_s) = (oldest, clock_s);
                file.write_state()?;
                file.is_dirty = false;
                Ok(())
            });
        }
        self.failure.is_none()
    }
}
