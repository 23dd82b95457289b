//! What the translation layer wants done, action by action.

use media::{Action, ProgramOp, ReadOp, Status, Tag};
use sim::Time;

use super::{HostInterfaceView, Machine, NandView};

impl Machine {
    /// Each action is a call of its own, so that the loop around them, mostly of one, costs little.
    #[inline(never)]
    pub(super) fn perform_actions(&mut self, now: Time) {
        loop {
            if !self.out.moves.is_empty() {
                self.perform_moves();
            }
            let mut next = 0;
            while let Some(action) = self.out.actions.get(next) {
                next += 1;
                match *action {
                    Action::Read(op) => self.ask_read(now, op),
                    Action::Program(op) => self.ask_program(now, op),
                    Action::Ready { tag } => self.ready(now, tag),
                    Action::Complete { tag, status } => self.complete(now, tag, status),
                    other => self.other_action(now, other),
                }
            }
            self.out.actions.clear();
            if self.barriers.is_empty() {
                return;
            }
            for id in std::mem::take(&mut self.barriers) {
                self.ftl_done(id);
            }
        }
    }

    #[inline(never)]
    fn perform_moves(&mut self) {
        for movement in self.out.moves.drain(..) {
            self.nand.store_mut().apply(&movement, &mut self.data);
        }
    }

    #[inline(always)]
    fn ask_read(&mut self, now: Time, op: ReadOp) {
        self.nand.submit_read(now, op, &mut NandView::<true>(&mut self.world));
    }

    #[inline(always)]
    fn ask_program(&mut self, now: Time, op: ProgramOp) {
        self.nand.submit_program(now, op, &mut NandView::<true>(&mut self.world));
    }

    #[inline(never)]
    fn ready(&mut self, now: Time, tag: Tag) {
        self.host_interface.ready(now, tag, &mut HostInterfaceView::<true>(&mut self.world));
    }

    #[inline(never)]
    fn complete(&mut self, now: Time, tag: Tag, status: Status) {
        self.host_interface.complete(now, tag, status, &mut HostInterfaceView::<true>(&mut self.world));
        if self.checker.is_some() {
            self.check_end(tag, status);
        }
    }

    /// The rare actions.
    #[inline(never)]
    pub(super) fn other_action(&mut self, now: Time, action: Action) {
        match action {
            Action::Data { tag, bytes } => {
                self.host_interface.data(now, tag, bytes, &mut HostInterfaceView::<true>(&mut self.world))
            }
            Action::Erase(op) => self.nand.submit_erase(now, op, &mut NandView::<true>(&mut self.world)),
            Action::Retire(block) => self.nand.store_mut().mark_bad(block),
            Action::Barrier(id) => self.barriers.push(id),
            Action::HostMemory { id, bytes, store } => {
                self.host_interface.host_memory(
                    now,
                    bytes,
                    store,
                    id.0,
                    &mut HostInterfaceView::<true>(&mut self.world),
                );
            }
            Action::HostMemoryReleased => self.host_interface.host_memory_released(now),
            Action::Read(_) | Action::Program(_) | Action::Ready { .. } | Action::Complete { .. } => {
                unreachable!("{action:?} is performed on the spot")
            }
        }
    }
}
