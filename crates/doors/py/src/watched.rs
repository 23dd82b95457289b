//! What a run and the thread that watches it know of each other.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// How far a run is, and whether it is to go on.
pub struct Watched<P> {
    state: Mutex<State<P>>,
    ended: Condvar,
}

struct State<P> {
    now: P,
    stop: bool,
    ended: bool,
}

impl<P: Copy> Watched<P> {
    /// One that is so far, and is to go on.
    pub fn new(now: P) -> Watched<P> {
        Watched { state: Mutex::new(State { now, stop: false, ended: false }), ended: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<P>> {
        self.state.lock().expect("nothing panics that holds the lock")
    }

    /// The run says how far it is; returns whether it is to go on.
    pub fn go_on(&self, now: P) -> bool {
        let mut state = self.state();
        state.now = now;
        !state.stop
    }

    /// How far the run was when it last said so.
    pub fn now(&self) -> P {
        self.state().now
    }

    /// Has the run stop where it next says how far it is.
    pub fn stop(&self) {
        self.state().stop = true;
    }

    /// The run says that it has ended.
    pub fn end(&self) {
        self.state().ended = true;
        self.ended.notify_all();
    }

    /// Waits for the end of the run, but no longer than `most`.
    pub fn wait(&self, most: Duration) {
        let state = self.state();
        drop(self.ended.wait_timeout_while(state, most, |state| !state.ended));
    }
}
