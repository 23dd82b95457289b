//! FDP events (5.1.12.1.31), which the host enables for each handle.

use std::collections::VecDeque;

use sim::Time;

use super::super::Controller;
use super::PlacementConfig;

/// Supported types.
pub(super) const TYPES: [u8; 4] = [NOT_FULLY_WRITTEN, INVALID_IDENTIFIER, REALLOCATED, MODIFIED];
const NOT_FULLY_WRITTEN: u8 = 0x00;
const INVALID_IDENTIFIER: u8 = 0x03;
const REALLOCATED: u8 = 0x80;
const MODIFIED: u8 = 0x81;

/// Bytes of the log page and of an event; the header takes the room of one.
const PAGE: usize = 4096;
const BYTES: usize = 64;
const EVENTS_MAX: usize = PAGE / BYTES - 1;

/// Flags of an event: its placement identifier, namespace, or handle is valid.
const IDENTIFIER_VALID: u8 = 1;
const NAMESPACE_VALID: u8 = 1 << 1;
const LOCATION_VALID: u8 = 1 << 2;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlacementEvent {
    /// The host updated a handle whose reclaim unit was not fully written.
    NotFullyWritten { handle: u16, namespace: u32 },
    /// A write named a handle that does not exist, so that it used the first.
    InvalidIdentifier { identifier: u16, namespace: u32 },
    /// Collection moved data of an initially isolated handle out of a block.
    Reallocated { handle: u16, blocks: u64 },
    /// A handle left a block because a program failed there.
    Modified { handle: u16 },
}

impl PlacementEvent {
    /// Returns the type, the handle for which it must be enabled, and the placement identifier.
    const fn fields(self) -> (u8, u16, u16) {
        match self {
            PlacementEvent::NotFullyWritten { handle, .. } => (NOT_FULLY_WRITTEN, handle, handle),
            PlacementEvent::InvalidIdentifier { identifier, .. } => (INVALID_IDENTIFIER, 0, identifier),
            PlacementEvent::Reallocated { handle, .. } => (REALLOCATED, handle, handle),
            PlacementEvent::Modified { handle } => (MODIFIED, handle, handle),
        }
    }

    /// Returns the event as it stands in the log, `timestamp` being that of the feature.
    fn bytes(self, timestamp: u64) -> [u8; BYTES] {
        let (kind, handle, identifier) = self.fields();
        let mut bytes = [0; BYTES];
        bytes[0] = kind;
        bytes[1] = IDENTIFIER_VALID | LOCATION_VALID;
        bytes[2..4].copy_from_slice(&identifier.to_le_bytes());
        bytes[4..12].copy_from_slice(&timestamp.to_le_bytes());
        if let PlacementEvent::NotFullyWritten { namespace, .. } | PlacementEvent::InvalidIdentifier { namespace, .. } =
            self
        {
            bytes[1] |= NAMESPACE_VALID;
            bytes[12..16].copy_from_slice(&namespace.to_le_bytes());
        }
        if let PlacementEvent::Reallocated { blocks, .. } = self {
            // NLBAM. The blocks are not contiguous, so that no first one is valid.
            bytes[18..20].copy_from_slice(&blocks.min(u64::from(u16::MAX)).to_le_bytes()[..2]);
        }
        bytes[34] = handle as u8; // RUHID, in reclaim group 0
        bytes
    }
}

/// Events of an endurance group.
#[derive(Clone, Debug)]
pub(super) struct Events {
    /// Types enabled for each handle, a bit each in the order of [`TYPES`].
    enabled: Vec<u8>,
    /// Events caused by the host, and by the controller, oldest first.
    of_host: VecDeque<[u8; BYTES]>,
    of_controller: VecDeque<[u8; BYTES]>,
}

impl Events {
    pub fn new(config: PlacementConfig) -> Events {
        let enabled = vec![0; usize::from(config.handles)];
        Events { enabled, of_host: VecDeque::new(), of_controller: VecDeque::new() }
    }

    /// Disables all types.
    pub fn disable(&mut self) {
        self.enabled.fill(0);
    }

    /// Enables or disables `types` for `handle`, or returns `None` if there is one that is not supported.
    pub fn enable(&mut self, handle: u16, types: &[u8], on: bool) -> Option<()> {
        let mask = types.iter().try_fold(0, |mask, kind| Some(mask | bit_of(*kind)?))?;
        let enabled = self.enabled.get_mut(usize::from(handle))?;
        *enabled = if on { *enabled | mask } else { *enabled & !mask };
        Some(())
    }

    /// Returns each supported type and its attributes for `handle`, with those enabled at present or by default.
    pub fn list(&self, handle: u16, current: bool) -> Vec<[u8; 2]> {
        let enabled = self.enabled.get(usize::from(handle)).copied().filter(|_| current).unwrap_or(0);
        (0..).zip(TYPES).map(|(at, kind)| [kind, enabled >> at & 1]).collect()
    }

    /// Adds an event if it is enabled; the oldest makes room.
    fn record(&mut self, event: PlacementEvent, timestamp: u64) {
        let (kind, handle, _) = event.fields();
        let enabled = self.enabled.get(usize::from(handle)).copied().unwrap_or(0);
        if bit_of(kind).is_none_or(|bit| enabled & bit == 0) {
            return;
        }
        let list = if kind < REALLOCATED { &mut self.of_host } else { &mut self.of_controller };
        if list.len() == EVENTS_MAX {
            list.pop_front();
        }
        list.push_back(event.bytes(timestamp));
    }

    /// Returns the log page of the host's events, or of the controller's.
    pub fn page(&self, of_host: bool) -> Vec<u8> {
        let list = if of_host { &self.of_host } else { &self.of_controller };
        let mut page = vec![0; BYTES];
        page[..4].copy_from_slice(&(list.len() as u32).to_le_bytes());
        page.extend(list.iter().flatten());
        page.resize(PAGE, 0);
        page
    }
}

/// Returns the bit of a supported type.
fn bit_of(kind: u8) -> Option<u8> {
    TYPES.iter().position(|supported| *supported == kind).map(|at| 1 << at)
}

impl Controller {
    /// Records an event if it is enabled.
    pub(super) fn record_placement(&mut self, now: Time, event: PlacementEvent) {
        let timestamp = self.features.timestamp(now);
        if let Some(placement) = &mut self.placement {
            placement.events.record(event, timestamp);
        }
    }

    /// Records that collection moved `units` mapping units of `handle`.
    pub(in super::super) fn units_reallocated(&mut self, now: Time, handle: u8, units: u32) {
        let shift = self.namespaces.get(1).map_or(9, |namespace| namespace.shift());
        let blocks = (u64::from(units) * self.unit) >> shift;
        self.record_placement(now, PlacementEvent::Reallocated { handle: u16::from(handle), blocks });
    }

    /// Records that `handle` left a block.
    pub(in super::super) fn handle_left(&mut self, now: Time, handle: u8) {
        self.record_placement(now, PlacementEvent::Modified { handle: u16::from(handle) });
    }
}
