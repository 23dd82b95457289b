//! A zoned namespace at the registers (NVM Express Zoned Namespace Command Set Specification 1.1).
//!
//! States, write pointers and limits are those of the translation layer, which the machine around the controller owns:
//! this module turns commands into its requests, and its answers into completions and data.
//!
//! Assumed, because the text of the specification was not available: fields and status codes are those that Linux, QEMU
//! and nvme-cli use.

mod commands;
mod identify;
mod report;

use super::Controller;
use super::namespaces::Namespace;

/// I/O command set of NVM commands (CSI).
pub(super) const NVM: u8 = 0;
/// I/O command set of zoned namespaces.
pub(super) const ZONED: u8 = 2;
/// I/O command sets in use (CC.CSS): the NVM command set only, or all that the controller supports.
pub(super) const ONLY_NVM: u32 = 0b000;
pub(super) const ALL_SETS: u32 = 0b110;

/// Zones of namespace 1; sizes are in its logical blocks.
pub(super) type Shape = zones::Config;

impl Controller {
    /// Returns true if the controller has a zoned namespace, and so supports more than one I/O command set.
    pub(super) fn has_zones(&self) -> bool {
        self.zones.is_some()
    }

    /// Returns the namespace with this identifier if the host can use it: one that is attached, a zoned one only with all
    /// command sets.
    pub(super) fn active(&self, identifier: u32) -> Option<&Namespace> {
        let sees_zones = self.registers.command_set() == ALL_SETS;
        self.namespaces.get(identifier).filter(|namespace| namespace.is_attached && (!namespace.is_zoned || sees_zones))
    }
}
