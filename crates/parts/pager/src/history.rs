//! The last requests, as runs of requests for one page, with the occurrences of each page among them.

/// Requests for one page that follow each other, ended by one for another.
#[derive(Clone, Copy, Debug)]
struct Run {
    page: u32,
    length: u32,
}

/// Ended runs of which some request may still be among the last `window`, and how often each page occurs in them.
/// Requests are numbered from 0. A run takes constant time, whatever its length; only [`History::grow`] allocates.
#[derive(Clone, Debug)]
pub(crate) struct History {
    window: u32,
    occurrences: Vec<u32>,
    /// A ring, long enough for runs of one request each; its length is a power of two.
    runs: Box<[Run]>,
    /// Runs that were forgotten, and that ended, ever: their difference are kept.
    forgotten: usize,
    ended: usize,
    /// Where the oldest run that is kept begins, or if there is none the run that goes on.
    begin: u64,
}

impl History {
    /// No run yet, over no pages.
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

    /// Where a window begins that ends before request `end`.
    #[inline]
    pub(crate) fn from(&self, end: u64) -> u64 {
        end.saturating_sub(u64::from(self.window))
    }

    #[inline]
    fn oldest(&self) -> Run {
        self.runs[self.forgotten & (self.runs.len() - 1)]
    }

    /// Forgets the runs that ended before request `from`.
    #[inline]
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

    /// The run of requests for `page` from `began` to before `now` has ended; what lies before `from` is forgotten.
    #[inline]
    pub(crate) fn end_run(&mut self, page: u32, mut began: u64, now: u64, from: u64) {
        self.forget(from);
        // What no window will hold is left out, so that lengths and counts fit.
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

    /// Whether `page` occurs more than `threshold` times in ended runs from request `from` on, before which none ended
    /// ([`History::forget`]), and `more` times beside them.
    #[inline]
    pub(crate) fn exceeds(&self, page: u32, from: u64, more: u64, threshold: u64) -> bool {
        let most = u64::from(self.occurrences[page as usize]) + more;
        most > threshold && most - self.before(page, from) > threshold
    }

    /// Requests for `page` before `from` in the oldest run.
    fn before(&self, page: u32, from: u64) -> u64 {
        if self.forgotten != self.ended && self.oldest().page == page { from.saturating_sub(self.begin) } else { 0 }
    }
}
