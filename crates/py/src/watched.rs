//! What a run and the thread that watches it know of each other.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use machine::run::Progress;
use sim::Time;

/// How far a run is, and whether it is to go on.
pub struct Watched {
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    now: Progress,
    stop: bool,
    ended: bool,
}

impl Default for Watched {
    fn default() -> Watched {
        let now = Progress { fraction: 0.0, now: Time::ZERO, done: 0 };
        Watched { state: Mutex::new(State { now, stop: false, ended: false }), ended: Condvar::new() }
    }
}

impl Watched {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics that holds the lock")
    }

    /// The run says how far it is; returns whether it is to go on.
    pub fn go_on(&self, now: Progress) -> bool {
        let mut state = self.state();
        state.now = now;
        !state.stop
    }

    /// How far the run was when it last said so.
    pub fn now(&self) -> Progress {
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
