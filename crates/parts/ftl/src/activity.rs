//! Times of the host's last requests, from which idle time and the write-out of dirty data are determined.

use sim::Time;

/// The latest activity of the host.
#[derive(Default)]
pub(crate) struct Activity {
    last_write: Time,
    last_command: Time,
    /// Collection has work for idle time: data was written, or became old, since it last worked ahead.
    idle_due: bool,
}

impl Activity {
    /// Records a command at `now`.
    #[inline]
    pub(crate) fn command(&mut self, now: Time) {
        self.last_command = now;
    }

    /// Records data of a write, or a write-out of all of it, at `now`.
    #[inline]
    pub(crate) fn write(&mut self, now: Time) {
        self.last_write = now;
    }

    /// Records that collection has work for idle time.
    #[inline]
    pub(crate) fn plan_idle(&mut self) {
        self.idle_due = true;
    }

    /// Records that collection works ahead.
    pub(crate) fn begin_idle(&mut self) {
        self.idle_due = false;
    }

    /// Returns true if collection has work for idle time.
    #[inline]
    pub(crate) fn is_idle_due(&self) -> bool {
        self.idle_due
    }

    /// Returns the time at which collection begins to work ahead, `delay` after the last command, if it has work.
    pub(crate) fn idle_at(&self, delay: Time) -> Option<Time> {
        self.idle_due.then(|| self.last_command.saturating_add(delay))
    }

    /// Returns the time `delay` after the last write.
    pub(crate) fn written_for(&self, delay: Time) -> Time {
        self.last_write.saturating_add(delay)
    }
}
