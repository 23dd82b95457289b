//! The Host Memory Buffer between driver and controller: who asks whom for what, and when that arrives.

use device::hmb::{Change, DESCRIPTOR, Descriptor, Hmb, Identify, SetFeatures, UNIT};
use host::hmb::{HmbConfig, Offer, Wish, Without};
use link::Pcie;
use sim::Time;

/// What a Set Features command has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switched {
    /// The controller may use the buffer; there is nothing in it.
    Enabled,
    /// The host wants it back: what the controller needs of it is to be fetched.
    Releasing,
}

/// Both sides of it.
#[derive(Clone, Debug)]
pub struct HostMemory {
    driver: host::hmb::Hmb,
    controller: Hmb,
    /// Bytes of a memory page of the host.
    page: u64,
    /// The administrator wants the controller to have one (Linux: `/sys/class/nvme/nvmeN/hmb`).
    wanted: bool,
    /// A command under way, and its list.
    command: Option<(SetFeatures, Vec<Descriptor>)>,
}

/// Bytes that the host of `config` lends to the controller that says `identify`, as far as it can use them; 0: none.
pub fn lent(config: HmbConfig, identify: Identify, page: u64) -> u64 {
    HostMemory::new(config, identify, page).bytes()
}

impl HostMemory {
    /// As it is once the driver has set the controller up: enabled, if the one has a use for a buffer and the other memory.
    pub fn new(config: HmbConfig, identify: Identify, page: u64) -> HostMemory {
        let mut memory = HostMemory {
            driver: host::hmb::Hmb::new(config),
            controller: Hmb::new(identify, page),
            page,
            wanted: true,
            command: None,
        };
        memory.set_up();
        memory
    }

    /// Bytes that the controller can use, while it may.
    pub fn bytes(&self) -> u64 {
        self.controller.bytes()
    }

    /// The driver sets the controller up: it allocates, or returns what it has. True if the controller has what was in
    /// it before.
    fn set_up(&mut self) -> bool {
        let Ok((command, list)) = self.offer() else { return false };
        let change = self.controller.set_features(command, &list);
        match change {
            Ok(Change::Enabled { kept }) => kept,
            // The controller works without.
            _ => {
                self.driver.free();
                false
            }
        }
    }

    /// The command that enables it.
    fn offer(&mut self) -> Result<(SetFeatures, Vec<Descriptor>), Without> {
        let Identify { hmpre, hmmin, hmminds, hmmaxd } = self.controller.identify();
        let wish = Wish {
            preferred: u64::from(hmpre) * UNIT,
            minimum: u64::from(hmmin) * UNIT,
            piece: u64::from(hmminds) * UNIT,
            pieces: u32::from(hmmaxd),
        };
        let Offer { returned, list, pieces } = self.driver.set_up(&wish)?;
        let pages = |bytes: u64| (bytes / self.page) as u32;
        let descriptors: Vec<Descriptor> =
            pieces.iter().map(|(address, bytes)| Descriptor { address: *address, pages: pages(*bytes) }).collect();
        let command = SetFeatures {
            enable: true,
            memory_return: returned,
            size: descriptors.iter().map(|entry| entry.pages).sum(),
            list,
            entries: descriptors.len() as u32,
        };
        Ok((command, descriptors))
    }

    /// The administrator switches it on or off. Returns when the command, and the list that it points to, is in the
    /// controller; `None` if one is under way, or there is nothing to change.
    pub fn switch(&mut self, now: Time, on: bool, link: &mut Pcie) -> Option<Time> {
        if self.command.is_some() || self.wanted == on {
            return None;
        }
        let (command, list) = if on { self.offer().ok()? } else { (SetFeatures::DISABLE, Vec::new()) };
        self.wanted = on;
        let arrives = link.submission(now, now);
        let listed = if on { link.fetch(arrives, list.len() as u32 * DESCRIPTOR) } else { arrives };
        self.command = Some((command, list));
        Some(listed)
    }

    /// The command is in the controller. What it comes to; `None` where the controller aborts it, and works without.
    pub fn arrived(&mut self) -> Option<Switched> {
        let (command, list) = self.command.take().expect("a command is under way");
        match self.controller.set_features(command, &list) {
            Ok(Change::Enabled { .. }) => Some(Switched::Enabled),
            Ok(Change::Releasing) => {
                self.command = Some((command, list));
                Some(Switched::Releasing)
            }
            Ok(Change::Nothing) => None,
            Err(_) => {
                self.driver.free();
                None
            }
        }
    }

    /// The controller needs nothing of it any more: the command that took it back has ended.
    pub fn released(&mut self) {
        self.controller.released();
        self.command = None;
        self.driver.free();
    }

    /// The controller is reset, and set up again by the driver, which returns the memory as it was (`keep`) or gives
    /// other. True if what was in it is there.
    pub fn reset(&mut self, keep: bool) -> bool {
        let was = self.controller.is_enabled();
        self.controller.reset();
        if self.command.take().is_some() || !keep || !self.wanted {
            self.driver.free();
        }
        self.wanted && self.set_up() && was
    }

    /// The power of host and device is cut, and comes back.
    pub fn power_cut(&mut self) {
        self.controller.power_cut();
        self.command = None;
        self.driver.free();
        self.wanted = true;
        self.set_up();
    }
}
