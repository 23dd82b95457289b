//! What a machine waits for, in eight bytes.

use media::OpId;

/// What the machine waits for: what it is, and of what (a tag, a die, a queue and its command), in eight bytes.
///
/// The parts' own events are folded into one number, so that an event is moved and told from others in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub kind: Kind,
    pub of: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Array,
    Transfer,
    Ended,
    Decoded,
    Reaped,
    Wake,
    /// The translation layer's timer.
    #[default]
    Timer,
    Suspend,
    FlashDecoded,
    Fetched,
    Listed,
    Arrived,
    Coalesced,
    Doorbell,
    Issued,
    HostMemory,
    Step,
}

/// Two halves of a word.
#[inline(always)]
const fn pair(high: u16, low: u16) -> u32 {
    (high as u32) << 16 | low as u32
}

impl From<host_interface::Event> for Event {
    #[inline(always)]
    fn from(event: host_interface::Event) -> Event {
        use device::Event as Device;
        let (kind, of) = match event {
            host_interface::Event::Device(Device::Decoded(tag)) => (Kind::Decoded, u32::from(tag)),
            host_interface::Event::Device(Device::Ended(tag)) => (Kind::Ended, u32::from(tag)),
            host_interface::Event::Device(Device::Fetched(tag)) => (Kind::Fetched, u32::from(tag)),
            host_interface::Event::Device(Device::Listed(tag)) => (Kind::Listed, u32::from(tag)),
            host_interface::Event::Device(Device::Arrived(tag)) => (Kind::Arrived, u32::from(tag)),
            host_interface::Event::Device(Device::Coalesced { queue, epoch }) => (Kind::Coalesced, pair(queue, epoch)),
            host_interface::Event::Host(host::Event { queue, cid }) => (Kind::Reaped, pair(queue, cid)),
            host_interface::Event::Doorbell { queue, cid } => (Kind::Doorbell, pair(queue, cid)),
            host_interface::Event::Issued(slot) => (Kind::Issued, u32::from(slot)),
            host_interface::Event::HostMemory(id) => (Kind::HostMemory, id),
            host_interface::Event::Step { step, of } => {
                debug_assert!(of < 1 << 24, "step {step} of {of}");
                (Kind::Step, u32::from(step) << 24 | of)
            }
        };
        Event { kind, of }
    }
}

impl From<nand::Event> for Event {
    #[inline(always)]
    fn from(event: nand::Event) -> Event {
        let (kind, of) = match event {
            nand::Event::Array(die) => (Kind::Array, u32::from(die)),
            nand::Event::Transfer(channel) => (Kind::Transfer, u32::from(channel)),
            nand::Event::Wake(channel) => (Kind::Wake, u32::from(channel)),
            nand::Event::Suspend(die) => (Kind::Suspend, u32::from(die)),
            nand::Event::Decoded(id) => (Kind::FlashDecoded, id.0),
        };
        Event { kind, of }
    }
}

impl Event {
    /// The flash's event that this is, if it is one of the flash.
    #[inline(always)]
    pub fn of_flash(self) -> Option<nand::Event> {
        Some(match self.kind {
            Kind::Array => nand::Event::Array(self.of as u16),
            Kind::Transfer => nand::Event::Transfer(self.of as u16),
            Kind::Wake => nand::Event::Wake(self.of as u16),
            Kind::Suspend => nand::Event::Suspend(self.of as u16),
            Kind::FlashDecoded => nand::Event::Decoded(OpId(self.of)),
            _ => return None,
        })
    }

    /// The event of the path above the translation layer that this is.
    ///
    /// # Panics
    /// If it is another's.
    pub fn of_host_interface(self) -> host_interface::Event {
        use device::Event as Device;
        let (high, low) = ((self.of >> 16) as u16, self.of as u16);
        match self.kind {
            Kind::Decoded => host_interface::Event::Device(Device::Decoded(low)),
            Kind::Ended => host_interface::Event::Device(Device::Ended(low)),
            Kind::Reaped => host_interface::Event::Host(host::Event { queue: high, cid: low }),
            Kind::Fetched => host_interface::Event::Device(Device::Fetched(low)),
            Kind::Listed => host_interface::Event::Device(Device::Listed(low)),
            Kind::Arrived => host_interface::Event::Device(Device::Arrived(low)),
            Kind::Coalesced => host_interface::Event::Device(Device::Coalesced { queue: high, epoch: low }),
            Kind::Doorbell => host_interface::Event::Doorbell { queue: high, cid: low },
            Kind::Issued => host_interface::Event::Issued(low),
            Kind::HostMemory => host_interface::Event::HostMemory(self.of),
            Kind::Step => host_interface::Event::Step { step: (self.of >> 24) as u8, of: self.of & 0xff_ffff },
            Kind::Timer | Kind::Array | Kind::Transfer | Kind::Wake | Kind::Suspend | Kind::FlashDecoded => {
                unreachable!("{self:?} is not the path's")
            }
        }
    }
}
