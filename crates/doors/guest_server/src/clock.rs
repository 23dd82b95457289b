//! The interface of both clocks: they own the drive, and give it the time.

use std::fs::File;

use guest::Drive;
use sim::Time;

use crate::ServiceError;

/// A change of the monitor's interrupt set-up.
#[derive(Debug)]
pub(crate) enum InterruptSetup {
    /// Event file descriptors of vectors, from the first.
    Assign(u32, u32, Vec<File>),
    /// Vectors are masked or unmasked.
    Mask(u32, u32, bool),
    /// All vectors are released.
    Release,
}

/// The owner of a drive, which knows what time it is.
pub(crate) trait Clock: Send + Sync {
    /// Lets `act` use the drive at the time now, while the guest's processor waits.
    ///
    /// # Errors
    /// Fails if the clock cannot be read.
    fn access(&self, act: &mut dyn FnMut(&mut Drive, Time)) -> Result<(), ServiceError>;

    /// Lets `act` use the drive at the time of its last access or event: for what happens outside the guest's time.
    fn inspect(&self, act: &mut dyn FnMut(&mut Drive, Time));

    /// Changes the monitor's interrupt set-up.
    fn set_up_interrupts(&self, setup: InterruptSetup);

    /// Handles the drive's own events, until [`stop`](Self::stop).
    fn run(&self);

    /// Ends [`run`](Self::run).
    fn stop(&self);
}
