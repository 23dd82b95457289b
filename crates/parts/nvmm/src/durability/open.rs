//! Creating a memory, and opening one from the content of flash alone.

use crate::Nvmm;
use crate::config::{ANCHORS, Config, ConfigError};
use crate::durability::codec::Reader;
use crate::durability::format::{Header, PageKind, Small};
use crate::durability::medium::{Medium, OpenError, OpenReport};
use crate::space::layout::Layout;
use crate::table::entry::Entry;
use crate::table::prefilled::Prefilled;
use crate::table::{Data, Fault, NOWHERE, OWNER};

impl Nvmm {
    /// Creates an empty memory. Discards any content of the medium.
    ///
    /// # Errors
    /// An invalid configuration, or one for another medium.
    pub fn format(config: Config, medium: &impl Medium) -> Result<Nvmm, OpenError> {
        let mut nvmm = Nvmm::empty(config, medium)?;
        // Number new roots above any old one on the medium.
        if let Some((root, block, ..)) = find_root(&nvmm.layout, medium, &mut OpenReport::default()) {
            (nvmm.durable.anchors.root, nvmm.durable.anchors.newest) = (root.root, Some(block));
        }
        nvmm.table.changed.clear();
        nvmm.durable.due.open = true;
        Ok(nvmm)
    }

    /// Creates a memory whose pages are all written, segment by segment, by application 1, and accessible to all: the
    /// initial state of simulations. It cannot be opened again, because flash does not record this state.
    ///
    /// # Errors
    /// Like [`format`](Self::format), or if there is too little space, or there are too few version entries.
    pub fn format_full(config: Config, medium: &impl Medium) -> Result<Nvmm, OpenError> {
        let mut nvmm = Nvmm::format(config, medium)?;
        let prefilled = Prefilled::new(&nvmm.config, &nvmm.layout);
        let (pages, room) = (prefilled.flash_pages(), nvmm.blocks.capacity());
        if pages > room {
            let text = format!("{pages} flash pages of data, expected at most {room}, the room of the memory");
            return Err(ConfigError(text).into());
        }
        let (entries, least) =
            (nvmm.config.versions, u64::from(nvmm.config.pages + 4) * u64::from(nvmm.config.segments));
        if u64::from(entries) < least {
            let text = format!(
                "{entries} version entries, expected at least {least} for a memory whose pages are all written"
            );
            return Err(ConfigError(text).into());
        }
        nvmm.blocks.fill(&prefilled);
        nvmm.table.fill(prefilled);
        Ok(nvmm)
    }

    /// Opens an existing memory, in the state of its last completed sync, rollback or drop.
    ///
    /// # Errors
    /// If the medium holds no memory, a different one, or an unreadable one.
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
        (nvmm.durable.anchors.root, nvmm.durable.anchors.newest) = (root.root, Some(block));
        nvmm.read_directory(root.link, medium, &mut report)?;
        nvmm.read_journal(root.next, medium, &mut report)?;
        nvmm.durable.committed = (root.root, nvmm.durable.journal.group);
        nvmm.blocks.settle();
        let journal = std::mem::take(&mut nvmm.durable.journal.blocks);
        for block in &journal {
            nvmm.blocks.claim(*block);
        }
        nvmm.durable.journal.blocks = journal;
        let synced = nvmm.epochs.synced;
        let before = nvmm.stats.rolled_back;
        let tokens = nvmm.epochs.clone();
        while let Err(fault) = nvmm.find_newer(synced) {
            nvmm.load_now(fault, medium, &mut report)?;
        }
        nvmm.roll_back(synced).expect("in DRAM");
        // No token is newer than the last sync or rollback.
        assert_eq!(nvmm.epochs.tokens, tokens.tokens);
        report.taken_back = nvmm.stats.rolled_back - before;
        nvmm.table.changed.clear();
        nvmm.durable.due.open = true;
        nvmm.durable.due.stale = true;
        Ok((nvmm, report))
    }

    /// Loads the whole table into DRAM, for a reader next to a writer: the table's own blocks are not kept for readers.
    /// With `anew`, the next commit writes all of it again.
    ///
    /// # Errors
    /// If a part is unreadable.
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

    /// Returns the number of the newest root on `medium`, which another process may be writing.
    pub fn newest_root(config: Config, medium: &impl Medium) -> Option<u64> {
        find_root(&Layout::new(&config), medium, &mut OpenReport::default()).map(|(root, ..)| root.root)
    }

    /// Checks that all chains with an entry newer than `epoch` are in DRAM.
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
            self.durable.directory.push(at);
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
                for bit in crate::table::vector::bits(reader.u64()?) {
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
        self.table.set_free_entries((free, fresh, available));
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

    /// Applies the complete groups of the journal, in order.
    fn read_journal(&mut self, first: u32, medium: &impl Medium, report: &mut OpenReport) -> Result<(), OpenError> {
        let (mut block, mut bytes) = (first, Vec::new());
        let mut group: Vec<Option<Vec<u8>>> = Vec::new();
        self.durable.journal.group = 0;
        loop {
            self.durable.journal.blocks.push(block);
            let mut next = None;
            for page in 0..self.layout.pages {
                report.pages_read += 1;
                if !medium.read(self.layout.page(self.layout.flash_page(block, page)), &mut bytes) {
                    continue;
                }
                let Some((header, body)) = Header::parse(&bytes) else { continue };
                if header.kind != PageKind::Journal || header.root != self.durable.anchors.root {
                    continue;
                }
                next = Some(header.next);
                if header.link != self.durable.journal.group + 1 {
                    continue;
                }
                group.resize(header.count as usize, None);
                group[header.number as usize] = Some(body.to_vec());
                if group.iter().all(Option::is_some) {
                    let whole: Vec<u8> = group.drain(..).flatten().flatten().collect();
                    self.durable.journal.group += 1;
                    report.groups += 1;
                    self.apply_group(&whole, medium, report)?;
                }
            }
            match next {
                Some(next) if next < self.layout.first_data && !self.durable.journal.blocks.contains(&next) => {
                    block = next
                }
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

/// Returns the newest root, its block, and its body.
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
