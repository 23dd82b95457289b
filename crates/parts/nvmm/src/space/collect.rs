//! Garbage collection: moves the needed data out of a block, page by page, and merges the segments of a page that all
//! kept times see alike from their entries into one (NVMM, "Use of the Bit Vector's Sub-Page Valid Bits").

use media::{Action, Class, ReadOp, Status};

use crate::operations::OperationKind;
use crate::space::blocks::Use;
use crate::table::Fault;
use crate::table::chain::{NEW, Node};
use crate::table::entry::Entry;
use crate::table::vector::Vector;
use crate::{Actions, Move, Nvmm, Policy};

/// The block under collection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collector {
    victim: Option<u32>,
    /// Pages that may have data in it and are still to be moved.
    pages: Vec<u32>,
    /// The page at work.
    page: u32,
    /// The flash page from which each segment of the current page is copied.
    sources: [Option<u64>; 16],
    /// Reads under way.
    reading: u32,
    /// The blocks that these reads use.
    held: Vec<u32>,
    working: bool,
    /// Segments outside the victim that may still be copied, so that collecting it gains more than it costs.
    budget: u32,
    /// A source was unreadable.
    failed: bool,
    /// Collects every block that has anything to gain.
    pub compact: bool,
    /// Copies nothing from outside a block merely to merge versions, while version entries are plentiful.
    pub spares: bool,
    /// Collection is switched off.
    pub still: bool,
    /// Blocks collected.
    pub rounds: u64,
}

impl Collector {
    /// Returns whether no block is under collection, and none is due except for lack of space.
    pub fn is_at_rest(&self) -> bool {
        self.victim.is_none() && !self.working && !self.compact
    }
}

impl Nvmm {
    pub(crate) fn run_collection(&mut self, out: &mut Actions) {
        while self.durable.is_idle() && !self.collector.working && !self.worn_out && !self.collector.still {
            if self.collector.victim.is_none() {
                let low = self.blocks.free_count() <= self.config.management.collect_start as usize;
                if low && self.blocks.has_emptied() {
                    // Readers lose their kept blocks: the writer does not wait for them.
                    self.blocks.revoke();
                    self.durable.request_commit();
                    return;
                }
                let wanted = low || self.collector.compact;
                if !wanted || !self.start_victim(out) {
                    if !self.gather(out) {
                        return;
                    }
                    continue;
                }
            }
            let Some(page) = self.collector.pages.last().copied() else {
                self.end_victim();
                continue;
            };
            match self.collect_page(page, out) {
                Ok(true) => {}
                Ok(false) => {
                    self.collector.pages.pop();
                }
                Err(Fault::Broken) => {
                    // The page's data here is unknown, so it stays, and so does the block.
                    let victim = self.collector.victim.expect("a block under collection");
                    self.blocks.get_mut(victim).stuck = true;
                    self.collector.pages.pop();
                }
                Err(fault @ Fault::Missing(_)) => {
                    self.load_missing(fault, out);
                    return;
                }
            }
        }
    }

    /// Returns whether a commit must wait: the last free block is being written and the victim is not empty yet. If
    /// this state became durable, a memory opened after a power cut would have no block to collect with.
    pub(crate) fn must_not_commit(&self) -> bool {
        self.collector.victim.is_some() && self.blocks.free_count() == 0 && !self.worn_out
    }

    /// Chooses a victim and finds the owners of its pages. Returns false if that is not possible now.
    fn start_victim(&mut self, out: &mut Actions) -> bool {
        let Some(victim) = self.choose_victim() else {
            if std::mem::take(&mut self.collector.compact) && self.blocks.has_emptied() {
                self.durable.request_commit();
                self.wake = true;
            }
            // No block has anything to gain; a sweep may find versions that only dropped tokens needed.
            if self.writes.starved {
                self.sweep_first();
            }
            return false;
        };
        let first = self.layout.flash_page(victim, 0);
        let pages = first..first + u64::from(self.layout.pages);
        if let Err(fault) = self.table.ensure_owners(pages.clone()) {
            self.blocks.get_mut(victim).stuck |= fault == Fault::Broken;
            self.wake |= fault == Fault::Broken;
            self.load_missing(fault, out);
            return false;
        }
        self.collector.pages.clear();
        for flash in pages {
            self.collector.pages.extend(self.table.owner(flash).expect("in DRAM"));
        }
        self.collector.pages.sort_unstable_by(|a, b| b.cmp(a));
        self.collector.pages.dedup();
        let block = self.blocks.get(victim);
        let gain = self.layout.pages.saturating_sub(block.valid + u32::from(block.worn));
        let merges = !self.collector.spares || self.table.available < self.config.versions / 2;
        self.collector.budget = if merges { gain / 2 } else { 0 };
        self.collector.victim = Some(victim);
        self.collector.rounds += 1;
        true
    }

    fn end_victim(&mut self) {
        let victim = self.collector.victim.take().expect("a block under collection");
        let block = self.blocks.get_mut(victim);
        block.longest = 0;
        assert!(
            block.valid == 0 || block.stuck,
            "block {victim} was collected and still has {} valid pages",
            block.valid
        );
        self.wake = true;
    }

    /// Starts to read the data of `page` in the victim. Returns false if there is none (any more).
    fn collect_page(&mut self, page: u32, out: &mut Actions) -> Result<bool, Fault> {
        let victim = self.collector.victim.expect("a block under collection");
        self.chain.fetch(page, &self.table)?;
        let pruned = self.prune();
        let mut classes = [0u32; 64];
        let count = self.chain.nodes.len().min(64);
        classes[..count].copy_from_slice(&self.chain.classes(self.epochs.views())[..count]);
        if pruned {
            self.chain.store(&mut self.table, &mut self.blocks, &self.layout);
            self.wake = true;
        }
        let layout = &self.layout;
        let here = |node: &Node| node.entry.has_data() && layout.block_of(node.entry.mapping) == victim;
        let Some(first) = self.chain.nodes.iter().position(here) else { return Ok(false) };
        // Merging needs more room than it frees at first.
        let merges = self.blocks.free_count() >= 2 && first < 64;
        let of_class = |at: usize| merges && at < 64 && classes[at] == classes[first];
        let elsewhere = (self.chain.nodes.iter().enumerate())
            .filter(|(at, node)| of_class(*at) && node.entry.has_data() && !here(node))
            .map(|(_, node)| node.entry.vector.count())
            .sum::<u32>();
        let affordable = elsewhere <= self.collector.budget;
        if affordable && merges {
            self.collector.budget -= elsewhere;
        }
        let of_class = |at: usize| affordable && of_class(at);
        if self.blocks.get(victim).stuck && self.collector.failed {
            self.collector.failed = false;
            return Ok(false);
        }
        self.copy(page, |at| at == first || of_class(at), out);
        Ok(true)
    }

    /// Starts to copy the segments of `page`, whose chain is fetched, that the `wanted` entries hold.
    pub(crate) fn copy(&mut self, page: u32, wanted: impl Fn(usize) -> bool, out: &mut Actions) {
        let segments = self.config.segments;
        self.collector.page = page;
        self.collector.sources = [None; 16];
        for (at, node) in self.chain.nodes.iter().enumerate() {
            let wanted = node.entry.has_data() && wanted(at);
            for bit in node.entry.vector.iter().filter(|_| wanted) {
                let source = &mut self.collector.sources[(bit % segments) as usize];
                assert_eq!(*source, None, "two versions of one class hold segment {} of page {page}", bit % segments);
                *source = Some(self.layout.reach(node.entry.mapping, bit));
            }
        }
        self.collector.working = true;
        for segment in 0..segments as usize {
            if let Some(flash) = self.collector.sources[segment] {
                self.collector.reading += 1;
                // The source stays in place until the table points to the copy, even if nothing needs it any more:
                // otherwise its flash page could be reused for newer data of the same page.
                let block = self.layout.block_of(flash);
                self.blocks.get_mut(block).readers += 1;
                self.blocks.get_mut(block).writers += 1;
                self.collector.held.push(block);
                let id = self.operations.start(OperationKind::Copy { flash, segment: segment as u8 });
                let (page, bytes) = (self.layout.page(flash), self.config.geometry.page_bytes);
                out.actions.push(Action::Read(ReadOp { id, page, bytes, class: Class::Collection }));
            }
        }
    }

    pub(crate) fn copy_read(&mut self, flash: u64, segment: u8, status: Status, out: &mut Actions) {
        self.wake = true;
        let block = self.layout.block_of(flash);
        self.blocks.get_mut(block).readers -= 1;
        if status.is_ok() {
            out.moves.push(Move::FlashToBuffer { page: self.layout.page(flash), buffer: segment.into() });
        } else {
            // The data stays where it is, and so does its block.
            self.collector.sources[segment as usize] = None;
            self.blocks.get_mut(block).stuck = true;
            self.collector.failed = self.collector.victim.is_some();
        }
        self.collector.reading -= 1;
        if self.collector.reading > 0 {
            return;
        }
        let page = self.collector.page;
        let read = (0u32..).zip(&self.collector.sources).filter(|(_, source)| source.is_some());
        let segments = read.fold(0, |segments, (segment, _)| segments | 1 << segment);
        if segments == 0 {
            self.end_page();
            return;
        }
        self.start_page_write(self.config.tags, page, segments);
    }

    /// Lets the table point to the copies, as far as their sources are still needed.
    pub(crate) fn end_copy(&mut self) -> Result<(), Fault> {
        let number = self.config.tags;
        let page = self.writes.get(number).page();
        self.chain.fetch(page, &self.table)?;
        let parts = self.writes.get(number).parts().len() as u32;
        if parts + self.promises.entries() > self.table.available {
            // With so many parts it needs entries that are promised to writes: leave the block unchanged.
            if let Some(victim) = self.collector.victim {
                self.blocks.get_mut(victim).stuck = true;
                self.collector.failed = true;
            }
            self.end_page();
            return Ok(());
        }
        self.table.ensure_free(parts.min(self.table.available))?;
        let (mut at, mut above, mut moved) = (None, None, 0u32);
        for (i, node) in self.chain.nodes.iter_mut().enumerate().filter(|(_, node)| node.entry.has_data()) {
            for bit in node.entry.vector.iter() {
                let segment = bit % self.config.segments;
                let flash = self.layout.reach(node.entry.mapping, bit);
                if self.collector.sources[segment as usize] == Some(flash) {
                    node.entry.vector.0 &= !(1 << bit);
                    moved |= 1 << segment;
                    at = at.or(Some(i));
                    above = above.or(Some(node.entry));
                }
            }
        }
        if let (Some(at), Some(Entry { time, status, .. })) = (at, above) {
            for part in self.writes.get(number).parts() {
                let vector = Vector(part.vector.0 & Vector::of_segments(moved, self.config.segments).0);
                if vector != Vector::NONE {
                    let entry = Entry { mapping: part.mapping, previous: 0, vector, time, status };
                    self.chain.nodes.insert(at, Node { index: NEW, entry });
                    for bit in vector.iter() {
                        self.table.set_owner(self.layout.reach(part.mapping, bit), page);
                    }
                }
            }
            let emptied = |node: &Node| node.entry.vector == Vector::NONE && !node.entry.status.is_holder();
            self.chain.nodes.retain(|node| !emptied(node));
            if !self.injected.is(crate::InjectedFault::CopyNotRepointed) {
                self.put_back();
            }
        }
        self.end_page();
        Ok(())
    }

    fn end_page(&mut self) {
        self.collector.working = false;
        for block in self.collector.held.drain(..) {
            self.blocks.get_mut(block).writers -= 1;
        }
        self.wake = true;
    }

    /// Returns the closed block that the policy prefers among those with anything to gain.
    fn choose_victim(&self) -> Option<u32> {
        let pages = self.layout.pages;
        let candidates = self.blocks.iter().filter(|(number, block)| {
            *number >= self.layout.first_data
                && block.used == Use::Closed
                && block.writers == 0
                && !block.stuck
                && block.valid > 0
                && block.valid + u32::from(block.worn) < pages
        });
        // With only one free block, copy as little as possible, whatever the policy.
        let policy = if self.blocks.free_count() <= 1 { Policy::Greedy } else { self.config.management.policy };
        let chosen = candidates.min_by_key(|(number, block)| {
            let gain = u64::from(pages - block.valid);
            let score = match policy {
                Policy::LongestChain => (u64::from(block.longest), gain),
                Policy::Greedy => (gain, 0),
                // (1 - u) / 2u x age, in integers scaled by 2^16.
                Policy::CostBenefit => {
                    let age = u64::from(self.blocks.age(*number)) + 1;
                    (((gain * age) << 15) / u64::from(block.valid), gain)
                }
            };
            (std::cmp::Reverse(score), *number)
        });
        chosen.map(|(number, _)| number)
    }
}

#[cfg(test)]
mod tests;
