//! The power of the whole machine fails, and comes back.

use ftl::config::ConfigError;
use ftl::{Ftl, MountReport};
use media::{Action, OpId, Status};
use nand::Store;
use sim::{EventQueue, Streams, Time};

use super::{Event, Machine, NandView, TIMER};
use crate::fast::Fast;
use system::parts::Parts;

/// What a power cut came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// What the translation layer found when the power came back.
    pub mount: MountReport,
    /// How long the drive lived on to write out protected buffers.
    pub hold_up: Time,
    /// They were all written out, if they are protected. False only of a drive that took no more writes.
    pub complete: bool,
}

impl Machine {
    /// The power of host and drive is cut after the last event handled, and comes back at once: requests under way are
    /// gone and will not be completed, the arrays' programs and erases are torn, RAM is lost, and the translation
    /// layer is mounted from what the flash holds. Time goes on; the mount itself takes none (see
    /// [`MountReport::time`]), and what the parts counted stays, but for the translation layer's counts.
    ///
    /// Where the controller's buffers are protected (`config.buffers.protected`) only the host's power goes at first:
    /// the drive lives on capacitors, writes what is dirty to flash in the time that the flash takes, and is cut off
    /// then. [`now`](Self::now) has moved by that hold-up time.
    ///
    /// # Errors
    /// If `parts` are not those that the machine was made of.
    pub fn power_cut(&mut self, parts: &Parts, streams: &Streams) -> Result<PowerCut, ConfigError> {
        let (cut, events) = (self.now(), self.events());
        let complete = !parts.ftl.buffers.protected || self.write_out();
        let now = self.now();
        self.forget_events();
        self.handled(events);
        self.host_interface.power_cut(now);
        self.nand.power_cut(now);
        self.out.actions.clear();
        self.out.moves.clear();
        self.outputs.clear();
        self.barriers.clear();
        if let Some(checker) = &mut self.checker {
            checker.power_cut();
        }
        let (ftl, mount) = Ftl::mount(parts.ftl.clone(), self.nand.store(), streams)?;
        self.ftl = ftl;
        self.enable_host_memory();
        Ok(PowerCut { mount, hold_up: now - cut, complete })
    }

    /// Switches the drive off in order: it writes out its buffers, and what changed of the map. Returns the flash.
    ///
    /// # Panics
    /// If the drive takes no more writes.
    pub fn switch_off(mut self) -> Store {
        assert!(self.write_out(), "a drive that takes no more writes cannot be switched off in order");
        let mut store = self.nand.into_store();
        Fast::new(&mut self.ftl, &mut store).write_back_map();
        store
    }

    /// Nothing that was to come comes any more. The queue's clock stays.
    fn forget_events(&mut self) {
        let now = self.now();
        self.world.queue = EventQueue::new(TIMER.0 as usize + 1);
        self.world.queue.push(TIMER, now, Event::default());
        self.world.queue.pop();
        self.timer = Time::MAX;
    }

    /// The host is gone, and the drive writes out what it has promised. False if it cannot.
    fn write_out(&mut self) -> bool {
        self.ftl.write_out(&mut self.out);
        self.perform_alone();
        while !self.ftl.is_written_out() {
            match self.world.queue.pop() {
                Some((now, event)) => {
                    // Nobody is there to see what host, link and front end would have done next.
                    if let Some(event) = event.of_flash() {
                        if let Some(done) = self.nand.handle(now, event, &mut NandView::<true>(&mut self.world)) {
                            if done.kind != nand::Kind::Read {
                                self.apply_write(done);
                            }
                            // Data that the host asked for goes nowhere.
                            self.ftl.done(done.id, done.status, self.nand.store(), &mut self.out);
                        }
                        self.perform_alone();
                    }
                }
                None => {
                    self.ftl.write_out(&mut self.out);
                    self.perform_alone();
                    if self.world.queue.is_empty() {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Performs what the translation layer wants of the flash. Answers to the host go nowhere, and a map in the host's
    /// memory is gone: its controller goes by what the flash has, which costs nothing here.
    fn perform_alone(&mut self) {
        let now = self.now();
        let mut answers: Vec<OpId> = Vec::new();
        loop {
            for movement in self.out.moves.drain(..) {
                self.nand.store_mut().apply(&movement, &mut self.data);
            }
            for action in std::mem::take(&mut self.out.actions) {
                match action {
                    Action::Read(op) => self.nand.submit_read(now, op, &mut NandView::<true>(&mut self.world)),
                    Action::Program(op) => self.nand.submit_program(now, op, &mut NandView::<true>(&mut self.world)),
                    Action::Erase(_) | Action::Retire(_) => self.other_action(now, action),
                    Action::Barrier(id) | Action::HostMemory { id, .. } => answers.push(id),
                    Action::Ready { .. }
                    | Action::Data { .. }
                    | Action::Complete { .. }
                    | Action::HostMemoryReleased => {}
                }
            }
            if answers.is_empty() {
                return;
            }
            for id in answers.drain(..) {
                self.ftl.done(id, Status::Ok, self.nand.store(), &mut self.out);
            }
        }
    }
}
