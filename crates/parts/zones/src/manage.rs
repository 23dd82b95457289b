//! Management of zones: open, close, finish, reset, offline; changes that the medium causes; restarts.

use crate::Refusal;
use crate::state::{ZoneState, Zones};
use crate::write::Action;

impl Zones {
    /// Opens `zone` explicitly.
    ///
    /// # Errors
    /// [`Refusal::InvalidTransition`] for a full, read only or offline zone; [`Refusal::TooManyActive`];
    /// [`Refusal::TooManyOpen`].
    pub fn open(&mut self, zone: u32) -> Result<Action, Refusal> {
        let mut others = Action::Nothing;
        match self.state(zone) {
            ZoneState::ExplicitlyOpen | ZoneState::ImplicitlyOpen => {}
            ZoneState::Empty | ZoneState::Closed => {
                others = self.make_room(zone)?.map_or(Action::Nothing, Action::Closed);
            }
            ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline => return Err(Refusal::InvalidTransition),
        }
        self.set_state(zone, ZoneState::ExplicitlyOpen);
        Ok(others)
    }

    /// Closes `zone`.
    ///
    /// # Errors
    /// [`Refusal::InvalidTransition`] unless it is open or closed.
    pub fn close(&mut self, zone: u32) -> Result<(), Refusal> {
        if !self.state(zone).is_active() {
            return Err(Refusal::InvalidTransition);
        }
        self.set_state(zone, ZoneState::Closed);
        Ok(())
    }

    /// Makes `zone` full, whatever its write pointer. Returns the number of blocks left unwritten, which is 0 if the zone
    /// was already full.
    ///
    /// # Errors
    /// [`Refusal::InvalidTransition`] for a read only or offline zone.
    pub fn finish(&mut self, zone: u32) -> Result<u64, Refusal> {
        match self.state(zone) {
            ZoneState::ReadOnly | ZoneState::Offline => Err(Refusal::InvalidTransition),
            ZoneState::Full => Ok(0),
            _ => {
                self.set_state(zone, ZoneState::Full);
                Ok(self.config().capacity - self.written(zone))
            }
        }
    }

    /// Empties `zone`. Returns the number of its blocks that were written.
    ///
    /// # Errors
    /// [`Refusal::InvalidTransition`] for a read only or offline zone.
    pub fn reset(&mut self, zone: u32) -> Result<u64, Refusal> {
        if matches!(self.state(zone), ZoneState::ReadOnly | ZoneState::Offline) {
            return Err(Refusal::InvalidTransition);
        }
        self.set_state(zone, ZoneState::Empty);
        let written = self.written(zone);
        self.set_written(zone, 0);
        Ok(written)
    }

    /// Takes the read-only `zone` offline.
    ///
    /// # Errors
    /// [`Refusal::InvalidTransition`] unless it is read only or offline.
    pub fn offline(&mut self, zone: u32) -> Result<(), Refusal> {
        if !matches!(self.state(zone), ZoneState::ReadOnly | ZoneState::Offline) {
            return Err(Refusal::InvalidTransition);
        }
        self.set_state(zone, ZoneState::Offline);
        Ok(())
    }

    /// Opens all closed zones explicitly, or none.
    ///
    /// # Errors
    /// [`Refusal::TooManyOpen`] if there is no room for all closed and explicitly open zones.
    pub fn open_all(&mut self) -> Result<(), Refusal> {
        let closed = self.with(|state| state == ZoneState::Closed);
        let explicit = self.with(|state| state == ZoneState::ExplicitlyOpen).len();
        if self.config().open_max.is_some_and(|most| explicit + closed.len() > most as usize) {
            return Err(Refusal::TooManyOpen);
        }
        // Zones closed to make room were implicitly open, and stay closed.
        closed.into_iter().try_for_each(|zone| self.open(zone).map(|_| ()))
    }

    /// Closes all open zones.
    pub fn close_all(&mut self) {
        self.set_all(ZoneState::is_open, ZoneState::Closed);
    }

    /// Makes all active zones full.
    pub fn finish_all(&mut self) {
        self.set_all(ZoneState::is_active, ZoneState::Full);
    }

    /// Empties all zones that are active or full.
    pub fn reset_all(&mut self) {
        for zone in self.with(|state| state.is_active() || state == ZoneState::Full) {
            self.set_state(zone, ZoneState::Empty);
            self.set_written(zone, 0);
        }
    }

    /// Takes all read-only zones offline.
    pub fn offline_all(&mut self) {
        self.set_all(|state| state == ZoneState::ReadOnly, ZoneState::Offline);
    }

    /// Makes `zone` read only, because its medium can no longer be written. An offline zone stays offline.
    pub fn lose_writes(&mut self, zone: u32) {
        if self.state(zone) != ZoneState::Offline {
            self.set_state(zone, ZoneState::ReadOnly);
        }
    }

    /// Takes `zone` offline, because its medium can no longer be used.
    pub fn lose(&mut self, zone: u32) {
        self.set_state(zone, ZoneState::Offline);
    }

    /// Restarts the controller after a loss of power: open zones are closed, and active zones in which nothing is
    /// written are empty.
    pub fn restart(&mut self) {
        for zone in self.with(ZoneState::is_active) {
            let state = if self.written(zone) == 0 { ZoneState::Empty } else { ZoneState::Closed };
            self.set_state(zone, state);
        }
    }

    /// Sets the write pointer of the closed or empty `zone` to `written` blocks from its start, as recovery found it.
    /// May only reduce it.
    ///
    /// # Panics
    /// If the zone is open, full or unusable, or less than `written` blocks were written.
    pub fn recover(&mut self, zone: u32, written: u64) {
        assert!(
            matches!(self.state(zone), ZoneState::Closed | ZoneState::Empty),
            "zone {zone} is {:?}",
            self.state(zone)
        );
        assert!(written <= self.written(zone), "zone {zone} has {} blocks, not {written}", self.written(zone));
        self.set_written(zone, written);
        self.set_state(zone, if written == 0 { ZoneState::Empty } else { ZoneState::Closed });
    }

    /// Sets the empty `zone` to `written` blocks from its start, as found at power-on: full or closed, or empty if nothing
    /// is written. If it would be closed, and the limit of active zones is reached, it becomes full instead (a controller
    /// may finish an active zone). Returns false in that case.
    ///
    /// # Panics
    /// If the zone is not empty, or more is written than its capacity.
    pub fn restore(&mut self, zone: u32, written: u64, full: bool) -> bool {
        assert_eq!(self.state(zone), ZoneState::Empty, "zone {zone}");
        assert!(written <= self.config().capacity, "zone {zone} with {written} blocks");
        let no_room = self.config().active_max == Some(self.active_count());
        let full = full || written == self.config().capacity;
        self.set_written(zone, written);
        let state = match (full, written) {
            (true, _) => ZoneState::Full,
            (false, 0) => ZoneState::Empty,
            (false, _) if no_room => ZoneState::Full,
            (false, _) => ZoneState::Closed,
        };
        self.set_state(zone, state);
        full || state != ZoneState::Full
    }

    /// Takes back the last writes of `zone`, which leaves `written` blocks: their data never arrived. A zone that they had
    /// made full is closed, or stays full with less data if the limit of active zones is reached: then this returns false.
    pub fn take_back(&mut self, zone: u32, written: u64) -> bool {
        assert!(written <= self.written(zone), "zone {zone} has {} blocks, not {written}", self.written(zone));
        if written == self.written(zone) || matches!(self.state(zone), ZoneState::ReadOnly | ZoneState::Offline) {
            return true;
        }
        self.set_state(zone, ZoneState::Empty);
        self.set_written(zone, 0);
        self.restore(zone, written, false)
    }

    /// Returns the zones whose state `selects` accepts, in order.
    fn with(&self, selects: impl Fn(ZoneState) -> bool) -> Vec<u32> {
        (0..self.config().zones).filter(|zone| selects(self.state(*zone))).collect()
    }

    fn set_all(&mut self, selects: impl Fn(ZoneState) -> bool, state: ZoneState) {
        for zone in self.with(selects) {
            self.set_state(zone, state);
        }
    }
}
