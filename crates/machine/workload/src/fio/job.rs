//! A job of a job file, and checks across its keys.

use std::path::Path;
use std::path::PathBuf;

use media::Op;
use sim::Time;

use super::JobFileError;
use super::keys::LogKeys;
use super::no_effect;
use super::pattern::{READ, ReadWrite, ReadWriteKind, Sizes, WRITE, divisor};
use super::rules::{
    ContinueOnError, Drive, ExitAll, LatencyTarget, PlacementKeys, Service, Steady, Trims, ZbdKeys, ZoneKeys, ZoneMode,
};
use super::value::{Amount, KbBase};
use crate::dist::Distribution;
use crate::trace::Record;

/// A job as specified in the file, independent of the drive.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// The section's name, or the value of `name`.
    pub name: String,
    /// Line of the section header.
    pub line: u32,
    /// Keys given for this job, inherited ones included: each once, in the order of their last occurrence.
    pub settings: Vec<Setting>,
    pub folder: PathBuf,
    pub kb: KbBase,
    pub rw: ReadWrite,
    pub block: [Option<u64>; 3],
    pub range: [Option<(u64, u64)>; 3],
    pub split: [Option<Vec<(u64, u64)>>; 3],
    pub depth: Option<u32>,
    pub synchronous: bool,
    pub clones: u32,
    pub size: Option<Amount>,
    pub io_size: Option<Amount>,
    pub offset: Amount,
    pub offset_increment: Amount,
    pub number_ios: Option<u64>,
    /// Reads per 100 requests of a mixed job.
    pub reads: u64,
    pub distribution: [Distribution; 3],
    pub random_map: bool,
    pub seed: Option<u64>,
    /// Maximum bytes per second.
    pub rate: [Option<u64>; 3],
    pub rate_iops: [Option<u64>; 3],
    pub thinktime: Time,
    pub thinktime_blocks: u64,
    pub runtime: Option<Time>,
    pub time_based: bool,
    pub ramp_time: Time,
    /// Number of writes between flushes; 0 for no flushes.
    pub fsync: u64,
    pub fdatasync: u64,
    pub stonewall: bool,
    pub verify: bool,
    /// Traces to replay: clone N of the job replays trace N, in turn.
    pub iologs: Vec<PathBuf>,
    /// Requests per random offset; all but the first continue sequentially.
    pub run_length: u64,
    /// Whether the further requests of a run repeat the first offset instead.
    pub identical: bool,
    /// Bytes between the end of a sequential request and the start of the next; negative values go backwards.
    pub gap: i64,
    /// Percentage of a random job's requests that are random, by direction.
    pub random_share: [u64; 3],
    /// Alignment of random offsets, if it is not the block size.
    pub align: [Option<u64>; 3],
    /// Whether the random map tracks start blocks only, so that requests may overlap.
    pub lfsr: bool,
    pub zone_mode: ZoneMode,
    /// The zones of `zone_mode`.
    pub zones: ZoneKeys,
    /// Further keys of `zonemode=zbd`.
    pub zbd: ZbdKeys,
    pub loops: u64,
    /// Minimum and maximum delay between the group's start and the job's start.
    pub start_delay: (Time, Time),
    pub wait_for: Option<String>,
    pub new_group: bool,
    pub exit_all: Option<ExitAll>,
    pub exit_what: ExitAll,
    /// Whether `exit_what` also applies when the job ends with an error.
    pub exit_all_on_error: bool,
    pub continue_on_error: Option<ContinueOnError>,
    /// Weight of the job within its flow; 0 for none.
    pub flow: u64,
    pub flow_id: u64,
    pub flow_sleep: Time,
    /// Whether requests arrive as a Poisson process with the given rate.
    pub poisson: bool,
    pub batch_submit: u32,
    pub batch_complete: u32,
    pub depth_low: Option<u32>,
    /// Whether writes are durable on completion.
    pub sync: bool,
    /// Whether a flush ends the job.
    pub end_fsync: bool,
    pub do_verify: bool,
    /// Writes between two verifications; 0 to verify once, at the end.
    pub verify_backlog: u64,
    pub trims: Trims,
    pub placement: PlacementKeys,
    pub latency: Option<LatencyTarget>,
    pub steady: Option<Steady>,
    pub file_size: Option<u64>,
    pub files: u64,
    pub write_iolog: Option<PathBuf>,
    pub logs: LogKeys,
    pub replay: ReplayKeys,
    /// The drives that `filename` names, if it names any.
    pub drives: Vec<Drive>,
    /// Their numbers among those of all jobs; the first drive if there are none.
    pub on: Vec<u16>,
    /// Choice of the drive of the next request, and the requests until the next choice.
    pub service: (Service, u64),
    /// Alignment of offsets that are percentages; 0 for that of the smallest block.
    pub offset_align: u64,
    /// Whether the sizes of reads are those of sequential jobs, and the sizes of writes those of random ones.
    pub sizes_by_order: bool,
    /// Maximum latencies.
    pub max_latency: [Option<Time>; 3],
    /// Time between two pauses; 0 for none.
    pub thinktime_iotime: Time,
    /// Accepted keys without effect, with the reason.
    pub without_effect: Vec<(String, &'static str)>,
    /// Notes on how values were read.
    pub remarks: Vec<String>,
}

/// fio's `replay_…` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplayKeys {
    pub no_stall: bool,
    /// Percentage of the recorded intervals.
    pub time_scale: u64,
    /// Divisor of offsets.
    pub scale: u64,
    /// Alignment to which offsets are rounded down.
    pub align: u64,
    /// Whether reads, writes, trims and flushes are skipped.
    pub skip: [bool; 4],
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub key: &'static str,
    pub value: String,
    pub line: u32,
    /// Whether the setting is in the job's own section rather than inherited.
    pub own: bool,
}

/// Keys that apply to a replay; all others shape a generated pattern.
const REPLAY_KEYS: [&str; 45] = [
    "read_iolog",
    "iodepth",
    "runtime",
    "ramp_time",
    "stonewall",
    "name",
    "description",
    "filename",
    "ioengine",
    "direct",
    "buffered",
    "thread",
    "group_reporting",
    "gtod_reduce",
    "kb_base",
    "randrepeat",
    "invalidate",
    "replay_no_stall",
    "replay_time_scale",
    "replay_scale",
    "replay_align",
    "replay_skip",
    "replay_redirect",
    "startdelay",
    "wait_for",
    "new_group",
    "exitall",
    "exit_what",
    "exitall_on_error",
    "continue_on_error",
    "flow",
    "flow_id",
    "flow_sleep",
    "write_iolog",
    "write_lat_log",
    "write_bw_log",
    "write_iops_log",
    "log_avg_msec",
    "log_max_value",
    "log_offset",
    "log_prio",
    "per_job_logs",
    "numjobs",
    "max_latency",
    "percentile_list",
];

impl Default for ReplayKeys {
    fn default() -> ReplayKeys {
        ReplayKeys { no_stall: false, time_scale: 100, scale: 1, align: 0, skip: [false; 4] }
    }
}

impl ReplayKeys {
    /// Returns the record with its offset adjusted by the keys.
    pub fn place(&self, record: Record) -> Record {
        let scaled = record.offset / self.scale;
        let offset = if self.align > 1 { scaled - scaled % self.align } else { scaled };
        Record { offset, ..record }
    }
}

impl Setting {
    /// Returns the sum of two settings, if both are whole numbers.
    fn sum_with(&self, other: &Setting) -> Option<u64> {
        Some(self.value.parse::<u64>().ok()? + other.value.parse::<u64>().ok()?)
    }
}

impl Job {
    /// Creates a job with default settings.
    pub fn new(name: &str, line: u32, folder: &Path) -> Job {
        Job {
            name: name.to_owned(),
            line,
            settings: Vec::new(),
            folder: folder.to_owned(),
            kb: KbBase::Compatible,
            rw: ReadWrite { random: false, kind: ReadWriteKind::Only(Op::Read) },
            block: [None; 3],
            range: [None; 3],
            split: [const { None }; 3],
            depth: None,
            synchronous: false,
            clones: 1,
            size: None,
            io_size: None,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            number_ios: None,
            reads: 50,
            distribution: [const { Distribution::Random }; 3],
            random_map: true,
            seed: None,
            rate: [None; 3],
            rate_iops: [None; 3],
            thinktime: Time::ZERO,
            thinktime_blocks: 1,
            runtime: None,
            time_based: false,
            ramp_time: Time::ZERO,
            fsync: 0,
            fdatasync: 0,
            stonewall: false,
            verify: false,
            iologs: Vec::new(),
            run_length: 1,
            identical: false,
            gap: 0,
            random_share: [100; 3],
            align: [None; 3],
            lfsr: false,
            zone_mode: ZoneMode::None,
            zones: ZoneKeys::default(),
            zbd: ZbdKeys::default(),
            loops: 1,
            start_delay: (Time::ZERO, Time::ZERO),
            wait_for: None,
            new_group: false,
            exit_all: None,
            exit_what: ExitAll::Group,
            exit_all_on_error: false,
            continue_on_error: None,
            flow: 0,
            flow_id: 0,
            flow_sleep: Time::ZERO,
            poisson: false,
            batch_submit: 1,
            batch_complete: 1,
            depth_low: None,
            sync: false,
            end_fsync: false,
            do_verify: true,
            verify_backlog: 0,
            trims: Trims::default(),
            placement: PlacementKeys::default(),
            latency: None,
            steady: None,
            file_size: None,
            files: 1,
            write_iolog: None,
            logs: LogKeys::default(),
            replay: ReplayKeys::default(),
            drives: Vec::new(),
            on: vec![0],
            service: (Service::RoundRobin, 1),
            offset_align: 0,
            sizes_by_order: false,
            max_latency: [None; 3],
            thinktime_iotime: Time::ZERO,
            without_effect: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Returns the setting of `key`, given by its main name.
    pub fn setting(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key == key)
    }

    /// Returns the number of requests that the job keeps outstanding.
    pub fn outstanding(&self) -> u32 {
        if self.synchronous { 1 } else { self.depth.unwrap_or(1) }
    }

    /// Returns the request sizes of a direction: `bssplit` takes precedence over `bsrange`, and `bsrange` over `bs`.
    pub fn sizes(&self, direction: usize) -> Sizes {
        let direction = match self.sizes_by_order {
            true if self.rw.random => WRITE,
            true => READ,
            false => direction,
        };
        if let Some(split) = &self.split[direction] {
            return match split.as_slice() {
                [(bytes, _)] => Sizes::Fixed(*bytes),
                _ => Sizes::Split(split.clone()),
            };
        }
        match (self.range[direction], self.block[direction]) {
            (Some((smallest, largest)), _) if smallest < largest => Sizes::Range(smallest, largest),
            (Some((bytes, _)), _) | (None, Some(bytes)) => Sizes::Fixed(bytes),
            (None, None) => Sizes::Fixed(4096),
        }
    }

    /// Creates an error about `key`, at the key's line if it was given.
    pub fn error(&self, file: &str, key: &str, message: &str) -> JobFileError {
        let line = self.setting(key).map_or(self.line, |setting| setting.line);
        JobFileError { file: file.to_owned(), line, message: format!("{key}: {message}") }
    }

    /// Returns whether requests have more than one size, within a direction or across directions.
    pub fn mixes_sizes(&self) -> bool {
        (0..3).any(|direction| self.rw.has(direction) && !matches!(self.sizes(direction), Sizes::Fixed(_)))
    }

    /// Returns a common divisor of a direction's offsets and sizes.
    pub fn granularity(&self, direction: usize) -> u64 {
        let common = divisor(self.sizes(direction).common(), self.alignment(direction));
        divisor(common, self.gap.unsigned_abs())
    }

    /// Returns the alignment of a direction's random offsets.
    pub fn alignment(&self, direction: usize) -> u64 {
        self.align[direction].unwrap_or_else(|| self.sizes(direction).smallest())
    }

    /// Returns whether the player must track each request: for a flow, batches, a log, or the job's own measurements.
    pub fn tracks_requests(&self) -> bool {
        self.flow > 0
            || self.batch_submit > 1
            || self.batch_complete > 1
            || self.depth_low.is_some()
            || self.latency.is_some()
            || self.steady.is_some()
            || self.max_latency.iter().any(Option::is_some)
            || self.write_iolog.is_some()
            || self.zone_mode == ZoneMode::Zbd
            || self.on.len() > 1
    }

    /// Returns the job's own keys that shape a generated pattern, if the job replays a trace instead.
    pub fn overruled_by_trace(&self) -> Vec<&'static str> {
        let shapes = |key: &str| !REPLAY_KEYS.contains(&key) && no_effect::find(key).is_none();
        let own = self.settings.iter().filter(|setting| setting.own && shapes(setting.key));
        if self.iologs.is_empty() { Vec::new() } else { own.map(|setting| setting.key).collect() }
    }

    /// Checks the keys of zones.
    fn check_zones(&self, file: &str) -> Result<(), JobFileError> {
        let fail = |key: &str, message: &str| Err(self.error(file, key, message));
        match self.zone_mode {
            ZoneMode::None => Ok(()),
            ZoneMode::Strided if self.rw.random => {
                fail("zonemode", "found strided on a random job, expected a sequential one")
            }
            ZoneMode::Strided if self.zones.size == 0 => {
                fail("zonemode", "found strided without zonesize, expected zonesize=BYTES as well")
            }
            ZoneMode::Strided => Ok(()),
            ZoneMode::Zbd if self.rw.kind == ReadWriteKind::TrimWrite => {
                fail("zonemode", "found zbd on a job that trims and writes, expected one that does only one of both")
            }
            ZoneMode::Zbd if self.trims != Trims::default() => {
                fail("trim_backlog", "found with zonemode=zbd, expected rw=trim or randtrim, which reset zones")
            }
            ZoneMode::Zbd if self.setting("recover_zbd_write_error").is_some_and(|key| key.value != "0") => {
                match self.continue_on_error {
                    Some(_) => Ok(()),
                    None => {
                        fail("recover_zbd_write_error", "found without continue_on_error, expected that key as well")
                    }
                }
            }
            ZoneMode::Zbd => Ok(()),
        }
    }

    /// Checks rules that involve several keys.
    pub fn check(&self, file: &str) -> Result<(), JobFileError> {
        let fail = |key: &str, message: &str| Err(self.error(file, key, message));
        if !self.iologs.is_empty() {
            return Ok(());
        }
        if self.setting("thinktime_blocks").is_some() && self.thinktime == Time::ZERO {
            return fail("thinktime_blocks", "found without thinktime, expected thinktime=TIME as well");
        }
        if self.thinktime_iotime > Time::ZERO && self.thinktime == Time::ZERO {
            return fail("thinktime_iotime", "found without thinktime, expected thinktime=TIME as well");
        }
        if self.sizes_by_order && self.rw.random && self.random_share != [100; 3] {
            return fail("bs_is_seq_rand", "found with percentage_random, expected one size of each job's requests");
        }
        for direction in 0..3 {
            if self.rate[direction].is_some() && self.rate_iops[direction].is_some() {
                return fail("rate_iops", "found together with rate, expected only one of the two per direction");
            }
        }
        if self.setting("rwmixread").is_some_and(|read| {
            self.setting("rwmixwrite").is_some_and(|write| read.own == write.own && read.sum_with(write) != Some(100))
        }) {
            return fail("rwmixwrite", "found a sum with rwmixread other than 100, expected 100");
        }
        self.check_zones(file)?;
        if let Some(latency) = self.latency
            && (latency.target == Time::ZERO || latency.window == Time::ZERO)
        {
            return fail("latency_target", "expected both latency_target=TIME and latency_window=TIME");
        }
        if let Some(steady) = self.steady
            && (steady.limit.is_infinite() || steady.duration == Time::ZERO)
        {
            return fail("steadystate", "expected both steadystate=FIGURE:LIMIT and steadystate_duration=TIME");
        }
        if self.trims != Trims::default() && !(self.verify && self.rw.has(WRITE)) {
            return fail("trim_backlog", "found on a job that does not verify writes, expected verify=SUM and writes");
        }
        for key in ["plids", "plid_select"] {
            if self.setting(key).is_some() && !self.placement.on {
                return fail(key, "found without data placement, expected fdp=1 or dataplacement=fdp as well");
            }
        }
        if self.verify && self.rw.kind == ReadWriteKind::Only(Op::Trim) {
            return fail("verify", "found on a job that only trims, expected a job that reads or writes");
        }
        Ok(())
    }
}
