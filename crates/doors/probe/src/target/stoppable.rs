//! A target that a user can stop between two batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use media::Request;
use sim::Time;

use crate::target::{Facts, HmbSwitch, Target, TargetError, Timed};

/// Wraps a target and fails its operations once a stop flag is set.
pub struct Stoppable<T> {
    target: T,
    stop: Arc<AtomicBool>,
}

impl<T: Target> Stoppable<T> {
    /// Wraps `target` until `stop` is set.
    pub fn new(target: T, stop: Arc<AtomicBool>) -> Stoppable<T> {
        Stoppable { target, stop }
    }

    /// Returns the wrapped target.
    pub fn into_inner(self) -> T {
        self.target
    }

    fn go_on(&self) -> Result<(), TargetError> {
        if self.stop.load(Ordering::Relaxed) { Err(TargetError::Interrupted) } else { Ok(()) }
    }
}

impl<T: Target> Target for Stoppable<T> {
    fn facts(&self) -> &Facts {
        self.target.facts()
    }

    fn run(&mut self, requests: &[Request], depth: u32, timed: &mut Vec<Timed>) -> Result<Time, TargetError> {
        self.go_on()?;
        self.target.run(requests, depth, timed)
    }

    fn wait(&mut self, idle: Time) -> Result<(), TargetError> {
        self.go_on()?;
        self.target.wait(idle)
    }

    fn hmb(&mut self) -> Option<&mut dyn HmbSwitch> {
        self.target.hmb()
    }
}
