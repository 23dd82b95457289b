//! What goes on after anything that may let writing go on, and what must be durable before a command ends.

use media::{Action, Op, OpId, Status, Tag};

use crate::buffer::{Holds, NIL, Owner};
use crate::command::Kind;
use crate::location::Location;
use crate::{Actions, Ftl, SYSTEM_SLOTS};

/// A command that ends when what came before it is durable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Durable {
    tag: Tag,
    /// Slots dirtied up to here.
    epoch: u64,
    /// Programs below this; set once those slots are all in programs.
    pub(crate) seal: Option<u64>,
    /// Generation of the journal of trims.
    pub(crate) trims: u32,
}

impl Ftl {
    pub(crate) fn flush(&mut self, tag: Tag, out: &mut Actions) {
        if self.config.buffers.protected {
            self.complete(tag, Status::Ok, out);
            return;
        }
        if self.read_only {
            let status = if self.is_written_out() { Status::Ok } else { Status::NoSpace };
            self.complete(tag, status, out);
            return;
        }
        self.wait_durable(tag);
        self.dispatch(out);
    }

    pub(crate) fn wait_durable(&mut self, tag: Tag) {
        // A write that is durable by itself says nothing of the trims before it.
        let trims = if self.commands[tag].op == Op::Flush {
            self.force_epoch = self.epoch;
            self.journal.want_trims()
        } else {
            self.combining = true;
            0
        };
        self.has_work = true;
        self.durable.push_back(Durable { tag, epoch: self.epoch, seal: None, trims });
    }

    /// As [`dispatch`](Self::dispatch), after something that forces nothing: a program of dirty data follows from it only where
    /// there is some that was not looked at, or writes wait for nothing else.
    #[inline(always)]
    pub(crate) fn dispatch_pending(&mut self, out: &mut Actions) {
        if self.has_work || self.is_starved() || self.sequence.oldest() > self.empty_after {
            self.dispatch(out);
        }
    }

    /// After anything that may let writing go on: writes dirty data, erases the blocks whose data is superseded for
    /// good, ends the commands whose data is durable.
    #[inline(never)]
    pub(crate) fn dispatch(&mut self, out: &mut Actions) {
        self.has_work = false;
        if self.dirty.head != NIL {
            self.destage(out);
        }
        self.collect_short(out);
        if !self.map_wanted.is_empty() {
            self.fetch_wanted(out);
        }
        self.erase_empty(out);
        self.write_trims(out);
        if !self.durable.is_empty() {
            self.seal_durable();
            self.end_durable(out);
        }
        if self.is_releasing() {
            self.go_on_releasing(out);
        }
        if self.dirty.head != NIL && self.operations.active() <= self.retries {
            // A parallel unit that lets the host go on may have no room for it.
            self.destage(out);
        }
        if self.host_stalled || self.retries > 0 {
            self.collect_short(out);
            if self.operations.active() <= self.retries {
                self.use_emergency_reserve(out);
            }
        }
        // What waits is looked at each time.
        let waits = !self.durable.is_empty() || (self.host_stalled && !self.host_paced) || self.retries > 0;
        self.has_work |= waits || self.journal.is_wanted() || self.is_releasing();
    }

    /// Trims that somebody waits for go on becoming durable, and what waited for them is erased.
    #[inline(always)]
    fn write_trims(&mut self, out: &mut Actions) {
        if self.journal.is_wanted() {
            self.drive_journal(out);
            if self.host_stalled && self.empty.iter().any(|(b, _)| !self.journal.is_durable(self.blocks.trimmed(*b))) {
                self.rescue_journal(out);
            }
            self.erase_empty(out);
        }
    }

    /// Nothing is under way, and the host or a failed program has no room: what is set aside may be used.
    #[cold]
    fn use_emergency_reserve(&mut self, out: &mut Actions) {
        if self.host_paced {
            // Copies that the host waits for cannot go on by themselves: it need not wait.
            self.release_all();
            (self.unpaced, self.has_work) = (true, true);
            return self.destage(out);
        }
        if self.retries > 0 {
            self.retry_elsewhere(out);
        }
        for emergency in [false, true] {
            if self.operations.active() <= self.retries && !self.read_only {
                for pu in 0..self.layout.parallel_units {
                    if !emergency || self.enter_emergency(pu, out) {
                        self.short_lanes.push(pu);
                    }
                }
                self.collect_short(out);
                self.erase_empty(out);
                // A victim without a valid unit is emptied at once, and its erase may wait for trims.
                self.write_trims(out);
            }
        }
        if self.operations.active() == 0 && !self.read_only && self.host_stalled {
            self.squeeze(out);
        }
        if self.operations.active() <= self.retries && !self.read_only {
            self.risk_failure(out);
        }
        self.check_dead_end(out);
    }

    pub(crate) fn collect_short(&mut self, out: &mut Actions) {
        while let Some(pu) = self.short_lanes.pop() {
            self.collect(pu, out);
        }
    }

    /// Commands whose slots are all in programs wait only for those programs.
    fn seal_durable(&mut self) {
        let waiting = if self.dirty.head == NIL { u64::MAX } else { self.slots[self.dirty.head].epoch };
        while self.sealed < self.durable.len() && self.durable[self.sealed].epoch < waiting {
            self.durable[self.sealed].seal = Some(self.sequence.next());
            self.sealed += 1;
        }
    }

    fn end_durable(&mut self, out: &mut Actions) {
        while let Some(Durable { tag, seal: Some(seal), trims, .. }) = self.durable.front().copied() {
            if self.sequence.oldest() < seal {
                return;
            }
            if !self.journal.want(trims) {
                return;
            }
            self.durable.pop_front();
            self.sealed -= 1;
            let id = self.start_operation(Kind::Barrier, tag.0);
            out.actions.push(Action::Barrier(id));
        }
    }

    pub(crate) fn barrier_done(&mut self, id: OpId, out: &mut Actions) {
        let tag = Tag(self.operations.end(id).subject);
        self.complete(tag, Status::Ok, out);
    }

    /// No program can be placed, and nothing is under way that could change that: the drive takes no more writes. Those
    /// whose data was on its way then end here too, once it has come.
    fn check_dead_end(&mut self, out: &mut Actions) {
        if self.operations.active() > self.retries {
            return;
        }
        if !std::mem::replace(&mut self.read_only, true) {
            self.write_last(out);
        }
        self.refuse_waiting(out);
        self.sealed = 0;
        while let Some(durable) = self.durable.pop_front() {
            self.complete(durable.tag, Status::NoSpace, out);
        }
    }

    /// True if a slot for a unit of the layer's own can be had.
    pub(crate) fn system_slot(&mut self, unit: u32) -> Option<u32> {
        if self.system_used == SYSTEM_SLOTS {
            return None;
        }
        self.system_used += 1;
        let home = self.home(unit);
        let slot = self.slots.take(unit, home, Holds::Dirty, Owner::System, self.all_sectors());
        self.make_dirty(slot);
        self.table.set(unit, Location::buffer(slot));
        Some(slot)
    }
}
