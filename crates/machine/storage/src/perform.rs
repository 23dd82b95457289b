//! Performs the translation layer's actions on flash and host interface.

use media::{Action, OpId, Status};
use sim::Time;

use super::{Event, HostInterfaceView, Machine, NandView, TIMER};

impl Machine {
    /// Performs all pending actions of the translation layer and sets its timer.
    #[inline(always)]
    pub(super) fn perform(&mut self, now: Time) {
        while !(self.out.actions.is_empty() && self.out.moves.is_empty()) {
            for movement in &self.out.moves {
                self.nand.store_mut().apply(movement, &mut self.data);
            }
            self.out.moves.clear();
            let mut actions = std::mem::take(&mut self.out.actions);
            for action in &actions {
                self.act(now, action);
            }
            actions.clear();
            self.out.actions = actions;
            // Flash needs no barrier: a finished program is durable.
            for at in 0..self.barriers.len() {
                self.access_done(self.barriers[at]);
            }
            self.barriers.clear();
        }
        if self.timer == Time::MAX
            && let Some(at) = self.ftl.next_timer()
        {
            self.timer = at.max(now);
            self.world.queue.push(TIMER, self.timer, Event::default());
        }
    }

    #[inline]
    pub(super) fn act(&mut self, now: Time, action: &Action) {
        match *action {
            Action::Read(op) => self.nand.submit_read(now, op, &mut NandView(&mut self.world)),
            Action::Program(op) => self.nand.submit_program(now, op, &mut NandView(&mut self.world)),
            Action::Erase(op) => self.nand.submit_erase(now, op, &mut NandView(&mut self.world)),
            Action::Retire(block) => self.nand.store_mut().mark_bad(block),
            Action::Barrier(id) => self.barriers.push(id),
            Action::Ready { tag } => self.host_interface.ready(now, tag, &mut HostInterfaceView(&mut self.world)),
            Action::Data { tag, bytes } => {
                self.host_interface.data(now, tag, bytes, &mut HostInterfaceView(&mut self.world));
            }
            Action::Complete { tag, status } => {
                if self.external {
                    self.put_external(tag, status);
                }
                self.host_interface.complete(now, tag, status, &mut HostInterfaceView(&mut self.world));
                self.check_end(tag, status);
            }
            Action::HostMemory { id, bytes, store } => {
                let view = &mut HostInterfaceView(&mut self.world);
                self.host_interface.host_memory(now, bytes, store, id.0, view);
            }
            Action::HostMemoryReleased => {
                self.host_interface.host_memory_released(now, &mut HostInterfaceView(&mut self.world));
            }
        }
    }

    /// Reports the end of a barrier or an access to host memory to the translation layer.
    pub(super) fn access_done(&mut self, id: OpId) {
        self.ftl.done(id, Status::Ok, self.nand.store(), &mut self.out);
    }
}
