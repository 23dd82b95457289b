//! Reads, writes and appends.

use crate::Refusal;
use crate::state::{ZoneState, Zones};

/// Effect of a command on zones other than the change that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// None.
    Nothing,
    /// This implicitly open zone was closed to make room for another.
    Closed(u32),
}

/// A write or append that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The zone.
    pub zone: u32,
    /// First logical block: where an append's data goes.
    pub block: u64,
    /// The zone is full now.
    pub full: bool,
    /// What happened to other zones.
    pub others: Action,
}

impl Zones {
    /// Checks a read of `count` logical blocks from `block` on.
    ///
    /// # Errors
    /// [`Refusal::OutOfRange`], or [`Refusal::Offline`] if any block is in an offline zone.
    pub fn read(&self, block: u64, count: u64) -> Result<(), Refusal> {
        let (first, last) = self.range(block, count)?;
        let offline = (first..=last).any(|zone| self.state(zone) == ZoneState::Offline);
        if offline { Err(Refusal::Offline) } else { Ok(()) }
    }

    /// Writes `count` logical blocks from `block` on, which must be the write pointer of its zone.
    ///
    /// # Errors
    /// In this order: [`Refusal::OutOfRange`]; the zone's state ([`Refusal::Full`], [`Refusal::ReadOnly`],
    /// [`Refusal::Offline`]); [`Refusal::InvalidWrite`]; [`Refusal::Boundary`]; [`Refusal::TooManyActive`];
    /// [`Refusal::TooManyOpen`].
    pub fn write(&mut self, block: u64, count: u64) -> Result<Written, Refusal> {
        let (zone, _) = self.range(block, count)?;
        self.check_writable(zone)?;
        if block != self.start(zone) + self.written(zone) {
            return Err(Refusal::InvalidWrite);
        }
        self.write_on(zone, count)
    }

    /// Appends `count` logical blocks to the zone that starts at `start`.
    ///
    /// # Errors
    /// Like [`write`](Self::write), but [`Refusal::InvalidField`] instead of `InvalidWrite`, and before the zone's
    /// state: if `start` is not the start of a zone, or the append is larger than permitted.
    pub fn append(&mut self, start: u64, count: u64) -> Result<Written, Refusal> {
        let (zone, _) = self.range(start, count)?;
        if start != self.start(zone) || self.config().append_max.is_some_and(|most| count > most) {
            return Err(Refusal::InvalidField);
        }
        self.check_writable(zone)?;
        self.write_on(zone, count)
    }

    /// Returns the zones of the first and the last of `count` logical blocks from `block` on.
    fn range(&self, block: u64, count: u64) -> Result<(u32, u32), Refusal> {
        assert!(count > 0, "a command of no logical blocks");
        let last = block.checked_add(count - 1).and_then(|last| self.zone_of(last)).ok_or(Refusal::OutOfRange)?;
        Ok((self.zone_of(block).ok_or(Refusal::OutOfRange)?, last))
    }

    fn check_writable(&self, zone: u32) -> Result<(), Refusal> {
        match self.state(zone) {
            ZoneState::Full => Err(Refusal::Full),
            ZoneState::ReadOnly => Err(Refusal::ReadOnly),
            ZoneState::Offline => Err(Refusal::Offline),
            ZoneState::Empty | ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen | ZoneState::Closed => Ok(()),
        }
    }

    /// Writes `count` blocks at the write pointer of `zone`, whose state permits it.
    fn write_on(&mut self, zone: u32, count: u64) -> Result<Written, Refusal> {
        let before = self.get(zone);
        if count > self.config().capacity - before.written {
            return Err(Refusal::Boundary);
        }
        let mut others = Action::Nothing;
        if !before.state.is_open() {
            others = self.make_room(zone)?.map_or(Action::Nothing, Action::Closed);
        }
        let written = before.written + count;
        let full = written == self.config().capacity;
        self.set_written(zone, written);
        match before.state {
            _ if full => self.set_state(zone, ZoneState::Full),
            ZoneState::ExplicitlyOpen => {}
            // Again, because it is now the one written last.
            _ => self.set_state(zone, ZoneState::ImplicitlyOpen),
        }
        Ok(Written { zone, block: self.start(zone) + before.written, full, others })
    }
}
