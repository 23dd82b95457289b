//! Where commits write: the journal, the log of chunks and directories, the blocks of the root.

use std::collections::VecDeque;

use media::Status;

use crate::blocks::Use;
use crate::codec::Writer;
use crate::commit::{Content, Page};
use crate::config::ANCHORS;
use crate::format::{HEADER, Header, PageKind, Small};
use crate::table::{Data, Fault, NOWHERE};
use crate::{Actions, InjectedFault, Nvmm};

/// The journal: blocks one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    /// Its blocks since the root, the one being written last.
    pub blocks: Vec<u32>,
    page: u32,
    /// Erased, and named as the next in what is written.
    next: Option<u32>,
    /// Erased.
    spare: Option<u32>,
    erasing: Option<u32>,
    /// The last group.
    pub group: u64,
    /// Pages written since the root.
    pub used: u32,
}

/// The log of chunks and directory pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    open: Option<(u32, u32)>,
    erasing: Option<u32>,
}

/// The blocks that hold roots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anchors {
    /// The number of the newest root.
    pub root: u64,
    /// The block it is in: not to be erased.
    pub newest: Option<u32>,
    open: Option<(u32, u32)>,
    erasing: Option<u32>,
}

impl Nvmm {
    /// Bytes of body that a page has.
    fn body(&self) -> usize {
        self.config.geometry.page_bytes as usize - HEADER
    }

    /// What the commit is to write: a group of the journal, or, if that has become long, everything.
    pub(crate) fn queue_commit(&mut self) -> Result<(), Fault> {
        self.worn_since.append(&mut self.blocks.newly_worn);
        self.table.changed.sort_unstable();
        self.table.changed.dedup();
        let mut writer = Writer::default();
        self.small().write(&mut writer);
        let records = self.table.changed.len() * 24 + writer.0.len();
        let pages = records.div_ceil(self.body()) as u32;
        let whole = self.journal.blocks.is_empty() || self.journal.used + pages > self.config.journal_pages;
        self.commit.whole |= whole;
        if self.commit.whole {
            self.move_mapping()?;
            self.table.changed.clear();
            return Ok(());
        }
        for key in &self.table.changed {
            self.table.record(*key, &mut writer.0);
        }
        self.table.changed.clear();
        self.journal.group += 1;
        let pieces = writer.0.chunks(self.body());
        let count = pieces.len() as u32;
        for (number, piece) in (0..).zip(pieces) {
            let (root, link) = (self.anchors.root, self.journal.group);
            let bytes = piece.len() as u32;
            let header = Header { kind: PageKind::Journal, root, link, next: 0, number, count, bytes };
            let bytes = header.page(piece, self.config.geometry.page_bytes as usize);
            self.commit.queue.push_back(Page { content: Content::Journal, bytes });
        }
        Ok(())
    }

    fn small(&self) -> Small {
        let mut epochs = self.epochs.clone();
        if self.injected == InjectedFault::UnsyncedKept {
            epochs.synced = epochs.now;
        }
        Small {
            epochs,
            free: self.table.free,
            fresh: self.table.fresh,
            available: self.table.available,
            worn: self.worn_since.clone(),
            bad: self.newly_bad.clone(),
        }
    }

    /// Where few blocks are free for the table, chunks are written anew that lie where the least is valid.
    fn move_mapping(&mut self) -> Result<(), Fault> {
        let (free, low) = (self.blocks.free_mapping_count(), self.config.mapping_blocks() as usize / 3);
        if free >= low {
            return Ok(());
        }
        let log = self.log.open.map(|(block, _)| block);
        let mapping = self.layout.first_mapping..self.layout.first_data;
        let mut blocks: Vec<(u32, u32)> = (self.blocks.iter())
            .filter(|(number, block)| mapping.contains(number) && block.used == Use::Closed && Some(*number) != log)
            .filter(|(_, block)| block.valid > 0)
            .map(|(number, block)| (block.valid, number))
            .collect();
        blocks.sort_unstable();
        blocks.truncate(low - free);
        let moves = |home: u64| home != NOWHERE && blocks.iter().any(|(_, b)| *b == self.layout.block_of(home));
        let chunks: Vec<u32> =
            (0u32..).zip(&self.table.chunks).filter(|(_, c)| moves(c.home)).map(|(n, _)| n).collect();
        for chunk in &chunks {
            match self.table.ensure(*chunk) {
                Err(Fault::Missing(chunk)) => return Err(Fault::Missing(chunk)),
                // What cannot be read stays where it is.
                Err(Fault::Broken) => {}
                Ok(()) => self.table.chunks[*chunk as usize].dirty = true,
            }
        }
        Ok(())
    }

    /// All chunks that changed since they were last written.
    pub(crate) fn queue_chunks(&mut self) {
        let queue: VecDeque<Page> = (0u32..)
            .zip(&mut self.table.chunks)
            .filter(|(_, chunk)| chunk.dirty)
            .map(|(number, chunk)| {
                chunk.dirty = false;
                let Data::Here(bytes) = &chunk.data else { panic!("chunk {number} changed where it is not") };
                Page { content: Content::Chunk(number), bytes: bytes.clone() }
            })
            .collect();
        self.commit.queue = queue;
    }

    /// The small state, where each chunk is, what is known of each block: from its end to its beginning, each page leading
    /// to the one written before it.
    pub(crate) fn queue_directory(&mut self) {
        let mut writer = Writer::default();
        self.worn_since.clear();
        self.newly_bad.clear();
        self.small().write(&mut writer);
        let chunks = || (0u32..).zip(&self.table.chunks).filter(|(_, chunk)| chunk.home != NOWHERE);
        writer.u32(chunks().count() as u32);
        for (number, chunk) in chunks() {
            writer.u32(number);
            writer.u64(chunk.home);
            [chunk.newest, chunk.used, chunk.temporary].into_iter().for_each(|word| writer.u32(word));
        }
        let blocks =
            || self.blocks.iter().filter(|(_, b)| b.valid > 0 || b.erases > 0 || b.worn > 0 || b.used == Use::Bad);
        writer.u32(blocks().count() as u32);
        for (number, block) in blocks() {
            writer.u32(number);
            writer.u32(if number >= self.layout.first_data { block.valid } else { 0 });
            writer.u32(block.erases);
            writer.u8(u8::from(block.used == Use::Bad) | u8::from(block.worn > 0) << 1);
            self.blocks.worn(number).unwrap_or(&[]).iter().for_each(|word| writer.u64(*word));
        }
        for piece in writer.0.chunks(self.body()).rev() {
            let root = self.anchors.root + 1;
            let bytes = piece.len() as u32;
            let header = Header { kind: PageKind::Directory, root, link: NOWHERE, next: 0, number: 0, count: 0, bytes };
            let bytes = header.page(piece, self.config.geometry.page_bytes as usize);
            self.commit.queue.push_back(Page { content: Content::Directory, bytes });
        }
        self.old_directory = std::mem::take(&mut self.directory);
    }

    pub(crate) fn queue_root(&mut self) {
        let body = self.fingerprint();
        let link = *self.directory.last().expect("a directory was written");
        let root = self.anchors.root + 1;
        let bytes = body.len() as u32;
        let header = Header { kind: PageKind::Root, root, link, next: 0, number: 0, count: 0, bytes };
        let bytes = header.page(&body, self.config.geometry.page_bytes as usize);
        self.commit.queue.push_back(Page { content: Content::Root, bytes });
    }

    /// What a memory must have been made with to be opened with this configuration.
    pub(crate) fn fingerprint(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        let g = &self.config.geometry;
        let shape = [g.channels, g.chips, g.dies, g.planes, g.blocks, g.pages, g.page_bytes];
        let Self { config, .. } = self;
        let sizes =
            [config.segments, config.pages, config.versions, config.time_bits, config.mapping_blocks(), config.tokens];
        shape.into_iter().chain(sizes).for_each(|word| writer.u32(word));
        writer.0
    }

    /// Fills in what depends on where a page comes to lie.
    pub(crate) fn complete_page(&mut self, page: &mut Page, _flash: u64) {
        let (next, link) = match page.content {
            Content::Chunk(_) => return,
            Content::Directory => (None, Some(self.directory.last().copied().unwrap_or(NOWHERE))),
            Content::Journal => (self.journal.next, None),
            Content::Root => (self.journal.spare, None),
        };
        if let Some(link) = link {
            page.bytes[Header::LINK].copy_from_slice(&link.to_le_bytes());
        }
        if let Some(next) = next {
            page.bytes[Header::NEXT].copy_from_slice(&next.to_le_bytes());
        }
    }

    /// Where the next page goes: `NOWHERE` if a block is being erased for it, none if there is no block.
    pub(crate) fn position(&mut self, content: Content, out: &mut Actions) -> Option<u64> {
        match content {
            Content::Chunk(_) | Content::Directory => self.log_position(out),
            Content::Journal => self.journal_position(out),
            Content::Root => self.root_position(out),
        }
    }

    /// The next page of `open` that is not worn out; none: it is full.
    fn next_page(&self, open: &mut (u32, u32)) -> Option<u64> {
        while open.1 < self.layout.pages {
            open.1 += 1;
            if !self.blocks.is_worn(open.0, open.1 - 1) {
                return Some(self.layout.flash_page(open.0, open.1 - 1));
            }
        }
        None
    }

    fn log_position(&mut self, out: &mut Actions) -> Option<u64> {
        if self.log.erasing.is_some() {
            return Some(NOWHERE);
        }
        if let Some(mut open) = self.log.open.take() {
            if let Some(flash) = self.next_page(&mut open) {
                self.log.open = Some(open);
                return Some(flash);
            }
            self.blocks.close(open.0);
        }
        let block = self.blocks.open(false)?;
        self.log.erasing = Some(block);
        self.erase_for_commit(block, out);
        Some(NOWHERE)
    }

    /// That an erased block is there for the journal to go on in.
    pub(crate) fn spare_journal(&mut self, out: &mut Actions) -> Option<bool> {
        if self.journal.spare.is_some() || self.journal.erasing.is_some() {
            return Some(self.journal.spare.is_some());
        }
        let block = self.blocks.open(false)?;
        self.journal.erasing = Some(block);
        self.erase_for_commit(block, out);
        Some(false)
    }

    fn journal_position(&mut self, out: &mut Actions) -> Option<u64> {
        loop {
            if self.journal.next.is_none() {
                if !self.spare_journal(out)? {
                    return Some(NOWHERE);
                }
                self.journal.next = self.journal.spare.take();
            }
            let block = *self.journal.blocks.last().expect("a root was written");
            let mut open = (block, self.journal.page);
            let flash = self.next_page(&mut open);
            self.journal.page = open.1;
            if flash.is_some() {
                return flash;
            }
            self.journal.blocks.extend(self.journal.next.take());
            self.journal.page = 0;
        }
    }

    fn root_position(&mut self, out: &mut Actions) -> Option<u64> {
        if !self.spare_journal(out)? || self.anchors.erasing.is_some() {
            return Some(NOWHERE);
        }
        if let Some(mut open) = self.anchors.open.take()
            && let Some(flash) = self.next_page(&mut open)
        {
            self.anchors.open = Some(open);
            return Some(flash);
        }
        let last = self.anchors.newest.unwrap_or(ANCHORS - 1);
        let usable = |block: &u32| self.blocks.get(*block).used != Use::Bad && Some(*block) != self.anchors.newest;
        let block = (1..=ANCHORS).map(|n| (last + n) % ANCHORS).find(usable)?;
        self.anchors.erasing = Some(block);
        self.erase_for_commit(block, out);
        Some(NOWHERE)
    }

    /// A block was erased for a commit.
    pub(crate) fn prepared(&mut self, block: u32, status: Status, out: &mut Actions) {
        self.wake = true;
        self.blocks.get_mut(block).erases += 1;
        let all_worn = u32::from(self.blocks.get(block).worn) == self.layout.pages;
        let good = status == Status::Ok && !all_worn;
        if !good {
            self.blocks.retire(block);
            self.newly_bad.push(block);
            out.actions.push(media::Action::Retire(self.layout.block(block)));
        }
        if self.log.erasing == Some(block) {
            self.log.erasing = None;
            self.log.open = good.then_some((block, 0));
        } else if self.journal.erasing == Some(block) {
            self.journal.erasing = None;
            self.journal.spare = good.then_some(block);
        } else {
            assert_eq!(self.anchors.erasing, Some(block));
            self.anchors.erasing = None;
            self.anchors.open = good.then_some((block, 0));
        }
    }

    /// The new root is durable: what only the old one led to is needed no more.
    pub(crate) fn root_written(&mut self) {
        self.anchors.root += 1;
        self.anchors.newest = self.anchors.open.map(|(block, _)| block);
        for flash in std::mem::take(&mut self.old_directory) {
            self.blocks.lose(self.layout.block_of(flash), 1);
        }
        let next = self.journal.next.take();
        for block in std::mem::take(&mut self.journal.blocks).into_iter().chain(next) {
            self.blocks.close(block);
        }
        let first = self.journal.spare.take().expect("the root names it");
        (self.journal.blocks, self.journal.page, self.journal.used, self.journal.group) = (vec![first], 0, 0, 0);
        self.stats.checkpoints += 1;
    }
}
