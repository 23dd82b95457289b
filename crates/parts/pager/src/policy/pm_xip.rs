//! PM-XIP: the page manager that reads some pages in place.

use crate::history::History;
use crate::lists::Lists;
use crate::memory::Memory;
use crate::policy::Policy;

const SRAM: usize = 0;
const BUFFERS: usize = 1;

/// Whether the page history window, when the threshold is tested, holds the request that is being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// It does: with a threshold of 0 every faulting page is moved, which is LRU, as the paper's 5.2 says.
    WithCurrent,
    /// It does not: Figure 5 updates it last (line 10).
    BeforeCurrent,
}

/// When the pages in the buffers are tested at a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// After the victim was discarded and the page loaded: the order of Figure 5.
    AfterDiscard,
    /// Before, so that the would-be victim has its chance; the page loaded is tested by itself.
    BeforeDiscard,
}

/// When a page in a buffer may be moved into SRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promotion {
    /// At a fault, of whatever page: Figure 5, "no changes are considered during a run of page hits" (4).
    OnFault,
    /// Also when it is requested and found there; that request is still served from the buffer.
    OnHit,
}

/// How the paper's three open questions are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What the window holds.
    pub window: Window,
    /// When the threshold is tested.
    pub test: Test,
    /// What may promote.
    pub promotion: Promotion,
}

impl Reading {
    /// Figure 5 line by line.
    pub const FIGURE_5: Reading =
        Reading { window: Window::BeforeCurrent, test: Test::AfterDiscard, promotion: Promotion::OnFault };

    /// All eight.
    pub fn all() -> [Reading; 8] {
        std::array::from_fn(|bits| Reading {
            window: if bits & 1 == 0 { Window::BeforeCurrent } else { Window::WithCurrent },
            test: if bits & 2 == 0 { Test::AfterDiscard } else { Test::BeforeDiscard },
            promotion: if bits & 4 == 0 { Promotion::OnFault } else { Promotion::OnHit },
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Page {
    /// Where its last run of requests began.
    last: u64,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Flash,
    Sram,
    Buffer,
}

/// No request yet.
const NONE: u32 = u32::MAX;

/// PM-XIP(w, theta): a faulting page is loaded into a buffer and read there; it moves into SRAM only if it occurs more
/// than `threshold` times among the last `window` requests. Victims go by least recent request, in the buffers and in
/// SRAM alike.
///
/// Joo, Choi, Park, Chung, Chung, Chang: "Demand paging for OneNAND flash execute-in-place", CODES+ISSS 2006, Figure 5.
///
/// *Reasoning:* a page requested often lately is worth the move and a frame; any other is read where it lies. *Cost:*
/// an addition a request, and a slot of the window and two counters a run of requests for one page; a promotion walks at
/// most `window` pages of the recency list. *When not to use it:* where SRAM holds, or nearly holds, the working set.
/// Pages that take turns never exceed the threshold, are never moved although frames lie idle, and are loaded again and
/// again: 2 to 49 times the time of LRU. [`RentOrBuy`](crate::policy::RentOrBuy) is the policy without that fault.
#[derive(Clone, Debug)]
pub struct PmXip {
    reading: Reading,
    threshold: u32,
    frames: u32,
    buffers: u32,
    /// Requests before this one.
    now: u64,
    /// The page of the request before, and where the run of requests for it began.
    current: u32,
    began: u64,
    /// That page is in SRAM, which it does not leave while the run goes on.
    in_sram: bool,
    pages: Vec<Page>,
    lists: Lists<2>,
    /// The page history window.
    history: History,
}

impl PmXip {
    /// An empty SRAM of `frames` pages, `buffers` empty buffers; `window` in requests, `threshold` in occurrences.
    ///
    /// # Panics
    /// If there is no frame, no buffer, no window, or one of 2^31 requests.
    pub fn new(frames: u32, buffers: u32, window: u32, threshold: u32, reading: Reading) -> PmXip {
        assert!(frames > 0 && buffers > 0, "PM-XIP with {frames} frames and {buffers} buffers");
        assert!(window > 0 && window < 1 << 31, "PM-XIP with a window of {window}");
        PmXip {
            reading,
            threshold,
            frames,
            buffers,
            now: 0,
            current: NONE,
            began: 0,
            in_sram: false,
            pages: Vec::new(),
            lists: Lists::new(),
            history: History::new(window),
        }
    }

    /// Where the window begins and ends when the threshold is tested for this request.
    #[inline]
    fn tested(&self) -> (u64, u64) {
        let end = self.now + u64::from(self.reading.window == Window::WithCurrent);
        (self.history.from(end), end)
    }

    /// Whether the window holds `page` more often than the threshold.
    #[inline]
    fn is_hot(&self, page: u32, (from, end): (u64, u64)) -> bool {
        let current = if page == self.current { end - self.began.max(from) } else { 0 };
        self.history.exceeds(page, from, current, u64::from(self.threshold))
    }

    fn promote<M: Memory>(&mut self, page: u32, memory: &mut M) {
        if self.lists.len(SRAM) == self.frames {
            let victim = self.lists.pop_back(SRAM).expect("a full SRAM holds a page");
            self.pages[victim as usize].place = Place::Flash;
            memory.discard_from_sram(victim);
        }
        self.lists.remove(BUFFERS, page);
        memory.move_to_sram(page);
        self.pages[page as usize].place = Place::Sram;
        // By its last request, which lies at most a window back.
        let last = self.pages[page as usize].last;
        let mut front = None;
        let mut next = self.lists.front(SRAM);
        while let Some(other) = next
            && self.pages[other as usize].last > last
        {
            (front, next) = (next, self.lists.behind(other));
        }
        match front {
            Some(front) => self.lists.insert_behind(SRAM, front, page),
            None => self.lists.push_front(SRAM, page),
        }
    }

    /// Tests the pages in the buffers, the least recently requested first.
    #[inline(always)]
    fn promote_hot<M: Memory>(&mut self, tested: (u64, u64), memory: &mut M) {
        let mut next = self.lists.back(BUFFERS);
        while let Some(page) = next {
            next = self.lists.before(page);
            if self.is_hot(page, tested) {
                self.promote(page, memory);
            }
        }
    }

    #[inline]
    fn hit_in_buffer<M: Memory>(&mut self, page: u32, memory: &mut M) {
        memory.read_buffer(page);
        if self.reading.promotion == Promotion::OnHit {
            let tested = self.tested();
            self.history.forget(tested.0);
            if self.is_hot(page, tested) {
                self.promote(page, memory);
                self.in_sram = true;
            }
        }
    }

    /// Serves the first request of a run for `page`.
    fn visit<M: Memory>(&mut self, page: u32, memory: &mut M) {
        let tested = self.tested();
        if self.current != NONE {
            self.history.end_run(self.current, self.began, self.now, tested.0);
        }
        self.current = page;
        self.began = self.now;
        let state = &mut self.pages[page as usize];
        state.last = self.now;
        self.in_sram = state.place == Place::Sram;
        match state.place {
            Place::Sram => {
                self.lists.move_to_front(SRAM, page);
                memory.read_sram(page);
            }
            Place::Buffer => {
                self.lists.move_to_front(BUFFERS, page);
                self.hit_in_buffer(page, memory);
            }
            Place::Flash => self.fault(page, tested, memory),
        }
    }

    fn fault<M: Memory>(&mut self, page: u32, tested: (u64, u64), memory: &mut M) {
        if self.reading.test == Test::BeforeDiscard {
            self.promote_hot(tested, memory);
        }
        if self.lists.len(BUFFERS) == self.buffers {
            let victim = self.lists.pop_back(BUFFERS).expect("full buffers hold a page");
            self.pages[victim as usize].place = Place::Flash;
            memory.discard_from_buffer(victim);
        }
        memory.load(page);
        self.pages[page as usize].place = Place::Buffer;
        self.lists.push_front(BUFFERS, page);
        match self.reading.test {
            Test::AfterDiscard => self.promote_hot(tested, memory),
            Test::BeforeDiscard if self.is_hot(page, tested) => self.promote(page, memory),
            Test::BeforeDiscard => {}
        }
        self.in_sram = self.pages[page as usize].place == Place::Sram;
        if self.in_sram { memory.read_sram(page) } else { memory.read_buffer(page) }
    }
}

impl Policy for PmXip {
    type Request = u32;

    fn grow(&mut self, pages: u32) {
        self.lists.grow(pages);
        self.history.grow(pages);
        let unseen = Page { last: 0, place: Place::Flash };
        self.pages.resize(self.pages.len().max(pages as usize), unseen);
    }

    #[inline]
    fn request<M: Memory>(&mut self, page: u32, memory: &mut M) {
        if page != self.current {
            self.visit(page, memory);
        } else if self.in_sram {
            memory.read_sram(page);
        } else {
            self.hit_in_buffer(page, memory);
        }
        self.now += 1;
    }
}
