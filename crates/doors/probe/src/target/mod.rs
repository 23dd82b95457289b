//! The interface of probed targets: block requests with a latency for each.

pub mod noise;
pub mod simulated;
pub mod stoppable;
pub mod subject;
pub(crate) mod wire;

use std::collections::BTreeMap;

use media::{Op, Request};
use serde::Serialize;
use sim::Time;

/// The clock behind the times of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Simulated time: identical requests take identical time, and waiting is free.
    Virtual,
    /// Wall-clock time: latencies include the noise of the machine, and waits take real time.
    Real,
}

/// Properties of a target that are known without reading its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// Name given by the user: a path or the name of a system.
    pub name: String,
    /// Addressable bytes; a multiple of `block_bytes`.
    pub capacity_bytes: u64,
    /// Alignment of offsets and lengths: the logical block size, a power of two of at least 512.
    pub block_bytes: u64,
    /// Whether the target was opened for writing, regardless of what its hardware supports.
    pub writable: bool,
    /// Whether the target accepts trims.
    pub trims: bool,
    /// Maximum queue depth; exceeding it is an error of the caller.
    pub depth_max: u32,
    /// The clock behind the times of the target.
    pub clock: Clock,
    /// Further properties recorded with results: model, serial number, kernel, scheduler; sorted by name.
    pub environment: BTreeMap<String, String>,
}

/// The times of a completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// Submission time since the start of the batch.
    pub submitted: Time,
    /// Completion time since the start of the batch.
    pub ended: Time,
}

impl Timed {
    /// Returns the time from submission to completion.
    pub fn latency(&self) -> Time {
        self.ended - self.submitted
    }
}

/// Error of an operation on a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// A request failed. The target can no longer be trusted, and the probe ends.
    #[error("{name}: {op:?} of {bytes} bytes at {offset} failed: {cause}")]
    Failed {
        /// The target.
        name: String,
        /// The failed operation.
        op: Op,
        /// First byte.
        offset: u64,
        /// Bytes.
        bytes: u64,
        /// The reported cause.
        cause: String,
    },
    /// The host memory buffer could not be switched, or its state could not be read.
    #[error("{name}: {cause}")]
    Hmb {
        /// The target.
        name: String,
        /// The cause: the state found and the state expected.
        cause: String,
    },
    /// The user interrupted the probe. Each switch restores its original state.
    #[error("interrupted")]
    Interrupted,
}

/// A device that accepts block requests.
///
/// The requests of a probe stay within `facts().capacity_bytes`, are multiples of `block_bytes`, and include writes or
/// trims only if `writable`. A target asserts this to protect real drives from errors in the probe.
pub trait Target {
    /// Returns the known properties of the target.
    fn facts(&self) -> &Facts;

    /// Executes `requests` in order with at most `depth` outstanding (the next is submitted as soon as one completes)
    /// and waits for all requests. `timed` is cleared, then filled with one entry per request in the order of
    /// `requests`. Flush and trim count as requests. The target chooses the data of writes; they must be neither
    /// compressible nor repetitive, since controllers may exploit either.
    ///
    /// Returns the time from the first submission to the last completion, zero for an empty batch.
    ///
    /// # Errors
    /// The first failed request; outstanding requests are awaited first.
    ///
    /// # Panics
    /// If a request violates the contract of the trait, or `depth` is zero or above `facts().depth_max`.
    fn run(&mut self, requests: &[Request], depth: u32, timed: &mut Vec<Timed>) -> Result<Time, TargetError>;

    /// Leaves the target idle for `idle`, so that it can do background work.
    ///
    /// # Errors
    /// If interrupted.
    fn wait(&mut self, idle: Time) -> Result<(), TargetError>;

    /// Returns the host memory buffer switch; `None` if there is none or it must not be used.
    fn hmb(&mut self) -> Option<&mut dyn HmbSwitch> {
        None
    }
}

/// The switch of a drive's host memory buffer (NVMe Base Specification, Set Features, Host Memory Buffer).
///
/// Implementations restore the original state when dropped, also after a panic or an interruption, because the probe
/// may leave the buffer in either state.
pub trait HmbSwitch {
    /// Returns whether the drive currently has host memory.
    ///
    /// # Errors
    /// If the state cannot be read.
    fn enabled(&mut self) -> Result<bool, TargetError>;

    /// Grants host memory to the drive or revokes it. The change has taken effect when this returns.
    ///
    /// # Errors
    /// If the drive or the driver refuses.
    fn enable(&mut self, on: bool) -> Result<(), TargetError>;

    /// Returns the host memory size in bytes, current or when last enabled; `None` if unknown.
    fn size_bytes(&mut self) -> Option<u64>;
}
