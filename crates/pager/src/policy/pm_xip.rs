//! PM-XIP: the page manager that reads some pages in place.

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
    /// The number of its last run of requests.
    last: u64,
    /// How often the window holds it.
    occurrences: u32,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Flash,
    Sram,
    Buffer,
}

/// No request yet.
const EMPTY: u32 = u32::MAX;

/// PM-XIP(w, theta): a faulting page is loaded into a buffer and read there; it moves into SRAM only if it occurs more
/// than `threshold` times among the last `window` requests. Victims go by least recent request, in the buffers and in
/// SRAM alike.
///
/// Joo, Choi, Park, Chung, Chung, Chang: "Demand paging for OneNAND flash execute-in-place", CODES+ISSS 2006, Figure 5.
///
/// *Reasoning:* a page requested often lately is worth the move and a frame; any other is read where it lies. *Cost:*
/// one slot of the window and two counters a request; a promotion walks at most `window` pages of the recency list.
/// *When not to use it:* where SRAM holds, or nearly holds, the working set. Pages that take turns never exceed the
/// threshold, are never moved although frames lie idle, and are loaded again and again: 2 to 23 times the time of LRU.
/// [`RentOrBuy`](crate::policy::RentOrBuy) is the policy without that fault.
#[derive(Clone, Debug)]
pub struct PmXip {
    reading: Reading,
    threshold: u32,
    frames: u32,
    buffers: u32,
    /// Runs of requests so far.
    now: u64,
    /// The page of the request before.
    current: u32,
    pages: Vec<Page>,
    lists: Lists<2>,
    window: Vec<u32>,
    oldest: usize,
}

impl PmXip {
    /// An empty SRAM of `frames` pages, `buffers` empty buffers; `window` in requests, `threshold` in occurrences.
    ///
    /// # Panics
    /// If there is no frame, no buffer, or no window.
    pub fn new(frames: u32, buffers: u32, window: u32, threshold: u32, reading: Reading) -> PmXip {
        assert!(frames > 0 && buffers > 0, "PM-XIP with {frames} frames and {buffers} buffers");
        assert!(window > 0, "PM-XIP without a window");
        PmXip {
            reading,
            threshold,
            frames,
            buffers,
            now: 0,
            current: EMPTY,
            pages: Vec::new(),
            lists: Lists::new(),
            window: vec![EMPTY; window as usize],
            oldest: 0,
        }
    }

    /// The page's request enters the window; returns the page whose request left it.
    #[inline]
    fn slide(&mut self, page: u32) -> u32 {
        let left = std::mem::replace(&mut self.window[self.oldest], page);
        self.oldest += 1;
        if self.oldest == self.window.len() {
            self.oldest = 0;
        }
        left
    }

    /// Counts a request for `entered` in, and one for `left` out.
    #[inline]
    fn recount(&mut self, entered: u32, left: u32) {
        if left != entered {
            self.pages[entered as usize].occurrences += 1;
            if left != EMPTY {
                self.pages[left as usize].occurrences -= 1;
            }
        }
    }

    #[inline]
    fn is_hot(&self, page: u32) -> bool {
        self.pages[page as usize].occurrences > self.threshold
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
    fn promote_hot<M: Memory>(&mut self, memory: &mut M) {
        let mut next = self.lists.back(BUFFERS);
        while let Some(page) = next {
            next = self.lists.before(page);
            if self.is_hot(page) {
                self.promote(page, memory);
            }
        }
    }

    #[inline]
    fn hit_in_buffer<M: Memory>(&mut self, page: u32, left: u32, memory: &mut M) {
        memory.read_buffer(page);
        if self.reading.promotion == Promotion::OnHit {
            // The window without this request holds the page once less, unless the one that left was for it too.
            let more = u32::from(self.reading.window == Window::BeforeCurrent && left != page);
            if self.pages[page as usize].occurrences - more > self.threshold {
                self.promote(page, memory);
            }
        }
    }

    /// Serves the first request of a run for `page`. Times are those of runs: their order is that of last requests.
    fn visit<M: Memory>(&mut self, page: u32, left: u32, memory: &mut M) {
        self.current = page;
        self.now += 1;
        let state = &mut self.pages[page as usize];
        state.last = self.now;
        match state.place {
            Place::Sram => {
                self.lists.move_to_front(SRAM, page);
                memory.read_sram(page);
            }
            Place::Buffer => {
                self.lists.move_to_front(BUFFERS, page);
                self.hit_in_buffer(page, left, memory);
            }
            Place::Flash => self.fault(page, left, memory),
        }
    }

    fn fault<M: Memory>(&mut self, page: u32, left: u32, memory: &mut M) {
        // The window as it was before this request, for as long as it is looked at.
        let before = self.reading.window == Window::BeforeCurrent;
        if before && left != EMPTY {
            self.recount(left, page);
        } else if before {
            self.pages[page as usize].occurrences -= 1;
        }
        if self.reading.test == Test::BeforeDiscard {
            self.promote_hot(memory);
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
            Test::AfterDiscard => self.promote_hot(memory),
            Test::BeforeDiscard if self.is_hot(page) => self.promote(page, memory),
            Test::BeforeDiscard => {}
        }
        if before {
            self.recount(page, left);
        }
        match self.pages[page as usize].place {
            Place::Sram => memory.read_sram(page),
            _ => memory.read_buffer(page),
        }
    }
}

impl Policy for PmXip {
    type Request = u32;

    fn grow(&mut self, pages: u32) {
        self.lists.grow(pages);
        let unseen = Page { last: 0, occurrences: 0, place: Place::Flash };
        self.pages.resize(self.pages.len().max(pages as usize), unseen);
    }

    #[inline]
    fn request<M: Memory>(&mut self, page: u32, memory: &mut M) {
        let left = self.slide(page);
        self.recount(page, left);
        if page != self.current {
            self.visit(page, left, memory);
        } else if self.pages[page as usize].place == Place::Sram {
            memory.read_sram(page);
        } else {
            self.hit_in_buffer(page, left, memory);
        }
    }
}
