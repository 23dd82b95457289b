//! Merging versions to gain version entries: a hand goes around the pages, and copies the segments that all kept times
//! see alike together, so that one entry, or a few, replace many.
//!
//! The entries of a page and class occupy at least one entry, and in [`Order::Ascending`] one per run of neighboring
//! segments. What is gained is known before anything is copied. Pages that gain most go first: the hand accepts a
//! smaller gain only after a whole round without a net gain, and the search ends after a round in which even the smallest
//! gained nothing. Net, because copies take space, and the collection that this causes may divide merged entries again.

use crate::config::Order;
use crate::table::Fault;
use crate::table::chain::Chain;
use crate::{Actions, Nvmm};

/// The hand, and whether it is to move.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathering {
    wanted: bool,
    /// Nothing can be merged, and nothing has changed since.
    futile: bool,
    /// The next page.
    hand: u32,
    /// Pages left in this round.
    left: u32,
    /// Free entries when the round began.
    free: u32,
    /// The smallest number of entries for which a page is copied.
    least: u32,
    /// The kept times changed since the last search.
    changed: bool,
}

impl Gathering {
    /// Returns whether no entries are wanted.
    pub fn is_at_rest(&self) -> bool {
        !self.wanted
    }

    /// Allows another search. After a change of the kept times (`changed`), pages that gain more go first again.
    pub fn allow(&mut self, changed: bool) {
        self.futile = false;
        self.changed |= changed;
    }

    fn end(&mut self, futile: bool) {
        (self.wanted, self.futile) = (false, futile);
    }

    /// Begins a round with `free` entries.
    fn begin_round(&mut self, pages: u32, free: u32) {
        (self.left, self.free) = (pages, free);
    }

    /// Moves on from `passed` pages of `pages`, with `free` entries.
    fn pass(&mut self, passed: u32, pages: u32, free: u32) {
        self.hand = (self.hand + passed) % pages;
        self.left = self.left.saturating_sub(passed);
        if self.left > 0 {
            return;
        }
        if free <= self.free {
            match self.least {
                1 => self.end(true),
                _ => self.least /= 2,
            }
        }
        self.begin_round(pages, free);
    }
}

impl Nvmm {
    /// Requests that versions be merged to gain entries. Returns false if that was tried in vain.
    pub(crate) fn gather_first(&mut self) -> bool {
        if self.gathering.futile {
            return false;
        }
        if !self.gathering.wanted {
            (self.gathering.wanted, self.wake) = (true, true);
            let free = self.free_entries();
            self.gathering.begin_round(self.config.pages, free);
            // More may be gained than before after a change of the kept times, but hardly much more each time.
            let most = self.config.segments / 2;
            self.gathering.least = match self.gathering.least {
                0 => most,
                least if std::mem::take(&mut self.gathering.changed) => most.min(2 * least),
                least => least,
            };
        }
        true
    }

    /// Returns the number of version entries that are not promised to writes under way.
    fn free_entries(&self) -> u32 {
        self.table.available.saturating_sub(self.promises.entries())
    }

    /// Starts to copy the next page that is worth it, if entries are wanted. Returns false if it did not.
    pub(crate) fn gather(&mut self, out: &mut Actions) -> bool {
        while self.gathering.wanted {
            if self.free_entries() > 2 * self.collection_entries() {
                self.gathering.end(false);
            } else if self.blocks.free_count() < 2 {
                // Copies need a block more at first. Writes under way end, and collection frees blocks, or it cannot.
                if self.writes.any_active() {
                    return false;
                }
                self.gathering.end(true);
            } else {
                match self.gather_page(out) {
                    Ok(true) => return true,
                    Ok(false) | Err(Fault::Broken) => {}
                    Err(fault @ Fault::Missing(_)) => {
                        self.load_missing(fault, out);
                        return false;
                    }
                }
            }
            // Whoever waits for the entries tries again.
            self.wake |= !self.gathering.wanted;
        }
        false
    }

    /// Looks at the page at the hand, and moves on. Returns whether a copy was started.
    fn gather_page(&mut self, out: &mut Actions) -> Result<bool, Fault> {
        let (page, pages, free) = (self.gathering.hand, self.config.pages, self.free_entries());
        let chunk = self.table.chunk_of(page);
        if self.table.chunks[chunk as usize].used == 0 {
            let end = self.table.pages_of(chunk).end;
            self.gathering.pass(end - page, pages, free);
            return Ok(false);
        }
        if let Err(fault) = self.chain.fetch(page, &self.table) {
            if fault == Fault::Broken {
                self.gathering.pass(1, pages, free);
            }
            return Err(fault);
        }
        let least = self.gathering.least as usize;
        self.gathering.pass(1, pages, free);
        // The page's own entry and its owner's are always needed.
        if self.chain.nodes.len() <= least {
            return Ok(false);
        }
        if self.prune() {
            self.chain.store(&mut self.table, &mut self.blocks, &self.layout);
            self.wake = true;
        }
        let Some((class, gain)) = self.most_gain() else { return Ok(false) };
        if gain < least {
            return Ok(false);
        }
        let classes = self.chain.classes(self.epochs.views()).to_vec();
        self.copy(page, |at| classes[at] == class, out);
        self.stats.gathered += 1;
        Ok(true)
    }

    /// Returns the class of entries of the fetched chain that gains most if it is merged, and how many entries that is.
    fn most_gain(&mut self) -> Option<(u32, usize)> {
        let (segments, order) = (self.config.segments, self.config.order);
        let views = self.epochs.views();
        let Chain { nodes, .. } = &self.chain;
        let with_data: Vec<(usize, u32)> = (nodes.iter().enumerate())
            .filter(|(_, node)| node.entry.has_data())
            .map(|(at, node)| (at, node.entry.vector.segments(segments)))
            .collect();
        let classes = self.chain.classes(views);
        let of_class = with_data.chunk_by(|(a, _), (b, _)| classes[*a] == classes[*b]);
        let gains = of_class.map(|entries| {
            let held = entries.iter().fold(0, |held, (_, segments)| held | segments);
            let parts = if order == Order::Any { 1 } else { runs(held, segments) };
            (classes[entries[0].0], entries.len().saturating_sub(parts as usize))
        });
        gains.max_by_key(|(class, gain)| (*gain, *class))
    }
}

/// Returns the number of runs of ones in `held`, a ring of `segments` bits.
fn runs(held: u32, segments: u32) -> u32 {
    let all = u32::MAX >> (32 - segments);
    let before = (held << 1 | held >> (segments - 1)) & all;
    if held == all { 1 } else { (held & !before).count_ones() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_counted_around_the_ring() {
        for (held, segments, expected) in
            [(0, 4, 0), (0b1111, 4, 1), (0b1001, 4, 1), (0b0101, 4, 2), (0x5555, 16, 8), (0x8001, 16, 1), (0xff, 8, 1)]
        {
            assert_eq!(runs(held, segments), expected, "{held:b} of {segments}");
        }
    }

    #[test]
    fn a_search_ends_after_a_round_without_gain_for_each_amount() {
        let mut gathering = Gathering { wanted: true, least: 8, ..Gathering::default() };
        gathering.begin_round(10, 5);
        let mut passed = 0;
        while gathering.wanted {
            passed += 1;
            gathering.pass(1, 10, if passed < 15 { 5 } else { 6 });
        }
        // Four rounds of ten pages, the second one twice.
        assert_eq!((passed, gathering.futile), (50, true));
    }
}
