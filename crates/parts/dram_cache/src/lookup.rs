//! Lookup of a line's page: fetches under way, the tag buffer, tags in DRAM, and then a hit or a miss.

use media::line::LINE;

use super::directory::{Found, Touched};
use super::messages::{LINES, TAGS};
use super::prefetch::Seen;
use super::tags::Tags;
use super::waiting::{Line, List, WaitingKind};
use super::{Decision, DramRequest, Hybrid, Move, Port, Purpose};

impl Hybrid {
    /// Begins or retries a request.
    pub(super) fn look_up(&mut self, line: Line, out: &mut impl Port) {
        let page = self.page_of(line);
        let found = self.directory.find(page);
        // The registers of fetches need no tags, so they are searched first.
        if let Found::Coming(fetch) = found {
            return self.merge(line, fetch, out);
        }
        let set = self.directory.set_of(page);
        match self.tags.find(set) {
            Tags::Here => {
                self.stats.tag_hits += 1;
                self.with_tags(line, found, out);
            }
            Tags::Coming(read) => {
                self.stats.tag_misses += 1;
                self.waiting.append(&mut self.tag_reads[read as usize].1, line);
            }
            Tags::Away => self.read_tags(line, set, out),
        }
    }

    fn read_tags(&mut self, line: Line, set: u32, out: &mut impl Port) {
        let Some(read) = self.free_tag_reads.pop() else { return self.stall_for_tags(line) };
        let Some(leaves) = self.tags.begin(set, read) else {
            self.free_tag_reads.push(read);
            return self.stall_for_tags(line);
        };
        self.stats.tag_misses += 1;
        if let Some(leaves) = leaves {
            self.write_tags(leaves, out);
        }
        self.tag_reads[read as usize] = (set, List::EMPTY);
        self.waiting.append(&mut self.tag_reads[read as usize].1, line);
        out.dram(DramRequest {
            purpose: Purpose::Tags(read),
            port: TAGS,
            write: false,
            address: self.tag_address(set),
            bytes: self.tag_bytes,
        });
    }

    /// Returns the address of a set's tags.
    fn tag_address(&self, set: u32) -> u64 {
        self.tags_at + u64::from(set) * u64::from(self.tag_bytes)
    }

    pub(super) fn write_tags(&mut self, set: u32, out: &mut impl Port) {
        self.stats.tag_writes += 1;
        out.dram(DramRequest {
            purpose: Purpose::TagsBack,
            port: TAGS,
            write: true,
            address: self.tag_address(set),
            bytes: self.tag_bytes,
        });
    }

    /// A set's tags have arrived: continues the requests that waited for them, in order.
    pub(super) fn tags_read(&mut self, read: u32, out: &mut impl Port) {
        let (set, mut list) = self.tag_reads[read as usize];
        self.tags.end(set);
        while let Some(line) = self.waiting.take_first(&mut list) {
            match self.directory.find(self.page_of(line)) {
                Found::Absent(used) => self.miss(line, used, out),
                found => self.with_tags(line, found, out),
            }
        }
        self.free_tag_reads.push(read);
        self.freed_tags = !self.tagless.is_empty() || self.prefetcher.has_more();
    }

    /// Changes the tags of a set: in the buffer, or in DRAM if they have left it meanwhile.
    pub(super) fn change_tags(&mut self, set: u32, out: &mut impl Port) {
        if !self.tags.change(set) {
            self.write_tags(set, out);
        }
    }

    /// Continues a request whose tags are known.
    pub(super) fn with_tags(&mut self, line: Line, found: Found, out: &mut impl Port) {
        match found {
            Found::Here(at) => self.hit(line, at, out),
            Found::Coming(fetch) => self.merge(line, fetch, out),
            Found::Absent(used) => self.miss(line, used, out),
        }
    }

    fn hit(&mut self, line: Line, at: usize, out: &mut impl Port) {
        let (page, id) = (self.page_of(line), line.id);
        if line.kind == WaitingKind::Prefetch {
            return self.prefetcher.ended();
        }
        let write = line.kind == WaitingKind::WriteBack;
        let Touched { frame, changed, first } = self.touch(line, page, at, write);
        if changed {
            let set = self.directory.set_of(page);
            self.change_tags(set, out);
        }
        self.stats.hits += 1;
        self.decide(Decision::Hit { page, write });
        if first {
            self.notify_prefetcher(page, Seen::There);
        }
        let line = self.number_of(line);
        if self.config.moves {
            let movement =
                if write { Move::LineToFrame { id, frame, line } } else { Move::FrameToLine { frame, line, id } };
            self.note(movement, out);
        }
        self.lines += 1;
        out.dram(DramRequest {
            purpose: if write { Purpose::WriteBack(id) } else { Purpose::Fill(id) },
            port: LINES,
            write,
            address: self.line_address(frame, line),
            bytes: LINE as u32,
        });
    }

    /// Notes the use of a page that is present, and of the room that it makes if it is read once.
    fn touch(&mut self, line: Line, page: u64, at: usize, write: bool) -> Touched {
        if !self.reads_once() {
            return self.directory.touch(page, at, write);
        }
        let ends = !write && self.is_last_of_page(line);
        let (touched, freed) = self.directory.touch_once(page, at, write, ends);
        self.freed |= freed && self.is_awaited();
        touched
    }

    pub(super) fn line_address(&self, frame: u64, line: u32) -> u64 {
        (frame << self.page_shift) + u64::from(line) * LINE
    }

    /// Lets a request that missed wait for a free fetch or frame. It need not look up its tags again.
    pub(super) fn stall(&mut self, line: Line) {
        if !self.put_back(line) {
            self.stats.stalls += 1;
            self.stalled.push_back(line);
        }
    }

    fn stall_for_tags(&mut self, line: Line) {
        if !self.put_back(line) {
            self.stats.tag_stalls += 1;
            self.tagless.push_back(line);
        }
    }

    /// Returns a prefetch to the prefetcher, instead of letting it wait.
    fn put_back(&mut self, line: Line) -> bool {
        let prefetch = line.kind == WaitingKind::Prefetch;
        if prefetch {
            self.prefetcher.put_back(self.page_of(line));
            self.prefetcher.ended();
        }
        prefetch
    }
}
