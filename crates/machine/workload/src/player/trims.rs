//! What a verifying job trims of what it has written.

use std::collections::VecDeque;

use sim::Rng;

use crate::fio::Trims;

/// Ranges kept for a batch at most: beyond them, what was written longest ago is not trimmed.
const KEPT: usize = 1 << 16;

/// The blocks that were written and chosen to be trimmed, and when a batch of trims is due.
#[derive(Clone, Debug)]
pub(super) struct TrimQueue {
    keys: Trims,
    chosen: VecDeque<(u64, u64)>,
    writes: u64,
    /// Trims left of the batch that is due.
    due: u64,
}

impl TrimQueue {
    pub fn new(keys: Trims) -> TrimQueue {
        TrimQueue { keys, chosen: VecDeque::new(), writes: 0, due: 0 }
    }

    /// A write is issued.
    pub fn written(&mut self, offset: u64, bytes: u64, rng: &mut Rng) {
        if rng.below(100) < self.keys.percentage {
            if self.chosen.len() == KEPT {
                self.chosen.pop_front();
            }
            self.chosen.push_back((offset, bytes));
        }
        self.writes += 1;
        if self.writes.is_multiple_of(self.keys.backlog) {
            self.due = if self.keys.batch > 0 { self.keys.batch } else { self.keys.backlog };
        }
    }

    /// A trim is to be issued before the next write.
    pub fn is_due(&self) -> bool {
        self.due > 0 && !self.chosen.is_empty()
    }

    /// The next trim of the batch.
    pub fn next(&mut self) -> Option<(u64, u64)> {
        let range = if self.due > 0 { self.chosen.pop_front() } else { None };
        self.due = self.due.saturating_sub(1);
        range
    }
}
