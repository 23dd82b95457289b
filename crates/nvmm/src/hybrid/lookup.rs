//! From a line to its page's frame: what is on its way, the tag buffer, tags in DRAM, a hit or a miss.

use media::line::LINE;

use super::directory::{Found, Touched};
use super::prefetch::Seen;
use super::tags::Tags;
use super::{Action, Actions, Asked, Decision, DramRequest, Hybrid, List, Move, NONE, Purpose};

/// Ports of DRAM.
pub(super) const LINES: u8 = 0;
pub(super) const TAGS: u8 = 1;
pub(super) const PAGES: u8 = 2;

impl Hybrid {
    /// A request begins, or tries again.
    #[inline]
    pub(super) fn look_up(&mut self, node: u32, out: &mut Actions) {
        let page = self.page_of(node);
        let found = self.directory.find(page);
        // The registers of fetches are asked first, and need no tags.
        if let Found::Coming(fetch) = found {
            return self.merge(node, fetch, out);
        }
        let set = self.directory.set_of(page);
        match self.tags.find(set) {
            Tags::Here => {
                self.stats.tag_hits += 1;
                self.with_tags(node, found, out);
            }
            Tags::Coming(read) => {
                self.stats.tag_misses += 1;
                Self::append(&mut self.nodes, &mut self.tag_reads[read as usize].1, node);
            }
            Tags::Away => self.read_tags(node, set, out),
        }
    }

    fn read_tags(&mut self, node: u32, set: u32, out: &mut Actions) {
        let Some(read) = self.free_tag_reads.pop() else { return self.stall_for_tags(node) };
        let Some(leaves) = self.tags.begin(set, read) else {
            self.free_tag_reads.push(read);
            return self.stall_for_tags(node);
        };
        self.stats.tag_misses += 1;
        if let Some(leaves) = leaves {
            self.write_tags(leaves, out);
        }
        self.tag_reads[read as usize] = (set, List::EMPTY);
        Self::append(&mut self.nodes, &mut self.tag_reads[read as usize].1, node);
        out.actions.push(Action::Dram(DramRequest {
            purpose: Purpose::Tags(read),
            port: TAGS,
            write: false,
            address: self.config.tag_address(set),
            bytes: self.config.tag_bytes() as u32,
        }));
    }

    fn write_tags(&mut self, set: u32, out: &mut Actions) {
        self.stats.tag_writes += 1;
        out.actions.push(Action::Dram(DramRequest {
            purpose: Purpose::TagsBack,
            port: TAGS,
            write: true,
            address: self.config.tag_address(set),
            bytes: self.config.tag_bytes() as u32,
        }));
    }

    /// A set's tags are there: who waited for them goes on, in order.
    pub(super) fn tags_read(&mut self, read: u32, out: &mut Actions) {
        let (set, list) = self.tag_reads[read as usize];
        self.tags.end(set);
        let mut node = list.first;
        while node != NONE {
            let next = self.nodes[node as usize].next;
            let found = self.directory.find(self.page_of(node));
            self.with_tags(node, found, out);
            node = next;
        }
        self.free_tag_reads.push(read);
        self.freed_tags = true;
    }

    /// The tags of a set change that may have left the controller meanwhile: then in DRAM.
    pub(super) fn change_tags(&mut self, set: u32, out: &mut Actions) {
        if !self.tags.change(set) {
            self.write_tags(set, out);
        }
    }

    /// The tags of a request's page are known.
    #[inline]
    pub(super) fn with_tags(&mut self, node: u32, found: Found, out: &mut Actions) {
        match found {
            Found::Here(at) => self.hit(node, at, out),
            Found::Coming(fetch) => self.merge(node, fetch, out),
            Found::Absent => self.miss(node, out),
        }
    }

    #[inline]
    fn hit(&mut self, node: u32, at: usize, out: &mut Actions) {
        let (page, kind) = (self.page_of(node), self.nodes[node as usize].kind);
        if kind == Asked::Prefetch {
            return self.end_prefetch(node);
        }
        let write = kind == Asked::WriteBack;
        let Touched { frame, changed, first } = self.directory.touch(page, at, write);
        if changed {
            let set = self.directory.set_of(page);
            self.change_tags(set, out);
        }
        self.stats.hits += 1;
        self.decide(Decision::Hit { page, write });
        if first {
            self.tell_prefetcher(page, Seen::There);
        }
        let (line, id) = (self.line_of(node), self.nodes[node as usize].id);
        if self.config.moves {
            let movement =
                if write { Move::LineToFrame { id, frame, line } } else { Move::FrameToLine { frame, line, id } };
            self.note(movement, out);
        }
        out.actions.push(Action::Dram(DramRequest {
            purpose: Purpose::Line(node),
            port: LINES,
            write,
            address: self.line_address(frame, line),
            bytes: LINE as u32,
        }));
    }

    #[inline]
    pub(super) fn line_address(&self, frame: u64, line: u32) -> u64 {
        (frame << self.config.page_shift()) + u64::from(line) * LINE
    }

    /// No fetch or frame is free for a request that misses. When one is, it need not ask for its tags again.
    pub(super) fn stall(&mut self, node: u32) {
        if !self.put_back(node) {
            self.stats.stalls += 1;
            self.stalled.push_back(node);
        }
    }

    fn stall_for_tags(&mut self, node: u32) {
        if !self.put_back(node) {
            self.stats.tag_stalls += 1;
            self.tagless.push_back(node);
        }
    }

    /// A page that nobody asked for waits elsewhere.
    fn put_back(&mut self, node: u32) -> bool {
        let prefetch = self.nodes[node as usize].kind == Asked::Prefetch;
        if prefetch {
            self.prefetcher.put_back(self.page_of(node));
            self.end_prefetch(node);
        }
        prefetch
    }
}
