//! Fetches: pages on their way from flash to their frames, and the requests that wait for them.

use super::directory::Victim;
use super::evict::Phase;
use super::messages::{LINES, PAGES};
use super::prefetch::Seen;
use super::waiting::{Line, List, WaitingKind};
use super::{Decision, DramRequest, Hybrid, InjectedFault, Move, Port, Purpose};
use media::line::{LINE, LineKind};

/// The state of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FetchState {
    Idle,
    /// The page is being read from flash.
    FromFlash,
    /// The page is in a write-back's buffer, or being read into it.
    FromWriteBack(u32),
    /// The page is in the fetch's buffer; its frame is still being read out.
    Blocked,
    /// The page is being stored in its frame.
    Storing,
}

/// A fetch (a miss status holding register with a page's buffer).
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetch {
    pub page: u64,
    pub frame: u64,
    pub state: FetchState,
    /// Lines were written back into the page, so it is dirty.
    dirty: bool,
    /// A clean waits for the page, which was dirty when it began.
    cleans: bool,
    /// A prefetch that no request has joined yet.
    prefetch: bool,
    /// Waiting requests.
    list: List,
    /// Lines written back while the page was being stored.
    late: List,
}

impl Fetch {
    pub const IDLE: Fetch = Fetch {
        page: 0,
        frame: 0,
        state: FetchState::Idle,
        dirty: false,
        cleans: false,
        prefetch: false,
        list: List::EMPTY,
        late: List::EMPTY,
    };
}

impl Hybrid {
    /// Handles a request whose page is neither present nor on its way: fetches it, if a fetch and a frame are free. Its
    /// set has `used` ways in use.
    pub(super) fn miss(&mut self, line: Line, used: usize, out: &mut impl Port) {
        let page = self.page_of(line);
        let prefetch = line.kind == WaitingKind::Prefetch;
        let free = !prefetch || self.stalled.is_empty() && (!self.reads_once() || self.directory.has_room(page));
        let number = self.free_fetches.last().copied().filter(|_| free && !self.free_write_backs.is_empty());
        let inserted = number.and_then(|number| self.directory.insert(page, used, number, prefetch));
        let (Some(number), Some((frame, victim))) = (number, inserted) else {
            return self.stall(line);
        };
        self.free_fetches.pop();
        let set = self.directory.set_of(page);
        self.change_tags(set, out);
        self.fetches[number as usize] = Fetch { page, frame, prefetch, ..Fetch::IDLE };
        if prefetch {
            self.stats.prefetches += 1;
        } else {
            self.stats.misses += 1;
        }
        if let Some(Victim { page: leaves, dirty, unused }) = victim {
            self.stats.evictions += 1;
            #[cfg(feature = "injected-faults")]
            if self.injected.strikes(InjectedFault::TagKept) {
                self.directory.keep_tag(page, leaves);
            }
            if unused {
                self.stats.prefetches_unused += 1;
                self.prefetcher.unused();
            }
            if dirty {
                self.stats.dirty_evictions += 1;
                if !self.injected.strikes(InjectedFault::DirtyDropped) {
                    self.write_back(leaves, frame, out);
                }
            }
        }
        self.begin_fetch(number, page, out);
        let cleaned = self.clean_cold(page, out);
        let write = line.kind == WaitingKind::WriteBack;
        self.decide(Decision::Miss { page, write, victim, cleaned });
        if !prefetch {
            self.wait_for(line, number, out);
            self.notify_prefetcher(page, Seen::Missed);
        }
    }

    fn begin_fetch(&mut self, number: u32, page: u64, out: &mut impl Port) {
        match self.find_write_back(page) {
            Some(slot) => {
                self.stats.from_buffers += 1;
                self.fetches[number as usize].state = FetchState::FromWriteBack(slot);
                if matches!(self.write_backs[slot as usize].phase, Phase::Writing) {
                    self.take_from_buffer(number, slot, out);
                }
            }
            None => {
                self.fetches[number as usize].state = FetchState::FromFlash;
                out.fetch(number, page);
            }
        }
    }

    /// Handles the arrival of fetch `number`'s page in the buffer of write-back `slot`.
    pub(super) fn take_from_buffer(&mut self, number: u32, slot: u32, out: &mut impl Port) {
        self.note(Move::BufferToFetch { slot, fetch: number }, out);
        self.arrived(number, out);
    }

    /// Joins a request to the fetch that brings its page.
    pub(super) fn merge(&mut self, line: Line, fetch: u32, out: &mut impl Port) {
        if line.kind == WaitingKind::Prefetch {
            return self.prefetcher.ended();
        }
        let page = self.page_of(line);
        let first = if self.reads_once() {
            let ends = line.kind == WaitingKind::Fill && self.is_last_of_page(line);
            self.directory.touch_coming_once(page, ends)
        } else {
            self.directory.touch_coming(page)
        };
        self.stats.merged += 1;
        self.decide(Decision::Merged { page, write: line.kind == WaitingKind::WriteBack });
        self.wait_for(line, fetch, out);
        if first {
            self.notify_prefetcher(page, Seen::Coming);
        }
    }

    /// Lets a request wait for a fetch.
    fn wait_for(&mut self, line: Line, number: u32, out: &mut impl Port) {
        let merges = line.kind == WaitingKind::Fill && self.injected.strikes(InjectedFault::MergedEarly);
        let fetch = &mut self.fetches[number as usize];
        if fetch.prefetch {
            fetch.prefetch = false;
            self.prefetcher.ended();
        }
        let there = matches!(fetch.state, FetchState::Blocked | FetchState::Storing) || merges;
        match line.kind {
            WaitingKind::WriteBack => {
                // The fetch's buffer takes the line, whether or not the page has arrived.
                fetch.dirty = true;
                let late = fetch.state == FetchState::Storing;
                self.note(Move::LineToFetch { id: line.id, fetch: number, line: self.number_of(line) }, out);
                out.answer(line.id, LineKind::WriteBack);
                if late {
                    self.waiting.append(&mut self.fetches[number as usize].late, line);
                }
            }
            _ if there => self.answer_from(line, number, out),
            _ => self.waiting.append(&mut fetch.list, line),
        }
    }

    /// Answers a request from a fetch's buffer.
    fn answer_from(&mut self, line: Line, number: u32, out: &mut impl Port) {
        self.note(Move::FetchToLine { fetch: number, line: self.number_of(line), id: line.id }, out);
        out.answer(line.id, LineKind::Fill);
    }

    /// Handles the arrival of a page from flash.
    pub(super) fn came(&mut self, number: u32, out: &mut impl Port) {
        assert_eq!(self.fetches[number as usize].state, FetchState::FromFlash, "fetch {number} ends");
        self.arrived(number, out);
    }

    /// The page is in the fetch's buffer: answers the waiting requests first, then stores it.
    fn arrived(&mut self, number: u32, out: &mut impl Port) {
        let mut list = std::mem::replace(&mut self.fetches[number as usize].list, List::EMPTY);
        while let Some(line) = self.waiting.take_first(&mut list) {
            self.answer_from(line, number, out);
        }
        let frame = self.fetches[number as usize].frame;
        if self.is_being_read_out(frame) {
            self.fetches[number as usize].state = FetchState::Blocked;
            self.blocked += 1;
        } else {
            self.store(number, out);
        }
    }

    pub(super) fn store(&mut self, number: u32, out: &mut impl Port) {
        let fetch = &mut self.fetches[number as usize];
        fetch.state = FetchState::Storing;
        let address = fetch.frame << self.page_shift;
        out.dram(DramRequest {
            purpose: Purpose::Store(number),
            port: PAGES,
            write: true,
            address,
            bytes: self.config.page_bytes,
        });
    }

    /// Ends a fetch: its page is in its frame.
    pub(super) fn stored(&mut self, number: u32, out: &mut impl Port) {
        let Fetch { page, frame, dirty, cleans, mut late, prefetch, state, .. } = self.fetches[number as usize];
        assert_eq!(state, FetchState::Storing, "the page of fetch {number} is stored");
        self.note(Move::FetchToFrame { fetch: number, frame }, out);
        self.directory.filled(page, dirty);
        self.decide(Decision::Filled { page });
        if dirty {
            let set = self.directory.set_of(page);
            self.change_tags(set, out);
        }
        while let Some(line) = self.waiting.take_first(&mut late) {
            out.dram(DramRequest {
                purpose: Purpose::LateLine,
                port: LINES,
                write: true,
                address: self.line_address(frame, self.number_of(line)),
                bytes: LINE as u32,
            });
        }
        if prefetch {
            self.prefetcher.ended();
        }
        self.fetches[number as usize].state = FetchState::Idle;
        if cleans {
            self.awaited_fetches -= 1;
            self.to_clean.push(page);
            self.cleaning = Some(self.cleaning.unwrap_or(u32::MAX));
        }
        self.free_fetches.push(number);
        self.freed = self.is_awaited();
    }

    /// Marks the pages on their way that are dirty, so that a clean waits for them. Returns how many were not marked.
    pub(super) fn mark_dirty_fetches(&mut self) -> u32 {
        let mut count = 0;
        for fetch in self.fetches.iter_mut().filter(|each| each.state != FetchState::Idle && each.dirty && !each.cleans)
        {
            (fetch.cleans, count) = (true, count + 1);
        }
        count
    }

    /// Returns a fetch that satisfies `wanted`.
    pub(super) fn fetch_in(&self, wanted: impl Fn(&Fetch) -> bool) -> Option<u32> {
        self.fetches.iter().position(wanted).map(|number| number as u32)
    }
}
