//! On-demand readahead: which pages of a file are read when one is missing, or when one is read that was marked.
//!
//! After the description in Linux's `mm/readahead.c` (3.x): a window of pages that was read last, of whose end a part was read
//! ahead of need; the first page of that part carries a mark, and reading it reads the next window, which is larger, so that
//! reading never waits.

/// What to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The first page.
    pub start: u64,
    /// How many.
    pub pages: u32,
    /// The page to be marked, if it is within.
    pub mark: u64,
}

/// The readahead of an open file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadAhead {
    start: u64,
    size: u32,
    ahead: u32,
    /// The page after the last that was read.
    next: u64,
}

impl ReadAhead {
    /// A read of `request` pages finds the page `offset` missing, or `marked`. `first` is the file's first page, `most` the
    /// longest window, `initial` that of a single page. `cached` tells of a page whether it is there.
    pub fn on_demand(
        &mut self,
        offset: u64,
        request: u32,
        marked: bool,
        first: u64,
        (initial, most): (u32, u32),
        cached: impl Fn(u64) -> bool,
    ) -> Window {
        let expected = self.start + u64::from(self.size - self.ahead);
        let end = self.start + u64::from(self.size);
        if offset != first && self.size > 0 && (offset == expected || offset == end) {
            self.start = end;
            self.size = self.grown(self.size, most);
            self.ahead = self.size;
        } else if marked {
            // The mark of another's window: what follows that is there already.
            let Some(start) = (offset + 1..offset + 1 + u64::from(most)).find(|page| !cached(*page)) else {
                return Window::default();
            };
            self.size = self.grown((start - offset) as u32 + request, most);
            self.start = start;
            self.ahead = self.size;
        } else if offset == first || request > most || offset == self.next {
            self.start = offset;
            self.size = begun(request, initial, most);
            self.ahead = if self.size > request { self.size - request } else { self.size };
        } else {
            // Alone: it is read as it is.
            return Window { start: offset, pages: request.min(most), mark: u64::MAX };
        }
        if offset == self.start && self.size == self.ahead {
            // The mark would be hit at once.
            self.ahead = self.grown(self.size, most);
            self.size += self.ahead;
        }
        Window { start: self.start, pages: self.size, mark: self.start + u64::from(self.size - self.ahead) }
    }

    /// The pages up to `next` were read.
    pub fn read(&mut self, next: u64) {
        self.next = next;
    }

    fn grown(&self, size: u32, most: u32) -> u32 {
        if size < most / 16 { (4 * size).min(most) } else { (2 * size).min(most) }
    }
}

/// The first window for a read of so many pages.
fn begun(request: u32, initial: u32, most: u32) -> u32 {
    let size = request.next_power_of_two();
    let larger = if size <= most / 32 {
        size * initial
    } else if size <= most / 4 {
        size * 2
    } else {
        most
    };
    larger.min(most)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Reads page by page; returns the windows.
    fn read(pages: impl IntoIterator<Item = u64>, first: u64) -> Vec<(u64, u32)> {
        let (mut there, mut marks, mut windows) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let mut state = ReadAhead::default();
        for page in pages {
            let (missing, marked) = (!there.contains(&page), marks.remove(&page));
            if missing || marked {
                let window = state.on_demand(page, 1, marked && !missing, first, (4, 32), |page| there.contains(&page));
                windows.push((window.start, window.pages));
                there.extend(window.start..window.start + u64::from(window.pages));
                marks.insert(window.mark);
            }
            assert!(there.contains(&page), "page {page} was not read");
            state.read(page + 1);
        }
        windows
    }

    #[test]
    fn a_stream_doubles_its_window_up_to_the_longest() {
        let windows = read(0..140, 0);
        assert_eq!(windows, [(0, 4), (4, 8), (12, 16), (28, 32), (60, 32), (92, 32), (124, 32), (156, 32)]);
    }

    #[test]
    fn a_stream_from_the_middle_is_found_at_its_second_page() {
        assert_eq!(read(1000..1012, 0)[..3], [(1000, 1), (1001, 4), (1005, 8)]);
    }

    #[test]
    fn random_reads_are_read_as_they_are() {
        let windows = read((0..50).map(|n| 17 + n * 7919 % 10_007 * 3), 0);
        assert!(windows.iter().all(|(_, pages)| *pages == 1), "{windows:?}");
    }

    #[test]
    fn a_long_request_reads_the_longest_window_and_goes_on() {
        let mut state = ReadAhead::default();
        let window = state.on_demand(0, 64, false, 0, (4, 32), |_| false);
        assert_eq!((window.start, window.pages), (0, 64));
        let window = state.on_demand(window.mark, 1, true, 0, (4, 32), |_| false);
        assert_eq!((window.start, window.pages), (64, 32));
    }
}
