//! Flexible Data Placement, of a system with reclaim unit handles. Section numbers in this folder refer to the NVM
//! Express Base Specification 2.1, where 8.1.10 describes it.
//!
//! The drive is one endurance group with one reclaim group, and FDP is always enabled in it. Every namespace has a
//! placement handle for each reclaim unit handle, with the same number; so a placement identifier, whose format has no
//! bits for a reclaim group, is the number of a handle. No time limit for reclaim units is modeled.

mod directives;
mod events;
mod features;
mod logs;
mod management;

use ftl::config::{Isolation, Placement as Handles};
use storage::PlacementBytes;

use super::Controller;
use crate::entry::{Entry, Status, opcode};
use events::Events;
use events::PlacementEvent;
pub(super) use logs::{ENDURANCE_GROUP_LOG, put_controller, put_namespace};

/// The endurance group.
pub(super) const ENDURANCE_GROUP: u16 = 1;

/// Configuration of placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementConfig {
    /// Number of reclaim unit handles, at most 16.
    pub handles: u16,
    /// Their type: persistently isolated, or initially.
    pub persistent: bool,
}

impl From<Handles> for PlacementConfig {
    fn from(Handles { handles, isolation }: Handles) -> PlacementConfig {
        PlacementConfig { handles: handles as u16, persistent: isolation == Isolation::Persistent }
    }
}

/// The part of placement that the translation layer supplies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacementState {
    /// Bytes since the translation layer was mounted.
    pub bytes: PlacementBytes,
    /// Nominal bytes of a reclaim unit.
    pub unit_bytes: u64,
    /// Bytes that can still be written to the reclaim unit of each handle.
    pub left: Vec<u64>,
}

/// State of placement in the controller.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    config: PlacementConfig,
    /// Bytes up to the last mount of the translation layer.
    before: PlacementBytes,
    events: Events,
}

impl Placement {
    pub fn new(config: PlacementConfig) -> Placement {
        Placement { config, before: PlacementBytes::default(), events: Events::new(config) }
    }

    /// Disables all events, like a reset does. Those that were recorded stay.
    pub fn reset(&mut self) {
        self.events.disable();
    }

    /// Returns the bytes since the drive was made, of which `bytes` are since the last mount.
    pub fn total(&self, bytes: PlacementBytes) -> PlacementBytes {
        self.before + bytes
    }

    /// Continues after a mount of the translation layer, with `total` bytes so far.
    pub fn mounted(&mut self, total: PlacementBytes) {
        self.before = total;
    }
}

/// Directive types (8.1.8).
const DATA_PLACEMENT: u32 = 2;

/// Returns the placement identifier of a write (fields DTYPE and DSPEC), if it has one.
const fn identifier(entry: &Entry) -> Option<u16> {
    if entry.dword(12) >> 20 & 15 == DATA_PLACEMENT { Some((entry.dword(13) >> 16) as u16) } else { None }
}

impl Controller {
    /// Returns the handle whose reclaim unit takes the data of a write: the first if it names none, or one that does
    /// not exist. A drive without placement ignores the directive fields, like every drive without directives.
    ///
    /// # Errors
    /// Fails if the write uses another directive.
    pub(super) fn handle_of(&self, entry: &Entry) -> Result<u16, Status> {
        let Some(placement) = &self.placement else { return Ok(0) };
        match (identifier(entry), entry.dword(12) >> 20 & 15) {
            (Some(identifier), _) if identifier < placement.config.handles => Ok(identifier),
            (Some(_), _) | (None, 0) => Ok(0),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Continues after a mount of the translation layer, which had counted `bytes` since the one before.
    pub fn count_before_mount(&mut self, bytes: PlacementBytes) {
        if let Some(placement) = &mut self.placement {
            placement.mounted(placement.total(bytes));
        }
    }

    /// Records an event if a write names a handle that does not exist.
    pub(super) fn check_identifier(&mut self, now: sim::Time, entry: &Entry) {
        let Some(placement) = &self.placement else { return };
        if let Some(identifier) = identifier(entry).filter(|_| matches!(entry.opcode(), opcode::WRITE | opcode::COPY))
            && identifier >= placement.config.handles
        {
            let event = PlacementEvent::InvalidIdentifier { identifier, namespace: entry.namespace() };
            self.record_placement(now, event);
        }
    }
}
