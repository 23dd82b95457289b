//! The host's clock, which may be slowed down.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use guest::Drive;
use sim::Time;

use crate::ServiceError;
use crate::clock::{Clock, InterruptSetup};
use crate::interrupts::Interrupts;

struct RealTimeDrive {
    drive: Drive,
    interrupts: Interrupts,
    last: Time,
    stopped: bool,
}

/// A drive on the host's clock.
pub(crate) struct RealClock {
    state: Mutex<RealTimeDrive>,
    /// The time of the drive's next event may have changed.
    changed: Condvar,
    begin: Instant,
    /// Nanoseconds of the host per nanosecond of the drive.
    dilation: u32,
}

impl RealClock {
    /// Starts the clock at zero.
    pub fn new(drive: Drive, dilation: u32) -> RealClock {
        assert!(dilation > 0);
        let state = RealTimeDrive { drive, interrupts: Interrupts::new(), last: Time::ZERO, stopped: false };
        RealClock { state: Mutex::new(state), changed: Condvar::new(), begin: Instant::now(), dilation }
    }

    fn lock(&self) -> MutexGuard<'_, RealTimeDrive> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        Time::from_ps((self.begin.elapsed().as_nanos() * 1000 / u128::from(self.dilation)) as u64)
    }

    /// Returns how long the host waits until the drive's time is `at`.
    fn until(&self, at: Time) -> Duration {
        let nanos = u128::from(at.ps()) * u128::from(self.dilation) / 1000 + 1;
        Duration::from_nanos(nanos as u64).saturating_sub(self.begin.elapsed())
    }
}

impl RealTimeDrive {
    /// Lets `act` use the drive at `now`, and delivers its interrupts.
    fn act(&mut self, now: Time, act: &mut dyn FnMut(&mut Drive, Time)) {
        self.last = now.max(self.last);
        act(&mut self.drive, self.last);
        for vector in self.drive.take_interrupts() {
            self.interrupts.raise(vector);
        }
    }
}

impl Clock for RealClock {
    fn access(&self, act: &mut dyn FnMut(&mut Drive, Time)) -> Result<(), ServiceError> {
        let mut state = self.lock();
        state.act(self.now(), act);
        self.changed.notify_one();
        Ok(())
    }

    fn inspect(&self, act: &mut dyn FnMut(&mut Drive, Time)) {
        let mut state = self.lock();
        let last = state.last;
        state.act(last, act);
        self.changed.notify_one();
    }

    fn set_up_interrupts(&self, setup: InterruptSetup) {
        let interrupts = &mut self.lock().interrupts;
        match setup {
            InterruptSetup::Assign(start, count, events) => interrupts.assign(start, count, events),
            InterruptSetup::Mask(start, count, masked) => interrupts.mask(start, count, masked),
            InterruptSetup::Release => interrupts.release(),
        }
    }

    fn run(&self) {
        let mut state = self.lock();
        while !state.stopped {
            state.act(self.now(), &mut |drive, now| drive.advance(now));
            state = match state.drive.next_event() {
                Some(next) => {
                    let wait = self.until(next);
                    self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_one();
    }
}
