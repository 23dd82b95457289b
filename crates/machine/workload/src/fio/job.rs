//! One job of a job file, and what its keys may not say together.

use std::path::Path;
use std::path::PathBuf;

use media::Op;
use sim::Time;

use super::JobFileError;
use super::keys;
use super::pattern::{Kind, ReadWrite, Sizes, WRITE, divisor};
use super::rules::{ContinueOnError, ExitAll, LatencyTarget, Steady, Strides, Trims};
use super::value::{Amount, KbBase};
use crate::dist::Distribution;
use crate::trace::Record;

/// A job as the file has it: nothing is known of the drive yet.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// The section's name, or what `name` says.
    pub name: String,
    /// Where the section starts.
    pub line: u32,
    /// The keys that were given, inherited ones included, each once, in the order of their last mention.
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
    /// Of 100 requests of a mix.
    pub reads: u64,
    pub distribution: [Distribution; 3],
    pub random_map: bool,
    pub seed: Option<u64>,
    /// Bytes a second.
    pub rate: [Option<u64>; 3],
    pub rate_iops: [Option<u64>; 3],
    pub thinktime: Time,
    pub thinktime_blocks: u64,
    pub runtime: Option<Time>,
    pub time_based: bool,
    pub ramp_time: Time,
    /// A flush after so many writes; 0 for none.
    pub fsync: u64,
    pub fdatasync: u64,
    pub stonewall: bool,
    pub verify: bool,
    pub iolog: Option<PathBuf>,
    /// Requests for each random offset; those behind the first follow it in sequence.
    pub run_length: u64,
    /// Those behind the first repeat its offset instead.
    pub identical: bool,
    /// Bytes between the end of a sequential request and the start of the next; below zero it goes backwards.
    pub gap: i64,
    /// Percent of a random job's requests that are random, by direction.
    pub random_share: [u64; 3],
    /// What random offsets are multiples of, if it is not the block size.
    pub align: [Option<u64>; 3],
    /// The random map is of start blocks, so that requests may overlap.
    pub lfsr: bool,
    /// `zonemode=strided`, and its zones.
    pub strided: bool,
    pub zones: Strides,
    pub loops: u64,
    /// The least and the longest time from the group's start to the job's.
    pub start_delay: (Time, Time),
    pub wait_for: Option<String>,
    pub new_group: bool,
    pub exit_all: Option<ExitAll>,
    pub exit_what: ExitAll,
    /// The same when it ends by an error.
    pub exit_all_on_error: bool,
    pub continue_on_error: Option<ContinueOnError>,
    /// A share in what the jobs of the same flow do; 0 for none.
    pub flow: u64,
    pub flow_id: u64,
    pub flow_sleep: Time,
    /// Requests arrive as a Poisson process of the rate.
    pub poisson: bool,
    pub batch_submit: u32,
    pub batch_complete: u32,
    pub depth_low: Option<u32>,
    /// Writes are durable when they complete.
    pub sync: bool,
    /// A flush ends the job.
    pub end_fsync: bool,
    pub do_verify: bool,
    /// Writes between two verifications; 0 for one at the end.
    pub verify_backlog: u64,
    pub trims: Trims,
    pub latency: Option<LatencyTarget>,
    pub steady: Option<Steady>,
    pub file_size: Option<u64>,
    pub files: u64,
    pub write_iolog: Option<PathBuf>,
    pub replay: ReplayKeys,
    /// Accepted keys that change nothing: the key, and why.
    pub without_effect: Vec<(String, &'static str)>,
}

/// fio's `replay_…` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplayKeys {
    pub no_stall: bool,
    /// Percent of the recorded intervals.
    pub time_scale: u64,
    /// What offsets are divided by.
    pub scale: u64,
    /// What offsets are rounded down to a multiple of.
    pub align: u64,
    /// Reads, writes, trims and flushes that are left out.
    pub skip: [bool; 4],
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub key: &'static str,
    pub value: String,
    pub line: u32,
    /// In the job's own section, not inherited.
    pub own: bool,
}

/// What a replay obeys; any other key shapes a generated pattern.
const REPLAY_KEYS: [&str; 34] = [
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
];

impl Default for ReplayKeys {
    fn default() -> ReplayKeys {
        ReplayKeys { no_stall: false, time_scale: 100, scale: 1, align: 0, skip: [false; 4] }
    }
}

impl ReplayKeys {
    /// The record at the offset that the keys make of its own.
    pub fn place(&self, record: Record) -> Record {
        let scaled = record.offset / self.scale;
        let offset = if self.align > 1 { scaled - scaled % self.align } else { scaled };
        Record { offset, ..record }
    }
}

impl Setting {
    /// The sum of two whole numbers, if that is what they are.
    fn sum_with(&self, other: &Setting) -> Option<u64> {
        Some(self.value.parse::<u64>().ok()? + other.value.parse::<u64>().ok()?)
    }
}

impl Job {
    /// A job of defaults.
    pub fn new(name: &str, line: u32, folder: &Path) -> Job {
        Job {
            name: name.to_owned(),
            line,
            settings: Vec::new(),
            folder: folder.to_owned(),
            kb: KbBase::Compatible,
            rw: ReadWrite { random: false, kind: Kind::Only(Op::Read) },
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
            iolog: None,
            run_length: 1,
            identical: false,
            gap: 0,
            random_share: [100; 3],
            align: [None; 3],
            lfsr: false,
            strided: false,
            zones: Strides::default(),
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
            latency: None,
            steady: None,
            file_size: None,
            files: 1,
            write_iolog: None,
            replay: ReplayKeys::default(),
            without_effect: Vec::new(),
        }
    }

    /// The setting of `key`, by the key's first name.
    pub fn setting(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key == key)
    }

    /// Requests the job keeps outstanding.
    pub fn outstanding(&self) -> u32 {
        if self.synchronous { 1 } else { self.depth.unwrap_or(1) }
    }

    /// Sizes of the requests of a direction: `bssplit` before `bsrange` before `bs`.
    pub fn sizes(&self, direction: usize) -> Sizes {
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

    /// An error about `key`, at its line if it was given.
    pub fn error(&self, file: &str, key: &str, message: &str) -> JobFileError {
        let line = self.setting(key).map_or(self.line, |setting| setting.line);
        JobFileError { file: file.to_owned(), line, message: format!("{key}: {message}") }
    }

    /// Requests of a direction, or of several, are of more than one size.
    pub fn mixes_sizes(&self) -> bool {
        (0..3).any(|direction| self.rw.has(direction) && !matches!(self.sizes(direction), Sizes::Fixed(_)))
    }

    /// What offsets and sizes of a direction's requests are multiples of.
    pub fn granularity(&self, direction: usize) -> u64 {
        let common = divisor(self.sizes(direction).common(), self.alignment(direction));
        divisor(common, self.gap.unsigned_abs())
    }

    /// What random offsets of a direction are multiples of.
    pub fn alignment(&self, direction: usize) -> u64 {
        self.align[direction].unwrap_or_else(|| self.sizes(direction).smallest())
    }

    /// What each of its requests is looked at for: a flow, batches, a log, or figures of its own.
    pub fn has_a_course(&self) -> bool {
        self.flow > 0
            || self.batch_submit > 1
            || self.batch_complete > 1
            || self.depth_low.is_some()
            || self.latency.is_some()
            || self.steady.is_some()
            || self.write_iolog.is_some()
    }

    /// What no single key can be blamed for.
    pub fn check(&self, file: &str) -> Result<(), JobFileError> {
        let fail = |key: &str, message: &str| Err(self.error(file, key, message));
        if self.iolog.is_some() {
            let shapes = |key: &str| !REPLAY_KEYS.contains(&key) && !keys::is_without_effect(key);
            if let Some(setting) = self.settings.iter().find(|s| s.own && shapes(s.key)) {
                return fail(
                    setting.key,
                    "found it beside read_iolog, expected a job that replays or one that generates",
                );
            }
            return Ok(());
        }
        if self.setting("thinktime_blocks").is_some() && self.thinktime == Time::ZERO {
            return fail("thinktime_blocks", "found it without thinktime, expected thinktime=TIME too");
        }
        for direction in 0..3 {
            if self.rate[direction].is_some() && self.rate_iops[direction].is_some() {
                return fail("rate_iops", "found it beside rate, expected one of the two for a direction");
            }
        }
        if self.setting("rwmixread").is_some_and(|read| {
            self.setting("rwmixwrite").is_some_and(|write| read.own == write.own && read.sum_with(write) != Some(100))
        }) {
            return fail("rwmixwrite", "found it beside a rwmixread that does not leave as much, expected 100 in all");
        }
        if self.strided && self.rw.random {
            return fail("zonemode", "found strided on a random job, expected a sequential one");
        }
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
        if self.strided && self.zones.size == 0 {
            return fail("zonemode", "found strided without zonesize, expected zonesize=BYTES too");
        }
        if self.trims != Trims::default() && !(self.verify && self.rw.has(WRITE)) {
            return fail(
                "trim_backlog",
                "found it on a job that does not verify writes, expected verify=SUM and writes",
            );
        }
        if self.verify && self.rw.kind == Kind::Only(Op::Trim) {
            return fail("verify", "found it on a job that only trims, expected one that reads or writes");
        }
        Ok(())
    }
}
