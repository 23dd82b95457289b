//! The wait of host writes for room, and the parallel units in which they look for it.

use crate::space::turns::Turns;

/// Reasons for which host writes wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// Nothing: they have room, or did not look since something changed.
    Nothing,
    /// No parallel unit has room; the next completed erase changes that.
    Erase,
    /// Some parallel unit has room, but host writes to it are throttled until collection catches up.
    Copies,
}

/// The wait of host writes for room.
pub(crate) struct HostRoom {
    pub(super) turns: Turns,
    wait: Wait,
    /// Host writes are not throttled until a block is erased, because collection cannot proceed without them.
    unpaced: bool,
    /// Host writes may have room again since the last dispatch.
    due: bool,
}

impl HostRoom {
    pub(crate) fn new(parallel_units: u32) -> HostRoom {
        HostRoom { turns: Turns::new(parallel_units), wait: Wait::Nothing, unpaced: false, due: false }
    }

    /// Makes host writes wait for copies (`paced`), or else for an erase.
    pub(crate) fn stall(&mut self, paced: bool) {
        self.wait = if paced { Wait::Copies } else { Wait::Erase };
    }

    /// Returns true if host writes wait for room.
    #[inline]
    pub(crate) fn is_stalled(&self) -> bool {
        self.wait != Wait::Nothing
    }

    /// Returns true if host writes wait for copies.
    #[inline]
    pub(crate) fn is_paced(&self) -> bool {
        self.wait == Wait::Copies
    }

    /// Returns true if host writes wait for an erase.
    #[inline]
    pub(crate) fn waits_for_erase(&self) -> bool {
        self.wait == Wait::Erase
    }

    /// Returns true if host writes are not throttled at present.
    #[inline]
    pub(crate) fn is_unpaced(&self) -> bool {
        self.unpaced
    }

    /// Lets host writes look for room again.
    pub(crate) fn resume(&mut self) {
        (self.wait, self.due) = (Wait::Nothing, true);
    }

    /// Lets host writes look for room again, in all parallel units.
    pub(crate) fn release_all(&mut self) {
        self.turns.rejoin_all();
        self.wait = Wait::Nothing;
    }

    /// Stops throttling host writes until a block is erased.
    pub(crate) fn stop_pacing(&mut self) {
        self.release_all();
        (self.unpaced, self.due) = (true, true);
    }

    /// Lets host writes use the room of a block that was erased.
    pub(crate) fn erased(&mut self) {
        self.due |= self.is_stalled();
        self.unpaced = false;
        self.release_all();
    }

    /// Removes `pu`, where the host waits for copies, from the search for room.
    #[inline]
    pub(crate) fn suspend(&mut self, pu: u32) {
        self.turns.suspend(pu);
    }

    /// Returns `pu` to the search for room.
    #[inline]
    pub(crate) fn rejoin(&mut self, pu: u32) {
        self.turns.rejoin(pu);
    }

    /// Returns all parallel units to the search for room.
    pub(crate) fn rejoin_all(&mut self) {
        self.turns.rejoin_all();
    }

    /// Returns true if `pu` is left out of the search for room.
    #[inline]
    pub(crate) fn leaves_out(&self, pu: u32) -> bool {
        self.turns.waits(pu)
    }

    /// Returns true if a dispatch may find room for host writes.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// Begins a dispatch.
    #[inline]
    pub(crate) fn begin_dispatch(&mut self) {
        self.due = false;
    }
}

#[cfg(test)]
mod tests {
    use super::HostRoom;

    #[test]
    fn an_erase_ends_every_wait_and_throttles_again() {
        let mut room = HostRoom::new(2);
        room.stop_pacing();
        room.begin_dispatch();
        room.suspend(1);
        room.stall(true);
        assert!(room.is_unpaced() && room.is_paced() && !room.waits_for_erase() && !room.is_due());
        room.erased();
        assert!(!room.is_unpaced() && !room.is_stalled() && !room.leaves_out(1) && room.is_due());
    }

    #[test]
    fn an_erase_that_nothing_waits_for_is_no_work() {
        let mut room = HostRoom::new(1);
        room.erased();
        assert!(!room.is_due());
        room.stall(false);
        assert!(room.waits_for_erase() && !room.is_paced());
        room.release_all();
        assert!(!room.is_stalled() && !room.is_due());
    }
}
