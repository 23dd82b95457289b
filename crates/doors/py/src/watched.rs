//! The state shared between a run and the thread that watches it.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// The progress of a run, and whether it should continue.
pub struct Watched<P> {
    state: Mutex<RunState<P>>,
    ended: Condvar,
}

struct RunState<P> {
    now: P,
    stop: bool,
    ended: bool,
}

impl<P: Copy> Watched<P> {
    /// Creates the state of a run with progress `now`.
    pub fn new(now: P) -> Watched<P> {
        Watched { state: Mutex::new(RunState { now, stop: false, ended: false }), ended: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, RunState<P>> {
        self.state.lock().expect("no holder of the lock panics")
    }

    /// Reports the progress of the run. Returns whether the run should continue.
    pub fn report(&self, now: P) -> bool {
        let mut state = self.state();
        state.now = now;
        !state.stop
    }

    /// Returns the progress that the run reported last.
    pub fn now(&self) -> P {
        self.state().now
    }

    /// Requests that the run stop at its next progress report.
    pub fn stop(&self) {
        self.state().stop = true;
    }

    /// Marks the run as finished.
    pub fn finish(&self) {
        self.state().ended = true;
        self.ended.notify_all();
    }

    /// Waits until the run has finished, but at timeout for `timeout`.
    pub fn wait(&self, timeout: Duration) {
        let state = self.state();
        drop(self.ended.wait_timeout_while(state, timeout, |state| !state.ended));
    }
}
