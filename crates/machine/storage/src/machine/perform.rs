//! Performs the translation layer's actions on flash and host interface.

use ftl::HostLines;
use host_interface::HostInterface;
use host_interface::external::{Access, Lines};
use media::{Action, Op, OpId, ReadOp, Status, Tag};
use nand::TagBuffers;
use sim::{Time, rarely};

use super::{Event, HostInterfaceView, Machine, NandView, TIMER};
use crate::run::verify::Checker;

impl Machine {
    /// Performs all pending actions of the translation layer and sets its timer. Only the event loop calls it.
    #[inline(always)]
    pub(super) fn perform_all(&mut self, now: Time) {
        loop {
            if !self.out.moves.is_empty() {
                self.perform_moves();
            }
            let mut at = 0;
            while let Some(action) = self.out.actions.get(at) {
                at += 1;
                let Machine { nand, host_interface, world, external, attended, plain_reads, .. } = self;
                // A command that ends with the action, and its status.
                let mut end = None;
                match *action {
                    Action::Read(op) if *plain_reads => nand.submit_read(now, op, &mut NandView(world)),
                    Action::Program(op) => nand.submit_program(now, op, &mut NandView(world)),
                    Action::Erase(op) if *plain_reads => nand.submit_erase(now, op, &mut NandView(world)),
                    Action::Ready { tag } => host_interface.ready(now, tag, &mut HostInterfaceView(world)),
                    Action::Data { tag, bytes, end: Some(status) } if !*external => {
                        if *attended {
                            rarely(self, move |it| it.attend_last_data(tag));
                        }
                        let Machine { host_interface, world, .. } = self;
                        host_interface.last_data(now, tag, bytes, status, &mut HostInterfaceView(world));
                        if self.attended {
                            rarely(self, move |it| it.attend_ended(tag, status));
                        }
                        continue;
                    }
                    Action::Data { tag, bytes, end: status } => {
                        host_interface.data(now, tag, bytes, &mut HostInterfaceView(world));
                        end = status.map(|status| (tag, status));
                    }
                    Action::Complete { tag, status } => end = Some((tag, status)),
                    rare => {
                        rarely(self, move |it| it.perform_rare(now, rare));
                        continue;
                    }
                }
                let Some((tag, status)) = end else { continue };
                if self.attended && !rarely(self, move |it| it.attend_end(now, tag, status)) {
                    continue;
                }
                self.host_interface.complete(now, tag, status, &mut HostInterfaceView(&mut self.world));
                if self.attended {
                    rarely(self, move |it| it.attend_ended(tag, status));
                }
            }
            self.out.actions.clear();
            if !self.later || !rarely(self, move |it| it.perform_later(now)) {
                break;
            }
        }
        if self.timer == Time::MAX
            && let Some(at) = self.ftl.next_timer()
        {
            self.timer = at.max(now);
            self.world.queue.push(TIMER, self.timer, Event::default());
        }
    }

    /// Performs the pending moves of payload.
    fn perform_moves(&mut self) {
        for movement in &self.out.moves {
            self.nand.store_mut().apply(movement, &mut self.data);
        }
        self.out.moves.clear();
    }

    /// Performs what waits until all actions are performed: ends barriers, then begins to read ahead. Returns true if there
    /// may be actions to perform.
    fn perform_later(&mut self, now: Time) -> bool {
        if !self.barriers.is_empty() {
            self.end_barriers();
            return true;
        }
        self.later = false;
        self.ahead.is_some() && self.read_ahead(now)
    }

    /// Ends barriers.
    fn end_barriers(&mut self) {
        // Flash needs no barrier: a finished program is durable. A copy in a file does.
        let status = self.mirror_barrier();
        for at in 0..self.barriers.len() {
            self.access_done(self.barriers[at], status);
        }
        self.barriers.clear();
    }

    /// Notes in the trace, if there is one, what the last data of the read `tag` waited for.
    fn attend_last_data(&mut self, tag: Tag) {
        if let Some(trace) = self.world.observer.as_mut().and_then(|observer| observer.trace.as_mut())
            && self.ftl.take_buffer_wait(tag)
        {
            trace.buffered(tag);
        }
    }

    /// Notes the end of a command of a machine that is attended. Returns false if it ends with another status instead.
    fn attend_end(&mut self, now: Time, tag: Tag, status: Status) -> bool {
        if self.external && status.is_ok() {
            // An external host gets the payload in front of the completion.
            self.host_interface.put(tag, self.data.data(tag));
            let status = self.mirror_end(tag);
            if !status.is_ok() {
                self.out.actions.push(Action::Complete { tag, status });
                return false;
            }
        }
        if let Some(trace) = self.trace() {
            trace.ended(now, tag);
        }
        true
    }

    /// Checks the payload of a command that has been completed, if it is kept.
    fn attend_ended(&mut self, tag: Tag, status: Status) {
        if let Some(checker) = &mut self.checker
            && status.is_ok()
        {
            check_end(checker, &self.data, &mut self.host_interface, tag);
        }
    }

    /// Notes the flash read of a command in the trace, if there is one.
    fn trace_read(&mut self, now: Time, op: &ReadOp) {
        if let Some(trace) = self.world.observer.as_mut().and_then(|observer| observer.trace.as_mut())
            && let Some(tag) = self.ftl.reader(op.id)
        {
            trace.reads(now, op.id, tag, op.page.die, self.ftl.take_buffer_wait(tag));
        }
    }

    /// Performs an action that most requests do not have.
    fn perform_rare(&mut self, now: Time, action: Action) {
        if let Action::Read(op) = action {
            self.trace_read(now, &op);
            if self.ahead.is_none() {
                return self.submit_read(now, op);
            }
        }
        if self.perform_with_read_ahead(now, action) {
            return;
        }
        if let Action::Read(op) = action {
            return self.submit_read(now, op);
        }
        let Machine { nand, host_interface, world, barriers, later, mirror, ftl, entries, .. } = self;
        match action {
            Action::Erase(op) => nand.submit_erase(now, op, &mut NandView(world)),
            Action::Read(_)
            | Action::Program(_)
            | Action::Ready { .. }
            | Action::Data { .. }
            | Action::Complete { .. } => {
                unreachable!("{action:?} is no rare action")
            }
            Action::Retire(block) => {
                nand.store_mut().mark_bad(block);
                if let Some(mirror) = mirror {
                    mirror.block(nand.store(), block);
                }
            }
            Action::Barrier(id) => {
                barriers.push(id);
                *later = true;
            }
            Action::HostMemory { id, bytes, store } => {
                if let HostInterface::External(path) = host_interface {
                    let place = ftl.host_memory_lines(id, entries);
                    let lines = place.map(|HostLines { frame, first }| Lines { frame, first, entries });
                    path.host_memory(now, Access { id: id.0, bytes, store, lines }, &mut HostInterfaceView(world));
                } else {
                    host_interface.host_memory(now, bytes, store, id.0, &mut HostInterfaceView(world));
                }
            }
            Action::HostMemoryFree { frame } => {
                if let HostInterface::External(path) = host_interface {
                    path.host_memory_free(frame);
                }
            }
            Action::Reallocated { handle, units } => {
                if let HostInterface::External(path) = host_interface {
                    path.reallocated(now, handle, units);
                }
            }
            Action::HandleModified { handle } => {
                if let HostInterface::External(path) = host_interface {
                    path.handle_modified(now, handle);
                }
            }
            Action::HostMemoryReleased => {
                host_interface.host_memory_released(now, &mut HostInterfaceView(world));
            }
        }
    }

    /// Reports the end of a barrier or an access to host memory to the translation layer.
    pub(super) fn access_done(&mut self, id: OpId, status: Status) {
        self.ftl.done(id, status, self.nand.store(), &mut self.out);
    }
}

/// Handles the successful end of a command: a read must have returned the data last written.
fn check_end(checker: &mut Checker, data: &TagBuffers, host_interface: &mut HostInterface, tag: Tag) {
    if checker.request(tag).op == Op::Read {
        // Behind a data buffer, the read is checked when its data reach the host.
        let found = data.data(tag);
        match host_interface.put(tag, found) {
            Some(place) => checker.keep(tag, place),
            None => checker.read(tag, found),
        }
    }
}
