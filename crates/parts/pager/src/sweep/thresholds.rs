//! PM-XIP at every threshold of a window in one pass.

use crate::memory::Counts;
use crate::policy::{Promotion, Reading, Test, Window};

/// Groups per word of a mask.
const WORD: usize = u64::BITS as usize;
const NONE: usize = usize::MAX;

/// A range of adjacent thresholds whose memories currently have the same contents. They proceed together until the
/// occurrences of a page fall between them; then the group is split. When two neighbors have the same contents again,
/// they are joined.
#[derive(Clone, Debug)]
struct Group {
    /// Thresholds `from..to`.
    from: usize,
    to: usize,
    sram: Vec<u32>,
    /// Pages in buffers, each with its number of requests when its reads were last counted.
    buffers: Vec<(u32, u64)>,
    /// A hash of the memory contents, for a quick comparison of groups.
    contents: u64,
    /// The groups of the next lower and next higher thresholds.
    lower: usize,
    higher: usize,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    last: u64,
    /// Its occurrences in the window, or one more: the lowest threshold at which the page is not hot.
    occurrences: u32,
    requests: u64,
}

/// A count for each threshold, stored as differences between adjacent thresholds, so that adding to a group changes
/// only its two ends.
struct Tally(Vec<u64>);

impl Tally {
    fn add(&mut self, group: &Group, times: u64) {
        self.0[group.from] = self.0[group.from].wrapping_add(times);
        self.0[group.to] = self.0[group.to].wrapping_sub(times);
    }
}

/// Times and occurrences are the same at every threshold, so a pass stores them once, and the memory contents once per
/// group of thresholds. A request that hits in SRAM or in a buffer costs nothing for a group: reads in place are
/// counted when the page leaves its buffer, and victims are found by the shared times. Only a group that faults does
/// work.
///
/// No further sharing is possible: the SRAM contents at one threshold neither include nor are included in those at
/// another (a higher threshold moves fewer pages, and so keeps others longer), so there is no stack as there is for
/// LRU. The same holds for SRAM sizes at one threshold: PM-XIP is not a stack algorithm, since its moves depend on its
/// hits.
struct Groups {
    frames: usize,
    buffers: usize,
    words: usize,
    pages: Vec<Page>,
    /// Bit mask of the groups that have page `p` in SRAM: words `p * words..`.
    in_sram: Vec<u64>,
    in_buffer: Vec<u64>,
    /// Bit mask of the groups in use; the others are free for the next split.
    live: Vec<u64>,
    free: Vec<usize>,
    groups: Vec<Group>,
    /// Groups changed by the current request.
    changed: Vec<usize>,
    loads: Tally,
    moves: Tally,
    buffer_reads: Tally,
}

/// Returns a page's contribution to the hash of a group's contents: the SplitMix64 finalizer of its number and place.
fn hash(page: u32, place: u64) -> u64 {
    let mut bits = (2 * u64::from(page) + place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Returns the word and the bit of `group` in the masks of `page`.
fn place(words: usize, page: u32, group: usize) -> (usize, u64) {
    (page as usize * words + group / WORD, 1 << (group % WORD))
}

impl Groups {
    fn new(pages: u32, frames: usize, buffers: usize, thresholds: usize, reading: Reading) -> Groups {
        let words = thresholds.div_ceil(WORD);
        let mut live = vec![0; words];
        live[0] = 1;
        let whole = Group {
            from: 0,
            to: thresholds,
            sram: Vec::with_capacity(frames),
            buffers: Vec::with_capacity(buffers),
            contents: 0,
            lower: NONE,
            higher: NONE,
        };
        Groups {
            frames,
            buffers,
            words,
            pages: vec![Page { last: 0, occurrences: reading.bonus(), requests: 0 }; pages as usize],
            in_sram: vec![0; pages as usize * words],
            in_buffer: vec![0; pages as usize * words],
            live,
            free: (1..thresholds).rev().collect(),
            groups: vec![whole; thresholds],
            changed: Vec::new(),
            loads: Tally(vec![0; thresholds + 1]),
            moves: Tally(vec![0; thresholds + 1]),
            buffer_reads: Tally(vec![0; thresholds + 1]),
        }
    }

    fn last(&self, page: u32) -> u64 {
        self.pages[page as usize].last
    }

    fn take_from_sram(&mut self, group: usize, frame: usize) {
        let page = self.groups[group].sram.swap_remove(frame);
        let (word, bit) = place(self.words, page, group);
        self.in_sram[word] &= !bit;
        self.groups[group].contents ^= hash(page, 0);
    }

    /// Removes a page from its buffer and counts its reads there.
    fn take_from_buffer(&mut self, group: usize, slot: usize) -> u32 {
        let (page, before) = self.groups[group].buffers.swap_remove(slot);
        self.buffer_reads.add(&self.groups[group], self.pages[page as usize].requests - before);
        let (word, bit) = place(self.words, page, group);
        self.in_buffer[word] &= !bit;
        self.groups[group].contents ^= hash(page, 1);
        page
    }

    fn promote(&mut self, group: usize, slot: usize) {
        if self.groups[group].sram.len() == self.frames {
            let sram = &self.groups[group].sram;
            let oldest = (0..sram.len()).min_by_key(|&frame| self.last(sram[frame]));
            self.take_from_sram(group, oldest.expect("a full SRAM holds a page"));
        }
        let page = self.take_from_buffer(group, slot);
        self.moves.add(&self.groups[group], 1);
        self.groups[group].sram.push(page);
        self.groups[group].contents ^= hash(page, 0);
        let (word, bit) = place(self.words, page, group);
        self.in_sram[word] |= bit;
    }

    /// Restricts `group` to the thresholds below `at`; the others become a new group, which is returned.
    fn split(&mut self, group: usize, at: usize) -> usize {
        let fresh = self.free.pop().expect("there are no more groups than thresholds");
        let mut upper = self.groups[group].clone();
        (upper.from, upper.lower) = (at, group);
        (self.groups[group].to, self.groups[group].higher) = (at, fresh);
        if upper.higher != NONE {
            self.groups[upper.higher].lower = fresh;
        }
        self.live[fresh / WORD] |= 1 << (fresh % WORD);
        for &page in &upper.sram {
            let (word, bit) = place(self.words, page, fresh);
            self.in_sram[word] |= bit;
        }
        for &(page, _) in &upper.buffers {
            let (word, bit) = place(self.words, page, fresh);
            self.in_buffer[word] |= bit;
        }
        self.groups[fresh] = upper;
        fresh
    }

    /// Joins `group` with the next higher group if both have the same contents.
    fn join(&mut self, group: usize) {
        let higher = self.groups[group].higher;
        if higher == NONE || self.groups[group].contents != self.groups[higher].contents {
            return;
        }
        let (bit, word) = (1u64 << (higher % WORD), higher / WORD);
        let (ours, theirs) = (&self.groups[group], &self.groups[higher]);
        let has = |masks: &[u64], page: u32| masks[page as usize * self.words + word] & bit != 0;
        let same = ours.sram.len() == theirs.sram.len()
            && ours.buffers.len() == theirs.buffers.len()
            && ours.sram.iter().all(|&page| has(&self.in_sram, page))
            && ours.buffers.iter().all(|held| has(&self.in_buffer, held.0));
        if !same {
            return;
        }
        for joined in [group, higher] {
            for slot in 0..self.groups[joined].buffers.len() {
                let (page, before) = self.groups[joined].buffers[slot];
                let requests = self.pages[page as usize].requests;
                self.buffer_reads.add(&self.groups[joined], requests - before);
                self.groups[joined].buffers[slot].1 = requests;
            }
        }
        for frame in (0..self.groups[higher].sram.len()).rev() {
            self.take_from_sram(higher, frame);
        }
        for slot in (0..self.groups[higher].buffers.len()).rev() {
            self.take_from_buffer(higher, slot);
        }
        let (to, next) = (self.groups[higher].to, self.groups[higher].higher);
        (self.groups[group].to, self.groups[group].higher) = (to, next);
        if next != NONE {
            self.groups[next].lower = group;
        }
        self.live[word] &= !bit;
        self.free.push(higher);
    }

    /// Joins the groups changed by the request with their neighbors.
    fn join_changed(&mut self) {
        while let Some(group) = self.changed.pop() {
            if self.live[group / WORD] >> (group % WORD) & 1 == 1 {
                self.join(group);
                let lower = self.groups[group].lower;
                if lower != NONE {
                    self.join(lower);
                }
            }
        }
    }

    /// Moves the buffered pages that exceed the threshold, the least recently requested first. Thresholds that a page
    /// does not exceed are split off and added to `changed`, for the caller to continue with.
    fn promote_hot(&mut self, group: usize) {
        loop {
            let Group { from, to, buffers, .. } = &self.groups[group];
            let occurrences = |page: u32| self.pages[page as usize].occurrences as usize;
            let hot = buffers.iter().enumerate().filter(|(_, held)| occurrences(held.0) > *from);
            let Some((slot, held)) = hot.min_by_key(|(_, held)| self.last(held.0)) else { return };
            let at = occurrences(held.0);
            if at < *to {
                let upper = self.split(group, at);
                self.changed.push(upper);
            }
            self.promote(group, slot);
        }
    }

    /// Calls [`Groups::promote_hot`] for all changed groups, including those split off meanwhile.
    fn promote_hot_of_changed(&mut self) {
        let mut next = 0;
        while next < self.changed.len() {
            self.promote_hot(self.changed[next]);
            next += 1;
        }
    }

    fn fault(&mut self, group: usize, page: u32, test: Test) {
        self.changed.push(group);
        if test == Test::BeforeDiscard {
            self.promote_hot_of_changed();
        }
        for next in 0..self.changed.len() {
            let group = self.changed[next];
            if self.groups[group].buffers.len() == self.buffers {
                let held = &self.groups[group].buffers;
                let oldest = (0..self.buffers).min_by_key(|&slot| self.last(held[slot].0));
                self.take_from_buffer(group, oldest.expect("there are buffers"));
            }
            self.loads.add(&self.groups[group], 1);
            self.groups[group].buffers.push((page, self.pages[page as usize].requests));
            self.groups[group].contents ^= hash(page, 1);
            let (word, bit) = place(self.words, page, group);
            self.in_buffer[word] |= bit;
        }
        // Pages tested before the discard are still not hot, so this tests only the loaded page.
        self.promote_hot_of_changed();
        for next in 0..self.changed.len() {
            // If the page is still in the buffer, this request is read in place.
            let buffers = &mut self.groups[self.changed[next]].buffers;
            if let Some(held) = buffers.iter_mut().find(|held| held.0 == page) {
                held.1 -= 1;
            }
        }
        self.join_changed();
    }

    /// Moves a page found in a buffer into SRAM for the groups whose threshold it exceeds.
    fn promote_on_hit(&mut self, page: u32) {
        let occurrences = self.pages[page as usize].occurrences as usize;
        for word in 0..self.words {
            let mut hits = self.in_buffer[page as usize * self.words + word];
            while hits != 0 {
                let group = word * WORD + hits.trailing_zeros() as usize;
                hits &= hits - 1;
                if self.groups[group].from < occurrences {
                    if occurrences < self.groups[group].to {
                        self.split(group, occurrences);
                    }
                    let slot = self.groups[group].buffers.iter().position(|held| held.0 == page);
                    self.promote(group, slot.expect("the mask says that a buffer holds the page"));
                    self.changed.push(group);
                }
            }
        }
        self.join_changed();
    }

    fn request(&mut self, page: u32, again: bool, reading: Reading) {
        if reading.promotion == Promotion::OnHit {
            self.promote_on_hit(page);
        }
        if again {
            return;
        }
        for word in 0..self.words {
            let row = page as usize * self.words + word;
            let mut faults = self.live[word] & !(self.in_sram[row] | self.in_buffer[row]);
            while faults != 0 {
                let group = word * WORD + faults.trailing_zeros() as usize;
                faults &= faults - 1;
                self.fault(group, page, reading.test);
            }
        }
    }

    /// Returns the counts at each threshold, after `requests`.
    fn counts(mut self, requests: u64) -> Vec<Counts> {
        for group in 0..self.groups.len() {
            if self.live[group / WORD] >> (group % WORD) & 1 == 1 {
                for slot in (0..self.groups[group].buffers.len()).rev() {
                    self.take_from_buffer(group, slot);
                }
            }
        }
        let mut counts = Counts::default();
        let changes = self.loads.0.iter().zip(&self.moves.0).zip(&self.buffer_reads.0);
        let all = changes.map(|((&loads, &moves), &reads)| {
            counts.flash_to_buffer = counts.flash_to_buffer.wrapping_add(loads);
            counts.buffer_to_sram = counts.buffer_to_sram.wrapping_add(moves);
            counts.buffer_reads = counts.buffer_reads.wrapping_add(reads);
            Counts { sram_reads: requests.wrapping_sub(counts.buffer_reads), ..counts }
        });
        let mut all: Vec<Counts> = all.collect();
        all.pop();
        all
    }
}

/// Returns the counts of [`PmXip`](crate::policy::PmXip) on a trace of pages `0..pages` for every threshold from 0 to
/// `window`, indexed by threshold. At thresholds above `window` no page is ever moved.
///
/// # Panics
/// If `frames`, `buffers` or `window` is zero.
pub fn thresholds(pages: u32, trace: &[u32], frames: u32, buffers: u32, window: u32, reading: Reading) -> Vec<Counts> {
    assert!(
        frames > 0 && buffers > 0 && window > 0,
        "found {frames} frames, {buffers} buffers and a window of {window}, expected at least 1 each"
    );
    let mut groups = Groups::new(pages, frames as usize, buffers as usize, window as usize + 1, reading);
    let mut last = None;
    for (now, &page) in trace.iter().enumerate() {
        // The trace itself is the window: the request leaving it is `window` requests ago.
        let slide = |pages: &mut [Page]| {
            pages[page as usize].occurrences += 1;
            if let Some(left) = now.checked_sub(window as usize) {
                pages[trace[left] as usize].occurrences -= 1;
            }
        };
        if reading.window == Window::WithCurrent {
            slide(&mut groups.pages);
        }
        groups.pages[page as usize].last = now as u64 + 1;
        groups.pages[page as usize].requests += 1;
        groups.request(page, last == Some(page), reading);
        if reading.window == Window::BeforeCurrent {
            slide(&mut groups.pages);
        }
        last = Some(page);
    }
    groups.counts(trace.len() as u64)
}
