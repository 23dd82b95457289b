//! The controller is reset, and the host's memory that it uses is switched, or lost.

use ftl::HostMemoryLoss;
use sim::{EventQueue, Time};

use super::{Event, HostInterfaceView, Kind, Machine, TIMER};

impl Machine {
    /// Bytes of the host's memory that the controller may use now (NVMe: the Host Memory Buffer).
    pub fn host_memory_bytes(&self) -> u64 {
        self.host_interface.host_memory_bytes()
    }

    /// The translation layer starts with what the driver has lent the controller.
    pub(super) fn enable_host_memory(&mut self) {
        if self.host_interface.host_memory_bytes() > 0 {
            self.ftl.enable_host_memory();
        }
    }

    /// The host's administrator switches the Host Memory Buffer on or off (Linux: `/sys/class/nvme/nvmeN/hmb`): a Set
    /// Features command is on its way. Before one that takes the memory back ends, the controller has fetched from it what
    /// it needs; meanwhile it serves commands. False if a command is under way already, or there is nothing to switch.
    pub fn switch_host_memory(&mut self, now: Time, on: bool) -> bool {
        self.host_interface.switch_host_memory(now, on, &mut HostInterfaceView::<true>(&mut self.world))
    }

    /// The controller is reset after the last event handled, and set up again at once: requests under way are gone and
    /// will not be completed; the flash goes on, and what is in the controller's own memory stays. The driver returns the
    /// Host Memory Buffer as it was (`keep`), or what was in it is lost: then the clock is where the controller has found
    /// again what it alone had of the map.
    pub fn reset_controller(&mut self, keep: bool) -> HostMemoryLoss {
        let (now, events) = (self.now(), self.events());
        self.forget_all_but_flash(now);
        self.handled(events);
        let (_, kept) = self.host_interface.reset(now, keep);
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

    /// Nobody is served until `until`; what the flash is at goes on.
    fn pass(&mut self, until: Time) -> Time {
        if until > self.now() {
            let mut ends = Vec::new();
            self.world.queue.push(TIMER, until, Event::default());
            let ended = self.advance(until, &mut ends);
            assert!(!ended && ends.is_empty(), "a request ends that is gone: {ends:?}");
        }
        until
    }

    /// Events of host, link and front end do not come any more; those of the flash do.
    fn forget_all_but_flash(&mut self, now: Time) {
        let mut kept = Vec::new();
        while let Some((at, event)) = self.world.queue.pop() {
            if event.of_flash().is_some() || event.kind == Kind::Timer {
                kept.push((at, event));
            }
        }
        self.world.queue = EventQueue::new(TIMER.0 as usize + 1);
        self.world.queue.push(TIMER, now, Event::default());
        self.world.queue.pop();
        for (at, event) in kept {
            self.world.queue.push(TIMER, at, event);
        }
    }
}
