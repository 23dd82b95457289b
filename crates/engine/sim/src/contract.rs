//! The contract of parts and machines.

use crate::{Schedule, Time};

/// A part of a machine: a state machine without a clock, file, socket or thread.
///
/// Requests and answers reach a part through methods that take the current time. A part never calls another part: it
/// appends its output to `out`, and its owner passes that on. A part's own future is an event, either scheduled and
/// handed back to [`handle`](Self::handle) at its time, or announced by [`next_timer`](Self::next_timer). Each step of
/// a mechanism is one function. Events at the same time are handled in the order in which they were scheduled.
pub trait Part {
    /// An event that the part schedules for itself.
    type Event;
    /// The part's output: actions, answers, ended operations.
    type Output;

    /// Handles an event at its time.
    fn handle(&mut self, now: Time, event: Self::Event, s: &mut impl Schedule<Self::Event>, out: &mut Self::Output);

    /// Returns the time of the next call of [`handle`](Self::handle) if nothing else happens, or `None` for a part that
    /// schedules all of its events.
    fn next_timer(&self) -> Option<Time> {
        None
    }
}

/// The event of a part that announces its timer through [`Part::next_timer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer;

/// A composed machine in virtual time.
pub trait Machine {
    /// A request with the number that its completion will carry.
    type Request;
    /// A completed request.
    type Completion;

    /// Submits a request at `now`.
    fn submit(&mut self, now: Time, request: Self::Request);

    /// Returns the time of the next event, or `None` while nothing is in progress.
    fn next_event(&mut self) -> Option<Time>;

    /// Handles events up to `until`, but stops after the first that completes requests, and appends the completions.
    fn advance(&mut self, until: Time, completions: &mut Vec<Self::Completion>);
}

/// Compiles only for parts.
pub const fn assert_part<P: Part>() {}

/// Compiles only for machines.
pub const fn assert_machine<M: Machine>() {}
