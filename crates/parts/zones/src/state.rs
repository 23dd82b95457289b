//! The state of every zone, and the open and active zones.

use std::collections::VecDeque;

use crate::Refusal;
use crate::config::{Config, ConfigError};

/// State of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZoneState {
    /// Nothing is written.
    Empty,
    /// Opened by a write.
    ImplicitlyOpen,
    /// Opened by a command.
    ExplicitlyOpen,
    /// Partly written, and not open.
    Closed,
    /// Written to its capacity, or finished.
    Full,
    /// Can only be read.
    ReadOnly,
    /// Cannot be used.
    Offline,
}

impl ZoneState {
    /// All states, in the order of their codes.
    pub const ALL: [ZoneState; 7] = [
        ZoneState::Empty,
        ZoneState::ImplicitlyOpen,
        ZoneState::ExplicitlyOpen,
        ZoneState::Closed,
        ZoneState::Full,
        ZoneState::ReadOnly,
        ZoneState::Offline,
    ];

    /// Returns true if the zone counts against the limit of open zones.
    pub const fn is_open(self) -> bool {
        matches!(self, ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen)
    }

    /// Returns true if the zone counts against the limit of active zones.
    pub const fn is_active(self) -> bool {
        matches!(self, ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen | ZoneState::Closed)
    }

    /// Returns the state's code in a zone descriptor.
    pub const fn code(self) -> u8 {
        match self {
            ZoneState::Empty => 0x1,
            ZoneState::ImplicitlyOpen => 0x2,
            ZoneState::ExplicitlyOpen => 0x3,
            ZoneState::Closed => 0x4,
            ZoneState::ReadOnly => 0xd,
            ZoneState::Full => 0xe,
            ZoneState::Offline => 0xf,
        }
    }
}

/// A zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Zone {
    pub(crate) state: ZoneState,
    /// Logical blocks written since the last reset: the distance of the write pointer from the zone's start.
    pub(crate) written: u64,
}

/// The zones of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Zones {
    config: Config,
    all: Vec<Zone>,
    /// Implicitly open zones, the one written longest ago first. Empty if open zones are not limited.
    implicit: VecDeque<u32>,
    open: u32,
    active: u32,
}

impl Zones {
    /// Creates empty zones.
    ///
    /// # Errors
    /// If the configuration cannot work.
    pub fn new(config: Config) -> Result<Zones, ConfigError> {
        config.check()?;
        let all = vec![Zone { state: ZoneState::Empty, written: 0 }; config.zones as usize];
        Ok(Zones { config, all, implicit: VecDeque::new(), open: 0, active: 0 })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the state of zone `zone`.
    pub fn state(&self, zone: u32) -> ZoneState {
        self.all[zone as usize].state
    }

    /// Returns the number of logical blocks of zone `zone` that were written since its last reset, whatever its state.
    pub fn written(&self, zone: u32) -> u64 {
        self.all[zone as usize].written
    }

    /// Returns the number of open zones.
    pub fn open_count(&self) -> u32 {
        self.open
    }

    /// Returns the number of active zones.
    pub fn active_count(&self) -> u32 {
        self.active
    }

    /// Returns the zone that `block` belongs to.
    pub fn zone_of(&self, block: u64) -> Option<u32> {
        let zone = block / self.config.size;
        (zone < u64::from(self.config.zones)).then_some(zone as u32)
    }

    /// Returns the first logical block of `zone`.
    ///
    /// # Panics
    /// If there is no such zone.
    pub fn start(&self, zone: u32) -> u64 {
        assert!(zone < self.config.zones, "zone {zone} of {}", self.config.zones);
        u64::from(zone) * self.config.size
    }

    pub(crate) fn get(&self, zone: u32) -> Zone {
        self.all[zone as usize]
    }

    /// Puts `zone` into `state`, and keeps the counts.
    pub(crate) fn set_state(&mut self, zone: u32, state: ZoneState) {
        let before = std::mem::replace(&mut self.all[zone as usize].state, state);
        if before == ZoneState::ImplicitlyOpen {
            self.implicit.retain(|other| *other != zone);
        }
        if state == ZoneState::ImplicitlyOpen && self.config.open_max.is_some() {
            self.implicit.push_back(zone);
        }
        self.open = self.open + u32::from(state.is_open()) - u32::from(before.is_open());
        self.active = self.active + u32::from(state.is_active()) - u32::from(before.is_active());
        debug_assert!(self.config.open_max.is_none_or(|most| self.open <= most));
        debug_assert!(self.config.active_max.is_none_or(|most| self.active <= most));
    }

    /// Sets the write pointer of `zone` to `written` blocks from its start.
    pub(crate) fn set_written(&mut self, zone: u32, written: u64) {
        debug_assert!(written <= self.config.capacity);
        self.all[zone as usize].written = written;
    }

    /// Makes room for `zone`, which is not open, to be opened: closes an implicitly open zone if the limit of open zones
    /// is reached, and returns it.
    pub(crate) fn make_room(&mut self, zone: u32) -> Result<Option<u32>, Refusal> {
        if !self.state(zone).is_active() && self.config.active_max == Some(self.active) {
            return Err(Refusal::TooManyActive);
        }
        if self.config.open_max != Some(self.open) {
            return Ok(None);
        }
        let oldest = *self.implicit.front().ok_or(Refusal::TooManyOpen)?;
        self.set_state(oldest, ZoneState::Closed);
        Ok(Some(oldest))
    }
}
