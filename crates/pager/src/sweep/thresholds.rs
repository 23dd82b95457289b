//! PM-XIP at every threshold of a window in one pass.

use crate::memory::Counts;
use crate::policy::{Promotion, Reading, Test, Window};

/// Lanes a word of a mask.
const WORD: usize = u64::BITS as usize;

/// Times and occurrences are the same at every threshold; so a pass keeps them once, and for each threshold (a *lane*)
/// only what is where. A request that finds its page in SRAM or in a buffer costs a lane nothing: reads in place are
/// counted when the page leaves its buffer, and victims are found by the common times. Only a lane that faults works.
///
/// This is as far as sharing goes: what SRAM holds at one threshold neither contains nor is contained in what it holds
/// at another (a higher threshold moves fewer pages, and so keeps others longer), so there is no stack to read all
/// of them from, as there is for LRU. The same holds for SRAM sizes at one threshold: PM-XIP is no stack algorithm,
/// since what is moved depends on what was found.
struct Lanes {
    frames: usize,
    buffers: usize,
    words: usize,
    pages: Vec<Page>,
    /// Lanes, as bits, that have page `p` in SRAM: words `p * words..`.
    in_sram: Vec<u64>,
    in_buffer: Vec<u64>,
    lanes: Vec<Lane>,
}

#[derive(Clone, Copy)]
struct Page {
    last: u64,
    occurrences: u32,
    requests: u64,
}

struct Lane {
    sram: Vec<u32>,
    /// Pages, and how many requests each had had when it came.
    buffers: Vec<(u32, u64)>,
    counts: Counts,
}

impl Lanes {
    fn promote(&mut self, lane: usize, slot: usize) {
        let state = &mut self.lanes[lane];
        let (word, bit) = (lane / WORD, 1u64 << (lane % WORD));
        if state.sram.len() == self.frames {
            let oldest = (0..state.sram.len()).min_by_key(|&frame| self.pages[state.sram[frame] as usize].last);
            let victim = state.sram.swap_remove(oldest.expect("a full SRAM holds a page"));
            self.in_sram[victim as usize * self.words + word] &= !bit;
        }
        let (page, before) = state.buffers.swap_remove(slot);
        state.counts.buffer_reads += self.pages[page as usize].requests - before;
        state.counts.buffer_to_sram += 1;
        state.sram.push(page);
        self.in_buffer[page as usize * self.words + word] &= !bit;
        self.in_sram[page as usize * self.words + word] |= bit;
    }

    /// Moves the pages of the buffers that exceed the lane's threshold, the least recently requested first.
    fn promote_hot(&mut self, lane: usize) {
        loop {
            let pages = &self.pages;
            let hot = self.lanes[lane].buffers.iter().enumerate();
            let hot = hot.filter(|(_, held)| pages[held.0 as usize].occurrences as usize > lane);
            let Some((slot, _)) = hot.min_by_key(|(_, held)| pages[held.0 as usize].last) else { return };
            self.promote(lane, slot);
        }
    }

    fn fault(&mut self, lane: usize, page: u32, test: Test) {
        if test == Test::BeforeDiscard {
            self.promote_hot(lane);
        }
        let (word, bit) = (lane / WORD, 1u64 << (lane % WORD));
        let state = &mut self.lanes[lane];
        if state.buffers.len() == self.buffers {
            let pages = &self.pages;
            let oldest = (0..self.buffers).min_by_key(|&slot| pages[state.buffers[slot].0 as usize].last);
            let (victim, before) = state.buffers.swap_remove(oldest.expect("there are buffers"));
            state.counts.buffer_reads += pages[victim as usize].requests - before;
            self.in_buffer[victim as usize * self.words + word] &= !bit;
        }
        state.counts.flash_to_buffer += 1;
        state.buffers.push((page, self.pages[page as usize].requests));
        self.in_buffer[page as usize * self.words + word] |= bit;
        // What was tested before the discard is not hot now either, so that this tests the page loaded.
        self.promote_hot(lane);
        // Still there, this request is read in place.
        if let Some(held) = self.lanes[lane].buffers.iter_mut().find(|held| held.0 == page) {
            held.1 -= 1;
        }
    }

    fn request(&mut self, page: u32, again: bool, reading: Reading) {
        let row = page as usize * self.words;
        if reading.promotion == Promotion::OnHit {
            // Lanes below its occurrences that have it in a buffer.
            let lanes = self.pages[page as usize].occurrences as usize;
            for word in 0..lanes.div_ceil(WORD) {
                let below = lanes - word * WORD;
                let mask = if below >= WORD { u64::MAX } else { (1 << below) - 1 };
                let mut hits = self.in_buffer[row + word] & mask;
                while hits != 0 {
                    let lane = word * WORD + hits.trailing_zeros() as usize;
                    hits &= hits - 1;
                    let slot = self.lanes[lane].buffers.iter().position(|held| held.0 == page);
                    self.promote(lane, slot.expect("the mask says that a buffer holds the page"));
                }
            }
        }
        if again {
            return;
        }
        for word in 0..self.words {
            let lanes = self.lanes.len() - word * WORD;
            let all = if lanes >= WORD { u64::MAX } else { (1 << lanes) - 1 };
            let mut faults = all & !(self.in_sram[row + word] | self.in_buffer[row + word]);
            while faults != 0 {
                let lane = word * WORD + faults.trailing_zeros() as usize;
                faults &= faults - 1;
                self.fault(lane, page, reading.test);
            }
        }
    }
}

/// The counts of [`PmXip`](crate::policy::PmXip) on a trace of pages `0..pages` for every threshold from 0 to `window`,
/// at the index of the threshold. At `window` and beyond no page is ever moved.
///
/// # Panics
/// If there is no frame, no buffer or no window.
pub fn thresholds(pages: u32, trace: &[u32], frames: u32, buffers: u32, window: u32, reading: Reading) -> Vec<Counts> {
    assert!(frames > 0 && buffers > 0 && window > 0, "{frames} frames, {buffers} buffers, a window of {window}");
    let lanes = window as usize + 1;
    let words = lanes.div_ceil(WORD);
    let mut state = Lanes {
        frames: frames as usize,
        buffers: buffers as usize,
        words,
        pages: vec![Page { last: 0, occurrences: 0, requests: 0 }; pages as usize],
        in_sram: vec![0; pages as usize * words],
        in_buffer: vec![0; pages as usize * words],
        lanes: (0..lanes)
            .map(|_| Lane {
                sram: Vec::with_capacity(frames as usize),
                buffers: Vec::with_capacity(buffers as usize),
                counts: Counts::default(),
            })
            .collect(),
    };
    let mut last = None;
    for (now, &page) in trace.iter().enumerate() {
        // The trace itself is the window: what leaves it was requested `window` requests ago.
        let slide = |pages: &mut [Page]| {
            pages[page as usize].occurrences += 1;
            if let Some(left) = now.checked_sub(window as usize) {
                pages[trace[left] as usize].occurrences -= 1;
            }
        };
        if reading.window == Window::WithCurrent {
            slide(&mut state.pages);
        }
        state.pages[page as usize].last = now as u64 + 1;
        state.pages[page as usize].requests += 1;
        state.request(page, last == Some(page), reading);
        if reading.window == Window::BeforeCurrent {
            slide(&mut state.pages);
        }
        last = Some(page);
    }
    let pages = &state.pages;
    let counts = state.lanes.into_iter().map(|mut lane| {
        for (page, before) in lane.buffers {
            lane.counts.buffer_reads += pages[page as usize].requests - before;
        }
        lane.counts.sram_reads = trace.len() as u64 - lane.counts.buffer_reads;
        lane.counts
    });
    counts.collect()
}
