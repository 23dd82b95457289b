//! PM-XIP: a page manager that reads some pages in place.

use crate::history::History;
use crate::lists::Lists;
use crate::memory::Memory;
use crate::policy::Policy;
use keys::{Kind, given, section, words};

const FIGURE_5: &str = "xip: consistent with Figure 5, line by line; the text does not specify it";

const SRAM: usize = 0;
const BUFFERS: usize = 1;

words! {
    /// Whether the page history window contains the current request when the threshold is tested.
    Window {
        /// It does not: Figure 5 updates the window last (line 10).
        BeforeCurrent = "before",
        /// It does: with a threshold of 0 every faulting page is moved, which is LRU, as stated in section 5.2 of the
        /// paper.
        WithCurrent = "with",
    }
}

words! {
    /// Point of a fault at which the pages in the buffers are tested.
    Test {
        /// After the victim was discarded and the page loaded: the order of Figure 5.
        AfterDiscard = "after",
        /// Before the victim is discarded, so that it may be promoted; the loaded page is tested separately.
        BeforeDiscard = "first",
    }
}

words! {
    /// Requests at which a page in a buffer may be moved into SRAM.
    Promotion {
        /// At a fault for any page: Figure 5, "no changes are considered during a run of page hits" (4).
        OnFault = "fault",
        /// Also when it is requested and found in its buffer; that request is still served from the buffer.
        OnHit = "hit",
    }
}

words! {
    /// Number of occurrences in the window from which a page is moved.
    Comparison {
        /// More than the threshold: Figure 5, "exceeds", and section 4, "more than a predefined threshold".
        Above = "above",
        /// At least the threshold: the only comparison with which a threshold of 0 is LRU, as section 5.2 states, while
        /// the window is updated last, as Figure 5 does.
        AtLeast = "at-least",
    }
}

section! {
    /// The interpretation of four points that the paper leaves open.
    #[derive(Copy, Eq)]
    Reading {
        "host.paging.history" window: Window = Kind::words(Window::WORDS),
            given("before", FIGURE_5),
            "Whether the window includes the current request when the threshold is tested.",
            when "host.paging.policy" is "pm-xip";
        "host.paging.test" test: Test = Kind::words(Test::WORDS),
            given("after", FIGURE_5),
            "Whether pages are tested after a victim has left its buffer, or before.",
            when "host.paging.policy" is "pm-xip";
        "host.paging.promotion" promotion: Promotion = Kind::words(Promotion::WORDS),
            given("fault", FIGURE_5),
            "Whether a page is moved only at a fault, or also when it is hit in its buffer.",
            when "host.paging.policy" is "pm-xip";
        "host.paging.comparison" comparison: Comparison = Kind::words(Comparison::WORDS),
            given("above", FIGURE_5),
            "Whether a page is moved if it occurs more often than the threshold, or at least as often.",
            when "host.paging.policy" is "pm-xip";
    }
}

impl Reading {
    /// The literal interpretation of Figure 5.
    pub const FIGURE_5: Reading = Reading {
        window: Window::BeforeCurrent,
        test: Test::AfterDiscard,
        promotion: Promotion::OnFault,
        comparison: Comparison::Above,
    };

    /// Returns all sixteen interpretations.
    pub fn all() -> [Reading; 16] {
        std::array::from_fn(|bits| Reading {
            window: if bits & 1 == 0 { Window::BeforeCurrent } else { Window::WithCurrent },
            test: if bits & 2 == 0 { Test::AfterDiscard } else { Test::BeforeDiscard },
            promotion: if bits & 4 == 0 { Promotion::OnFault } else { Promotion::OnHit },
            comparison: if bits & 8 == 0 { Comparison::Above } else { Comparison::AtLeast },
        })
    }

    /// Returns the number by which a page's occurrences are increased before they are tested for exceeding the
    /// threshold: at least `threshold` is more than `threshold - 1`.
    pub(crate) fn bonus(self) -> u32 {
        u32::from(self.comparison == Comparison::AtLeast)
    }
}

#[derive(Clone, Copy, Debug)]
struct Page {
    /// Start of its last run of requests.
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
/// than `threshold` times ([`Comparison`]) among the last `window` requests. Victims are the least recently requested pages, in the
/// buffers as well as in SRAM.
///
/// Joo, Choi, Park, Chung, Chung, Chang: "Demand paging for OneNAND flash execute-in-place", CODES+ISSS 2006, Figure 5.
///
/// *Reasoning:* a page requested often in the recent past is worth the move and a frame; any other is read in place.
/// *Cost:* an addition per request, and a window slot and two counters per run of requests for one page; a promotion
/// walks at most `window` pages of the recency list. *When not to use it:* where SRAM holds, or nearly holds, the
/// working set. Alternating pages never exceed the threshold, are never moved although frames are idle, and are loaded
/// again and again, which takes 2 to 49 times the time of LRU. [`RentOrBuy`](crate::policy::RentOrBuy) avoids this
/// weakness.
#[derive(Clone, Debug)]
pub struct PmXip {
    reading: Reading,
    threshold: u32,
    frames: u32,
    buffers: u32,
    /// Number of requests before the current one.
    now: u64,
    /// The page of the previous request, and the start of its run.
    current: u32,
    began: u64,
    /// Whether that page is in SRAM, where it stays during its run.
    in_sram: bool,
    pages: Vec<Page>,
    lists: Lists<2>,
    /// The page history window.
    history: History,
}

impl PmXip {
    /// Creates an empty SRAM of `frames` pages and `buffers` empty buffers; `window` is in requests, `threshold` in
    /// occurrences.
    ///
    /// # Panics
    /// If `frames`, `buffers` or `window` is zero, or `window` is 2^31 or more.
    pub fn new(frames: u32, buffers: u32, window: u32, threshold: u32, reading: Reading) -> PmXip {
        assert!(
            frames > 0 && buffers > 0,
            "found {frames} frames and {buffers} buffers, expected at least 1 of each for PM-XIP"
        );
        assert!(window > 0 && window < 1 << 31, "found a window of {window}, expected 1 to 2^31 - 1 for PM-XIP");
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

    /// Returns the start and end of the window in which the threshold is tested for the current request.
    fn tested(&self) -> (u64, u64) {
        let end = self.now + u64::from(self.reading.window == Window::WithCurrent);
        (self.history.from(end), end)
    }

    /// Returns whether the window contains `page` more often than the threshold, or at least as often
    /// ([`Comparison`]).
    fn is_hot(&self, page: u32, (from, end): (u64, u64)) -> bool {
        // With a threshold of 0 every page occurs at least as often.
        let Some(exceeded) = self.threshold.checked_sub(self.reading.bonus()) else { return true };
        let current = if page == self.current { end - self.began.max(from) } else { 0 };
        self.history.exceeds(page, from, current, u64::from(exceeded))
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
        // Insert by the time of its last request, which is at most one window ago.
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
    fn promote_hot<M: Memory>(&mut self, tested: (u64, u64), memory: &mut M) {
        let mut next = self.lists.back(BUFFERS);
        while let Some(page) = next {
            next = self.lists.before(page);
            if self.is_hot(page, tested) {
                self.promote(page, memory);
            }
        }
    }

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
