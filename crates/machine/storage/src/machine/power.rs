//! Power failures and orderly shutdown of the whole machine.

use ftl::MountReport;
use ftl::config::ConfigError;
use media::{Action, OpId, Status};
use nand::Store;
use sim::{EventQueue, Streams, Time};

use super::{Event, LANES, Machine, NandView, PlacementBytes, TIMER};
use crate::prepare::fast::Fast;
use system::parts::{Parts, Translation};

/// Result of a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// The translation layer's report on the mount that followed.
    pub mount: MountReport,
    /// Time for which the drive ran on to write out protected buffers.
    pub hold_up: Time,
    /// False if the drive could not write out its protected buffers because it had become read-only. True otherwise.
    pub complete: bool,
    /// Bytes written and erased since the mount before; zero for a drive with zones.
    pub bytes: PlacementBytes,
}

/// Returns true if the controller's buffers survive a power cut.
fn is_protected(parts: &Parts) -> bool {
    parts.zones.as_ref().map_or(parts.ftl.buffers.protected, |zones| zones.protected)
}

impl Machine {
    /// Cuts the power of host and drive after the last event handled, and restores it at once. Requests in progress are
    /// lost and will not complete, programs and erases of the arrays are torn, RAM is lost, and the translation layer
    /// is mounted from the flash. The clock goes on; the mount itself takes no time (see [`MountReport::time`]). All
    /// counters survive except the translation layer's.
    ///
    /// With protected controller buffers (`config.buffers.protected`), only the host loses power at first. The drive
    /// runs on from its capacitors, writes dirty data to flash at the flash's speed, and loses power then.
    /// [`now`](Self::now) advances by that hold-up time.
    ///
    /// # Errors
    /// Fails if `parts` are not those that the machine was made of.
    pub fn power_cut(&mut self, parts: &Parts, streams: &Streams) -> Result<PowerCut, ConfigError> {
        let cut = self.now();
        let complete = !is_protected(parts) || self.write_out();
        let now = self.now();
        self.forget_events();
        self.host_interface.power_cut(now);
        self.nand.power_cut(now);
        if let Some(ahead) = &mut self.ahead {
            ahead.clear();
        }
        if let Some(trace) = self.trace() {
            trace.forget();
        }
        self.out.actions.clear();
        self.out.moves.clear();
        self.outputs.clear();
        self.barriers.clear();
        if let Some(checker) = &mut self.checker {
            checker.power_cut();
        }
        self.mirror_all();
        let bytes = self.ftl.zoned().map_or_else(|| self.placement_bytes(), |_| PlacementBytes::default());
        let (ftl, mount) = Translation::mount(parts, self.nand.store(), streams)?;
        self.ftl = ftl;
        if parts.zones.is_some() {
            self.start();
        }
        self.enable_host_memory();
        Ok(PowerCut { mount, hold_up: now - cut, complete, bytes })
    }

    /// Lets a drive with protected controller buffers write them to flash, as its capacitors do after a power cut: the end of
    /// a machine whose flash outlives it. Requests in progress are lost. Without protected buffers this does nothing.
    pub fn run_out(&mut self, parts: &Parts) {
        if is_protected(parts) {
            // A read-only drive keeps what it can.
            self.write_out();
        }
    }

    /// Shuts the drive down in order: writes out its buffers and the changed parts of its map. Returns the flash.
    ///
    /// # Panics
    /// Panics if the drive is read-only.
    pub fn switch_off(mut self) -> Store {
        assert!(self.write_out(), "a read-only drive cannot be shut down in order");
        let mut store = self.nand.into_store();
        Fast::new(&mut self.ftl, &mut store).write_back_map();
        store
    }

    /// Drops all pending events and keeps the queue's clock.
    fn forget_events(&mut self) {
        let now = self.now();
        self.world.queue = EventQueue::new(LANES);
        self.world.queue.push(TIMER, now, Event::default());
        self.world.queue.pop();
        self.timer = Time::MAX;
    }

    /// Lets the drive write out its buffers without a host. Returns false if it cannot.
    fn write_out(&mut self) -> bool {
        self.ftl.write_out(&mut self.out);
        self.perform_alone();
        while !self.ftl.is_written_out() {
            match self.world.queue.pop() {
                Some((now, event)) => {
                    // Host, link and front end have no power: drop their events.
                    // Data read for the host is dropped.
                    match event {
                        Event::Flash(event) => match self.nand.handle(now, event, &mut NandView(&mut self.world)) {
                            Some(done) if done.kind == nand::OpKind::Read => {
                                self.end(done.id, done.status);
                                self.attend_read_end(now, done.id, done.status);
                            }
                            Some(done) => {
                                self.apply_write(done);
                                self.end(done.id, done.status);
                            }
                            None => {}
                        },
                        Event::ReadAhead(id) => {
                            self.trace_read_end(now, id);
                            self.end(id, Status::Ok);
                        }
                        Event::HostInterface(_) | Event::Timer => continue,
                    }
                    self.perform_alone();
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

    /// Performs the translation layer's flash operations without a host. Responses to the host are dropped. The part of
    /// the map in host memory is lost; the controller uses the flash's copy instead, at no cost here.
    fn perform_alone(&mut self) {
        let now = self.now();
        let mut answers: Vec<OpId> = Vec::new();
        loop {
            for movement in self.out.moves.drain(..) {
                self.nand.store_mut().apply(&movement, &mut self.data);
            }
            for action in std::mem::take(&mut self.out.actions) {
                match action {
                    Action::Read(op) => self.submit_read(now, op),
                    Action::Program(op) => self.nand.submit_program(now, op, &mut NandView(&mut self.world)),
                    Action::Erase(op) => self.nand.submit_erase(now, op, &mut NandView(&mut self.world)),
                    Action::Retire(block) => self.nand.store_mut().mark_bad(block),
                    Action::Barrier(id) | Action::HostMemory { id, .. } => answers.push(id),
                    Action::Ready { .. }
                    | Action::Data { .. }
                    | Action::Complete { .. }
                    | Action::HostMemoryFree { .. }
                    | Action::Reallocated { .. }
                    | Action::HandleModified { .. }
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
