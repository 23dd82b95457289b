//! Values of keys that control a job: end conditions, errors, zones, trims and targets.

use media::Op;
use sim::Time;

use super::value::Amount;

/// Jobs that end together with a job that has `exitall`: fio's `exit_what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitAll {
    /// All jobs of its group.
    Group,
    /// All jobs between the same two stonewalls.
    Stonewall,
    /// All jobs, including those that have not started.
    All,
}

/// Requests whose errors do not end their job: fio's `continue_on_error`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContinueOnError {
    reads: bool,
    writes: bool,
}

impl ContinueOnError {
    /// fio's names. Verification checks stamps and always ends the run, so `verify` has no effect here.
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

    /// Returns whether a job continues after an error of `op`. As in fio, everything but a read counts as a write.
    pub(crate) fn covers(self, op: Op) -> bool {
        if op == Op::Read { self.reads } else { self.writes }
    }
}

/// fio's `fdp` or `dataplacement`, `plids` and `plid_select`: the placement identifiers of a job's writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlacementKeys {
    /// Whether writes carry a placement identifier.
    pub on: bool,
    /// Indices of the identifiers to use; empty for all of the drive's.
    pub indices: Vec<u16>,
    /// Whether they are used in random order instead of one after another.
    pub random: bool,
}

/// A drive that `filename` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Drive {
    /// Identifies the drive: its partitions and namespaces are no drives of their own.
    pub id: String,
    /// The name as given, without `/dev/`.
    pub name: String,
}

/// How a job of several drives chooses the drive of the next request: fio's `file_service_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Service {
    /// One after another.
    #[default]
    RoundRobin,
    /// At random.
    Random,
    /// The next once a whole pass over the drive's region has ended.
    Sequential,
}

/// fio's `zonemode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ZoneMode {
    /// Zones have no effect.
    #[default]
    None,
    /// Transfers a number of bytes sequentially, then skips a number of bytes.
    Strided,
    /// Writes at the write pointers of zones.
    Zbd,
}

/// fio's `zonesize`, `zonerange` and `zoneskip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZoneKeys {
    /// Bytes of a zone, or bytes transferred per zone with `zonemode=strided`; 0 if not given.
    pub size: u64,
    /// Bytes of the zone of `zonemode=strided`, if different from `size`.
    pub range: Option<u64>,
    /// Space skipped between two zones.
    pub skip: Amount,
}

impl Default for ZoneKeys {
    fn default() -> ZoneKeys {
        ZoneKeys { size: 0, range: None, skip: Amount::Bytes(0) }
    }
}

impl ZoneKeys {
    /// Returns the bytes skipped between two zones of `zone` bytes.
    pub fn skip(&self, zone: u64) -> u64 {
        match self.skip {
            Amount::Zones(zones) => zones.saturating_mul(zone),
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(_) => unreachable!("zoneskip is parsed as bytes or zones"),
        }
    }
}

/// The keys of fio's `zonemode=zbd`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ZbdKeys {
    /// Writable bytes of a zone on a drive without zones; 0 for all.
    pub capacity: u64,
    /// Whether reads may lie beyond the write pointer.
    pub reads_beyond: bool,
    /// Maximum number of zones that all jobs write at the same time; 0 for the limit of the drive.
    pub open_max: u32,
    /// Maximum number of zones that the job writes at the same time; 0 for no limit.
    pub job_open_max: u32,
    /// Whether `open_max` may exceed the limit of the drive.
    pub ignores_limits: bool,
    /// Written part of the job's region above which zones are reset.
    pub reset_threshold: f64,
    /// Resets per write above that part; 0 for none.
    pub reset_frequency: f64,
    /// Whether smaller writes fill the end of a zone that has no space for a request.
    pub fills_ends: bool,
}

/// Trims of written blocks by a verifying job: fio's `trim_percentage`, `trim_backlog` and `trim_backlog_batch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trims {
    /// Percentage of written blocks that are trimmed.
    pub percentage: u64,
    /// Writes between two batches of trims; 0 for no trims.
    pub backlog: u64,
    /// Trims per batch; 0 for as many as the backlog.
    pub batch: u64,
}

/// fio's `latency_target`: a search for the largest depth that meets a latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LatencyTarget {
    /// Maximum latency.
    pub target: Time,
    /// Duration of the measurement of one depth.
    pub window: Time,
    /// Percentage of requests that must meet the target.
    pub percentile: f64,
    /// Whether the job continues after the depth is found.
    pub run: bool,
}

impl Default for LatencyTarget {
    fn default() -> LatencyTarget {
        LatencyTarget { target: Time::ZERO, window: Time::ZERO, percentile: 100.0, run: false }
    }
}

/// fio's `steadystate`: ends the job once its per-second figures stay within a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Steady {
    /// Whether bytes rather than requests are counted.
    pub bytes: bool,
    /// Whether the limit applies to the slope of a line fitted to the samples, rather than to their largest deviation
    /// from the mean.
    pub slope: bool,
    /// The limit.
    pub limit: f64,
    /// Whether the limit is a percentage of the mean.
    pub percent: bool,
    /// Duration for which the limit must hold.
    pub duration: Time,
    /// Time before the first sample.
    pub ramp: Time,
}

impl Default for Steady {
    fn default() -> Steady {
        let (duration, ramp) = (Time::ZERO, Time::ZERO);
        Steady { bytes: false, slope: false, limit: f64::INFINITY, percent: false, duration, ramp }
    }
}
