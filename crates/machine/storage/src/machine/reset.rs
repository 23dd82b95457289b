//! Controller resets, and switching or losing the host memory that the controller uses.

use ftl::HostMemoryLoss;
use sim::{EventQueue, Time};

use super::{Event, HostInterfaceView, LANES, Machine, TIMER};

impl Machine {
    /// Returns the bytes of host memory that the controller may currently use (NVMe Host Memory Buffer).
    pub fn host_memory_bytes(&self) -> u64 {
        self.host_interface.host_memory_bytes()
    }

    /// Enables host memory in the translation layer if the driver has lent any.
    pub(super) fn enable_host_memory(&mut self) {
        if self.host_interface.host_memory_bytes() > 0 {
            self.ftl.enable_host_memory();
        }
    }

    /// Switches the Host Memory Buffer on or off, like an administrator of the host (Linux:
    /// `/sys/class/nvme/nvmeN/hmb`), with a Set Features command. Before a command that takes the memory back
    /// completes, the controller fetches from it the data it needs, while continuing to serve commands. Returns false
    /// if such a command is already in progress or nothing would change.
    pub fn switch_host_memory(&mut self, now: Time, on: bool) -> bool {
        self.host_interface.switch_host_memory(now, on, &mut HostInterfaceView(&mut self.world))
    }

    /// Resets the controller after the last event handled and sets it up again at once. Requests in progress are lost
    /// and will not complete; flash operations continue, and the controller's own memory keeps its contents. With
    /// `keep` the driver returns the Host Memory Buffer unchanged. Otherwise its contents are lost, and the clock
    /// advances by the time in which the controller recovers the map entries that were nowhere else.
    pub fn reset_controller(&mut self, keep: bool) -> HostMemoryLoss {
        let now = self.now();
        self.forget_all_but_flash(now);
        let (_, kept) = self.host_interface.reset(now, keep);
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
        let loss = self.ftl.controller_reset(kept, self.nand.store());
        let timing = &self.nand.config().timing;
        let now = self.pass(now + loss.time(timing.read[0] + timing.read_command));
        if !self.ftl.uses_host_memory() {
            self.enable_host_memory();
        }
        self.ftl.resume(&mut self.out);
        self.perform(now);
        loss
    }

    /// Advances to `until` without serving requests. Flash operations continue.
    fn pass(&mut self, until: Time) -> Time {
        if until > self.now() {
            let mut ends = Vec::new();
            self.world.queue.push(TIMER, until, Event::default());
            let ended = self.advance(until, &mut ends);
            assert!(!ended && ends.is_empty(), "a request completed after the reset dropped it: {ends:?}");
        }
        until
    }

    /// Drops pending events of host, link and front end, and keeps those of the flash.
    pub(super) fn forget_all_but_flash(&mut self, now: Time) {
        let mut kept = Vec::new();
        while let Some((at, event)) = self.world.queue.pop() {
            if !matches!(event, Event::HostInterface(_)) {
                kept.push((at, event));
            }
        }
        self.world.queue = EventQueue::new(LANES);
        self.world.queue.push(TIMER, now, Event::default());
        self.world.queue.pop();
        for (at, event) in kept {
            self.world.queue.push(TIMER, at, event);
        }
    }
}
