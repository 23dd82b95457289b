//! The history of a simulation: its submissions, and how far it had advanced before each.
//!
//! A simulation is deterministic, so its history is its state: replayed, it leads to the same state at any time, with
//! requests in progress, queues and random streams included. It keeps 40 bytes per request, and as many per
//! advance that names a time, up to a limit; a file holds them compressed.

mod file;
mod record;
mod replay;

use sim::Time;

use crate::request::Request;
use record::Record;

/// A history, as long as it does not exceed its limit.
pub(crate) struct History {
    records: Vec<Record>,
    /// Maximum number of records; 0 if none are kept.
    limit: usize,
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
}

impl History {
    /// Returns an empty history, of at most `bytes`.
    pub fn new(bytes: u64) -> History {
        let limit = (bytes / size_of::<Record>() as u64) as usize;
        History { records: Vec::new(), limit, position: Position::default() }
    }

    /// Returns all records, or `None` if there would have been too many.
    fn records(&self) -> Option<&[Record]> {
        (self.limit > 0).then_some(&self.records)
    }

    /// Adds a submission at `at`.
    #[inline]
    pub fn submitted(&mut self, at: Time, request: &Request) {
        let position = std::mem::take(&mut self.position);
        let stops = match position {
            Position { stops, until: None } if stops <= u64::from(u8::MAX) => stops as u8,
            _ => {
                self.add(Record::Advanced(position));
                0
            }
        };
        self.add(Record::submitted(stops, at, request));
    }

    #[inline]
    fn add(&mut self, record: Record) {
        if self.records.len() < self.limit {
            self.records.push(record);
        } else {
            (self.records, self.limit) = (Vec::new(), 0);
        }
    }

    /// Notes an advance to `now`, which stopped there if requests completed.
    #[inline]
    pub fn stepped(&mut self, stops: bool, now: Time) {
        if stops {
            self.position.stops += 1;
            self.position.until = None;
        } else {
            self.position.until = Some(now);
        }
    }
}
