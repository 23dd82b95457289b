//! Dispatch of pending work after any event that may allow progress.

use media::Status;

use crate::{Actions, Ftl};

/// Work that no part of the layer announces as due.
#[derive(Default)]
pub(crate) struct Pending {
    /// The last dispatch left work to reconsider after the next event.
    left: bool,
}

impl Ftl {
    /// Like [`dispatch`](Self::dispatch), after an event that forces nothing. It leads to a program of dirty data only
    /// if there is pending work, or if writes wait for nothing else.
    #[inline]
    pub(crate) fn dispatch_pending(&mut self, out: &mut Actions) {
        if self.has_work() || self.is_starved() || self.space.erase_queue.may_erase(self.durability.sequence.oldest()) {
            self.dispatch(out);
        }
    }

    /// Returns true if a dispatch may make progress. Usually nothing is due, so the flags are joined and tested once.
    #[inline]
    fn has_work(&self) -> bool {
        let due = self.pending.left
            | self.buffer.dirty.is_due()
            | self.gc.short.is_due()
            | self.gc.batch.is_due()
            | self.space.host_room.is_due()
            | self.space.erase_queue.is_due()
            | self.durability.durable_queue.is_due()
            | self.durability.retries.is_due();
        due || self.map.is_due()
    }

    /// Begins a dispatch, which serves everything that is due.
    fn begin_dispatch(&mut self) {
        self.pending.left = false;
        self.buffer.dirty.begin_dispatch();
        self.gc.short.begin_dispatch();
        self.gc.batch.begin_dispatch();
        self.map.begin_dispatch();
        self.space.host_room.begin_dispatch();
        self.space.erase_queue.begin_dispatch();
        self.durability.durable_queue.begin_dispatch();
        self.durability.retries.begin_dispatch();
    }

    /// Makes all possible progress: writes dirty data, erases blocks whose data is durably superseded, and completes
    /// commands whose data is durable.
    pub(crate) fn dispatch(&mut self, out: &mut Actions) {
        self.begin_dispatch();
        self.end_batch();
        if !self.buffer.dirty.is_empty() {
            self.destage(out);
        }
        self.collect_short(out);
        self.fetch_wanted(out);
        self.write_map(out);
        self.erase_empty(out);
        self.write_trims(out);
        if !self.durability.durable_queue.is_empty() {
            self.seal_durable();
            self.end_durable(out);
        }
        if self.is_releasing() {
            self.go_on_releasing(out);
        }
        if !self.buffer.dirty.is_empty() && self.operations.active() <= self.durability.retries.count() {
            // The parallel unit that host writes may use again may have no room for them.
            self.destage(out);
        }
        self.resume_copies(out);
        if self.space.host_room.is_stalled() || self.durability.retries.any() {
            self.collect_short(out);
            if self.operations.active() <= self.durability.retries.count() {
                self.use_emergency_reserve(out);
            }
        }
        // Anything that still waits is reconsidered each time.
        let waits = !self.durability.durable_queue.is_empty()
            || self.space.host_room.waits_for_erase()
            || self.durability.retries.any();
        self.pending.left = waits || self.durability.journal.is_wanted() || self.is_releasing();
    }

    /// Advances the journal if a trim must become durable, and erases blocks that waited for it.
    #[inline]
    fn write_trims(&mut self, out: &mut Actions) {
        if self.durability.journal.is_wanted() {
            self.drive_journal(out);
            let for_trims = |block| !self.durability.journal.is_durable(self.space.blocks.trimmed(block));
            if self.space.host_room.is_stalled() && self.space.erase_queue.blocks().any(for_trims) {
                self.rescue_journal(out);
            }
            self.erase_empty(out);
        }
    }

    /// Opens the emergency reserve if no operation is in progress and host writes or a failed program have no room.
    fn use_emergency_reserve(&mut self, out: &mut Actions) {
        if self.space.host_room.is_paced() {
            // The copies that throttle the host cannot proceed by themselves.
            self.space.host_room.stop_pacing();
            return self.destage(out);
        }
        if self.durability.retries.any() {
            self.retry_elsewhere(out);
        }
        for emergency in [false, true] {
            if self.operations.active() <= self.durability.retries.count() && !self.durability.is_read_only() {
                for pu in 0..self.layout.parallel_units {
                    if !emergency || self.enter_emergency(pu, out) {
                        self.gc.short.add(pu);
                    }
                }
                self.collect_short(out);
                self.erase_empty(out);
                // A victim without valid units is empty at once, and its erase may wait for trims.
                self.write_trims(out);
            }
        }
        if self.operations.active() == 0 && !self.durability.is_read_only() && self.space.host_room.is_stalled() {
            self.squeeze(out);
        }
        if self.operations.active() <= self.durability.retries.count() && !self.durability.is_read_only() {
            self.risk_failure(out);
        }
        self.check_dead_end(out);
    }

    pub(crate) fn collect_short(&mut self, out: &mut Actions) {
        while let Some(pu) = self.gc.short.take() {
            self.collect(pu, out);
        }
    }

    /// Makes the drive read-only if no program can be placed and no operation in progress can change that. Writes whose
    /// data was still arriving also end here, once it has arrived.
    fn check_dead_end(&mut self, out: &mut Actions) {
        if self.operations.active() > self.durability.retries.count() {
            return;
        }
        if self.durability.make_read_only() {
            self.write_last(out);
        }
        self.refuse_waiting(out);
        while let Some(tag) = self.durability.durable_queue.take_first() {
            self.complete(tag, Status::NoSpace, out);
        }
    }
}
