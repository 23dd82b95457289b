//! The virtual clock of a QEMU that has loaded the plug-in.
//!
//! The drive acts at two kinds of moments only: while the guest's processor waits for a register access, which the
//! plug-in passes on, and in the callback of the plug-in's timer, with the processor stopped. Between them guest time does
//! not pass for the drive, so what the guest sees is exact and repeatable.
//!
//! While the processor sleeps, no guest can see what the drive does before the interrupt that ends the sleep. Such a
//! callback handles all events up to that interrupt, which the plug-in raises at its own time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use guest::{Drive, QUEUES};
use guest_clock::{Access, Answer, Channel, Due, Handler, REGISTER_BYTES, VECTORS_MAX};
use sim::Time;

use crate::ServiceError;
use crate::clock::{Clock, InterruptSetup};

const _: () = assert!(QUEUES <= VECTORS_MAX);
const _: () = assert!(guest::pci::TABLE == REGISTER_BYTES);

/// The plug-in must arm its timer within this time.
const ANSWER_MAX: Duration = Duration::from_secs(4);

struct VirtualTimeDrive {
    drive: Drive,
    last: Time,
    /// Vectors that were raised outside the timer's callback, one bit each.
    pending: u128,
    /// The time for which the timer is armed.
    armed: Option<u64>,
}

/// A drive on a virtual clock.
pub(crate) struct VirtualClock {
    state: Mutex<VirtualTimeDrive>,
    channel: Channel,
    stopped: AtomicBool,
}

impl VirtualClock {
    /// Waits for the clock of the plug-in at the other end of `channel`.
    pub fn new(drive: Drive, channel: Channel) -> VirtualClock {
        let state = VirtualTimeDrive { drive, last: Time::ZERO, pending: 0, armed: None };
        VirtualClock { state: Mutex::new(state), channel, stopped: AtomicBool::new(false) }
    }

    fn lock(&self) -> MutexGuard<'_, VirtualTimeDrive> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Abandons a channel at its end.
struct Abandoned<'a>(&'a Channel);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Returns a closure that is true until [`ANSWER_MAX`] has passed.
fn patience() -> impl FnMut() -> bool {
    let begin = Instant::now();
    move || begin.elapsed() < ANSWER_MAX
}

impl VirtualTimeDrive {
    /// Lets `act` use the drive at `now`.
    fn act(&mut self, now: Time, act: &mut dyn FnMut(&mut Drive, Time)) {
        // QEMU's other threads may read a clock that lags behind the processor's.
        self.last = now.max(self.last);
        act(&mut self.drive, self.last);
        self.pending |= self.drive.take_interrupts().into_iter().fold(0, |bits, vector| bits | 1 << vector);
    }

    /// Returns the first nanosecond at which the drive has something to do.
    fn next(&self) -> Option<u64> {
        if self.pending != 0 { Some(self.last.ps().div_ceil(1000)) } else { self.next_event() }
    }

    fn next_event(&self) -> Option<u64> {
        self.drive.next_event().map(|at| at.ps().div_ceil(1000))
    }
}

/// Converts nanoseconds of the virtual clock.
fn time(nanoseconds: u64) -> Time {
    Time::from_ps(nanoseconds.saturating_mul(1000))
}

impl Handler for &VirtualClock {
    fn access(&mut self, now: u64, access: Access) -> Answer {
        let Access { offset, bytes, write } = access;
        let mut state = self.lock();
        let mut value = write.unwrap_or(u64::MAX).to_le_bytes();
        let data = &mut value[..bytes];
        state.act(time(now), &mut |drive, now| match write {
            Some(_) => drive.write(now, offset, data),
            None => drive.read(now, offset, data),
        });
        state.armed = state.next();
        Answer { value: u64::from_le_bytes(value), next: state.armed }
    }

    fn fire(&mut self, now: u64, asleep: u64) -> Due {
        let mut state = self.lock();
        let mut at = now;
        state.act(time(at), &mut |drive, now| drive.advance(now));
        while state.pending == 0
            && let Some(next) = state.next_event().filter(|next| *next < asleep)
        {
            at = next;
            state.act(time(at), &mut |drive, now| drive.advance(now));
        }
        let vectors = std::mem::take(&mut state.pending);
        state.armed = state.next_event();
        Due { vectors, at, next: state.armed }
    }
}

impl Clock for VirtualClock {
    fn access(&self, _: &mut dyn FnMut(&mut Drive, Time)) -> Result<(), ServiceError> {
        // The plug-in keeps these accesses from the socket.
        Err(ServiceError::NoPlugin)
    }

    fn inspect(&self, act: &mut dyn FnMut(&mut Drive, Time)) {
        let mut state = self.lock();
        let last = state.last;
        state.act(last, act);
        let next = state.next();
        if next != state.armed && self.channel.is_attached() {
            // A plug-in that does not answer is QEMU's end.
            let _ = self.channel.arm(next, patience());
            state.armed = next;
        }
    }

    fn set_up_interrupts(&self, _: InterruptSetup) {
        // The plug-in raises interrupts itself.
    }

    fn run(&self) {
        // The monitor must not wait for a drive that failed.
        let _abandoned = Abandoned(&self.channel);
        let goes_on = || !self.stopped.load(Ordering::Relaxed);
        let mut drive = self;
        while self.channel.serve(&mut drive, goes_on) == Ok(()) {}
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.channel.wake();
        self.channel.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mappings;

    #[test]
    fn an_access_without_a_plugin_fails_at_once() {
        let path = std::env::temp_dir().join(format!("nandram-virtual-clock-{}", std::process::id()));
        let sets = [("flash.blocks", "40"), ("flash.pages", "64"), ("ftl.over_provisioning", "0.4")];
        let system = system::System::from_toml("drive", "title = \"drive\"", &sets).expect("a system");
        let options = guest::Options::default();
        let drive = Drive::new(&system, &options, Box::new(Mappings::default())).expect("a drive");
        let clock = VirtualClock::new(drive, Channel::create(&path).expect("a channel"));
        let access = clock.access(&mut |_, _| panic!("no time is known"));
        assert!(matches!(access, Err(ServiceError::NoPlugin)), "{access:?}");
        clock.stop();
        clock.run();
        assert!(!path.exists());
    }
}
