//! On-demand readahead: selects which pages of a file to read when one is missing or when a marked one is read.
//!
//! Follows the description in Linux's `mm/readahead.c` (3.x): the last window's final part was read ahead of need, and
//! its first page carries a mark. Reading the marked page triggers reading the next, larger window, so that sequential
//! reads never wait.

/// Pages of the longest window. Given: VM_MAX_READAHEAD of 128 KiB in Linux's `mm/readahead.c`.
pub const LONGEST: u32 = 32;
/// Pages of the window of a one-page read at the beginning of a file. Given: get_init_ra_size in the same file, 16 KiB.
const INITIAL: u32 = 4;

/// A range of pages to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// First page.
    pub start: u64,
    /// Number of pages.
    pub pages: u32,
    /// The page to mark, if it is within the range.
    pub mark: u64,
}

/// The readahead state of an open file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadAhead {
    start: u64,
    size: u32,
    ahead: u32,
    /// The page after the last one read.
    next: u64,
}

impl ReadAhead {
    /// Selects the window when a read of `request` pages finds page `offset` missing or `marked`. `first` is the first
    /// page of the file. `cached` tells whether a page is in memory.
    pub fn on_demand(
        &mut self,
        offset: u64,
        request: u32,
        marked: bool,
        first: u64,
        cached: impl Fn(u64) -> bool,
    ) -> Window {
        let expected = self.start + u64::from(self.size - self.ahead);
        let end = self.start + u64::from(self.size);
        if offset != first && self.size > 0 && (offset == expected || offset == end) {
            self.start = end;
            self.size = next_size(self.size);
            self.ahead = self.size;
        } else if marked {
            // The mark belongs to another window; skip the pages that are already cached.
            let Some(start) = (offset + 1..offset + 1 + u64::from(LONGEST)).find(|page| !cached(*page)) else {
                return Window::default();
            };
            self.size = next_size((start - offset) as u32 + request);
            self.start = start;
            self.ahead = self.size;
        } else if offset == first || request > LONGEST || offset == self.next {
            self.start = offset;
            self.size = first_window(request);
            self.ahead = if self.size > request { self.size - request } else { self.size };
        } else {
            // A random read: read only the requested pages.
            return Window { start: offset, pages: request.min(LONGEST), mark: u64::MAX };
        }
        if offset == self.start && self.size == self.ahead {
            // The mark would be hit at once, so add the next window.
            self.ahead = next_size(self.size);
            self.size += self.ahead;
        }
        Window { start: self.start, pages: self.size, mark: self.start + u64::from(self.size - self.ahead) }
    }

    /// Records that the pages up to `next` were read.
    pub fn read(&mut self, next: u64) {
        self.next = next;
    }
}

fn next_size(size: u32) -> u32 {
    let larger = if size < LONGEST / 16 { 4 * size } else { 2 * size };
    larger.min(LONGEST)
}

/// Returns the first window for a read of `request` pages.
fn first_window(request: u32) -> u32 {
    let size = request.next_power_of_two();
    let larger = if size <= LONGEST / 32 {
        size * INITIAL
    } else if size <= LONGEST / 4 {
        size * 2
    } else {
        LONGEST
    };
    larger.min(LONGEST)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Reads pages one by one, and returns the windows.
    fn read(pages: impl IntoIterator<Item = u64>, first: u64) -> Vec<(u64, u32)> {
        let (mut there, mut marks, mut windows) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let mut state = ReadAhead::default();
        for page in pages {
            let (missing, marked) = (!there.contains(&page), marks.remove(&page));
            if missing || marked {
                let window = state.on_demand(page, 1, marked && !missing, first, |page| there.contains(&page));
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
    fn a_sequential_read_doubles_its_window_up_to_the_limit() {
        let windows = read(0..140, 0);
        assert_eq!(windows, [(0, 4), (4, 8), (12, 16), (28, 32), (60, 32), (92, 32), (124, 32), (156, 32)]);
    }

    #[test]
    fn a_sequential_read_from_the_middle_is_detected_at_its_second_page() {
        assert_eq!(read(1000..1012, 0)[..3], [(1000, 1), (1001, 4), (1005, 8)]);
    }

    #[test]
    fn random_reads_read_only_the_requested_pages() {
        let windows = read((0..50).map(|n| 17 + n * 7919 % 10_007 * 3), 0);
        assert!(windows.iter().all(|(_, pages)| *pages == 1), "{windows:?}");
    }

    #[test]
    fn a_long_request_reads_the_longest_window_and_continues() {
        let mut state = ReadAhead::default();
        let window = state.on_demand(0, 64, false, 0, |_| false);
        assert_eq!((window.start, window.pages), (0, 64));
        let window = state.on_demand(window.mark, 1, true, 0, |_| false);
        assert_eq!((window.start, window.pages), (64, 32));
    }
}
