//! Victims without valid units that wait for their erase.

/// A victim that waits for its erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub block: u32,
    /// Sequence number that must be durable before the erase.
    pub sequence: u64,
}

/// Victims without valid units, in the order in which they are examined.
pub(crate) struct EraseQueue {
    blocks: Vec<Waiting>,
    /// No block can be erased until the oldest non-durable sequence number exceeds this.
    after: u64,
    /// An erase waits for the trim journal, which a dispatch must advance.
    due: bool,
}

impl EraseQueue {
    pub(crate) fn new() -> EraseQueue {
        EraseQueue { blocks: Vec::new(), after: u64::MAX, due: false }
    }

    /// Adds `block`, unless it already waits. It may be erased once `sequence` is durable; if it waits for a trim too
    /// (`trimmed`), it is examined right away, so that the trim is made durable.
    pub(super) fn add(&mut self, block: u32, sequence: u64, trimmed: bool) {
        if !self.blocks.iter().any(|waiting| waiting.block == block) {
            self.blocks.push(Waiting { block, sequence });
            self.after = self.after.min(if trimmed { 0 } else { sequence });
        }
    }

    /// Makes each block wait for `sequence` in addition.
    pub(crate) fn hold(&mut self, sequence: u64) {
        self.blocks.iter_mut().for_each(|waiting| waiting.sequence = waiting.sequence.max(sequence));
    }

    /// Returns true if some block may be erased when the oldest non-durable sequence number is `oldest`.
    #[inline]
    pub(crate) fn may_erase(&self, oldest: u64) -> bool {
        oldest > self.after
    }

    /// Iterates over the blocks.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = u32> + '_ {
        self.blocks.iter().map(|waiting| waiting.block)
    }

    /// Returns the block at index `at`.
    pub(super) fn get(&self, at: usize) -> Option<Waiting> {
        self.blocks.get(at).copied()
    }

    /// Removes the block at index `at`; the last one takes its place.
    pub(super) fn take(&mut self, at: usize) -> u32 {
        self.blocks.swap_remove(at).block
    }

    /// Ends an examination of all blocks, with `oldest` the oldest non-durable sequence number. `for_trims`: some wait
    /// for the trim journal.
    pub(super) fn examined(&mut self, oldest: u64, for_trims: bool) {
        // The rest waits for a sequence number, or for another condition that may be met at any time.
        let look = |waiting: &Waiting| if oldest > waiting.sequence { 0 } else { waiting.sequence };
        self.after = self.blocks.iter().map(look).min().unwrap_or(u64::MAX);
        self.due |= for_trims;
    }

    /// Returns true if a dispatch should advance the trim journal.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// Begins a dispatch.
    #[inline]
    pub(crate) fn begin_dispatch(&mut self) {
        self.due = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_examined_when_their_sequence_number_is_durable() {
        let mut queue = EraseQueue::new();
        assert!(!queue.may_erase(u64::MAX - 1));
        queue.add(7, 20, false);
        queue.add(8, 30, false);
        queue.add(7, 40, false);
        assert!(!queue.may_erase(20) && queue.may_erase(21));
        assert_eq!(queue.take(0), 7);
        queue.examined(21, false);
        assert!(!queue.may_erase(30) && queue.may_erase(31) && !queue.is_due());
        assert_eq!(queue.blocks().collect::<Vec<_>>(), [8]);
    }

    #[test]
    fn a_block_that_waits_for_a_trim_is_examined_at_once() {
        let mut queue = EraseQueue::new();
        queue.add(7, 20, true);
        assert!(queue.may_erase(1));
    }

    #[test]
    fn held_blocks_wait_for_the_later_sequence_number() {
        let mut queue = EraseQueue::new();
        queue.add(7, 20, false);
        queue.hold(50);
        assert_eq!(queue.get(0), Some(Waiting { block: 7, sequence: 50 }));
        queue.examined(50, true);
        assert!(!queue.may_erase(50) && queue.may_erase(51) && queue.is_due());
        queue.begin_dispatch();
        assert!(!queue.is_due());
    }
}
