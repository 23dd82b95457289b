//! The file as a copy of the flash that follows every change.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use direct::Aligned;
use media::{BlockAddr, PageAddr, Status};
use nand::Store;
use rustix::io::Errno;
use storage::Mirror;

use crate::changes::Changes;
use crate::layout::{ALIGN, DriveState, ENTRY, Layout, Sector, TEXT_MAX, entry};
use crate::{StoreError, layout, record, tail};

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
    /// Changes that the file may lack: those after the last barrier, and while it is behind, all.
    changes: Changes,
    /// The last failure, while the file is behind. Then only [`follow`](Mirror::follow) writes to it.
    failure: Option<io::Error>,
    /// Number of records of the complete tail that is not in place yet.
    tail: Option<u64>,
    /// A message to the user that has not been taken.
    notice: Option<String>,
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
            changes: Changes::default(),
            failure: None,
            tail: None,
            notice: None,
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

    /// Writes the controller's state, durably. A file that is behind has room for it all the same.
    ///
    /// # Panics
    /// If it has more than 4,064 bytes.
    pub fn set_text(&mut self, text: &str) {
        assert!(text.len() <= TEXT_MAX, "{} bytes of state", text.len());
        text.clone_into(&mut self.state.text);
        self.attempt(FlashFile::sync);
        if let Err(error) = self.write_state().and_then(|()| self.file.sync_data()) {
            self.fall_behind(error);
        }
    }

    /// Returns the last failure, while the file is behind the flash.
    pub fn failure(&self) -> Option<StoreError> {
        self.failure.as_ref().map(|error| StoreError::Io {
            path: self.path.clone(),
            doing: "cannot be written",
            error: error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error),
        })
    }

    /// Takes the message to the user about the last change between a file that can be written and one that cannot.
    pub fn take_notice(&mut self) -> Option<String> {
        self.notice.take()
    }

    /// Performs `act` unless the file is behind.
    fn attempt(&mut self, act: impl FnOnce(&mut FlashFile) -> io::Result<()>) {
        if self.failure.is_none()
            && let Err(error) = act(self)
        {
            self.fall_behind(error);
        }
    }

    fn fall_behind(&mut self, error: io::Error) {
        let is_news = self.failure.is_none();
        self.failure = Some(error);
        if is_news {
            self.notice = self.failure().map(|failure| format!("{failure}; the drive fails writes until it can"));
        }
    }

    /// Returns the status of commands that change flash.
    fn status(&self) -> Status {
        match self.failure.as_ref().map(|error| error.raw_os_error().map(Errno::from_raw_os_error)) {
            None => Status::Ok,
            // A limit of the process or the user, like the disk's.
            Some(Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Status::NoSpace,
            Some(_) => Status::Failed,
        }
    }

    /// Makes all changes that the file lacks, if it is behind.
    fn catch_up(&mut self, store: &Store) {
        if self.failure.is_none() {
            return;
        }
        if let Err(error) = self.apply_tail().and_then(|()| self.write_tail(store)).and_then(|()| self.apply_tail()) {
            self.fall_behind(error);
            return;
        }
        self.failure = None;
        // The state, which may have failed too, follows with the next barrier.
        self.is_dirty = true;
        self.notice = Some(format!("store {}: can be written again and has every change", self.path.display()));
    }

    /// Writes all changes behind the pages. Afterwards they are durable, and take effect with the next
    /// [`apply_tail`](Self::apply_tail) or start.
    fn write_tail(&mut self, store: &Store) -> io::Result<()> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let begin = self.layout.bytes();
        match self.fill_tail(store, begin) {
            Ok(records) => {
                self.tail = Some(records);
                self.changes.clear();
                Ok(())
            }
            Err(error) => {
                // Returns its room. Otherwise it is overwritten, or removed at the next start.
                let _ = tail::remove(&self.file, begin);
                Err(error)
            }
        }
    }

    fn fill_tail(&mut self, store: &Store, begin: u64) -> io::Result<u64> {
        let changes = std::mem::take(&mut self.changes);
        let written = self.fill_tail_with(store, begin, &changes);
        self.changes = changes;
        written
    }

    fn fill_tail_with(&mut self, store: &Store, begin: u64, changes: &Changes) -> io::Result<u64> {
        tail::remove(&self.file, begin)?;
        let file = self.file.try_clone()?;
        let mut writer = tail::Writer::new(&file, begin, self.layout.page);
        let mut sectors = BTreeSet::new();
        for number in changes.blocks() {
            let at = self.layout.entry(number);
            self.table[at..at + ENTRY].copy_from_slice(&entry(&store.block_record(number)));
            sectors.insert(at / ALIGN * ALIGN);
            if self.is_erased(store, number) {
                let place = self.layout.block(number);
                writer.add_hole(place.start, place.end - place.start)?;
            }
        }
        for sector in sectors {
            writer.add(self.layout.table() + sector as u64, &self.table[sector..sector + ALIGN])?;
        }
        for (number, page) in changes.pages() {
            // They take effect together, so that it does not matter which planes were programmed together.
            if let Some((range, place)) = self.encode_page(store, (number, page), self.layout.own_plane(number)) {
                writer.add(place, &self.page[range])?;
            } else if !(changes.has_block(number) && self.is_erased(store, number)) {
                writer.add(self.layout.spare(number, page), &[0; ALIGN])?;
            }
        }
        writer.complete()
    }

    /// Makes the changes of the tail in place, if there is one.
    fn apply_tail(&mut self) -> io::Result<()> {
        let Some(records) = self.tail else { return Ok(()) };
        tail::apply(&self.file, self.layout.bytes(), records, self.layout.page)?;
        self.tail = None;
        Ok(())
    }

    fn is_erased(&self, store: &Store, number: usize) -> bool {
        (0..self.layout.pages).all(|page| store.page_record(number, page).is_none())
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

    /// Makes everything written durable.
    fn sync(&mut self) -> io::Result<()> {
        if self.is_dirty {
            self.file.sync_data()?;
            self.is_dirty = false;
        }
        self.changes.clear();
        Ok(())
    }

    fn write_page(&mut self, store: &Store, (number, page): (usize, u32), planes: u32) -> io::Result<()> {
        let Some((range, place)) = self.encode_page(store, (number, page), planes) else { return Ok(()) };
        self.is_dirty = true;
        self.file.write_all_at(&self.page[range], place)
    }

    /// Encodes a page, if it is programmed. Returns its range in `self.page`, and its place in the file.
    fn encode_page(&mut self, store: &Store, (number, page): (usize, u32), planes: u32) -> Option<(Range<usize>, u64)> {
        let content = store.page_record(number, page)?;
        let epoch = store.block_record(number).erases;
        self.spare.clear();
        record::encode(&content, (number, page), (epoch, planes), &mut self.spare);
        let spare = self.spare.len().next_multiple_of(ALIGN);
        let payload = self.layout.payload;
        self.page[..content.payload.len()].copy_from_slice(content.payload);
        self.page[payload..payload + self.spare.len()].copy_from_slice(&self.spare);
        self.page[payload + self.spare.len()..payload + spare].fill(0);
        // A torn page has no payload.
        let from = if content.torn { payload } else { 0 };
        Some((from..payload + spare, self.layout.page(number, page) + from as u64))
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
            self.changes.add_page(number, page);
            if store.page_record(number, page).is_some() {
                self.attempt(|file| file.write_page(store, (number, page), file.layout.own_plane(number)));
            } else {
                self.attempt(|file| file.write_sector(&[0; ALIGN], file.layout.spare(number, page)));
            }
        }
    }

    fn write_all(&mut self, store: &Store) {
        self.write_table(store);
        for number in 0..self.layout.blocks {
            self.changes.add_block(number);
            for page in 0..self.layout.pages {
                if store.page_record(number, page).is_none() {
                    continue;
                }
                self.changes.add_page(number, page);
                // The file is not in use yet, so that it does not matter which planes were programmed together.
                self.attempt(|file| file.write_page(store, (number, page), file.layout.own_plane(number)));
            }
        }
    }

    /// Writes counters and makes everything durable, at the orderly end of a server.
    pub(crate) fn close(&mut self, store: &Store, oldest: u64) {
        self.catch_up(store);
        self.write_table(store);
        self.barrier(store, oldest);
    }
}

impl Mirror for FlashFile {
    fn page(&mut self, store: &Store, page: PageAddr) {
        for plane in page.planes.iter() {
            let number = store.number_of(page, plane);
            self.changes.add_page(number, page.page);
            self.attempt(|file| file.write_page(store, (number, page.page), u32::from(page.planes.0)));
        }
    }

    fn block(&mut self, store: &Store, block: BlockAddr) {
        // What the block held was moved before its erase, and those programs must not be lost after it.
        self.attempt(FlashFile::sync);
        let at = PageAddr { die: block.die, planes: block.planes, block: block.block, page: 0 };
        let numbers: Vec<usize> = block.planes.iter().map(|plane| store.number_of(at, plane)).collect();
        numbers.iter().for_each(|number| self.changes.add_block(*number));
        self.attempt(|file| file.write_blocks(store, &numbers));
        for number in numbers {
            if self.failure.is_none() && self.is_erased(store, number) {
                let place = self.layout.block(number);
                // Not every file system supports holes. The pages' epoch has passed in any case.
                let _ = direct::punch(&self.file, place.start, place.end - place.start);
            }
        }
    }

    fn all(&mut self, store: &Store) {
        self.write_all(store);
    }

    fn follow(&mut self, store: &Store) -> Status {
        self.catch_up(store);
        self.status()
    }

    fn barrier(&mut self, store: &Store, oldest: u64) -> Status {
        self.catch_up(store);
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
        self.status()
    }
}
