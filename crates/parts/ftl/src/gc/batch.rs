//! Folding in batches: when the free SLC blocks run short, a given amount of data is folded at once, and host data waits
//! in the write cache meanwhile.

use crate::config::Config;
use crate::{Actions, Ftl};

/// The batch that is being folded.
pub(crate) struct FoldBatch {
    /// Units of a batch; 0: folding goes on alongside host writes.
    units: u32,
    /// Units of this batch whose reads have not been issued; 0: none is in progress.
    left: u32,
    /// A batch is in progress, or has ended since the last dispatch.
    due: bool,
}

impl FoldBatch {
    pub(super) fn new(config: &Config) -> FoldBatch {
        FoldBatch { units: config.slc.map_or(0, |slc| slc.batch), left: 0, due: false }
    }

    /// Returns true if folding is done in batches.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.units > 0
    }

    /// Returns true while host data waits.
    #[inline]
    pub(crate) fn is_in_progress(&self) -> bool {
        self.left > 0
    }

    /// Returns true if a dispatch may end a batch, or write what waited for one.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// Begins a dispatch, which writes what waited.
    pub(crate) fn begin_dispatch(&mut self) {
        self.due = self.is_in_progress();
    }

    fn begin(&mut self) {
        (self.left, self.due) = (self.units, true);
    }

    /// Records that `units` are being read to be folded.
    pub(crate) fn read(&mut self, units: u32) {
        self.left = self.left.saturating_sub(units);
    }
}

impl Ftl {
    /// Begins a batch if `pu`, where host data was just programmed, is short of free SLC blocks, and there is data that
    /// can be folded.
    pub(crate) fn begin_batch(&mut self, pu: u32, out: &mut Actions) {
        if !self.gc.batch.is_on() || self.gc.batch.is_in_progress() || !self.lacks_slc(pu) || !self.can_fold() {
            return;
        }
        self.gc.batch.begin();
        (0..self.layout.parallel_units).for_each(|pu| self.collect(pu, out));
    }

    /// Ends a batch that cannot go on: no data is left to fold or fits elsewhere, or nothing is in progress.
    #[inline]
    pub(crate) fn end_batch(&mut self) {
        if self.gc.batch.is_in_progress()
            && (!self.can_fold() || self.operations.active() <= self.durability.retries.count())
        {
            self.gc.batch.left = 0;
        }
    }

    /// Ends a batch in which nothing is in progress any more, if no other step dispatches after the last operation.
    #[inline]
    pub(crate) fn end_last_batch(&mut self, out: &mut Actions) {
        if self.gc.batch.is_in_progress() && self.operations.active() <= self.durability.retries.count() {
            self.dispatch(out);
        }
    }

    fn can_fold(&self) -> bool {
        (0..self.layout.parallel_units).any(|pu| self.folds(pu))
    }
}

#[cfg(test)]
mod tests {
    use super::FoldBatch;
    use crate::Actions;
    use crate::config::Policy;
    use crate::gc::victim::tests::drive;
    use crate::request::operation::OperationKind;

    #[test]
    fn a_batch_ends_when_all_of_it_is_read() {
        let mut batch = FoldBatch { units: 10, left: 0, due: false };
        assert!(batch.is_on() && !batch.is_in_progress() && !batch.is_due());
        batch.begin();
        batch.read(9);
        batch.begin_dispatch();
        assert!(batch.is_in_progress() && batch.is_due(), "a unit is left");
        batch.read(4);
        assert!(!batch.is_in_progress() && batch.is_due(), "what waited is written");
        batch.begin_dispatch();
        assert!(!batch.is_due());
    }

    #[test]
    fn only_a_batch_without_operations_is_ended_by_a_dispatch() {
        for (left, active, dispatched) in [(0, false, false), (0, true, false), (3, true, false), (3, false, true)] {
            let mut ftl = drive(Policy::Greedy, &[5]);
            (ftl.gc.batch.units, ftl.gc.batch.left) = (10, left);
            if active {
                ftl.operations.start_bare(OperationKind::Barrier, 0);
            }
            // Any dispatch takes all reported parallel units.
            ftl.gc.short.report(0);
            ftl.end_last_batch(&mut Actions::default());
            assert_eq!(ftl.gc.short.is_due(), !dispatched, "{left} units are left, and an operation: {active}");
            assert_eq!(ftl.gc.batch.left, if dispatched { 0 } else { left });
        }
    }
}
