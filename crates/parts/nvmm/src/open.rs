//! A new memory, and one that was there before: its state comes from flash alone.

use media::{Geometry, PageAddr};

use crate::Nvmm;
use crate::codec::Reader;
use crate::config::{ANCHORS, Config, ConfigError};
use crate::entry::Entry;
use crate::format::{Header, PageKind, Small};
use crate::layout::Layout;
use crate::prefilled::Prefilled;
use crate::table::{Data, Fault, NOWHERE, OWNER};

/// Flash as it is found when a memory is made or opened.
pub trait Medium {
    /// Its shape.
    fn geometry(&self) -> &Geometry;
    /// Whether a block is marked bad.
    fn is_bad(&self, block: media::BlockAddr) -> bool;
    /// Puts what a flash page holds that the controller wrote for itself ([`crate::Content::Own`]) into `into`; false if
    /// it cannot be read or holds none. What was torn must not be taken for whole: that is for the medium to know, by its
    /// error correction or a checksum.
    fn read(&self, page: PageAddr, into: &mut Vec<u8>) -> bool;
}

/// Why a memory cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The configuration cannot work.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The medium has another shape than the configuration says.
    #[error("the medium is {found:?}, expected {expected:?}")]
    Geometry {
        /// The medium's.
        found: Box<Geometry>,
        /// The configuration's.
        expected: Box<Geometry>,
    },
    /// No root: it was never a memory.
    #[error("no root is found: this is not a memory, or none that was ever made whole")]
    NoRoot,
    /// Made with another geometry, another number of pages, versions, tokens, segments.
    #[error(
        "the memory was made with other sizes than it is opened with: word {word} of its root is {found}, expected {expected}"
    )]
    Sizes {
        /// Which of them, in the order of the root.
        word: usize,
        /// As it was made.
        found: u32,
        /// As it is opened.
        expected: u32,
    },
    /// A part of the directory or the table cannot be read.
    #[error("{what} cannot be read: flash page {flash_page}")]
    Unreadable {
        /// What.
        what: &'static str,
        /// Which flash page.
        flash_page: u64,
    },
}

/// What opening took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Flash pages read.
    pub pages_read: u64,
    /// Groups of the journal that counted.
    pub groups: u64,
    /// Pages with versions newer than the last sync, which were taken back.
    pub taken_back: u64,
}

impl Nvmm {
    /// A new, empty memory. Whatever was on the medium is given up.
    ///
    /// # Errors
    /// A configuration that cannot work, or is not the medium's.
    pub fn format(config: Config, medium: &impl Medium) -> Result<Nvmm, OpenError> {
        let mut nvmm = Nvmm::empty(config, medium)?;
        // Older roots must not win.
        if let Some((root, block, ..)) = find_root(&nvmm.layout, medium, &mut OpenReport::default()) {
            (nvmm.anchors.root, nvmm.anchors.newest) = (root.root, Some(block));
        }
        nvmm.table.changed.clear();
        nvmm.want_open = true;
        Ok(nvmm)
    }

    /// A new memory all of whose pages hold something that was written segment after segment, by application 1, and is
    /// everybody's: what a simulation begins with. It must not be opened again: flash does not say where all that lies.
    ///
    /// # Errors
    /// As [`format`](Self::format); if there is no room for that much, or entries for versions are too few.
    pub fn format_full(config: Config, medium: &impl Medium) -> Result<Nvmm, OpenError> {
        let mut nvmm = Nvmm::format(config, medium)?;
        let prefilled = Prefilled::new(&nvmm.config, &nvmm.layout);
        let (pages, room) = (prefilled.flash_pages(), nvmm.blocks.capacity());
        if pages > room {
            let text = format!("{pages} flash pages of data, expected at most {room}, which the memory has room for");
            return Err(ConfigError(text).into());
        }
        let (entries, least) =
            (nvmm.config.versions, u64::from(nvmm.config.pages + 4) * u64::from(nvmm.config.segments));
        if u64::from(entries) < least {
            let text = format!("{entries} entries for versions, expected at least {least} where all pages are written");
            return Err(ConfigError(text).into());
        }
        nvmm.blocks.fill(&prefilled);
        nvmm.table.fill(prefilled);
        Ok(nvmm)
    }

    /// Opens a memory that is there. It is as its last completed sync, rollback or drop left it.
    ///
    /// # Errors
    /// If it is none, is another one, or cannot be read.
    pub fn open(config: Config, medium: &impl Medium) -> Result<(Nvmm, OpenReport), OpenError> {
        let mut nvmm = Nvmm::empty(config, medium)?;
        let mut report = OpenReport::default();
        let Some((root, block, body)) = find_root(&nvmm.layout, medium, &mut report) else {
            return Err(OpenError::NoRoot);
        };
        let expected = nvmm.fingerprint();
        let words = |bytes: &[u8]| {
            let word = |b: &[u8]| u32::from_le_bytes(b.try_into().expect("4 bytes"));
            bytes.chunks_exact(4).map(word).collect::<Vec<u32>>()
        };
        for (word, (found, expected)) in words(&body).into_iter().zip(words(&expected)).enumerate() {
            if found != expected {
                return Err(OpenError::Sizes { word, found, expected });
            }
        }
        (nvmm.anchors.root, nvmm.anchors.newest) = (root.root, Some(block));
        nvmm.read_directory(root.link, medium, &mut report)?;
        nvmm.read_journal(root.next, medium, &mut report)?;
        nvmm.committed = (root.root, nvmm.journal.group);
        nvmm.blocks.settle();
        let journal = std::mem::take(&mut nvmm.journal.blocks);
        for block in &journal {
            nvmm.blocks.claim(*block);
        }
        nvmm.journal.blocks = journal;
        let synced = nvmm.epochs.synced;
        let before = nvmm.stats.rolled_back;
        let tokens = nvmm.epochs.clone();
        while let Err(fault) = nvmm.find_newer(synced) {
            nvmm.load_now(fault, medium, &mut report)?;
        }
        nvmm.roll_back(synced).expect("in DRAM");
        // Tokens are at most as new as the last sync or rollback.
        assert_eq!(nvmm.epochs.tokens, tokens.tokens);
        report.taken_back = nvmm.stats.rolled_back - before;
        nvmm.table.changed.clear();
        nvmm.want_open = true;
        nvmm.stale = true;
        Ok((nvmm, report))
    }

    /// Brings all of the table into DRAM, for whoever opens it while another writes: the table's own blocks are not kept for readers.
    /// `anew`: all of it is written once more by the next commit.
    ///
    /// # Errors
    /// If a part cannot be read.
    pub fn bring_all(&mut self, medium: &impl Medium, anew: bool) -> Result<(), OpenError> {
        for chunk in 0..self.table.chunks.len() as u32 {
            if let Data::InFlash = self.table.chunks[chunk as usize].data {
                self.load_now(Fault::Missing(chunk), medium, &mut OpenReport::default())?;
            }
            let chunk = &mut self.table.chunks[chunk as usize];
            chunk.dirty |= anew && matches!(chunk.data, Data::Here(_));
        }
        Ok(())
    }

    /// The newest root on `medium`, which another may be writing to.
    pub fn newest_root(config: Config, medium: &impl Medium) -> Option<u64> {
        find_root(&Layout::new(&config), medium, &mut OpenReport::default()).map(|(root, ..)| root.root)
    }

    /// That all chains with something newer than `epoch` are in DRAM.
    fn find_newer(&mut self, epoch: u32) -> Result<(), Fault> {
        for chunk in 0..self.table.page_chunks() {
            if self.table.chunks[chunk as usize].newest <= epoch {
                continue;
            }
            for page in self.table.pages_of(chunk) {
                if self.table.entry(page)?.time > epoch {
                    self.chain.fetch(page, &self.table)?;
                }
            }
        }
        Ok(())
    }

    fn load_now(&mut self, fault: Fault, medium: &impl Medium, report: &mut OpenReport) -> Result<(), OpenError> {
        let Fault::Missing(chunk) = fault else { panic!("a chunk is broken that was never asked for") };
        let flash_page = self.table.chunks[chunk as usize].home;
        let mut bytes = Vec::new();
        report.pages_read += 1;
        if !medium.read(self.layout.page(flash_page), &mut bytes)
            || bytes.len() != self.config.geometry.page_bytes as usize
        {
            return Err(OpenError::Unreadable { what: "a part of the page table", flash_page });
        }
        self.table.chunks[chunk as usize].data = Data::Here(bytes.into_boxed_slice());
        Ok(())
    }

    fn read_directory(&mut self, first: u64, medium: &impl Medium, report: &mut OpenReport) -> Result<(), OpenError> {
        let (mut bytes, mut body, mut at) = (Vec::new(), Vec::new(), first);
        let unreadable = |flash_page| OpenError::Unreadable { what: "the directory", flash_page };
        while at != NOWHERE {
            report.pages_read += 1;
            if at >= self.layout.flash_page(self.layout.blocks, 0) || !medium.read(self.layout.page(at), &mut bytes) {
                return Err(unreadable(at));
            }
            let (header, piece) =
                Header::parse(&bytes).filter(|(h, _)| h.kind == PageKind::Directory).ok_or(unreadable(at))?;
            body.extend_from_slice(piece);
            self.blocks.gain(self.layout.block_of(at), 1);
            self.directory.push(at);
            at = header.link;
        }
        self.parse_directory(&body).ok_or(unreadable(first))
    }

    fn parse_directory(&mut self, body: &[u8]) -> Option<()> {
        let mut reader = Reader(body);
        let small = Small::read(&mut reader)?;
        self.take_small(small)?;
        for _ in 0..reader.u32()? {
            let number = reader.u32()? as usize;
            let chunk = self.table.chunks.get_mut(number)?;
            (chunk.data, chunk.home) = (Data::InFlash, reader.u64()?);
            (chunk.newest, chunk.used, chunk.temporary) = (reader.u32()?, reader.u32()?, reader.u32()?);
            let block = self.layout.block_of(chunk.home);
            (block < self.layout.blocks).then(|| self.blocks.gain(block, 1))?;
        }
        for _ in 0..reader.u32()? {
            let (block, valid, erases, flags) = (reader.u32()?, reader.u32()?, reader.u32()?, reader.u8()?);
            if block >= self.layout.blocks {
                return None;
            }
            for word in 0..if flags & 2 != 0 { self.layout.pages.div_ceil(64) } else { 0 } {
                for bit in crate::vector::bits(reader.u64()?) {
                    self.blocks.wear_out(block, word * 64 + bit);
                }
            }
            self.blocks.restore(block, erases, flags & 1 != 0);
            self.blocks.gain(block, valid);
        }
        Some(())
    }

    fn take_small(&mut self, small: Small) -> Option<()> {
        let Small { epochs, free, fresh, available, worn, bad } = small;
        self.epochs = epochs;
        (self.table.free, self.table.fresh, self.table.available) = (free, fresh, available);
        for flash in worn {
            let block = self.layout.block_of(flash);
            if block >= self.layout.blocks {
                return None;
            }
            self.blocks.wear_out(block, (flash - self.layout.flash_page(block, 0)) as u32);
        }
        for block in bad {
            if block >= self.layout.blocks {
                return None;
            }
            self.blocks.restore(block, self.blocks.get(block).erases, true);
        }
        Some(())
    }

    /// Applies the groups of the journal that are whole, one after the other.
    fn read_journal(&mut self, first: u32, medium: &impl Medium, report: &mut OpenReport) -> Result<(), OpenError> {
        let (mut block, mut bytes) = (first, Vec::new());
        let mut group: Vec<Option<Vec<u8>>> = Vec::new();
        self.journal.group = 0;
        loop {
            self.journal.blocks.push(block);
            let mut next = None;
            for page in 0..self.layout.pages {
                report.pages_read += 1;
                if !medium.read(self.layout.page(self.layout.flash_page(block, page)), &mut bytes) {
                    continue;
                }
                let Some((header, body)) = Header::parse(&bytes) else { continue };
                if header.kind != PageKind::Journal || header.root != self.anchors.root {
                    continue;
                }
                next = Some(header.next);
                if header.link != self.journal.group + 1 {
                    continue;
                }
                group.resize(header.count as usize, None);
                group[header.number as usize] = Some(body.to_vec());
                if group.iter().all(Option::is_some) {
                    let whole: Vec<u8> = group.drain(..).flatten().flatten().collect();
                    self.journal.group += 1;
                    report.groups += 1;
                    self.apply_group(&whole, medium, report)?;
                }
            }
            match next {
                Some(next) if next < self.layout.first_data && !self.journal.blocks.contains(&next) => block = next,
                _ => return Ok(()),
            }
        }
    }

    fn apply_group(&mut self, bytes: &[u8], medium: &impl Medium, report: &mut OpenReport) -> Result<(), OpenError> {
        let broken = || OpenError::Unreadable { what: "a group of the journal", flash_page: NOWHERE };
        let mut reader = Reader(bytes);
        let small = Small::read(&mut reader).ok_or_else(broken)?;
        while !reader.0.is_empty() {
            let key = reader.u64().ok_or_else(broken)?;
            let chunk = self.table.chunk_of_key(key).ok_or_else(broken)?;
            if let Err(fault) = self.table.ensure(chunk) {
                self.load_now(fault, medium, report)?;
            }
            if key & OWNER != 0 {
                let word = reader.u32().ok_or_else(broken)?;
                if let Some(page) = word.checked_sub(1) {
                    self.table.set_owner(key & !OWNER, page);
                }
            } else {
                let bits = reader.bytes(16).ok_or_else(broken)?;
                let entry = Entry::from_bits(u128::from_le_bytes(bits.try_into().expect("16 bytes")));
                self.table.set(key as u32, entry, &mut self.blocks, &self.layout);
            }
        }
        self.table.changed.clear();
        self.take_small(small).ok_or_else(broken)
    }
}

/// The newest root, its block, and its body.
fn find_root(layout: &Layout, medium: &impl Medium, report: &mut OpenReport) -> Option<(Header, u32, Vec<u8>)> {
    let mut newest: Option<(Header, u32, Vec<u8>)> = None;
    let mut bytes = Vec::new();
    for block in 0..ANCHORS {
        for page in 0..layout.pages {
            report.pages_read += 1;
            if !medium.read(layout.page(layout.flash_page(block, page)), &mut bytes) {
                continue;
            }
            if let Some((header, body)) = Header::parse(&bytes)
                && header.kind == PageKind::Root
                && newest.as_ref().is_none_or(|(best, ..)| header.root > best.root)
            {
                newest = Some((header, block, body.to_vec()));
            }
        }
    }
    newest
}
