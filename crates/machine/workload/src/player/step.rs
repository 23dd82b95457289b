//! A job's next step.

use media::Request;
use sim::Time;

/// A job's next step.
pub(super) enum Step {
    Issue(Draft),
    /// No request before this time, which is in the future.
    Wait(Time),
    /// No request until one of the job's requests completes.
    Park,
    /// No request until one of another job to a zone completes.
    Hold,
    /// No more requests.
    Done,
}

/// A request to be issued, and its arrival time.
pub(super) struct Draft {
    pub request: Request,
    pub due: Time,
    pub measured: bool,
    pub verify: bool,
    pub epoch: u32,
}
