//! A machine whose host is outside the simulation: the host acts on the controller at times of its choice, and payload
//! goes to and from its memory.

use ftl::HostMemoryLoss;
use ftl::config::HostMemory;
use host_interface::external::{External, host_memory_lane};
use host_interface::{Event as InterfaceEvent, HostInterface};
use media::{Op, OpId, Request, SECTOR, Tag};
use nand::{Nand, PayloadKind};
use sim::{Schedule, Time};
use system::parts::{Parts, Translation};
use zones::Zones;

use super::{HostInterfaceView, Machine};

impl Machine {
    /// Creates a machine of `parts` at time zero whose controller is `interface`, over the flash `nand`.
    ///
    /// # Panics
    /// Panics if the parts keep no payload of whole sectors, which an external host needs.
    pub fn for_external_host(parts: &Parts, interface: Box<dyn External>, ftl: Translation, nand: Nand) -> Machine {
        assert_eq!(parts.nand.payload, PayloadKind::Bytes, "payload for an external host");
        Machine::with_interface(parts, HostInterface::External(interface), ftl, nand)
    }

    /// Lets the host act on its controller at `now`, which must not be before the last event handled. All events
    /// before `now` must have been handled.
    ///
    /// # Panics
    /// Panics if the host is simulated.
    pub fn host_acts<R>(
        &mut self,
        now: Time,
        act: impl FnOnce(&mut dyn External, &mut dyn Schedule<InterfaceEvent>) -> R,
    ) -> R {
        assert!(self.next_event().is_none_or(|next| next >= now), "the host acts at {now}, before pending events");
        let HostInterface::External(interface) = &mut self.host_interface else { panic!("the host is simulated") };
        act(&mut **interface, &mut HostInterfaceView(&mut self.world))
    }

    /// Like [`host_acts`](Self::host_acts), for a host that looks at the zones or takes some offline.
    ///
    /// # Panics
    /// Panics if the host is simulated, or the drive has no zones.
    pub fn host_acts_on_zones<R>(
        &mut self,
        now: Time,
        act: impl FnOnce(&mut dyn External, &mut Zones, &mut dyn Schedule<InterfaceEvent>) -> R,
    ) -> R {
        assert!(self.next_event().is_none_or(|next| next >= now), "the host acts at {now}, before pending events");
        let HostInterface::External(interface) = &mut self.host_interface else { panic!("the host is simulated") };
        let zones = self.ftl.zones_mut().expect("a drive with zones");
        act(&mut **interface, zones, &mut HostInterfaceView(&mut self.world))
    }

    /// Returns the controller of an external host.
    ///
    /// # Panics
    /// Panics if the host is simulated.
    pub fn external(&self) -> &dyn External {
        let HostInterface::External(interface) = &self.host_interface else { panic!("the host is simulated") };
        &**interface
    }

    /// Drops all that is in progress in host, link and controller at `now`, while flash operations continue: the part
    /// of a reset below the registers. The Host Memory Buffer counts as returned with its contents until
    /// [`lose_host_memory`](Self::lose_host_memory).
    ///
    /// Returns the time in which the controller recovers what was lost because the buffer was just being released.
    pub fn drop_commands(&mut self, now: Time) -> Time {
        self.forget_all_but_flash(now);
        self.out.actions.clear();
        self.out.moves.clear();
        self.outputs.clear();
        self.barriers.clear();
        let loss = self.ftl.controller_reset(true, self.nand.store());
        self.ftl.resume(&mut self.out);
        self.perform(now);
        self.recovery(&loss)
    }

    /// Records that the host did not return the Host Memory Buffer after a reset. Returns the loss and the time in
    /// which the controller recovers the map entries that were nowhere else.
    pub fn lose_host_memory(&mut self, now: Time) -> (HostMemoryLoss, Time) {
        let loss = self.ftl.controller_reset(false, self.nand.store());
        self.ftl.resume(&mut self.out);
        self.perform(now);
        (loss, self.recovery(&loss))
    }

    /// Returns the time of the page reads that recover lost map entries.
    fn recovery(&self, loss: &HostMemoryLoss) -> Time {
        let timing = &self.nand.config().timing;
        loss.time(timing.read[0] + timing.read_command)
    }

    /// Handles the end of an access that found damaged map entries in host memory: it ends again once the entries that
    /// were nowhere else are recovered.
    pub(super) fn access_damaged(&mut self, now: Time, id: OpId) {
        let loss = self.ftl.host_memory_damaged(id, self.nand.store(), &mut self.out);
        let at = now + self.recovery(&loss);
        HostInterfaceView(&mut self.world).at(host_memory_lane(), at, InterfaceEvent::HostMemory(id.0));
    }

    /// Lets the translation layer use `memory` of the host.
    pub fn lend_host_memory(&mut self, memory: HostMemory) {
        self.ftl.enable_lent_memory(memory);
    }

    /// Opens the data of a command of an external host.
    pub(super) fn open_external(&mut self, tag: Tag, request: &Request) {
        let sectors = if request.op.has_data() { request.bytes / SECTOR } else { 0 };
        self.data.open(tag, sectors as u32);
        if request.op == Op::Append
            && let HostInterface::External(interface) = &mut self.host_interface
        {
            interface.placed(tag, self.ftl.placed(request).offset);
        }
    }
}
