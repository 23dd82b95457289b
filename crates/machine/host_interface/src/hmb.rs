//! The Host Memory Buffer between driver and controller: its commands and their timing.

use device::hmb::{Change, DESCRIPTOR, Descriptor, Hmb, Identify, SetFeatures, UNIT};
use host::hmb::{HmbConfig, Offer, Wish, Without};
use link::Pcie;
use sim::Time;

/// Effect of a Set Features command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switched {
    /// The controller may use the buffer, which is empty.
    Enabled,
    /// The host wants the buffer back: the controller has to fetch the data it still needs.
    Releasing,
}

/// The driver's and the controller's side of the buffer.
#[derive(Clone, Debug)]
pub struct HostMemory {
    driver: host::hmb::Hmb,
    controller: Hmb,
    /// Bytes of a memory page of the host.
    page: u64,
    /// True if the administrator allows a buffer (Linux: `/sys/class/nvme/nvmeN/hmb`).
    wanted: bool,
    /// The command in progress and its descriptor list.
    command: Option<(SetFeatures, Vec<Descriptor>)>,
}

/// Returns the bytes that the host of `config` lends to a controller with the fields `identify`, as far as the
/// controller can use them; 0 if none.
pub fn lent(config: HmbConfig, identify: Identify, page: u64) -> u64 {
    HostMemory::new(config, identify, page).bytes()
}

impl HostMemory {
    /// Creates the buffer as the driver sets it up: enabled, if the controller wants one and the host has memory for
    /// it.
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

    /// Returns the bytes that the controller may currently use.
    pub fn bytes(&self) -> u64 {
        self.controller.bytes()
    }

    /// Sets the controller up: allocates the buffer or returns the existing one. Returns true if the buffer still has
    /// its contents.
    fn set_up(&mut self) -> bool {
        let Ok((command, list)) = self.offer() else { return false };
        let change = self.controller.set_features(command, &list);
        match change {
            Ok(Change::Enabled { kept }) => kept,
            // The controller works without a buffer.
            _ => {
                self.driver.free();
                false
            }
        }
    }

    /// Returns the command that enables the buffer, and its descriptors.
    fn offer(&mut self) -> Result<(SetFeatures, Vec<Descriptor>), Without> {
        let Identify { hmpre, hmmin, hmminds, hmmaxd } = self.controller.identify();
        let wish = Wish {
            preferred: u64::from(hmpre) * UNIT,
            minimum: u64::from(hmmin) * UNIT,
            extent_bytes_min: u64::from(hmminds) * UNIT,
            extents_max: u32::from(hmmaxd),
        };
        let Offer { returned, list, extents } = self.driver.set_up(&wish)?;
        let pages = |bytes: u64| (bytes / self.page) as u32;
        let descriptors: Vec<Descriptor> =
            extents.iter().map(|(address, bytes)| Descriptor { address: *address, pages: pages(*bytes) }).collect();
        let command = SetFeatures {
            enable: true,
            memory_return: returned,
            size: descriptors.iter().map(|entry| entry.pages).sum(),
            list,
            entries: descriptors.len() as u32,
        };
        Ok((command, descriptors))
    }

    /// Switches the buffer on or off. Returns the time at which the command and its descriptor list are in the
    /// controller, or `None` if a command is already in progress or nothing would change.
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

    /// Handles the command's arrival at the controller. Returns its effect, or `None` if the controller aborts it and
    /// works without the buffer.
    pub fn arrived(&mut self) -> Option<Switched> {
        let (command, list) = self.command.take().expect("a command in progress");
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

    /// Completes the command that takes the buffer back, once the controller no longer needs it.
    pub fn released(&mut self) {
        self.controller.released();
        self.command = None;
        self.driver.free();
    }

    /// Resets the controller. The driver then sets it up again, with the same memory (`keep`) or with other memory.
    /// Returns true if the buffer still has its contents.
    pub fn reset(&mut self, keep: bool) -> bool {
        let was = self.controller.is_enabled();
        self.controller.reset();
        if self.command.take().is_some() || !keep || !self.wanted {
            self.driver.free();
        }
        self.wanted && self.set_up() && was
    }

    /// Cuts and restores the power of host and device.
    pub fn power_cut(&mut self) {
        self.controller.power_cut();
        self.command = None;
        self.driver.free();
        self.wanted = true;
        self.set_up();
    }
}
