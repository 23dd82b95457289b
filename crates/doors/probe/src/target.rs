//! What is probed: anything that takes block requests and says how long each took.

use std::collections::BTreeMap;

use media::{Op, Request};
use serde::Serialize;
use sim::Time;

/// Whose time a target's times are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// A simulation's: the same requests take the same time whenever they are made, and waiting costs nothing.
    Virtual,
    /// The clock on the wall: times carry the noise of the machine, and waiting takes as long as it says.
    Real,
}

/// What is known of a target without asking it for data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// What the user called it: a path, a system's name.
    pub name: String,
    /// Bytes that can be addressed; a multiple of `block_bytes`.
    pub capacity_bytes: u64,
    /// Offsets and lengths are multiples of this: the logical block, a power of two from 512.
    pub block_bytes: u64,
    /// Whether it takes writes and trims: what it was opened for, not what its hardware could.
    pub writable: bool,
    /// Whether it takes trims.
    pub trims: bool,
    /// Most requests that it has under way at once; a deeper batch is an error of the caller.
    pub depth_max: u32,
    /// Whose time its times are.
    pub clock: Clock,
    /// What else is worth keeping with results: model, serial number, kernel, scheduler. In the order of the names.
    pub environment: BTreeMap<String, String>,
}

/// One request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// When it was handed over, counted from the start of its batch.
    pub submitted: Time,
    /// When its end was known, counted from the start of its batch. The latency is the difference.
    pub ended: Time,
}

impl Timed {
    /// From handed over to known to have ended.
    pub fn latency(&self) -> Time {
        self.ended - self.submitted
    }
}

/// Why a target did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// A request failed: the target is no longer to be trusted, and the probe ends.
    #[error("{name}: {op:?} of {bytes} bytes at {offset} failed: {cause}")]
    Failed {
        /// The target.
        name: String,
        /// What was asked.
        op: Op,
        /// First byte.
        offset: u64,
        /// Bytes.
        bytes: u64,
        /// What was reported.
        cause: String,
    },
    /// The host memory buffer could not be switched, or its state not be read.
    #[error("{name}: {cause}")]
    Hmb {
        /// The target.
        name: String,
        /// What was found, and what was expected.
        cause: String,
    },
    /// The user wants no more. What was switched is restored by whoever switched it.
    #[error("interrupted")]
    Interrupted,
}

/// Something that takes block requests.
///
/// The requests of a probe stay within `facts().capacity_bytes`, are multiples of `block_bytes`, and are writes or trims
/// only where `writable`. A target asserts this: a probe that breaks it is wrong, and no real drive may suffer for it.
pub trait Target {
    /// What is known of it.
    fn facts(&self) -> &Facts;

    /// Makes `requests` in their order, at most `depth` of them under way at a time (the next as soon as one has ended),
    /// and waits for all of them. `timed` is cleared, then gets one entry a request, in the order of `requests`. Flush
    /// and trim count as requests like any other. A write's data are the target's choice: nothing that compresses or
    /// repeats, since controllers may do either.
    ///
    /// Returns the time from the first hand-over to the last end. Of an empty batch: zero.
    ///
    /// # Errors
    /// The first request that failed; those under way are waited for.
    ///
    /// # Panics
    /// If a request breaks the contract of the trait, or `depth` is zero or above `facts().depth_max`.
    fn run(&mut self, requests: &[Request], depth: u32, timed: &mut Vec<Timed>) -> Result<Time, TargetError>;

    /// Leaves it alone for `idle`, so that it does in the background what it does.
    ///
    /// # Errors
    /// If interrupted.
    fn wait(&mut self, idle: Time) -> Result<(), TargetError>;

    /// The switch of the host memory buffer; `None` where there is none or it must not be touched.
    fn hmb(&mut self) -> Option<&mut dyn HmbSwitch> {
        None
    }
}

/// The switch of a drive's host memory buffer (NVMe Base Specification, Set Features, Host Memory Buffer).
///
/// Whoever implements it restores the state it found when it is dropped, after a panic and an interruption too: the probe
/// may leave it either way.
pub trait HmbSwitch {
    /// Whether the drive has host memory now.
    ///
    /// # Errors
    /// If that cannot be found out.
    fn enabled(&mut self) -> Result<bool, TargetError>;

    /// Gives the drive its host memory, or takes it away. It takes effect before this returns.
    ///
    /// # Errors
    /// If the drive or the driver refuses.
    fn enable(&mut self, on: bool) -> Result<(), TargetError>;

    /// Bytes that the drive has, or had when it last was enabled; `None` if not known.
    fn size_bytes(&mut self) -> Option<u64>;
}
