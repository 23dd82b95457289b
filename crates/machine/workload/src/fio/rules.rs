//! Values of the keys that a job's course depends on.

use media::Op;
use sim::Time;

/// Which jobs end with a job that has `exitall`: fio's `exit_what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitAll {
    /// Those of its group.
    Group,
    /// Those between the same two stonewalls.
    Stonewall,
    /// All, those that have not begun included.
    All,
}

/// Requests whose errors do not end their job: fio's `continue_on_error`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContinueOnError {
    reads: bool,
    writes: bool,
}

impl ContinueOnError {
    /// fio's names. Verification checks stamps and ends the run, so that `verify` adds nothing.
    pub const NAMES: [(&str, ContinueOnError); 8] = [
        ("none", ContinueOnError::of(false, false)),
        ("read", ContinueOnError::of(true, false)),
        ("write", ContinueOnError::of(false, true)),
        ("io", ContinueOnError::of(true, true)),
        ("verify", ContinueOnError::of(false, false)),
        ("all", ContinueOnError::of(true, true)),
        ("0", ContinueOnError::of(false, false)),
        ("1", ContinueOnError::of(true, true)),
    ];

    const fn of(reads: bool, writes: bool) -> ContinueOnError {
        ContinueOnError { reads, writes }
    }

    /// True if a job goes on after an error of `op`: whatever is not a read counts as a write, as in fio.
    pub(crate) fn covers(self, op: Op) -> bool {
        if op == Op::Read { self.reads } else { self.writes }
    }
}

/// fio's `zonemode=strided`: so many bytes in sequence, then so many that are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strides {
    /// Bytes to transfer in a zone.
    pub size: u64,
    /// Bytes of the zone, if they are not as many.
    pub range: Option<u64>,
    /// Bytes between two zones.
    pub skip: u64,
}

/// What a verifying job trims of what it has written: fio's `trim_percentage`, `trim_backlog` and `trim_backlog_batch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trims {
    /// Percent of the blocks written.
    pub percentage: u64,
    /// Writes between two batches of trims; 0 for no trims.
    pub backlog: u64,
    /// Trims of a batch; 0 for as many as the backlog.
    pub batch: u64,
}

/// fio's `latency_target`: the depth that a latency allows is searched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LatencyTarget {
    /// The latency that is allowed.
    pub target: Time,
    /// The time in which a depth is judged.
    pub window: Time,
    /// Percent of the requests that must keep to it.
    pub percentile: f64,
    /// The job goes on when the depth is found.
    pub run: bool,
}

impl Default for LatencyTarget {
    fn default() -> LatencyTarget {
        LatencyTarget { target: Time::ZERO, window: Time::ZERO, percentile: 100.0, run: false }
    }
}

/// fio's `steadystate`: the job ends when a second's figures keep within a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Steady {
    /// Bytes and not requests count.
    pub bytes: bool,
    /// The slope of a line through the samples is limited, and not their largest deviation from the mean.
    pub slope: bool,
    /// The limit.
    pub limit: f64,
    /// The limit is percent of the mean.
    pub percent: bool,
    /// The time that must be steady.
    pub duration: Time,
    /// The time before samples are taken.
    pub ramp: Time,
}

impl Default for Steady {
    fn default() -> Steady {
        let (duration, ramp) = (Time::ZERO, Time::ZERO);
        Steady { bytes: false, slope: false, limit: f64::INFINITY, percent: false, duration, ramp }
    }
}
