//! Trims of written blocks by a verifying job.

use std::collections::VecDeque;

use sim::Rng;

use crate::fio::Trims;

/// Maximum number of ranges per batch; if exceeded, the oldest are not trimmed.
const RANGES_MAX: usize = 1 << 16;

/// Written blocks that were selected for trimming, and the batch in progress.
#[derive(Clone, Debug)]
pub(super) struct TrimQueue {
    keys: Trims,
    chosen: VecDeque<(u64, u64)>,
    writes: u64,
    /// Trims left in the current batch.
    due: u64,
}

impl TrimQueue {
    pub fn new(keys: Trims) -> TrimQueue {
        TrimQueue { keys, chosen: VecDeque::new(), writes: 0, due: 0 }
    }

    /// Records a write, and selects it for trimming at random.
    pub fn written(&mut self, offset: u64, bytes: u64, rng: &mut Rng) {
        if rng.below(100) < self.keys.percentage {
            if self.chosen.len() == RANGES_MAX {
                self.chosen.pop_front();
            }
            self.chosen.push_back((offset, bytes));
        }
        self.writes += 1;
        if self.writes.is_multiple_of(self.keys.backlog) {
            self.due = if self.keys.batch > 0 { self.keys.batch } else { self.keys.backlog };
        }
    }

    /// Returns whether a trim must be issued before the next write.
    pub fn is_due(&self) -> bool {
        self.due > 0 && !self.chosen.is_empty()
    }

    /// Returns the next trim of the batch.
    pub fn next(&mut self) -> Option<(u64, u64)> {
        let range = if self.due > 0 { self.chosen.pop_front() } else { None };
        self.due = self.due.saturating_sub(1);
        range
    }
}
