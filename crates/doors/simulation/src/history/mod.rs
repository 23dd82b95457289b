//! The history of a simulation: its submissions, and how far it had advanced before each.
//!
//! A simulation is deterministic, so its history is its state: replayed, it leads to the same state at any time, with
//! requests in progress, queues and random streams included. It keeps ten
//! bytes of a request like the one before and at most 68 of any other, up to a limit.

mod code;
mod file;
mod replay;

use sim::Time;

use crate::request::Request;
use code::Encoder;

/// A history, or none once it has exceeded its limit.
pub(crate) struct History {
    limit: u64,
    kept: Option<Encoder>,
    /// The position since the last submission.
    position: Position,
}

/// How far a simulation has advanced since an earlier point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// Number of times it has stopped because requests completed.
    pub stops: u64,
    /// Time until which it has advanced since, if it has.
    pub until: Option<Time>,
    /// Number of completions returned.
    pub returned: u64,
}

impl History {
    pub fn new(limit: u64) -> History {
        History { limit, kept: (limit > 0).then(Encoder::default), position: Position::default() }
    }

    /// Records a submission at `at`, or in the present.
    #[inline]
    pub fn submitted(&mut self, at: Option<Time>, request: &Request) {
        let Some(kept) = &mut self.kept else { return };
        kept.submitted(std::mem::take(&mut self.position), at, request);
        if kept.bytes() > self.limit {
            self.kept = None;
        }
    }

    /// Records an advance to `now`, which stopped there if requests completed.
    #[inline]
    pub fn stepped(&mut self, stops: bool, now: Time) {
        if stops {
            self.position.stops += 1;
            self.position.until = None;
        } else {
            self.position.until = Some(now);
        }
    }

    /// Records that a completion was returned.
    #[inline]
    pub fn returned(&mut self) {
        self.position.returned += 1;
    }
}
