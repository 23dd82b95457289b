//! The history of a simulation: its submissions, and how far it had advanced before each.
//!
//! A simulation is deterministic, so its history is its state: replayed, it leads to the same state at any time, with
//! requests in progress, queues and random streams included. It keeps 40 bytes of a request, and as many of an advance that
//! is not by one completion, up to a limit; a file holds them compressed.

mod file;
mod record;
mod replay;

use sim::Time;

use crate::request::Request;
use record::{ONE, Record};

/// A history, or none once it has exceeded its limit.
pub(crate) struct History {
    /// Maximum number of records.
    limit: u64,
    kept: Option<Vec<Record>>,
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
    /// Returns an empty history, of at most `bytes`.
    pub fn new(bytes: u64) -> History {
        let limit = bytes / size_of::<Record>() as u64;
        History { limit, kept: (limit > 0).then(Vec::new), position: Position::default() }
    }

    /// Records a submission at `at`.
    #[inline]
    pub fn submitted(&mut self, at: Time, request: &Request) {
        let Some(kept) = &mut self.kept else { return };
        let position = std::mem::take(&mut self.position);
        let after_one = position == ONE;
        if !after_one && position != Position::default() {
            kept.push(Record::advanced(position));
        }
        kept.push(Record::submitted(after_one, at, request));
        if kept.len() as u64 > self.limit {
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
