//! The most recent requests as runs for one page, with the number of occurrences of each page.

/// A completed run of consecutive requests for one page.
#[derive(Clone, Copy, Debug)]
struct Run {
    page: u32,
    length: u32,
}

/// The completed runs that overlap the last `window` requests, and the number of occurrences of each page in them.
/// Requests are numbered from 0. A run takes constant time regardless of its length; only [`History::grow`] allocates.
#[derive(Clone, Debug)]
pub(crate) struct History {
    window: u32,
    occurrences: Vec<u32>,
    /// Ring buffer with room for `window` runs of one request each; its length is a power of two.
    runs: Box<[Run]>,
    /// Total numbers of forgotten and of completed runs; their difference is the number of stored runs.
    forgotten: usize,
    ended: usize,
    /// Start of the oldest stored run, or of the current run if none is stored.
    begin: u64,
}

impl History {
    /// Creates an empty history for no pages.
    pub(crate) fn new(window: u32) -> History {
        let slots = (window as usize).next_power_of_two();
        History {
            window,
            occurrences: Vec::new(),
            runs: vec![Run { page: 0, length: 0 }; slots].into(),
            forgotten: 0,
            ended: 0,
            begin: 0,
        }
    }

    /// Makes room for pages `0..pages`.
    pub(crate) fn grow(&mut self, pages: u32) {
        self.occurrences.resize(self.occurrences.len().max(pages as usize), 0);
    }

    /// Returns the start of a window that ends before request `end`.
    pub(crate) fn from(&self, end: u64) -> u64 {
        end.saturating_sub(u64::from(self.window))
    }

    fn oldest(&self) -> Run {
        self.runs[self.forgotten & (self.runs.len() - 1)]
    }

    /// Forgets the runs that ended before request `from`.
    pub(crate) fn forget(&mut self, from: u64) {
        while self.forgotten != self.ended {
            let run = self.oldest();
            let end = self.begin + u64::from(run.length);
            if end > from {
                break;
            }
            self.occurrences[run.page as usize] -= run.length;
            self.begin = end;
            self.forgotten = self.forgotten.wrapping_add(1);
        }
    }

    /// Records the completed run of requests for `page` from `began` to before `now`, and forgets everything before
    /// `from`.
    pub(crate) fn end_run(&mut self, page: u32, mut began: u64, now: u64, from: u64) {
        self.forget(from);
        // Requests outside every future window are dropped, so that lengths and counts do not overflow.
        if began < from {
            began = from;
            self.begin = from;
        }
        let length = (now - began) as u32;
        self.occurrences[page as usize] += length;
        let last = self.ended & (self.runs.len() - 1);
        self.runs[last] = Run { page, length };
        self.ended = self.ended.wrapping_add(1);
    }

    /// Returns whether `page` occurs more than `threshold` times in completed runs from request `from` on, plus `more`
    /// times. Requires a previous call of [`History::forget`] with `from`.
    pub(crate) fn exceeds(&self, page: u32, from: u64, more: u64, threshold: u64) -> bool {
        let most = u64::from(self.occurrences[page as usize]) + more;
        most > threshold && most - self.before(page, from) > threshold
    }

    /// Returns the number of requests for `page` before `from` in the oldest run.
    fn before(&self, page: u32, from: u64) -> u64 {
        if self.forgotten != self.ended && self.oldest().page == page { from.saturating_sub(self.begin) } else { 0 }
    }
}
