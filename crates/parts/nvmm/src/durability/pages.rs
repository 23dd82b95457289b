//! The pages that commits write, and the blocks that are erased for them.

use std::collections::VecDeque;

use media::Status;

use crate::config::ANCHORS;
use crate::durability::codec::Writer;
use crate::durability::format::{HEADER, Header, PageKind, Small};
use crate::durability::progress::{Content, Page};
use crate::space::blocks::Use;
use crate::table::{Data, Fault, NOWHERE};
use crate::{Actions, InjectedFault, Nvmm};

impl Nvmm {
    /// Returns the bytes of body in a page.
    fn body(&self) -> usize {
        self.config.geometry.page_bytes as usize - HEADER
    }

    /// Queues what the commit writes: a journal group or, if the journal has become long, a checkpoint.
    pub(crate) fn queue_commit(&mut self) -> Result<(), Fault> {
        self.durable.worn_since.append(&mut self.blocks.newly_worn);
        self.table.changed.sort_unstable();
        self.table.changed.dedup();
        let mut writer = Writer::default();
        self.small().write(&mut writer);
        let records = self.table.changed.len() * 24 + writer.0.len();
        let pages = records.div_ceil(self.body()) as u32;
        let whole = self.durable.journal.blocks.is_empty()
            || self.durable.journal.used + pages > self.config.management.journal_pages;
        self.durable.commit.whole |= whole;
        if self.durable.commit.whole {
            self.move_mapping()?;
            self.table.changed.clear();
            return Ok(());
        }
        for key in &self.table.changed {
            self.table.record(*key, &mut writer.0);
        }
        self.table.changed.clear();
        self.durable.journal.group += 1;
        let pieces = writer.0.chunks(self.body());
        let count = pieces.len() as u32;
        for (number, piece) in (0..).zip(pieces) {
            let (root, link) = (self.durable.anchors.root, self.durable.journal.group);
            let bytes = piece.len() as u32;
            let header = Header { kind: PageKind::Journal, root, link, next: 0, number, count, bytes };
            let bytes = header.page(piece, self.config.geometry.page_bytes as usize);
            self.durable.commit.queue.push_back(Page { content: Content::Journal, bytes });
        }
        Ok(())
    }

    fn small(&self) -> Small {
        let mut epochs = self.epochs.clone();
        if self.injected.is(InjectedFault::UnsyncedKept) {
            epochs.synced = epochs.now;
        }
        let (free, fresh, available) = self.table.free_entries();
        Small {
            epochs,
            free,
            fresh,
            available,
            worn: self.durable.worn_since.clone(),
            bad: self.durable.newly_bad.clone(),
        }
    }

    /// If few table blocks are free, marks the chunks in the emptiest blocks to be written again.
    fn move_mapping(&mut self) -> Result<(), Fault> {
        let (free, low) = (self.blocks.free_mapping_count(), self.config.mapping_blocks() as usize / 3);
        if free >= low {
            return Ok(());
        }
        let log = self.durable.log.open.map(|(block, _)| block);
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
                // Unreadable chunks stay where they are.
                Err(Fault::Broken) => {}
                Ok(()) => self.table.chunks[*chunk as usize].dirty = true,
            }
        }
        Ok(())
    }

    /// Queues all chunks changed since they were last written.
    pub(crate) fn queue_chunks(&mut self) {
        let queue: VecDeque<Page> = (0u32..)
            .zip(&mut self.table.chunks)
            .filter(|(_, chunk)| chunk.dirty)
            .map(|(number, chunk)| {
                chunk.dirty = false;
                let Data::Here(bytes) = &chunk.data else { panic!("chunk {number} changed and is not in DRAM") };
                Page { content: Content::Chunk(number), bytes: bytes.clone() }
            })
            .collect();
        self.durable.commit.queue = queue;
    }

    /// Queues the directory: the small state, the place of each chunk, and the state of each block. Its pages are
    /// written from the last to the first, and each names the page written before it.
    pub(crate) fn queue_directory(&mut self) {
        let mut writer = Writer::default();
        self.durable.worn_since.clear();
        self.durable.newly_bad.clear();
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
            let root = self.durable.anchors.root + 1;
            let bytes = piece.len() as u32;
            let header = Header { kind: PageKind::Directory, root, link: NOWHERE, next: 0, number: 0, count: 0, bytes };
            let bytes = header.page(piece, self.config.geometry.page_bytes as usize);
            self.durable.commit.queue.push_back(Page { content: Content::Directory, bytes });
        }
        self.durable.old_directory = std::mem::take(&mut self.durable.directory);
    }

    pub(crate) fn queue_root(&mut self) {
        let body = self.fingerprint();
        let link = *self.durable.directory.last().expect("a directory was written");
        let root = self.durable.anchors.root + 1;
        let bytes = body.len() as u32;
        let header = Header { kind: PageKind::Root, root, link, next: 0, number: 0, count: 0, bytes };
        let bytes = header.page(&body, self.config.geometry.page_bytes as usize);
        self.durable.commit.queue.push_back(Page { content: Content::Root, bytes });
    }

    /// Returns the sizes that a memory must be created with so that this configuration can open it.
    pub(crate) fn fingerprint(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        let g = &self.config.geometry;
        let shape = [g.channels, g.chips, g.dies, g.planes, g.blocks, g.pages, g.page_bytes];
        let Self { config, .. } = self;
        let sizes = [
            config.segments,
            config.pages,
            config.versions,
            config.time_bits,
            config.mapping_blocks(),
            config.management.tokens,
        ];
        shape.into_iter().chain(sizes).for_each(|word| writer.u32(word));
        writer.0
    }

    /// Fills in the fields that depend on where a page is written.
    pub(crate) fn complete_page(&mut self, page: &mut Page, _flash: u64) {
        let (next, link) = match page.content {
            Content::Chunk(_) => return,
            Content::Directory => (None, Some(self.durable.directory.last().copied().unwrap_or(NOWHERE))),
            Content::Journal => (self.durable.journal.next, None),
            Content::Root => (self.durable.journal.spare, None),
        };
        if let Some(link) = link {
            page.bytes[Header::LINK].copy_from_slice(&link.to_le_bytes());
        }
        if let Some(next) = next {
            page.bytes[Header::NEXT].copy_from_slice(&next.to_le_bytes());
        }
    }

    /// Returns the place of the next page: `NOWHERE` while a block is being erased for it, `None` if no block is left.
    pub(crate) fn position(&mut self, content: Content, out: &mut Actions) -> Option<u64> {
        match content {
            Content::Chunk(_) | Content::Directory => self.log_position(out),
            Content::Journal => self.journal_position(out),
            Content::Root => self.root_position(out),
        }
    }

    /// Returns the next page of `open` that is not worn out; `None` if the block is full.
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
        if self.durable.log.erasing.is_some() {
            return Some(NOWHERE);
        }
        if let Some(mut open) = self.durable.log.open.take() {
            if let Some(flash) = self.next_page(&mut open) {
                self.durable.log.open = Some(open);
                return Some(flash);
            }
            self.blocks.close(open.0);
        }
        let block = self.blocks.open(false)?;
        self.durable.log.erasing = Some(block);
        self.erase_for_commit(block, out);
        Some(NOWHERE)
    }

    /// Makes sure that an erased block is in reserve for the journal.
    pub(crate) fn spare_journal(&mut self, out: &mut Actions) -> Option<bool> {
        if self.durable.journal.spare.is_some() || self.durable.journal.erasing.is_some() {
            return Some(self.durable.journal.spare.is_some());
        }
        let block = self.blocks.open(false)?;
        self.durable.journal.erasing = Some(block);
        self.erase_for_commit(block, out);
        Some(false)
    }

    fn journal_position(&mut self, out: &mut Actions) -> Option<u64> {
        loop {
            if self.durable.journal.next.is_none() {
                if !self.spare_journal(out)? {
                    return Some(NOWHERE);
                }
                self.durable.journal.next = self.durable.journal.spare.take();
            }
            let block = *self.durable.journal.blocks.last().expect("a root was written");
            let mut open = (block, self.durable.journal.page);
            let flash = self.next_page(&mut open);
            self.durable.journal.page = open.1;
            if flash.is_some() {
                return flash;
            }
            self.durable.journal.blocks.extend(self.durable.journal.next.take());
            self.durable.journal.page = 0;
        }
    }

    fn root_position(&mut self, out: &mut Actions) -> Option<u64> {
        if !self.spare_journal(out)? || self.durable.anchors.erasing.is_some() {
            return Some(NOWHERE);
        }
        if let Some(mut open) = self.durable.anchors.open.take()
            && let Some(flash) = self.next_page(&mut open)
        {
            self.durable.anchors.open = Some(open);
            return Some(flash);
        }
        let last = self.durable.anchors.newest.unwrap_or(ANCHORS - 1);
        let usable =
            |block: &u32| self.blocks.get(*block).used != Use::Bad && Some(*block) != self.durable.anchors.newest;
        let block = (1..=ANCHORS).map(|n| (last + n) % ANCHORS).find(usable)?;
        self.durable.anchors.erasing = Some(block);
        self.erase_for_commit(block, out);
        Some(NOWHERE)
    }

    /// Handles the end of an erase for a commit.
    pub(crate) fn prepared(&mut self, block: u32, status: Status, out: &mut Actions) {
        self.wake = true;
        self.blocks.get_mut(block).erases += 1;
        let all_worn = u32::from(self.blocks.get(block).worn) == self.layout.pages;
        let good = status.is_ok() && !all_worn;
        if !good {
            self.blocks.retire(block);
            self.durable.newly_bad.push(block);
            out.actions.push(media::Action::Retire(self.layout.block(block)));
        }
        if self.durable.log.erasing == Some(block) {
            self.durable.log.erasing = None;
            self.durable.log.open = good.then_some((block, 0));
        } else if self.durable.journal.erasing == Some(block) {
            self.durable.journal.erasing = None;
            self.durable.journal.spare = good.then_some(block);
        } else {
            assert_eq!(self.durable.anchors.erasing, Some(block));
            self.durable.anchors.erasing = None;
            self.durable.anchors.open = good.then_some((block, 0));
        }
    }

    /// The new root is durable: releases what only the old one named.
    pub(crate) fn root_written(&mut self) {
        self.durable.anchors.root += 1;
        self.durable.anchors.newest = self.durable.anchors.open.map(|(block, _)| block);
        for flash in std::mem::take(&mut self.durable.old_directory) {
            self.blocks.lose(self.layout.block_of(flash), 1);
        }
        let next = self.durable.journal.next.take();
        for block in std::mem::take(&mut self.durable.journal.blocks).into_iter().chain(next) {
            self.blocks.close(block);
        }
        let first = self.durable.journal.spare.take().expect("the root names it");
        (
            self.durable.journal.blocks,
            self.durable.journal.page,
            self.durable.journal.used,
            self.durable.journal.group,
        ) = (vec![first], 0, 0, 0);
        self.stats.checkpoints += 1;
    }
}
